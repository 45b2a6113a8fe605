"""The dictionary of every index: each word with each document and all positions, in bounded memory."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from typing import TYPE_CHECKING, cast

import pytest

from conftest import skip_without_native
from gossamer.index import dictionary
from gossamer.index.analyze import get_analyzer
from gossamer.index.dictionary import DictionaryRow, dictionary_rows
from gossamer.kernels import native
from gossamer.model import Field
from helpers.index.small_index import Lexicon, fill, indexable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from contract.conftest import NewIndex
    from gossamer.store.protocol import IndexSource

LANGUAGES = {1: "en", 2: "en", 3: "de", 5: "pl", 6: "en"}  # `die` is a stop word in German only
PAGES = {
    1: [(Field.TITLE, "The eggs"), (Field.H2, "Eggs and ham"), (Field.PARAGRAPH, "ham the ham die")],
    2: [(Field.TITLE, "Ham"), (Field.TEXT, "the the the")],
    3: [(Field.PARAGRAPH, "die Eier die ham"), (Field.TITLE, "Die")],
    5: [(Field.TEXT, "東京都 die … ham")],
    6: [],
}


class WordList(Lexicon):
    """The words and URLs of a store, in memory."""

    def __init__(self) -> None:
        super().__init__()
        self._stops: set[str] = set()

    def word_ids(self, terms: Sequence[str], stops: Sequence[str] = ()) -> Mapping[str, int]:
        self._stops.update(stops)
        return super().word_ids(terms)

    def every_word(self) -> list[tuple[str, int]]:
        return sorted((dict.fromkeys(self._stops, 0) | self.numbers | {"absent": 999}).items())

    def urls(self, ids: Sequence[int]) -> list[tuple[int, str]]:
        return [(one, f"https://example.org/{one}") for one in ids if one != 5]


def expected_rows(words: WordList) -> list[DictionaryRow]:
    """Return the rows by analysing every run again."""
    found: dict[tuple[str, int], list[tuple[int, str]]] = {}
    for number, runs in PAGES.items():
        analyzer = get_analyzer({"en": "english", "de": "german"}.get(LANGUAGES[number], ""))
        position = 0
        for field, text in sorted(runs, key=lambda run: run[0] != Field.TITLE):
            for term in analyzer.terms(text).split():
                name = field.name.lower() if field <= Field.H6 else "text"
                found.setdefault((term, number), []).append((position, name))
                position += 1
    documents, ids = Counter(term for term, _ in found), dict(words.every_word())
    return [
        DictionaryRow(
            term, ids[term], documents[term], number, "" if number == 5 else f"https://example.org/{number}",
            len(places), " ".join(str(position) for position, _ in places), " ".join(name for _, name in places),
        )
        for (term, number), places in sorted(found.items())
    ]  # fmt: skip


@pytest.mark.parametrize("way", ["kernel", "Python"])
@pytest.mark.parametrize("occurrences", [1, 3, 1_000_000])
def test_the_dictionary_holds_every_word_with_all_positions(
    index: NewIndex, way: str, occurrences: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if native is None and way == "kernel":
        skip_without_native()
    monkeypatch.setattr(dictionary, "native", native if way == "kernel" else None)
    monkeypatch.setattr(dictionary, "OCCURRENCES_AT_ONCE", occurrences)
    for name in ("DOCUMENTS_AT_ONCE", "ROWS_AT_ONCE", "MOST_CACHED_URLS"):
        monkeypatch.setattr(dictionary, name, 2)
    words = WordList()
    with closing(index.writer()) as writer:
        pages = [indexable(number, runs, language=LANGUAGES[number]) for number, runs in PAGES.items()]
        fill(writer, *pages, lexicon=words)
    rows = list(dictionary_rows(cast("IndexSource", words), index.reader()))
    assert rows == expected_rows(words)
    assert len(rows) > 12


def test_an_empty_index_has_an_empty_dictionary(index: NewIndex) -> None:
    index.writer().close()
    assert list(dictionary_rows(cast("IndexSource", WordList()), index.reader())) == []
