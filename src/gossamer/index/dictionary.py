"""The whole dictionary, word by word with every position, in bounded memory.

The index holds the words of each document; a dictionary is the other way round. It is turned in passes: as many words
in alphabetical order as memory allows are looked for in all documents at once. The text of ten thousand pages takes
one or two passes, that of a million some dozens.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gossamer.index.analyze import analysis
from gossamer.index.protocol import stop_code
from gossamer.index.word_table import field_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from gossamer.index.protocol import IndexReader
    from gossamer.store.protocol import Store

PAIRS_AT_ONCE = 1_000_000  # of a word and a document that a pass may find; some hundred bytes each
DOCUMENTS_AT_ONCE = 500
ROWS_AT_ONCE = 2_000  # whose URLs are looked up together


class Row(NamedTuple):
    """A word in a document."""

    word: str
    word_id: int  # 0: a stop word
    df: int
    doc_id: int
    url: str
    tf: int
    positions: str  # numbers with blanks between
    fields: str  # likewise, of each position


class _Found(NamedTuple):
    """A word and its places in one document."""

    doc: int
    places: NDArray[np.int64]
    fields: list[str]


def rows(store: Store, reader: IndexReader) -> Iterator[Row]:
    """Every word of the index with every document that holds it: by word, then by document."""
    found = _unlocated(store, reader)
    while some := list(islice(found, ROWS_AT_ONCE)):
        urls = dict(store.urls(sorted({row.doc_id for row in some})))
        yield from (row._replace(url=urls.get(row.doc_id, "")) for row in some)


def _unlocated(store: Store, reader: IndexReader) -> Iterator[Row]:
    for words in _passes(store.every_word(), reader):
        entries = _find(words, reader)
        for (term, number), documents in zip(words, entries, strict=True):
            for one in documents:
                positions = " ".join(map(str, one.places.tolist()))
                yield Row(term, number, len(documents), one.doc, "", len(one.places), positions, " ".join(one.fields))


def _passes(words: Iterable[tuple[str, int]], reader: IndexReader) -> Iterator[list[tuple[str, int]]]:
    """The words that are in the index, as many together as one pass may look for."""
    some: list[tuple[str, int]] = []
    pairs = 0
    for term, number in words:
        df = reader.frequency(term)
        if df and pairs + df > PAIRS_AT_ONCE and some:
            yield some
            some, pairs = [], 0
        if df:
            some.append((term, number))
            pairs += df
    if some:
        yield some


def _find(words: Sequence[tuple[str, int]], reader: IndexReader) -> list[list[_Found]]:
    """The documents of each word."""
    codes, owners = _codes(words, reader)
    entries: list[list[_Found]] = [[] for _ in words]
    ids = iter(reader.ids())
    while some := list(islice(ids, DOCUMENTS_AT_ONCE)):
        for doc, sequence in sorted(reader.word_sequences(some).items()):
            at = np.searchsorted(codes, sequence.words)
            at[at == len(codes)] = 0
            places = np.flatnonzero(codes[at] == sequence.words)
            if not len(places):
                continue
            owner = owners[at[places]]
            order = np.argsort(owner, kind="stable")
            owner, places = owner[order], places[order]
            starts = np.flatnonzero(np.diff(owner, prepend=-1))
            fields = field_names(sequence, places)
            for start, end in zip(starts, [*starts[1:], len(owner)], strict=True):
                entries[owner[start]].append(_Found(doc, places[start:end], fields[start:end]))
    return entries


def _codes(words: Sequence[tuple[str, int]], reader: IndexReader) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """What stands for these words in sequences, in order, and which of the words each stands for.

    A stop word of one language can be a word like others in another: it has both its number and its code.
    """
    analyses = [analysis(language) for language in reader.languages()]
    pairs = [(number, owner) for owner, (_, number) in enumerate(words) if number]
    pairs += [
        (stop_code(term), owner)
        for owner, (term, number) in enumerate(words)
        if not number or any(one.is_stop(term) for one in analyses)
    ]
    pairs.sort()
    return np.array([code for code, _ in pairs], np.uint32), np.array([owner for _, owner in pairs], np.int64)
