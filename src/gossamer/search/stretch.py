"""Where in a page the words of the question stand nearest together, reckoned on their numbers, for ten pages at once.

So that only the few runs of text that are shown have to be looked at as text, however long the page is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np

from gossamer.model import Field

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gossamer.index.base import WordSequence
    from gossamer.search.rank import Integers, Words

REACH = 40  # words that a snippet has room for, about
PROSE = 60  # words that a stretch may be longer when it stands in a paragraph, not in a menu or a table


class Stretch(msgspec.Struct, frozen=True):
    """A part of a page, by its runs."""

    run: int  # the run that it begins in
    words: int  # of that run before it
    of: int  # words of that run in all
    last: int  # the run that it ends in


def stretches(words: Words, sequences: Sequence[WordSequence]) -> list[Stretch | None]:
    """Of each page the shortest stretch that holds most words of the question, its title aside; None: it holds none."""
    body = np.flatnonzero(words.field != Field.TITLE)
    if not len(body):
        return [None] * words.documents
    position, document = words.position[body], words.document[body]
    ends = (words.starts + words.lengths)[document]
    following = [_next(position, position[words.slot[body] == slot]) for slot in range(words.slots)]
    within = [place < np.minimum(position + REACH, ends) for place in following]
    last = np.max([np.where(near, place, position) for near, place in zip(within, following, strict=True)], axis=0)
    prose = words.field[body] == Field.PARAGRAPH
    worth = np.sum(within, axis=0) * (REACH + PROSE + 1) - (last - position) + PROSE * prose
    best = _best(document, worth)
    found: list[Stretch | None] = [None] * words.documents
    for at in best.tolist():
        page = int(document[at])
        start = int(words.starts[page])
        found[page] = _stretch(sequences[page], int(position[at]) - start, int(last[at]) - start)
    return found


def _next(position: Integers, places: Integers) -> Integers:
    """For each position the first of the places at or behind it."""
    return np.append(places, np.iinfo(np.int64).max)[np.searchsorted(places, position)]


def _best(document: Integers, worth: Integers) -> Integers:
    """Of each document the first of most worth."""
    order = np.lexsort((-worth, document))
    return order[np.unique(document[order], return_index=True)[1]]


def _stretch(sequence: WordSequence, first: int, last: int) -> Stretch:
    counts = sequence.counts
    ends = np.cumsum(counts)
    run, last_run = (int(each) for each in np.searchsorted(ends, (first, last), side="right"))
    return Stretch(run, first - int(ends[run] - counts[run]), int(counts[run]), last_run)
