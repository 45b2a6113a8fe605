"""Bytes -> Page: decode, detect the type, read, pack. `PageParser.parse` never raises for bad input.

The steps:

    content_encoding        Content-Encoding undone, under the size limit
    charset                 bytes in any encoding -> UTF-8
    readers/, urls.sitemap  -> a ParsedDocument: links, text by field, metadata
    here                    ParsedDocument and headers -> a Page, with text and source compressed

It runs in parser processes (parser_process.py), because its input is hostile and its libraries are written in C.
"""

from __future__ import annotations

import re
from functools import lru_cache, partial
from hashlib import blake2b, sha256
from typing import TYPE_CHECKING

import zstandard

from gossamer.basics.headers import parse_media_type
from gossamer.basics.page_budget import MAX_TEXT_BYTES
from gossamer.model import Field, Hints, Kind, Outcome, Page, Position, Role
from gossamer.parse.charset import convert_to_utf8
from gossamer.parse.content_encoding import decode_body
from gossamer.parse.readers.document import MAX_LANGUAGE, ChangeHints, ParsedDocument
from gossamer.parse.readers.html import read_html, read_xhtml
from gossamer.parse.readers.links import MAX_ANCHOR, LinkCollector, parse_link_header, refresh_target, rel_kind
from gossamer.parse.readers.script_signs import script_sign
from gossamer.parse.readers.text import clean, collapse_blanks, pack_page_text, page_runs, topic_nearness, unpack_runs
from gossamer.urls.canonical import DEFAULT_RULES, canonicalize, url_digest
from gossamer.urls.robots import MAX_BYTES as MAX_ROBOTS_BYTES
from gossamer.urls.robots import decode_robots, parse_directives

if TYPE_CHECKING:
    from gossamer.model import ParseJob
    from gossamer.parse.options import ParseOptions

_DIGEST_BYTES = 16
_ZSTD_LEVEL = 1  # 0.05 ms and 5.4 kB for a documentation page; level 3 takes 0.08 ms for 5.2 kB
_CACHED_DIGESTS = 8192  # URLs whose digest stays cached between pages: the navigation of a site

_XML_TYPES = frozenset({"text/xml", "application/xml"})
_PLAIN_TEXT_TYPES = frozenset(
    {"application/json", "application/javascript", "application/x-javascript", "application/yaml"}
)
_HTML_TYPES = frozenset({"text/html", "application/xhtml+xml"})
_GENERIC_TYPES = frozenset({"", "*/*", "application/octet-stream", "binary/octet-stream", "application/unknown"})
_SNIFF_BYTES = 512  # of a body, to detect its type
_HTML_START = re.compile(
    rb"(?:\s++|<!--.*?-->)*+<(?:!doctype\s+html|html|head|body|title|script|style|meta|link|h1|div|p|a|table|br|iframe)[\s>/]",
    re.IGNORECASE | re.DOTALL,
)
# If so many entries of a sitemap have dates within so many seconds, the dates are those of the sitemap itself.
_MIN_SAME_DATES = 10
_SAME_TIME_SECONDS = 3600.0
NO_HINTS = Hints()
_LANGUAGE = re.compile(r"[A-Za-z0-9]+(?:[-_][A-Za-z0-9]+)*")


def parse_page(job: ParseJob, options: ParseOptions) -> Page:
    """Parse one page. For many, use a `PageParser`: its caches last from page to page."""
    return PageParser(options).parse(job)


class PageParser:
    """Parses pages, one after the other. Its caches make it faster and never change a result."""

    def __init__(self, options: ParseOptions) -> None:
        self._options = options
        self._compress = zstandard.ZstdCompressor(level=_ZSTD_LEVEL).compress
        self._digest = lru_cache(_CACHED_DIGESTS)(partial(url_digest, rules=options.rules))

    def parse(self, job: ParseJob) -> Page:
        """Parse the body of one response."""
        if job.role is Role.ROBOTS:
            return _robots_page(job)
        body, outcome, reason = decode_body(job.body, job.content_encoding, self._options.max_bytes)
        if outcome is not Outcome.FETCHED:
            return Page(job.id, outcome, reason)
        media_type = _effective_media_type(job.content_type, body)
        document = self._read_document(job, media_type, body)
        if self._options.script_links and media_type in _HTML_TYPES:
            _add_script_links(body, document)
        _add_header_links(job, document)
        document.reason = "; ".join(filter(None, (reason, document.reason, document.bonds.describe_dropped())))
        return self._build_page(job, media_type, body, document)

    def _read_document(self, job: ParseJob, media_type: str, body: bytes) -> ParsedDocument:
        """Read the body with the reader of its type."""
        max_links = self._options.max_links
        is_xml = media_type in _XML_TYPES or media_type.endswith("+xml")
        if job.role is Role.SITEMAP:
            return _read_sitemap(body, job.url, max_links)
        if media_type == "application/pdf":
            from gossamer.parse.readers.pdf import read_pdf  # noqa: PLC0415  20 MB that many crawls do not need

            return read_pdf(body, job.url, max_links)
        if not (is_xml or media_type.startswith("text/") or media_type in _PLAIN_TEXT_TYPES):
            return ParsedDocument(
                LinkCollector(job.url, max_links), reason=f"nothing to read in {media_type or 'an unknown type'}"
            )
        utf8, charset = convert_to_utf8(body, job.content_type)
        if is_xml:
            document = self._read_xml(job, media_type, body, utf8)
        elif media_type == "text/html":
            document = read_html(utf8, job.url, max_links, keep_anchors=self._options.keep_links)
        else:
            document = _read_plain_text(utf8, job.url, max_links)
        document.charset = charset
        return document

    def _read_xml(self, job: ParseJob, media_type: str, body: bytes, utf8: bytes) -> ParsedDocument:
        from gossamer.parse.readers.feeds import read_xml, root_element  # noqa: PLC0415  as above, 2 MB

        max_links = self._options.max_links
        root = root_element(utf8)
        if root == "html" or media_type == "application/xhtml+xml":
            return read_xhtml(utf8, job.url, max_links, keep_anchors=self._options.keep_links)
        if root in {"urlset", "sitemapindex"}:
            return _read_sitemap(body, job.url, max_links)
        return read_xml(utf8.decode("utf-8", "replace"), job.url, max_links)

    def _build_page(self, job: ParseJob, media_type: str, body: bytes, document: ParsedDocument) -> Page:
        options = self._options
        directives = parse_directives(job.robots, document.robots, options.product)
        cut = document.cut
        if document.packed_runs:
            text = document.packed_runs
            runs = unpack_runs(text) if options.topic else []
        else:
            runs = page_runs(document.title, document.description, document.runs)
            text = pack_page_text(runs, cut)
        if document.bonds.dropped:
            cut.append("links")
        return Page(
            job.id,
            Outcome.FETCHED,
            document.reason,
            media_type=media_type,
            charset=document.charset,
            title=document.title,
            description=document.description,
            language=_language_tag(document.language or job.language),
            canonical=document.canonical,
            noindex=document.noindex or directives.noindex,
            nofollow=directives.nofollow,
            content_digest=sha256(body).digest()[:_DIGEST_BYTES],  # processors have instructions for this one
            text_digest=blake2b(text, digest_size=_DIGEST_BYTES).digest(),
            topic=topic_nearness(runs, options.topic),
            size=len(body),
            text=self._compress(text),
            source=self._compress(body) if options.keep_source else b"",
            links=document.bonds.links(
                self._digest,
                nofollow=directives.nofollow,
                keep_all=options.keep_links,
                has_rules=options.rules != DEFAULT_RULES,
            ),
            hints=self._hints(document),
            cut=", ".join(cut),
            script_sign=script_sign(body, text) if media_type in _HTML_TYPES and job.role is Role.PAGE else "",
        )

    def _hints(self, document: ParsedDocument) -> Hints:
        """Return what a sitemap or feed says about the changes of other pages, for the links that are kept."""
        change_hints = document.change_hints[: self._options.max_links]
        if not change_hints:
            return NO_HINTS
        from gossamer.revisit.dates import parse_listed_date  # noqa: PLC0415  as above, for feeds and sitemaps only
        from gossamer.revisit.evidence import FREQUENCIES  # noqa: PLC0415

        modified = [parse_listed_date(entry.modified) or 0.0 for entry in change_hints]
        dates = [at for at in modified if at]
        if len(dates) >= _MIN_SAME_DATES and max(dates) - min(dates) < _SAME_TIME_SECONDS:
            modified = [0.0] * len(change_hints)  # the time of the sitemap itself, which says nothing about its pages
        periods = [FREQUENCIES.get(entry.frequency, 0.0) for entry in change_hints]
        return Hints([self._digest(entry.url) for entry in change_hints], modified, periods)


def _robots_page(job: ParseJob) -> Page:
    """Return a robots.txt as plain UTF-8, cut if it is too big (RFC 9309 §2.5)."""
    max_bytes = MAX_ROBOTS_BYTES + 1  # one more shows that it was cut
    body, outcome, reason = decode_body(job.body, job.content_encoding, max_bytes)
    if outcome is Outcome.BAD_ENCODING:
        return Page(job.id, outcome, reason)
    return Page(job.id, Outcome.FETCHED, reason, size=len(body), text=decode_robots(body).encode())


def _effective_media_type(content_type: str, body: bytes) -> str:
    """Return the declared type, or if that is generic, one detected by a subset of WHATWG MIME §7."""
    essence = parse_media_type(content_type).partition(",")[0].rstrip()  # some servers send a list of types
    if essence not in _GENERIC_TYPES:
        return essence
    start = body[:_SNIFF_BYTES].removeprefix(b"\xef\xbb\xbf").lstrip()
    if start.startswith(b"%PDF-"):
        return "application/pdf"
    if start.startswith(b"<?xml"):
        return "application/xml"
    if _HTML_START.match(start):
        return "text/html"
    return essence if b"\0" in start or not start else "text/plain"


def _read_sitemap(body: bytes, url: str, max_links: int) -> ParsedDocument:
    from gossamer.urls.sitemap import parse_sitemap  # noqa: PLC0415  HTML does not need expat

    sitemap = parse_sitemap(body, base=url)
    bonds = LinkCollector(url, max_links)
    kind = Kind.SITEMAP_FILE if sitemap.kind == "index" else Kind.SITEMAP
    for entry in sitemap.entries:
        bonds.add(entry.url, int(kind))
    change_hints = [ChangeHints(entry.url, entry.lastmod, entry.changefreq) for entry in sitemap.entries]
    return ParsedDocument(bonds, noindex=True, reason="; ".join(sitemap.problems), change_hints=change_hints)


def _read_plain_text(utf8: bytes, url: str, max_links: int) -> ParsedDocument:
    """Read plain text: no title, no links; its lines stay lines."""
    text = utf8[:MAX_TEXT_BYTES].decode("utf-8", "replace").replace("\0", "\ufffd")
    lines = [line for raw in text.splitlines() if (line := collapse_blanks(raw))]
    runs = [(int(Field.TEXT), "\n".join(lines))] if lines else []
    return ParsedDocument(LinkCollector(url, max_links), runs=runs, cut=["text"] * (len(utf8) > MAX_TEXT_BYTES))


def _add_header_links(job: ParseJob, document: ParsedDocument) -> None:
    """Add the links of the response's headers. They are relative to the page's URL, not to its `<base>`."""
    for target, rel, title in parse_link_header(job.link):
        url, kind = canonicalize(target, job.url), rel_kind(rel)
        if url and kind:
            if kind is Kind.CANONICAL:
                if url == document.canonical:
                    continue  # the page declares the same one; two declarations count once
                document.canonical = document.canonical or url
            document.bonds.add(url, int(kind), clean(title, MAX_ANCHOR), rel, int(Position.HEAD))
    refresh = refresh_target(job.refresh) if job.refresh else None
    if refresh and (url := canonicalize(refresh, job.url)):
        document.bonds.add(url, int(Kind.REFRESH), "", "", int(Position.HEAD))


def _add_script_links(body: bytes, document: ParsedDocument) -> None:
    from gossamer.parse.readers.script_links import script_urls  # noqa: PLC0415  few crawls ask for them

    for href in script_urls(body):
        document.bonds.add(href, int(Kind.SCRIPT_URL))


def _language_tag(declared: str) -> str:
    """Return the first declared language tag that is well-formed (BCP 47), else ""."""
    match = _LANGUAGE.match(declared[:200].strip())
    return match[0].replace("_", "-")[:MAX_LANGUAGE] if match else ""
