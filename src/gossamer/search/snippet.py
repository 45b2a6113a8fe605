"""Render the part of a page that shows why it matches.

`window` gives the runs of text with most words of the query. This module finds the words in these runs, and expands the
shortest part with most of them to whole sentences. The output is HTML: escaped, with the words in `<mark>`, and without
control and direction characters, which could mislead a reader.

`MatchFinder` does not analyse every word of the text. Forms of a word share their first letters, so it analyses only
words with the same first letters.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from functools import cache
from html import escape
from typing import TYPE_CHECKING, NamedTuple

from gossamer.basics.display import HIDDEN
from gossamer.index.analyze import WITHIN_WORD, WORD, fold_accents, get_analyzer, has_unspaced_script
from gossamer.model import Field

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gossamer.index.analyze import Analyzer
    from gossamer.search.window import TextWindow

SNIPPET_LENGTH = 240  # characters of a snippet: two to three lines
CONTEXT_LENGTH = 600  # characters read before and after the estimated position of the window
ELLIPSIS = "…"

SENTENCE_END = re.compile(r"[.!?…。\uff01\uff1f]['\"”\u2019)\]]*(?=\s)|\n")
IGNORED_IN_WORDS = re.compile(f"[{WITHIN_WORD}]")  # characters between letters that comparisons ignore
IGNORED_IN_ASCII_WORDS = re.compile("'")  # the same for ASCII texts, which is faster
WORD_CHARACTER = re.compile(rf"[^\W_]|[{WITHIN_WORD}]")
PREFIX_STEMMING_LANGUAGES = frozenset({"arabic"})  # languages whose stemmer removes prefixes too
MARK_START, MARK_END = "\2", "\3"  # stand for <mark> until the text, which has no controls then, is escaped
HEADLINE_FIELDS = frozenset({Field.TITLE, Field.DESCRIPTION})
JOINERS = "\u200c\u200d"  # Persian, Indic scripts and emoji need them


class TextMatch(NamedTuple):
    """The position of a query word in a text."""

    start: int
    end: int
    slot: int


class MatchFinder:
    """Finds the words of one query in texts."""

    def __init__(self, slots: Sequence[Sequence[str]]) -> None:
        """`slots` has the alternative terms of each query word."""
        self.slots = slots
        self._slot_by_term = {term: i for i, terms in reversed(list(enumerate(slots))) for term in terms}
        # Terms of scripts without spaces, and their slots.
        self.bigrams = [(term, slot) for term, slot in self._slot_by_term.items() if has_unspaced_script(term)]
        spaced = self._slot_by_term.keys() - {term for term, _ in self.bigrams}
        prefixes = {IGNORED_IN_WORDS.sub("", _comparable_text(term[: max(2, len(term) - 1)])) for term in spaced}
        self.prefixes = sorted(prefixes - {""})
        # Cache: language -> word -> its matches, with positions relative to the word.
        self._matches_by_word: defaultdict[str, dict[str, list[TextMatch]]] = defaultdict(dict)

    def find(self, text: str, language: str) -> list[TextMatch]:
        """Return the matches in order and without overlaps."""
        low = _comparable_text(text)
        letters = _Letters.from_text(low)
        matches = [match for prefix in self.prefixes for match in self._form_matches(text, letters, prefix, language)]
        matches += [match for term, slot in self.bigrams for match in _exact_matches(low, term, slot)]
        if len(self._slot_by_term) == 1:  # a single search gives sorted matches
            return _without_overlaps(matches)
        return _without_overlaps(sorted({match.start: match for match in matches}.values()))

    def _form_matches(self, text: str, letters: _Letters, prefix: str, language: str) -> list[TextMatch]:
        strips_prefixes = language in PREFIX_STEMMING_LANGUAGES
        matches: list[TextMatch] = []
        searched_to = 0  # end of the last analysed word
        letter_index = letters.low.find(prefix)
        while letter_index >= 0:
            offset, next_index = letters.text_offset(letter_index), letter_index + 1
            before = text[offset - 1 : offset]
            starts_word = not before.isalnum() or has_unspaced_script(before)
            if strips_prefixes or starts_word:
                word = _word_at(text, offset, searched_to)
                searched_to = word.end() if word else offset + 1
                matches += self._shifted_matches(word, language) if word else ()
                next_index = letters.letters_before(searched_to)
            letter_index = letters.low.find(prefix, max(next_index, letter_index + 1))
        return matches

    def _shifted_matches(self, word: re.Match[str], language: str) -> Iterator[TextMatch]:
        start = word.start()
        return (
            TextMatch(start + first, start + end, slot) for first, end, slot in self.word_matches(word[0], language)
        )

    def word_matches(self, word: str, language: str) -> list[TextMatch]:
        """Return the matches in a word; one with characters of a script without spaces can have several."""
        matches_by_word = self._matches_by_word[language]
        if word not in matches_by_word:
            matches_by_word[word] = self._analyse_word(word, get_analyzer(language))
        return matches_by_word[word]

    def _analyse_word(self, word: str, analyzer: Analyzer) -> list[TextMatch]:
        if word.isascii() and word.isalnum():  # a single term, mostly in the analyzer's cache
            slot = self._slot_by_term.get(analyzer.plain_term(word))
            return [] if slot is None else [TextMatch(0, len(word), slot)]
        return [
            TextMatch(it.start, it.end, self._slot_by_term[it.term])
            for it in analyzer.tokens(word)
            if it.term in self._slot_by_term
        ]


def _exact_matches(low: str, term: str, slot: int) -> Iterator[TextMatch]:
    offset = low.find(term)
    while offset >= 0:
        yield TextMatch(offset, offset + len(term), slot)
        offset = low.find(term, offset + 1)


class _Letters(NamedTuple):
    """A comparable text without the characters that comparisons ignore."""

    low: str
    left_out: list[int]  # offsets of ignored characters in the text
    shifts: list[int]  # number of kept characters before each of them

    @classmethod
    def from_text(cls, low: str) -> _Letters:
        between = IGNORED_IN_ASCII_WORDS if low.isascii() else IGNORED_IN_WORDS
        left_out = [match.start() for match in between.finditer(low)]
        if not left_out:
            return cls(low, [], [])
        return cls(between.sub("", low), left_out, [offset - number for number, offset in enumerate(left_out)])

    def text_offset(self, letter_index: int) -> int:
        """Return the offset of a kept character in the text."""
        return letter_index + bisect_right(self.shifts, letter_index)

    def letters_before(self, offset: int) -> int:
        """Return the number of kept characters before an offset."""
        return offset - bisect_left(self.left_out, offset)


def _word_at(text: str, offset: int, searched_to: int) -> re.Match[str] | None:
    """Return the word around an offset, which begins at `searched_to` or later; None at a mark without a letter."""
    start = offset
    while start > searched_to and WORD_CHARACTER.match(text, start - 1):
        start -= 1
    if start == offset:
        return WORD.match(text, offset)
    return next((word for word in WORD.finditer(text, start) if word.end() > offset), None)


def _comparable_text(text: str) -> str:
    """Return a text in lower case, without accents, and with the same number of characters.

    This finds all forms of a word, and some other words too, because й becomes и.
    """
    low = text.replace("İ", "I").lower()  # İ is the only letter that becomes two in lower case
    if low.isascii():
        return low
    accented, bare = _accent_table()
    return accented.sub(lambda match: bare[match[0]], low)


@cache
def _accent_table() -> tuple[re.Pattern[str], dict[str, str]]:
    """Return letters with accents, and the single letters that replace them."""
    letters = [chr(code) for code in range(0xC0, 0x2000) if chr(code).isalpha() and not has_unspaced_script(chr(code))]
    bare = {letter: plain for letter in letters if (plain := _without_accent(letter)) != letter}
    return re.compile(f"[{''.join(bare)}]"), bare


def _without_accent(letter: str) -> str:
    plain = fold_accents(letter)
    return unicodedata.normalize("NFD", plain)[0] if len(plain) == 1 else letter


def _without_overlaps(matches: Sequence[TextMatch]) -> list[TextMatch]:
    """Join overlapping matches, such as pairs of characters."""
    kept: list[TextMatch] = []
    for match in matches:
        if kept and match.start < kept[-1].end:
            last = kept.pop()
            kept.append(TextMatch(last.start, max(last.end, match.end), last.slot))
        else:
            kept.append(match)
    return kept


# -- the text shown ----------------------------------------------------------------------------------------------------


def render_snippet(
    runs: Sequence[tuple[int, str]],
    window: TextWindow | None,
    finder: MatchFinder,
    language: str,
    description: str = "",
) -> str:
    """Return as HTML the part of a page's text where most words of the query are closest together.

    `runs` is the indexed text of the page: the title first, then the body in reading order. Without a match, return
    the beginning of the description or of the first paragraph.
    """
    text = _window_text(runs, window) if window is not None else ""
    matches = finder.find(text, language)
    if not matches:
        return _render_beginning(description or _first_prose(runs))
    first, last = _shortest_span(matches)
    start, end = _expand_to_sentences(text, first, last)
    return _render_html(text, start, end, [match for match in matches if match.start >= start and match.end <= end])


def _window_text(runs: Sequence[tuple[int, str]], window: TextWindow) -> str:
    """Return the text of a window with as much context as a snippet can show, one run per line."""
    if window.last_run >= len(runs):  # the page has changed since it was indexed
        return ""
    text = "\n".join(run for _, run in runs[window.first_run : window.last_run + 1])
    guess = len(runs[window.first_run][1]) * window.words_before // max(1, window.run_length)
    text = _cut_at_spaces(text, max(0, guess - CONTEXT_LENGTH), guess + SNIPPET_LENGTH + CONTEXT_LENGTH)
    before, behind = window.first_run - 1, window.last_run + 1
    while behind < len(runs) and len(text) < 2 * SNIPPET_LENGTH:
        text += "\n" + runs[behind][1][:SNIPPET_LENGTH]
        behind += 1
    while before >= 0 and runs[before][0] != Field.TITLE and len(text) < 2 * SNIPPET_LENGTH:
        run = runs[before][1]
        text = _cut_at_spaces(run, max(0, len(run) - CONTEXT_LENGTH), len(run)) + "\n" + text
        before -= 1
    return text


def _cut_at_spaces(text: str, start: int, end: int) -> str:
    """Return a part of a text, cut at spaces."""
    start = text.find(" ", start) + 1 if start and " " in text[start:end] else start
    return text[start : end if end >= len(text) else max(end - SNIPPET_LENGTH, text.rfind(" ", start, end))]


def _shortest_span(matches: Sequence[TextMatch]) -> tuple[int, int]:
    """Return the shortest part that has most different words and fits the snippet, in one pass.

    The part shrinks from the left while its first word occurs again in it, or while it is too long.
    """
    count: Counter[int] = Counter()
    first = held = 0  # index of the first match of the part, and its number of different words
    best, best_key = (0, 0), (0, 0)
    for match in matches:
        held += not count[match.slot]
        count[match.slot] += 1
        while (word := matches[first]) is not match and (
            count[word.slot] > 1 or match.end - word.start > SNIPPET_LENGTH
        ):
            count[word.slot] -= 1
            held -= not count[word.slot]
            first += 1
        key = (held, word.start - match.end)
        if key > best_key:
            best, best_key = (word.start, match.end), key
    return best


def _expand_to_sentences(text: str, first: int, last: int) -> tuple[int, int]:
    """Expand a part to whole sentences where they fit, else to whole words."""
    room = max(0, SNIPPET_LENGTH - (last - first))
    edges = [match.end() for match in SENTENCE_END.finditer(text, max(0, first - room), first)]
    start = edges[-1] if edges else max(0, first - room)
    if not edges and start:
        start = _word_start(text, max(start, first - room // 2), first)
    end = min(len(text), max(last, start + SNIPPET_LENGTH))
    ends = [match.end() for match in SENTENCE_END.finditer(text, last, end)]
    if end < len(text):
        end = ends[-1] if ends else _word_end(text, last, end)
    return start, end


def _word_start(text: str, start: int, latest: int) -> int:
    """Return the next beginning of a word from `start` on, never inside a combined character."""
    blank = re.compile(r"\s").search(text, start, latest)
    if blank:
        return blank.end()
    while start < latest and _continues_character(text, start):
        start += 1
    return start


def _word_end(text: str, earliest: int, end: int) -> int:
    blank = max(text.rfind(" ", earliest, end), text.rfind("\n", earliest, end))
    if blank >= 0:
        return blank
    while end > earliest and _continues_character(text, end):
        end -= 1
    return end


def _continues_character(text: str, index: int) -> bool:
    """Return whether a cut before this character would separate a mark, joiner or modifier from its letter."""
    if index >= len(text):
        return False
    here, before = text[index], text[index - 1]
    return (
        unicodedata.category(here).startswith(("M", "Sk"))
        or here in JOINERS
        or before in JOINERS
        or "\U0001f1e6" <= here <= "\U0001f1ff"  # regional indicators: a flag is a pair of them
    )


# -- HTML --------------------------------------------------------------------------------------------------------------


def _render_html(text: str, start: int, end: int, matches: Sequence[TextMatch]) -> str:
    before = ELLIPSIS if start and text[start - 1] != "\n" else ""
    is_cut = end < len(text) and not SENTENCE_END.match(text, end - 1) and text[end] != "\n"
    shown = text[start:end].replace("\n", " ")
    parts, offset = [before], 0
    for match in matches:
        first, last = match.start - start, match.end - start
        parts += (
            without_hidden_characters(shown[offset:first]),
            MARK_START,
            without_hidden_characters(shown[first:last]),
            MARK_END,
        )
        offset = last
    parts += (without_hidden_characters(shown[offset:]), ELLIPSIS if is_cut else "")
    return escape("".join(parts).strip()).replace(MARK_START, "<mark>").replace(MARK_END, "</mark>")


def _render_beginning(text: str) -> str:
    end = len(text) if len(text) <= SNIPPET_LENGTH else _word_end(text, 0, SNIPPET_LENGTH)
    return _escape_text(text[:end]).strip() + (ELLIPSIS if end < len(text) else "")


def _first_prose(runs: Sequence[tuple[int, str]]) -> str:
    """Return the first paragraph; without one, the first text other than title and description."""
    prose = next((text for field, text in runs if field == Field.PARAGRAPH), None)
    return prose if prose is not None else next((text for field, text in runs if field not in HEADLINE_FIELDS), "")


def _escape_text(text: str) -> str:
    return escape(without_hidden_characters(text), quote=True)


def without_hidden_characters(text: str) -> str:
    """Return a text without invisible characters: line breaks become spaces, controls and direction marks go."""
    plain = text.isascii() and text.isprintable()
    return text if plain else HIDDEN.sub(_replace_hidden, text)


def _replace_hidden(match: re.Match[str]) -> str:
    hidden = match[1]
    return match[0] if hidden is None else " " if hidden.isspace() else ""
