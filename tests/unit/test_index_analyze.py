# ruff: noqa: RUF001 - words of many scripts
"""Text analysis: how text becomes words and terms."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.index.analyze import (
    ENGLISH_STOPS,
    LANGUAGES,
    LONGEST_TERM,
    STEMMERS,
    detect_language,
    get_analyzer,
    split_runs,
    split_terms_by_run,
)
from gossamer.index.protocol import FIRST_STOP_CODE, stop_code

ENGLISH = get_analyzer("english")
NONE = get_analyzer("")
GERMAN = "Der schnelle braune Fuchs springt über den faulen Hund und läuft dann schnell davon."
PROSE = "The page that you are looking for is not here, but it has been moved to where the others are."


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("The Eggs, boiled!", "the egg boil"),
        ("os.path.join(a_b)", "os path join a b"),
        ("Python 3.11 x86-64", "python 3 11 x86 64"),
        ("don't John's ‘quoted’ it’s", "dont john quot it"),
        ("naïve CAFÉ Ærø STRASSE straße", "naiv cafe aero strass strass"),
        ("e\u0301te\u0301 soft\u00adhyphen", "ete softhyphen"),
        ("ｆｕｌｌ ﬁne x²", "full fine x2"),
        ("東京都の天気", "東京 京都 都の の天 天気"),
        ("京 is 京", "京 is 京"),
        ("Python東京", "python 東京"),
        ("हिन्दी भाषा", "हिन्दी भाषा"),
        ("Ёлка й", "елка й"),
        ("İstanbul ısı", "istanbul isi"),
        ("zero\u200bwidth no\u00a0break", "zero width no break"),
        ("'' -- … ''' \x00\x02\x1b[31m", "31m"),
        ("", ""),
    ],
)
def test_english_text_becomes_terms(text: str, terms: str) -> None:
    assert ENGLISH.terms(text).split() == terms.split()


def test_french_elisions_become_two_words() -> None:
    assert get_analyzer("french").terms("l'homme d’État").split() == ["l", "homm", "d", "etat"]


def test_each_language_has_its_own_stemming() -> None:
    assert get_analyzer("german").terms("Häuser").split() == get_analyzer("german").terms("Haus").split()
    assert get_analyzer("spanish").terms("corriendo") != NONE.terms("corriendo")
    assert NONE.terms("Eggs") == "eggs"
    assert get_analyzer("cjk").terms("Eggs") == "eggs"


@pytest.mark.parametrize("language", sorted(STEMMERS))
def test_every_stemmer_exists(language: str) -> None:
    assert get_analyzer(language).terms("example") != ""


def test_terms_ignore_accents() -> None:
    for language in sorted(STEMMERS):
        assert get_analyzer(language).terms("résumés") == get_analyzer(language).terms("resumes")


def test_very_long_words_are_truncated() -> None:
    assert NONE.terms("x" * 5_000) == "x" * LONGEST_TERM


def test_stop_words_stay_and_are_marked() -> None:
    tokens = ENGLISH.tokens("The egg of THE day")
    assert [(token.term, token.stop) for token in tokens] == [
        ("the", True), ("egg", False), ("of", True), ("the", True), ("day", False),
    ]  # fmt: skip
    assert [token.stop for token in get_analyzer("german").tokens("das Ei")] == [True, False]
    assert not any(token.stop for token in NONE.tokens("the egg"))


def test_tokens_hold_the_position_of_their_word_in_the_text() -> None:
    text = "Straße, don’t! 東京都 e\u0301te\u0301"
    spans = [(text[token.start : token.end], token.term) for token in ENGLISH.tokens(text)]
    assert spans == [
        ("Straße", "strass"),
        ("don’t", "dont"),
        ("東京", "東京"),
        ("京都", "京都"),
        ("e\u0301te\u0301", "ete"),
    ]


TEXTS = st.text(st.sampled_from("abzEÉé'’_-. \u0301\u00ad\u200b\u02bc東京かﾞกिंабй²½ﷺ0\x02\ud800🐍"), max_size=40)


@given(TEXTS, st.sampled_from(["english", "french", "", "cjk"]))
def test_terms_and_tokens_yield_the_same_words(text: str, language: str) -> None:
    analyzer = get_analyzer(language)
    storable = text.encode("utf-8", "replace").decode()  # a lone surrogate cannot be stored
    tokens = analyzer.tokens(storable)
    assert analyzer.terms(text).split() == [token.term for token in tokens]
    assert all(0 <= token.start < token.end <= len(storable) for token in tokens)


@given(st.lists(TEXTS, min_size=1, max_size=5))
def test_terms_of_a_whole_page_equal_the_terms_of_its_runs(texts: list[str]) -> None:
    runs = split_terms_by_run(ENGLISH.terms_of_pieces(split_runs(texts)))
    assert [run.split() for run in runs] == [ENGLISH.terms(text).split() for text in texts]


@given(st.text())
def test_terms_hold_no_blanks_and_have_a_limited_length(text: str) -> None:
    for term in NONE.terms(text).split():
        assert not any(character.isspace() for character in term)
        assert 0 < len(term) <= LONGEST_TERM


@pytest.mark.parametrize(
    ("declared", "language"),
    [("en", "english"), ("EN-us", "english"), ("de_AT", "german"), ("nb", "norwegian"), ("zh-Hant", "cjk"), ("pl", ""),
     ("eng", "english"), (" fr ", "french")],
)  # fmt: skip
def test_the_declared_language_wins(declared: str, language: str) -> None:
    assert detect_language(declared, [GERMAN]) == language


@pytest.mark.parametrize(
    ("text", "language"),
    [
        (GERMAN, "german"),
        (PROSE, "english"),
        ("Voici la page que vous cherchez, elle n'est plus là depuis longtemps.", "french"),
        ("これは日本語で書かれたページです。検索エンジンのための文章が続きます。とても長い文章です。", "cjk"),
        ("Szybki brązowy lis przeskakuje nad leniwym psem i ucieka do lasu przed myśliwymi.", ""),
        ("42", ""),
        ("", ""),
    ],
)
def test_an_undeclared_language_is_detected_from_the_longest_text(text: str, language: str) -> None:
    assert detect_language("", ["Menu", text]) == language
    assert detect_language("x-default", [text]) == language


def test_every_language_has_an_analyzer() -> None:
    assert set(LANGUAGES.values()) == STEMMERS | {"cjk"}


def test_stop_words_have_distinct_codes() -> None:
    codes = {stop_code(word) for word in ENGLISH_STOPS}
    assert len(codes) == len(ENGLISH_STOPS)
    assert min(codes) >= FIRST_STOP_CODE
    assert max(codes) < 1 << 32
