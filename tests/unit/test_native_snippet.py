"""The kernel of snippets gives the same HTML as the Python way, for all scripts, cuts and odd characters."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import skip_without_native
from gossamer.errors import StoreCorrupt
from gossamer.index.analyze import get_analyzer
from gossamer.index.documents import LazyRuns
from gossamer.index.protocol import WordSequence
from gossamer.kernels import native
from gossamer.model import Field
from gossamer.search.page_snippets import SnippetRenderer, SnippetSource, render_page
from gossamer.search.rank import QuerySlot
from gossamer.search.second_pass import locate_windows
from gossamer.search.snippet import PREFIX_STEMMING_LANGUAGES, MatchFinder
from gossamer.search.window import TextWindow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gossamer.kernels import NativeKernels

Runs = list[tuple[Field, str]]

LANGUAGES = ("english", "german", "french", "russian", "greek", "arabic", "cjk", "")
WORDS = (
    *("crawl", "Crawlers", "crawling", "don't", "don\u2019t", "l'homme", "Straße", "naïve", "Été", "e\u0301te\u0301"),
    *("İstanbul", "ΟΔΟΣ", "οδός", "йога", "ёлка", "東京都", "京都", "カタカナ", "한국어", "ภาษา", "كتاب", "بالكتاب"),
    *("soft\xadhyphen", "x86_64", "cafés", "²³", "\U0001f600", "a", "the", "æther", "łódź"),
)
QUERIES = (
    *(
        "crawl",
        "don't",
        "homme",
        "strasse",
        "été",
        "οδος",
        "йога",
        "елка",
        "東京",
        "京都",
        "한국",
        "ภาษา",
        "كتاب",
        "the",
    ),
)
GAPS = (
    *(" ", ". ", "! ", "\n", ", ", "…", "。", "?\u201d ", " <b> & \"'", "_", "\t", "\x1c", "\xa0", "\u200b", "\u200d"),
    *("\u202e", "\x85", ""),
)
texts = st.lists(st.tuples(st.sampled_from(WORDS), st.sampled_from(GAPS)), max_size=90).map(
    lambda pairs: "".join(word + gap for word, gap in pairs)
)
odd_texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
fields = st.sampled_from([Field.H1, Field.PARAGRAPH, Field.PARAGRAPH, Field.TEXT])
run_lists = st.tuples(
    st.lists(st.tuples(st.sampled_from([Field.TITLE, Field.DESCRIPTION]), texts), max_size=2),
    st.lists(st.tuples(fields, st.one_of(texts, odd_texts)), max_size=8),
).map(lambda both: both[0] + both[1])


@pytest.fixture(scope="module", autouse=True)
def kernels() -> NativeKernels:
    """Return the compiled kernels; skip all tests without them."""
    if native is None:
        skip_without_native()
    return native


def pack(runs: Runs) -> bytes:
    return zstandard.compress(msgspec.msgpack.encode(runs))


def finder_of(words: Sequence[str], language: str) -> MatchFinder:
    terms = (tuple(get_analyzer(language).terms(word).split()) for word in words)
    return MatchFinder([each for each in terms if each])


def page_of(runs: Runs, finder: MatchFinder, language: str, description: str = "") -> SnippetSource:
    """Return a page with the window that a search finds."""
    stored = pack(runs)
    numbers: dict[str, int] = {}
    indexed = list(LazyRuns(stored))
    terms = [get_analyzer(language).terms(text).split() for _, text in indexed]
    words = [numbers.setdefault(term, len(numbers) + 1) for run in terms for term in run]
    packed_runs = [len(run) * 16 + field for (field, _), run in zip(indexed, terms, strict=True)]
    sequence = WordSequence(language, np.array(words, "<u4").tobytes(), np.array(packed_runs, "<u4").tobytes())
    taken: set[int] = set()
    slots = []
    for slot_terms in finder.slots:
        slot_words = tuple({numbers[term] for term in slot_terms if term in numbers} - taken)
        taken.update(slot_words)
        slots.append(QuerySlot(terms=tuple(slot_terms), words=slot_words, idf=1.0))
    (window,) = locate_windows([sequence], slots)
    return SnippetSource(stored, window, language, description)


def assert_same(page: SnippetSource, finder: MatchFinder) -> None:
    assert SnippetRenderer().render([page], finder) == [render_page(page, MatchFinder(finder.slots))]


def is_sure(kernels: NativeKernels, page: SnippetSource, finder: MatchFinder) -> bool:
    """Return whether the kernel renders a page itself."""
    text = kernels.read_text(zstandard.decompress(page.text))
    pages = [(text, page.window, page.language, page.description)]
    arguments = (finder.prefixes, finder.bigrams, list(PREFIX_STEMMING_LANGUAGES), finder.word_matches)
    return kernels.render_snippets(pages, *arguments)[0] is not None


@given(
    run_lists,
    st.lists(st.sampled_from(QUERIES), min_size=1, max_size=3),
    st.sampled_from(LANGUAGES),
    st.one_of(st.just(""), texts),
)
@settings(max_examples=300)
def test_snippets_of_generated_pages(runs: Runs, words: list[str], language: str, description: str) -> None:
    finder = finder_of(words, language)
    assert_same(page_of(runs, finder, language, description), finder)


@given(
    run_lists,
    st.tuples(st.integers(0, 9), st.integers(0, 50), st.integers(0, 60), st.integers(0, 9)),
    st.sampled_from(LANGUAGES),
)
@settings(max_examples=100)
def test_snippets_of_any_window(runs: Runs, window: tuple[int, int, int, int], language: str) -> None:
    first, before, length, further = window
    finder = finder_of(["crawl", "東京"], language)
    page = SnippetSource(pack(runs), TextWindow(first, before, length, first + further), language, "")
    assert_same(page, finder)


def assert_same_around(codes: Sequence[int], language: str) -> None:
    """Compare the snippets of words with each of these characters in and around them."""
    finder = finder_of(["crawl", "\u00e9t\u00e9"], language)
    pages = []
    for start in range(0, len(codes), 5):
        some = map(chr, codes[start : start + 5])
        text = "".join(f"crawl{each} {each}crawls cra{each}wl {each}ete{each}. {each}" for each in some)
        pages.append(page_of([(Field.PARAGRAPH, text)], finder, language))
    expected = [render_page(page, finder) for page in pages]
    for page, snippet, python_snippet in zip(pages, SnippetRenderer().render(pages, finder), expected, strict=True):
        assert snippet == python_snippet, LazyRuns(page.text)[0]


@pytest.mark.parametrize("language", ["english", "french"])
def test_snippets_with_every_character_of_common_scripts(language: str) -> None:
    assert_same_around([*range(1, 0x600), *range(0x1E00, 0x2800), *range(0x3000, 0x3100)], language)
    assert_same_around([*range(0x3100, 0xD800, 97), *range(0xFE00, 0x10000, 3), *range(0x1F000, 0x1FB00, 7)], language)


@pytest.mark.full
@pytest.mark.parametrize("language", LANGUAGES)
def test_snippets_with_every_character(language: str) -> None:
    assert_same_around([*range(1, 0xD800), *range(0xE000, 0x20000)], language)


@pytest.mark.parametrize("words_before", [0, 3, 400, 2_000, 3_999])
@pytest.mark.parametrize("filler", ["word ", "wort\u00e4 ", "\u6771", "x", "a\u0301"])
def test_snippets_of_long_runs(filler: str, words_before: int) -> None:
    text = filler * words_before + " crawler\u2019s end. " + filler * (4_000 - words_before)
    runs = [(Field.TITLE, "A title"), (Field.H1, "Heading"), (Field.PARAGRAPH, text), (Field.TEXT, "crawl " * 90)]
    finder = finder_of(["crawler", "heading"], "english")
    assert_same(page_of(runs, finder, "english"), finder)


def test_the_kernel_is_sure_of_texts_in_common_scripts(kernels: NativeKernels) -> None:
    text = "The \u201ccrawler\u201d \u2013 naïve, © 2024… Привет, 東京都! → crawl"
    finder = finder_of(["crawl", "東京"], "english")
    assert is_sure(kernels, page_of([(Field.PARAGRAPH, text)], finder, "english"), finder)


def test_the_kernel_leaves_unknown_scripts_and_damage_to_python(kernels: NativeKernels) -> None:
    finder = finder_of(["crawl"], "english")
    assert not is_sure(kernels, page_of([(Field.PARAGRAPH, "crawl \u0915\u094d\u0937")], finder, "english"), finder)
    damaged = SnippetSource(zstandard.compress(b"\x91\x92\x07\xa5crawl"[:-1]), TextWindow(0, 0, 1, 0), "english", "")
    assert not is_sure(kernels, damaged, finder)
    with pytest.raises(StoreCorrupt):
        SnippetRenderer().render([damaged], finder)


def test_an_error_of_the_analysis_reaches_the_caller(kernels: NativeKernels) -> None:
    def fail(_word: str, _language: str) -> list[tuple[int, int, int]]:
        raise LookupError

    text = kernels.read_text(msgspec.msgpack.encode([(Field.PARAGRAPH, "crawl")]))
    page = (text, TextWindow(0, 0, 1, 0), "", "")
    with pytest.raises(LookupError):
        kernels.render_snippets([page], ["craw"], [], [], fail)
