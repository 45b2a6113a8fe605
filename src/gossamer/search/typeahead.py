"""Queries for a text while somebody types it: its last word may be unfinished, and all words may be misspelt.

The unfinished word stands for the most frequent words that start with it. So the index needs no prefixes, and every
back-end answers. Pages with all words in the title come before pages with all words anywhere.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec

from gossamer.index.analyze import get_analyzer
from gossamer.index.protocol import AnyOf, InTitle, Phrase, Query, Word
from gossamer.search.query import parse_query
from gossamer.search.suggest import correction, is_correctable, last_word_start, similar_completions
from gossamer.search.weights import FIRST_PASS_WEIGHTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gossamer.index.protocol import IndexReader, QueryNode
    from gossamer.search.frequent_words import FrequentWords
    from gossamer.search.query import ParsedQuery, TypedWord

SHORTEST_START = 2  # characters of an unfinished word that stands for longer ones
TITLE_ENDINGS = 40  # words that an unfinished word stands for in titles, where each costs little
TEXT_ENDINGS = 8  # ... in texts
SIMILAR_ENDINGS = 4  # words that a misspelt unfinished word stands for
MOST_JOINED = 4  # words that a title may join to one
MOST_CACHED = 10_000  # words
PART_SEPARATORS = re.compile(r"[\W_]+")


class IndexedWords:
    """How one commit of the index uses words (`suggest.WordUse`)."""

    def __init__(self, index: IndexReader) -> None:
        self._index = index
        self._languages = sorted(index.languages())
        self.terms = lru_cache(MOST_CACHED)(self._find_terms)
        self.is_in_title = lru_cache(MOST_CACHED)(self._find_in_title)

    def _find_terms(self, word: str) -> tuple[str, ...]:
        """Return the terms of a word in all languages of the web; none if a language takes it for several words."""
        terms = [get_analyzer(language).terms(word) for language in self._languages]
        return tuple(dict.fromkeys(term for term in terms if term and " " not in term))

    def document_count(self, word: str) -> int:
        """Return the exact number of documents with the word in any of its forms."""
        return sum(map(self._index.document_frequency, self.terms(word)))

    def _find_in_title(self, word: str) -> bool:
        """Return whether the word is in the title of a document."""
        terms = self.terms(word)
        in_title = Query(required=(InTitle(text=word, terms=terms),))
        return bool(terms) and self._index.match(in_title, FIRST_PASS_WEIGHTS, limit=1).total > 0


class UnfinishedQuery:
    """A text that somebody is typing."""

    def __init__(self, text: str, languages: Mapping[str, int], words: FrequentWords, use: IndexedWords) -> None:
        self._text, self._languages = text, languages
        self._words, self._use = words, use

    def queries(self) -> Iterator[ParsedQuery]:
        """Yield the queries to run until there are enough pages: for words in titles, joined ones, words anywhere."""
        parsed = self._corrected(parse_query(self._text, self._languages))
        yield from self._title_and_text(parsed)
        if separate := _with_separate_parts(parsed):
            yield from self._title_and_text(parse_query(separate, self._languages))

    def _title_and_text(self, parsed: ParsedQuery) -> Iterator[ParsedQuery]:
        last = self._unfinished_word(parsed)
        if parsed.query.effective_wanted:
            endings = self._endings(last, TITLE_ENDINGS) if last else ()
            yield msgspec.structs.replace(parsed, query=_in_titles(_with_endings(parsed.query, last, endings)))
        if last and (joined := self._joined_words(parsed)):
            in_title = InTitle(text=last.text, terms=joined)
            required = (*parsed.query.required, in_title)
            yield msgspec.structs.replace(parsed, query=Query(required=required, excluded=parsed.query.excluded))
        if parsed.query != Query():
            endings = self._endings(last, TEXT_ENDINGS) if last else ()
            yield msgspec.structs.replace(parsed, query=_with_endings(parsed.query, last, endings))

    def _corrected(self, parsed: ParsedQuery) -> ParsedQuery:
        """Return the query with unknown words corrected, the unfinished one aside."""
        text, last = parsed.text, self._unfinished_word(parsed)
        for word in reversed(parsed.words):
            if word != last and is_correctable(word, 0) and not self._use.document_count(word.text):
                better = correction(word.text.lower(), 0, self._words, thorough=False)
                text = text[: word.start] + (better or word.text) + text[word.end :]
        return parse_query(text, self._languages) if text != parsed.text else parsed

    def _unfinished_word(self, parsed: ParsedQuery) -> TypedWord | None:
        """Return the word that somebody may still be typing: the last one, unless a blank follows."""
        last = parsed.words[-1] if parsed.words else None
        if last is None or last.end < len(parsed.text) or len(last.text) < SHORTEST_START:
            return None
        return last if last_word_start(parsed.text) == last.start else None

    def _joined_words(self, parsed: ParsedQuery) -> tuple[str, ...]:
        """Return the terms of words that start with all typed words together: `linked hash` and `LinkedHashMap`."""
        typed = [word.text.lower() for word in parsed.words]
        if not 2 <= len(typed) <= MOST_JOINED or len(typed) != len(parsed.query.wanted):
            return ()
        words = self._words.extending("".join(typed), TEXT_ENDINGS)
        return tuple(dict.fromkeys(term for word, _ in words for term in self._use.terms(word)))

    def _endings(self, last: TypedWord, limit: int) -> tuple[str, ...]:
        """Return the terms that the unfinished word stands for, without its own."""
        typed = last.text.lower()
        words = [word for word, _ in self._words.extending(typed, limit)]
        if not any(map(self._use.document_count, words[:1])) and not self._use.document_count(typed):
            words = similar_completions(typed, self._words, lambda _: True, SIMILAR_ENDINGS)
        terms = (term for word in words for term in self._use.terms(word))
        return tuple(dict.fromkeys(term for term in terms if term not in last.terms))


def _with_endings(query: Query, last: TypedWord | None, endings: Sequence[str]) -> Query:
    """Return the query with the unfinished word standing for its endings too."""
    if last is None or not endings:
        return query

    def with_endings(node: QueryNode) -> QueryNode:
        if isinstance(node, Word) and node.terms == last.terms:
            return Word(text=node.text, terms=(*node.terms, *endings))
        return node

    return Query(
        wanted=tuple(map(with_endings, query.wanted)),
        required=tuple(map(with_endings, query.required)),
        excluded=query.excluded,
    )


def _with_separate_parts(parsed: ParsedQuery) -> str | None:
    """Return the text with blanks in an unfinished joined word such as `std::vec`, whose parts are no phrase yet."""
    typed = parsed.text[parsed.text.rfind(" ") + 1 :]
    last = parsed.query.wanted[-1] if parsed.query.wanted else None
    joined = last.children[0] if isinstance(last, AnyOf) else last
    if not typed or not isinstance(joined, Phrase) or joined.text != typed:
        return None
    return parsed.text.removesuffix(typed) + PART_SEPARATORS.sub(" ", typed)


def _in_titles(query: Query) -> Query:
    """Return the query with its wanted words required in the title."""
    required = tuple(
        InTitle(text=node.text, terms=node.terms)
        if isinstance(node, Word)
        else Phrase(text=node.text, alternatives=node.alternatives, title_only=True)
        if isinstance(node, Phrase)
        else node
        for node in query.effective_wanted
    )
    return Query(wanted=query.wanted, required=(*query.required, *required), excluded=query.excluded)
