"""Decisions about rendering: which pages a browser renders, and what it taught about pages like them."""

from __future__ import annotations

import pytest
import zstandard

from gossamer.crawl.rendering.decisions import (
    LOOK_AGAIN_SECONDS,
    MAX_FAILURES,
    MAX_OUTCOMES,
    MAX_UNREAD_BYTES,
    PAGES_BETWEEN_LOOKS,
    SAMPLE,
    SHAPE,
    TRIALS,
    Decision,
    ShapeKey,
    ShapeState,
    Step,
    decide,
    has_room,
    is_sample_due,
    is_sign_wrong,
    path_shape,
    with_outcome,
)
from gossamer.crawl.rendering.readings import Reading, merge_readings, with_found_urls
from gossamer.model import Kind, Outcome, Page, RenderedPage, ShapeEvidence
from gossamer.urls.canonical import url_digest
from helpers.parse.jobs import page

NOW = 1_000_000.0
KEY = ShapeKey(1, "/*", signed=True)
SIGN = "app shell"


def evidence(outcomes: str, looked_at: float = NOW) -> ShapeEvidence:
    return ShapeEvidence(host=1, shape="/*", signed=True, outcomes=outcomes, looked_at=looked_at)


def state(outcomes: str, *, trials: int = 0, kept: int = 0, looked_at: float = NOW) -> ShapeState:
    known = evidence(outcomes, looked_at) if outcomes else None
    return ShapeState(evidence=known, trials=trials, kept=kept)


@pytest.mark.parametrize(
    ("path", "shape"),
    [
        ("/", "/"),
        ("/about", "/*"),
        ("/shop/", "/shop/"),
        ("/shop/17", "/shop/*"),
        ("/shop/17/shoes.HTML?id=3", "/shop/*/*.html?"),
        ("/a/b/c/d.html", "/a/b/*/*.html"),
        ("/a/b/c/d/e/f/g/h/i", "/a/b/*/*/*/*/*"),
        ("/2024/05/title", "/*/*/*"),
    ],
)
def test_pages_of_one_template_share_a_shape(path: str, shape: str) -> None:
    assert path_shape(f"https://example.org{path}") == shape


def test_nothing_is_rendered_without_a_sign() -> None:
    assert decide("", ShapeState(), NOW).step is Step.KEEP
    assert decide("", state("000"), NOW).step is Step.KEEP


def test_the_first_pages_with_a_sign_are_rendered_and_the_others_wait() -> None:
    assert decide(SIGN, ShapeState(), NOW) == Decision(Step.RENDER, SIGN)
    assert decide(SIGN, ShapeState(trials=TRIALS - 1), NOW) == Decision(Step.RENDER, SIGN)
    assert decide(SIGN, ShapeState(trials=TRIALS), NOW).step is Step.WAIT
    assert decide(SIGN, state("0", trials=TRIALS - 1), NOW).step is Step.WAIT


def test_one_gain_decides_for_the_shape() -> None:
    assert decide(SIGN, state("1", trials=2), NOW) == Decision(Step.RENDER, SHAPE)
    assert decide(SIGN, state("0010"), NOW) == Decision(Step.RENDER, SHAPE)
    assert decide("", state("1"), NOW) == Decision(Step.RENDER, SHAPE)


def test_a_shape_that_gained_nothing_is_rendered_no_more() -> None:
    assert decide(SIGN, state("000"), NOW).step is Step.KEEP
    assert decide(SIGN, state("1111000"), NOW).step is Step.KEEP


def test_a_shape_is_looked_at_again_by_sample() -> None:
    again = Decision(Step.RENDER, SAMPLE)
    assert decide(SIGN, state("000", kept=PAGES_BETWEEN_LOOKS), NOW) == again
    assert decide(SIGN, state("000"), NOW + LOOK_AGAIN_SECONDS + 1) == again
    assert decide(SIGN, state("000", kept=PAGES_BETWEEN_LOOKS, trials=1), NOW).step is Step.KEEP


def test_failures_of_browsers_decide_nothing_until_they_are_many() -> None:
    some = ShapeState(trials=TRIALS - 1, failures=MAX_FAILURES - 1)
    assert decide(SIGN, some, NOW) == Decision(Step.RENDER, SIGN)
    many = ShapeState(evidence=evidence("1"), failures=MAX_FAILURES)
    assert decide(SIGN, many, NOW).step is Step.KEEP
    again = ShapeState(evidence=evidence("1"), failures=MAX_FAILURES, kept=PAGES_BETWEEN_LOOKS)
    assert decide(SIGN, again, NOW) == Decision(Step.RENDER, SHAPE)


def test_a_sign_is_wrong_only_after_browsers_found_nothing() -> None:
    found = ["", "0", "00", "000", "001", "1000"]
    assert [is_sign_wrong(state(outcomes).evidence) for outcomes in found] == [False, False, False, True, False, True]


def test_rendered_pages_that_wait_for_a_parser_hold_browsers_back() -> None:
    assert has_room(in_renderers=7, most_pages=4, unread_bytes=MAX_UNREAD_BYTES - 1)
    assert not has_room(in_renderers=8, most_pages=4, unread_bytes=0)
    assert not has_room(in_renderers=0, most_pages=4, unread_bytes=MAX_UNREAD_BYTES)


def test_samples_rest_between_looks() -> None:
    assert is_sample_due(ShapeState(), NOW)
    assert not is_sample_due(state("0"), NOW)
    assert is_sample_due(state("0"), NOW + LOOK_AGAIN_SECONDS + 1)


def test_evidence_keeps_the_last_outcomes() -> None:
    known: ShapeEvidence | None = None
    for _ in range(MAX_OUTCOMES):
        known = with_outcome(KEY, known, NOW, gained=True)
    known = with_outcome(KEY, known, NOW + 5, gained=False)
    assert known.outcomes == "1" * (MAX_OUTCOMES - 1) + "0"
    assert known.looked_at == NOW + 5


# -- two readings ------------------------------------------------------------------------------------------------------

PLAIN = page('<div id="root"></div><script src="/app.js"></script>')


@pytest.mark.parametrize(
    ("html", "gains"),
    [
        ('<div id="root"></div><script src="/app.js"></script>', False),
        ('<div id="root">four words more here</div>', False),
        ('<div id="root">five words that are new here</div>', True),
        ('<div id="root"><a href="/next"></a></div>', True),
        ('<div id="root"><img src="/a.png"></div><script src="/more.js"></script>', False),
    ],
)
def test_new_links_or_words_are_a_gain(html: str, gains: bool) -> None:
    assert Reading.of(page(html)).adds_to(Reading.of(PLAIN)) is gains


def test_a_full_page_needs_many_new_words_for_a_gain() -> None:
    words = " ".join(f"word{number}" for number in range(400))
    plain = Reading.of(page(f"<p>{words}"))
    assert not Reading.of(page(f"<p>{words}<button>copy this code to the clipboard now please")).adds_to(plain)
    assert Reading.of(page(f"<p>{words} " + " ".join(f"new{n}" for n in range(40)))).adds_to(plain)


def merge(plain: Page, rendered: Page) -> Page:
    result = RenderedPage(9, Outcome.FETCHED, "", milliseconds=40, cut="time")
    return merge_readings(plain, rendered, result, reason=SIGN, keep_dom=True)


def test_a_merged_page_has_the_source_of_the_server_and_the_words_of_the_browser() -> None:
    rendered = page('<title>Made</title><div id="root">five words that are new <a href="/next">Next</a></div>')
    merged = merge(PLAIN, rendered)
    assert (merged.id, merged.title, merged.rendered, merged.script_sign) == (PLAIN.id, "Made", SIGN, SIGN)
    assert (merged.source, merged.content_digest, merged.size) == (PLAIN.source, PLAIN.content_digest, PLAIN.size)
    assert (merged.text, merged.links) == (rendered.text, rendered.links)
    rendering = merged.rendering
    assert rendering is not None
    assert (rendering.words, rendering.links, rendering.plain_words, rendering.plain_links) == (7, 1, 0, 0)
    assert (rendering.milliseconds, rendering.cut) == (40, "time")
    assert b"five words" in zstandard.ZstdDecompressor().decompress(rendering.dom)


def test_scripts_cannot_take_back_what_the_page_asks_of_robots() -> None:
    plain = page('<meta name="robots" content="noindex, nofollow"><div id="root"></div><script></script>')
    merged = merge(plain, page('<a href="/next">Next</a>'))
    assert (merged.noindex, merged.nofollow, merged.links.follows) == (True, True, b"\0")


def test_routes_and_requests_become_links_once_for_each_kind() -> None:
    found = [
        ("http://example.org/route#top", Kind.ROUTE), ("http://example.org/app.js", Kind.SCRIPT),
        ("http://example.org/data.json", Kind.DATA), ("http://example.org/data.json", Kind.DATA),
        ("http://example.org/route", Kind.ROUTE), ("javascript:void(0)", Kind.ROUTE),
    ]  # fmt: skip
    links = with_found_urls(PLAIN, found, url_digest, 100).links
    assert list(zip(links.urls, links.kinds, strict=True)) == [
        ("http://example.org/app.js", Kind.SCRIPT),
        ("http://example.org/route", Kind.ROUTE),
        ("http://example.org/data.json", Kind.DATA),
    ]
    assert links.is_well_formed()
    assert len(with_found_urls(PLAIN, found, url_digest, 2).links) == 2
