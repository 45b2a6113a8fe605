"""The word table: a word's number, its documents, and every position in them.

An entry is an analysed term: `eggs` and `Egg` find `egg`. Positions count from 0 through the document, first the
title, then the body in reading order. Each position comes with its field. Anchor texts have no positions.

One answer has at most `MAX_ANSWER_POSITIONS`. Of a document with more than its share it gives the first ones (`cut`).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

import numpy as np

from gossamer.basics.page_budget import MAX_ANSWER_POSITIONS
from gossamer.errors import UsageError
from gossamer.index.analyze import get_analyzer
from gossamer.index.protocol import stop_code
from gossamer.model import Field, Value

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from gossamer.index.protocol import IndexReader, Posting, WordSequence
    from gossamer.store.protocol import IndexSource

DocumentOrder = Literal["frequency", "document"]
DOCUMENTS_AT_ONCE = 8  # whose words are in memory; a page of a million words takes 4 MB
STOP_WORD_ID = 0  # WordID of every stop word
FIELD_NAMES = np.array([field.name.lower() if field <= Field.H6 else "text" for field in Field], object)


class WordDocument(Value, frozen=True, kw_only=True, omit_defaults=True):
    """A document that holds a word."""

    url: str
    doc_id: int
    tf: int  # occurrences in the document
    positions: list[int]  # counted from 0, title first
    fields: list[str]  # of each position: title, h1 ... h6, text
    cut: bool = False  # whether only the first positions are given; `tf` counts them all


class WordEntry(Value, frozen=True, kw_only=True):
    """The entry of a word, with one page of its documents."""

    word: str  # the term
    word_id: int | None  # 0: a stop word; None: not in the dictionary
    df: int  # number of documents that hold it
    idf: float
    forms: list[str]  # written words that have this term, most frequent first
    documents: list[WordDocument]
    next: int | None  # number of the next page, if there is one


class WordTable:
    """Looks words up in a store and its index."""

    def __init__(self, store: IndexSource, reader: IndexReader) -> None:
        self._store, self._reader = store, reader

    def entry(self, word: str, *, order: DocumentOrder = "frequency", page: int = 1, limit: int = 20) -> WordEntry:
        """Return the entry of a typed word, with one page of its documents."""
        term, stop = self._most_frequent_term(word)
        df = self._reader.document_frequency(term)
        word_id = self._store.known_word_ids([term]).get(term)
        offset = (page - 1) * limit
        postings = self._reader.postings(term, by_frequency=order == "frequency", offset=offset, limit=limit)
        return WordEntry(
            word=term,
            word_id=STOP_WORD_ID if stop else word_id,
            df=df,
            idf=idf(self._reader.count(), df),
            forms=self._reader.forms(term),
            documents=list(self._documents(term, word_id, postings)),
            next=page + 1 if offset + limit < df else None,
        )

    def _most_frequent_term(self, word: str) -> tuple[str, bool]:
        """Return the term that most documents hold, because a word can have one term per language."""
        languages = self._reader.languages()
        stop_by_term: dict[str, bool] = {}
        for language in sorted(languages, key=languages.__getitem__, reverse=True) or [""]:
            tokens = get_analyzer(language).tokens(word)
            if len(tokens) != 1:
                raise UsageError(
                    f'Give one word: "{word}" holds {len(tokens)} words.'
                    if tokens
                    else f'"{word}" holds no word; give one.'
                )
            stop_by_term.setdefault(tokens[0].term, tokens[0].stop)
        term = max(stop_by_term, key=self._reader.document_frequency)
        return term, stop_by_term[term]

    def _documents(self, term: str, word_id: int | None, postings: Sequence[Posting]) -> Iterator[WordDocument]:
        urls = dict(self._store.urls([posting.id for posting in postings]))
        most = positions_per_document([posting.frequency for posting in postings])
        for posting, sequence in self._sequences(postings):
            is_match = sequence.words == stop_code(term)  # a stop word, at least in this document's language
            if word_id:
                is_match |= sequence.words == word_id
            positions = np.flatnonzero(is_match)
            yield WordDocument(
                url=urls.get(posting.id, ""),
                doc_id=posting.id,
                tf=len(positions),
                positions=positions[:most].tolist(),
                fields=field_names(sequence, positions[:most]),
                cut=len(positions) > most,
            )

    def _sequences(self, postings: Sequence[Posting]) -> Iterator[tuple[Posting, WordSequence]]:
        """Yield the words of each document; few documents are in memory at a time."""
        for start in range(0, len(postings), DOCUMENTS_AT_ONCE):
            batch = postings[start : start + DOCUMENTS_AT_ONCE]
            sequences = self._reader.word_sequences([posting.id for posting in batch])
            yield from ((posting, sequences[posting.id]) for posting in batch)


def positions_per_document(frequencies: Sequence[int], most: int = MAX_ANSWER_POSITIONS) -> int:
    """Return how many positions each document may give, so that all together give at most `most`.

    Documents with few positions leave their share to the others. Each document may give one.
    """
    share, left = most, most
    for number, frequency in enumerate(sorted(frequencies)):
        share = left // (len(frequencies) - number)
        if frequency > share:
            break
        left -= frequency
    return max(1, share)


def idf(documents: int, df: int) -> float:
    """Return the inverse document frequency of a word, as in BM25."""
    return math.log(1 + (documents - df + 0.5) / (df + 0.5))


def field_names(sequence: WordSequence, positions: NDArray[np.int64]) -> list[str]:
    """Return the field of each position."""
    runs = np.searchsorted(np.cumsum(sequence.counts), positions, "right")
    names: list[str] = FIELD_NAMES[sequence.fields[runs]].tolist()
    return names
