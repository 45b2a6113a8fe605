"""Suggestions: did you mean, and completion, from the web's own words."""

from __future__ import annotations

import pytest

from gossamer.search.query import parse_query
from gossamer.search.suggest import completions, nearest_word, suggestion

WORDS = {"crawler": 900, "crawlers": 300, "crawled": 100, "search": 700, "searching": 30, "spider": 60, "café": 3}


class Words:
    """A dictionary in memory."""

    def words_like(
        self, prefix: str = "", *, shortest: int = 0, longest: int = 99, limit: int | None = None
    ) -> list[tuple[str, int]]:
        fitting = [
            (word, count)
            for word, count in WORDS.items()
            if word.startswith(prefix) and shortest <= len(word) <= longest
        ]
        return sorted(fitting, key=lambda pair: -pair[1])[:limit]


def suggest(text: str, **documents: int) -> str | None:
    parsed = parse_query(text, {"english": 1000})
    return suggestion(parsed, [documents.get(word.text, 0) for word in parsed.words], Words())


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("crawlr", "crawler"), ("carwler", "crawler"), ("serach", "search"), ("spyder", "spider"), ("Saerch", "search")],
)
def test_an_unknown_word_is_replaced_by_the_nearest(typed: str, meant: str) -> None:
    assert suggest(typed) == meant


def test_the_rest_of_the_query_stays_as_typed() -> None:
    assert suggest('crawlr site:example.org -draft "link graph" serach') == (
        'crawler site:example.org -draft "link graph" search'
    )


@pytest.mark.parametrize("text", ["crwl -xyzzyx", "intitle:crawlr", '"crawlr"', "xyzzyx", "crawl3r", "ab"])
def test_operators_phrases_and_words_without_neighbours_are_left_alone(text: str) -> None:
    assert suggest(text) is None


def test_a_known_word_is_replaced_only_by_a_far_more_common_one() -> None:
    assert suggest("spidet", spidet=1) == "spider"
    assert suggest("spidet", spidet=2) is None
    assert suggest("crawlrs", crawlrs=3) is None


def test_among_equally_near_words_the_most_common_wins() -> None:
    assert nearest_word("crawlerz", [("crawler", 1), ("crawlers", 5)], 1) == "crawlers"


def test_completion_extends_the_last_word() -> None:
    assert completions("fast craw", Words(), 2) == ["fast crawler", "fast crawlers"]
    assert completions("intitle:sear", Words(), 5) == ["intitle:search", "intitle:searching"]


@pytest.mark.parametrize("text", ["", "crawl ", '"', "zzz"])
def test_completion_is_empty_when_no_word_can_be_extended(text: str) -> None:
    assert completions(text, Words(), 5) == []
