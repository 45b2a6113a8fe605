"""Documents that are not HTML, and responses that do not name their type."""

from __future__ import annotations

import gzip

import pytest
import zstandard

from gossamer.model import Field, Kind, Outcome, Role
from gossamer.parse.options import ParseOptions
from gossamer.parse.page_parser import parse_page
from helpers.parse.jobs import job, page, rows, runs

TITLE, H2, PARAGRAPH, TEXT = (int(field) for field in (Field.TITLE, Field.H2, Field.PARAGRAPH, Field.TEXT))
HERE = "http://example.org/dir/"

# Type


@pytest.mark.parametrize(
    ("content_type", "body", "media_type"),
    [
        ("Text/HTML; charset=utf-8", b"", "text/html"),
        ("text/plain", b"<!doctype html><html>", "text/plain"),
        ("", b"\n <!DOCTYPE HTML><p>", "text/html"),
        ("application/octet-stream", b"<!-- x --><html>", "text/html"),
        ("", b"\xef\xbb\xbf<html lang=de>", "text/html"),
        ("", b"<?xml version='1.0'?><rss/>", "application/xml"),
        ("", b"%PDF-1.7", "application/pdf"),
        ("", b"just words", "text/plain"),
        ("application/octet-stream", b"\x00\x01\x02", "application/octet-stream"),
        ("", b"", ""),
    ],
)
def test_the_type_comes_from_the_header_or_else_from_the_body(content_type: str, body: bytes, media_type: str) -> None:
    assert page(body, content_type).media_type == media_type


def test_plain_text_has_lines_and_no_links() -> None:
    parsed = page("<a href=x>\n\n  two   words \r\nthree", "text/plain")
    assert runs(parsed) == [(TEXT, "<a href=x>\ntwo words\nthree")]
    assert rows(parsed) == []


def test_unreadable_types_keep_only_their_source() -> None:
    parsed = page(b"\x89PNG", "image/png")
    assert (parsed.outcome, parsed.reason, runs(parsed)) == (Outcome.FETCHED, "nothing to read in image/png", [])
    assert zstandard.ZstdDecompressor().decompress(parsed.source) == b"\x89PNG"


# XHTML


@pytest.mark.parametrize("content_type", ["application/xhtml+xml", "application/xml", ""])
def test_xhtml_is_read_as_html_with_empty_elements_closed(content_type: str) -> None:
    parsed = page(
        '<?xml version="1.0"?><!DOCTYPE html><html xmlns="http://www.w3.org/1999/xhtml" xml:lang="de"><head>'
        '<title>T</title><script src="s"/></head><body><a id="x"/><p>text<br/>on</p><a href="y">z</a></body></html>',
        content_type,
    )
    assert [(row.url, row.anchor) for row in rows(parsed)] == [(HERE + "s", ""), (HERE + "y", "z")]
    assert runs(parsed) == [(TITLE, "T"), (PARAGRAPH, "text on"), (TEXT, "z")]
    assert parsed.language == "de"


# Feeds

RSS = """<?xml version="1.0"?><rss version="2.0" xmlns:media="http://search.yahoo.com/mrss/"><channel>
<title>The feed</title><link>http://example.org/</link><description>About &amp; more</description>
<language>en</language>
<image><title>no</title><link>http://example.org/no</link></image>
<item><media:title>no</media:title><title>One &amp;amp; two</title><link> /1 </link>
<description>&lt;p&gt;Some &lt;b&gt;ma&lt;/b&gt;rkup&lt;/p&gt;</description>
<enclosure url="/1.mp3" type="audio/mpeg"/></item>
<item><title>By id&nbsp;only</title><guid>http://example.org/2</guid></item>
<item><title>No link</title><guid isPermaLink="false">x</guid></item></channel></rss>"""

RDF = """<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/">
<channel rdf:about="x"><title>The feed</title><link>http://example.org/</link></channel>
<image><title>no</title></image><item rdf:about="y"><title>One</title><link>http://example.org/1</link></item></rdf:RDF>"""

ATOM = """<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="fr" xml:base="/blog/">
<title type="html">The &lt;i&gt;feed</title>
<link rel="self" href="self"/><link href="home"/><link rel="next" href="page2"/>
<entry><title>One</title><link rel="edit" href="no"/><link href="1"/><author><name>no</name></author>
<summary>short</summary>
<content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml">lo<b>ng</b><p>text</p></div></content></entry></feed>"""


def test_rss_items_are_read() -> None:
    parsed = page(RSS, "application/rss+xml")
    assert [(row.url, row.anchor, row.kind) for row in rows(parsed)] == [
        ("http://example.org/1.mp3", "", Kind.MEDIA),
        ("http://example.org/1", "One & two", Kind.FEED),
        ("http://example.org/2", "By id\xa0only", Kind.FEED),
        ("http://example.org/", "The feed", Kind.ALTERNATE),
    ]
    assert (parsed.title, parsed.description, parsed.language) == ("The feed", "About & more", "en")
    assert runs(parsed)[2:] == [(H2, "One & two"), (PARAGRAPH, "Some markup"), (H2, "By id\xa0only"), (H2, "No link")]


def test_rss_in_rdf_form_is_read() -> None:
    parsed = page(RDF, "text/xml")
    assert parsed.title == "The feed"
    assert [(row.anchor, row.kind) for row in rows(parsed)] == [("One", Kind.FEED), ("The feed", Kind.ALTERNATE)]


@pytest.mark.parametrize("feed", [ATOM, ATOM.replace("<", "<a:").replace("<a:/", "</a:").replace("a:?", "?")])
def test_atom_is_read_with_or_without_a_prefix(feed: str) -> None:
    parsed = page(feed, "application/atom+xml")
    assert [(row.url, row.anchor, row.kind) for row in rows(parsed)] == [
        ("http://example.org/blog/page2", "", Kind.RELATED),
        ("http://example.org/blog/1", "One", Kind.FEED),
        ("http://example.org/blog/home", "The feed", Kind.ALTERNATE),
    ]
    assert (parsed.title, parsed.language) == ("The feed", "fr")
    assert runs(parsed)[1:] == [(H2, "One"), (PARAGRAPH, "long text")]


def test_a_broken_feed_keeps_the_items_before_the_error() -> None:
    parsed = page(RSS.replace("<item><title>By", "<item><<title>By"), "text/xml")
    assert [row.anchor for row in rows(parsed) if row.kind is Kind.FEED] == ["One & two"]
    assert parsed.title == "The feed"
    assert parsed.reason.startswith("broken XML: not well-formed")


def test_a_feed_in_another_encoding_is_read_by_its_declaration() -> None:
    feed = '<?xml version="1.0" encoding="koi8-r"?><rss><channel><title>Лента</title></channel></rss>'
    assert page(feed.encode("koi8-r"), "text/xml").title == "Лента"


@pytest.mark.parametrize(
    "declaration",
    [
        '<!ENTITY a "aaaaaaaaaa">',
        '<!ENTITY a SYSTEM "file:///etc/hostname">',
        '<!ENTITY % a SYSTEM "http://example.org/a">',
    ],
)
def test_declared_entities_are_refused(declaration: str) -> None:
    parsed = page(f"<!DOCTYPE rss [{declaration}]><rss><channel><title>&a;</title></channel></rss>", "text/xml")
    assert (parsed.title, parsed.reason) == ("", "broken XML: it declares an entity (a)")


def test_other_xml_is_read_as_text() -> None:
    parsed = page(
        "<book xml:lang='en'><chapter>One <em>two</em></chapter><!-- no -->\n<chapter>three &copy;</chapter></book>",
        "text/xml",
    )
    assert runs(parsed) == [(TEXT, "One\ntwo\nthree ©")]
    assert parsed.language == "en"


# Sitemaps


@pytest.mark.parametrize("role", [Role.PAGE, Role.SITEMAP])
def test_a_sitemap_gives_links_and_no_text(role: Role) -> None:
    body = "<urlset><url><loc>http://example.org/a</loc></url><url><loc>http://example.org/b</loc></url></urlset>"
    parsed = parse_page(job(body, "application/xml", role=role), ParseOptions())
    assert [(row.url, row.kind) for row in rows(parsed)] == [
        ("http://example.org/a", Kind.SITEMAP),
        ("http://example.org/b", Kind.SITEMAP),
    ]
    assert parsed.noindex
    assert runs(parsed) == []


def test_a_sitemap_index_leads_to_sitemaps() -> None:
    body = "<sitemapindex><sitemap><loc>http://example.org/s.xml.gz</loc></sitemap></sitemapindex>"
    parsed = parse_page(job(gzip.compress(body.encode()), "application/gzip", role=Role.SITEMAP), ParseOptions())
    assert [row.kind for row in rows(parsed)] == [Kind.SITEMAP_FILE]


# robots.txt


def test_a_robots_txt_is_plain_text() -> None:
    body = "\ufeffUser-agent: *\nDisallow: /é\n".encode()
    parsed = parse_page(job(gzip.compress(body), "text/html", role=Role.ROBOTS, encoding="gzip"), ParseOptions())
    assert (parsed.outcome, parsed.text.decode()) == (Outcome.FETCHED, "User-agent: *\nDisallow: /é\n")
    assert parsed.source == b""


@pytest.mark.parametrize("encoding", ["", "gzip"])
def test_only_the_first_500_kib_of_a_robots_txt_are_read(encoding: str) -> None:
    body = b"User-agent: *\n" + b"Disallow: /x\n" * (1 << 21)
    body = gzip.compress(body) if encoding else body
    parsed = parse_page(job(body, "text/plain", role=Role.ROBOTS, encoding=encoding), ParseOptions())
    assert parsed.outcome is Outcome.FETCHED
    assert 500 * 1024 - 20 < len(parsed.text) <= 500 * 1024


# Faults of the transfer


def test_a_page_too_big_after_decompression_is_reported() -> None:
    parsed = parse_page(job(gzip.compress(bytes(1 << 20)), encoding="gzip"), ParseOptions(max_bytes=1000))
    assert (parsed.outcome, parsed.reason) == (Outcome.TOO_BIG, "gzip: more than 1,000 bytes after decompression")
    assert (parsed.text, parsed.source) == (b"", b"")


def test_a_truncated_page_is_read_up_to_the_cut() -> None:
    body = gzip.compress(b"<title>Half</title>" + b"<p>and more</p>" * 1000)
    parsed = page(body[:-20], encoding="gzip")
    assert (parsed.outcome, parsed.title, parsed.reason) == (Outcome.FETCHED, "Half", "compressed body cut short")
