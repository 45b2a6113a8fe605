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

from gossamer.index.protocol import STOPS, AnyOf, InTitle, Phrase, Query, Word, WordSequence, stop_code, term_code
from gossamer.model import Field, Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from gossamer.index.protocol import Matches, Node
    from gossamer.search.weights import Blend

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

LONGEST_TITLE = 64  # words of it that are looked at
SAME_SCORE = 6  # digits: what differs behind them is how sums were rounded
LEAST_SPREAD = 0.5  # however many hits of a host came before, a page counts at least that much of its score
DAY = 86_400.0
YEAR = 365.25  # days

NO_WORDS = WordSequence("", np.empty(0, np.uint32), np.empty(0, np.uint32))
NO_RUN = np.array([Field.TEXT], np.uint32)  # of no words

PARTS = ("text", "proximity", "title", "anchors", "pagerank", "url", "freshness")


class Slot(Value, frozen=True, kw_only=True):
    """A word of the question that pages are judged by."""

    terms: tuple[str, ...]  # any of them stands for it
    words: tuple[int, ...]  # their WordIDs
    idf: float  # how much it tells


class Judged(msgspec.Struct, frozen=True):
    """Candidates with what they are worth, in the order of the candidates."""

    scores: Floats
    parts: dict[str, Floats]  # by `PARTS`: each between 0 and 1, before weighting


# -- the question ------------------------------------------------------------------------------------------------------


def slots(
    query: Query, documents: int, frequency: Callable[[str], int], word_ids: Callable[[Sequence[str]], dict[str, int]]
) -> list[Slot]:
    """The words that pages are judged by, in the order of the question. Stop words only when there are no others."""
    asked = list(dict.fromkeys(terms for node in (*query.wanted, *query.required) for terms in _terms(node)))
    known = word_ids([term for terms in asked for term in terms]) if asked else {}
    numbers = {terms: tuple(sorted({known[term] for term in terms if known.get(term)})) for terms in asked}
    if not any(numbers.values()):
        numbers = {terms: tuple(stop_code(term) for term in terms) for terms in asked if any(t in known for t in terms)}
    found: list[Slot] = []
    taken: set[int] = set()  # a WordID stands for one word of the question
    for terms, words in numbers.items():
        if new := tuple(word for word in words if word not in taken):
            held = min(documents, sum(map(frequency, terms)))
            idf = float(np.log1p((documents - held + 0.5) / (held + 0.5)))
            found.append(Slot(terms=terms, words=new, idf=idf))
            taken.update(new)
    return found


def _terms(node: Node) -> Iterator[tuple[str, ...]]:
    """For each word of a node, the terms that stand for it."""
    match node:
        case Word() | InTitle():
            yield node.terms
        case Phrase():
            for same_place in zip_longest(*node.alternatives):
                yield tuple(dict.fromkeys(term for term in same_place if term))
        case AnyOf():
            for child in node.children:
                yield from _terms(child)
        case _:
            return


# -- the words of the candidates ---------------------------------------------------------------------------------------


class Runs(NamedTuple):
    """In which run of its document each occurrence stands."""

    number: Integers  # of the run
    before: Integers  # words of the run before it
    of: Integers  # words of the run in all


class Words:
    """The words of all candidates, one behind the other, and where those of the question stand in them.

    Sequences may be cut: then what is behind the cut is not seen, nor counted in the length.
    """

    def __init__(self, sequences: Sequence[WordSequence], asked: Sequence[Slot]) -> None:
        self.documents = len(sequences)
        self.slots = len(asked)
        self.lengths = np.fromiter((len(sequence.words) for sequence in sequences), np.int64, self.documents)
        self.starts = np.cumsum(self.lengths) - self.lengths
        self._flat = np.concatenate((*(sequence.words for sequence in sequences), NO_WORDS.words))
        self.position, self.slot = self._places(asked)
        self.document = np.searchsorted(self.starts, self.position, side="right") - 1
        self._read_runs(sequences)

    def _read_runs(self, sequences: Sequence[WordSequence]) -> None:
        """In which field each occurrence stands, and how many telling words each title has."""
        sizes = np.fromiter((len(sequence.runs) for sequence in sequences), np.int64, self.documents)
        runs = WordSequence("", NO_WORDS.words, np.concatenate((*(s.runs for s in sequences), NO_RUN)))
        fields, counts = runs.fields, runs.counts.astype(np.int64)
        ends = np.cumsum(counts)
        first = np.cumsum(sizes) - sizes
        before = np.where(first > 0, ends[first - 1], 0)  # words of earlier documents, uncut
        place = self.position - self.starts[self.document] + before[self.document]
        run = np.searchsorted(ends, place, side="right")
        self.field = fields[run]
        self.runs = Runs(run - first[self.document], place - ends[run] + counts[run], counts[run])
        self.titles = self._telling(np.where((sizes > 0) & (fields[first] == Field.TITLE), ends[first] - before, 0))

    def _places(self, asked: Sequence[Slot]) -> tuple[Integers, Integers]:
        """Every occurrence of a word of the question, in order: its position and the word's number."""
        places = [np.flatnonzero(self._flat == word) for slot in asked for word in slot.words]
        numbers = [i for i, slot in enumerate(asked) for _ in slot.words]
        position = np.concatenate((*places, np.empty(0, np.int64)))
        number = np.repeat(np.array(numbers, np.int64), [len(place) for place in places])
        order = np.argsort(position, kind="stable")
        return position[order], number[order]

    def _telling(self, titles: Integers) -> Integers:
        """How many words of each title are no stop words, by how many words it has."""
        if not len(self._flat):
            return titles
        column = np.arange(min(LONGEST_TITLE, int(titles.max(initial=0))))
        heads = self._flat[np.minimum(self.starts[:, None] + column, len(self._flat) - 1)]
        return np.asarray(((heads < STOPS) & (column < titles[:, None])).sum(axis=1))

    def only(self, documents: Integers) -> Words:
        """The same of some documents alone, in that order."""
        number = np.full(self.documents, -1)
        number[documents] = np.arange(len(documents))
        kept = number[self.document] >= 0
        some = copy(self)
        some.documents = len(documents)
        some.lengths, some.starts, some.titles = self.lengths[documents], self.starts[documents], self.titles[documents]
        some.position, some.slot, some.field = self.position[kept], self.slot[kept], self.field[kept]
        some.document = number[self.document[kept]]
        some.runs = Runs(*(column[kept] for column in self.runs))
        return some

    def sums(self, weights: Floats, where: NDArray[np.bool_] | slice = slice(None)) -> Floats:
        """Weights of occurrences added up by document and slot."""
        cell = self.document[where] * self.slots + self.slot[where]
        return _added(cell, weights, self.documents * self.slots).reshape(self.documents, self.slots)


def _added(cells: Integers, weights: Floats, count: int) -> Floats:
    """Weights added up by cell."""
    return np.asarray(np.bincount(cells, weights=weights, minlength=count), np.float64)


def text_score(words: Words, idf: Floats, average_length: float, blend: Blend) -> Floats:
    """BM25F over title, headings and text, as a part of what a page could have at most."""
    long = 1 - blend.length + blend.length * words.lengths / max(1.0, average_length)
    in_title = words.field == Field.TITLE  # titles are short all of them: one is not worth less for being longer
    in_text = np.where(words.field <= Field.H6, blend.heading, 1.0) / long[words.document]
    weight = np.where(in_title, blend.title, in_text)
    frequency = words.sums(weight)
    return np.asarray(frequency / (blend.saturation + frequency) @ idf / idf.sum())


def proximity_score(words: Words, idf: Floats, blend: Blend) -> Floats:
    """How near different words of the question stand together, each to its neighbours (Rasolofo and Savoy 2003)."""
    here, there = slice(None, -1), slice(1, None)
    near = (words.document[here] == words.document[there]) & (words.slot[here] != words.slot[there])
    pull = 1.0 / np.square(words.position[there] - words.position[here])[near].astype(np.float64)
    cells = words.documents * words.slots
    left = words.document[here][near] * words.slots + words.slot[here][near]
    right = words.document[there][near] * words.slots + words.slot[there][near]
    pulled = _added(left, pull, cells) + _added(right, pull, cells)
    pulled = pulled.reshape(words.documents, words.slots)
    return np.asarray(pulled / (blend.nearness + pulled) @ idf / idf.sum())


def title_score(words: Words, idf: Floats) -> Floats:
    """How much of the question is in the title, times how much of the title is in the question; squared, for a title
    that is nearly the question tells far more than one that is half of it.
    """
    in_title = words.field == Field.TITLE
    there = words.sums(np.ones(int(in_title.sum())), in_title)
    asked = np.minimum(there, 1) @ idf / idf.sum()
    said = there.sum(axis=1) / np.maximum(1, words.titles)
    return np.asarray(np.square(asked * np.minimum(1, said)))


def anchor_score(callings: Sequence[NDArray[np.uint32]], asked: Sequence[Slot], idf: Floats, blend: Blend) -> Floats:
    """BM25 over the anchor texts that lead to a page, likewise."""
    lengths = np.fromiter(map(len, callings), np.int64, len(callings))
    flat, document = np.concatenate((*callings, NO_WORDS.words)), np.repeat(np.arange(len(callings)), lengths)
    there = np.zeros((len(asked), len(callings)))
    for number, slot in enumerate(asked):
        for term in slot.terms:
            there[number] += np.bincount(document[flat == term_code(term)], minlength=len(callings))
    frequency = there.T / (1 - blend.length + blend.length * lengths / blend.called)[:, None]
    return np.asarray(frequency / (blend.calls + frequency) @ idf / idf.sum())


# -- all of it together ------------------------------------------------------------------------------------------------


class Outside(msgspec.Struct, frozen=True):
    """What is known of the candidates beside their words, in the order of the candidates."""

    first: Floats  # what the first pass gave
    average_length: float  # of all pages, in words
    callings: list[NDArray[np.uint32]]  # the words of the anchor texts that lead to a page
    pagerank: Floats  # its logarithmic score, 0..1; 0 where unknown
    steps: Integers  # of the URL's path; the home page has none
    changed: Floats  # Unix time


def judge(words: Words, asked: Sequence[Slot], outside: Outside, blend: Blend, now: float) -> Judged:
    """What each candidate is worth."""
    idf = np.array([slot.idf for slot in asked])
    nothing = np.zeros(words.documents)
    age = np.maximum(0.0, now - outside.changed) / (DAY * YEAR)
    parts: dict[str, Floats] = {
        "text": text_score(words, idf, outside.average_length, blend) if asked else _of_best(outside.first),
        "proximity": proximity_score(words, idf, blend) if len(asked) > 1 else nothing,
        "title": title_score(words, idf) if asked else nothing,
        "anchors": anchor_score(outside.callings, asked, idf, blend) if asked else nothing,
        "pagerank": outside.pagerank,
        "url": np.asarray(1.0 / (1.0 + outside.steps), np.float64),
        "freshness": 1.0 / (1.0 + age),
    }
    weights = part_weights(blend)
    return Judged(sum((weights[name] * part for name, part in parts.items()), nothing), parts)


def _of_best(scores: Floats) -> Floats:
    """Scores as parts of the highest: for questions of nothing but stop words, operators and words in URLs."""
    return scores / max(1e-9, float(scores.max(initial=0.0)))


def part_weights(blend: Blend) -> dict[str, float]:
    """The weight of each of `PARTS`."""
    given = (1.0, blend.proximity, blend.titles, blend.anchors, blend.pagerank, blend.url, blend.freshness)
    return dict(zip(PARTS, given, strict=True))


def in_order(matches: Matches, scores: Floats, *, spread: float) -> tuple[Integers, Floats]:
    """Candidates best first: those with all that is wanted, then by score, then by what they hold; and the factor of
    each. DocIDs come last of all: they are as the crawl came by, and the same pages are to give the same answers.

    Each further hit of a host counts a little less (`spread`, 1: just as much), so that other hosts come in between.
    With one host that changes nothing, for it keeps the order among its own.
    """
    lacking = ~matches.whole
    scores = np.round(scores, SAME_SCORE)
    best = np.lexsort((matches.ids, matches.twins, -scores, lacking))
    factors = np.empty(len(best))
    factors[best] = np.maximum(LEAST_SPREAD, spread ** _earlier_of_same(matches.hosts[best]))
    order = np.lexsort((matches.ids, matches.twins, -scores * factors, lacking))
    return order, factors[order]


def _earlier_of_same(values: Integers) -> Integers:
    """For each value, how often it came before."""
    by_value = np.argsort(values, kind="stable")
    ordered = values[by_value]
    first = np.searchsorted(ordered, ordered, side="left")
    earlier = np.empty(len(values), np.int64)
    earlier[by_value] = np.arange(len(values)) - first
    return earlier


def first_of_twins(twins: NDArray[np.uint64]) -> Integers:
    """Where each text comes for the first time: exact duplicates fold into the best of them."""
    return np.sort(np.unique(twins, return_index=True)[1])
