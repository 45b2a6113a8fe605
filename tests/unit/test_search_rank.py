"""The second ranking pass: each part of a score against a plain computation, and the final order."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.index.protocol import (
    FIRST_STOP_CODE,
    AnyOf,
    InTitle,
    Matches,
    Phrase,
    Query,
    SiteFilter,
    Word,
    WordSequence,
    term_code,
)
from gossamer.model import Field
from gossamer.search.rank import (
    PARTS,
    CandidateWords,
    PageSignals,
    QuerySlot,
    anchor_score,
    first_twin_positions,
    order_candidates,
    part_weights,
    proximity_score,
    query_slots,
    score_candidates,
    text_score,
    title_score,
)
from gossamer.search.weights import SECOND_PASS_WEIGHTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

Run = tuple[Field, list[int]]
Page = list[Run]

SLOTS = [QuerySlot(terms=("a",), words=(1,), idf=2.0), QuerySlot(terms=("b", "c"), words=(2, 3), idf=0.5)]
IDF = np.array([slot.idf for slot in SLOTS])
SLOT = {1: 0, 2: 1, 3: 1}
AVERAGE = 5.0  # words of a page

runs = st.tuples(
    st.sampled_from([Field.H1, Field.H6, Field.PARAGRAPH, Field.TEXT]), st.lists(st.integers(0, 6), max_size=8)
)
page_lists = st.lists(
    st.tuples(st.lists(st.integers(0, 6), max_size=5), st.lists(runs, max_size=4)).map(
        lambda both: [(Field.TITLE, both[0]), *both[1]] if both[0] else both[1]
    ),
    min_size=1,
    max_size=6,
)


def candidate_words(pages: list[Page]) -> CandidateWords:
    return CandidateWords([sequence(page) for page in pages], SLOTS)


def sequence(page: Page) -> WordSequence:
    words = np.array([word or FIRST_STOP_CODE for _, run in page for word in run], "<u4")  # 0 is a stop word here
    runs = np.array([len(run) * 16 + field for field, run in page], "<u4")
    return WordSequence("", words.tobytes(), runs.tobytes())


# -- the parts ---------------------------------------------------------------------------------------------------------


def plain_text_score(page: Page) -> float:
    long = sum(len(run) for _, run in page) / AVERAGE
    norm = 1 - SECOND_PASS_WEIGHTS.length + SECOND_PASS_WEIGHTS.length * long
    frequency = [0.0, 0.0]
    for field, run in page:
        weight = (
            SECOND_PASS_WEIGHTS.title
            if field is Field.TITLE
            else (SECOND_PASS_WEIGHTS.heading if field <= Field.H6 else 1.0) / norm
        )
        for word in run:
            if word in SLOT:
                frequency[SLOT[word]] += weight
    return sum(
        float(idf) * f / (SECOND_PASS_WEIGHTS.saturation + f) for idf, f in zip(IDF, frequency, strict=True)
    ) / float(IDF.sum())


@given(page_lists)
def test_text_score_adds_a_word_over_all_fields(pages: list[Page]) -> None:
    expected = [plain_text_score(page) for page in pages]
    assert text_score(candidate_words(pages), IDF, AVERAGE, SECOND_PASS_WEIGHTS) == pytest.approx(expected)


def plain_proximity(page: Page) -> float:
    occurrences = [
        (position, SLOT[word]) for position, word in enumerate(word for _, run in page for word in run) if word in SLOT
    ]
    pull = [0.0, 0.0]
    for (here, one), (there, other) in pairwise(occurrences):
        if one != other:
            for slot in (one, other):
                pull[slot] += 1 / (there - here) ** 2
    return sum(float(idf) * p / (SECOND_PASS_WEIGHTS.nearness + p) for idf, p in zip(IDF, pull, strict=True)) / float(
        IDF.sum()
    )


@given(page_lists)
def test_proximity_score_grows_when_query_words_are_close(pages: list[Page]) -> None:
    assert proximity_score(candidate_words(pages), IDF, SECOND_PASS_WEIGHTS) == pytest.approx(
        [plain_proximity(page) for page in pages]
    )


def plain_title_score(page: Page) -> float:
    title = [word for field, run in page if field is Field.TITLE for word in run]
    title_slots = [SLOT[word] for word in title if word in SLOT]
    coverage = sum(float(IDF[slot]) for slot in set(title_slots)) / float(IDF.sum())
    return float((coverage * min(1.0, len(title_slots) / max(1, sum(word != 0 for word in title)))) ** 2)


@given(page_lists)
def test_title_score_is_the_overlap_of_title_and_query(pages: list[Page]) -> None:
    assert title_score(candidate_words(pages), IDF) == pytest.approx([plain_title_score(page) for page in pages])


def test_a_title_equal_to_the_query_scores_1_ignoring_stop_words() -> None:
    pages: list[Page] = [[(Field.TITLE, [0, 1, 0, 3])], [(Field.TITLE, [1, 2, 6])], [(Field.PARAGRAPH, [1, 2])]]
    assert title_score(candidate_words(pages), IDF) == pytest.approx([1.0, 4 / 9, 0.0])


anchor_lists = st.lists(st.sampled_from("abcxyz"), max_size=9)


def codes(terms: Sequence[str]) -> NDArray[np.uint32]:
    return np.array([term_code(term) for term in terms], np.uint32)


def plain_anchor_score(anchors: list[str]) -> float:
    norm = (
        1 - SECOND_PASS_WEIGHTS.length + SECOND_PASS_WEIGHTS.length * len(anchors) / SECOND_PASS_WEIGHTS.anchor_length
    )
    frequency = [anchors.count("a") / norm, (anchors.count("b") + anchors.count("c")) / norm]
    return sum(
        float(idf) * f / (SECOND_PASS_WEIGHTS.anchor_saturation + f) for idf, f in zip(IDF, frequency, strict=True)
    ) / float(IDF.sum())


@given(st.lists(anchor_lists, max_size=6))
def test_anchor_score_depends_on_the_share_of_query_terms(anchors: list[list[str]]) -> None:
    expected = [plain_anchor_score(terms) for terms in anchors]
    assert anchor_score([codes(terms) for terms in anchors], SLOTS, IDF, SECOND_PASS_WEIGHTS) == pytest.approx(expected)


def page_signals(count: int, *anchors: str, **columns: list[float]) -> PageSignals:
    names = ("first_pass", "pagerank", "steps", "changed")
    arrays = {name: np.array(columns.get(name, [0.0] * count)) for name in names}
    anchor_terms = [codes(text) for text in anchors] or [codes("")] * count
    return PageSignals(average_length=AVERAGE, anchor_terms=anchor_terms, **arrays)


@given(page_lists)
def test_every_part_lies_between_0_and_1_and_the_score_is_their_weighted_sum(pages: list[Page]) -> None:
    count = len(pages)
    scored = score_candidates(
        candidate_words(pages),
        SLOTS,
        page_signals(count, *["abba"] * count, pagerank=[0.7] * count),
        SECOND_PASS_WEIGHTS,
        now=1e9,
    )
    assert set(scored.parts) == set(PARTS)
    assert all(np.all((part >= 0) & (part <= 1)) for part in scored.parts.values())
    weights = part_weights(SECOND_PASS_WEIGHTS)
    assert scored.scores == pytest.approx(sum(weights[name] * part for name, part in scored.parts.items()))


def test_without_query_words_the_first_pass_decides() -> None:
    words = CandidateWords([sequence([(Field.TEXT, [0, 0])])] * 2, [])
    scored = score_candidates(words, [], page_signals(2, first_pass=[3.0, 6.0]), SECOND_PASS_WEIGHTS, now=0)
    assert scored.parts["text"].tolist() == [0.5, 1.0]


def test_home_pages_new_pages_and_important_pages_score_higher() -> None:
    pages: list[Page] = [[(Field.PARAGRAPH, [1, 2])]] * 2
    for better in ({"steps": [0.0, 3.0]}, {"changed": [9e8, 1e8]}, {"pagerank": [0.9, 0.1]}):
        scores = score_candidates(
            candidate_words(pages), SLOTS, page_signals(2, **better), SECOND_PASS_WEIGHTS, now=1e9
        ).scores
        assert scores[0] > scores[1]
    scores = score_candidates(
        candidate_words(pages), SLOTS, page_signals(2, "ab", "xy"), SECOND_PASS_WEIGHTS, now=1e9
    ).scores
    assert scores[0] > scores[1]


# -- the query ---------------------------------------------------------------------------------------------------------


def test_query_slots_leave_out_stop_words_and_words_of_no_page() -> None:
    query = Query(
        wanted=(Word(text="the", terms=("the",), stop=True), Word(text="eggs", terms=("egg",))),
        required=(
            Phrase(text="of war", alternatives=(("of", "war"), ("of", "warre"))),
            AnyOf(children=(InTitle(text="x", terms=("x",)), SiteFilter(host="h"))),
            Word(text="unknown", terms=("unknown",)),
            Word(text="eggs", terms=("egg",)),
        ),
    )
    known = {"the": 0, "of": 0, "egg": 4, "war": 5, "warre": 6, "x": 7}
    frequency = {"egg": 10, "war": 3, "warre": 1, "x": 99}
    slots = query_slots(
        query, 100, lambda term: frequency.get(term, 0), lambda terms: {t: known[t] for t in terms if t in known}
    )
    assert [(slot.terms, slot.words) for slot in slots] == [
        (("egg",), (4,)),
        (("war", "warre"), (5, 6)),
        (("x",), (7,)),
    ]
    assert slots[0].idf == pytest.approx(math.log(1 + 90.5 / 10.5))


# -- the order ---------------------------------------------------------------------------------------------------------


def matches(count: int, **columns: list[int]) -> Matches:
    filled = {name: columns.get(name, [0] * count) for name in Matches.__struct_fields__ if name != "total"}
    arrays = {name: np.array(values) for name, values in filled.items()}
    arrays["ids"] = np.arange(count)
    arrays["has_all"] = arrays["has_all"].astype(bool)
    return Matches(count, **arrays)


def test_pages_with_all_wanted_words_come_first_then_by_score() -> None:
    candidates = matches(4, has_all=[0, 1, 0, 1])
    assert order_candidates(candidates, np.array([0.9, 0.2, 0.5, 0.3]), spread=1.0)[0].tolist() == [3, 1, 0, 2]


@given(st.lists(st.integers(0, 9).map(lambda tenths: tenths / 10), min_size=1, max_size=30))
def test_hits_of_a_single_host_stay_in_score_order(values: list[float]) -> None:
    scores = np.array(values)
    assert (
        order_candidates(matches(len(values)), scores, spread=0.9)[0].tolist()
        == order_candidates(matches(len(values)), scores, spread=1.0)[0].tolist()
    )


def test_hits_of_one_host_are_spread_but_none_is_lost() -> None:
    candidates = matches(5, hosts=[1, 1, 1, 1, 2])
    order = order_candidates(candidates, np.array([1.0, 0.99, 0.98, 0.97, 0.9]), spread=0.9)[0].tolist()
    assert order == [0, 4, 1, 2, 3]


@given(st.lists(st.integers(0, 5), max_size=40))
def test_exact_duplicates_fold_into_the_first_of_them(twins: list[int]) -> None:
    positions = first_twin_positions(np.array(twins, np.uint64)).tolist()
    assert positions == [position for position, twin in enumerate(twins) if twin not in twins[:position]]
