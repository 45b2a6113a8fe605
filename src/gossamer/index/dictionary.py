"""Export the whole dictionary, word by word with every position, in bounded memory.

The index holds the words of each document; the dictionary holds the documents of each word. A first pass over all
documents counts the occurrences of each word. Each further pass takes as many words in alphabetical order as memory
allows, and collects their occurrences (`DictionaryPass`). Ten thousand pages need one or two passes, a million pages
some dozens. A word with more occurrences than memory allows has its own pass, which yields rows as documents come.
"""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from itertools import islice, pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gossamer.index.analyze import get_analyzer
from gossamer.index.protocol import FIRST_STOP_CODE, stop_code
from gossamer.index.word_table import FIELD_NAMES
from gossamer.kernels import native

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from gossamer.index.analyze import Analyzer
    from gossamer.index.protocol import IndexReader, WordSequence
    from gossamer.kernels import DictionaryColumns, DictionaryPass
    from gossamer.store.protocol import IndexSource

OCCURRENCES_AT_ONCE = 2_500_000 if native is None else 12_000_000  # in one pass; 40 bytes each, 5 in the kernel
WORDS_AT_ONCE = 300_000  # in one pass
DOCUMENTS_AT_ONCE = 500
ROWS_AT_ONCE = 8_192
MOST_CACHED_URLS = 100_000


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


class _Word(NamedTuple):
    """A word that documents hold."""

    term: str
    id: int
    codes: tuple[int, ...]  # of the word in sequences
    occurrences: int


def dictionary_rows(store: IndexSource, reader: IndexReader) -> Iterator[DictionaryRow]:
    """Yield every word with every document that holds it, ordered by word, then by document."""
    urls = _UrlCache(store)
    counts = _WordCounts(reader)
    for words in _word_batches(map(counts.word, store.every_word())):
        if words[0].occurrences > OCCURRENCES_AT_ONCE:
            df = reader.document_frequency(words[0].term)
            for documents in _document_batches(reader):
                yield from (row._replace(df=df) for row in _rows(words, [documents], urls))
        else:
            yield from _rows(words, _document_batches(reader), urls)


def _document_batches(reader: IndexReader) -> Iterator[dict[int, WordSequence]]:
    """Yield the words of all documents by DocID, in order."""
    ids = iter(reader.ids())
    while batch := list(islice(ids, DOCUMENTS_AT_ONCE)):
        yield dict(sorted(reader.word_sequences(batch).items()))


class _WordCounts:
    """The number of occurrences of each word in all documents."""

    def __init__(self, reader: IndexReader) -> None:
        self._analyzers: list[Analyzer] = [get_analyzer(language) for language in reader.languages()]
        self._by_id: NDArray[np.int64] = np.zeros(1, np.int64)
        self._by_stop_code: Counter[int] = Counter()
        for documents in _document_batches(reader):
            codes = np.concatenate([np.empty(0, np.uint32), *(one.words for one in documents.values())])
            is_stop = codes >= FIRST_STOP_CODE
            by_id = np.bincount(codes[~is_stop], minlength=len(self._by_id))
            by_id[: len(self._by_id)] += self._by_id
            self._by_id = by_id
            stops, numbers = np.unique(codes[is_stop], return_counts=True)
            self._by_stop_code.update(dict(zip(stops.tolist(), numbers.tolist(), strict=True)))

    def word(self, entry: tuple[str, int]) -> _Word:
        """Return a word of the store with its codes and occurrences.

        A stop word of one language can be a normal word of another. It then has both a WordID and a stop code.
        """
        term, id_ = entry
        code, occurrences = stop_code(term), 0
        codes: tuple[int, ...] = ()
        if 0 < id_ < len(self._by_id):
            codes, occurrences = (id_,), int(self._by_id[id_])
        if code in self._by_stop_code and (not id_ or any(one.is_stop(term) for one in self._analyzers)):
            codes, occurrences = (*codes, code), occurrences + self._by_stop_code[code]
        return _Word(term, id_, codes, occurrences)


def _word_batches(words: Iterable[_Word]) -> Iterator[list[_Word]]:
    """Yield the words that documents hold, in batches for one pass each."""
    batch: list[_Word] = []
    occurrences = 0
    for word in words:
        is_full = occurrences + word.occurrences > OCCURRENCES_AT_ONCE or len(batch) == WORDS_AT_ONCE
        if batch and word.occurrences and is_full:
            yield batch
            batch, occurrences = [], 0
        if word.occurrences:
            batch.append(word)
            occurrences += word.occurrences
    if batch:
        yield batch


def _rows(
    words: Sequence[_Word], batches: Iterable[dict[int, WordSequence]], urls: _UrlCache
) -> Iterator[DictionaryRow]:
    """Yield the rows of some words in these documents."""
    pass_, ids = _start_pass(words), []
    for documents in batches:
        for doc_id, sequence in documents.items():
            ids.append(doc_id)
            pass_.add(sequence.words.tobytes(), sequence.runs.tobytes())
    doc_ids = np.array(ids, np.int64)
    while (columns := pass_.take_rows(ROWS_AT_ONCE))[0]:
        word_indexes, dfs, documents_, tfs = (np.frombuffer(column, "<u4") for column in columns[:4])
        found, row_words = doc_ids[documents_].tolist(), [words[index] for index in word_indexes.tolist()]
        yield from map(
            DictionaryRow,
            [word.term for word in row_words],
            [word.id for word in row_words],
            dfs.tolist(),
            found,
            urls.of_documents(found),
            tfs.tolist(),
            columns[4].split("\n"),
            columns[5].split("\n"),
        )


def _start_pass(words: Sequence[_Word]) -> DictionaryPass:
    index_of_code: dict[int, int] = {}
    for index, word in enumerate(words):
        for code in word.codes:
            index_of_code.setdefault(code, index)
    codes = sorted(index_of_code)
    make: Callable[[bytes, bytes, list[str]], DictionaryPass] = (
        PythonDictionaryPass if native is None else native.DictionaryPass
    )
    return make(
        _pack(codes),
        _pack([index_of_code[code] for code in codes]),
        FIELD_NAMES.tolist(),
    )


def _pack(numbers: Sequence[int]) -> bytes:
    return np.array(numbers, "<u4").tobytes()


class _UrlCache:
    """The URLs of documents."""

    def __init__(self, store: IndexSource) -> None:
        self._store = store
        self._urls: dict[int, str] = {}

    def of_documents(self, ids: Sequence[int]) -> list[str]:
        """Return the URL of each document, "" if the store no longer has it."""
        if missing := sorted(set(ids) - self._urls.keys()):
            if len(self._urls) > MOST_CACHED_URLS:
                self._urls.clear()
                missing = sorted(set(ids))
            self._urls.update(dict.fromkeys(missing, ""))
            self._urls.update(self._store.urls(missing))
        return [self._urls[one] for one in ids]


class PythonDictionaryPass:
    """The pass over all documents without the kernel; see `kernels.DictionaryPass`."""

    def __init__(self, codes: bytes, words: bytes, field_names: list[str]) -> None:
        self._codes, self._words = np.frombuffer(codes, "<u4"), np.frombuffer(words, "<u4")
        self._field_names = np.array(field_names, object)
        self._found: list[NDArray[np.uint32]] = []  # per document: words, documents, positions, fields
        self._documents = 0
        self._next = 0  # the next row

    def add(self, words: bytes, runs: bytes) -> None:
        """Add the next document."""
        codes, run_numbers = np.frombuffer(words, "<u4"), np.frombuffer(runs, "<u4")
        indexes = np.searchsorted(self._codes, codes)
        indexes[indexes == len(self._codes)] = 0
        positions = np.flatnonzero(self._codes[indexes] == codes)
        fields = np.repeat(run_numbers & np.uint32(15), run_numbers >> np.uint32(4))[positions]
        found = self._words[indexes[positions]], np.full(len(positions), self._documents), positions, fields
        self._found.append(np.array(found, np.uint32))
        self._documents += 1

    def take_rows(self, limit: int) -> DictionaryColumns:
        """Return the next rows."""
        starts = self._starts[self._next : self._next + limit + 1]
        spans = list(pairwise(starts.tolist()))
        self._next += len(spans)
        words, documents = self._sorted[:2, starts[:-1]]
        positions, fields = self._sorted[2], self._sorted[3]
        return (
            words.tobytes(),
            self._frequencies[words].astype("<u4").tobytes(),
            documents.tobytes(),
            np.diff(starts).astype("<u4").tobytes(),
            "\n".join([" ".join(map(str, positions[start:end].tolist())) for start, end in spans]),
            "\n".join([" ".join(self._field_names[fields[start:end]]) for start, end in spans]),
        )

    @cached_property
    def _sorted(self) -> NDArray[np.uint32]:
        """Everything found: words, documents, positions and fields, ordered by word, then as added."""
        found, self._found = np.concatenate([np.empty((4, 0), np.uint32), *self._found], axis=1), []
        return found[:, np.argsort(found[0], kind="stable")]

    @cached_property
    def _starts(self) -> NDArray[np.int64]:
        """Where each row starts in `_sorted`; the last one is the end."""
        words, documents = self._sorted[:2]
        is_start = np.ones(len(words) + 1, bool)
        is_start[1:-1] = (words[1:] != words[:-1]) | (documents[1:] != documents[:-1])
        return np.flatnonzero(is_start)

    @cached_property
    def _frequencies(self) -> NDArray[np.int64]:
        """The number of documents with each word."""
        return np.bincount(self._sorted[0, self._starts[:-1]])
