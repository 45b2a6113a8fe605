"""Pieces of text -> their words: each piece of a language is analysed and numbered once.

`LanguagePieces` joins a table of pieces with the analyzer of its language. The table is the kernel's, or
`PythonPieceTable` with the same results. It cuts pages into pieces, remembers the terms and word codes of each piece,
and makes the columns of documents. It returns new pieces to Python, so `analyze` alone defines what a word is.
"""

from __future__ import annotations

from array import array
from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING, TypeVar

import msgspec
import numpy as np

from gossamer.errors import StoreCorrupt
from gossamer.index.analyze import (
    LONGEST_CACHED_PIECE,
    MOST_CACHED_PIECES,
    ONLY_ENGLISH,
    RUN_BREAK,
    SAMPLE_LENGTH,
    SAMPLE_PIECES,
    LanguageSample,
    sample_texts,
    split_runs,
    split_terms_by_run,
)
from gossamer.index.protocol import stop_code
from gossamer.kernels import native
from gossamer.model import Field
from gossamer.store.content import read_runs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from gossamer.index.analyze import Analyzer, PieceWord
    from gossamer.kernels import DocumentColumns, PieceCounts, PieceTable

HEADINGS = frozenset({Field.H1, Field.H2, Field.H3, Field.H4, Field.H5, Field.H6})
MOST_CACHED_WORDS = MOST_CACHED_PIECES  # words in cached pieces
BREAK_NUMBER = 0  # the number of RUN_BREAK in drafts, which separates runs; WordIDs begin at 1
MOST_FIELDS = 16  # that `Document.runs` can hold

Run = TypeVar("Run")
Form = tuple[str, str]  # a written word and its term


class LanguagePieces:
    """The pieces of one language, and the words that an analyzer finds in them."""

    def __init__(self, analyzer: Analyzer) -> None:
        self.analyzer = analyzer
        self._uncached_forms: Counter[Form] = Counter()  # words of pieces that are too long to cache
        self._reset()

    def _reset(self) -> None:
        self.table: PieceTable = PythonPieceTable() if native is None else native.PieceTable()
        self._word_count = 0  # in all cached pieces
        self._forms: dict[bytes, list[Form]] = {}  # of pieces other than a plain word
        self._batch: list[tuple[bytes, list[PieceWord]]] = []

    @property
    def is_full(self) -> bool:
        """Whether the table holds so many words that `take_forms` should empty it."""
        return self._word_count > MOST_CACHED_WORDS

    def draft(self, text: bytes, weight: int) -> int:
        """Cut an unpacked text into pieces, and count it `weight` times; return the number of the draft."""
        number = self.table.draft(text, weight)
        if number is None:  # write the text as parsers do, or raise the reason why it cannot be read
            number = self.table.draft(msgspec.msgpack.encode(read_runs(text)), weight)
        if number is None:
            raise StoreCorrupt("A stored text cannot be read (it has an unknown field).")
        return number

    def analyze_new_pieces(self) -> Iterator[PieceWord]:
        """Analyse the new pieces of the batch; return their words."""
        pieces = self.table.new_pieces().split()
        self._batch = list(zip(pieces, self.analyzer.words_of_pieces(pieces), strict=True))
        return chain.from_iterable(words for _, words in self._batch)

    def learn(self, word_ids: Mapping[str, int]) -> None:
        """Give the new pieces their terms, and the codes of their words."""
        lists = [words for _, words in self._batch]
        codes = [stop_code(word.term) if word.stop else word_ids[word.term] for word in chain.from_iterable(lists)]
        self.table.learn(
            "\n".join([" ".join([word.term for word in words]) for words in lists]),
            np.array([len(words) for words in lists], "<u4").tobytes(),
            np.array(codes, "<u4").tobytes(),
        )

    def end_batch(self) -> None:
        """Forget the drafts. Drop long pieces too: they are text without spaces and seldom repeat."""
        for piece, words in self._batch:
            self._word_count += len(words)
            if not piece.isalnum():
                self._forms[piece] = [(word.form, word.term) for word in words]
        self._batch = []
        long_pieces = self.table.end_batch(LONGEST_CACHED_PIECE)
        self._count_forms(long_pieces, self._uncached_forms)
        for piece in long_pieces[0].split():
            self._word_count -= len(self._forms.pop(piece, ("",)))

    def take_forms(self, *, everything: bool) -> Counter[Form]:
        """Return the document counts of written words since the last call, or only of words new since then."""
        counts, self._uncached_forms = self._uncached_forms, Counter()
        self._count_forms(self.table.take_counts(everything or self.is_full), counts)
        if self.is_full:
            self._reset()
        return counts

    def _count_forms(self, piece_counts: PieceCounts, counts: Counter[Form]) -> None:
        pieces, terms, numbers = piece_counts
        columns = pieces.split(), terms.split("\n"), np.frombuffer(numbers, "<u4").tolist()
        for piece, term, number in zip(*columns, strict=bool(pieces)):  # without pieces, there is one empty term
            for form in [(piece.decode(), term)] if piece.isalnum() else self._forms[piece]:
                counts[form] += number


class _PieceNumbers(dict[bytes, int]):
    """Pieces -> their numbers. Numbers of dropped pieces are used again."""

    def __init__(self) -> None:
        super().__init__()
        self[RUN_BREAK] = BREAK_NUMBER
        self.free: list[int] = []
        self.pieces = [RUN_BREAK]  # by number
        self.batch: list[int] = []  # new pieces of this batch

    def __missing__(self, piece: bytes) -> int:
        if self.free:
            number = self.free.pop()
            self.pieces[number] = piece
        else:
            number = len(self.pieces)
            self.pieces.append(piece)
        self[piece] = number
        self.batch.append(number)
        return number


class PythonPieceTable:
    """The table of pieces without the kernel; see `kernels.PieceTable`."""

    def __init__(self) -> None:
        self._numbers = _PieceNumbers()
        self._terms: dict[int, str] = {BREAK_NUMBER: RUN_BREAK.decode()}
        self._codes: dict[int, bytes] = {BREAK_NUMBER: bytes(4)}
        self._documents: Counter[int] = Counter()  # that hold each piece
        self._kept: list[int] = []  # new pieces since the last `take_counts`
        self._drafts: list[tuple[list[int], array[int]]] = []  # fields of the runs, and numbers of the pieces

    def draft(self, text: bytes, weight: int) -> int | None:
        """Cut a text and count its pieces; return the draft's number."""
        runs = order_runs(read_runs(text))
        if not all(0 <= field < MOST_FIELDS for field, _ in runs):
            return None
        numbers = array("I", map(self._numbers.__getitem__, split_runs([text for _, text in runs])))
        if weight:
            self._documents.update(dict.fromkeys(numbers, weight))
        self._drafts.append(([field for field, _ in runs], numbers))
        return len(self._drafts) - 1

    def new_pieces(self) -> bytes:
        """Return the new pieces of this batch."""
        return b" ".join([self._numbers.pieces[number] for number in self._numbers.batch])

    def learn(self, terms: str, counts: bytes, codes: bytes) -> None:
        """Take the words of the new pieces."""
        end = 0
        for number, piece_terms, count in zip(
            self._numbers.batch, terms.split("\n"), np.frombuffer(counts, "<u4").tolist(), strict=False
        ):
            start, end = end, end + 4 * count
            self._terms[number], self._codes[number] = piece_terms, codes[start:end]

    def document(self, draft: int) -> DocumentColumns:
        """Return the columns of a document."""
        fields, numbers = self._drafts[draft]
        terms = split_terms_by_run(" ".join(map(self._terms.__getitem__, numbers))) if fields else []
        words, runs = _pack_runs(np.frombuffer(b"".join(map(self._codes.__getitem__, numbers)), "<u4"), fields)
        titles = fields.count(Field.TITLE)
        headings = tuple(run for run, field in zip(terms, fields, strict=True) if field in HEADINGS)
        return " ".join(terms[:titles]), tuple(terms[titles:]), headings, words, runs

    def end_batch(self, longest: int) -> PieceCounts:
        """Forget the drafts and long pieces."""
        numbers = self._numbers
        self._drafts.clear()
        long: list[int] = []
        for number in numbers.batch:
            self._documents.setdefault(number, 1)
            (long if len(numbers.pieces[number]) > longest else self._kept).append(number)
        numbers.batch.clear()
        counts = self._take(long)
        for number in long:
            del numbers[numbers.pieces[number]]
        numbers.free += long
        return counts

    def take_counts(self, everything: bool) -> PieceCounts:
        """Return the counted pieces."""
        kept, self._kept = self._kept, []
        return self._take([number for number in self._documents if number != BREAK_NUMBER] if everything else kept)

    def _take(self, numbers: Sequence[int]) -> PieceCounts:
        return (
            b" ".join([self._numbers.pieces[number] for number in numbers]),
            "\n".join([self._terms[number] for number in numbers]),
            np.array([self._documents.pop(number) for number in numbers], "<u4").tobytes(),
        )


def order_runs(runs: list[tuple[int, Run]]) -> list[tuple[int, Run]]:
    """Return the runs that the index takes: titles first, then the others, without descriptions."""
    fields = [run[0] for run in runs]
    if Field.TITLE not in fields[1:] and Field.DESCRIPTION not in fields[2:]:  # the order that parsers write
        return [run for run in runs[:2] if run[0] != Field.DESCRIPTION] + runs[2:]
    titles = [run for run in runs if run[0] == Field.TITLE]
    return titles + [run for run in runs if run[0] not in {Field.TITLE, Field.DESCRIPTION}]


def sample_text(text: bytes) -> LanguageSample:
    """Return a sample of an unpacked text, to guess its language."""
    found = None if native is None else native.sample_text(text, SAMPLE_LENGTH, SAMPLE_PIECES, ONLY_ENGLISH)
    if found is not None:
        return LanguageSample(*found)
    texts = [run for _, run in order_runs(read_runs(text))]
    return sample_texts(texts, split_runs(texts))


def _pack_runs(codes: NDArray[np.uint32], fields: Sequence[int]) -> tuple[bytes, bytes]:
    """Return `Document.words` and `Document.runs` of codes with break codes."""
    is_word = codes != BREAK_NUMBER
    counts = np.bincount(np.cumsum(~is_word)[is_word], minlength=len(fields))
    return codes[is_word].tobytes(), (counts * 16 + np.array(fields, np.int64)).astype("<u4").tobytes()
