"""The page budget: a page over it is cut, says so, and costs no more than a large honest page."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.basics import page_budget
from gossamer.basics.words import cut_after_words, most_words
from gossamer.model import Outcome
from gossamer.parse.readers.tag_limits import find_cut
from helpers.parse.jobs import page, rows, runs
from helpers.patience import cpu_limit

SECONDS = 2.0  # of CPU for one page; each of these pages took longer, most of them minutes
FIRST = "<title>First</title><p>kept <a href=kept>kept</a></p>"
# Each costs Lexbor time that grows with its square.
FLOODS = {
    "deep": "<div>" * 400_000,
    "deep with end tags of others": "<div></span>" * 200_000,
    "deep behind end tags": "</div>" * 200_000 + "<div>" * 200_000,
    "deep in tables": "<div><table></div>" * 100_000,
    "deep behind a comment": "<div><!-- </div> -->" * 100_000,
    "deep behind a script": "<div><script></div></script>" * 100_000,
    "deep in a drawing": "<svg><foreignObject><div></svg></div></foreignObject><style>" + "<div>" * 300_000,
    "end tags without a start": "<span>" * 100_000 + "</x>" * 100_000,
    "lists": "<ul><li>" * 100_000,
    "groups of options": "<optgroup>" * 200_000,
    "options": "<select>" + "<option>x</option>" * 100_000,
    "attributes": "<div " + " ".join(f"a{number}" for number in range(200_000)) + ">",
    "attributes with quotes": "<div " + " ".join(f'a{number}=">"' for number in range(200_000)) + ">",
    "attributes of many body tags": "".join(f"<body a{number}>" for number in range(100_000)),
    "formatting": "".join(f"<p><b a={number}>" for number in range(3_000)),
    "formatting behind objects": "".join(f"<b a={number}><object></b></object><p>" for number in range(3_000)),
}


@pytest.mark.parametrize("flood", FLOODS.values(), ids=FLOODS)
def test_markup_that_takes_quadratic_time_is_cut_where_it_becomes_expensive(flood: str) -> None:
    with cpu_limit(SECONDS):
        parsed = page(FIRST + flood + "<p>late")
    assert (parsed.outcome, parsed.cut, parsed.title) == (Outcome.FETCHED, "markup", "First")
    assert runs(parsed)[1][1] == "kept kept"
    assert [row.anchor for row in rows(parsed)] == ["kept"]
    assert "late" not in runs(parsed)[-1][1]


def test_a_large_page_with_honest_markup_is_not_cut() -> None:
    item = (
        '<div class="a"><ul><li>An <b>item</b><li><code class="x">code</code></ul><p>Text<table><tr><td>1<td>2</table>'
        '<svg><title>t</title><path d="M 0"/></svg><script>if (a <b) x("</div>")</script><!-- <div> --><br></div>'
    )
    honest = "<html><body>" + item * 8_000 + '<a href="/last">last</a>'
    assert find_cut(honest.encode()) is None
    parsed = page(honest)
    assert (parsed.cut, [row.anchor for row in rows(parsed)]) == ("", ["last"])


def test_a_page_without_end_tags_is_not_cut() -> None:
    sloppy = "<p>a<font size=2>b<font size=2>c<br>" * 4_500 + "<a href=/last>last"
    assert find_cut(sloppy.encode()) is None


def test_a_page_with_too_many_tags_is_cut() -> None:
    assert find_cut(b"<br>" * page_budget.MAX_NODES) is None
    assert find_cut(b"<br>" * (page_budget.MAX_NODES + 1)) == len(b"<br>") * page_budget.MAX_NODES


@pytest.mark.parametrize("content_type", ["text/html", "text/plain", "application/xml"])
def test_a_longer_text_is_cut_to_the_limit(content_type: str) -> None:
    body = "<a>" + "a" * (page_budget.MAX_TEXT_BYTES - 1) + "é" * 100 + "</a>"
    parsed = page(body, f"{content_type}; charset=utf-8")
    assert parsed.cut == "text"
    kept = "".join(text for _, text in runs(parsed))
    assert len(kept.encode()) <= page_budget.MAX_TEXT_BYTES
    assert len(kept.encode()) >= page_budget.MAX_TEXT_BYTES - len("<a>é".encode())


@pytest.mark.parametrize(("word", "cut"), [("ab ", ""), ("a b ", "words")])
def test_a_page_with_more_words_than_the_index_takes_says_so(word: str, cut: str) -> None:
    assert page(f"<p>{word * page_budget.MAX_WORDS}").cut == cut


def test_words_are_counted_in_scripts_with_and_without_spaces() -> None:
    runs_ = [(7, "one two"), (7, "漢字"), (7, "हिन्दी भाषा"), (7, "ส้ม")]
    assert cut_after_words(runs_, 99) is runs_
    assert cut_after_words(runs_, 3) == [(7, "one two"), (7, "漢")]
    assert cut_after_words(runs_, 5) == [*runs_[:2], (7, "हिन्दी")]


@given(st.one_of(st.text(), st.text(st.sampled_from("ab1é'_ -漢字हि\u0301\xad東 "))))
def test_a_text_has_no_more_words_than_the_quick_count_says(text: str) -> None:
    runs_ = [(7, text.encode("utf-8", "replace").decode())]
    assert cut_after_words(runs_, most_words(runs_[0][1].encode())) is runs_


def test_links_that_are_left_out_are_a_cut() -> None:
    parsed = page(f"<a href=/{'x' * (1 << 20)}>y</a>")
    assert (parsed.cut, parsed.reason) == ("links", "1 more link left out")


def test_a_feed_with_too_many_entries_is_cut() -> None:
    entry = "<item><title>&lt;b&gt;x&lt;/b&gt;</title><link>/%d</link></item>"
    feed = "".join(entry % number for number in range(page_budget.MAX_FEED_ENTRIES + 5))
    parsed = page(f"<rss><channel>{feed}</channel></rss>", "application/rss+xml")
    assert (parsed.cut, len(rows(parsed))) == ("entries", page_budget.MAX_FEED_ENTRIES)
