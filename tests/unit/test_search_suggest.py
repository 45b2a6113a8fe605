"""Suggestions: did you mean, and completion, from the web's own words."""

from __future__ import annotations

import pytest

from gossamer.search.frequent_words import FrequentWords
from gossamer.search.query import parse_query
from gossamer.search.suggest import completions, nearest_word, suggestion

WORDS = {
    "crawler": 900, "crawlers": 300, "crawled": 100, "search": 700, "searching": 30, "spider": 60, "café": 3,
    "saerch": 1, "seahorse": 1, "seal": 8,
}  # fmt: skip
RECOUNTED = {"seal": 1}  # its page changed many times, and each time counted again
TITLE_WORDS = {"seahorse", "spidez"}


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


class Use:
    """Where the words are used."""

    def document_count(self, word: str) -> int:
        return RECOUNTED.get(word, WORDS.get(word, 0))

    def is_in_title(self, word: str) -> bool:
        return word in TITLE_WORDS


def suggest(text: str, **documents: int) -> str | None:
    parsed = parse_query(text, {"english": 1000})
    counts = [documents.get(word.text, 0) for word in parsed.words]
    return suggestion(parsed, counts, FrequentWords(Words()), Use(), thorough=True)


def complete(text: str, limit: int = 5) -> list[str]:
    return completions(text, FrequentWords(Words()), Use(), limit)


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


def test_a_rare_word_of_a_title_is_no_misspelling() -> None:
    assert suggest("spidez", spidez=1) is None
    assert suggest("spidey", spidey=1) == "spider"


def test_a_mistyped_first_letter_is_corrected_only_thoroughly() -> None:
    parsed = parse_query("drawler", {"english": 1000})
    words = FrequentWords(Words())
    assert suggestion(parsed, [0], words, Use(), thorough=False) is None
    assert suggestion(parsed, [0], words, Use(), thorough=True) == "crawler"


def test_completion_extends_the_last_word() -> None:
    assert complete("fast craw", 2) == ["fast crawler", "fast crawlers"]
    assert complete("intitle:sear") == ["intitle:search", "intitle:searching"]


def test_a_misspelling_on_one_page_is_never_a_completion() -> None:
    assert complete("sae") == []
    assert complete("saerch") == ["search", "searching"]


def test_a_word_of_one_page_completes_if_it_is_in_a_title() -> None:
    assert complete("seah") == ["seahorse"]


def test_a_word_counted_often_for_one_page_is_no_completion() -> None:
    assert "seal" not in complete("seal")


@pytest.mark.parametrize(("typed", "meant"), [("crwale", "crawler"), ("serach", "search"), ("spyd", "spider")])
def test_an_unfinished_word_with_a_typing_error_completes(typed: str, meant: str) -> None:
    assert complete(typed)[0] == meant


@pytest.mark.parametrize("text", ["", "crawl ", '"', "zzz", "zzzzzz", "12345"])
def test_completion_is_empty_when_no_word_can_be_extended(text: str) -> None:
    assert complete(text) == []
