"""The second pass over the candidates of one query, and the windows of their snippets.

The kernel scores all candidates in one call. numpy does the same (`rank`, `window`) where the kernel is not built, or
is not sure because a page's words and runs disagree.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np

from gossamer.index.protocol import term_code
from gossamer.kernels import native
from gossamer.search import rank
from gossamer.search.rank import (
    PARTS,
    SAME_SCORE,
    CandidateScores,
    CandidateWords,
    score_candidates,
    spread_factors,
)
from gossamer.search.window import TextWindow, find_windows

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gossamer.index.protocol import Matches, WordSequence
    from gossamer.search.rank import Floats, Integers, PageSignals, QuerySlot
    from gossamer.search.weights import RankWeights

    WindowLookup = Callable[[Sequence[int]], list[TextWindow | None]]  # of some candidates, by their index

KERNEL_WEIGHTS = 13  # the first fields of `RankWeights`; the others order the hits
PACKED_WINDOW = Struct("<4i")
NO_RUN = -1


class SecondPass(NamedTuple):
    """The results of the second pass."""

    candidate_scores: CandidateScores
    windows: WindowLookup


def run_second_pass(
    sequences: Sequence[WordSequence],
    slots: Sequence[QuerySlot],
    signals: PageSignals,
    rank_weights: RankWeights,
    now: float,
) -> SecondPass:
    """Score the candidates."""
    ranked = None
    if native is not None:
        weights = msgspec.structs.astuple(rank_weights)[:KERNEL_WEIGHTS]
        ranked = native.rank_candidates(
            _packed_sequences(sequences),
            _packed_slots(slots),
            _packed_signals(signals),
            weights,
            signals.average_length,
            now,
        )
    if ranked is None:
        return rank_with_numpy(sequences, slots, signals, rank_weights, now)
    scores, *parts = np.frombuffer(ranked, "<f8").reshape(1 + len(PARTS), len(sequences))
    return SecondPass(
        CandidateScores(scores, dict(zip(PARTS, parts, strict=True))),
        lambda candidates: locate_windows([sequences[each] for each in candidates], slots),
    )


def rank_with_numpy(
    sequences: Sequence[WordSequence],
    slots: Sequence[QuerySlot],
    signals: PageSignals,
    rank_weights: RankWeights,
    now: float,
) -> SecondPass:
    """Score the candidates, the Python way."""
    words = CandidateWords(sequences, slots)
    return SecondPass(
        score_candidates(words, slots, signals, rank_weights, now),
        lambda candidates: find_windows(words.select(np.asarray(candidates, np.int64))),
    )


def locate_windows(sequences: Sequence[WordSequence], slots: Sequence[QuerySlot]) -> list[TextWindow | None]:
    """Return the window of each page, from its words."""
    packed = native.find_windows(_packed_sequences(sequences), _packed_slots(slots)) if native is not None else None
    if packed is None:
        return find_windows(CandidateWords(sequences, slots))
    windows = map(TextWindow._make, PACKED_WINDOW.iter_unpack(packed))
    return [None if window.first_run == NO_RUN else window for window in windows]


def order_candidates(matches: Matches, scores: Floats, *, spread: float) -> tuple[Integers, Floats]:
    """Return the order of the candidates, best first, and the factor of each score (`rank.order_candidates`)."""
    if native is None:
        return rank.order_candidates(matches, scores, spread=spread)
    columns = (np.round(scores, SAME_SCORE), matches.twins, matches.ids, matches.hosts, matches.has_all)
    order, factors = native.order_candidates(
        [column.tobytes() for column in columns], spread_factors(spread, len(scores))
    )
    return np.frombuffer(order, "<i8"), np.frombuffer(factors, "<f8")


def _packed_sequences(sequences: Sequence[WordSequence]) -> list[tuple[bytes, bytes]]:
    return [(sequence.packed_words, sequence.packed_runs) for sequence in sequences]


def _packed_slots(slots: Sequence[QuerySlot]) -> list[tuple[Sequence[int], Sequence[int], float]]:
    return [(slot.words, [term_code(term) for term in slot.terms], slot.idf) for slot in slots]


def _packed_signals(signals: PageSignals) -> tuple[list[bytes], list[bytes]]:
    columns = (signals.first_pass, signals.pagerank, signals.steps, signals.changed)
    return (
        [terms.tobytes() for terms in signals.anchor_terms],
        [column.astype("<f8", copy=False).tobytes() for column in columns],
    )
