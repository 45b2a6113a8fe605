"""Suggest corrections of misspelt or rare words, and completions of unfinished ones, from the words of the web.

A word gets a correction when at most RARE_DOCUMENTS pages have it, no title has it, and a similar word is far more
common. The rest of the query, with its operators, stays as typed. A completion is a word that several pages or a title
have, so that a misspelling on one page is never offered. If no such word starts like the typed one, words with a
similar start are offered.
"""

from __future__ import annotations

from heapq import nsmallest
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gossamer.search.frequent_words import FoundWord, FrequentWords
    from gossamer.search.query import ParsedQuery, TypedWord

SHORTEST_WORD = 4  # characters; shorter words have too many similar ones
LONG_WORD = 6  # characters of a word that may have two errors instead of one
LONG_START = 8  # ... of an unfinished word, which has more similar ones
LONGEST_WORD = 40  # characters; nobody types longer words
RARE_DOCUMENTS = 2  # documents up to which a word may get a correction
COMMON_RATIO = 50  # a correction needs more than this many times the documents of the typed word
CERTAIN_DOCUMENTS = 10  # counted when the index was built; from here on the word certainly is on several pages


class WordUse(Protocol):
    """Where the web uses a word."""

    def document_count(self, word: str) -> int:
        """Return the exact number of documents with the word in any of its forms."""
        ...

    def is_in_title(self, word: str) -> bool:
        """Return whether the word is in the title of a document."""
        ...


def suggestion(
    parsed: ParsedQuery, documents: Sequence[int], words: FrequentWords, use: WordUse, *, thorough: bool
) -> str | None:
    """Return the query with corrected words; None when there is no correction.

    `documents` has the number of documents for each of `parsed.words`. `thorough` also looks for words whose first
    letter was mistyped.
    """
    text, changed = parsed.text, False
    for word, count in reversed(list(zip(parsed.words, documents, strict=True))):
        if is_correctable(word, count) and not (count and use.is_in_title(word.text)):
            better = correction(word.text.lower(), count, words, thorough=thorough)
            if better is not None:
                text, changed = text[: word.start] + better + text[word.end :], True
    return text if changed else None


def is_correctable(word: TypedWord, count: int) -> bool:
    """Return whether a word on this many documents may be a misspelling."""
    return count <= RARE_DOCUMENTS and SHORTEST_WORD <= len(word.text) <= LONGEST_WORD and word.text.isalpha()


def correction(typed: str, count: int, words: FrequentWords, *, thorough: bool) -> str | None:
    """Return the most similar word that is far more common."""
    max_edits = 2 if len(typed) >= LONG_WORD else 1
    common = [word for word in words.similar_starts(typed) if word[1] > max(1, count * COMMON_RATIO)]
    better = nearest_word(typed, common, max_edits)
    if better is None and thorough:
        known = words.every_word(shortest=len(typed) - max_edits, longest=len(typed) + max_edits)
        better = nearest_word(typed, [word for word in known if word[1] > count * COMMON_RATIO], max_edits)
    return better


def nearest_word(typed: str, known: Sequence[FoundWord], max_edits: int) -> str | None:
    """Return the known word with the fewest edits (insert, delete, replace, swap), then the most common one."""
    from rapidfuzz.distance import OSA  # noqa: PLC0415 - only for misspelt words
    from rapidfuzz.process import extract  # noqa: PLC0415

    close_words = extract(typed, [form for form, _ in known], scorer=OSA.distance, score_cutoff=max_edits, limit=None)
    # People seldom mistype the first letter.
    keys = [(distance, form[0] != typed[0], -known[i][1], form) for form, distance, i in close_words if form != typed]
    return min(keys)[3] if keys else None


# -- completions -------------------------------------------------------------------------------------------------------


def completions(text: str, words: FrequentWords, use: WordUse, limit: int) -> list[str]:
    """Return the text with completions of its last word; nothing when the text ends between words."""
    start = last_word_start(text)
    prefix = text[start:].lower()
    if not prefix:
        return []

    def is_offered(word: FoundWord) -> bool:
        return word[1] >= CERTAIN_DOCUMENTS or use.document_count(word[0]) > 1 or use.is_in_title(word[0])

    offered = [word for word, _ in filter(is_offered, words.extending(prefix, 2 * limit))]
    return [text[:start] + word for word in (offered or similar_completions(prefix, words, is_offered, limit))[:limit]]


def similar_completions(
    prefix: str, words: FrequentWords, is_offered: Callable[[FoundWord], bool], limit: int
) -> list[str]:
    """Return words whose start is similar to a mistyped one, the most similar and most common first."""
    from rapidfuzz.distance import OSA  # noqa: PLC0415 - only for misspelt words
    from rapidfuzz.process import extract  # noqa: PLC0415

    if not (SHORTEST_WORD <= len(prefix) <= LONGEST_WORD and prefix.isalpha()):
        return []
    max_edits = 2 if len(prefix) >= LONG_START else 1
    known = [word for word in words.similar_starts(prefix) if len(word[0]) >= len(prefix) - max_edits]
    distances: dict[int, int] = {}
    for length in (len(prefix), len(prefix) + 1):  # one more, because a letter may be missing
        starts = [word[0][:length] for word in known]
        for _, distance, i in extract(prefix, starts, scorer=OSA.distance, score_cutoff=max_edits, limit=None):
            distances[i] = min(distance, distances.get(i, max_edits))
    nearest = nsmallest(2 * limit, distances, key=lambda i: (distances[i], -known[i][1], known[i][0]))
    return [known[i][0] for i in nearest if is_offered(known[i])]


def last_word_start(text: str) -> int:
    """Return the start of the last word: after a space, a quote, a minus or an operator's colon."""
    return len(text) - len(text[max(text.rfind(mark) for mark in ' "-:') + 1 :])
