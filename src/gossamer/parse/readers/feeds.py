"""XML -> links and text: RSS 0.9x and 2.0, RSS 1.0 (RDF), Atom; of any other XML, its text.

Expat reads a stream of events, so a broken feed gives its entries up to the fault. The reader refuses entities that a
file declares, because they can expand without end, and opens no other files. It knows the character names of HTML,
because feeds are full of `&nbsp;`, which XML lacks.
"""

from __future__ import annotations

import re
from html.entities import html5
from typing import TYPE_CHECKING
from xml.parsers import expat

from gossamer.basics.page_budget import MAX_FEED_ENTRIES, MAX_NODES
from gossamer.model import Field, Kind
from gossamer.parse.readers.document import MAX_DESCRIPTION, MAX_TITLE, ChangeHints, ParsedDocument
from gossamer.parse.readers.html import read_any_html
from gossamer.parse.readers.links import MAX_ANCHOR, LinkCollector
from gossamer.parse.readers.tag_limits import find_cut
from gossamer.parse.readers.text import clean, collapse_blanks
from gossamer.urls.canonical import canonicalize

if TYPE_CHECKING:
    from gossamer.parse.readers.text import TextRun

_PROLOG_BYTES = 64 << 10  # searched for the root element
_MAX_FIELD = 1 << 20  # characters read of one title or summary
# The root element's name, behind declarations, comments and a document type.
_ROOT = re.compile(
    rb"(?:\s++|<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^>\[]*+(?:\[[^\]]*+\]\s*+)?>)*+<([A-Za-z_][\w.:-]*+)", re.DOTALL
)
_ENTRY_ELEMENTS = {"rss": "item", "RDF": "item", "feed": "entry"}  # root element -> element of an entry
_SUMMARIES = ("content:encoded", "content", "summary", "description")  # of an entry, the longest first
_DATES = ("updated", "atom:updated", "dcterms:modified", "pubDate", "published", "dc:date", "date")  # the latest first
_FIELDS = frozenset({"title", "link", "guid", "subtitle", *_SUMMARIES, *_DATES})
_LANGUAGES = frozenset({"language", "dc:language"})
_PAGING_RELS = frozenset({"next", "prev", "previous", "first", "last", "prev-archive", "next-archive"})  # RFC 5005


def root_element(xml: bytes) -> str:
    """Return the local name of the root element, "" when there is none near the start."""
    match = _ROOT.match(xml[:_PROLOG_BYTES])
    return match[1].decode("ascii").rpartition(":")[2] if match else ""


def read_xml(xml: str, url: str, max_links: int) -> ParsedDocument:
    """Read a feed, or the text of any other XML."""
    document = ParsedDocument(LinkCollector(url, max_links))
    root = root_element(xml[:_PROLOG_BYTES].encode())
    reader = _FeedReader(document, _ENTRY_ELEMENTS[root]) if root in _ENTRY_ELEMENTS else _TextReader(document)
    parser = expat.ParserCreate("utf-8")  # the text is decoded already, whatever its declaration says
    parser.buffer_text = True
    parser.UseForeignDTD(True)  # makes expat skip unknown names of characters instead of failing
    parser.ExternalEntityRefHandler = lambda *_: 1
    parser.EntityDeclHandler = _refuse_entity
    parser.SkippedEntityHandler = lambda name, _: reader.text(html5.get(f"{name};", ""))
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.text
    try:
        parser.Parse(xml.replace("\0", ""), True)  # in one call: expat before 2.6 takes quadratic time over many
    except _OverBudgetError as over:
        document.cut.append(str(over))
    except (expat.ExpatError, _EntityError) as fault:
        document.reason = f"broken XML: {fault}"
    reader.finish()
    return document


class _OverBudgetError(Exception):
    """A file has more of something than the page budget allows; its text names it."""


class _EntityError(Exception):
    """A file declares entities of its own."""


def _refuse_entity(name: str, *_: object) -> None:
    raise _EntityError(f"it declares an entity ({name[:40]})")


class _TextReader:
    """Collects all text of a document, one line between two tags."""

    def __init__(self, document: ParsedDocument) -> None:
        self._document = document
        self._parts: list[str] = []

    def start(self, _: str, attributes: dict[str, str]) -> None:
        if len(self._parts) > 2 * MAX_NODES:  # its tags and the text between them
            raise _OverBudgetError("markup")
        self._document.language = self._document.language or attributes.get("xml:lang", "")
        self._parts.append("\0")

    def end(self, _: str) -> None:
        self._parts.append("\0")

    def text(self, data: str) -> None:
        self._parts.append(data)

    def finish(self) -> None:
        lines = [line for part in "".join(self._parts).split("\0") if (line := collapse_blanks(part))]
        if lines:
            self._document.runs = [(int(Field.TEXT), "\n".join(lines))]


class _FeedReader:
    """Collects the fields of a feed and of its entries; the parent element says whose they are."""

    def __init__(self, document: ParsedDocument, entry: str) -> None:
        self._document = document
        self._entry_element = entry
        self._prefix = ""  # of the root element: <atom:feed> has <atom:entry>
        self._path: list[str] = []
        self._entry_fields: dict[str, str] | None = None  # of the open entry
        self._feed_fields: dict[str, str] = {}
        self._field = ""  # the open field
        self._field_owner: dict[str, str] = {}  # the fields that it belongs to
        self._field_depth = 0
        self._parts: list[str] = []
        self._entries = 0
        self._elements = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self._elements += 1
        if self._elements > MAX_NODES:
            raise _OverBudgetError("markup")
        if not self._path:
            self._start_root(name, attributes)
        name = name.removeprefix(self._prefix)
        if self._field:
            self._parts.append(f"<{name}>")  # markup within a field, as in Atom's type="xhtml"
        elif name == self._entry_element and self._entry_fields is None:
            self._entry_fields = {}
        elif (fields := self._parent_fields()) is not None:
            self._start_child(name, attributes, fields)
        self._path.append(name)

    def _start_root(self, name: str, attributes: dict[str, str]) -> None:
        prefix, colon, local = name.rpartition(":")
        self._prefix = prefix + colon if local == "feed" else ""
        self._document.language = attributes.get("xml:lang", "")
        bonds = self._document.bonds
        bonds.base = canonicalize(attributes.get("xml:base", ""), bonds.base) or bonds.base

    def _parent_fields(self) -> dict[str, str] | None:
        """Return the fields that the next element belongs to; None in an image or author, for example."""
        parent = self._path[-1] if self._path else ""
        if self._entry_fields is not None:
            return self._entry_fields if parent == self._entry_element else None
        return self._feed_fields if parent in {"channel", "feed"} else None

    def _start_child(self, name: str, attributes: dict[str, str], fields: dict[str, str]) -> None:
        if name == "link" and "href" in attributes:
            self._add_atom_link(attributes["href"], attributes.get("rel", "alternate"), fields)
        elif name == "enclosure":
            self._document.bonds.add(attributes.get("url", ""), int(Kind.MEDIA))
        elif name == "guid" and attributes.get("isPermaLink", "true").lower() != "true":
            return  # an identifier, not a URL
        elif name in _FIELDS or name in _LANGUAGES:
            self._field, self._field_owner, self._field_depth = name, fields, len(self._path)

    def _add_atom_link(self, href: str, rel: str, fields: dict[str, str]) -> None:
        if rel == "alternate":
            fields.setdefault("link", href)
        elif rel == "enclosure":
            self._document.bonds.add(href, int(Kind.MEDIA))
        elif rel in _PAGING_RELS and fields is self._feed_fields:
            self._document.bonds.add(href, int(Kind.RELATED), "", rel)

    def text(self, data: str) -> None:
        if self._field:
            self._parts.append(data)

    def end(self, _: str) -> None:
        name = self._path.pop()
        if self._field and len(self._path) == self._field_depth:
            self._close_field()
        elif self._field:
            self._parts.append(f"</{name}>")
        elif name == self._entry_element and self._entry_fields is not None:
            self._close_entry(self._entry_fields)
            self._entry_fields = None

    def _close_field(self) -> None:
        field, self._field = self._field, ""
        value = "".join(self._parts)[:_MAX_FIELD]
        self._parts.clear()
        if value.strip():
            self._field_owner.setdefault("language" if field in _LANGUAGES else field, value)

    def _close_entry(self, fields: dict[str, str]) -> None:
        self._entries += 1
        if self._entries > MAX_FEED_ENTRIES:
            self._entry_fields = None
            raise _OverBudgetError("entries")
        title = clean(self._plain_text(fields.get("title", "")), MAX_TITLE)
        link = (fields.get("link") or fields.get("guid", "")).strip()
        if link:
            self._document.bonds.add(link, int(Kind.FEED), title[:MAX_ANCHOR])
            date = next((fields[name] for name in _DATES if name in fields), "")
            if date and (url := canonicalize(link, self._document.bonds.base)):
                self._document.change_hints.append(ChangeHints(url, date))
        summary = next((fields[name] for name in _SUMMARIES if name in fields), "")
        runs: list[TextRun] = [
            (int(Field.H2), title),
            (int(Field.PARAGRAPH), collapse_blanks(self._plain_text(summary))),
        ]
        self._document.runs += [run for run in runs if run[1]]

    def finish(self) -> None:
        """Complete an entry that was cut off, then fill in the fields of the feed."""
        if self._field:
            self._close_field()
        if self._entry_fields is not None:
            self._close_entry(self._entry_fields)
        document, fields = self._document, self._feed_fields
        document.title = clean(self._plain_text(fields.get("title", "")), MAX_TITLE)
        description = fields.get("description") or fields.get("subtitle", "")
        document.description = clean(self._plain_text(description), MAX_DESCRIPTION)
        document.language = document.language or fields.get("language", "")
        if "link" in fields:
            document.bonds.add(fields["link"].strip(), int(Kind.ALTERNATE), document.title[:MAX_ANCHOR])

    def _plain_text(self, html: str) -> str:
        """Return the text of a field that may hold markup, escaped or not."""
        if "<" not in html and "&" not in html:
            return html
        markup = html.encode()
        document = read_any_html(markup, self._document.bonds.base, 0, keep_anchors=False, cut=find_cut(markup))
        return "\n".join(text for _, text in document.runs)
