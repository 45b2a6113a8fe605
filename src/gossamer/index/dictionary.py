"""Export the whole dictionary, word by word with every position, in bounded memory.

The index holds the words of each document; the dictionary holds the documents of each word. Each pass takes as many
words in alphabetical order as memory allows, and looks for them in all documents. Ten thousand pages need one or two
passes, a million pages some dozens.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gossamer.index.analyze import get_analyzer
from gossamer.index.protocol import stop_code
from gossamer.index.word_table import field_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from gossamer.index.protocol import IndexReader
    from gossamer.store.protocol import IndexSource

PAIRS_AT_ONCE = 1_000_000  # pairs of word and document in one pass; a few hundred bytes each
DOCUMENTS_AT_ONCE = 500
ROWS_AT_ONCE = 2_000  # rows whose URLs one query looks up


class DictionaryRow(NamedTuple):
    """A word in a document."""

    word: str
    word_id: int  # 0: a stop word
    df: int
    doc_id: int
    url: str
    tf: int
    positions: str  # numbers separated by spaces
    fields: str  # field of each position, separated by spaces


class _Occurrences(NamedTuple):
    """The positions of a word in one document."""

    doc_id: int
    positions: NDArray[np.int64]
    fields: list[str]


def dictionary_rows(store: IndexSource, reader: IndexReader) -> Iterator[DictionaryRow]:
    """Yield every word with every document that holds it, ordered by word, then by document."""
    without_urls = _rows_without_urls(store, reader)
    while batch := list(islice(without_urls, ROWS_AT_ONCE)):
        urls = dict(store.urls(sorted({row.doc_id for row in batch})))
        yield from (row._replace(url=urls.get(row.doc_id, "")) for row in batch)


def _rows_without_urls(store: IndexSource, reader: IndexReader) -> Iterator[DictionaryRow]:
    for words in _word_batches(store.every_word(), reader):
        occurrences = _find_occurrences(words, reader)
        for (term, word_id), documents in zip(words, occurrences, strict=True):
            for one in documents:
                positions = " ".join(map(str, one.positions.tolist()))
                yield DictionaryRow(
                    term, word_id, len(documents), one.doc_id, "", len(one.positions), positions, " ".join(one.fields)
                )


def _word_batches(words: Iterable[tuple[str, int]], reader: IndexReader) -> Iterator[list[tuple[str, int]]]:
    """Yield the words that the index holds, in batches for one pass each."""
    batch: list[tuple[str, int]] = []
    pairs = 0
    for term, word_id in words:
        df = reader.document_frequency(term)
        if df and pairs + df > PAIRS_AT_ONCE and batch:
            yield batch
            batch, pairs = [], 0
        if df:
            batch.append((term, word_id))
            pairs += df
    if batch:
        yield batch


def _find_occurrences(words: Sequence[tuple[str, int]], reader: IndexReader) -> list[list[_Occurrences]]:
    """Return the documents of each word."""
    codes, owners = _word_codes(words, reader)
    occurrences: list[list[_Occurrences]] = [[] for _ in words]
    ids = iter(reader.ids())
    while batch := list(islice(ids, DOCUMENTS_AT_ONCE)):
        for doc_id, sequence in sorted(reader.word_sequences(batch).items()):
            code_indexes = np.searchsorted(codes, sequence.words)
            code_indexes[code_indexes == len(codes)] = 0
            positions = np.flatnonzero(codes[code_indexes] == sequence.words)
            if not len(positions):
                continue
            owner = owners[code_indexes[positions]]
            order = np.argsort(owner, kind="stable")
            owner, positions = owner[order], positions[order]
            starts = np.flatnonzero(np.diff(owner, prepend=-1))
            fields = field_names(sequence, positions)
            for start, end in zip(starts, [*starts[1:], len(owner)], strict=True):
                occurrences[owner[start]].append(_Occurrences(doc_id, positions[start:end], fields[start:end]))
    return occurrences


def _word_codes(words: Sequence[tuple[str, int]], reader: IndexReader) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """Return the codes of these words in sequences, sorted, and the index of the word that each code belongs to.

    A stop word of one language can be a normal word of another. It then has both a WordID and a stop code.
    """
    analyzers = [get_analyzer(language) for language in reader.languages()]
    pairs = [(word_id, owner) for owner, (_, word_id) in enumerate(words) if word_id]
    pairs += [
        (stop_code(term), owner)
        for owner, (term, number) in enumerate(words)
        if not number or any(one.is_stop(term) for one in analyzers)
    ]
    pairs.sort()
    return np.array([code for code, _ in pairs], np.uint32), np.array([owner for _, owner in pairs], np.int64)
