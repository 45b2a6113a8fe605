"""The result of a reader (HTML, feed, PDF ...), before it becomes a `Page`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from gossamer.parse.readers.links import LinkCollector
    from gossamer.parse.readers.text import TextRun

MAX_TITLE = 1000  # characters
MAX_DESCRIPTION = 2000  # characters
MAX_LANGUAGE = 35  # characters: the longest tag that RFC 5646 §4.4.1 considers


class ChangeHints(NamedTuple):
    """What a sitemap or feed says about the changes of one entry, as written."""

    url: str  # canonical
    modified: str
    frequency: str = ""  # a sitemap's <changefreq>


@dataclass(slots=True)
class ParsedDocument:
    """The content of a document. One reader fills it, each field at most once."""

    bonds: LinkCollector
    title: str = ""
    description: str = ""
    charset: str = ""  # "" when it is not text
    language: str = ""
    canonical: str = ""
    robots: list[tuple[str, str]] = field(default_factory=list)  # <meta> robots: name, content
    noindex: bool = False  # the document only lists other pages
    runs: list[TextRun] = field(default_factory=list)  # the body's text, in reading order
    packed_runs: bytes = b""  # instead, if a kernel read it: title, description and body, in the form of the store
    reason: str = ""  # what could not be read, shown to people
    cut: list[str] = field(default_factory=list)  # parts of it that are over the page budget (`Page.cut`)
    change_hints: list[ChangeHints] = field(default_factory=list)  # of a sitemap or feed
