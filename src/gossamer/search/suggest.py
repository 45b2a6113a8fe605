"""Suggest corrections of misspelt or rare words, and completions of unfinished ones, from the words of the web.

A word gets a correction when at most RARE_DOCUMENTS pages have it and a similar word is far more common. The rest of
the query, with its operators, stays as typed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gossamer.search.query import ParsedQuery, TypedWord

SHORTEST_WORD = 4  # characters; shorter words have too many similar ones
LONG_WORD = 6  # characters of a word that may have two errors instead of one
LONGEST_WORD = 40  # characters; nobody types longer words
RARE_DOCUMENTS = 2  # documents up to which a word may get a correction
COMMON_RATIO = 50  # a correction needs more than this many times the documents of the typed word


class SpellingDictionary(Protocol):
    """The written words of the web, with their approximate number of documents."""

    def words_like(
        self, prefix: str = "", *, shortest: int = 0, longest: int = 99, limit: int | None = None
    ) -> list[tuple[str, int]]:
        """Return words by prefix and length, those with most documents first."""
        ...


def suggestion(parsed: ParsedQuery, documents: Sequence[int], dictionary: SpellingDictionary) -> str | None:
    """Return the query with corrected words; None when there is no correction.

    `documents` has the number of documents for each of `parsed.words`.
    """
    text, changed = parsed.text, False
    for word, count in reversed(list(zip(parsed.words, documents, strict=True))):
        better = _correction(word, count, dictionary)
        if better is not None:
            text, changed = text[: word.start] + better + text[word.end :], True
    return text if changed else None


def _correction(word: TypedWord, count: int, dictionary: SpellingDictionary) -> str | None:
    typed = word.text.lower()
    if count > RARE_DOCUMENTS or not (SHORTEST_WORD <= len(typed) <= LONGEST_WORD and typed.isalpha()):
        return None
    max_edits = 2 if len(typed) >= LONG_WORD else 1
    known = dictionary.words_like(shortest=len(typed) - max_edits, longest=len(typed) + max_edits)
    return nearest_word(
        typed, [(form, frequency) for form, frequency in known if frequency > count * COMMON_RATIO], max_edits
    )


def nearest_word(typed: str, known: Sequence[tuple[str, int]], max_edits: int) -> str | None:
    """Return the known word with the fewest edits (insert, delete, replace, swap), then the most common one."""
    from rapidfuzz.distance import OSA  # noqa: PLC0415 - only for misspelt words
    from rapidfuzz.process import extract  # noqa: PLC0415

    close_words = extract(typed, [form for form, _ in known], scorer=OSA.distance, score_cutoff=max_edits, limit=None)
    # People seldom mistype the first letter.
    keys = [(distance, form[0] != typed[0], -known[i][1], form) for form, distance, i in close_words if form != typed]
    return min(keys)[3] if keys else None


def completions(text: str, dictionary: SpellingDictionary, limit: int) -> list[str]:
    """Return the text with completions of its last word; nothing when the text ends between words."""
    start = _last_word_start(text)
    prefix = text[start:].lower()
    if not prefix:
        return []
    words = dictionary.words_like(prefix, limit=limit)
    return [text[:start] + form for form, _ in words]


def _last_word_start(text: str) -> int:
    """Return the start of the last word: after a space, a quote, a minus or an operator's colon."""
    return len(text) - len(text[max(text.rfind(mark) for mark in ' "-:') + 1 :])
