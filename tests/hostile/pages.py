"""Responses with hostile content: pages, sitemaps, feeds, documents, compression."""

from __future__ import annotations

import gzip
import zlib
from functools import lru_cache
from typing import TYPE_CHECKING

import brotli
import zstandard

from hostile.server import PAGE, Exchange, behaviour

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

MIB = 1 << 20
MAKERS: list[Callable[[], bytes]] = []
ENTITY_BOMB = (
    b'<!DOCTYPE l [<!ENTITY a "ha">'
    + b"".join(b'<!ENTITY %c "%b">' % (98 + n, b"&%c;" % (97 + n) * 10) for n in range(12))
    + b"]>"
)
EXTERNAL_ENTITY = b'<!DOCTYPE x [<!ENTITY secret SYSTEM "file:///etc/passwd">]>'


def content(
    name: str, make: Callable[[], bytes], kind: str = "text/html", more: str = ""
) -> Callable[[Exchange], Awaitable[None]]:
    """Register a behaviour that always answers with the same body, made at first use."""
    body = lru_cache(maxsize=1)(make)
    MAKERS.append(body)

    async def answer(exchange: Exchange) -> None:
        await exchange.answer(body(), kind=kind, more=more)

    answer.__name__ = name
    return behaviour(answer)


def prepare() -> None:
    """Make all bodies now, so that no request waits for one."""
    for make in MAKERS:
        make()


# -- compression -----------------------------------------------------------------------------------------------------


def _deflate_zeros(size: int, head: bytes = b"") -> bytes:
    """Return zero bytes as one stream, by repeating a block that stands for 1 MB."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    block = packer.compress(bytes(MIB)) + packer.flush(zlib.Z_FULL_FLUSH)
    return head + block * (size // MIB) + b"\x03\x00"


def _wide_zstd() -> bytes:
    """Return a frame that needs a window of 128 MiB."""
    parameters = zstandard.ZstdCompressionParameters(window_log=27)
    packer = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    return packer.compress(bytes(MIB)) + packer.flush()


def _content_encoding(coding: str) -> str:
    return f"Content-Encoding: {coding}\r\n"


GZIP = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03"  # RFC 1952 §2.3
ZLIB = b"\x78\xda"  # RFC 1950 §2.2
content("gzip_bomb", lambda: _deflate_zeros(4096 * MIB, GZIP), more=_content_encoding("gzip"))
content("gzip_members_bomb", lambda: gzip.compress(bytes(MIB)) * 4096, more=_content_encoding("gzip"))
content("deflate_bomb", lambda: _deflate_zeros(4096 * MIB, ZLIB), more=_content_encoding("deflate"))
content("raw_deflate_bomb", lambda: _deflate_zeros(4096 * MIB), more=_content_encoding("deflate"))
content("brotli_bomb", lambda: brotli.compress(bytes(32 * MIB), quality=1), more=_content_encoding("br"))
content("zstd_bomb", lambda: zstandard.ZstdCompressor().compress(bytes(64 * MIB)) * 64, more=_content_encoding("zstd"))
content("bomb_in_a_bomb", lambda: gzip.compress(_deflate_zeros(1024 * MIB, GZIP)), more=_content_encoding("gzip, gzip"))
content("six_codings", lambda: gzip.compress(PAGE), more=_content_encoding("gzip, gzip, gzip, gzip, gzip, gzip"))
content("wide_zstd", _wide_zstd, more=_content_encoding("zstd"))
content("empty_members", lambda: gzip.compress(b"") * 20_000, more=_content_encoding("gzip"))
content("not_gzip", lambda: PAGE, more=_content_encoding("gzip"))
content("cut_gzip", lambda: gzip.compress(PAGE * 1000)[:-100], more=_content_encoding("gzip"))
content("unknown_coding", lambda: PAGE, more=_content_encoding("compress"))
content("invented_coding", lambda: PAGE, more=_content_encoding("utf-8"))


# -- HTML ------------------------------------------------------------------------------------------------------------

content("giant_text", lambda: b"<title>Giant</title><p>" + b"words without end " * 500_000)
content("nested_inline", lambda: b"<title>Deep</title>" + b"<span>" * 100_000 + b"deep")
content("nested_blocks", lambda: b"<div>" * 400_000)  # Lexbor searches all open elements at each <div>
content("greedy", lambda: b"<p>w " * 2_000_000)  # a tree of about a gigabyte
content("many_attributes", lambda: b"<a " + b" ".join(b"a%d=1" % number for number in range(5_000)) + b">x</a>")
content("many_links", lambda: b"".join(b'<a href="http://h%d.invalid/">x</a>' % n for n in range(60_000)))
content("one_link_often", lambda: b'<a href="/page">x</a>' * 100_000)
content("giant_title", lambda: b"<title>" + b"title " * 500_000 + b"</title><p>x")
content("giant_href", lambda: b'<title>Long</title><a href="/' + b"h" * 1_000_000 + b'">x</a>')
content("data_link", lambda: b'<title>Data</title><a href="data:text/html,' + b"d" * 1_000_000 + b'">x</a>')
content("never_closed", lambda: b"<title>Open</title><!--" + b"<script><style><textarea><title>" * 100_000)
content(
    "unknown_entities", lambda: b"<title>&#0;&#x110000;&#xD800;&bogus;&amp&#99999999999;</title>" + b"&amp" * 200_000
)
content(
    "odd_schemes",
    lambda: (
        b"<title>Odd</title><base href='javascript:alert(1)'>"
        + b"".join(
            b"<a href='%b'>x</a>" % to for to in (b"file:///etc/passwd", b"gopher://x/", b"ftp://x/", b"//[", b"http:")
        )
    ),
)
content("frame_of_itself", lambda: b"<title>Frame</title><iframe src='/frame-of-itself'></iframe>")
content(
    "refresh_to_itself", lambda: b"<title>Again</title><meta http-equiv=refresh content='0;url=/refresh-to-itself'>"
)


# -- characters ------------------------------------------------------------------------------------------------------

CONTROLS = "\x00\x01\x07\x08\x1b[2J\x1b]0;owned\x07\x7f\x85\u200b\u202e\u2066\ufeff"
CONTROL_PAGE = f"<title>{CONTROLS}Title</title><p>{CONTROLS}spoofed<a href='/x{CONTROLS}'>{CONTROLS}</a>"
content("controls", CONTROL_PAGE.encode)
content("nothing_but_nul", lambda: bytes(MIB))
content(
    "wrong_charset", lambda: b"<meta charset=shift_jis><title>\xe9\xff\x80</title>", kind="text/html; charset=utf-16"
)
content("utf_7", lambda: b"<meta charset=utf-7><title>+ADw-script+AD4-</title>", kind="text/html; charset=utf-7")
content("unknown_charset", lambda: b"<title>Plain</title>", kind="text/html; charset=../../etc/passwd")
content("odd_utf_16", lambda: b"\xff\xfe" + "<title>Odd</title>".encode("utf-16-le") + b"\x00\xd8\xff")
content("escaping_charset", lambda: b"<title>\x1b$B%F\x1b(J\x1b$</title>" * 1000, kind="text/html; charset=iso-2022-jp")


# -- other types -----------------------------------------------------------------------------------------------------

content("image_as_page", lambda: b"\x89PNG\r\n\x1a\n" + bytes(1000), kind="image/png")
content("image_as_html", lambda: b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 100)
content("long_type", lambda: PAGE, kind="text/html; x=" + "x" * 50_000)
content("laughing_xhtml", lambda: ENTITY_BOMB + b"<html><body>&m;</body></html>", kind="application/xhtml+xml")
content(
    "laughing_feed",
    lambda: ENTITY_BOMB + b"<rss><channel><title>&m;</title></channel></rss>",
    kind="application/rss+xml",
)
content(
    "outside_entity",
    lambda: EXTERNAL_ENTITY + b"<rss><channel><title>&secret;</title></channel></rss>",
    kind="text/xml",
)
content(
    "cut_feed",
    lambda: b"<rss><channel><item><link>/page?from=the-feed</link></item><item><li",
    kind="application/rss+xml",
)
content("nested_xml", lambda: b"<rss>" + b"<x>" * 200_000, kind="text/xml")
content("no_pdf", lambda: b"%PDF-1.7\n" + bytes(range(256)) * 100, kind="application/pdf")


def _pdf(contents: bytes, pages: int = 1) -> bytes:
    """Return a PDF with this stream, deflated, on every page."""
    packed = zlib.compress(contents, 9)
    kids = b" ".join(b"%d 0 R" % (number + 4) for number in range(pages))
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Count %d/Kids[%b]>>" % (pages, kids),
        b"<</Length %d/Filter/FlateDecode>>stream\n%b\nendstream" % (len(packed), packed),
        *[b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 3 0 R>>"] * pages,
    ]
    body = b"".join(b"%d 0 obj%b\nendobj\n" % (number, each) for number, each in enumerate(objects, 1))
    return b"%PDF-1.7\n" + body + b"trailer<</Root 1 0 R>>"


content(
    "bomb_rules",
    lambda: gzip.compress(b"User-agent: *\nDisallow: /private\n" + b"#" * (16 * MIB)),
    kind="text/plain",
    more=_content_encoding("gzip"),
)
content("pdf_bomb", lambda: _pdf(b" " * (32 * MIB)), kind="application/pdf")


# -- sitemaps --------------------------------------------------------------------------------------------------------


def _urlset(urls: bytes) -> bytes:
    return b'<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">' + urls + b"</urlset>"


def _sitemap_index(*paths: str) -> bytes:
    return (
        "<sitemapindex>" + "".join(f"<sitemap><loc>{path}</loc></sitemap>" for path in paths) + "</sitemapindex>"
    ).encode()


SITEMAPS = ("cut", "laughing", "bomb", "many-entries", "html", "foreign", "deep", "nested", "binary")
content("sitemap_cut", lambda: _urlset(b"<url><loc>/page?from=the-sitemap</loc></url><url><lo")[:-20], kind="text/xml")
content("sitemap_laughing", lambda: ENTITY_BOMB + _urlset(b"<url><loc>&m;</loc></url>")[21:], kind="text/xml")
content("sitemap_bomb", lambda: gzip.compress(_urlset(b" " * (64 * MIB))), kind="application/gzip")
content("sitemap_many_entries", lambda: _urlset(b"<url/>" * 60_000), kind="text/xml")
content("sitemap_html", lambda: PAGE, kind="text/html")
content(
    "sitemap_foreign",
    lambda: _urlset(b"<url><loc>file:///etc/passwd</loc></url><url><loc>javascript:1</loc></url><url></url>"),
    kind="text/xml",
)
content("sitemap_deep", lambda: b"<urlset>" + b"<url>" * 10_000, kind="text/xml")
content("sitemap_binary", lambda: bytes(range(256)) * 100, kind="application/octet-stream")


@behaviour
async def sitemap_nested(exchange: Exchange) -> None:
    """An index of sitemaps that names itself, one level deeper each time."""
    level = int(exchange.query.get("level", "0"))
    await exchange.answer(_sitemap_index(f"/sitemap-nested?level={level + 1}"), kind="text/xml")


@behaviour
async def sitemap_rules(exchange: Exchange) -> None:
    """A robots.txt that lists all sitemaps, one at `elsewhere`, and invalid URLs."""
    site = f"http://{exchange.request.headers['host']}"
    urls = [f"{site}/sitemap-{name}" for name in SITEMAPS] + [
        exchange.query["elsewhere"],
        "file:///etc/passwd",
        "\x1b[2J",
    ]
    await exchange.answer("".join(f"Sitemap: {url}\n" for url in urls).encode(), kind="text/plain")


# -- traps -----------------------------------------------------------------------------------------------------------


@behaviour
async def calendar(exchange: Exchange) -> None:
    """A month that links to the next, without end."""
    month = int(exchange.query.get("month", "1"))
    await exchange.answer(f"<title>Month {month}</title><a href='/calendar?month={month + 1}'>next</a>".encode())


@behaviour
async def echoing(exchange: Exchange) -> None:
    """Answers at any depth, with a relative link that leads deeper."""
    await exchange.answer(f"<title>{exchange.request.target}</title><a href='echoing/'>deeper</a>".encode())


@behaviour
async def shop(exchange: Exchange) -> None:
    """Gives every visitor a new session id, in the query and in the path."""
    links = "".join(f"<a href='/shop?PHPSESSID={n}'>x</a><a href='/shop;jsessionid={n}'>x</a>" for n in range(500))
    await exchange.answer(f"<title>Shop</title>{links}".encode())


@behaviour
async def maze(exchange: Exchange) -> None:
    """Every page links to two new ones with their own words."""
    here = exchange.request.target
    await exchange.answer(f"<title>{here}</title><a href='{here}l'>left</a> <a href='{here}r'>right</a>".encode())


@behaviour
async def fault(exchange: Exchange) -> None:
    """A page at which the parser, through the hook of the tests, does `of`."""
    await exchange.answer(f"<!--fault:{exchange.query['of']}--><title>Fault</title>".encode())


@behaviour
async def links(exchange: Exchange) -> None:
    """A page that links to all URLs in `to`, separated by blanks."""
    anchors = "".join(f'<a href="{to}">{to}</a> ' for to in exchange.query["to"].split(" "))
    await exchange.answer(f"<!doctype html><title>Links</title>{anchors}".encode())
