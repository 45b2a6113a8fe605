"""Pages -> documents: analyse texts and number words, one batch at a time.

`DocumentMaker` cuts the texts of a page into pieces. It looks up each piece once: its terms, and the numbers of its
words as bytes. The store numbers all new words of a batch in one call. Until then, placeholders stand for them.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple, TypeVar, overload
from urllib.parse import unquote

import numpy as np

from gossamer.basics.page_budget import MAX_WORDS
from gossamer.basics.words import cut_after_words
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
from gossamer.revisit.dates import parse_http_date
from gossamer.store.content import decode_fields, decode_run, decode_runs

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from gossamer.index.analyze import PieceWord
    from gossamer.index.protocol import WordIdSource
    from gossamer.store.follow.changes import IndexableResource

HEADINGS = frozenset({Field.H1, Field.H2, Field.H3, Field.H4, Field.H5, Field.H6})
# The maker counts the written words of every document at first. Later it counts every eighth document eightfold.
FULLY_COUNTED_DOCUMENTS = 2_000
COUNT_EVERY = 8
MOST_CACHED_WORDS = MOST_CACHED_PIECES  # words in cached pieces
FIRST_PLACEHOLDER = 1 << 30  # numbers from here on stand for terms without WordID; no web has so many words
_BREAK_CODE = b"\0\0\0\0"  # separates runs; WordIDs begin at 1
_PACK = struct.Struct("<I").pack

Run = TypeVar("Run")


class _Draft(NamedTuple):
    """An analysed page, with placeholders for new words."""

    resource: IndexableResource
    analyzer: Analyzer
    fields: list[int]  # Field of each run, the title first
    terms: list[str]  # of each run
    codes: bytes  # of its words, with a break code between two runs


class DocumentBatch(NamedTuple):
    """The documents of a batch, and the pages that could not be read."""

    documents: list[Document]
    unreadable: dict[int, str]  # DocID -> reason


class _NewTerms:
    """The new terms of a batch, with a placeholder for each until the store numbers it."""

    def __init__(self) -> None:
        self._placeholders: dict[str, int] = {}
        self._stops: set[str] = set()
        self._ids: NDArray[np.uint32] = np.empty(0, "<u4")

    @property
    def is_unfinished(self) -> bool:
        """Whether an exception ended the last batch early."""
        return bool(self._placeholders)

    def pack(self, words: Iterable[PieceWord]) -> bytes:
        """Return the codes of these words, four bytes each."""
        return b"".join(map(self._pack_word, words))

    def _pack_word(self, word: PieceWord) -> bytes:
        if word.stop:
            self._stops.add(word.term)
            return _PACK(stop_code(word.term))
        return _PACK(self._placeholders.setdefault(word.term, FIRST_PLACEHOLDER + len(self._placeholders)))

    def assign_ids(self, source: WordIdSource) -> None:
        """Get the WordIDs of all new terms in one call."""
        ids = (
            source.word_ids(sorted(self._placeholders), sorted(self._stops))
            if self._placeholders or self._stops
            else {}
        )
        self._ids = np.array([ids[term] for term in self._placeholders], "<u4")

    def resolve_placeholders(self, codes: bytes) -> NDArray[np.uint32]:
        """Return the codes with WordIDs in place of placeholders."""
        resolved = np.frombuffer(codes, "<u4")
        placeholder_numbers = resolved - np.uint32(FIRST_PLACEHOLDER)  # WordIDs wrap around to very large numbers
        positions = np.flatnonzero(placeholder_numbers < len(self._ids))
        if len(positions):
            resolved = resolved.copy()
            resolved[positions] = self._ids[placeholder_numbers[positions]]
        return resolved

    def clear(self) -> None:
        """Forget the terms, before the next batch."""
        self._placeholders.clear()
        self._stops.clear()


class _PieceCache(dict[bytes, tuple[str, bytes]]):
    """Cache of one language: piece of text -> its terms and the codes of its words."""

    def __init__(self, analyzer: Analyzer, new_terms: _NewTerms) -> None:
        super().__init__()
        self._analyzer, self._new_terms = analyzer, new_terms
        self._batch_pieces: dict[bytes, list[PieceWord]] = {}  # new pieces of this batch
        self.document_counts: Counter[bytes] = Counter()  # documents with each piece, since the last `take_forms`
        self.new_pieces: list[bytes] = []  # since the last `take_forms`
        self.uncached_forms: Counter[tuple[str, str]] = Counter()  # words of pieces that are too long to cache
        self.reset()

    def __missing__(self, piece: bytes) -> tuple[str, bytes]:
        words = self._batch_pieces[piece] = self._analyzer.piece_words(piece)
        known = self[piece] = " ".join([word.term for word in words]), self._new_terms.pack(words)
        return known

    def finish_batch(self) -> None:
        """Replace the placeholders in new pieces with WordIDs, at the end of a batch."""
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
        """Cache a piece; a plain word needs no entry in `_forms`, which saves a hundred thousand of them."""
        self[piece] = self[piece][0], codes
        self.new_pieces.append(piece)
        self.word_count += len(words)
        if not piece.isalnum():
            self._forms[piece] = [(word.form, word.term) for word in words]

    def _drop(self, piece: bytes, words: list[PieceWord]) -> None:
        """Drop a long piece but count its words: it is text without spaces and seldom repeats."""
        del self[piece]
        count = self.document_counts.pop(piece)
        for word in words:
            self.uncached_forms[word.form, word.term] += count

    def piece_forms(self, piece: bytes) -> list[tuple[str, str]]:
        """Return the words of a piece as written, with their terms."""
        return [(piece.decode(), self[piece][0])] if piece.isalnum() else self._forms[piece]

    def reset(self) -> None:
        self.clear()
        self[RUN_BREAK] = RUN_BREAK.decode(), _BREAK_CODE
        self.word_count = 0  # in all pieces
        self._forms: dict[bytes, list[tuple[str, str]]] = {RUN_BREAK: []}  # of pieces other than a plain word


class DocumentMaker:
    """Makes documents from stored pages, and caches pieces of text between batches."""

    def __init__(self, word_ids: WordIdSource) -> None:
        self._word_ids = word_ids
        self._new_terms = _NewTerms()
        self._caches: dict[Analyzer, _PieceCache] = {}
        self._document_count = 0

    def make(self, resources: Iterable[IndexableResource]) -> DocumentBatch:
        """Return the documents of resources, all of which must have text."""
        if self._new_terms.is_unfinished:  # the caches still hold placeholders of the previous batch
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
        """Whether a cache is full, so that the caller should call `take_forms`, which empties it."""
        return any(cache.word_count > MOST_CACHED_WORDS for cache in self._caches.values())

    def take_forms(self, *, everything: bool = True) -> Counter[tuple[str, str]]:
        """Return the document counts of (written word, term) since the last call.

        Unless `everything`, return only words that are new since then, because the counts of others can wait.
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
        runs = cut_after_words(indexed_runs(resource.text), MAX_WORDS)  # older versions stored texts of any length
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
    """Return the runs of a stored text with their Fields: the title first, then the body, without description."""
    return _order_runs(decode_runs(text))


class LazyRuns(Sequence[tuple[int, str]]):
    """The runs of `indexed_runs`, decoded on access, because a snippet needs a few of hundreds."""

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
    if Field.TITLE not in fields[1:] and Field.DESCRIPTION not in fields[2:]:  # the order that parsers write
        return [run for run in runs[:2] if run[0] != Field.DESCRIPTION] + runs[2:]
    titles = [run for run in runs if run[0] == Field.TITLE]
    return titles + [run for run in runs if run[0] not in {Field.TITLE, Field.DESCRIPTION}]


def _pack_runs(codes: NDArray[np.uint32], fields: Sequence[int]) -> tuple[bytes, bytes]:
    """Return `Document.words` and `Document.runs` of codes with break codes."""
    is_word = codes != 0
    counts = np.bincount(np.cumsum(~is_word)[is_word], minlength=len(fields))
    return codes[is_word].tobytes(), (counts * 16 + np.array(fields, np.int64)).astype("<u4").tobytes()


def url_words(url: str, analyzer: Analyzer) -> str:
    """Return the words of a URL's path and query, both unstemmed and as terms, because a URL has no language."""
    pieces = split_pieces(unquote(url.partition("://")[2].partition("/")[2]))
    return " ".join(
        dict.fromkeys(
            (*analyzer.terms_of_pieces(pieces).split(), *get_analyzer(NO_LANGUAGE).terms_of_pieces(pieces).split())
        )
    )


def changed_at(last_modified: str, seen_at: float) -> float:
    """Return when a page last changed: its Last-Modified if valid and not after the visit, else the visit."""
    declared = _parse_cached(last_modified)
    return declared if declared is not None and declared <= seen_at else seen_at


_parse_cached = lru_cache(maxsize=4_096)(parse_http_date)  # many files of a site share one date


def signature(resource: IndexableResource) -> bytes:
    """Return a digest that is equal for resources with equal documents."""
    parts = (
        resource.url, resource.host, resource.language, resource.media_type, resource.last_modified,
        repr(resource.seen_at), resource.text_digest.hex(),
    )  # fmt: skip
    return blake2b("\0".join(parts).encode("utf-8", "replace"), digest_size=16).digest()
