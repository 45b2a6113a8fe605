"""Pages -> documents: analyse texts and number words, one batch at a time.

`DocumentMaker` cuts the texts of a page into pieces (`pieces`). It looks up each piece once: its terms, and the numbers
of its words. The store numbers all new words of a batch in one call, and then the documents are made.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple, overload
from urllib.parse import unquote

import msgspec

from gossamer.basics.page_budget import MAX_WORDS
from gossamer.basics.words import cut_after_words
from gossamer.errors import StoreCorrupt
from gossamer.index.analyze import (
    NO_LANGUAGE,
    Analyzer,
    declared_language,
    get_analyzer,
    guess_language,
    split_pieces,
)
from gossamer.index.pieces import LanguagePieces, order_runs, sample_text
from gossamer.index.protocol import Document
from gossamer.revisit.dates import parse_http_date
from gossamer.store.content import decode_fields, decode_run, decode_runs, decode_source, read_runs

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gossamer.index.pieces import Form
    from gossamer.index.protocol import WordIdSource
    from gossamer.store.follow.changes import IndexableResource

# The maker counts the written words of every document at first. Later it counts every eighth document eightfold.
FULLY_COUNTED_DOCUMENTS = 2_000
COUNT_EVERY = 8


class _Draft(NamedTuple):
    """A page that is cut into pieces."""

    resource: IndexableResource
    pieces: LanguagePieces
    number: int  # in the table of pieces


class DocumentBatch(NamedTuple):
    """The documents of a batch, and the pages that could not be read."""

    documents: list[Document]
    unreadable: dict[int, str]  # DocID -> reason


class DocumentMaker:
    """Makes documents from stored pages, and caches pieces of text between batches."""

    def __init__(self, word_ids: WordIdSource) -> None:
        self._word_ids = word_ids
        self._languages: dict[str, LanguagePieces] = {}
        self._document_count = 0
        self._is_unfinished = False  # whether an exception ended the last batch early

    def make(self, resources: Iterable[IndexableResource]) -> DocumentBatch:
        """Return the documents of resources, all of which must have text."""
        if self._is_unfinished:  # the tables hold pieces without words
            self._languages.clear()
        self._is_unfinished = True
        drafts, unreadable = [], {}
        for resource in resources:
            try:
                drafts.append(self._draft(resource))
            except StoreCorrupt as error:
                unreadable[resource.id] = str(error)
        self._number_new_words()
        documents = [_document(draft) for draft in drafts]
        for pieces in self._languages.values():
            pieces.end_batch()
        self._is_unfinished = False
        return DocumentBatch(documents, unreadable)

    @property
    def is_full(self) -> bool:
        """Whether a cache is full, so that the caller should call `take_forms`, which empties it."""
        return any(pieces.is_full for pieces in self._languages.values())

    def take_forms(self, *, everything: bool = True) -> Counter[Form]:
        """Return the document counts of (written word, term) since the last call.

        Unless `everything`, return only words that are new since then, because the counts of others can wait.
        """
        counts: Counter[Form] = Counter()
        for pieces in self._languages.values():
            everything |= pieces.is_full
            counts.update(pieces.take_forms(everything=everything))
        return counts

    def _draft(self, resource: IndexableResource) -> _Draft:
        assert resource.text is not None
        text = _without_excess_words(decode_source(resource.text))
        language = declared_language(resource.language)
        if language is None:
            language = guess_language(sample_text(text))
        pieces = self._languages.get(language)
        if pieces is None:
            pieces = self._languages[language] = LanguagePieces(get_analyzer(language))
        number = self._document_count + 1
        is_counted = number <= FULLY_COUNTED_DOCUMENTS
        weight = 1 if is_counted else 0 if number % COUNT_EVERY else COUNT_EVERY
        draft = pieces.draft(text, weight)
        self._document_count = number
        return _Draft(resource, pieces, draft)

    def _number_new_words(self) -> None:
        """Get the WordIDs of all new words in one call."""
        terms: set[str] = set()
        stops: set[str] = set()
        for pieces in self._languages.values():
            for word in pieces.analyze_new_pieces():
                (stops if word.stop else terms).add(word.term)
        ids = self._word_ids.word_ids(sorted(terms), sorted(stops)) if terms or stops else {}
        for pieces in self._languages.values():
            pieces.learn(ids)


def _document(draft: _Draft) -> Document:
    resource, analyzer = draft.resource, draft.pieces.analyzer
    title, body, headings, words, runs = draft.pieces.table.document(draft.number)
    return Document(
        id=resource.id,
        language=analyzer.language,
        title=title,
        body=body,
        headings=headings,
        url_words=url_words(resource.url, analyzer),
        url=resource.url,
        host=resource.host,
        media_type=resource.media_type,
        changed_at=changed_at(resource.last_modified, resource.seen_at),
        twin=int.from_bytes(resource.text_digest[:8], "little"),
        words=words,
        runs=runs,
        signature=signature(resource),
    )


def _without_excess_words(text: bytes) -> bytes:
    """Return an unpacked text up to MAX_WORDS words, because older versions stored texts of any length."""
    if len(text) <= MAX_WORDS:  # a word has at least one byte
        return text
    runs = order_runs(read_runs(text))
    kept = cut_after_words(runs, MAX_WORDS)
    return text if kept is runs else msgspec.msgpack.encode(kept)


def indexed_runs(text: bytes) -> list[tuple[int, str]]:
    """Return the runs of a stored text with their Fields: the title first, then the body, without description."""
    return order_runs(decode_runs(text))


class LazyRuns(Sequence[tuple[int, str]]):
    """The runs of `indexed_runs`, decoded on access, because a snippet needs a few of hundreds."""

    def __init__(self, text: bytes) -> None:
        self._runs = order_runs(decode_fields(text))

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
