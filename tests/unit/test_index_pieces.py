# ruff: noqa: RUF001 - words of many scripts
"""The kernel and Python make the same documents, word by word, of texts in all scripts."""

from __future__ import annotations

import sys
import unicodedata
from typing import TYPE_CHECKING

import msgspec
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from conftest import package, skip_without_native
from gossamer.index import documents, pieces
from gossamer.index.analyze import LANGUAGES, LONGEST_CACHED_PIECE, STEMMERS, get_analyzer, split_pieces
from gossamer.index.documents import DocumentMaker
from gossamer.index.pieces import LanguagePieces, PythonPieceTable, sample_text
from gossamer.kernels import native
from gossamer.model import Field, ParseJob, Role
from gossamer.parse.options import ParseOptions
from gossamer.parse.page_parser import PageParser
from helpers.index.small_index import Lexicon, indexable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gossamer.store.follow.changes import IndexableResource
    from helpers.index.small_index import Runs

DECLARED = ["", "en", "fr", "de", "ru", "ar", "tr", "zh", "pl"]
CHARACTERS = (
    "abzEÉéß019'’_-. \n\0\x02\x1b\u00a0\u200b\u00ad\u200d\u0301\u0345\u02bc\u0130\ufb01²½⑴ﷺ"
    "東京かﾞカーกิ한\u1100\u1161\u0915िंабйё\u0591שּׁمـ\ufe0f🐍👩\U00020000\U0001d400Σςǅ"
)
WORDS = ["the", "which", "running", "Eggs", "l'été", "don’t", "x" * 90, "東" * 40]
TEXTS = st.one_of(
    st.text(st.sampled_from(CHARACTERS), max_size=60),
    st.text(max_size=20),
    st.lists(
        st.sampled_from(["the", "which", "running", "Eggs", "l'été", "don’t", "x" * 90, "東" * 40]), max_size=9
    ).map(" ".join),
)
PAGES = st.lists(
    st.tuples(st.sampled_from(DECLARED), st.lists(st.tuples(st.sampled_from(Field), TEXTS), max_size=6)), max_size=4
)


def make_both_ways(batches: Sequence[Sequence[IndexableResource]]) -> None:
    """Make the documents of some batches with the kernel and with Python, and compare everything."""
    if native is None:
        skip_without_native()
    results = []
    for kernels in (native, None):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(pieces, "native", kernels)
            lexicon = Lexicon()
            maker = DocumentMaker(lexicon)
            made: list[object] = []
            for number, batch in enumerate(batches):
                made.append((maker.make(batch), maker.is_full))
                made.append((maker.take_forms(everything=bool(number % 2)), maker.is_full))
            results.append((made, maker.take_forms(), lexicon.numbers))
    assert results[0] == results[1]


def resources(pages: Iterable[tuple[str, Runs]]) -> list[IndexableResource]:
    return [indexable(number, runs, language=language) for number, (language, runs) in enumerate(pages, 1)]


@given(st.lists(PAGES, min_size=1, max_size=3))
def test_documents_and_counts_are_the_same_both_ways(batches: list[list[tuple[str, Runs]]]) -> None:
    make_both_ways([resources(pages) for pages in batches])


def test_the_same_words_are_counted_when_caches_are_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "MOST_CACHED_WORDS", 5)
    monkeypatch.setattr(documents, "FULLY_COUNTED_DOCUMENTS", 2)
    monkeypatch.setattr(documents, "COUNT_EVERY", 3)
    runs = [(Field.PARAGRAPH, f"the egg number {number} … l'été {'東' * number}") for number in range(40)]
    make_both_ways([resources([("en", [run]), ("fr", [run])] * 2) for run in runs])


def test_characters_of_all_scripts_become_the_same_words() -> None:
    """Words of three characters from everything that Unicode defines, with a mark now and then."""
    assigned = [
        character
        for character in map(chr, range(sys.maxunicode + 1))
        if unicodedata.category(character) not in {"Cn", "Co", "Cs"} and not "\uac80" < character < "\ud700"
    ]
    ideographs = [one for one in assigned if "CJK" in unicodedata.name(one, "")]
    kept = sorted({*assigned} - {*ideographs[100:-100]})
    words = ["".join(kept[at : at + 3]) for at in range(0, len(kept), 3)]
    words[::7] = [f"{word}\u0301" for word in words[::7]]
    runs = [(Field.PARAGRAPH, " ".join(words[at : at + 200])) for at in range(0, len(words), 200)]
    assert len(kept) > 40_000
    make_both_ways([resources([(language, runs) for language in ("en", "fr", "zh", "pl")])])


def test_texts_without_spaces_are_the_same_both_ways() -> None:
    texts = ["ภาษาไทยเขียนติดกันโดยไม่มีช่องว่าง" * 3, "中文与日本語の文章、한국어 문장도 있다。" * 3, "a" * 100_000]
    assert all(len(text.encode()) > LONGEST_CACHED_PIECE for text in texts)
    make_both_ways([resources([("", [(Field.TEXT, text)]), ("zh", [(Field.TITLE, text)])]) for text in texts * 2])


def test_words_beyond_the_limit_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "MAX_WORDS", 20)
    page = [(Field.PARAGRAPH, "one two three four"), (Field.TITLE, "five"), (Field.TEXT, "six 東京都 " * 30)]
    make_both_ways([resources([("en", page)])])
    (document,) = DocumentMaker(Lexicon()).make(resources([("en", page)])).documents
    assert len(document.words) // 4 <= 20


def stored(packed: bytes) -> IndexableResource:
    return msgspec.structs.replace(indexable(1, []), text=zstandard.compress(packed))


@pytest.mark.parametrize(
    "packed",
    [
        b"", b"\x90", b"\x90\x90", b"\x91\x92\x00\x05", b"\x91\x92\x00\xa2\xff\xfe", b"\x91\x93\x00\xa1a\xa1b",
        b"\x91\x92\xcc\x07\xa1a", b"\x91\x92\x10\xa1a", b"\x91\x92\xff\xa1a", b"\x91\x92\x00\xa3\xed\xa0\x80",
        b"\xdd\xff\xff\xff\xff\x92\x00\xa1a", b"\x91\x92\x07\xdb\x00\x00\x00\x01a", b"\xdc\x00\x01\x92\x07\xd9\x01a",
    ],
)  # fmt: skip
def test_odd_bytes_in_a_text_have_the_same_result(packed: bytes) -> None:
    make_both_ways([[stored(packed), indexable(2, [(Field.TITLE, "Fine")])]] * 2)


@given(st.lists(st.tuples(st.sampled_from(Field), TEXTS), max_size=8), st.integers(1, 30))
def test_samples_of_a_text_are_the_same_both_ways(runs: Runs, size: int) -> None:
    if native is None:
        skip_without_native()
    text = msgspec.msgpack.encode(runs)
    with pytest.MonkeyPatch.context() as patch:
        for name in ("SAMPLE_LENGTH", "SAMPLE_PIECES"):
            patch.setattr(f"gossamer.index.analyze.{name}", size)
            patch.setattr(pieces, name, size)
        sampled = sample_text(text)
        patch.setattr(pieces, "native", None)
        assert sample_text(text) == sampled


@given(st.lists(TEXTS, max_size=5), st.sampled_from([*sorted(STEMMERS), "", "cjk"]))
def test_words_of_many_pieces_equal_those_of_each(texts: list[str], language: str) -> None:
    analyzer = get_analyzer(language)
    cut = [piece for text in texts for piece in split_pieces(text)]
    assert analyzer.words_of_pieces(cut) == [analyzer.piece_words(piece) for piece in cut]


@pytest.mark.parametrize("language", sorted({*LANGUAGES.values()}))
def test_all_plain_words_of_a_page_are_stemmed_in_one_call(language: str) -> None:
    analyzer = get_analyzer(language)
    cut = split_pieces("a an the of und der die le la que running houses maisons 1984 x86 " * 2 + "z" * 200)
    assert analyzer.words_of_pieces(cut) == [analyzer.piece_words(piece) for piece in cut]


@pytest.mark.parametrize("table", ["kernel", "Python"])
def test_a_long_piece_is_dropped_after_its_batch(table: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if native is None and table == "kernel":
        skip_without_native()
    monkeypatch.setattr(pieces, "native", native if table == "kernel" else None)
    english = LanguagePieces(get_analyzer("english"))
    for _ in range(2):
        english.draft(msgspec.msgpack.encode([(Field.TEXT, f"egg {'x' * 65}")]), 1)
        new = english.table.new_pieces().split()
        assert b"x" * 65 in new
        words = {word.term: 1 for word in english.analyze_new_pieces()}
        english.learn(words)
        english.end_batch()
    assert english.table.new_pieces() == b""
    assert english.take_forms(everything=True) == {("egg", "egg"): 2, ("x" * 65, "x" * 64): 2}


def test_without_the_kernel_python_holds_the_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "native", None)
    assert isinstance(LanguagePieces(get_analyzer("english")).table, PythonPieceTable)


def parse_pages(name: str, step: int) -> list[IndexableResource]:
    """Parse every so many pages of a Debian package, with the language that they declare."""
    parser = PageParser(ParseOptions())
    found: list[IndexableResource] = []
    for path in sorted(package(name).rglob("*.html"))[::step]:
        url = f"http://localhost/{path.name}"
        page = parser.parse(ParseJob(0, Role.PAGE, url, path.read_bytes(), "text/html", "", "", "", "", ""))
        if page.text:
            found.append(msgspec.structs.replace(indexable(len(found) + 1, []), text=page.text, language=page.language))
    return found


def make_web_both_ways(name: str, step: int) -> None:
    found = parse_pages(name, step)
    assert found
    make_both_ways([found[first : first + 256] for first in range(0, len(found), 256)])


@pytest.mark.parametrize(("name", "step"), [("python3.11-doc", 25), ("openjdk-17-doc", 300)])
def test_pages_of_real_webs_are_the_same_both_ways(name: str, step: int) -> None:
    make_web_both_ways(name, step)


@pytest.mark.full
@pytest.mark.parametrize("name", ["python3.11-doc", "postgresql-doc-15", "openjdk-17-doc"])
def test_all_pages_of_real_webs_are_the_same_both_ways(name: str) -> None:
    make_web_both_ways(name, 1)
