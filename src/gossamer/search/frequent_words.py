"""The most frequent words of a web by their first letter, kept in memory for completions and corrections.

A list of all words would need seconds on a big web. People seldom mistype the first letter, so one letter at a time is
enough: its first use reads the index once, and the cache answers from then on.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Protocol

from gossamer.basics.cache import SizedCache

if TYPE_CHECKING:
    from collections.abc import Sequence

MOST_WORDS = 5_000  # of one letter; rarer ones make no good suggestion
MOST_CACHED = 200_000  # words of all letters, about 20 MB
SWAPPED = 2  # letters at the start that may be swapped: "sa" may be a mistyped "as"

FoundWord = tuple[str, int]  # a word and its approximate number of documents


class SpellingDictionary(Protocol):
    """The written words of the web, with their approximate number of documents."""

    def words_like(
        self, prefix: str = "", *, shortest: int = 0, longest: int = 99, limit: int | None = None
    ) -> list[FoundWord]:
        """Return words by prefix and length, those with most documents first."""
        ...


class FrequentWords:
    """The words of one commit of the index, those with most documents first."""

    def __init__(self, dictionary: SpellingDictionary) -> None:
        self._dictionary = dictionary
        self._by_letter: SizedCache[str, Sequence[FoundWord]] = SizedCache(MOST_CACHED)

    def starting_with(self, letter: str) -> Sequence[FoundWord]:
        """Return the most frequent words with this first letter."""
        words = self._by_letter.get(letter)
        if words is None:
            words = self._dictionary.words_like(letter, limit=MOST_WORDS)
            self._by_letter.put(letter, words, len(words) + 1)
        return words

    def similar_starts(self, typed: str) -> list[FoundWord]:
        """Return the words whose first letter is that of a typed word, or its second one."""
        return [word for letter in dict.fromkeys(typed[:SWAPPED]) for word in self.starting_with(letter)]

    def extending(self, prefix: str, limit: int) -> list[FoundWord]:
        """Return the most frequent words with a prefix."""
        words = self.starting_with(prefix[0])
        found = list(islice((word for word in words if word[0].startswith(prefix)), limit))
        if len(found) < limit and len(words) == MOST_WORDS:
            return self._dictionary.words_like(prefix, limit=limit)
        return found

    def every_word(self, *, shortest: int, longest: int) -> list[FoundWord]:
        """Return all words of these lengths. Slow on a big web: only for a query without results."""
        return self._dictionary.words_like(shortest=shortest, longest=longest)
