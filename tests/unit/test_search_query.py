"""The query language: from typed text to a query tree."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.index.protocol import (
    AnyOf,
    ChangeDateFilter,
    InTitle,
    InUrl,
    LanguageFilter,
    MediaTypeFilter,
    Phrase,
    Query,
    SiteFilter,
    Word,
)
from gossamer.search.query import MOST_CHARACTERS, MOST_WORDS, parse_query

ENGLISH = {"english": 100}


def query(text: str) -> Query:
    return parse_query(text, ENGLISH).query


def word(text: str, term: str | None = None, *, stop: bool = False) -> Word:
    return Word(text=text, terms=(term or text.lower(),), stop=stop)


# -- words and phrases -------------------------------------------------------------------------------------------------


def test_words_are_matched_by_their_terms() -> None:
    assert query("Crawling spiders").wanted == (word("Crawling", "crawl"), word("spiders", "spider"))


def test_a_word_has_a_term_for_each_language_of_the_web() -> None:
    (node,) = parse_query("continues", {"english": 5, "german": 9}).query.wanted
    assert isinstance(node, Word)
    assert set(node.terms) == {"continu", "continus"}


def test_lang_uses_only_the_terms_of_that_language() -> None:
    parsed = parse_query("nationale lang:fr", {"english": 5, "french": 9}).query
    assert parsed.wanted == (word("nationale", "national"),)
    assert parsed.required == (LanguageFilter(name="french"),)


def test_stop_words_are_marked() -> None:
    assert query("the egg").wanted == (word("the", stop=True), word("egg"))


def test_a_stop_word_of_a_rare_language_is_an_ordinary_word() -> None:
    (node,) = parse_query("die", {"english": 90, "german": 10}).query.wanted
    assert isinstance(node, Word)
    assert not node.stop


def test_quotes_make_a_phrase_with_its_stop_words() -> None:
    assert query('"to the lighthouse"').required == (
        Phrase(text="to the lighthouse", alternatives=(("to", "the", "lighthous"),)),
    )


def test_one_quoted_word_is_required_even_if_it_is_a_stop_word() -> None:
    assert query('"the" egg') == Query(wanted=(word("egg"),), required=(word("the"),))


@pytest.mark.parametrize("text", ["“link graph”", "„link graph“", "«link graph»", '"link graph'])
def test_typographic_and_unclosed_quotes_are_understood(text: str) -> None:
    assert query(text).required == (Phrase(text="link graph", alternatives=(("link", "graph"),)),)


def test_joined_words_match_as_a_phrase_or_in_the_url() -> None:
    (node,) = query("os.path").wanted
    assert node == AnyOf(
        children=(
            Phrase(text="os.path", alternatives=(("os", "path"),)),
            InUrl(text="os.path", words=("os", "path")),
        )
    )


def test_cjk_words_become_pairs_of_characters() -> None:
    (node,) = parse_query("東京都", {"cjk": 1}).query.wanted
    assert isinstance(node, AnyOf)
    assert node.children[0] == Phrase(text="東京都", alternatives=(("東京", "京都"),))


# -- exclusion and alternatives ----------------------------------------------------------------------------------------


def test_a_minus_excludes_words_phrases_and_operators() -> None:
    assert query('egg -ham -"green eggs" -site:example.org').excluded == (
        word("ham"),
        Phrase(text="green eggs", alternatives=(("green", "egg"),)),
        SiteFilter(host="example.org"),
    )


@pytest.mark.parametrize("text", ["well-known", "a - b", "--", "-"])
def test_a_minus_inside_or_without_a_word_excludes_nothing(text: str) -> None:
    assert query(text).excluded == ()


def test_or_joins_its_neighbours() -> None:
    assert query("fresh cats OR dogs OR birds food") == Query(
        wanted=(word("fresh"), word("food")),
        required=(AnyOf(children=(word("cats", "cat"), word("dogs", "dog"), word("birds", "bird"))),),
    )


def test_or_joins_operators_too() -> None:
    assert query("site:a.org | site:b.org").required == (
        AnyOf(children=(SiteFilter(host="a.org"), SiteFilter(host="b.org"))),
    )


@pytest.mark.parametrize("text", ["OR cats", "cats OR", "OR", "cats OR -dogs"])
def test_or_that_joins_nothing_is_a_word(text: str) -> None:
    assert not query(text).required


# -- operators ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "host", "path"),
    [
        ("site:example.org", "example.org", ""),
        ("site:EXAMPLE.org/", "example.org", ""),
        ("site:https://example.org/docs/", "example.org", "/docs"),
        ("site:*.example.org", "example.org", ""),
        ("site:localhost:8080/a", "localhost:8080", "/a"),
        ("SITE:example.org", "example.org", ""),
        ("site:bücher.example", "xn--bcher-kva.example", ""),
    ],
)
def test_site_takes_a_host_and_a_path(text: str, host: str, path: str) -> None:
    assert query(text).required == (SiteFilter(host=host, path=path),)


def test_intitle_takes_a_word_or_a_phrase() -> None:
    assert query('intitle:guides intitle:"the guide"').required == (
        InTitle(text="guides", terms=("guid",)),
        Phrase(text="the guide", alternatives=(("the", "guid"),), title_only=True),
    )


def test_inurl_takes_words() -> None:
    assert query("inurl:docs/api").required == (InUrl(text="docs/api", words=("docs", "api")),)


@pytest.mark.parametrize("tag", ["en", "EN-gb", "english"])
def test_lang_takes_tags_and_names(tag: str) -> None:
    assert query(f"lang:{tag}").required == (LanguageFilter(name="english"),)


def test_type_takes_short_names_and_media_types() -> None:
    html = AnyOf(
        children=(MediaTypeFilter(media_type="text/html"), MediaTypeFilter(media_type="application/xhtml+xml"))
    )
    assert query("type:pdf").required == (MediaTypeFilter(media_type="application/pdf"),)
    assert query("type:html").required == (html,)
    assert query("type:text/markdown").required == (MediaTypeFilter(media_type="text/markdown"),)


def test_dates_are_days_months_or_years() -> None:
    def day(year: int, month: int, day_: int) -> float:
        return datetime(year, month, day_, tzinfo=UTC).timestamp()

    assert query("after:2024-05-17 before:2025").required == (
        ChangeDateFilter(since=day(2024, 5, 17)),
        ChangeDateFilter(until=day(2025, 1, 1)),
    )
    assert query("after:2024-05").required == (ChangeDateFilter(since=day(2024, 5, 1)),)


@pytest.mark.parametrize("text", ["colour:red", "site:%%%", "lang:xx", "type:??", "after:tomorrow", "before:2024-99"])
def test_invalid_operators_are_read_as_words(text: str) -> None:
    parsed = query(text)
    assert not parsed.required
    assert parsed.wanted


# -- any text is accepted ----------------------------------------------------------------------------------------------

PIECES = st.sampled_from(
    ['"', "-", "OR", "|", ":", "site:", "intitle:", "inurl:", "lang:", "type:", "after:", "(", "/"]
)


@given(st.lists(st.one_of(PIECES, st.text(st.characters(), max_size=8)), max_size=12).map(" ".join))
def test_any_typed_text_is_accepted(text: str) -> None:
    parsed = parse_query(text, {"english": 3, "german": 2, "cjk": 1, "": 1})
    for query_word in parsed.words:
        assert parsed.text[query_word.start : query_word.end] == query_word.text


def test_a_very_long_query_is_cut_with_a_note() -> None:
    parsed = parse_query("egg " * MOST_CHARACTERS, ENGLISH)
    assert len(parsed.text) <= MOST_CHARACTERS
    assert any("characters" in note for note in parsed.notes)


def test_very_many_words_are_cut_with_a_note() -> None:
    parsed = parse_query(" ".join(f"w{number}" for number in range(MOST_WORDS + 9)), ENGLISH)
    assert len(parsed.query.wanted) == MOST_WORDS
    assert parsed.notes == (f"The search used only the first {MOST_WORDS} words.",)


def test_a_word_typed_twice_is_searched_once() -> None:
    assert len(query("egg egg egg").wanted) == 1


@pytest.mark.parametrize(
    ("typed", "named"),
    [
        ("after:banana moths", ["after:banana"]),
        ("before:2024-13 lang:klingon silk", ["before:2024-13", "lang:klingon"]),
        ("type:ignore", ["type:ignore"]),
        ('-after:"next week" silk', ['after:"next week"']),
        ("after:2024-05 lang:en type:pdf site:example.org titel:silk std::vector", []),
    ],
)
def test_a_filter_with_an_invalid_value_is_named(typed: str, named: list[str]) -> None:
    parsed = parse_query(typed, {"english": 10})
    assert [one.filter for one in parsed.ignored] == named
    assert [one.reason for one in parsed.ignored] == [note for note in parsed.notes if "counts as words" in note]
