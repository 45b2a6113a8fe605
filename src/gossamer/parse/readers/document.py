"""What a reader (HTML, feed, PDF ...) finds in a document, before it becomes a `Page`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from gossamer.parse.readers.links import LinkCollector
    from gossamer.parse.readers.text import TextRun

MAX_TITLE = 1000  # characters
MAX_DESCRIPTION = 2000  # characters
MAX_LANGUAGE = 35  # characters: the longest tag RFC 5646 §4.4.1 finds reason for


class ChangeHints(NamedTuple):
    """What a sitemap or feed says about one of its entries, as written."""

    url: str  # canonical
    modified: str
    frequency: str = ""  # a sitemap's <changefreq>


@dataclass(slots=True)
class ParsedDocument:
    """Filled by one reader, each field at most once."""

    bonds: LinkCollector
    title: str = ""
    description: str = ""
    charset: str = ""  # "" when it is not text
    language: str = ""
    canonical: str = ""
    robots: list[tuple[str, str]] = field(default_factory=list)  # <meta> robots: name, content
    noindex: bool = False  # it is a list of other pages, not a page
    runs: list[TextRun] = field(default_factory=list)  # the body's text, in reading order
    reason: str = ""  # what could not be read, for people
    change_hints: list[ChangeHints] = field(
        default_factory=list
    )  # of a sitemap or feed: when the pages it lists change
