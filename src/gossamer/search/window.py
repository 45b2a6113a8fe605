"""Where in a page the words of the question stand nearest together, reckoned on their numbers, for ten pages at once.

So that only the few runs of text that are shown have to be looked at as text, however long the page is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np

from gossamer.model import Field

if TYPE_CHECKING:
    from gossamer.search.rank import CandidateWords, Integers

WINDOW_WORDS = 40  # words that a snippet has room for, about
NOWHERE = np.iinfo(np.int64).max
PROSE_BONUS = 60  # words that a stretch may be longer when it stands in a paragraph, not in a menu or a table


class TextWindow(msgspec.Struct, frozen=True):
    """A part of a page, by its runs."""

    first_run: int  # the run that it begins in
    words_before: int  # of that run before it
    run_length: int  # words of that run in all
    last_run: int  # the run that it ends in


def find_windows(words: CandidateWords) -> list[TextWindow | None]:
    """Of each page the shortest stretch that holds most words of the question, its title aside; None: it holds none."""
    windows: list[TextWindow | None] = [None] * words.document_count
    body = np.flatnonzero(words.field != Field.TITLE)
    if not len(body):
        return windows
    position, document, slot = words.position[body], words.document[body], words.slot[body]
    reach = np.minimum(position + WINDOW_WORDS, (words.starts + words.lengths)[document])
    here = np.arange(len(body))
    last, slots_held = (
        here,
        np.zeros(len(body), np.int64),
    )  # the last occurrence of each stretch, and how many words it has
    for number in range(words.slot_count):
        following = _next_occurrence(here, np.flatnonzero(slot == number))
        within = np.append(position, NOWHERE)[following] < reach
        last = np.where(within, np.maximum(last, following), last)
        slots_held += within
    prose = words.field[body] == Field.PARAGRAPH
    worth = slots_held * (WINDOW_WORDS + PROSE_BONUS + 1) - (position[last] - position) + PROSE_BONUS * prose
    best = _best_per_document(document, worth)
    columns = [document[best], *(column[body[best]] for column in words.runs), words.runs.run[body[last[best]]]]
    for page, run, before, run_length, end in zip(*(column.tolist() for column in columns), strict=True):
        windows[page] = TextWindow(run, before, run_length, end)
    return windows


def _next_occurrence(here: Integers, positions: Integers) -> Integers:
    """For each occurrence the first of the places at or behind it; where there is none, one behind the last."""
    return np.append(positions, len(here))[np.searchsorted(positions, here)]


def _best_per_document(document: Integers, worth: Integers) -> Integers:
    """Of each document the first of most worth."""
    order = np.lexsort((-worth, document))
    return order[np.unique(document[order], return_index=True)[1]]
