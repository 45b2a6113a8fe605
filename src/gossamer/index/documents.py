"""Pages -> documents: texts analysed, words numbered, a whole batch at a time.

The texts are cut into pieces first; the pieces of the batch that have no number yet are numbered in one call to the
store; then each page is put together with two look-ups a piece: its terms, and its WordIDs as bytes.
"""

from __future__ import annotations

import struct
from collections import Counter, defaultdict
from collections.abc import Sequence
from email.utils import parsedate_to_datetime
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple, TypeVar, overload
from urllib.parse import unquote

import numpy as np

from gossamer.errors import StoreCorrupt
from gossamer.index.analyze import (
    BREAK,
    LONGEST_REMEMBERED,
    MOST_REMEMBERED,
    NONE,
    Analysis,
    analysis,
    cut_runs,
    language_of,
)
from gossamer.index.base import Document, stop_code
from gossamer.model import Field
from gossamer.store.packed import decode_fields, decode_run, decode_runs

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gossamer.index.analyze import PieceWord
    from gossamer.index.base import WordIds
    from gossamer.store.following import Standing

HEADINGS = frozenset({Field.H1, Field.H2, Field.H3, Field.H4, Field.H5, Field.H6})
# How many documents hold a word as it is written is counted in full at first, then on every eighth page, for eight.
COUNTED_IN_FULL = 2_000  # documents
COUNTED = 8
MOST_WORDS = MOST_REMEMBERED  # words in pieces that are remembered
_NO_WORD = b"\0\0\0\0"  # stands for a break: WordIDs begin at 1
_PACK = struct.Struct("<I").pack

Run = TypeVar("Run")


class _Cut(NamedTuple):
    """A page whose texts are cut into pieces."""

    standing: Standing
    analysis: Analysis
    fields: list[int]  # Fields of its runs, the title first
    pieces: list[bytes]  # of its runs, a BREAK between each two


class Batch(NamedTuple):
    """The documents of a batch, and what could not be read."""

    documents: list[Document]
    unreadable: dict[int, str]


class _Memo:
    """What one language's pieces of text are, as far as they were met."""

    def __init__(self, how: Analysis) -> None:
        self._how = how
        self.seen: Counter[bytes] = Counter()  # in how many documents, since the forms were last taken
        self.fresh: list[bytes] = []  # met for the first time since then
        self.long: list[bytes] = []  # likewise, in the batch at hand
        self.loose: Counter[tuple[str, str]] = Counter()  # words of pieces that are not remembered
        self.forget()

    def drop_long(self) -> None:
        """Long pieces are text without blanks and do not come again; of these only the words are kept."""
        for piece in self.long:
            number = self.seen.pop(piece)
            forms = self.forms_of(piece)
            self.words -= len(forms)
            for form in forms:
                self.loose[form] += number
            self._forms.pop(piece, None)
            del self.numbers[piece]
        self.long.clear()

    def learn(self, piece: bytes, words: list[PieceWord], numbers: bytes) -> None:
        """Remember a piece. Plain words are not written down a second time: there are a hundred thousand of them."""
        self._how.learn(piece, words)
        self.words += len(words)
        self.seen.setdefault(piece, 1)
        (self.long if len(piece) > LONGEST_REMEMBERED else self.fresh).append(piece)
        self.numbers[piece] = numbers
        if not piece.isalnum():
            self._forms[piece] = [(word.form, word.term) for word in words]

    def forms_of(self, piece: bytes) -> list[tuple[str, str]]:
        """The words of a piece as they are written, and their terms."""
        return [(piece.decode(), self._how.joined([piece]))] if piece.isalnum() else self._forms[piece]

    def forget(self) -> None:
        self.words = 0  # in all pieces
        self.numbers: dict[bytes, bytes] = {BREAK: _NO_WORD}  # piece -> the WordIDs of its words
        self._forms: dict[bytes, list[tuple[str, str]]] = {BREAK: []}  # of pieces that are more than a plain word


class DocumentMaker:
    """Makes documents; remembers between batches what it met."""

    def __init__(self, words: WordIds) -> None:
        self._words = words
        self._memos: dict[Analysis, _Memo] = {}
        self._made = 0

    def make(self, standings: Iterable[Standing]) -> Batch:
        """The documents of pages that have text."""
        cut, unreadable = [], {}
        for standing in standings:
            try:
                cut.append(_cut(standing))
            except StoreCorrupt as error:
                unreadable[standing.id] = str(error)
        self._number(cut)
        documents = [self._document(page) for page in cut]
        for memo in self._memos.values():
            memo.drop_long()
        return Batch(documents, unreadable)

    @property
    def full(self) -> bool:
        """Whether it remembers so much that the forms should be taken now: then it starts anew."""
        return any(memo.words > MOST_WORDS for memo in self._memos.values())

    def take_forms(self, *, everything: bool = True) -> Counter[tuple[str, str]]:
        """The words met since the last call with their terms, and in how many documents.

        Unless `everything` is asked for, only those met for the first time: the counts of others can wait.
        """
        found: Counter[tuple[str, str]] = Counter()
        for memo in self._memos.values():
            found.update(memo.loose)
            memo.loose.clear()
            everything |= memo.words > MOST_WORDS
            taken = memo.seen.items() if everything else [(piece, memo.seen.pop(piece)) for piece in memo.fresh]
            for piece, number in taken:
                for form in memo.forms_of(piece):
                    found[form] += number
            memo.fresh.clear()
            if everything:
                memo.seen.clear()
                if memo.words > MOST_WORDS:
                    memo.forget()
        return found

    def _number(self, pages: Iterable[_Cut]) -> None:
        """Give the words in pieces met for the first time their numbers, all in one step."""
        met: defaultdict[Analysis, set[bytes]] = defaultdict(set)
        for page in pages:
            met[page.analysis].update(page.pieces)
            seen = self._memo(page.analysis).seen
            self._made += 1
            if self._made <= COUNTED_IN_FULL:
                seen.update(set(page.pieces))
            elif self._made % COUNTED == 0:
                seen.update(dict.fromkeys(page.pieces, COUNTED))
        new = {how: self._new(how, pieces) for how, pieces in met.items()}
        words = [word for pieces_ in new.values() for found in pieces_.values() for word in found]
        if not words:
            return
        terms = {word.term for word in words if not word.stop}
        stops = {word.term for word in words if word.stop}
        ids = self._words.word_ids(sorted(terms), sorted(stops))
        for how, pieces_ in new.items():
            memo = self._memo(how)
            for piece, found in pieces_.items():
                numbers = [_PACK(stop_code(word.term) if word.stop else ids[word.term]) for word in found]
                memo.learn(piece, found, b"".join(numbers))

    def _memo(self, how: Analysis) -> _Memo:
        memo = self._memos.get(how)
        if memo is None:
            memo = self._memos[how] = _Memo(how)
        return memo

    def _new(self, how: Analysis, met: set[bytes]) -> dict[bytes, list[PieceWord]]:
        numbers = self._memo(how).numbers
        return {piece: how.of_piece(piece) for piece in met if piece not in numbers}

    def _document(self, page: _Cut) -> Document:
        standing, how = page.standing, page.analysis
        numbers = self._memos[how].numbers.__getitem__
        terms = how.runs(page.pieces) if page.fields else []
        words, runs = _in_runs(b"".join(map(numbers, page.pieces)), page.fields)
        titles = page.fields.count(Field.TITLE)
        return Document(
            id=standing.id,
            language=how.language,
            title=" ".join(terms[:titles]),
            body=tuple(terms[titles:]),
            headings=tuple(term for term, field in zip(terms, page.fields, strict=True) if field in HEADINGS),
            url_words=url_words(standing.url, how),
            url=standing.url,
            host=standing.host,
            media_type=standing.media_type,
            changed_at=changed_at(standing.last_modified, standing.seen_at),
            twin=int.from_bytes(standing.text_digest[:8], "little"),
            words=words,
            runs=runs,
            signature=signature(standing),
        )


def as_indexed(text: bytes) -> list[tuple[int, str]]:
    """The runs of a stored text that count, each with its Field: the title first, then the body in order."""
    return _in_order(decode_runs(text))


class LazyRuns(Sequence[tuple[int, str]]):
    """The same, each run read when it is looked at: a snippet needs a few of a page's hundreds."""

    def __init__(self, text: bytes) -> None:
        self._runs = _in_order(decode_fields(text))

    def __len__(self) -> int:
        return len(self._runs)

    @overload
    def __getitem__(self, at: int) -> tuple[int, str]: ...
    @overload
    def __getitem__(self, at: slice) -> list[tuple[int, str]]: ...
    def __getitem__(self, at: int | slice) -> tuple[int, str] | list[tuple[int, str]]:
        if isinstance(at, slice):
            return [(field, decode_run(run)) for field, run in self._runs[at]]
        field, run = self._runs[at]
        return field, decode_run(run)


def _in_order(runs: list[tuple[int, Run]]) -> list[tuple[int, Run]]:
    fields = [run[0] for run in runs]
    if Field.TITLE not in fields[1:] and Field.DESCRIPTION not in fields[2:]:  # as parsers write it
        return [run for run in runs[:2] if run[0] != Field.DESCRIPTION] + runs[2:]
    titles = [run for run in runs if run[0] == Field.TITLE]
    return titles + [run for run in runs if run[0] not in {Field.TITLE, Field.DESCRIPTION}]


def _cut(standing: Standing) -> _Cut:
    assert standing.text is not None
    runs = as_indexed(standing.text)
    texts = [text for _, text in runs]
    cut = cut_runs(texts)
    return _Cut(standing, analysis(language_of(standing.language, texts, cut)), [field for field, _ in runs], cut)


def _in_runs(numbers: bytes, fields: Sequence[int]) -> tuple[bytes, bytes]:
    """`Document.words` and `Document.runs` of numbers with breaks among them."""
    found = np.frombuffer(numbers, "<u4")
    is_word = found != 0
    counts = np.bincount(np.cumsum(~is_word)[is_word], minlength=len(fields))
    return found[is_word].tobytes(), (counts * 16 + np.array(fields, np.int64)).astype("<u4").tobytes()


def url_words(url: str, how: Analysis) -> str:
    """The words of a URL's path and query, as they are and as terms: a URL is in no language."""
    text = unquote(url.partition("://")[2].partition("/")[2])
    return " ".join(dict.fromkeys((*how.terms(text).split(), *analysis(NONE).terms(text).split())))


def changed_at(last_modified: str, seen_at: float) -> float:
    """When a page last changed: by its own word if that can be read and is not in the future, else when it was seen."""
    told = _told(last_modified)
    return told if told is not None and 0 <= told <= seen_at else seen_at


@lru_cache(maxsize=4_096)  # the files of a site often come from one day
def _told(last_modified: str) -> float | None:
    try:
        return parsedate_to_datetime(last_modified).timestamp()
    except (ValueError, OverflowError):
        return None


def signature(standing: Standing) -> bytes:
    """Equal for standings that make the same document."""
    told = (
        standing.url, standing.host, standing.language, standing.media_type, standing.last_modified,
        repr(standing.seen_at), standing.text_digest.hex(),
    )  # fmt: skip
    return blake2b("\0".join(told).encode("utf-8", "replace"), digest_size=16).digest()
