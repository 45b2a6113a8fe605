"""The kernels of the second pass give the same scores, windows and orders as numpy, to the last digit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import skip_without_native
from gossamer.index.protocol import FIRST_STOP_CODE, Matches, WordSequence, term_code
from gossamer.kernels import native
from gossamer.model import Field
from gossamer.search import rank
from gossamer.search.rank import CandidateWords, PageSignals, QuerySlot
from gossamer.search.second_pass import locate_windows, order_candidates, rank_with_numpy, run_second_pass
from gossamer.search.weights import SECOND_PASS_WEIGHTS
from gossamer.search.window import find_windows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gossamer.kernels import NativeKernels

NOW = 1.8e9
LONGEST_SEQUENCE = 40  # words; the words of longer pages are cut here, as in words.db
words = st.one_of(st.integers(1, 9), st.integers(FIRST_STOP_CODE, FIRST_STOP_CODE + 2))
bodies = st.lists(st.tuples(st.sampled_from(list(Field)[1:9]), st.lists(words, max_size=30)), max_size=6)
titles = st.lists(st.tuples(st.just(Field.TITLE), st.lists(words, max_size=90)), max_size=1)
pages = st.tuples(titles, bodies).map(lambda both: both[0] + both[1])
amounts = st.floats(0.0, 3.0, allow_subnormal=False)


@pytest.fixture(scope="module", autouse=True)
def kernels() -> NativeKernels:
    """Return the compiled kernels; skip all tests without them."""
    if native is None:
        skip_without_native()
    return native


def sequence_of(page: list[tuple[Field, list[int]]]) -> WordSequence:
    codes = np.array([word for _, run in page for word in run], "<u4")
    runs = np.array([len(run) * 16 + field for field, run in page], "<u4")
    return WordSequence("", codes[:LONGEST_SEQUENCE].tobytes(), runs.tobytes())


@st.composite
def query_slots(draw: st.DrawFn) -> list[QuerySlot]:
    """Draw words of a query; a WordID belongs to one slot."""
    numbers = draw(st.lists(st.one_of(st.integers(1, 9), st.just(FIRST_STOP_CODE)), unique=True, max_size=8))
    slots = [numbers[:2], *([number] for number in numbers[2:])] if numbers else []
    return [
        QuerySlot(terms=tuple(f"term{number}" for number in each), words=tuple(each), idf=draw(st.floats(0.01, 9.0)))
        for each in slots
    ]


@st.composite
def page_signals(draw: st.DrawFn, count: int) -> PageSignals:
    def column(values: st.SearchStrategy[float]) -> np.ndarray:
        return np.array(draw(st.lists(values, min_size=count, max_size=count)), np.float64)

    anchors = st.lists(st.sampled_from([term_code(f"term{number}") for number in range(12)]), max_size=9)
    return PageSignals(
        first_pass=column(amounts),
        average_length=draw(st.floats(0.0, 50.0)),
        anchor_terms=[np.array(draw(anchors), "<u4") for _ in range(count)],
        pagerank=column(st.floats(0.0, 1.0)),
        steps=column(st.integers(0, 9).map(float)).astype(np.int64),
        changed=column(st.floats(0.0, 2 * NOW)),
    )


@given(st.data(), st.lists(pages, min_size=1, max_size=6), query_slots())
@settings(max_examples=200)
def test_scores_parts_and_windows(
    data: st.DataObject, page_list: list[list[tuple[Field, list[int]]]], slots: list[QuerySlot]
) -> None:
    sequences = [sequence_of(page) for page in page_list]
    signals = data.draw(page_signals(len(sequences)))
    ours = run_second_pass(sequences, slots, signals, SECOND_PASS_WEIGHTS, NOW)
    theirs = rank_with_numpy(sequences, slots, signals, SECOND_PASS_WEIGHTS, NOW)
    assert ours.candidate_scores.scores.tolist() == theirs.candidate_scores.scores.tolist()
    for name, part in theirs.candidate_scores.parts.items():
        assert ours.candidate_scores.parts[name].tolist() == part.tolist(), name
    candidates = range(len(sequences))[::-1]
    assert ours.windows(candidates) == theirs.windows(candidates)
    assert locate_windows(sequences, slots) == find_windows(CandidateWords(sequences, slots))


def test_long_pages_with_all_words_close_together() -> None:
    chance = np.random.default_rng(5)
    slots = [QuerySlot(terms=(f"term{i}",), words=(i,), idf=0.1 + i) for i in range(1, 64)]
    sequences = [
        WordSequence("", chance.integers(1, most, 4_096).astype("<u4").tobytes(), runs.tobytes())
        for most, runs in zip((5, 70, 3_000), np.full((3, 512), 8 * 16 + Field.PARAGRAPH, "<u4"), strict=True)
    ]
    nothing = np.zeros(3)
    signals = PageSignals(nothing, 900.0, [rank.NO_WORDS] * 3, nothing, nothing.astype(np.int64), nothing)
    ours = run_second_pass(sequences, slots, signals, SECOND_PASS_WEIGHTS, NOW)
    theirs = rank_with_numpy(sequences, slots, signals, SECOND_PASS_WEIGHTS, NOW)
    assert ours.candidate_scores.scores.tolist() == theirs.candidate_scores.scores.tolist()
    assert ours.windows(range(3)) == theirs.windows(range(3))


def test_the_kernel_leaves_pages_whose_runs_end_too_early_to_python(kernels: NativeKernels) -> None:
    words, runs = np.array([1, 2, 3], "<u4").tobytes(), np.array([16 + Field.TEXT], "<u4").tobytes()
    assert kernels.find_windows([(words, runs)], [([3], [], 1.0)]) is None


@given(
    st.lists(
        st.tuples(
            st.sampled_from([0.5, 0.9, 0.9 + 1e-9, 1.0, 1.1, 0.0]),
            st.booleans(),
            st.integers(0, 2),
            st.sampled_from([1, 2, 2**64 - 1]),
        ),
        max_size=30,
    ),
    st.sampled_from([1.0, 0.9, 0.6]),
)
def test_orders_and_factors(rows: Sequence[tuple[float, bool, int, int]], spread: float) -> None:
    scores = np.array([row[0] for row in rows], np.float64)
    matches = Matches(
        total=len(rows),
        ids=np.arange(len(rows), dtype=np.int64)[::-1] * 7,
        scores=scores,
        has_all=np.array([row[1] for row in rows], bool),
        twins=np.array([row[3] for row in rows], np.uint64),
        hosts=np.array([row[2] for row in rows], np.int64),
        changed=scores,
        steps=np.zeros(len(rows), np.int64),
    )
    order, factors = order_candidates(matches, scores, spread=spread)
    expected_order, expected_factors = rank.order_candidates(matches, scores, spread=spread)
    assert order.tolist() == expected_order.tolist()
    assert factors.tolist() == expected_factors.tolist()
