"""Did you mean ...? And what a word that is not finished yet may become. Both from the words of the web itself.

A word is put in question when no page has it, or hardly one while a word that differs by a letter or two is common. The
rest of the question, operators and all, stays as it was typed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gossamer.search.query import Asked, Typed

SHORTEST = 4  # characters: what is shorter has too many neighbours
LONG = 6  # characters from which on two slips are believed
LONGEST = 40  # characters: nobody types such a word by heart
RARE = 2  # documents up to which a word is put in question
COMMON = 50  # how many times as many pages a word must have to put one in question that some pages do have


class Dictionary(Protocol):
    """The words of the web as they are written, and how many documents have each (about)."""

    def words_like(
        self, prefix: str = "", *, shortest: int = 0, longest: int = 99, limit: int | None = None
    ) -> list[tuple[str, int]]:
        """Words with a prefix, of a length, those of most documents first."""
        ...


def suggestion(asked: Asked, documents: Sequence[int], dictionary: Dictionary) -> str | None:
    """The question with the words put in question replaced; None when there is nothing better.

    `documents` says for each of `asked.words` how many have it.
    """
    text, changed = asked.text, False
    for word, count in reversed(list(zip(asked.words, documents, strict=True))):
        better = _better(word, count, dictionary)
        if better is not None:
            text, changed = text[: word.start] + better + text[word.end :], True
    return text if changed else None


def _better(word: Typed, count: int, dictionary: Dictionary) -> str | None:
    typed = word.text.lower()
    if count > RARE or not (SHORTEST <= len(typed) <= LONGEST and typed.isalpha()):
        return None
    slips = 2 if len(typed) >= LONG else 1
    known = dictionary.words_like(shortest=len(typed) - slips, longest=len(typed) + slips)
    return nearest(typed, [(form, of) for form, of in known if of > count * COMMON], slips)


def nearest(typed: str, known: Sequence[tuple[str, int]], slips: int) -> str | None:
    """The known word with the fewest slips (a letter too many, too few, wrong, two swapped), then the most common."""
    from rapidfuzz.distance import OSA  # noqa: PLC0415 - only for what is misspelt
    from rapidfuzz.process import extract  # noqa: PLC0415

    found = extract(typed, [form for form, _ in known], scorer=OSA.distance, score_cutoff=slips, limit=None)
    # The first letter is hardly ever the wrong one.
    keys = [(distance, form[0] != typed[0], -known[i][1], form) for form, distance, i in found if form != typed]
    return min(keys)[3] if keys else None


def completions(text: str, dictionary: Dictionary, limit: int) -> list[str]:
    """What was typed, with its last word as it may go on; nothing when that word has not begun."""
    start = _last_word(text)
    begun = text[start:].lower()
    if not begun:
        return []
    words = dictionary.words_like(begun, limit=limit)
    return [text[:start] + form for form, _ in words]


def _last_word(text: str) -> int:
    """Where the word begins that the text ends with: behind a blank, a quote, a minus or an operator's colon."""
    return len(text) - len(text[max(text.rfind(mark) for mark in ' "-:') + 1 :])
