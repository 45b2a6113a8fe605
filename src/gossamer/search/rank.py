"""The second pass: score the best matches of the first again, from their words in order.

The first pass sums one BM25 per field, with parameters that the index fixes. The second pass has the words of each
candidate in order. So it counts a word once over all fields (BM25F). It measures how close the words are, and how much
of the title they cover. It adds anchor texts, PageRank, URL depth and age. Every part is between 0 and 1, so that
weights are comparable and an explanation is readable.

numpy computes all parts over the concatenated words of the candidates, in 0.3 to 1 ms for 200 candidates.
"""

from __future__ import annotations

from copy import copy
from functools import lru_cache
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

LONGEST_TITLE = 64  # words of a title that count
SAME_SCORE = 6  # digits of a score; later digits differ only by rounding of sums
LEAST_SPREAD = 0.5  # lowest factor of a score, however many hits of its host come earlier
DAY = 86_400.0
YEAR = 365.25  # days

EMPTY_SEQUENCE = WordSequence("", b"", b"")
NO_WORDS: NDArray[np.uint32] = np.empty(0, "<u4")
EMPTY_RUN = np.array([Field.TEXT], "<u4").tobytes()  # a run of 0 words

PARTS = ("text", "proximity", "title", "anchors", "pagerank", "url", "freshness")


class QuerySlot(Value, frozen=True, kw_only=True):
    """A word of the query, in all its analyses."""

    terms: tuple[str, ...]  # alternatives
    words: tuple[int, ...]  # their WordIDs
    idf: float  # inverse document frequency


class CandidateScores(msgspec.Struct, frozen=True):
    """The scores of the candidates, in their order."""

    scores: Floats
    parts: dict[str, Floats]  # by `PARTS`: each between 0 and 1, before weighting


# -- the query ---------------------------------------------------------------------------------------------------------


def query_slots(
    query: Query,
    documents: int,
    document_frequency: Callable[[str], int],
    word_ids: Callable[[Sequence[str]], dict[str, int]],
) -> list[QuerySlot]:
    """Return the words of the query in order; stop words only when there are no others."""
    word_terms = list(dict.fromkeys(terms for node in (*query.wanted, *query.required) for terms in _node_terms(node)))
    known = word_ids([term for terms in word_terms for term in terms]) if word_terms else {}
    numbers = {terms: tuple(sorted({known[term] for term in terms if known.get(term)})) for terms in word_terms}
    if not any(numbers.values()):
        numbers = {
            terms: tuple(stop_code(term) for term in terms) for terms in word_terms if any(t in known for t in terms)
        }
    slots: list[QuerySlot] = []
    taken_words: set[int] = set()  # a WordID belongs to one slot
    for terms, words in numbers.items():
        if new := tuple(word for word in words if word not in taken_words):
            matching_documents = min(documents, sum(map(document_frequency, terms)))
            idf = float(np.log1p((documents - matching_documents + 0.5) / (matching_documents + 0.5)))
            slots.append(QuerySlot(terms=terms, words=new, idf=idf))
            taken_words.update(new)
    return slots


def _node_terms(node: QueryNode) -> Iterator[tuple[str, ...]]:
    """Yield the alternative terms of each word of a node."""
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
    """The position of each occurrence within the runs of its document."""

    run: Integers  # index of the run
    words_before: Integers  # words of the run before the occurrence
    run_length: Integers  # words of the run


class CandidateWords:
    """The concatenated words of all candidates, and the occurrences of the query's words in them.

    Sequences may be cut; then the words after the cut count neither as occurrences nor in the length.
    """

    def __init__(self, sequences: Sequence[WordSequence], slots: Sequence[QuerySlot]) -> None:
        self.document_count = len(sequences)
        self.slot_count = len(slots)
        self.lengths = np.fromiter(
            (len(sequence.packed_words) // 4 for sequence in sequences), np.int64, self.document_count
        )
        self.starts = np.cumsum(self.lengths) - self.lengths
        self._flat = np.frombuffer(b"".join(sequence.packed_words for sequence in sequences), "<u4")
        self.position, self.slot = self._find_occurrences(slots)
        self.document = np.searchsorted(self.starts, self.position, side="right") - 1
        self._read_runs(sequences)

    def _read_runs(self, sequences: Sequence[WordSequence]) -> None:
        """Find the field and run of each occurrence, and the number of content words of each title."""
        sizes = np.fromiter((len(sequence.packed_runs) // 4 for sequence in sequences), np.int64, self.document_count)
        runs = WordSequence("", b"", b"".join((*(sequence.packed_runs for sequence in sequences), EMPTY_RUN)))
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
        """Return the position and the slot of every occurrence, in order of position."""
        positions = [np.flatnonzero(self._flat == word) for slot in slots for word in slot.words]
        numbers = [i for i, slot in enumerate(slots) for _ in slot.words]
        position = np.concatenate((*positions, np.empty(0, np.int64)))
        number = np.repeat(np.array(numbers, np.int64), [len(occurrences) for occurrences in positions])
        order = np.argsort(position, kind="stable")
        return position[order], number[order]

    def _content_word_counts(self, title_lengths: Integers) -> Integers:
        """Return how many words of each title are not stop words."""
        if not len(self._flat):
            return title_lengths
        column = np.arange(min(LONGEST_TITLE, int(title_lengths.max(initial=0))))
        heads = self._flat[np.minimum(self.starts[:, None] + column, len(self._flat) - 1)]
        return np.asarray(((heads < FIRST_STOP_CODE) & (column < title_lengths[:, None])).sum(axis=1))

    def select(self, documents: Integers) -> CandidateWords:
        """Return the words of some documents only, in the given order."""
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
        """Sum the weights of occurrences by document and slot."""
        cell = self.document[where] * self.slot_count + self.slot[where]
        return _sum_by_cell(cell, weights, self.document_count * self.slot_count).reshape(
            self.document_count, self.slot_count
        )


def _sum_by_cell(cells: Integers, weights: Floats, count: int) -> Floats:
    """Sum weights by cell."""
    return np.asarray(np.bincount(cells, weights=weights, minlength=count), np.float64)


def _share_of_query(values: Floats, idf: Floats) -> Floats:
    """Sum values by slot, weighted by the slots' inverse document frequency, relative to the highest possible sum.

    The sums run slot by slot, so that they have the same digits on every machine and in the kernel.
    """
    total, highest = np.zeros(len(values)), 0.0
    for slot, weight in enumerate(idf.tolist()):
        total += values[:, slot] * weight
        highest += weight
    return total / highest


def text_score(words: CandidateWords, idf: Floats, average_length: float, rank_weights: RankWeights) -> Floats:
    """Return BM25F over title, headings and text, relative to the highest possible score."""
    long = 1 - rank_weights.length + rank_weights.length * words.lengths / max(1.0, average_length)
    in_title = words.field == Field.TITLE  # no length normalization: all titles are short
    in_text = np.where(words.field <= Field.H6, rank_weights.heading, 1.0) / long[words.document]
    weight = np.where(in_title, rank_weights.title, in_text)
    frequency = words.sum_by_slot(weight)
    return _share_of_query(frequency / (rank_weights.saturation + frequency), idf)


def proximity_score(words: CandidateWords, idf: Floats, rank_weights: RankWeights) -> Floats:
    """Return how close neighbouring occurrences of different words are (Rasolofo and Savoy 2003)."""
    here, there = slice(None, -1), slice(1, None)
    near = (words.document[here] == words.document[there]) & (words.slot[here] != words.slot[there])
    pull = 1.0 / np.square(words.position[there] - words.position[here])[near].astype(np.float64)
    cells = words.document_count * words.slot_count
    left = words.document[here][near] * words.slot_count + words.slot[here][near]
    right = words.document[there][near] * words.slot_count + words.slot[there][near]
    pulled = _sum_by_cell(left, pull, cells) + _sum_by_cell(right, pull, cells)
    pulled = pulled.reshape(words.document_count, words.slot_count)
    return _share_of_query(pulled / (rank_weights.nearness + pulled), idf)


def title_score(words: CandidateWords, idf: Floats) -> Floats:
    """Return the share of the query in the title times the share of the title in the query, squared.

    The square favours titles that are nearly the query over titles with half of it.
    """
    in_title = words.field == Field.TITLE
    counts = words.sum_by_slot(np.ones(int(in_title.sum())), in_title)
    question_share = _share_of_query(np.minimum(counts, 1), idf)
    title_share = counts.sum(axis=1) / np.maximum(1, words.title_lengths)
    return np.asarray(np.square(question_share * np.minimum(1, title_share)))


def anchor_score(
    anchor_terms: Sequence[NDArray[np.uint32]], slots: Sequence[QuerySlot], idf: Floats, rank_weights: RankWeights
) -> Floats:
    """Return BM25 over the anchor texts of a page, relative to the highest possible score."""
    lengths = np.fromiter(map(len, anchor_terms), np.int64, len(anchor_terms))
    flat, document = (
        np.concatenate((*anchor_terms, NO_WORDS)),
        np.repeat(np.arange(len(anchor_terms)), lengths),
    )
    counts = np.zeros((len(slots), len(anchor_terms)))
    for number, slot in enumerate(slots):
        for term in slot.terms:
            counts[number] += np.bincount(document[flat == term_code(term)], minlength=len(anchor_terms))
    frequency = (
        counts.T / (1 - rank_weights.length + rank_weights.length * lengths / rank_weights.anchor_length)[:, None]
    )
    return _share_of_query(frequency / (rank_weights.anchor_saturation + frequency), idf)


# -- the whole score ---------------------------------------------------------------------------------------------------


class PageSignals(msgspec.Struct, frozen=True):
    """The facts about the candidates besides their words, in their order."""

    first_pass: Floats  # scores of the first pass
    average_length: float  # of all pages, in words
    anchor_terms: list[NDArray[np.uint32]]  # words of the anchor texts of each page
    pagerank: Floats  # logarithmic score, 0..1; 0 where unknown
    steps: Integers  # depth of the URL; 0 for a home page
    changed: Floats  # Unix time


def score_candidates(
    words: CandidateWords, slots: Sequence[QuerySlot], signals: PageSignals, rank_weights: RankWeights, now: float
) -> CandidateScores:
    """Return the score of each candidate, and its parts."""
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
    """Return scores relative to the highest; for queries with only operators and words in URLs."""
    return scores / max(1e-9, float(scores.max(initial=0.0)))


def part_weights(rank_weights: RankWeights) -> dict[str, float]:
    """Return the weight of each of `PARTS`."""
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
    """Return the order of the candidates, best first, and the factor of each score.

    Candidates with everything wanted come first, then higher scores, then lower twin numbers. DocIDs decide last,
    because they depend on the order of the crawl, and equal pages should give equal answers.

    `spread` multiplies the score of each further hit of a host, so that other hosts come in between; 1 has no effect.
    It never changes the order of hits of one host.
    """
    lacking = ~matches.has_all
    scores = np.round(scores, SAME_SCORE)
    best = np.lexsort((matches.ids, matches.twins, -scores, lacking))
    factors = np.empty(len(best))
    factors[best] = np.array(spread_factors(spread, len(best)))[_count_earlier(matches.hosts[best])]
    order = np.lexsort((matches.ids, matches.twins, -scores * factors, lacking))
    return order, factors[order]


@lru_cache(maxsize=128)
def spread_factors(spread: float, count: int) -> list[float]:
    """Return the factors of the hits of one host, in their order."""
    return [max(LEAST_SPREAD, spread**earlier) for earlier in range(count)]


def _count_earlier(values: Integers) -> Integers:
    """Return how often each value occurs before its position."""
    by_value = np.argsort(values, kind="stable")
    ordered = values[by_value]
    first = np.searchsorted(ordered, ordered, side="left")
    earlier = np.empty(len(values), np.int64)
    earlier[by_value] = np.arange(len(values)) - first
    return earlier


def first_twin_positions(twins: NDArray[np.uint64]) -> Integers:
    """Return the positions where each text occurs first; exact duplicates fold into these."""
    return np.sort(np.unique(twins, return_index=True)[1])
