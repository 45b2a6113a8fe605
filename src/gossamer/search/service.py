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
from gossamer.search.passes import TwoPassSearch
from gossamer.search.query import parse_query
from gossamer.search.rank import EMPTY_SEQUENCE, CandidateWords, part_weights
from gossamer.search.snippet import MatchFinder, render_snippet, without_hidden_characters
from gossamer.search.suggest import completions, suggestion
from gossamer.search.weights import SECOND_PASS_WEIGHTS
from gossamer.search.window import find_windows

if TYPE_CHECKING:
    from gossamer.index.protocol import IndexReader, WordSequence
    from gossamer.search.passes import PagerankLookup, RankedMatches
    from gossamer.search.query import ParsedQuery
    from gossamer.search.rank import Floats, Integers
    from gossamer.search.weights import RankWeights
    from gossamer.search.window import TextWindow
    from gossamer.store.protocol import Store

MOST_PER_PAGE = 1_000
FEW_MATCHES = 3  # matches up to which a question is put in doubt


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
        pagerank: PagerankLookup | None = None,
        rank_weights: RankWeights = SECOND_PASS_WEIGHTS,
    ) -> None:
        self._store = store
        self._index = index
        self._rank_weights = rank_weights
        self._languages = index.languages()
        self._two_pass_search = TwoPassSearch(index, store.known_word_ids, pagerank or _no_ranks, rank_weights)

    def close(self) -> None:
        """Let go of the index; the store stays open."""
        self._index.close()

    def search(self, text: str, *, page: int = 1, limit: int = 10, explain: bool = False) -> Answer:
        """Answer what a person typed; pages count from 1."""
        started = time.perf_counter()
        page, limit = max(1, page), min(max(0, limit), MOST_PER_PAGE)
        parsed = parse_query(text, self._languages)
        total, hits = 0, tuple[Hit, ...]()
        if parsed.query != Query():
            ranked = self._two_pass_search.find(parsed.query, page * limit, time.time())
            total = ranked.total
            hits = self._hits(parsed, ranked, range((page - 1) * limit, page * limit), explain=explain)
        return Answer(
            query=text,
            total=total,
            page=page,
            limit=limit,
            suggestion=self._suggestion(parsed) if total <= FEW_MATCHES else None,
            hits=hits,
            notes=parsed.notes,
            took_ms=round((time.perf_counter() - started) * 1000, 3),
        )

    def complete(self, text: str, limit: int = 8) -> list[str]:
        """What was typed, with its last word as it may go on."""
        return completions(text, self._index, limit)

    def _hits(self, parsed: ParsedQuery, ranked: RankedMatches, positions: range, *, explain: bool) -> tuple[Hit, ...]:
        shown = np.arange(positions.start, min(positions.stop, len(ranked.scores)))
        ids, twins = ranked.matches.ids[shown].tolist(), ranked.matches.twins[shown].tolist()
        rows = self._store.documents(ids)
        duplicate_counts = self._two_pass_search.count_duplicates(parsed.query, ranked, twins) if ids else {}
        finder = MatchFinder([slot.terms for slot in ranked.slots])
        return tuple(
            Hit(
                url=row.url,
                title=without_hidden_characters(row.title),
                snippet=render_snippet(LazyRuns(row.text), window, finder, language, row.description),
                score=round(float(ranked.scores[i]), 4),
                host=row.host,
                visited_at=row.visited_at,
                duplicates=duplicate_counts.get(twin, 1) - 1,
                explanation=self._explanation(ranked, i) if explain else None,
            )
            for i, id_, twin, (language, window) in zip(
                positions, ids, twins, self._locate_hits(ranked, shown), strict=False
            )
            if (row := rows.get(id_))  # the index may still hold what the store has just forgotten
        )

    def _locate_hits(self, ranked: RankedMatches, shown: Integers) -> list[tuple[str, TextWindow | None]]:
        """The language of each hit, and where in it the words stand nearest together."""
        ids, candidate_index = ranked.matches.ids[shown].tolist(), ranked.candidate_index[shown]
        located_windows: list[tuple[str, TextWindow | None]] = [("", None)] * len(ids)
        if (candidate_index >= 0).all():
            located_windows = _locate_windows(
                ranked.words.select(candidate_index), [ranked.sequences.get(id_, EMPTY_SEQUENCE) for id_ in ids]
            )
        # Those behind the second pass, and those that have the words far down only.
        left = [i for i, (_, window) in enumerate(located_windows) if window is None]
        if left:
            full_sequences = self._index.word_sequences([ids[i] for i in left])
            sequences = [full_sequences.get(ids[i], EMPTY_SEQUENCE) for i in left]
            for i, each in zip(left, _locate_windows(CandidateWords(sequences, ranked.slots), sequences), strict=True):
                located_windows[i] = each
        return located_windows

    def _explanation(self, ranked: RankedMatches, i: int) -> Explanation:
        candidate = int(ranked.candidate_index[i])
        parts = (
            {name: round(float(part[candidate]), 4) for name, part in ranked.candidate_scores.parts.items()}
            if candidate >= 0
            else {}
        )
        return Explanation(
            first_pass=round(float(ranked.matches.scores[i]), 4),
            has_all=bool(ranked.matches.has_all[i]),
            parts=parts,
            weights=part_weights(self._rank_weights),
            spread=round(float(ranked.scores[i] / ranked.candidate_scores.scores[candidate]), 4)
            if candidate >= 0
            else 1.0,
        )

    def _suggestion(self, parsed: ParsedQuery) -> str | None:
        documents = [sum(map(self._index.document_frequency, word.terms)) for word in parsed.words]
        return suggestion(parsed, documents, self._index)


def _locate_windows(words: CandidateWords, sequences: list[WordSequence]) -> list[tuple[str, TextWindow | None]]:
    windows = find_windows(words)
    return [(sequence.language, window) for sequence, window in zip(sequences, windows, strict=True)]


def _no_ranks(ids: Integers) -> Floats:
    return np.zeros(len(ids))
