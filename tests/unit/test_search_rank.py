"""The second pass: each part of a score against a plain reckoning of it, and the order that comes of it."""

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

ASKED = [QuerySlot(terms=("a",), words=(1,), idf=2.0), QuerySlot(terms=("b", "c"), words=(2, 3), idf=0.5)]
IDF = np.array([slot.idf for slot in ASKED])
SLOT = {1: 0, 2: 1, 3: 1}
AVERAGE = 5.0  # words of a page

runs = st.tuples(
    st.sampled_from([Field.H1, Field.H6, Field.PARAGRAPH, Field.TEXT]), st.lists(st.integers(0, 6), max_size=8)
)
pages = st.lists(
    st.tuples(st.lists(st.integers(0, 6), max_size=5), st.lists(runs, max_size=4)).map(
        lambda both: [(Field.TITLE, both[0]), *both[1]] if both[0] else both[1]
    ),
    min_size=1,
    max_size=6,
)


def words_of(made: list[Page]) -> CandidateWords:
    return CandidateWords([sequence(page) for page in made], ASKED)


def sequence(page: Page) -> WordSequence:
    words = np.array([word or FIRST_STOP_CODE for _, run in page for word in run], np.uint32)  # 0 is a stop word here
    return WordSequence("", words, np.array([len(run) * 16 + field for field, run in page], np.uint32))


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


@given(pages)
def test_a_word_counts_once_over_all_fields(made: list[Page]) -> None:
    expected = [plain_text_score(page) for page in made]
    assert text_score(words_of(made), IDF, AVERAGE, SECOND_PASS_WEIGHTS) == pytest.approx(expected)


def plain_proximity(page: Page) -> float:
    places = [(at, SLOT[word]) for at, word in enumerate(word for _, run in page for word in run) if word in SLOT]
    pull = [0.0, 0.0]
    for (here, one), (there, other) in pairwise(places):
        if one != other:
            for slot in (one, other):
                pull[slot] += 1 / (there - here) ** 2
    return sum(float(idf) * p / (SECOND_PASS_WEIGHTS.nearness + p) for idf, p in zip(IDF, pull, strict=True)) / float(
        IDF.sum()
    )


@given(pages)
def test_words_pull_by_how_near_they_stand_to_others(made: list[Page]) -> None:
    assert proximity_score(words_of(made), IDF, SECOND_PASS_WEIGHTS) == pytest.approx(
        [plain_proximity(page) for page in made]
    )


def plain_title_score(page: Page) -> float:
    title = [word for field, run in page if field is Field.TITLE for word in run]
    there = [SLOT[word] for word in title if word in SLOT]
    asked = sum(float(IDF[slot]) for slot in set(there)) / float(IDF.sum())
    return float((asked * min(1.0, len(there) / max(1, sum(word != 0 for word in title)))) ** 2)


@given(pages)
def test_a_title_counts_as_far_as_it_is_the_question(made: list[Page]) -> None:
    assert title_score(words_of(made), IDF) == pytest.approx([plain_title_score(page) for page in made])


def test_a_title_that_is_the_question_counts_whole_stop_words_aside() -> None:
    made: list[Page] = [[(Field.TITLE, [0, 1, 0, 3])], [(Field.TITLE, [1, 2, 6])], [(Field.PARAGRAPH, [1, 2])]]
    assert title_score(words_of(made), IDF) == pytest.approx([1.0, 4 / 9, 0.0])


callings = st.lists(st.sampled_from("abcxyz"), max_size=9)


def codes(terms: Sequence[str]) -> NDArray[np.uint32]:
    return np.array([term_code(term) for term in terms], np.uint32)


def plain_anchor_score(called: list[str]) -> float:
    norm = 1 - SECOND_PASS_WEIGHTS.length + SECOND_PASS_WEIGHTS.length * len(called) / SECOND_PASS_WEIGHTS.anchor_length
    frequency = [called.count("a") / norm, (called.count("b") + called.count("c")) / norm]
    return sum(
        float(idf) * f / (SECOND_PASS_WEIGHTS.anchor_saturation + f) for idf, f in zip(IDF, frequency, strict=True)
    ) / float(IDF.sum())


@given(st.lists(callings, max_size=6))
def test_what_others_call_a_page_counts_by_how_much_of_it_is_asked_for(called: list[list[str]]) -> None:
    expected = [plain_anchor_score(each) for each in called]
    assert anchor_score([codes(each) for each in called], ASKED, IDF, SECOND_PASS_WEIGHTS) == pytest.approx(expected)


def outside(count: int, *called: str, **columns: list[float]) -> PageSignals:
    plain = ("first", "pagerank", "steps", "changed")
    given_ = {name: np.array(columns.get(name, [0.0] * count)) for name in plain}
    lead = [codes(text) for text in called] or [codes("")] * count
    return PageSignals(average_length=AVERAGE, anchor_terms=lead, **given_)


@given(pages)
def test_every_part_lies_between_0_and_1_and_the_score_is_their_weighted_sum(made: list[Page]) -> None:
    count = len(made)
    judged = score_candidates(
        words_of(made), ASKED, outside(count, *["abba"] * count, pagerank=[0.7] * count), SECOND_PASS_WEIGHTS, now=1e9
    )
    assert set(judged.parts) == set(PARTS)
    assert all(np.all((part >= 0) & (part <= 1)) for part in judged.parts.values())
    weights = part_weights(SECOND_PASS_WEIGHTS)
    assert judged.scores == pytest.approx(sum(weights[name] * part for name, part in judged.parts.items()))


def test_without_words_to_judge_by_the_first_pass_decides() -> None:
    words = CandidateWords([sequence([(Field.TEXT, [0, 0])])] * 2, [])
    judged = score_candidates(words, [], outside(2, first=[3.0, 6.0]), SECOND_PASS_WEIGHTS, now=0)
    assert judged.parts["text"].tolist() == [0.5, 1.0]


def test_home_pages_new_pages_and_important_pages_are_worth_more() -> None:
    page: list[Page] = [[(Field.PARAGRAPH, [1, 2])]] * 2
    for better in ({"steps": [0.0, 3.0]}, {"changed": [9e8, 1e8]}, {"pagerank": [0.9, 0.1]}):
        scores = score_candidates(words_of(page), ASKED, outside(2, **better), SECOND_PASS_WEIGHTS, now=1e9).scores
        assert scores[0] > scores[1]
    scores = score_candidates(words_of(page), ASKED, outside(2, "ab", "xy"), SECOND_PASS_WEIGHTS, now=1e9).scores
    assert scores[0] > scores[1]


# -- the question ------------------------------------------------------------------------------------------------------


def test_words_of_phrases_titles_and_choices_are_judged_by_but_neither_stop_words_nor_words_of_no_page() -> None:
    asked = Query(
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
    found = query_slots(
        asked, 100, lambda term: frequency.get(term, 0), lambda terms: {t: known[t] for t in terms if t in known}
    )
    assert [(slot.terms, slot.words) for slot in found] == [
        (("egg",), (4,)),
        (("war", "warre"), (5, 6)),
        (("x",), (7,)),
    ]
    assert found[0].idf == pytest.approx(math.log(1 + 90.5 / 10.5))


# -- the order ---------------------------------------------------------------------------------------------------------


def matches(count: int, **columns: list[int]) -> Matches:
    filled = {name: columns.get(name, [0] * count) for name in Matches.__struct_fields__ if name != "total"}
    arrays = {name: np.array(values) for name, values in filled.items()}
    arrays["ids"] = np.arange(count)
    arrays["whole"] = arrays["whole"].astype(bool)
    return Matches(count, **arrays)


def test_pages_with_all_that_is_wanted_come_first_then_the_score_decides() -> None:
    found = matches(4, whole=[0, 1, 0, 1])
    assert order_candidates(found, np.array([0.9, 0.2, 0.5, 0.3]), spread=1.0)[0].tolist() == [3, 1, 0, 2]


@given(st.lists(st.integers(0, 9).map(lambda tenths: tenths / 10), min_size=1, max_size=30))
def test_hits_of_one_host_alone_stay_in_the_order_of_their_scores(values: list[float]) -> None:
    scores = np.array(values)
    assert (
        order_candidates(matches(len(values)), scores, spread=0.9)[0].tolist()
        == order_candidates(matches(len(values)), scores, spread=1.0)[0].tolist()
    )


def test_hits_of_one_host_are_spread_but_none_is_lost() -> None:
    found = matches(5, hosts=[1, 1, 1, 1, 2])
    order = order_candidates(found, np.array([1.0, 0.99, 0.98, 0.97, 0.9]), spread=0.9)[0].tolist()
    assert order == [0, 4, 1, 2, 3]


@given(st.lists(st.integers(0, 5), max_size=40))
def test_exact_duplicates_fold_into_the_first_of_them(twins: list[int]) -> None:
    kept = first_twin_positions(np.array(twins, np.uint64)).tolist()
    assert kept == [at for at, twin in enumerate(twins) if twin not in twins[:at]]
