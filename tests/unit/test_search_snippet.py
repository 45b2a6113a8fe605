"""Snippets: the shortest window with most query words, marked, escaped, cut between characters."""

from __future__ import annotations

import html
import re
import unicodedata

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gossamer.basics.display import HIDDEN
from gossamer.index.analyze import get_analyzer
from gossamer.index.protocol import WordSequence
from gossamer.model import Field
from gossamer.search.rank import CandidateWords, QuerySlot
from gossamer.search.snippet import SNIPPET_LENGTH, MatchFinder, render_snippet, without_hidden_characters
from gossamer.search.window import find_windows
from helpers.patience import cpu_limit

Runs = list[tuple[Field, str]]


def build_snippet(runs: Runs, match_finder: MatchFinder, language: str, description: str = "") -> str:
    """Return a snippet built from word numbers, as a search builds it."""
    numbers: dict[str, int] = {}
    terms = [get_analyzer(language).terms(text).split() for _, text in runs]
    words = [numbers.setdefault(term, len(numbers) + 1) for run in terms for term in run]
    packed = [len(run) * 16 + field for (field, _), run in zip(runs, terms, strict=True)]
    sequence = WordSequence(language, np.array(words, "<u4").tobytes(), np.array(packed, "<u4").tobytes())
    slots = [
        QuerySlot(terms=tuple(slot_terms), words=tuple(numbers.get(term, 0) for term in slot_terms), idf=1.0)
        for slot_terms in match_finder.slots
        if any(term in numbers for term in slot_terms)
    ]
    (window,) = find_windows(CandidateWords([sequence], slots))
    return render_snippet(runs, window, match_finder, language, description)


def finder(*words: str, language: str = "english") -> MatchFinder:
    return MatchFinder([tuple(get_analyzer(language).terms(word).split()) for word in words])


def paragraph_snippet(text: str, *words: str, language: str = "english") -> str:
    return build_snippet([(Field.PARAGRAPH, text)], finder(*words, language=language), language)


def marked_words(text: str) -> list[str]:
    return [html.unescape(word) for word in re.findall("<mark>(.*?)</mark>", text)]


# -- finding words -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("language", "word", "text", "expected"),
    [
        ("english", "crawl", "Crawlers crawled; crawling CRAWLS, scrawl.", ["crawled", "crawling", "CRAWLS"]),
        ("english", "happy", "Happiness, HAPPY, happening.", ["Happiness", "HAPPY"]),
        ("english", "cafe", "A café, a Cafe\u0301 and a cafeteria.", ["café", "Cafe\u0301"]),
        ("german", "häuser", "Das Haus, die Häuser, das HÄUSCHEN.", ["Haus", "Häuser"]),
        ("russian", "книга", "Книги и книгу, книжный.", ["Книги", "книгу"]),
        ("french", "homme", "L\u2019homme et les hommes.", ["homme", "hommes"]),
        ("", "हिन्दी", "हिन्दी में हिन्द", ["हिन्दी"]),
        ("arabic", "كتاب", "الكتاب كتاب", ["الكتاب", "كتاب"]),
        ("cjk", "東京", "私は東京に住む。京都ではない。", ["東京"]),
        ("", "Łódź", "łódź i Lodz", ["łódź", "Lodz"]),
        (
            "english",
            "o'reilly",
            "O'Reilly, O\u2019REILLY'S, OReilly; Reilly.",
            ["O'Reilly", "O\u2019REILLY'S", "OReilly"],
        ),
        ("english", "egg", "An egg, l'egg, the e\xadgg and nutmegg.", ["egg", "egg"]),
        ("cjk", "python", "東京でPythonを使う。ipython", ["Python"]),
        ("arabic", "كتاب", "كِتَاب", ["كِتَاب"]),
        ("russian", "йогурт", "Йогурта, И\u0306огурт; игра.", ["Йогурта", "И\u0306огурт"]),  # noqa: RUF001
    ],
)
def test_every_form_of_a_word_is_marked_whatever_its_case_and_accents(
    language: str, word: str, text: str, expected: list[str]
) -> None:
    assert marked_words(paragraph_snippet(text, word, language=language)) == expected


ALPHABETS = {
    "english": ("crawl egg", "Crawling crawler egg'eggs\u2019_the.,\nÀéİß\u0301\xad 東京"),
    "russian": ("йод Київ", "йодИи\u0306 київКі\u0308\xad'_京"),
    "arabic": ("كتاب", "الكتابِ\u064e\u0301 \xad'x"),
    "": ("ज़िंदगी e", "ज\u093c\u093f\u0902दगी\u0940 \xad'eé\u0301"),
}


@pytest.mark.parametrize("language", ALPHABETS)
@given(data=st.data())
@example(data=["e\u0301gg", "e\u2019gg\u2019 l\u2019egg \xadegg e\xadgg 京egg京", "и\u0306од"])  # noqa: RUF001
def test_fast_matching_agrees_with_analysing_every_word(language: str, data: st.DataObject | list[str]) -> None:
    words, letters = ALPHABETS[language]
    match_finder = finder(*words.split(), language=language)
    texts = data if isinstance(data, list) else [data.draw(st.text(st.sampled_from(letters), max_size=80))]
    for text in texts:
        fast = {(position.start, position.slot) for position in match_finder.find(text, language)}
        slow = {
            (token.start, slot)
            for token in get_analyzer(language).tokens(text)
            for slot, terms in enumerate(match_finder.slots)
            if token.term in terms
        }
        assert fast == slow


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("ab", "ab''" * 5_000),
        ("ab", "a" + "\xad" * 100_000 + "c"),
        ("ज़िंदगी", "ज" + "\u093c\u093f\u0902" * 30_000),
        ("क" + "ि" * 8 + "गग", "क" + "ि" * 100_000),
        ("egg", "東egg" * 5_000),
    ],
)
def test_hostile_text_takes_little_time(word: str, text: str) -> None:
    """This includes hostile text before the match: a snippet reads a line or two of it at most."""
    runs = [(Field.TITLE, "title"), (Field.PARAGRAPH, text), (Field.PARAGRAPH, f"The {word} stands here.")]
    with cpu_limit(1):
        match_finder = finder(word)
        assert len(match_finder.find(text[:2000], "english")) <= 500
        assert marked_words(build_snippet(runs, match_finder, "english"))


# -- the window --------------------------------------------------------------------------------------------------------

FILLER = "Nothing of interest stands in this sentence at all. " * 20


def test_the_window_with_most_words_wins_over_an_earlier_one() -> None:
    text = f"An egg alone. {FILLER} Green eggs and ham. {FILLER}"
    assert marked_words(paragraph_snippet(text, "green", "egg", "ham")) == ["Green", "eggs", "ham"]


def test_the_shortest_of_equal_windows_wins() -> None:
    text = f"Green grass, and later on some eggs in it. {FILLER} The green eggs came. {FILLER}"
    assert "The <mark>green</mark> <mark>eggs</mark> came." in paragraph_snippet(text, "green", "egg")


def test_a_paragraph_wins_over_a_menu() -> None:
    runs: Runs = [
        (Field.TEXT, "egg"),
        (Field.PARAGRAPH, FILLER),
        (Field.PARAGRAPH, "What an egg is."),
        (Field.TEXT, FILLER),
    ]
    assert "What an <mark>egg</mark> is." in build_snippet(runs, finder("egg"), "english")


def test_a_window_grows_to_whole_sentences_where_there_is_room() -> None:
    text = f"{FILLER}This is the sentence before. Here an egg lies. {FILLER}"
    snippet = paragraph_snippet(text, "egg")
    assert snippet.startswith("…")
    assert "Here an <mark>egg</mark> lies." in snippet
    assert snippet.removeprefix("…").split()[0][0].isupper()


def test_a_short_text_is_shown_whole_and_without_an_ellipsis() -> None:
    assert paragraph_snippet("An egg.", "egg") == "An <mark>egg</mark>."


def test_a_page_without_text_matches_shows_its_description_or_beginning() -> None:
    runs: Runs = [
        (Field.TITLE, "Egg"),
        (Field.TEXT, "Home"),
        (Field.PARAGRAPH, "About us & them."),
        (Field.TEXT, "End"),
    ]
    assert build_snippet(runs, finder("egg"), "english") == "About us &amp; them."
    assert build_snippet(runs, finder("egg"), "english", "What we do") == "What we do"


def test_a_title_is_not_part_of_a_snippet() -> None:
    runs: Runs = [(Field.TITLE, "Egg egg egg"), (Field.PARAGRAPH, "One egg.")]
    assert build_snippet(runs, finder("egg"), "english") == "One <mark>egg</mark>."


# -- harmless ----------------------------------------------------------------------------------------------------------

HOSTILE = "<script>alert('egg')</script> \x1b[31mred\x1b[0m \u202etxt.exe\u202c \u2066x\u2069 & \x00\x9b egg"


def test_hostile_text_is_harmless_in_a_snippet() -> None:
    snippet = paragraph_snippet(HOSTILE, "egg")
    assert marked_words(snippet) == ["egg", "egg"]
    plain = snippet.replace("<mark>", "").replace("</mark>", "")
    assert "<" not in plain
    assert not re.search("&(?!(?:amp|lt|gt|quot|#x27);)", plain)
    assert all(unicodedata.category(character) not in {"Cc", "Cf", "Zl", "Zp"} for character in plain)


@given(st.text())
def test_hidden_characters_are_removed(text: str) -> None:
    assert all(match[1] is None for match in HIDDEN.finditer(without_hidden_characters(text)))


CLUSTERS = ["egg ", "e\u0301", "👩\u200d👩\u200d👧", "🇩🇪", "क्षि", "東", "a", " ", ". ", "&", "<"]


@given(st.lists(st.sampled_from(CLUSTERS), min_size=1, max_size=600))
def test_no_character_and_no_entity_is_cut(clusters: list[str]) -> None:
    text = "".join(clusters)
    snippet = paragraph_snippet(text, "egg")
    plain = html.unescape(re.sub("</?mark>", "", snippet)).strip("…").strip()
    at = text.find(plain)
    assert at >= 0
    edges = {0}
    for cluster in clusters:
        edges.add(max(edges) + len(cluster))
    stripped = edges | {edge + 1 for edge in edges if text[edge : edge + 1] == " "}
    starts = [match.start() for match in re.finditer(re.escape(plain), text)]
    assert any(start in stripped and (start + len(plain)) in edges | {edge - 1 for edge in edges} for start in starts)


@given(st.lists(st.sampled_from(["egg", "ham", "x", "a long word here", "and so on.", "東京都"]), max_size=300))
def test_a_snippet_stays_within_its_length_limit(words: list[str]) -> None:
    plain = html.unescape(re.sub("</?mark>", "", paragraph_snippet(" ".join(words), "egg", "ham")))
    assert len(plain) <= SNIPPET_LENGTH + 2
