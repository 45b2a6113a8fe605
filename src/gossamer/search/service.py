"""Answers: what a person typed goes in, a page of hits comes out. The way of a question on one screen.

parse (query) -> match and look again (passes, rank) -> show (snippet), with a suggestion when hardly anything matches
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from gossamer.index.documents import LazyRuns
from gossamer.index.protocol import Query
from gossamer.model import Value
from gossamer.search.passes import Passes
from gossamer.search.query import parse
from gossamer.search.rank import NO_WORDS, Words, part_weights
from gossamer.search.snippet import Finder, harmless, snippet
from gossamer.search.suggest import completions, suggestion
from gossamer.search.weights import SECOND
from gossamer.search.window import stretches

if TYPE_CHECKING:
    from gossamer.index.protocol import IndexReader, WordSequence
    from gossamer.search.passes import Found, Pagerank
    from gossamer.search.query import Asked
    from gossamer.search.rank import Floats, Integers
    from gossamer.search.weights import Blend
    from gossamer.search.window import Stretch
    from gossamer.store.protocol import Store

MOST_PER_PAGE = 1_000
FEW = 3  # matches up to which a question is put in doubt


class Explanation(Value, frozen=True, kw_only=True):
    """Why a hit stands where it stands."""

    first_pass: float  # BM25 summed over the fields
    has_all: bool  # of what is wanted
    parts: dict[str, float]  # of the second pass, each between 0 and 1; empty behind the first matches
    weights: dict[str, float]  # what each part is multiplied with
    spread: float  # what their sum is multiplied with, for hits of the same host that came before


class Hit(Value, frozen=True, kw_only=True, omit_defaults=True):
    """A page found."""

    url: str
    title: str
    snippet: str  # HTML, the words in <mark>
    score: float
    host: str
    visited_at: float | None
    duplicates: int = 0  # further matching documents with the very same text
    explanation: Explanation | None = None


class Answer(Value, frozen=True, kw_only=True):
    """What was found."""

    query: str
    total: int  # matching documents
    page: int
    limit: int
    took_ms: float
    suggestion: str | None
    hits: tuple[Hit, ...]
    notes: tuple[str, ...] = ()


class Searcher:
    """Answers questions about one web."""

    def __init__(
        self,
        store: Store,
        index: IndexReader,
        pagerank: Pagerank | None = None,
        blend: Blend = SECOND,
    ) -> None:
        self._store = store
        self._index = index
        self._blend = blend
        self._languages = index.languages()
        self._passes = Passes(index, store.known_words, pagerank or _no_ranks, blend)

    def close(self) -> None:
        """Let go of the index; the store stays open."""
        self._index.close()

    def search(self, text: str, *, page: int = 1, limit: int = 10, explain: bool = False) -> Answer:
        """Answer what a person typed; pages count from 1."""
        started = time.perf_counter()
        page, limit = max(1, page), min(max(0, limit), MOST_PER_PAGE)
        asked = parse(text, self._languages)
        total, hits = 0, tuple[Hit, ...]()
        if asked.query != Query():
            found = self._passes.find(asked.query, page * limit, time.time())
            total = found.total
            hits = self._hits(asked, found, range((page - 1) * limit, page * limit), explain=explain)
        return Answer(
            query=text,
            total=total,
            page=page,
            limit=limit,
            suggestion=self._suggestion(asked) if total <= FEW else None,
            hits=hits,
            notes=asked.notes,
            took_ms=round((time.perf_counter() - started) * 1000, 3),
        )

    def complete(self, text: str, limit: int = 8) -> list[str]:
        """What was typed, with its last word as it may go on."""
        return completions(text, self._index, limit)

    def _hits(self, asked: Asked, found: Found, places: range, *, explain: bool) -> tuple[Hit, ...]:
        shown = np.arange(places.start, min(places.stop, len(found.scores)))
        ids, twins = found.matches.ids[shown].tolist(), found.matches.twins[shown].tolist()
        rows = self._store.documents(ids)
        alike = self._passes.duplicates(asked.query, found, twins) if ids else {}
        finder = Finder([slot.terms for slot in found.asked])
        return tuple(
            Hit(
                url=row.url,
                title=harmless(row.title),
                snippet=snippet(LazyRuns(row.text), stretch, finder, language, row.description),
                score=round(float(found.scores[i]), 4),
                host=row.host,
                visited_at=row.visited_at,
                duplicates=alike.get(twin, 1) - 1,
                explanation=self._explanation(found, i) if explain else None,
            )
            for i, id_, twin, (language, stretch) in zip(places, ids, twins, self._where(found, shown), strict=False)
            if (row := rows.get(id_))  # the index may still hold what the store has just forgotten
        )

    def _where(self, found: Found, shown: Integers) -> list[tuple[str, Stretch | None]]:
        """The language of each hit, and where in it the words stand nearest together."""
        ids, inside = found.matches.ids[shown].tolist(), found.place[shown]
        where: list[tuple[str, Stretch | None]] = [("", None)] * len(ids)
        if (inside >= 0).all():
            where = _located(found.words.only(inside), [found.sequences.get(id_, NO_WORDS) for id_ in ids])
        # Those behind the second pass, and those that have the words far down only.
        left = [i for i, (_, stretch) in enumerate(where) if stretch is None]
        if left:
            held = self._index.word_sequences([ids[i] for i in left])
            sequences = [held.get(ids[i], NO_WORDS) for i in left]
            for i, each in zip(left, _located(Words(sequences, found.asked), sequences), strict=True):
                where[i] = each
        return where

    def _explanation(self, found: Found, i: int) -> Explanation:
        place = int(found.place[i])
        parts = {name: round(float(part[place]), 4) for name, part in found.judged.parts.items()} if place >= 0 else {}
        return Explanation(
            first_pass=round(float(found.matches.scores[i]), 4),
            has_all=bool(found.matches.whole[i]),
            parts=parts,
            weights=part_weights(self._blend),
            spread=round(float(found.scores[i] / found.judged.scores[place]), 4) if place >= 0 else 1.0,
        )

    def _suggestion(self, asked: Asked) -> str | None:
        documents = [sum(map(self._index.frequency, word.terms)) for word in asked.words]
        return suggestion(asked, documents, self._index)


def _located(words: Words, sequences: list[WordSequence]) -> list[tuple[str, Stretch | None]]:
    found = stretches(words)
    return [(sequence.language, stretch) for sequence, stretch in zip(sequences, found, strict=True)]


def _no_ranks(ids: Integers) -> Floats:
    return np.zeros(len(ids))
