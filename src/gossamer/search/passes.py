"""Two passes over the index: matches by the thousand, and the best of them looked at again.

The first `AGAIN` matches, and those that anchor texts speak for, are put into a better order by the second pass
(`rank`); behind them the order is the first pass's. Exact duplicates fold into the best of them. Neither depends on the
page asked for, so that pages neither overlap nor leave a hit out.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from gossamer.index.protocol import AnyOf, Matches, Query, SiteFilter, TwinFilter
from gossamer.search.rank import (
    EMPTY_SEQUENCE,
    CandidateScores,
    CandidateWords,
    PageSignals,
    first_twin_positions,
    order_candidates,
    query_slots,
    score_candidates,
)
from gossamer.search.weights import FIRST_PASS_WEIGHTS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from gossamer.index.protocol import IndexReader, WordSequence
    from gossamer.search.rank import Floats, Integers, QuerySlot
    from gossamer.search.weights import RankWeights

    PagerankLookup = Callable[[Integers], Floats]
    WordIdLookup = Callable[[Sequence[str]], dict[str, int]]

SECOND_PASS_SIZE = (
    40  # matches that the second pass looks at; of 32 it finds worse, of 100 nothing better (bench/quality.py)
)
MOST_CACHED_WORD_IDS = 20_000  # words whose numbers are kept at hand
ANCHOR_CANDIDATES = (
    1  # page whose anchor texts fit best, looked at wherever the first pass has it; five find nothing better
)


class RankedMatches(msgspec.Struct, frozen=True):
    """Matching documents, best first, duplicates folded; as many as were asked for, or all."""

    total: int  # matching documents, duplicates and all
    matches: Matches
    scores: Floats
    candidate_scores: CandidateScores  # of the second pass
    slots: list[QuerySlot]  # the words they were judged by
    words: CandidateWords  # where these stand in them
    sequences: dict[int, WordSequence]  # the first words of those judged, by DocID
    twins: dict[int, int]  # how many of those judged have the same text, by its number
    candidate_index: Integers  # of each match in `judged` and `words`; -1 behind them


class TwoPassSearch:
    """Finds what a query asks for."""

    def __init__(
        self, index: IndexReader, word_ids: WordIdLookup, pagerank: PagerankLookup, rank_weights: RankWeights
    ) -> None:
        self._index = index
        self._lookup_word_ids = word_ids
        self._cached_word_ids: dict[str, int] = {}  # a term keeps its number for ever
        self._pagerank = pagerank
        self._rank_weights = rank_weights

    def find(self, query: Query, at_least: int, now: float) -> RankedMatches:
        """The best matches, `enough` of them at least if there are as many."""
        head = self._rank_head(query, now)
        ranked, seen, tail_size = fold_duplicates(head), SECOND_PASS_SIZE, at_least
        while len(ranked.scores) < at_least and seen < head.total:
            tail_size = min(tail_size, head.total)
            tail = self._index.match(query, FIRST_PASS_WEIGHTS, limit=tail_size, offset=SECOND_PASS_SIZE)
            ranked, seen, tail_size = (
                fold_duplicates(append_tail(head, tail)),
                SECOND_PASS_SIZE + tail_size,
                2 * tail_size,
            )
        return ranked

    def count_duplicates(self, query: Query, ranked: RankedMatches, twins: Sequence[int]) -> dict[int, int]:
        """How many matching documents have each of these texts."""
        if ranked.total <= SECOND_PASS_SIZE:  # all of them were seen
            return ranked.twins
        if not self._index.has_twins(twins):
            return {}  # matching or not: that is the rule, and quickly told
        texts = AnyOf(children=tuple(TwinFilter(value=twin) for twin in twins))
        duplicates_query = Query(wanted=query.wanted, required=(*query.required, texts), excluded=query.excluded)
        duplicates = self._index.match(duplicates_query, FIRST_PASS_WEIGHTS, limit=SECOND_PASS_SIZE)
        if duplicates.total > SECOND_PASS_SIZE:
            duplicates = self._index.match(duplicates_query, FIRST_PASS_WEIGHTS, limit=duplicates.total)
        return count_values(duplicates.twins)

    def _rank_head(self, query: Query, now: float) -> RankedMatches:
        first = self._index.match(query, FIRST_PASS_WEIGHTS, limit=SECOND_PASS_SIZE)
        matches = concatenate_matches(first, self._anchor_matches(query, first))
        slots = query_slots(query, self._index.count(), self._index.document_frequency, self._word_ids)
        sequences, words = self._candidate_words(slots, matches)
        signals = self._page_signals(matches)
        candidate_scores = score_candidates(words, slots, signals, self._rank_weights, now)
        order, factors = order_candidates(
            matches, candidate_scores.scores, spread=1.0 if _has_site_filter(query) else self._rank_weights.spread
        )
        return RankedMatches(
            total=first.total,
            matches=select_matches(matches, order),
            scores=candidate_scores.scores[order] * factors,
            candidate_scores=candidate_scores,
            slots=slots,
            words=words,
            sequences=sequences,
            twins=count_values(matches.twins),
            candidate_index=order,
        )

    def _word_ids(self, terms: Sequence[str]) -> dict[str, int]:
        if len(self._cached_word_ids) > MOST_CACHED_WORD_IDS:
            self._cached_word_ids.clear()
        if not self._cached_word_ids.keys() >= set(terms):
            self._cached_word_ids |= self._lookup_word_ids(terms)
        return {term: self._cached_word_ids[term] for term in terms if term in self._cached_word_ids}

    def _anchor_matches(self, query: Query, first: Matches) -> Matches | None:
        """Matches that anchor texts speak for, but that the first pass has further down."""
        if len(first.ids) == first.total or not self._rank_weights.anchors:
            return None
        further = sorted(set(self._index.best_by_anchor(query, ANCHOR_CANDIDATES)) - set(first.ids.tolist()))
        return self._index.score(query, FIRST_PASS_WEIGHTS, further) if further else None

    def _candidate_words(
        self, slots: Sequence[QuerySlot], matches: Matches
    ) -> tuple[dict[int, WordSequence], CandidateWords]:
        """The first words of each match: reading long pages whole takes twice as long and finds nothing better."""
        ids = matches.ids.tolist()
        sequences = self._index.word_sequences(ids, whole=False)
        return sequences, CandidateWords([sequences.get(id_, EMPTY_SEQUENCE) for id_ in ids], slots)

    def _page_signals(self, matches: Matches) -> PageSignals:
        ids = matches.ids.tolist()
        anchor_terms = self._index.anchor_terms(ids) if self._rank_weights.anchors else {}
        return PageSignals(
            first_pass=matches.scores,
            average_length=self._index.average_length(),
            anchor_terms=[anchor_terms.get(id_, EMPTY_SEQUENCE.words) for id_ in ids],
            pagerank=self._pagerank(matches.ids),
            steps=matches.steps,
            changed=matches.changed,
        )


def _has_site_filter(query: Query) -> bool:
    return any(isinstance(node, SiteFilter) for node in query.required)


# -- columns -----------------------------------------------------------------------------------------------------------

MATCH_COLUMNS = tuple(name for name in Matches.__struct_fields__ if name != "total")


def count_values(values: NDArray[np.uint64]) -> dict[int, int]:
    """How often each value is there."""
    return Counter(values.tolist())


def select_matches(matches: Matches, which: Integers | NDArray[np.bool_]) -> Matches:
    """Some of the matches, in that order."""
    return Matches(matches.total, **{name: getattr(matches, name)[which] for name in MATCH_COLUMNS})


def concatenate_matches(matches: Matches, more: Matches | None) -> Matches:
    """More matches behind others."""
    if more is None:
        return matches
    return Matches(
        matches.total, **{name: np.concatenate((getattr(matches, name), getattr(more, name))) for name in MATCH_COLUMNS}
    )


def append_tail(head: RankedMatches, tail: Matches) -> RankedMatches:
    """The first pass's further matches behind those of the second: each with a score below theirs."""
    further = select_matches(tail, ~np.isin(tail.ids, head.matches.ids))
    lowest = float(head.scores.min()) if len(head.scores) else 1.0
    return msgspec.structs.replace(
        head,
        matches=concatenate_matches(head.matches, further),
        scores=np.concatenate((head.scores, lowest * further.scores / (1.0 + further.scores))),
        place=np.concatenate((head.candidate_index, np.full(len(further.ids), -1))),
    )


def fold_duplicates(ranked: RankedMatches) -> RankedMatches:
    """Exact duplicates folded into the best of them."""
    kept = first_twin_positions(ranked.matches.twins)
    return msgspec.structs.replace(
        ranked,
        matches=select_matches(ranked.matches, kept),
        scores=ranked.scores[kept],
        place=ranked.candidate_index[kept],
    )
