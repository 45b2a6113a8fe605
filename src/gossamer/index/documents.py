"""Pages -> documents: texts analysed, words numbered, a whole batch at a time.

A page's texts are cut into pieces, and each is looked up once: its terms, and the numbers of its words as bytes. Words
met for the first time get theirs from the store in one call for the whole batch; until then others stand for them.
"""

from __future__ import annotations

import struct
from collections import Counter
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
    in_runs,
    language_of,
    pieces,
)
from gossamer.index.protocol import Document, stop_code
from gossamer.model import Field
from gossamer.store.content import decode_fields, decode_run, decode_runs

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from gossamer.index.analyze import PieceWord
    from gossamer.index.protocol import WordIds
    from gossamer.store.follow.changes import Standing

HEADINGS = frozenset({Field.H1, Field.H2, Field.H3, Field.H4, Field.H5, Field.H6})
# How many documents hold a word as it is written is counted in full at first, then on every eighth page, for eight.
COUNTED_IN_FULL = 2_000  # documents
COUNTED = 8
MOST_WORDS = MOST_REMEMBERED  # words in pieces that are remembered
STAND_INS = 1 << 30  # numbers from here on stand for terms that have no WordID yet; no web has so many words
_NO_WORD = b"\0\0\0\0"  # stands for a break: WordIDs begin at 1
_PACK = struct.Struct("<I").pack

Run = TypeVar("Run")


class _Draft(NamedTuple):
    """A page whose texts are analysed; words met for the first time have no WordIDs yet."""

    standing: Standing
    how: Analysis
    fields: list[int]  # Fields of its runs, the title first
    terms: list[str]  # of each run
    numbers: bytes  # of its words, a break between each two runs


class Batch(NamedTuple):
    """The documents of a batch, and what could not be read."""

    documents: list[Document]
    unreadable: dict[int, str]


class _NewTerms:
    """Terms of pieces that a batch is the first to have, and what stands for each until the store has numbered it."""

    def __init__(self) -> None:
        self._stand_ins: dict[str, int] = {}
        self._stops: set[str] = set()
        self._ids: NDArray[np.uint32] = np.empty(0, "<u4")

    @property
    def are_left(self) -> bool:
        """Whether a batch was not brought to its end."""
        return bool(self._stand_ins)

    def packed(self, words: Iterable[PieceWord]) -> bytes:
        """What stands for these words, four bytes each."""
        return b"".join(map(self._packed, words))

    def _packed(self, word: PieceWord) -> bytes:
        if word.stop:
            self._stops.add(word.term)
            return _PACK(stop_code(word.term))
        return _PACK(self._stand_ins.setdefault(word.term, STAND_INS + len(self._stand_ins)))

    def number(self, words: WordIds) -> None:
        """Give all of them WordIDs, in one step."""
        ids = words.word_ids(sorted(self._stand_ins), sorted(self._stops)) if self._stand_ins or self._stops else {}
        self._ids = np.array([ids[term] for term in self._stand_ins], "<u4")

    def numbered(self, numbers: bytes) -> NDArray[np.uint32]:
        """The same with WordIDs."""
        found = np.frombuffer(numbers, "<u4")
        behind = found - np.uint32(STAND_INS)  # what is smaller becomes very large
        places = np.flatnonzero(behind < len(self._ids))
        if len(places):
            found = found.copy()
            found[places] = self._ids[behind[places]]
        return found

    def clear(self) -> None:
        """The next batch comes."""
        self._stand_ins.clear()
        self._stops.clear()


class _Memo(dict[bytes, tuple[str, bytes]]):
    """The pieces of text of one language, as far as they were met -> their terms, and the numbers of their words."""

    def __init__(self, how: Analysis, terms: _NewTerms) -> None:
        super().__init__()
        self._how, self._terms = how, terms
        self._new: dict[bytes, list[PieceWord]] = {}  # in the batch at hand
        self.seen: Counter[bytes] = Counter()  # in how many documents, since the forms were last taken
        self.fresh: list[bytes] = []  # met for the first time since then
        self.loose: Counter[tuple[str, str]] = Counter()  # words of pieces that are not remembered
        self.forget()

    def __missing__(self, piece: bytes) -> tuple[str, bytes]:
        words = self._new[piece] = self._how.of_piece(piece)
        known = self[piece] = " ".join([word.term for word in words]), self._terms.packed(words)
        return known

    def settle(self) -> None:
        """At the end of a batch, the terms of new pieces have WordIDs."""
        numbers = self._terms.numbered(b"".join([self[piece][1] for piece in self._new])).tobytes()
        end = 0
        for piece, words in self._new.items():
            start, end = end, end + 4 * len(words)
            self.seen.setdefault(piece, 1)
            if len(piece) > LONGEST_REMEMBERED:
                self._drop(piece, words)
            else:
                self._keep(piece, words, numbers[start:end])
        self._new.clear()

    def _keep(self, piece: bytes, words: list[PieceWord], numbers: bytes) -> None:
        """Plain words are not written down a second time: there are a hundred thousand of them."""
        self[piece] = self[piece][0], numbers
        self.fresh.append(piece)
        self.words += len(words)
        if not piece.isalnum():
            self._forms[piece] = [(word.form, word.term) for word in words]

    def _drop(self, piece: bytes, words: list[PieceWord]) -> None:
        """Long pieces are text without blanks and do not come again; of these only the words are kept."""
        del self[piece]
        number = self.seen.pop(piece)
        for word in words:
            self.loose[word.form, word.term] += number

    def forms_of(self, piece: bytes) -> list[tuple[str, str]]:
        """The words of a piece as they are written, and their terms."""
        return [(piece.decode(), self[piece][0])] if piece.isalnum() else self._forms[piece]

    def forget(self) -> None:
        self.clear()
        self[BREAK] = BREAK.decode(), _NO_WORD
        self.words = 0  # in all pieces
        self._forms: dict[bytes, list[tuple[str, str]]] = {BREAK: []}  # of pieces that are more than a plain word


class DocumentMaker:
    """Makes documents; remembers between batches what it met."""

    def __init__(self, words: WordIds) -> None:
        self._words = words
        self._terms = _NewTerms()
        self._memos: dict[Analysis, _Memo] = {}
        self._made = 0

    def make(self, standings: Iterable[Standing]) -> Batch:
        """The documents of pages that have text."""
        if self._terms.are_left:  # the batch before broke off: what stands for words in the memos are no WordIDs
            self._memos.clear()
            self._terms.clear()
        drafts, unreadable = [], {}
        for standing in standings:
            try:
                drafts.append(self._draft(standing))
            except StoreCorrupt as error:
                unreadable[standing.id] = str(error)
        self._terms.number(self._words)
        documents = [self._document(draft) for draft in drafts]
        for memo in self._memos.values():
            memo.settle()
        self._terms.clear()
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

    def _draft(self, standing: Standing) -> _Draft:
        assert standing.text is not None
        runs = as_indexed(standing.text)
        texts = [text for _, text in runs]
        cut = cut_runs(texts)
        how = analysis(language_of(standing.language, texts, cut))
        memo = self._memos.get(how)
        if memo is None:
            memo = self._memos[how] = _Memo(how, self._terms)
        found = list(map(memo.__getitem__, cut))
        terms, numbers = [one for one, _ in found], [one for _, one in found]
        self._made += 1
        if self._made <= COUNTED_IN_FULL:
            memo.seen.update(set(cut))
        elif self._made % COUNTED == 0:
            memo.seen.update(dict.fromkeys(cut, COUNTED))
        fields = [field for field, _ in runs]
        return _Draft(standing, how, fields, in_runs(" ".join(terms)) if runs else [], b"".join(numbers))

    def _document(self, page: _Draft) -> Document:
        standing, terms = page.standing, page.terms
        words, runs = _in_runs(self._terms.numbered(page.numbers), page.fields)
        titles = page.fields.count(Field.TITLE)
        return Document(
            id=standing.id,
            language=page.how.language,
            title=" ".join(terms[:titles]),
            body=tuple(terms[titles:]),
            headings=tuple(term for term, field in zip(terms, page.fields, strict=True) if field in HEADINGS),
            url_words=url_words(standing.url, page.how),
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


def _in_runs(numbers: NDArray[np.uint32], fields: Sequence[int]) -> tuple[bytes, bytes]:
    """`Document.words` and `Document.runs` of numbers with breaks among them."""
    is_word = numbers != 0
    counts = np.bincount(np.cumsum(~is_word)[is_word], minlength=len(fields))
    return numbers[is_word].tobytes(), (counts * 16 + np.array(fields, np.int64)).astype("<u4").tobytes()


def url_words(url: str, how: Analysis) -> str:
    """The words of a URL's path and query, as they are and as terms: a URL is in no language."""
    cut = pieces(unquote(url.partition("://")[2].partition("/")[2]))
    return " ".join(dict.fromkeys((*how.joined(cut).split(), *analysis(NONE).joined(cut).split())))


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
