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

from gossamer.index.protocol import AnyOf, Matches, Query, Site, Twin
from gossamer.search.rank import NO_WORDS, Judged, Outside, Words, first_of_twins, in_order, judge, slots
from gossamer.search.weights import FIRST

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from gossamer.index.protocol import IndexReader, WordSequence
    from gossamer.search.rank import Floats, Integers, Slot
    from gossamer.search.weights import Blend

    Pagerank = Callable[[Integers], Floats]
    WordIds = Callable[[Sequence[str]], dict[str, int]]

AGAIN = 40  # matches that the second pass looks at; of 32 it finds worse, of 100 nothing better (bench/quality.py)
MOST_KNOWN = 20_000  # words whose numbers are kept at hand
CALLED = 1  # page whose anchor texts fit best, looked at wherever the first pass has it; five find nothing better


class Found(msgspec.Struct, frozen=True):
    """Matching documents, best first, duplicates folded; as many as were asked for, or all."""

    total: int  # matching documents, duplicates and all
    matches: Matches
    scores: Floats
    judged: Judged  # of the second pass
    asked: list[Slot]  # the words they were judged by
    words: Words  # where these stand in them
    sequences: dict[int, WordSequence]  # the first words of those judged, by DocID
    twins: dict[int, int]  # how many of those judged have the same text, by its number
    place: Integers  # of each match in `judged` and `words`; -1 behind them


class Passes:
    """Finds what a query asks for."""

    def __init__(self, index: IndexReader, word_ids: WordIds, pagerank: Pagerank, blend: Blend) -> None:
        self._index = index
        self._all_word_ids = word_ids
        self._known_words: dict[str, int] = {}  # a term keeps its number for ever
        self._pagerank = pagerank
        self._blend = blend

    def find(self, query: Query, enough: int, now: float) -> Found:
        """The best matches, `enough` of them at least if there are as many."""
        head = self._head(query, now)
        found, seen, reach = fold(head), AGAIN, enough
        while len(found.scores) < enough and seen < head.total:
            reach = min(reach, head.total)
            tail = self._index.match(query, FIRST, limit=reach, offset=AGAIN)
            found, seen, reach = fold(extended(head, tail)), AGAIN + reach, 2 * reach
        return found

    def duplicates(self, query: Query, found: Found, twins: Sequence[int]) -> dict[int, int]:
        """How many matching documents have each of these texts."""
        if found.total <= AGAIN:  # all of them were seen
            return found.twins
        if not self._index.has_twins(twins):
            return {}  # matching or not: that is the rule, and quickly told
        texts = AnyOf(children=tuple(Twin(value=twin) for twin in twins))
        alike = Query(wanted=query.wanted, required=(*query.required, texts), excluded=query.excluded)
        alike_found = self._index.match(alike, FIRST, limit=AGAIN)
        if alike_found.total > AGAIN:
            alike_found = self._index.match(alike, FIRST, limit=alike_found.total)
        return counted(alike_found.twins)

    def _head(self, query: Query, now: float) -> Found:
        first = self._index.match(query, FIRST, limit=AGAIN)
        matches = joined(first, self._called(query, first))
        asked = slots(query, self._index.count(), self._index.frequency, self._word_ids)
        sequences, words = self._words(asked, matches)
        outside = self._outside(matches)
        judged = judge(words, asked, outside, self._blend, now)
        order, factors = in_order(matches, judged.scores, spread=1.0 if _is_sited(query) else self._blend.spread)
        return Found(
            total=first.total,
            matches=take(matches, order),
            scores=judged.scores[order] * factors,
            judged=judged,
            asked=asked,
            words=words,
            sequences=sequences,
            twins=counted(matches.twins),
            place=order,
        )

    def _word_ids(self, terms: Sequence[str]) -> dict[str, int]:
        if len(self._known_words) > MOST_KNOWN:
            self._known_words.clear()
        if not self._known_words.keys() >= set(terms):
            self._known_words |= self._all_word_ids(terms)
        return {term: self._known_words[term] for term in terms if term in self._known_words}

    def _called(self, query: Query, first: Matches) -> Matches | None:
        """Matches that anchor texts speak for, but that the first pass has further down."""
        if len(first.ids) == first.total or not self._blend.anchors:
            return None
        further = sorted(set(self._index.best_called(query, CALLED)) - set(first.ids.tolist()))
        return self._index.score(query, FIRST, further) if further else None

    def _words(self, asked: Sequence[Slot], matches: Matches) -> tuple[dict[int, WordSequence], Words]:
        """The first words of each match: reading long pages whole takes twice as long and finds nothing better."""
        ids = matches.ids.tolist()
        sequences = self._index.word_sequences(ids, whole=False)
        return sequences, Words([sequences.get(id_, NO_WORDS) for id_ in ids], asked)

    def _outside(self, matches: Matches) -> Outside:
        ids = matches.ids.tolist()
        callings = self._index.callings(ids) if self._blend.anchors else {}
        return Outside(
            first=matches.scores,
            average_length=self._index.average_length(),
            callings=[callings.get(id_, NO_WORDS.words) for id_ in ids],
            pagerank=self._pagerank(matches.ids),
            steps=matches.steps,
            changed=matches.changed,
        )


def _is_sited(query: Query) -> bool:
    return any(isinstance(node, Site) for node in query.required)


# -- columns -----------------------------------------------------------------------------------------------------------

COLUMNS = tuple(name for name in Matches.__struct_fields__ if name != "total")


def counted(values: NDArray[np.uint64]) -> dict[int, int]:
    """How often each value is there."""
    return Counter(values.tolist())


def take(matches: Matches, which: Integers | NDArray[np.bool_]) -> Matches:
    """Some of the matches, in that order."""
    return Matches(matches.total, **{name: getattr(matches, name)[which] for name in COLUMNS})


def joined(matches: Matches, more: Matches | None) -> Matches:
    """More matches behind others."""
    if more is None:
        return matches
    return Matches(
        matches.total, **{name: np.concatenate((getattr(matches, name), getattr(more, name))) for name in COLUMNS}
    )


def extended(head: Found, tail: Matches) -> Found:
    """The first pass's further matches behind those of the second: each with a score below theirs."""
    further = take(tail, ~np.isin(tail.ids, head.matches.ids))
    lowest = float(head.scores.min()) if len(head.scores) else 1.0
    return msgspec.structs.replace(
        head,
        matches=joined(head.matches, further),
        scores=np.concatenate((head.scores, lowest * further.scores / (1.0 + further.scores))),
        place=np.concatenate((head.place, np.full(len(further.ids), -1))),
    )


def fold(found: Found) -> Found:
    """Exact duplicates folded into the best of them."""
    kept = first_of_twins(found.matches.twins)
    return msgspec.structs.replace(
        found, matches=take(found.matches, kept), scores=found.scores[kept], place=found.place[kept]
    )
