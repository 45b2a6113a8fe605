"""Where in a page the words of the question stand nearest together, reckoned on their numbers, for ten pages at once.

So that only the few runs of text that are shown have to be looked at as text, however long the page is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np

from gossamer.model import Field

if TYPE_CHECKING:
    from gossamer.search.rank import Integers, Words

REACH = 40  # words that a snippet has room for, about
NOWHERE = np.iinfo(np.int64).max
PROSE = 60  # words that a stretch may be longer when it stands in a paragraph, not in a menu or a table


class Stretch(msgspec.Struct, frozen=True):
    """A part of a page, by its runs."""

    run: int  # the run that it begins in
    words: int  # of that run before it
    of: int  # words of that run in all
    last: int  # the run that it ends in


def stretches(words: Words) -> list[Stretch | None]:
    """Of each page the shortest stretch that holds most words of the question, its title aside; None: it holds none."""
    found: list[Stretch | None] = [None] * words.documents
    body = np.flatnonzero(words.field != Field.TITLE)
    if not len(body):
        return found
    position, document, slot = words.position[body], words.document[body], words.slot[body]
    reach = np.minimum(position + REACH, (words.starts + words.lengths)[document])
    here = np.arange(len(body))
    last, held = here, np.zeros(len(body), np.int64)  # the last occurrence of each stretch, and how many words it has
    for number in range(words.slots):
        following = _next(here, np.flatnonzero(slot == number))
        within = np.append(position, NOWHERE)[following] < reach
        last = np.where(within, np.maximum(last, following), last)
        held += within
    prose = words.field[body] == Field.PARAGRAPH
    worth = held * (REACH + PROSE + 1) - (position[last] - position) + PROSE * prose
    best = _best(document, worth)
    columns = [document[best], *(column[body[best]] for column in words.runs), words.runs.number[body[last[best]]]]
    for page, run, before, of, end in zip(*(column.tolist() for column in columns), strict=True):
        found[page] = Stretch(run, before, of, end)
    return found


def _next(here: Integers, places: Integers) -> Integers:
    """For each occurrence the first of the places at or behind it; where there is none, one behind the last."""
    return np.append(places, len(here))[np.searchsorted(places, here)]


def _best(document: Integers, worth: Integers) -> Integers:
    """Of each document the first of most worth."""
    order = np.lexsort((-worth, document))
    return order[np.unique(document[order], return_index=True)[1]]
