"""Did you mean ...? And what a word that is not finished yet may become. Both from the words of the web itself.

A word is put in question when no page has it, or hardly one while a word that differs by a letter or two is common. The
rest of the question, operators and all, stays as it was typed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gossamer.search.query import ParsedQuery, TypedWord

SHORTEST_WORD = 4  # characters: what is shorter has too many neighbours
LONG_WORD = 6  # characters from which on two slips are believed
LONGEST_WORD = 40  # characters: nobody types such a word by heart
RARE_DOCUMENTS = 2  # documents up to which a word is put in question
COMMON_RATIO = 50  # how many times as many pages a word must have to put one in question that some pages do have


class SpellingDictionary(Protocol):
    """The words of the web as they are written, and how many documents have each (about)."""

    def words_like(
        self, prefix: str = "", *, shortest: int = 0, longest: int = 99, limit: int | None = None
    ) -> list[tuple[str, int]]:
        """Words with a prefix, of a length, those of most documents first."""
        ...


def suggestion(parsed: ParsedQuery, documents: Sequence[int], dictionary: SpellingDictionary) -> str | None:
    """The question with the words put in question replaced; None when there is nothing better.

    `documents` says for each of `asked.words` how many have it.
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
    """The known word with the fewest slips (a letter too many, too few, wrong, two swapped), then the most common."""
    from rapidfuzz.distance import OSA  # noqa: PLC0415 - only for what is misspelt
    from rapidfuzz.process import extract  # noqa: PLC0415

    close_words = extract(typed, [form for form, _ in known], scorer=OSA.distance, score_cutoff=max_edits, limit=None)
    # The first letter is hardly ever the wrong one.
    keys = [(distance, form[0] != typed[0], -known[i][1], form) for form, distance, i in close_words if form != typed]
    return min(keys)[3] if keys else None


def completions(text: str, dictionary: SpellingDictionary, limit: int) -> list[str]:
    """What was typed, with its last word as it may go on; nothing when that word has not begun."""
    start = _last_word_start(text)
    prefix = text[start:].lower()
    if not prefix:
        return []
    words = dictionary.words_like(prefix, limit=limit)
    return [text[:start] + form for form, _ in words]


def _last_word_start(text: str) -> int:
    """Where the word begins that the text ends with: behind a blank, a quote, a minus or an operator's colon."""
    return len(text) - len(text[max(text.rfind(mark) for mark in ' "-:') + 1 :])
