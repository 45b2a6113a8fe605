"""Every reader of bytes from outside, as a function of one text, with its patterns and the largest input it gets."""

from __future__ import annotations

import gzip
import json
import tempfile
import zlib
from collections.abc import Callable, Sequence  # noqa: TC003 - NamedTuple evaluates them
from functools import partial
from pathlib import Path
from typing import NamedTuple

import brotli
import zstandard

from gossamer.basics.display import escape_hidden
from gossamer.basics.headers import header_text, parse_length, parse_media_type
from gossamer.config import CrawlSettings
from gossamer.crawl.policy import retry_after
from gossamer.errors import UsageError
from gossamer.fetch.response import ResponseLimits, clean_reason, parse_head
from gossamer.files.archive import read_archive
from gossamer.files.file_names import path_to_url, url_to_path
from gossamer.files.manifest import decode_line
from gossamer.files.tables import safe_cell
from gossamer.graph.reports.languages import hreflang_fault
from gossamer.index.analyze import detect_language, get_analyzer
from gossamer.index.documents import url_words
from gossamer.kernels import native
from gossamer.model import Field, Role
from gossamer.parse.charset import charset_from_document, charset_from_header, convert_to_utf8
from gossamer.parse.content_encoding import decode_body
from gossamer.parse.options import ParseOptions
from gossamer.parse.page_parser import PageParser
from gossamer.parse.readers.links import parse_link_header, refresh_target, srcset_urls
from gossamer.processes.framing import encode_frame, take_frames
from gossamer.revisit.dates import parse_archive_date, parse_http_date, parse_listed_date
from gossamer.revisit.sameness import is_same_content
from gossamer.search.query import parse_query
from gossamer.search.snippet import MatchFinder, without_hidden_characters
from gossamer.urls.canonical import UrlRules, canonicalize, url_key, urls_from_input
from gossamer.urls.robots import RobotsRules, decode_robots, parse_directives
from gossamer.urls.scope import Scope, has_repeated_segments, registrable_domain
from gossamer.urls.sitemap import parse_sitemap
from helpers.growth.patterns import DEEP_MARKUP, KERNEL_MARKUP, MARKUP, ROBOTS, SITEMAPS, TOKENS, XML, Pattern
from helpers.parse.jobs import job

KIB, MIB = 1 << 10, 1 << 20
HEADER_BYTES = 256 * KIB  # all headers of a response (`fetch.max_header_bytes`)
PARSER = PageParser(ParseOptions(keep_source=False))
LIMITS = ResponseLimits(accept=frozenset({"text/html"}), max_bytes=16 * MIB)
SCOPE = Scope(
    CrawlSettings(scope="prefix", exclude=(r"\?.*=.*=", r"/a+b"), include=("a",)),
    ["http://a.test/dir/", "http://b.test/"],
)
ANY_URL = "http://a.test/"
SCRIPTS = tuple(
    map(
        Pattern,
        (
            "word ",
            "words and more words ",
            "don't ",
            "o'",
            "straße ",
            "καλημέρα ",
            "слово ",
            "کتاب ",
            "שלום ",
            "漢字",
            "かな",
            "한국어 ",
            "ภาษาไทย",
            "हिन्दी ",
            "e\u0301\u0301",
            "\u0301",
            "漢\u3099",
            "a1",
            "a_b",
            "ﬁ",
            "İ",
            "\U0001f600",
            "a\u200d",
        ),
    )
)


class Reader(NamedTuple):
    """A reader and the inputs it is tested with."""

    name: str
    read: Callable[[str], object]
    patterns: Sequence[Pattern]
    max_bytes: int = 8 * MIB  # more never reaches it, or takes too long to make


def _page(content_type: str, role: Role = Role.PAGE) -> Callable[[str], object]:
    return lambda text: PARSER.parse(job(text.encode(), content_type, role=role))


def _kernel(text: str) -> object:
    """Read a page with the kernel alone, whether it is sure or not; nothing to do where it is not built."""
    if native is None:
        return None
    html = text.encode()
    native.find_cut(html)
    reading = native.read_page(html, ANY_URL, 50_000, True, 64 * len(html))
    return reading if isinstance(reading, str) else reading.columns(False, True, False)


def _typed(text: str) -> object:
    try:
        return urls_from_input(text)
    except UsageError as refused:
        return refused


def _file_names(text: str) -> object:
    try:
        return path_to_url(url_to_path(canonicalize(f"{ANY_URL}{text}") or ANY_URL))
    except ValueError as refused:
        return refused


def _robots(text: str) -> object:
    rules = RobotsRules.parse(decode_robots(text.encode()))
    return rules.for_product("gossamer").allows(f"{ANY_URL}{'a' * 2_000}")


def _fields(text: str) -> object:
    return parse_head([b"HTTP/1.1 200 OK\r\n", *text.encode("latin-1", "replace").splitlines(keepends=True), b"\r\n"])


def _archive(text: str) -> object:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "archive")
        path.write_bytes(text.encode("latin-1"))
        return sum(1 for _ in read_archive(path, LIMITS))


def _body(coding: str, pack: Callable[[bytes], bytes]) -> Callable[[str], object]:
    """Read many small compressed parts, and one large one."""
    part = pack(b"a" * 100)

    def read(text: str) -> object:
        body = part * (len(text) // len(part)) if text.startswith("parts") else pack(text.encode())
        return decode_body(body, coding, 64 * MIB)

    return read


def _json(text: str) -> str:
    return json.dumps(text)


def _frames(text: str) -> object:
    buffer = bytearray(encode_frame(b"message") * (len(text) // 8))
    return sum(len(message) for message in take_frames(buffer, MIB))


RECORD = "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://a.test/\r\nContent-Length: {}\r\n\r\n"
HTTP = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
# Gzipped archives: a good record, then members that store the next 32,767 bytes.
GZIPPED = gzip.compress(RECORD.format(0).encode(), mtime=0).decode("latin-1")
STORED = "\x1f\x8b\x08\0\0\0\0\0\0\x03\0\xff\x7f\0\x80"
ARCHIVES = (
    Pattern(" x\r\n", "WARC/1.0\r\nWARC-Type: response\r\n", "Content-Length: 0\r\n\r\n"),
    Pattern("X: y\r\n", "WARC/1.0\r\nWARC-Type: response\r\n", "Content-Length: 0\r\n\r\n"),
    Pattern(f"{RECORD.format(10**7)}\r\n\r\n"),
    Pattern(f"{RECORD.format(10**12)}\r\n\r\n"),
    Pattern(f"{RECORD.format(5_000)}\r\n\r\n"),
    Pattern(f"{RECORD.format(0)}\r\n\r\n"),
    Pattern("\n", RECORD.format(9)),
    Pattern("a", RECORD.format(9)),
    Pattern("WARC/1.0\r\n"),
    Pattern("a\n", "WARC/1.0\r\n"),
    Pattern("\n\nWARC/1.", RECORD.format(10**7)),
    Pattern("\n\nWARC/1.0\r\n\r\n", RECORD.format(10**7)),
    Pattern(f"{RECORD.format(10**7)}\n", end="\n" * 10_000),
    Pattern(" x\r\n", RECORD.format(10**6) + HTTP, "\r\n"),
    Pattern("X: y\r\n", RECORD.format(10**6) + HTTP, "\r\n"),
    Pattern("HTTP/1.1 100\r\n\r\n", RECORD.format(10**6)),
    Pattern("1\r\na\r\n", f"{RECORD.format(10**7)}{HTTP}Transfer-Encoding: chunked\r\n\r\n"),
    Pattern(
        "http://a.test/ 1.1.1.1 20200101000000 text/html 9999999\n", "filedesc://a 0 20200101000000 text/plain 0\n"
    ),
    Pattern("a ", "filedesc://a 0 20200101000000 text/plain 0\n"),
    Pattern("12345678 ", "filedesc://a 0 20200101000000 text/plain 0\n"),
    Pattern(STORED, GZIPPED),
    Pattern("\x1f\x8b\x08", GZIPPED + STORED),
    Pattern("\x1f\x8b\x08\0\0\0\0\0\0\x03\x03\0" + "\0" * 8, GZIPPED),
)
FIELDS = (
    Pattern(" x\r\n", "A: b\r\n"),
    Pattern("A: b\r\n"),
    Pattern("X-Robots-Tag: a\r\n"),
    Pattern(": \r\n"),
    Pattern("a\r\n"),
)
LINK_VALUES = (
    Pattern("<a>; rel=x, "),
    Pattern('<a>; rel="'),
    Pattern(";", "<a>"),
    Pattern("a=", "<a>;"),
    Pattern("\\", '<a>;a="'),
    Pattern('a="b";', "<a>;"),
    Pattern("<a>"),
    Pattern("<a>,"),
    Pattern(" ", "<a>; rel"),
)
REFRESHES = (Pattern(" ", "5"), Pattern("url ", "5;"), Pattern("=", "5;url"), Pattern("'", "5;url="), Pattern(";", "5"))
BODIES = (Pattern("parts"), Pattern("a", "one"))
VOLATILE = (
    Pattern("12:34:56 "),
    Pattern("1 jan 2024 "),
    Pattern("2024-01-01 "),
    Pattern("3 hours ago "),
    Pattern("a1b2c3d4-"),
    Pattern("a-", "1"),
    Pattern("1.1", "updated "),
    Pattern("jan 1, "),
    Pattern("12:34:", "generated "),
)
TYPES = (
    Pattern('a="', "text/html;"),
    Pattern(";a=b", "text/html"),
    Pattern("\\", 'text/html;charset="'),
    Pattern(" ", "text/html; charset ="),
)

READERS = (
    Reader("HTML", _page("text/html"), MARKUP),
    Reader("HTML kernel", _kernel, (*MARKUP, *DEEP_MARKUP, *KERNEL_MARKUP)),
    Reader("XHTML", _page("application/xhtml+xml"), MARKUP),
    Reader("HTML tokens", _page("text/html"), TOKENS, MIB),
    Reader(
        "plain text", _page("text/plain"), (Pattern("a"), Pattern("a\n"), Pattern("\0"), Pattern("漢"), Pattern(" \n"))
    ),
    # Python passes XML to expat in pieces of 1 MiB, and expat before 2.6 reads an open tag again with each piece. That
    # is quadratic beyond 1 MiB, and bounded by the size of a page: 0.2 s for a tag of 16 MiB.
    Reader("feed or XML", _page("application/rss+xml"), XML, 2 * MIB),
    Reader("sitemap", lambda text: parse_sitemap(text.encode(), base=ANY_URL), SITEMAPS),
    Reader("robots.txt", _robots, ROBOTS, 500 * KIB),
    Reader("header fields", _fields, (*FIELDS, *TOKENS), MIB),
    Reader("archive", _archive, ARCHIVES, 4 * MIB),
    Reader("gzip body", _body("gzip", gzip.compress), BODIES),
    Reader("deflate body", _body("deflate", zlib.compress), BODIES),
    Reader("brotli body", _body("br", partial(brotli.compress, quality=1)), BODIES),
    Reader("zstd body", _body("zstd", zstandard.compress), BODIES),
    Reader("Link", lambda text: list(parse_link_header(text)), (*LINK_VALUES, *TOKENS), HEADER_BYTES),
    Reader("Refresh", refresh_target, (*REFRESHES, *TOKENS), HEADER_BYTES),
    Reader("srcset", lambda text: list(srcset_urls(text)), TOKENS, MIB),
    Reader("Content-Type", charset_from_header, (*TYPES, *TOKENS), HEADER_BYTES),
    Reader("media type", parse_media_type, TOKENS, HEADER_BYTES),
    Reader("X-Robots-Tag", lambda text: parse_directives(text, [("robots", text)], "gossamer"), TOKENS, HEADER_BYTES),
    Reader("Retry-After", lambda text: retry_after(text, 0.0), TOKENS, HEADER_BYTES),
    Reader("Content-Length", parse_length, TOKENS, HEADER_BYTES),
    Reader("ETag", lambda text: header_text(text, MIB), TOKENS, HEADER_BYTES),
    Reader(
        "dates",
        lambda text: [parse(text) for parse in (parse_http_date, parse_listed_date, parse_archive_date)],
        TOKENS,
        MIB,
    ),
    Reader("reason", clean_reason, TOKENS, HEADER_BYTES),
    Reader("document charset", lambda text: charset_from_document(text.encode()), TOKENS, MIB),
    Reader("charset", lambda text: convert_to_utf8(text.encode("utf-8") + b"\xff", ""), TOKENS, MIB),
    Reader("URL", lambda text: canonicalize(text, ANY_URL), TOKENS, MIB),
    Reader("host", lambda text: canonicalize(f"http://{text}"), TOKENS, MIB),
    Reader(
        "URL key",
        lambda text: url_key(f"{ANY_URL}?{text}", UrlRules(query="sort", drop_parameters=frozenset("a"))),
        TOKENS,
        MIB,
    ),
    Reader("typed URL", _typed, TOKENS, MIB),
    Reader("URL words", lambda text: url_words(f"{ANY_URL}{text}", get_analyzer("")), TOKENS, MIB),
    Reader("scope", lambda text: SCOPE.refusal(f"{ANY_URL}{text}"), TOKENS, MIB),
    Reader("path repeats", lambda text: has_repeated_segments(f"{ANY_URL}{text}", 3), TOKENS, MIB),
    Reader("domain", registrable_domain, (Pattern("a."), Pattern("1."), Pattern("a"), Pattern(":1")), MIB),
    Reader("file names", _file_names, TOKENS, MIB),
    Reader("manifest", lambda text: decode_line(f'{{"url":{_json(text)},"path":""}}'), TOKENS, MIB),
    Reader("query", lambda text: parse_query(text, {"english": 1}), TOKENS, MIB),
    Reader("language", lambda text: detect_language("", [text]), SCRIPTS, MIB),
    Reader("words", lambda text: get_analyzer("english").terms(text), (*SCRIPTS, *TOKENS), MIB),
    Reader(
        "matches",
        lambda text: MatchFinder([("word",), ("漢字",), ("a",)]).find(text, "english"),
        (*SCRIPTS, *TOKENS),
        MIB,
    ),
    Reader(
        "sameness",
        lambda text: is_same_content([(Field.TEXT, text)], [(Field.TEXT, f"{text}.")]),
        (*VOLATILE, *TOKENS),
        MIB,
    ),
    Reader("hidden characters", lambda text: (escape_hidden(text), without_hidden_characters(text)), TOKENS, MIB),
    Reader("CSV cell", safe_cell, TOKENS, MIB),
    Reader("hreflang", hreflang_fault, TOKENS, MIB),
    Reader("frames", _frames, (Pattern("a"),)),
)
