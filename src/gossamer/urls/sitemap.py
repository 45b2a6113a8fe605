"""Sitemaps (sitemaps.org 0.9) as XML, index, gzip or text, and feeds used as sitemaps.

The reader works on a stream and bounds everything: bytes after decompression, entries, one tag, one field. It refuses
entities that a file declares: they can expand without end or read other files. After a fault, the entries before it
count: half a sitemap is better than none.
"""

from __future__ import annotations

import re
import zlib
from itertools import chain
from typing import TYPE_CHECKING, Literal, NamedTuple
from xml.parsers import expat

from gossamer.model import Value
from gossamer.urls.canonical import canonicalize

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MAX_URLS = 50_000  # of one sitemap (sitemaps.org), usable or not
MAX_BYTES = 50 << 20  # of one sitemap, decompressed (sitemaps.org)
CHUNK_BYTES = 64 << 10  # handled at a time (bytes)
MAX_TAG = 1 << 20  # longest tag or comment (bytes): the time of expat before 2.6 grows with its square
MAX_DEPTH = 100  # of nested elements; expat holds a record of each open one
MAX_FIELD = 8192  # longest text of one field or line (characters): nobody visits longer URLs
MAX_MEMBERS = 100  # of one gzip file; a hostile one could have millions of empty members
GZIP = b"\x1f\x8b"
GZIP_FORMAT = 31  # zlib's wbits for gzip with its header
UTF8_BOM = b"\xef\xbb\xbf"
UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")
LINE_END = re.compile(rb"[\r\n]+")
NUMBER = re.compile(r"[0-9]{1,3}(?:\.[0-9]{0,9})?|\.[0-9]{1,9}")
CHANGE_FREQUENCIES = frozenset({"always", "hourly", "daily", "weekly", "monthly", "yearly", "never"})


class SitemapEntry(Value, frozen=True, kw_only=True):
    """One URL that a sitemap names."""

    url: str  # canonical
    lastmod: str = ""  # as written
    changefreq: str = ""  # one of CHANGE_FREQUENCIES, or ""
    priority: float | None = None  # 0..1


class Sitemap(Value, frozen=True, kw_only=True):
    """The content of a sitemap."""

    kind: Literal["urlset", "index", "feed", "text", "none"]  # index: of sitemaps; none: not a sitemap
    entries: list[SitemapEntry]
    problems: tuple[str, ...]  # sentence fragments for people, none of them ""


class XmlFormat(NamedTuple):
    """Where the entries of an XML format are, and the meaning of the elements in them."""

    kind: Literal["urlset", "index", "feed"]
    entry: str
    depth: int  # of an entry; the root's is 1
    fields: dict[str, str]


SITEMAP_FIELDS = {"loc": "url", "lastmod": "lastmod", "changefreq": "changefreq", "priority": "priority"}
FEED_FIELDS = {"link": "url", "pubDate": "lastmod", "updated": "lastmod", "date": "lastmod"}
XML_FORMATS = {  # by root element
    "urlset": XmlFormat("urlset", "url", 2, SITEMAP_FIELDS),
    "sitemapindex": XmlFormat("index", "sitemap", 2, SITEMAP_FIELDS),
    "rss": XmlFormat("feed", "item", 3, FEED_FIELDS),
    "RDF": XmlFormat("feed", "item", 2, FEED_FIELDS),
    "feed": XmlFormat("feed", "entry", 2, FEED_FIELDS),
}


class StopReading(Exception):
    """The reader must stop; the message says why."""


def parse_sitemap(
    body: bytes, *, base: str | None = None, max_urls: int = MAX_URLS, max_bytes: int = MAX_BYTES
) -> Sitemap:
    """Parse a sitemap. `base` is its own URL: some sitemaps break the rules and use relative URLs."""
    builder = _SitemapBuilder(base, max_urls)
    chunks = _iterate_chunks(body, max_bytes)
    try:
        first = next(chunks, b"").removeprefix(UTF8_BOM)
        if first.startswith(UTF16_BOMS) or first.lstrip().startswith(b"<"):
            # Blank lines before the XML declaration are invalid and common.
            _XmlReader(builder).read(chain([first.lstrip()], chunks))
        else:
            _read_text(chain([first], chunks), builder)
    except StopReading as stop:
        builder.problems.append(str(stop))
    return builder.build()


class _SitemapBuilder:
    """The entries read so far."""

    def __init__(self, base: str | None, max_urls: int) -> None:
        self.kind: Literal["urlset", "index", "feed", "text", "none"] = "none"
        self.problems: list[str] = []
        self._base = base
        self._max_urls = max_urls
        self._entries: list[SitemapEntry] = []
        self._unusable = 0

    def add(self, fields: dict[str, str]) -> None:
        if len(self._entries) + self._unusable >= self._max_urls:
            raise StopReading(f"more than {self._max_urls} entries; the rest was left out")
        written = fields.get("url", "")
        url = canonicalize(written, self._base) if 0 < len(written) <= MAX_FIELD else None
        if url is None:
            self._unusable += 1
            return
        frequency = fields.get("changefreq", "").lower()
        entry = SitemapEntry(
            url=url,
            lastmod=fields.get("lastmod", "")[:64],
            changefreq=frequency if frequency in CHANGE_FREQUENCIES else "",
            priority=_parse_priority(fields.get("priority", "")),
        )
        self._entries.append(entry)

    def build(self) -> Sitemap:
        if self._unusable:
            self.problems.append(f"entries without a URL to visit: {self._unusable}")
        return Sitemap(kind=self.kind, entries=self._entries, problems=tuple(self.problems))


def _parse_priority(written: str) -> float | None:
    return min(float(written), 1.0) if NUMBER.fullmatch(written) else None


class _XmlReader:
    """Takes entries from a stream of XML by their depth; deeper elements (image:loc) belong to extensions."""

    def __init__(self, builder: _SitemapBuilder) -> None:
        self._builder = builder
        self._depth = 0
        self._format: XmlFormat | None = None
        self._entry: dict[str, str] | None = None
        self._field = ""  # the open field, whose text it collects
        self._text = ""
        self._parser = expat.ParserCreate()
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start_element
        self._parser.EndElementHandler = self._end_element
        self._parser.CharacterDataHandler = self._characters
        self._parser.EntityDeclHandler = self._refuse_entity

    def read(self, chunks: Iterable[bytes]) -> None:
        fed = 0
        try:
            for chunk in chunks:
                self._parser.Parse(chunk, False)
                fed += len(chunk)
                if fed - self._parser.CurrentByteIndex > MAX_TAG:
                    raise StopReading(f"a tag or comment of more than {MAX_TAG} bytes")
            self._parser.Parse(b"", True)
        except expat.ExpatError as fault:
            what = "malformed XML" if self._format else "not a sitemap: malformed XML"
            raise StopReading(f"{what} in line {fault.lineno}: {expat.ErrorString(fault.code)}") from fault

    def _start_element(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise StopReading(f"elements nested deeper than {MAX_DEPTH}")
        local = name.rpartition(":")[2]
        if self._format is None:
            self._format = XML_FORMATS.get(local)
            if self._format is None:
                raise StopReading(f"not a sitemap: its root element is {local[:40]!r}")
            self._builder.kind = self._format.kind
        elif self._depth == self._format.depth:
            self._entry = {} if local == self._format.entry else None
        elif self._depth == self._format.depth + 1 and self._entry is not None:
            self._field = self._format.fields.get(local, "")
            self._text = ""
            if self._field == "url" and "href" in attributes:  # <link> of Atom
                self._field = ""
                if attributes.get("rel", "alternate") == "alternate":
                    self._entry.setdefault("url", attributes["href"].strip())

    def _characters(self, text: str) -> None:
        if self._field and len(self._text) <= MAX_FIELD:
            self._text += text

    def _end_element(self, _name: str) -> None:
        if self._format is not None and self._entry is not None:
            if self._depth == self._format.depth + 1 and self._field:
                self._entry.setdefault(self._field, self._text.strip())
                self._field = ""
            elif self._depth == self._format.depth:
                self._builder.add(self._entry)
                self._entry = None
        self._depth -= 1

    def _refuse_entity(self, name: str, *_: object) -> None:
        raise StopReading(f"it declares an entity ({name[:40]!r}), which is refused")


def _read_text(chunks: Iterable[bytes], builder: _SitemapBuilder) -> None:
    """Read one URL a line."""
    builder.kind = "text"
    rest = b""
    for chunk in chunks:
        *lines, rest = LINE_END.split(rest + chunk)
        rest = rest[: MAX_FIELD + 1]  # enough to see that a line is too long
        for line in lines:
            _add_line(line, builder)
    _add_line(rest, builder)


def _add_line(line: bytes, builder: _SitemapBuilder) -> None:
    text = line.decode("utf-8", "replace").strip()
    if text:
        builder.add({"url": text})


def _iterate_chunks(body: bytes, max_bytes: int) -> Iterator[bytes]:
    pieces = (
        _gunzip(body)
        if body.startswith(GZIP)
        else (body[offset : offset + CHUNK_BYTES] for offset in range(0, len(body), CHUNK_BYTES))
    )
    size = 0
    for piece in pieces:
        size += len(piece)
        if size > max_bytes:
            raise StopReading(f"larger than {max_bytes} bytes; the rest was left out")
        yield piece


def _gunzip(body: bytes) -> Iterator[bytes]:
    unzip = zlib.decompressobj(GZIP_FORMAT)
    members = 1
    for offset in range(0, len(body), CHUNK_BYTES):
        rest = body[offset : offset + CHUNK_BYTES]
        while rest:
            if unzip.eof:
                if not rest.startswith(GZIP[:1]):  # padding
                    return
                members += 1
                if members > MAX_MEMBERS:
                    raise StopReading(f"gzip data of more than {MAX_MEMBERS} members; the rest was left out")
                unzip = zlib.decompressobj(GZIP_FORMAT)
            piece = _inflate(unzip, rest)
            if piece:
                yield piece
            rest = unzip.unused_data if unzip.eof else unzip.unconsumed_tail
    if not unzip.eof:
        raise StopReading("gzip data cut short")


def _inflate(unzip: zlib._Decompress, data: bytes) -> bytes:
    try:
        return unzip.decompress(data, CHUNK_BYTES)
    except zlib.error as fault:
        raise StopReading("damaged gzip data") from fault
