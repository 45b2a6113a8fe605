"""Find where in a page the words of the query are closest together, from WordIDs, for all hits at once.

So a snippet reads only the few runs of text that it shows, however long the page is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gossamer.model import Field

if TYPE_CHECKING:
    from gossamer.search.rank import CandidateWords, Integers

WINDOW_WORDS = 40  # words of a snippet, approximately
NOWHERE = np.iinfo(np.int64).max
PROSE_BONUS = 60  # words that a window may be longer in a paragraph than in a menu or a table


class TextWindow(NamedTuple):
    """A part of a page, given by its runs."""

    first_run: int
    words_before: int  # words of the first run before the window
    run_length: int  # words of the first run
    last_run: int


def find_windows(words: CandidateWords) -> list[TextWindow | None]:
    """Return the shortest window of each page with most query words, outside the title; None if it has none."""
    windows: list[TextWindow | None] = [None] * words.document_count
    body = np.flatnonzero(words.field != Field.TITLE)
    if not len(body):
        return windows
    position, document, slot = words.position[body], words.document[body], words.slot[body]
    reach = np.minimum(position + WINDOW_WORDS, (words.starts + words.lengths)[document])
    here = np.arange(len(body))
    last = here  # index of the last occurrence in the window that starts at each occurrence
    slots_held = np.zeros(len(body), np.int64)  # number of different query words in that window
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
    """Return the first of `positions` at or after each index; len(here) where there is none."""
    return np.append(positions, len(here))[np.searchsorted(positions, here)]


def _best_per_document(document: Integers, worth: Integers) -> Integers:
    """Return the index of the first highest worth of each document."""
    order = np.lexsort((-worth, document))
    return order[np.unique(document[order], return_index=True)[1]]
