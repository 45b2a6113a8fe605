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
from gossamer.index.analyze import WITHIN, WORD, analysis, folded, is_unspaced
from gossamer.model import Field

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gossamer.search.window import Stretch

LENGTH = 240  # characters of a snippet: two to three lines
AROUND = 600  # characters of text looked at before and behind the place that the words' numbers tell
ELLIPSIS = "…"

SENTENCE_END = re.compile(r"[.!?…。\uff01\uff1f]['\"”\u2019)\]]*(?=\s)|\n")
BETWEEN = re.compile(f"[{WITHIN}]")  # what stands between the letters of a word, as far as comparing goes
BETWEEN_ASCII = re.compile("'")  # the same where there is nothing else: quicker
INSIDE = re.compile(rf"[^\W_]|[{WITHIN}]")  # what words are made of
PREFIXED = frozenset({"arabic"})  # languages whose stemmer takes off beginnings too
OPEN, CLOSE = "\2", "\3"  # stand for the marks until the text is escaped; nothing hidden is left in it by then
HEADLINES = frozenset({Field.TITLE, Field.DESCRIPTION})
JOINERS = "\u200c\u200d"  # part of how Persian, Indic scripts and emoji are written


class Place(NamedTuple):
    """Where a word of the question stands."""

    start: int
    end: int
    slot: int


class Finder:
    """Finds the words of one question in texts."""

    def __init__(self, slots: Sequence[Sequence[str]]) -> None:
        """Of each word, the terms that it may have."""
        self.slots = slots
        self._slot = {term: i for i, terms in reversed(list(enumerate(slots))) for term in terms}
        self._pairs = [term for term in self._slot if is_unspaced(term)]
        spaced = self._slot.keys() - set(self._pairs)
        letters = {BETWEEN.sub("", _comparable(term[: max(2, len(term) - 1)])) for term in spaced}
        self._starts = sorted(letters - {""})
        self._seen: defaultdict[str, dict[str, list[Place]]] = defaultdict(dict)  # by language: word -> what is in it

    def places(self, text: str, language: str) -> list[Place]:
        """Where the words stand, in order and without overlaps."""
        low = _comparable(text)
        letters = _Letters.of(low)
        found = [place for start in self._starts for place in self._forms(text, letters, start, language)]
        found += [place for term in self._pairs for place in self._exact(low, term)]
        if len(self._slot) == 1:  # there was one search, from left to right
            return _without_overlaps(found)
        return _without_overlaps(sorted({place.start: place for place in found}.values()))

    def _forms(self, text: str, letters: _Letters, start: str, language: str) -> list[Place]:
        prefixed = language in PREFIXED
        found: list[Place] = []
        since = 0  # behind the last word looked at
        alike = letters.low.find(start)
        while alike >= 0:
            at, behind = letters.place(alike), alike + 1
            before = text[at - 1 : at]
            if prefixed or not before.isalnum() or is_unspaced(before):  # else it is the middle of a word
                word = _word_at(text, at, since)
                since = word.end() if word else at + 1
                found += self._inside(word, language) if word else ()
                behind = letters.number(since)
            alike = letters.low.find(start, max(behind, alike + 1))
        return found

    def _inside(self, word: re.Match[str], language: str) -> Iterator[Place]:
        """Where words of the question stand in a word: several, where scripts without blanks are mixed in."""
        seen, start = self._seen[language], word.start()
        if word[0] not in seen:
            tokens = analysis(language).tokens(word[0])
            seen[word[0]] = [Place(it.start, it.end, self._slot[it.term]) for it in tokens if it.term in self._slot]
        return (Place(start + first, start + end, slot) for first, end, slot in seen[word[0]])

    def _exact(self, low: str, term: str) -> Iterator[Place]:
        at = low.find(term)
        while at >= 0:
            yield Place(at, at + len(term), self._slot[term])
            at = low.find(term, at + 1)


class _Letters(NamedTuple):
    """A comparable text without what stands between the letters of words."""

    low: str
    left_out: list[int]  # places in the text
    shifts: list[int]  # of each: how many characters are kept before it

    @classmethod
    def of(cls, low: str) -> _Letters:
        between = BETWEEN_ASCII if low.isascii() else BETWEEN
        left_out = [match.start() for match in between.finditer(low)]
        if not left_out:
            return cls(low, [], [])
        return cls(between.sub("", low), left_out, [place - number for number, place in enumerate(left_out)])

    def place(self, number: int) -> int:
        """Where a character that was kept stands in the text."""
        return number + bisect_right(self.shifts, number)

    def number(self, place: int) -> int:
        """How many characters are kept before a place in the text."""
        return place - bisect_left(self.left_out, place)


def _word_at(text: str, at: int, since: int) -> re.Match[str] | None:
    """The word that a letter is in, if words before a place are known; none where it is a mark that has no letter."""
    start = at
    while start > since and INSIDE.match(text, start - 1):
        start -= 1
    if start == at:
        return WORD.match(text, at)
    return next((word for word in WORD.finditer(text, start) if word.end() > at), None)


def _comparable(text: str) -> str:
    """A text in lower case and without accents, as many characters as before.

    Forms of a word begin alike then, and some others do too: й and и.
    """
    low = text.replace("İ", "I").lower()  # the one letter that becomes two in lower case
    if low.isascii():
        return low
    accented, bare = _accents()
    return accented.sub(lambda match: bare[match[0]], low)


@cache
def _accents() -> tuple[re.Pattern[str], dict[str, str]]:
    """Letters with accents, and what they are without, where that is one letter."""
    letters = [chr(code) for code in range(0xC0, 0x2000) if chr(code).isalpha() and not is_unspaced(chr(code))]
    bare = {letter: plain for letter in letters if (plain := _without_accent(letter)) != letter}
    return re.compile(f"[{''.join(bare)}]"), bare


def _without_accent(letter: str) -> str:
    plain = folded(letter)
    return unicodedata.normalize("NFD", plain)[0] if len(plain) == 1 else letter


def _without_overlaps(places: Sequence[Place]) -> list[Place]:
    """Places that overlap, as pairs of characters do, become one."""
    kept: list[Place] = []
    for place in places:
        if kept and place.start < kept[-1].end:
            last = kept.pop()
            kept.append(Place(last.start, max(last.end, place.end), last.slot))
        else:
            kept.append(place)
    return kept


# -- the stretch -------------------------------------------------------------------------------------------------------


def snippet(
    runs: Sequence[tuple[int, str]], stretch: Stretch | None, finder: Finder, language: str, description: str = ""
) -> str:
    """The part of a page's text that shows the most words of the question nearest together, as HTML.

    `runs` is the page's text as it was indexed: the title first, then the body in reading order.
    """
    text = _around(runs, stretch) if stretch is not None else ""
    places = finder.places(text, language)
    if not places:
        return _beginning(description or _first_prose(runs))
    first, last = _shortest(places)
    start, end = _grown(text, first, last)
    return _html(text, start, end, [place for place in places if place.start >= start and place.end <= end])


def _around(runs: Sequence[tuple[int, str]], stretch: Stretch) -> str:
    """The text of a stretch, with what stands before and behind it as far as it may be shown; a run a line."""
    if stretch.last >= len(runs):  # the page changed since it was indexed
        return ""
    text = "\n".join(run for _, run in runs[stretch.run : stretch.last + 1])
    guess = len(runs[stretch.run][1]) * stretch.words // max(1, stretch.of)
    text = _window(text, max(0, guess - AROUND), guess + LENGTH + AROUND)
    before, behind = stretch.run - 1, stretch.last + 1
    while behind < len(runs) and len(text) < 2 * LENGTH:
        text += "\n" + runs[behind][1][:LENGTH]
        behind += 1
    while before >= 0 and runs[before][0] != Field.TITLE and len(text) < 2 * LENGTH:
        run = runs[before][1]
        text = _window(run, max(0, len(run) - AROUND), len(run)) + "\n" + text
        before -= 1
    return text


def _window(text: str, start: int, end: int) -> str:
    """Part of a text from blank to blank."""
    start = text.find(" ", start) + 1 if start and " " in text[start:end] else start
    return text[start : end if end >= len(text) else max(end - LENGTH, text.rfind(" ", start, end))]


def _shortest(places: Sequence[Place]) -> tuple[int, int]:
    """The shortest part that holds most words and fits: one pass, in which its first word occurs in it once."""
    count: Counter[int] = Counter()
    first = held = 0  # of the part at hand: its first place, and how many different words it holds
    best, best_key = (0, 0), (0, 0)
    for place in places:
        held += not count[place.slot]
        count[place.slot] += 1
        while (word := places[first]) is not place and (count[word.slot] > 1 or place.end - word.start > LENGTH):
            count[word.slot] -= 1
            held -= not count[word.slot]
            first += 1
        key = (held, word.start - place.end)
        if key > best_key:
            best, best_key = (word.start, place.end), key
    return best


def _grown(text: str, first: int, last: int) -> tuple[int, int]:
    """A stretch with its sentences, as far as there is room; where there is not, up to whole words."""
    room = max(0, LENGTH - (last - first))
    edges = [match.end() for match in SENTENCE_END.finditer(text, max(0, first - room), first)]
    start = edges[-1] if edges else max(0, first - room)
    if not edges and start:
        start = _word_start(text, max(start, first - room // 2), first)
    end = min(len(text), max(last, start + LENGTH))
    ends = [match.end() for match in SENTENCE_END.finditer(text, last, end)]
    if end < len(text):
        end = ends[-1] if ends else _word_end(text, last, end)
    return start, end


def _word_start(text: str, start: int, latest: int) -> int:
    """The next beginning of a word from `start` on; never inside a character that is made of several."""
    blank = re.compile(r"\s").search(text, start, latest)
    if blank:
        return blank.end()
    while start < latest and _belongs_to_left(text, start):
        start += 1
    return start


def _word_end(text: str, earliest: int, end: int) -> int:
    blank = max(text.rfind(" ", earliest, end), text.rfind("\n", earliest, end))
    if blank >= 0:
        return blank
    while end > earliest and _belongs_to_left(text, end):
        end -= 1
    return end


def _belongs_to_left(text: str, at: int) -> bool:
    """Whether a cut before this character would take a mark, a joiner or a modifier from its letter."""
    if at >= len(text):
        return False
    here, before = text[at], text[at - 1]
    return (
        unicodedata.category(here).startswith(("M", "Sk"))
        or here in JOINERS
        or before in JOINERS
        or "\U0001f1e6" <= here <= "\U0001f1ff"  # letters of flags come in pairs
    )


# -- HTML --------------------------------------------------------------------------------------------------------------


def _html(text: str, start: int, end: int, places: Sequence[Place]) -> str:
    before = ELLIPSIS if start and text[start - 1] != "\n" else ""
    cut = end < len(text) and not SENTENCE_END.match(text, end - 1) and text[end] != "\n"
    shown = text[start:end].replace("\n", " ")
    parts, at = [before], 0
    for place in places:
        first, last = place.start - start, place.end - start
        parts += (harmless(shown[at:first]), OPEN, harmless(shown[first:last]), CLOSE)
        at = last
    parts += (harmless(shown[at:]), ELLIPSIS if cut else "")
    return escape("".join(parts).strip()).replace(OPEN, "<mark>").replace(CLOSE, "</mark>")


def _beginning(text: str) -> str:
    end = len(text) if len(text) <= LENGTH else _word_end(text, 0, LENGTH)
    return _clean(text[:end]).strip() + (ELLIPSIS if end < len(text) else "")


def _first_prose(runs: Sequence[tuple[int, str]]) -> str:
    """The first paragraph; without one, the first text that is no title."""
    prose = next((text for field, text in runs if field == Field.PARAGRAPH), None)
    return prose if prose is not None else next((text for field, text in runs if field not in HEADLINES), "")


def _clean(text: str) -> str:
    return escape(harmless(text), quote=True)


def harmless(text: str) -> str:
    """A text without what is not seen and acts on what is: breaks are spaces, controls and direction marks are gone."""
    plain = text.isascii() and text.isprintable()
    return text if plain else HIDDEN.sub(_unhidden, text)


def _unhidden(match: re.Match[str]) -> str:
    hidden = match[1]
    return match[0] if hidden is None else " " if hidden.isspace() else ""
