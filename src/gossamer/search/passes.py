"""Search in two passes: the index matches and scores, then the second pass reorders the best matches.

The second pass (`rank`) orders the first `SECOND_PASS_SIZE` matches, and those that anchor texts suggest. The matches
after them keep the order of the first pass. Exact duplicates fold into the best of them. Both steps are independent of
the requested page, so that result pages neither overlap nor skip a hit.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from gossamer.index.protocol import AnyOf, Matches, Query, SiteFilter, TwinFilter
from gossamer.search.rank import (
    EMPTY_SEQUENCE,
    NO_WORDS,
    CandidateScores,
    PageSignals,
    first_twin_positions,
    query_slots,
)
from gossamer.search.second_pass import order_candidates, run_second_pass
from gossamer.search.weights import FIRST_PASS_WEIGHTS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from gossamer.index.protocol import IndexReader, WordSequence
    from gossamer.search.rank import Floats, Integers, QuerySlot
    from gossamer.search.second_pass import WindowLookup
    from gossamer.search.weights import RankWeights

    PagerankLookup = Callable[[Integers], Floats]
    WordIdLookup = Callable[[Sequence[str]], dict[str, int]]

SECOND_PASS_SIZE = 40  # matches; 32 give worse results, 100 no better ones (bench/quality.py)
MOST_CACHED_WORD_IDS = 20_000  # words whose WordIDs are cached
ANCHOR_CANDIDATES = 1  # best pages by anchor texts, added wherever the first pass ranks them; five gain nothing


class RankedMatches(msgspec.Struct, frozen=True):
    """Matching documents, best first, duplicates folded; at least as many as requested, or all."""

    total: int  # matching documents, duplicates included
    matches: Matches
    scores: Floats
    candidate_scores: CandidateScores  # of the second pass
    slots: list[QuerySlot]  # the words of the query
    windows: WindowLookup  # of the candidates
    sequences: dict[int, WordSequence]  # first words of the candidates, by DocID
    twins: dict[int, int]  # number of candidates with the same text, by `Document.twin`
    candidate_index: Integers  # index of each match in `candidate_scores` and `windows`; -1 for non-candidates


class TwoPassSearch:
    """Runs both passes of a query."""

    def __init__(
        self, index: IndexReader, word_ids: WordIdLookup, pagerank: PagerankLookup, rank_weights: RankWeights
    ) -> None:
        self._index = index
        self._lookup_word_ids = word_ids
        self._cached_word_ids: dict[str, int] = {}  # a term keeps its WordID for ever
        self._pagerank = pagerank
        self._rank_weights = rank_weights

    def find(self, query: Query, at_least: int, now: float) -> RankedMatches:
        """Return the best matches, `at_least` so many if they exist."""
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
        """Return how many matching documents have each of these texts."""
        if ranked.total <= SECOND_PASS_SIZE:  # all matches are candidates
            return ranked.twins
        if not self._index.has_twins(twins):
            return {}  # mostly no document has a duplicate, and this check is fast
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
        ids = matches.ids.tolist()
        # The first words of each match; whole pages take twice as long and improve nothing.
        sequences = self._index.word_sequences(ids, whole=False)
        candidate_scores, windows = run_second_pass(
            [sequences.get(id_, EMPTY_SEQUENCE) for id_ in ids],
            slots,
            self._page_signals(matches),
            self._rank_weights,
            now,
        )
        order, factors = order_candidates(
            matches, candidate_scores.scores, spread=1.0 if _has_site_filter(query) else self._rank_weights.spread
        )
        return RankedMatches(
            total=first.total,
            matches=select_matches(matches, order),
            scores=candidate_scores.scores[order] * factors,
            candidate_scores=candidate_scores,
            slots=slots,
            windows=windows,
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
        """Return matches with the best anchor texts that are not among the first matches."""
        if len(first.ids) == first.total or not self._rank_weights.anchors:
            return None
        further = sorted(set(self._index.best_by_anchor(query, ANCHOR_CANDIDATES)) - set(first.ids.tolist()))
        return self._index.score(query, FIRST_PASS_WEIGHTS, further) if further else None

    def _page_signals(self, matches: Matches) -> PageSignals:
        ids = matches.ids.tolist()
        anchor_terms = self._index.anchor_terms(ids) if self._rank_weights.anchors else {}
        return PageSignals(
            first_pass=matches.scores,
            average_length=self._index.average_length(),
            anchor_terms=[anchor_terms.get(id_, NO_WORDS) for id_ in ids],
            pagerank=self._pagerank(matches.ids),
            steps=matches.steps,
            changed=matches.changed,
        )


def _has_site_filter(query: Query) -> bool:
    return any(isinstance(node, SiteFilter) for node in query.required)


# -- columns -----------------------------------------------------------------------------------------------------------

MATCH_COLUMNS = tuple(name for name in Matches.__struct_fields__ if name != "total")


def count_values(values: NDArray[np.uint64]) -> dict[int, int]:
    """Count each value."""
    return Counter(values.tolist())


def select_matches(matches: Matches, which: Integers | NDArray[np.bool_]) -> Matches:
    """Return the selected matches, in the order of the selection."""
    return Matches(matches.total, **{name: getattr(matches, name)[which] for name in MATCH_COLUMNS})


def concatenate_matches(matches: Matches, more: Matches | None) -> Matches:
    """Append matches to others."""
    if more is None:
        return matches
    return Matches(
        matches.total, **{name: np.concatenate((getattr(matches, name), getattr(more, name))) for name in MATCH_COLUMNS}
    )


def append_tail(head: RankedMatches, tail: Matches) -> RankedMatches:
    """Append further matches of the first pass, with scores below those of the second."""
    further = select_matches(tail, ~np.isin(tail.ids, head.matches.ids))
    lowest = float(head.scores.min()) if len(head.scores) else 1.0
    return msgspec.structs.replace(
        head,
        matches=concatenate_matches(head.matches, further),
        scores=np.concatenate((head.scores, lowest * further.scores / (1.0 + further.scores))),
        candidate_index=np.concatenate((head.candidate_index, np.full(len(further.ids), -1))),
    )


def fold_duplicates(ranked: RankedMatches) -> RankedMatches:
    """Keep the best of each group of exact duplicates."""
    if len(set(ranked.matches.twins.tolist())) == len(ranked.matches.twins):
        return ranked
    kept = first_twin_positions(ranked.matches.twins)
    return msgspec.structs.replace(
        ranked,
        matches=select_matches(ranked.matches, kept),
        scores=ranked.scores[kept],
        candidate_index=ranked.candidate_index[kept],
    )
