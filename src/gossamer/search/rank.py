"""The second pass: the best few hundred of the first are looked at again, word by word.

The first pass sums one BM25 per field, with parameters that the index fixes. Here the words of each candidate are at
hand in their order, so that a word counts once over all fields (BM25F), and what no term can tell alone is seen: how
near the words stand together, how much of the title they are. To that come what others say of the page (anchor texts,
PageRank) and what its URL and age say. Every part is between 0 and 1, so that weights can be compared and explained.

All of it is numpy over the concatenated words of the candidates: 0.3 to 1 ms for 200 of them.
"""

from __future__ import annotations

from copy import copy
from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np

from gossamer.index.protocol import (
    FIRST_STOP_CODE,
    AnyOf,
    InTitle,
    Phrase,
    Query,
    Word,
    WordSequence,
    stop_code,
    term_code,
)
from gossamer.model import Field, Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from gossamer.index.protocol import Matches, QueryNode
    from gossamer.search.weights import RankWeights

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

LONGEST_TITLE = 64  # words of it that are looked at
SAME_SCORE = 6  # digits: what differs behind them is how sums were rounded
LEAST_SPREAD = 0.5  # however many hits of a host came before, a page counts at least that much of its score
DAY = 86_400.0
YEAR = 365.25  # days

EMPTY_SEQUENCE = WordSequence("", np.empty(0, np.uint32), np.empty(0, np.uint32))
EMPTY_RUN = np.array([Field.TEXT], np.uint32)  # of no words

PARTS = ("text", "proximity", "title", "anchors", "pagerank", "url", "freshness")


class QuerySlot(Value, frozen=True, kw_only=True):
    """A word of the question that pages are judged by."""

    terms: tuple[str, ...]  # any of them stands for it
    words: tuple[int, ...]  # their WordIDs
    idf: float  # how much it tells


class CandidateScores(msgspec.Struct, frozen=True):
    """Candidates with what they are worth, in the order of the candidates."""

    scores: Floats
    parts: dict[str, Floats]  # by `PARTS`: each between 0 and 1, before weighting


# -- the question ------------------------------------------------------------------------------------------------------


def query_slots(
    query: Query,
    documents: int,
    document_frequency: Callable[[str], int],
    word_ids: Callable[[Sequence[str]], dict[str, int]],
) -> list[QuerySlot]:
    """The words that pages are judged by, in the order of the question. Stop words only when there are no others."""
    word_terms = list(dict.fromkeys(terms for node in (*query.wanted, *query.required) for terms in _node_terms(node)))
    known = word_ids([term for terms in word_terms for term in terms]) if word_terms else {}
    numbers = {terms: tuple(sorted({known[term] for term in terms if known.get(term)})) for terms in word_terms}
    if not any(numbers.values()):
        numbers = {
            terms: tuple(stop_code(term) for term in terms) for terms in word_terms if any(t in known for t in terms)
        }
    slots: list[QuerySlot] = []
    taken_words: set[int] = set()  # a WordID stands for one word of the question
    for terms, words in numbers.items():
        if new := tuple(word for word in words if word not in taken_words):
            matching_documents = min(documents, sum(map(document_frequency, terms)))
            idf = float(np.log1p((documents - matching_documents + 0.5) / (matching_documents + 0.5)))
            slots.append(QuerySlot(terms=terms, words=new, idf=idf))
            taken_words.update(new)
    return slots


def _node_terms(node: QueryNode) -> Iterator[tuple[str, ...]]:
    """For each word of a node, the terms that stand for it."""
    match node:
        case Word() | InTitle():
            yield node.terms
        case Phrase():
            for same_position in zip_longest(*node.alternatives):
                yield tuple(dict.fromkeys(term for term in same_position if term))
        case AnyOf():
            for child in node.children:
                yield from _node_terms(child)
        case _:
            return


# -- the words of the candidates ---------------------------------------------------------------------------------------


class RunPositions(NamedTuple):
    """In which run of its document each occurrence stands."""

    run: Integers  # of the run
    words_before: Integers  # words of the run before it
    run_length: Integers  # words of the run in all


class CandidateWords:
    """The words of all candidates, one behind the other, and where those of the question stand in them.

    Sequences may be cut: then what is behind the cut is not seen, nor counted in the length.
    """

    def __init__(self, sequences: Sequence[WordSequence], slots: Sequence[QuerySlot]) -> None:
        self.document_count = len(sequences)
        self.slot_count = len(slots)
        self.lengths = np.fromiter((len(sequence.words) for sequence in sequences), np.int64, self.document_count)
        self.starts = np.cumsum(self.lengths) - self.lengths
        self._flat = np.concatenate((*(sequence.words for sequence in sequences), EMPTY_SEQUENCE.words))
        self.position, self.slot = self._find_occurrences(slots)
        self.document = np.searchsorted(self.starts, self.position, side="right") - 1
        self._read_runs(sequences)

    def _read_runs(self, sequences: Sequence[WordSequence]) -> None:
        """In which field each occurrence stands, and how many telling words each title has."""
        sizes = np.fromiter((len(sequence.runs) for sequence in sequences), np.int64, self.document_count)
        runs = WordSequence("", EMPTY_SEQUENCE.words, np.concatenate((*(s.runs for s in sequences), EMPTY_RUN)))
        fields, counts = runs.fields, runs.counts.astype(np.int64)
        ends = np.cumsum(counts)
        first = np.cumsum(sizes) - sizes
        before = np.where(first > 0, ends[first - 1], 0)  # words of earlier documents, uncut
        run_offset = self.position - self.starts[self.document] + before[self.document]
        run = np.searchsorted(ends, run_offset, side="right")
        self.field = fields[run]
        self.runs = RunPositions(run - first[self.document], run_offset - ends[run] + counts[run], counts[run])
        self.title_lengths = self._content_word_counts(
            np.where((sizes > 0) & (fields[first] == Field.TITLE), ends[first] - before, 0)
        )

    def _find_occurrences(self, slots: Sequence[QuerySlot]) -> tuple[Integers, Integers]:
        """Every occurrence of a word of the question, in order: its position and the word's number."""
        positions = [np.flatnonzero(self._flat == word) for slot in slots for word in slot.words]
        numbers = [i for i, slot in enumerate(slots) for _ in slot.words]
        position = np.concatenate((*positions, np.empty(0, np.int64)))
        number = np.repeat(np.array(numbers, np.int64), [len(occurrences) for occurrences in positions])
        order = np.argsort(position, kind="stable")
        return position[order], number[order]

    def _content_word_counts(self, title_lengths: Integers) -> Integers:
        """How many words of each title are no stop words, by how many words it has."""
        if not len(self._flat):
            return title_lengths
        column = np.arange(min(LONGEST_TITLE, int(title_lengths.max(initial=0))))
        heads = self._flat[np.minimum(self.starts[:, None] + column, len(self._flat) - 1)]
        return np.asarray(((heads < FIRST_STOP_CODE) & (column < title_lengths[:, None])).sum(axis=1))

    def select(self, documents: Integers) -> CandidateWords:
        """The same of some documents alone, in that order."""
        number = np.full(self.document_count, -1)
        number[documents] = np.arange(len(documents))
        kept = number[self.document] >= 0
        some = copy(self)
        some.document_count = len(documents)
        some.lengths, some.starts, some.title_lengths = (
            self.lengths[documents],
            self.starts[documents],
            self.title_lengths[documents],
        )
        some.position, some.slot, some.field = self.position[kept], self.slot[kept], self.field[kept]
        some.document = number[self.document[kept]]
        some.runs = RunPositions(*(column[kept] for column in self.runs))
        return some

    def sum_by_slot(self, weights: Floats, where: NDArray[np.bool_] | slice = slice(None)) -> Floats:
        """Weights of occurrences added up by document and slot."""
        cell = self.document[where] * self.slot_count + self.slot[where]
        return _sum_by_cell(cell, weights, self.document_count * self.slot_count).reshape(
            self.document_count, self.slot_count
        )


def _sum_by_cell(cells: Integers, weights: Floats, count: int) -> Floats:
    """Weights added up by cell."""
    return np.asarray(np.bincount(cells, weights=weights, minlength=count), np.float64)


def text_score(words: CandidateWords, idf: Floats, average_length: float, rank_weights: RankWeights) -> Floats:
    """BM25F over title, headings and text, as a part of what a page could have at most."""
    long = 1 - rank_weights.length + rank_weights.length * words.lengths / max(1.0, average_length)
    in_title = words.field == Field.TITLE  # titles are short all of them: one is not worth less for being longer
    in_text = np.where(words.field <= Field.H6, rank_weights.heading, 1.0) / long[words.document]
    weight = np.where(in_title, rank_weights.title, in_text)
    frequency = words.sum_by_slot(weight)
    return np.asarray(frequency / (rank_weights.saturation + frequency) @ idf / idf.sum())


def proximity_score(words: CandidateWords, idf: Floats, rank_weights: RankWeights) -> Floats:
    """How near different words of the question stand together, each to its neighbours (Rasolofo and Savoy 2003)."""
    here, there = slice(None, -1), slice(1, None)
    near = (words.document[here] == words.document[there]) & (words.slot[here] != words.slot[there])
    pull = 1.0 / np.square(words.position[there] - words.position[here])[near].astype(np.float64)
    cells = words.document_count * words.slot_count
    left = words.document[here][near] * words.slot_count + words.slot[here][near]
    right = words.document[there][near] * words.slot_count + words.slot[there][near]
    pulled = _sum_by_cell(left, pull, cells) + _sum_by_cell(right, pull, cells)
    pulled = pulled.reshape(words.document_count, words.slot_count)
    return np.asarray(pulled / (rank_weights.nearness + pulled) @ idf / idf.sum())


def title_score(words: CandidateWords, idf: Floats) -> Floats:
    """How much of the question is in the title, times how much of the title is in the question; squared, for a title
    that is nearly the question tells far more than one that is half of it.
    """
    in_title = words.field == Field.TITLE
    counts = words.sum_by_slot(np.ones(int(in_title.sum())), in_title)
    question_share = np.minimum(counts, 1) @ idf / idf.sum()
    title_share = counts.sum(axis=1) / np.maximum(1, words.title_lengths)
    return np.asarray(np.square(question_share * np.minimum(1, title_share)))


def anchor_score(
    anchor_terms: Sequence[NDArray[np.uint32]], slots: Sequence[QuerySlot], idf: Floats, rank_weights: RankWeights
) -> Floats:
    """BM25 over the anchor texts that lead to a page, likewise."""
    lengths = np.fromiter(map(len, anchor_terms), np.int64, len(anchor_terms))
    flat, document = (
        np.concatenate((*anchor_terms, EMPTY_SEQUENCE.words)),
        np.repeat(np.arange(len(anchor_terms)), lengths),
    )
    counts = np.zeros((len(slots), len(anchor_terms)))
    for number, slot in enumerate(slots):
        for term in slot.terms:
            counts[number] += np.bincount(document[flat == term_code(term)], minlength=len(anchor_terms))
    frequency = (
        counts.T / (1 - rank_weights.length + rank_weights.length * lengths / rank_weights.anchor_length)[:, None]
    )
    return np.asarray(frequency / (rank_weights.anchor_saturation + frequency) @ idf / idf.sum())


# -- all of it together ------------------------------------------------------------------------------------------------


class PageSignals(msgspec.Struct, frozen=True):
    """What is known of the candidates beside their words, in the order of the candidates."""

    first_pass: Floats  # what the first pass gave
    average_length: float  # of all pages, in words
    anchor_terms: list[NDArray[np.uint32]]  # the words of the anchor texts that lead to a page
    pagerank: Floats  # its logarithmic score, 0..1; 0 where unknown
    steps: Integers  # of the URL's path; the home page has none
    changed: Floats  # Unix time


def score_candidates(
    words: CandidateWords, slots: Sequence[QuerySlot], signals: PageSignals, rank_weights: RankWeights, now: float
) -> CandidateScores:
    """What each candidate is worth."""
    idf = np.array([slot.idf for slot in slots])
    nothing = np.zeros(words.document_count)
    age = np.maximum(0.0, now - signals.changed) / (DAY * YEAR)
    parts: dict[str, Floats] = {
        "text": text_score(words, idf, signals.average_length, rank_weights)
        if slots
        else _relative_to_best(signals.first_pass),
        "proximity": proximity_score(words, idf, rank_weights) if len(slots) > 1 else nothing,
        "title": title_score(words, idf) if slots else nothing,
        "anchors": anchor_score(signals.anchor_terms, slots, idf, rank_weights) if slots else nothing,
        "pagerank": signals.pagerank,
        "url": np.asarray(1.0 / (1.0 + signals.steps), np.float64),
        "freshness": 1.0 / (1.0 + age),
    }
    weights = part_weights(rank_weights)
    return CandidateScores(sum((weights[name] * part for name, part in parts.items()), nothing), parts)


def _relative_to_best(scores: Floats) -> Floats:
    """Scores as parts of the highest: for questions of nothing but stop words, operators and words in URLs."""
    return scores / max(1e-9, float(scores.max(initial=0.0)))


def part_weights(rank_weights: RankWeights) -> dict[str, float]:
    """The weight of each of `PARTS`."""
    values = (
        1.0,
        rank_weights.proximity,
        rank_weights.titles,
        rank_weights.anchors,
        rank_weights.pagerank,
        rank_weights.url,
        rank_weights.freshness,
    )
    return dict(zip(PARTS, values, strict=True))


def order_candidates(matches: Matches, scores: Floats, *, spread: float) -> tuple[Integers, Floats]:
    """Candidates best first: those with all that is wanted, then by score, then by what they hold; and the factor of
    each. DocIDs come last of all: they are as the crawl came by, and the same pages are to give the same answers.

    Each further hit of a host counts a little less (`spread`, 1: just as much), so that other hosts come in between.
    With one host that changes nothing, for it keeps the order among its own.
    """
    lacking = ~matches.has_all
    scores = np.round(scores, SAME_SCORE)
    best = np.lexsort((matches.ids, matches.twins, -scores, lacking))
    factors = np.empty(len(best))
    factors[best] = np.maximum(LEAST_SPREAD, spread ** _count_earlier(matches.hosts[best]))
    order = np.lexsort((matches.ids, matches.twins, -scores * factors, lacking))
    return order, factors[order]


def _count_earlier(values: Integers) -> Integers:
    """For each value, how often it came before."""
    by_value = np.argsort(values, kind="stable")
    ordered = values[by_value]
    first = np.searchsorted(ordered, ordered, side="left")
    earlier = np.empty(len(values), np.int64)
    earlier[by_value] = np.arange(len(values)) - first
    return earlier


def first_twin_positions(twins: NDArray[np.uint64]) -> Integers:
    """Where each text comes for the first time: exact duplicates fold into the best of them."""
    return np.sort(np.unique(twins, return_index=True)[1])
