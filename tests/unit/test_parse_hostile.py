"""Hostile input: the parser always returns a page that can be stored, in bounded time."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.model import Outcome, Page, Role
from gossamer.parse.options import ParseOptions
from gossamer.parse.page_parser import PageParser
from helpers.examples import scaled_examples
from helpers.parse.jobs import job, page, rows, runs
from helpers.patience import cpu_limit

TYPES = ("text/html", "application/xhtml+xml", "text/xml", "text/plain", "application/pdf", "")
MARKUP = st.sampled_from(
    [
        "<a href=x>", "</a>", "<p>", "</p>", "<h1>", "</h1>", "<div role=main>", "</div>", "<nav>", "</nav>", "<svg>",
        "</svg>", "<title>", "</title>", "<base href=/b/>", "<table>", "<td>", "<select>", "<option>", "<object>",
        "<img src=i alt=a srcset='b 1x'>", "<!--", "-->", "<![CDATA[", "]]>", "<?xml version='1.0'?>", "<rss>",
        "<channel>", "<item>", "<link>", "</link>", "<feed>", "<entry>", "&amp;", "&#0;", "&#13;", "&#xD800;", "\0",
        "\r", "\x1b", "é", "\ud7ff", " ", "word", "<meta charset=shift_jis>", "<template>", "<frameset>",
        "<math>", "<mi>", "<foreignObject>", "<a xlink:href=#>", "<br>",
    ]
)  # fmt: skip


def is_storable(parsed: Page) -> bool:
    """Return whether a page survives msgpack and holds no NUL, which PostgreSQL refuses in text."""
    encoded = msgspec.msgpack.encode(parsed)
    assert msgspec.msgpack.decode(encoded, type=Page) == parsed
    texts = [parsed.title, parsed.description, parsed.language, parsed.reason, parsed.canonical]
    texts += [text for row in rows(parsed) for text in (row.url, row.anchor, row.rel)]
    texts += [text for _, text in runs(parsed)]
    return not any("\0" in text for text in texts)


@settings(max_examples=scaled_examples(300))
@given(st.lists(MARKUP, max_size=40).map("".join), st.sampled_from(TYPES), st.booleans())
def test_any_markup_gives_a_page_that_can_be_stored(markup: str, content_type: str, keep_links: bool) -> None:
    parsed = PageParser(ParseOptions(keep_links=keep_links)).parse(job(markup, content_type))
    assert parsed.outcome is Outcome.FETCHED
    assert is_storable(parsed)


@given(st.binary(max_size=500), st.sampled_from(TYPES), st.sampled_from(list(Role)))
def test_any_bytes_give_a_page_that_can_be_stored(body: bytes, content_type: str, role: Role) -> None:
    parsed = PageParser(ParseOptions()).parse(job(body, content_type, role=role))
    assert parsed.outcome is Outcome.FETCHED
    assert role is Role.ROBOTS or is_storable(parsed)


@given(st.text(max_size=200), st.text(max_size=200))
def test_any_header_values_are_accepted(one: str, other: str) -> None:
    parsed = page("<p>x", one, link=one, robots=other, refresh=other, language=one, encoding=other)
    assert parsed.outcome in {Outcome.FETCHED, Outcome.BAD_ENCODING}


@pytest.mark.parametrize(
    "html",
    [
        b"<span>" * 100_000 + b"x",
        b"<a href=x>" * 100_000,
        b"<a href=x><object>" * 50_000 + b"text " * 50_000,
        b"<svg>" + b"<a href=x>y" * 50_000,
        b"<a href=x>" + b"<img src=y alt=z>" * 50_000,
        b"<nav>x" * 5000,
        b"<p></p>some text" * 200_000,
        b"<img srcset='" + b"a(" * 500_000 + b"'>",
        b"<img srcset='" + b"a, " * 500_000 + b"'>",
        b"<img srcset='" + b"a, (" * 100_000 + b"'>",
        b"<meta http-equiv=refresh content='" + b" " * 1_000_000 + b"'>",
        b"<meta http-equiv=refresh content='5;" + b"url " * 500_000 + b"'>",
        b"<a href=x rel='" + b"a " * 500_000 + b"'>",
        b"<p " + b"'" * 1_000_000,
        b"<meta" * 200_000,
        b"&amp" * 500_000,
        b"<" * 1_000_000,
        b"<p>" + b"\t \n" * 500_000 + b"x",
        b"<!--" * 300_000,
        b"<noframes>" * 50_000,
        b"<noframes><a href=x></noframes>" * 20_000,
    ],
    ids=lambda html: html[:16].decode(),
)
def test_parse_time_grows_linearly_with_page_size(html: bytes) -> None:
    """A few hundred kilobytes would take minutes if any step were quadratic."""
    with cpu_limit(5):
        parsed = PageParser(ParseOptions()).parse(job(html))
    assert parsed.outcome is Outcome.FETCHED


@pytest.mark.parametrize(
    "value",
    [
        '<a>; rel="' * 20_000,
        "<a>" + ";" * 200_000,
        "<a>;" + "a" * 200_000,
        "<a>;" + "a=" * 100_000,
        "<a>;a=" + "\\" * 200_000,
        "<" * 200_000,
        "," * 200_000,
        '"' * 200_000,
    ],
    ids=lambda value: value[:12],
)
def test_hostile_link_headers_are_parsed_quickly(value: str) -> None:
    with cpu_limit(2):
        page("", link=value)


@pytest.mark.parametrize(
    "xhtml",
    [
        b"<a '" * 200_000,
        b"<a \"'" * 200_000,
        b"<a/" * 200_000,
        b"<a" + b" x" * 500_000,
        b"<a x=''" * 200_000,
        b"<?xml ?>" * 5000,
        b"<!--" * 5000,
        b"<!DOCTYPE [" * 5000,
    ],
    ids=lambda xhtml: xhtml[:16].decode(),
)
def test_hostile_xhtml_is_parsed_quickly(xhtml: bytes) -> None:
    with cpu_limit(5):
        page(xhtml, "application/xhtml+xml")


def test_a_page_of_deeply_nested_elements_keeps_its_text_and_links() -> None:
    parsed = page("<span>" * 10_000 + "<a href=x>deep</a>")
    assert [(row.anchor, row.weight) for row in rows(parsed)] == [("deep", 1)]
    assert runs(parsed)[-1][1] == "deep"
