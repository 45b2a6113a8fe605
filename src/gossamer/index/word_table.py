"""The word table: a word's number, how many documents hold it, and every place where it stands in them.

An entry is an analysed term: `eggs` and `Egg` find `egg`. Positions are one running number over the document, title
first, then the body in reading order, counted from 0; beside each stands the field it is in. Anchors do not count.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

import numpy as np

from gossamer.errors import UsageError
from gossamer.index.analyze import analysis
from gossamer.index.protocol import stop_code
from gossamer.model import Field, Value

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from gossamer.index.protocol import Entry, IndexReader, WordSequence
    from gossamer.store.protocol import Store

Order = Literal["frequency", "document"]
STOP = 0  # the number of stop words
FIELD_NAMES = np.array([field.name.lower() if field <= Field.H6 else "text" for field in Field], object)


class WordDocument(Value, frozen=True, kw_only=True):
    """A document that holds a word."""

    url: str
    doc_id: int
    tf: int  # how often
    positions: list[int]  # counted from 0, title first
    fields: list[str]  # of each position: title, h1 ... h6, text


class WordEntry(Value, frozen=True, kw_only=True):
    """What the table says of a word, with a page of its documents."""

    word: str  # the term
    word_id: int | None  # 0: a stop word; None: not in the dictionary
    df: int  # documents that hold it
    idf: float
    forms: list[str]  # the words seen that have this term, most frequent first
    documents: list[WordDocument]
    next: int | None  # the next page, if there is one


class WordTable:
    """Looks words up in a store and its index."""

    def __init__(self, store: Store, reader: IndexReader) -> None:
        self._store, self._reader = store, reader

    def entry(self, word: str, *, order: Order = "frequency", page: int = 1, limit: int = 20) -> WordEntry:
        """The entry of a word as a person types it, with one page of its documents."""
        term, stop = self._term(word)
        df = self._reader.frequency(term)
        number = self._store.known_words([term]).get(term)
        first = (page - 1) * limit
        entries = self._reader.documents(term, by_frequency=order == "frequency", offset=first, limit=limit)
        return WordEntry(
            word=term,
            word_id=STOP if stop else number,
            df=df,
            idf=idf(self._reader.count(), df),
            forms=self._reader.forms(term),
            documents=list(self._documents(term, number, entries)),
            next=page + 1 if first + limit < df else None,
        )

    def _term(self, word: str) -> tuple[str, bool]:
        """The term a word has in most documents: by language it may have several."""
        languages = self._reader.languages()
        found: dict[str, bool] = {}
        for language in sorted(languages, key=languages.__getitem__, reverse=True) or [""]:
            tokens = analysis(language).tokens(word)
            if len(tokens) != 1:
                words = ", ".join(dict.fromkeys(token.term for token in tokens))
                raise UsageError(f"{word} is not one word, but {words or 'none'}.")
            found.setdefault(tokens[0].term, tokens[0].stop)
        term = max(found, key=self._reader.frequency)
        return term, found[term]

    def _documents(self, term: str, number: int | None, entries: Sequence[Entry]) -> Iterator[WordDocument]:
        ids = [entry.id for entry in entries]
        urls = dict(self._store.urls(ids))
        sequences = self._reader.word_sequences(ids)
        for entry in entries:
            sequence = sequences[entry.id]
            here = sequence.words == stop_code(term)  # a stop word, at least in this document's language
            if number:
                here |= sequence.words == number
            places = np.flatnonzero(here)
            yield WordDocument(
                url=urls.get(entry.id, ""),
                doc_id=entry.id,
                tf=len(places),
                positions=places.tolist(),
                fields=field_names(sequence, places),
            )


def idf(documents: int, df: int) -> float:
    """How much a word tells, as in BM25: the less, the more documents hold it."""
    return math.log(1 + (documents - df + 0.5) / (df + 0.5))


def field_names(sequence: WordSequence, places: NDArray[np.int64]) -> list[str]:
    """The field that each place is in."""
    runs = np.searchsorted(np.cumsum(sequence.counts), places, "right")
    names: list[str] = FIELD_NAMES[sequence.fields[runs]].tolist()
    return names
