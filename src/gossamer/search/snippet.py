"""The piece of a page that shows why it was found.

`stretch` says which runs of text hold most words of the question; here the words are found in these runs, and the
shortest part that holds most of them is grown to the edges of its sentences. What comes out is HTML: escaped, the words
in `<mark>`, and nothing in it that acts on whoever reads it (control and direction characters are left out).

The text is not taken apart word by word: forms of a word share its beginning, so only what begins alike is analysed.
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

    from gossamer.search.window import TextWindow

SNIPPET_LENGTH = 240  # characters of a snippet: two to three lines
CONTEXT_LENGTH = 600  # characters of text looked at before and behind the place that the words' numbers tell
ELLIPSIS = "…"

SENTENCE_END = re.compile(r"[.!?…。\uff01\uff1f]['\"”\u2019)\]]*(?=\s)|\n")
IGNORED_IN_WORDS = re.compile(f"[{WITHIN_WORD}]")  # what stands between the letters of a word, as far as comparing goes
IGNORED_IN_ASCII_WORDS = re.compile("'")  # the same where there is nothing else: quicker
WORD_CHARACTER = re.compile(rf"[^\W_]|[{WITHIN_WORD}]")  # what words are made of
PREFIX_STEMMING_LANGUAGES = frozenset({"arabic"})  # languages whose stemmer takes off beginnings too
MARK_START, MARK_END = "\2", "\3"  # stand for the marks until the text is escaped; nothing hidden is left in it by then
HEADLINE_FIELDS = frozenset({Field.TITLE, Field.DESCRIPTION})
JOINERS = "\u200c\u200d"  # part of how Persian, Indic scripts and emoji are written


class TextMatch(NamedTuple):
    """Where a word of the question stands."""

    start: int
    end: int
    slot: int


class MatchFinder:
    """Finds the words of one question in texts."""

    def __init__(self, slots: Sequence[Sequence[str]]) -> None:
        """Of each word, the terms that it may have."""
        self.slots = slots
        self._slot_by_term = {term: i for i, terms in reversed(list(enumerate(slots))) for term in terms}
        self._bigrams = [term for term in self._slot_by_term if has_unspaced_script(term)]
        spaced = self._slot_by_term.keys() - set(self._bigrams)
        prefixes = {IGNORED_IN_WORDS.sub("", _comparable_text(term[: max(2, len(term) - 1)])) for term in spaced}
        self._prefixes = sorted(prefixes - {""})
        self._matches_by_word: defaultdict[str, dict[str, list[TextMatch]]] = defaultdict(
            dict
        )  # by language: word -> what is in it

    def find(self, text: str, language: str) -> list[TextMatch]:
        """Where the words stand, in order and without overlaps."""
        low = _comparable_text(text)
        letters = _Letters.from_text(low)
        matches = [match for prefix in self._prefixes for match in self._form_matches(text, letters, prefix, language)]
        matches += [place for term in self._bigrams for place in self._exact_matches(low, term)]
        if len(self._slot_by_term) == 1:  # there was one search, from left to right
            return _without_overlaps(matches)
        return _without_overlaps(sorted({place.start: place for place in matches}.values()))

    def _form_matches(self, text: str, letters: _Letters, prefix: str, language: str) -> list[TextMatch]:
        strips_prefixes = language in PREFIX_STEMMING_LANGUAGES
        matches: list[TextMatch] = []
        searched_to = 0  # behind the last word looked at
        letter_index = letters.low.find(prefix)
        while letter_index >= 0:
            offset, next_index = letters.text_offset(letter_index), letter_index + 1
            before = text[offset - 1 : offset]
            if (
                strips_prefixes or not before.isalnum() or has_unspaced_script(before)
            ):  # else it is the middle of a word
                word = _word_at(text, offset, searched_to)
                searched_to = word.end() if word else offset + 1
                matches += self._word_matches(word, language) if word else ()
                next_index = letters.letters_before(searched_to)
            letter_index = letters.low.find(prefix, max(next_index, letter_index + 1))
        return matches

    def _word_matches(self, word: re.Match[str], language: str) -> Iterator[TextMatch]:
        """Where words of the question stand in a word: several, where scripts without blanks are mixed in."""
        matches_by_word, start = self._matches_by_word[language], word.start()
        if word[0] not in matches_by_word:
            tokens = get_analyzer(language).tokens(word[0])
            matches_by_word[word[0]] = [
                TextMatch(it.start, it.end, self._slot_by_term[it.term])
                for it in tokens
                if it.term in self._slot_by_term
            ]
        return (TextMatch(start + first, start + end, slot) for first, end, slot in matches_by_word[word[0]])

    def _exact_matches(self, low: str, term: str) -> Iterator[TextMatch]:
        offset = low.find(term)
        while offset >= 0:
            yield TextMatch(offset, offset + len(term), self._slot_by_term[term])
            offset = low.find(term, offset + 1)


class _Letters(NamedTuple):
    """A comparable text without what stands between the letters of words."""

    low: str
    left_out: list[int]  # places in the text
    shifts: list[int]  # of each: how many characters are kept before it

    @classmethod
    def from_text(cls, low: str) -> _Letters:
        between = IGNORED_IN_ASCII_WORDS if low.isascii() else IGNORED_IN_WORDS
        left_out = [match.start() for match in between.finditer(low)]
        if not left_out:
            return cls(low, [], [])
        return cls(between.sub("", low), left_out, [offset - number for number, offset in enumerate(left_out)])

    def text_offset(self, letter_index: int) -> int:
        """Where a character that was kept stands in the text."""
        return letter_index + bisect_right(self.shifts, letter_index)

    def letters_before(self, offset: int) -> int:
        """How many characters are kept before a place in the text."""
        return offset - bisect_left(self.left_out, offset)


def _word_at(text: str, offset: int, searched_to: int) -> re.Match[str] | None:
    """The word that a letter is in, if words before a place are known; none where it is a mark that has no letter."""
    start = offset
    while start > searched_to and WORD_CHARACTER.match(text, start - 1):
        start -= 1
    if start == offset:
        return WORD.match(text, offset)
    return next((word for word in WORD.finditer(text, start) if word.end() > offset), None)


def _comparable_text(text: str) -> str:
    """A text in lower case and without accents, as many characters as before.

    Forms of a word begin alike then, and some others do too: й and и.
    """
    low = text.replace("İ", "I").lower()  # the one letter that becomes two in lower case
    if low.isascii():
        return low
    accented, bare = _accent_table()
    return accented.sub(lambda match: bare[match[0]], low)


@cache
def _accent_table() -> tuple[re.Pattern[str], dict[str, str]]:
    """Letters with accents, and what they are without, where that is one letter."""
    letters = [chr(code) for code in range(0xC0, 0x2000) if chr(code).isalpha() and not has_unspaced_script(chr(code))]
    bare = {letter: plain for letter in letters if (plain := _without_accent(letter)) != letter}
    return re.compile(f"[{''.join(bare)}]"), bare


def _without_accent(letter: str) -> str:
    plain = fold_accents(letter)
    return unicodedata.normalize("NFD", plain)[0] if len(plain) == 1 else letter


def _without_overlaps(matches: Sequence[TextMatch]) -> list[TextMatch]:
    """Places that overlap, as pairs of characters do, become one."""
    kept: list[TextMatch] = []
    for match in matches:
        if kept and match.start < kept[-1].end:
            last = kept.pop()
            kept.append(TextMatch(last.start, max(last.end, match.end), last.slot))
        else:
            kept.append(match)
    return kept


# -- the stretch -------------------------------------------------------------------------------------------------------


def render_snippet(
    runs: Sequence[tuple[int, str]],
    window: TextWindow | None,
    finder: MatchFinder,
    language: str,
    description: str = "",
) -> str:
    """The part of a page's text that shows the most words of the question nearest together, as HTML.

    `runs` is the page's text as it was indexed: the title first, then the body in reading order.
    """
    text = _window_text(runs, window) if window is not None else ""
    matches = finder.find(text, language)
    if not matches:
        return _render_beginning(description or _first_prose(runs))
    first, last = _shortest_span(matches)
    start, end = _expand_to_sentences(text, first, last)
    return _render_html(text, start, end, [match for match in matches if match.start >= start and match.end <= end])


def _window_text(runs: Sequence[tuple[int, str]], window: TextWindow) -> str:
    """The text of a stretch, with what stands before and behind it as far as it may be shown; a run a line."""
    if window.last_run >= len(runs):  # the page changed since it was indexed
        return ""
    text = "\n".join(run for _, run in runs[window.first_run : window.last_run + 1])
    guess = len(runs[window.first_run][1]) * window.words_before // max(1, window.run_length)
    text = _cut_at_blanks(text, max(0, guess - CONTEXT_LENGTH), guess + SNIPPET_LENGTH + CONTEXT_LENGTH)
    before, behind = window.first_run - 1, window.last_run + 1
    while behind < len(runs) and len(text) < 2 * SNIPPET_LENGTH:
        text += "\n" + runs[behind][1][:SNIPPET_LENGTH]
        behind += 1
    while before >= 0 and runs[before][0] != Field.TITLE and len(text) < 2 * SNIPPET_LENGTH:
        run = runs[before][1]
        text = _cut_at_blanks(run, max(0, len(run) - CONTEXT_LENGTH), len(run)) + "\n" + text
        before -= 1
    return text


def _cut_at_blanks(text: str, start: int, end: int) -> str:
    """Part of a text from blank to blank."""
    start = text.find(" ", start) + 1 if start and " " in text[start:end] else start
    return text[start : end if end >= len(text) else max(end - SNIPPET_LENGTH, text.rfind(" ", start, end))]


def _shortest_span(matches: Sequence[TextMatch]) -> tuple[int, int]:
    """The shortest part that holds most words and fits: one pass, in which its first word occurs in it once."""
    count: Counter[int] = Counter()
    first = held = 0  # of the part at hand: its first place, and how many different words it holds
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
    """A stretch with its sentences, as far as there is room; where there is not, up to whole words."""
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
    """The next beginning of a word from `start` on; never inside a character that is made of several."""
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
    """Whether a cut before this character would take a mark, a joiner or a modifier from its letter."""
    if index >= len(text):
        return False
    here, before = text[index], text[index - 1]
    return (
        unicodedata.category(here).startswith(("M", "Sk"))
        or here in JOINERS
        or before in JOINERS
        or "\U0001f1e6" <= here <= "\U0001f1ff"  # letters of flags come in pairs
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
    """The first paragraph; without one, the first text that is no title."""
    prose = next((text for field, text in runs if field == Field.PARAGRAPH), None)
    return prose if prose is not None else next((text for field, text in runs if field not in HEADLINE_FIELDS), "")


def _escape_text(text: str) -> str:
    return escape(without_hidden_characters(text), quote=True)


def without_hidden_characters(text: str) -> str:
    """A text without what is not seen and acts on what is: breaks are spaces, controls and direction marks are gone."""
    plain = text.isascii() and text.isprintable()
    return text if plain else HIDDEN.sub(_replace_hidden, text)


def _replace_hidden(match: re.Match[str]) -> str:
    hidden = match[1]
    return match[0] if hidden is None else " " if hidden.isspace() else ""
