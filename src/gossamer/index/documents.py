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
    LONGEST_CACHED_PIECE,
    MOST_CACHED_PIECES,
    NO_LANGUAGE,
    RUN_BREAK,
    Analyzer,
    detect_language,
    get_analyzer,
    split_pieces,
    split_runs,
    split_terms_by_run,
)
from gossamer.index.protocol import Document, stop_code
from gossamer.model import Field
from gossamer.store.content import decode_fields, decode_run, decode_runs

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from gossamer.index.analyze import PieceWord
    from gossamer.index.protocol import WordIdSource
    from gossamer.store.follow.changes import IndexableResource

HEADINGS = frozenset({Field.H1, Field.H2, Field.H3, Field.H4, Field.H5, Field.H6})
# How many documents hold a word as it is written is counted in full at first, then on every eighth page, for eight.
FULLY_COUNTED_DOCUMENTS = 2_000  # documents
COUNT_EVERY = 8
MOST_CACHED_WORDS = MOST_CACHED_PIECES  # words in pieces that are remembered
FIRST_PLACEHOLDER = 1 << 30  # numbers from here on stand for terms that have no WordID yet; no web has so many words
_BREAK_CODE = b"\0\0\0\0"  # stands for a break: WordIDs begin at 1
_PACK = struct.Struct("<I").pack

Run = TypeVar("Run")


class _Draft(NamedTuple):
    """A page whose texts are analysed; words met for the first time have no WordIDs yet."""

    resource: IndexableResource
    analyzer: Analyzer
    fields: list[int]  # Fields of its runs, the title first
    terms: list[str]  # of each run
    codes: bytes  # of its words, a break between each two runs


class DocumentBatch(NamedTuple):
    """The documents of a batch, and what could not be read."""

    documents: list[Document]
    unreadable: dict[int, str]


class _NewTerms:
    """Terms of pieces that a batch is the first to have, and what stands for each until the store has numbered it."""

    def __init__(self) -> None:
        self._placeholders: dict[str, int] = {}
        self._stops: set[str] = set()
        self._ids: NDArray[np.uint32] = np.empty(0, "<u4")

    @property
    def is_unfinished(self) -> bool:
        """Whether a batch was not brought to its end."""
        return bool(self._placeholders)

    def pack(self, words: Iterable[PieceWord]) -> bytes:
        """What stands for these words, four bytes each."""
        return b"".join(map(self._pack_word, words))

    def _pack_word(self, word: PieceWord) -> bytes:
        if word.stop:
            self._stops.add(word.term)
            return _PACK(stop_code(word.term))
        return _PACK(self._placeholders.setdefault(word.term, FIRST_PLACEHOLDER + len(self._placeholders)))

    def assign_ids(self, source: WordIdSource) -> None:
        """Give all of them WordIDs, in one step."""
        ids = (
            source.word_ids(sorted(self._placeholders), sorted(self._stops))
            if self._placeholders or self._stops
            else {}
        )
        self._ids = np.array([ids[term] for term in self._placeholders], "<u4")

    def resolve_placeholders(self, codes: bytes) -> NDArray[np.uint32]:
        """The same with WordIDs."""
        resolved = np.frombuffer(codes, "<u4")
        placeholder_numbers = resolved - np.uint32(FIRST_PLACEHOLDER)  # what is smaller becomes very large
        positions = np.flatnonzero(placeholder_numbers < len(self._ids))
        if len(positions):
            resolved = resolved.copy()
            resolved[positions] = self._ids[placeholder_numbers[positions]]
        return resolved

    def clear(self) -> None:
        """The next batch comes."""
        self._placeholders.clear()
        self._stops.clear()


class _PieceCache(dict[bytes, tuple[str, bytes]]):
    """The pieces of text of one language, as far as they were met -> their terms, and the numbers of their words."""

    def __init__(self, analyzer: Analyzer, new_terms: _NewTerms) -> None:
        super().__init__()
        self._analyzer, self._new_terms = analyzer, new_terms
        self._batch_pieces: dict[bytes, list[PieceWord]] = {}  # in the batch at hand
        self.document_counts: Counter[bytes] = Counter()  # in how many documents, since the forms were last taken
        self.new_pieces: list[bytes] = []  # met for the first time since then
        self.uncached_forms: Counter[tuple[str, str]] = Counter()  # words of pieces that are not remembered
        self.reset()

    def __missing__(self, piece: bytes) -> tuple[str, bytes]:
        words = self._batch_pieces[piece] = self._analyzer.piece_words(piece)
        known = self[piece] = " ".join([word.term for word in words]), self._new_terms.pack(words)
        return known

    def finish_batch(self) -> None:
        """At the end of a batch, the terms of new pieces have WordIDs."""
        codes = self._new_terms.resolve_placeholders(
            b"".join([self[piece][1] for piece in self._batch_pieces])
        ).tobytes()
        end = 0
        for piece, words in self._batch_pieces.items():
            start, end = end, end + 4 * len(words)
            self.document_counts.setdefault(piece, 1)
            if len(piece) > LONGEST_CACHED_PIECE:
                self._drop(piece, words)
            else:
                self._keep(piece, words, codes[start:end])
        self._batch_pieces.clear()

    def _keep(self, piece: bytes, words: list[PieceWord], codes: bytes) -> None:
        """Plain words are not written down a second time: there are a hundred thousand of them."""
        self[piece] = self[piece][0], codes
        self.new_pieces.append(piece)
        self.word_count += len(words)
        if not piece.isalnum():
            self._forms[piece] = [(word.form, word.term) for word in words]

    def _drop(self, piece: bytes, words: list[PieceWord]) -> None:
        """Long pieces are text without blanks and do not come again; of these only the words are kept."""
        del self[piece]
        count = self.document_counts.pop(piece)
        for word in words:
            self.uncached_forms[word.form, word.term] += count

    def piece_forms(self, piece: bytes) -> list[tuple[str, str]]:
        """The words of a piece as they are written, and their terms."""
        return [(piece.decode(), self[piece][0])] if piece.isalnum() else self._forms[piece]

    def reset(self) -> None:
        self.clear()
        self[RUN_BREAK] = RUN_BREAK.decode(), _BREAK_CODE
        self.word_count = 0  # in all pieces
        self._forms: dict[bytes, list[tuple[str, str]]] = {RUN_BREAK: []}  # of pieces that are more than a plain word


class DocumentMaker:
    """Makes documents; remembers between batches what it met."""

    def __init__(self, word_ids: WordIdSource) -> None:
        self._word_ids = word_ids
        self._new_terms = _NewTerms()
        self._caches: dict[Analyzer, _PieceCache] = {}
        self._document_count = 0

    def make(self, resources: Iterable[IndexableResource]) -> DocumentBatch:
        """The documents of pages that have text."""
        if (
            self._new_terms.is_unfinished
        ):  # the batch before broke off: what stands for words in the memos are no WordIDs
            self._caches.clear()
            self._new_terms.clear()
        drafts, unreadable = [], {}
        for resource in resources:
            try:
                drafts.append(self._draft(resource))
            except StoreCorrupt as error:
                unreadable[resource.id] = str(error)
        self._new_terms.assign_ids(self._word_ids)
        documents = [self._document(draft) for draft in drafts]
        for cache in self._caches.values():
            cache.finish_batch()
        self._new_terms.clear()
        return DocumentBatch(documents, unreadable)

    @property
    def is_full(self) -> bool:
        """Whether it remembers so much that the forms should be taken now: then it starts anew."""
        return any(memo.word_count > MOST_CACHED_WORDS for memo in self._caches.values())

    def take_forms(self, *, everything: bool = True) -> Counter[tuple[str, str]]:
        """The words met since the last call with their terms, and in how many documents.

        Unless `everything` is asked for, only those met for the first time: the counts of others can wait.
        """
        counts: Counter[tuple[str, str]] = Counter()
        for cache in self._caches.values():
            counts.update(cache.uncached_forms)
            cache.uncached_forms.clear()
            everything |= cache.word_count > MOST_CACHED_WORDS
            piece_counts = (
                cache.document_counts.items()
                if everything
                else [(piece, cache.document_counts.pop(piece)) for piece in cache.new_pieces]
            )
            for piece, number in piece_counts:
                for form in cache.piece_forms(piece):
                    counts[form] += number
            cache.new_pieces.clear()
            if everything:
                cache.document_counts.clear()
                if cache.word_count > MOST_CACHED_WORDS:
                    cache.reset()
        return counts

    def _draft(self, resource: IndexableResource) -> _Draft:
        assert resource.text is not None
        runs = indexed_runs(resource.text)
        texts = [text for _, text in runs]
        pieces = split_runs(texts)
        analyzer = get_analyzer(detect_language(resource.language, texts, pieces))
        cache = self._caches.get(analyzer)
        if cache is None:
            cache = self._caches[analyzer] = _PieceCache(analyzer, self._new_terms)
        terms_and_codes = list(map(cache.__getitem__, pieces))
        terms, codes = [one for one, _ in terms_and_codes], [one for _, one in terms_and_codes]
        self._document_count += 1
        if self._document_count <= FULLY_COUNTED_DOCUMENTS:
            cache.document_counts.update(set(pieces))
        elif self._document_count % COUNT_EVERY == 0:
            cache.document_counts.update(dict.fromkeys(pieces, COUNT_EVERY))
        fields = [field for field, _ in runs]
        return _Draft(resource, analyzer, fields, split_terms_by_run(" ".join(terms)) if runs else [], b"".join(codes))

    def _document(self, draft: _Draft) -> Document:
        resource, terms = draft.resource, draft.terms
        words, runs = _pack_runs(self._new_terms.resolve_placeholders(draft.codes), draft.fields)
        titles = draft.fields.count(Field.TITLE)
        return Document(
            id=resource.id,
            language=draft.analyzer.language,
            title=" ".join(terms[:titles]),
            body=tuple(terms[titles:]),
            headings=tuple(term for term, field in zip(terms, draft.fields, strict=True) if field in HEADINGS),
            url_words=url_words(resource.url, draft.analyzer),
            url=resource.url,
            host=resource.host,
            media_type=resource.media_type,
            changed_at=changed_at(resource.last_modified, resource.seen_at),
            twin=int.from_bytes(resource.text_digest[:8], "little"),
            words=words,
            runs=runs,
            signature=signature(resource),
        )


def indexed_runs(text: bytes) -> list[tuple[int, str]]:
    """The runs of a stored text that count, each with its Field: the title first, then the body in order."""
    return _order_runs(decode_runs(text))


class LazyRuns(Sequence[tuple[int, str]]):
    """The same, each run read when it is looked at: a snippet needs a few of a page's hundreds."""

    def __init__(self, text: bytes) -> None:
        self._runs = _order_runs(decode_fields(text))

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


def _order_runs(runs: list[tuple[int, Run]]) -> list[tuple[int, Run]]:
    fields = [run[0] for run in runs]
    if Field.TITLE not in fields[1:] and Field.DESCRIPTION not in fields[2:]:  # as parsers write it
        return [run for run in runs[:2] if run[0] != Field.DESCRIPTION] + runs[2:]
    titles = [run for run in runs if run[0] == Field.TITLE]
    return titles + [run for run in runs if run[0] not in {Field.TITLE, Field.DESCRIPTION}]


def _pack_runs(codes: NDArray[np.uint32], fields: Sequence[int]) -> tuple[bytes, bytes]:
    """`Document.words` and `Document.runs` of numbers with breaks among them."""
    is_word = codes != 0
    counts = np.bincount(np.cumsum(~is_word)[is_word], minlength=len(fields))
    return codes[is_word].tobytes(), (counts * 16 + np.array(fields, np.int64)).astype("<u4").tobytes()


def url_words(url: str, analyzer: Analyzer) -> str:
    """The words of a URL's path and query, as they are and as terms: a URL is in no language."""
    pieces = split_pieces(unquote(url.partition("://")[2].partition("/")[2]))
    return " ".join(
        dict.fromkeys(
            (*analyzer.terms_of_pieces(pieces).split(), *get_analyzer(NO_LANGUAGE).terms_of_pieces(pieces).split())
        )
    )


def changed_at(last_modified: str, seen_at: float) -> float:
    """When a page last changed: by its own word if that can be read and is not in the future, else when it was seen."""
    declared = _parse_http_date(last_modified)
    return declared if declared is not None and 0 <= declared <= seen_at else seen_at


@lru_cache(maxsize=4_096)  # the files of a site often come from one day
def _parse_http_date(last_modified: str) -> float | None:
    try:
        return parsedate_to_datetime(last_modified).timestamp()
    except (ValueError, OverflowError):
        return None


def signature(resource: IndexableResource) -> bytes:
    """Equal for standings that make the same document."""
    parts = (
        resource.url, resource.host, resource.language, resource.media_type, resource.last_modified,
        repr(resource.seen_at), resource.text_digest.hex(),
    )  # fmt: skip
    return blake2b("\0".join(parts).encode("utf-8", "replace"), digest_size=16).digest()
