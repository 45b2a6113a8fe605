"""Sitemaps: every form, damaged files, and hostile files within limits."""

from __future__ import annotations

import gzip
import tracemalloc
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.urls.sitemap import Sitemap, SitemapEntry, parse_sitemap
from helpers.patience import cpu_limit

if TYPE_CHECKING:
    from collections.abc import Callable

URLSET = """<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"
        xmlns:image="http://www.google.com/schemas/sitemap-image/1.1" xmlns:xhtml="http://www.w3.org/1999/xhtml">
  <url>
    <xhtml:link rel="alternate" hreflang="de" href="https://example.org/de"/>
    <image:image><image:loc>https://example.org/a.png</image:loc></image:image>
    <loc> https://EXAMPLE.org/a?x=1&amp;y=2 </loc>
    <lastmod>2024-05-01</lastmod><changefreq>Daily</changefreq><priority>0.8</priority>
  </url>
  <url><loc><![CDATA[https://example.org/ü]]></loc><changefreq>often</changefreq><priority>high</priority></url>
</urlset>"""
ENTRIES = [
    SitemapEntry(url="https://example.org/a?x=1&y=2", lastmod="2024-05-01", changefreq="daily", priority=0.8),
    SitemapEntry(url="https://example.org/%C3%BC"),
]


def urlset(*urls: str) -> bytes:
    return ("<urlset>" + "".join(f"<url><loc>{url}</loc></url>" for url in urls) + "</urlset>").encode()


def urls(sitemap: Sitemap) -> list[str]:
    return [entry.url for entry in sitemap.entries]


# -- forms -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        URLSET.encode(),
        b"\xef\xbb\xbf" + URLSET.encode(),
        b"\n\n  " + URLSET.encode(),
        URLSET.replace("UTF-8", "UTF-16").encode("utf-16"),
        URLSET.replace("UTF-8", "ISO-8859-1").encode("iso-8859-1"),
        gzip.compress(URLSET.encode()),
        gzip.compress(URLSET[:400].encode()) + gzip.compress(URLSET[400:].encode()),
        gzip.compress(URLSET.encode()) + b"\0" * 100,
    ],
    ids=["utf-8", "bom", "blank lines first", "utf-16", "latin-1", "gzip", "gzip of two members", "gzip padded"],
)
def test_a_urlset_gives_its_entries_however_it_is_encoded(body: bytes) -> None:
    assert parse_sitemap(body) == Sitemap(kind="urlset", entries=ENTRIES, problems=())


def test_a_namespace_prefix_does_not_matter() -> None:
    body = b'<sm:urlset xmlns:sm="s"><sm:url><sm:loc>https://h/1</sm:loc></sm:url></sm:urlset>'
    assert urls(parse_sitemap(body)) == ["https://h/1"]


def test_an_element_within_a_field_does_not_end_it() -> None:
    assert urls(parse_sitemap(urlset("https://h/<b>1</b>2", "https://h/3"))) == ["https://h/12", "https://h/3"]


def test_a_sitemap_index_gives_sitemaps() -> None:
    body = b"<sitemapindex><sitemap><loc>https://h/1.xml.gz</loc><lastmod>2024</lastmod></sitemap></sitemapindex>"
    sitemap = parse_sitemap(body)
    assert sitemap == Sitemap(
        kind="index", entries=[SitemapEntry(url="https://h/1.xml.gz", lastmod="2024")], problems=()
    )


def test_a_text_sitemap_has_one_url_per_line() -> None:
    sitemap = parse_sitemap(b"\xef\xbb\xbfhttps://h/1\r\nhttps://h/2\n\n  https://h/3  \rnonsense\n" + b"x" * 200_000)
    assert (sitemap.kind, urls(sitemap)) == ("text", ["https://h/1", "https://h/2", "https://h/3"])
    assert sitemap.problems == ("entries without a URL to visit: 2",)


def test_lines_survive_chunk_boundaries() -> None:
    lines = [f"https://h/{number}" for number in range(30_000)]
    assert urls(parse_sitemap("\n".join(lines).encode())) == lines


@pytest.mark.parametrize(
    "body",
    [
        b"""<rss><channel><link>https://h/</link><atom:link href='https://h/f' rel='self'/>
            <item><title>t</title><link>https://h/1</link><pubDate>2024</pubDate></item></channel></rss>""",
        b"""<feed><link href='https://h/'/><entry><link rel='self' href='https://h/s'/><link href='/1'/>
            <updated>2024</updated></entry></feed>""",
        b"<rdf:RDF><channel/><item><link>1</link><dc:date>2024</dc:date></item></rdf:RDF>",
    ],
    ids=["rss", "atom", "rdf"],
)
def test_a_feed_gives_the_links_of_its_entries(body: bytes) -> None:
    sitemap = parse_sitemap(body, base="https://h/feed")
    assert sitemap == Sitemap(kind="feed", entries=[SitemapEntry(url="https://h/1", lastmod="2024")], problems=())


def test_entries_without_a_url_to_visit_are_counted() -> None:
    sitemap = parse_sitemap(urlset("", "/relative", "mailto:a@b", "https://h/1", "https://h/" + "x" * 9000))
    assert (urls(sitemap), sitemap.problems) == (["https://h/1"], ("entries without a URL to visit: 4",))


@pytest.mark.parametrize("body", [b"<!doctype html><html><p>Not found</html>", b"<a/>"])
def test_other_xml_is_not_a_sitemap(body: bytes) -> None:
    sitemap = parse_sitemap(body)
    assert (sitemap.kind, sitemap.entries) == ("none", [])
    assert "not a sitemap" in sitemap.problems[0]


# -- damaged ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tail", "problem"),
    [
        (b"<url><loc>https://h/2", "malformed XML in line 1"),
        (b"<url></loc>", "malformed XML in line 1: mismatched tag"),
        (b"<url><loc>https://h/&nbsp;</loc></url></urlset>", "malformed XML in line 1: undefined entity"),
        (b"\xff\xff", "malformed XML in line 1"),
    ],
)
def test_entries_before_the_damage_are_kept(tail: bytes, problem: str) -> None:
    sitemap = parse_sitemap(urlset("https://h/1").removesuffix(b"</urlset>") + tail)
    assert urls(sitemap) == ["https://h/1"]
    assert sitemap.problems[0].startswith(problem)


def test_truncated_gzip_gives_the_entries_before_the_cut() -> None:
    whole = gzip.compress(urlset(*(f"https://h/{number}" for number in range(20_000))))
    sitemap = parse_sitemap(whole[: len(whole) // 2])
    assert 5_000 < len(sitemap.entries) < 15_000
    assert sitemap.problems == ("gzip data cut short",)


def test_damaged_gzip_is_reported() -> None:
    sitemap = parse_sitemap(b"\x1f\x8b" + b"\xff" * 100)
    assert (sitemap.entries, sitemap.problems) == ([], ("damaged gzip data",))


@given(st.one_of(st.binary(max_size=200), st.binary(max_size=100).map(lambda tail: b"<urlset>" + tail)))
def test_any_bytes_give_a_sitemap(body: bytes) -> None:
    assert isinstance(parse_sitemap(body), Sitemap)
    assert isinstance(parse_sitemap(gzip.compress(body)[:-3]), Sitemap)


# -- hostile ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "declaration",
    [
        '<!ENTITY a "https://h/1">',
        '<!ENTITY a SYSTEM "file:///etc/passwd">',
        '<!ENTITY % a SYSTEM "http://127.0.0.1/evil.dtd"> %a;',
        '<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">',
    ],
)
def test_a_file_that_declares_entities_is_refused(declaration: str) -> None:
    body = f"<!DOCTYPE urlset [{declaration}]><urlset><url><loc>&a;</loc></url></urlset>"
    sitemap = parse_sitemap(body.encode())
    assert sitemap.entries == []
    assert "declares an entity" in sitemap.problems[0]


MIB = 1 << 20
HOSTILE: dict[str, tuple[Callable[[], bytes], str]] = {
    "endless tag": (lambda: b"<urlset><url a='" + b"x" * (32 * MIB), "a tag or comment of more than"),
    "endless comment": (lambda: b"<urlset><!--" + b"x" * (32 * MIB), "a tag or comment of more than"),
    "endless text": (lambda: b"<urlset><url><loc>" + b"x" * (32 * MIB), "malformed XML"),
    "nested": (lambda: b"<urlset>" + b"<a>" * (8 * MIB), "nested deeper than 100"),
    "endless line": (lambda: b"x" * (32 * MIB), "entries without a URL to visit: 1"),
    "endless lines": (lambda: b"x\n" * (16 * MIB), "more than 50000 entries"),
    "blank lines": (lambda: b"http:\n" + b"\n" * (32 * MIB), "entries without a URL to visit: 1"),
    "empty entries": (lambda: b"<urlset>" + b"<url/>" * (5 * MIB), "more than 50000 entries"),
    "gzip bomb": (lambda: gzip.compress(bytes(1 * MIB)) * 90, "larger than 52428800 bytes"),
    "gzip of empty members": (lambda: gzip.compress(b"") * MIB, "more than 100 members"),
}


@pytest.mark.parametrize(("make", "problem"), HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_files_take_little_time_and_memory(make: Callable[[], bytes], problem: str) -> None:
    body = make()
    with cpu_limit(5):  # including tracing; at most 0.5 s without it
        tracemalloc.start()
        sitemap = parse_sitemap(body)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert any(problem in each for each in sitemap.problems), sitemap.problems
    assert sitemap.entries == []
    assert peak < 8 * MIB


def test_the_number_of_urls_is_limited() -> None:
    sitemap = parse_sitemap(urlset("https://h/1", "https://h/2", "https://h/3"), max_urls=2)
    assert urls(sitemap) == ["https://h/1", "https://h/2"]
    assert sitemap.problems == ("more than 2 entries; the rest was left out",)


def test_the_number_of_bytes_is_limited() -> None:
    body = urlset(*(f"https://h/{number}" for number in range(10_000)))
    sitemap = parse_sitemap(gzip.compress(body), max_bytes=100_000)
    assert 1_000 < len(sitemap.entries) < 4_000
    assert sitemap.problems == ("larger than 100000 bytes; the rest was left out",)
