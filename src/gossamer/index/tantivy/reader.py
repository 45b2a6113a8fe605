"""Read one commit of an index in a directory: first-pass matches with their scores, frequencies, postings."""

from __future__ import annotations

import os
import shutil
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import tantivy
from tantivy import Query as Tree

from gossamer.basics.cache import SizedCache
from gossamer.errors import IndexFault
from gossamer.index.protocol import Matches, Posting
from gossamer.index.tantivy.frequencies import term_frequencies
from gossamer.index.tantivy.queries import FirstPassQueries, Translator, anchor_query, ids_query, without_score
from gossamer.index.tantivy.schema import VERSION_ID
from gossamer.index.tantivy.sequences import WordsDatabase

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from gossamer.index.protocol import FieldWeights, Query, WordSequence
    from gossamer.index.tantivy.location import TantivyLocation

    FirstPassHit = tuple[float, tantivy.DocAddress]  # with its score

IDS_AT_ONCE = 50_000
MOST_CACHED_FREQUENCIES = 100_000  # terms whose document frequency is cached
POSTINGS_CACHE_BYTES = 16 << 20  # postings by frequency of the terms used last

Number = TypeVar("Number", np.int64, np.uint64, np.float64)


class TantivyReader:
    """Documents, anchor texts and word sequences of one generation."""

    def __init__(self, location: TantivyLocation) -> None:
        folder = location.require_current()
        self._location = location
        self._commit_state = location.commit_state()
        try:
            self._pages = _open_index(folder / "pages")
            self._anchors = _open_index(folder / "anchors")
            self._schema = self._pages.schema
            self._searcher = self._pages.searcher()
            self._anchor_searcher = self._anchors.searcher()
            self.version = stored_version(self._searcher, self._schema)
            self.anchors_version = stored_version(self._anchor_searcher, self._anchors.schema)
            versions = self._count(Tree.term_query(self._schema, "id", VERSION_ID))
            self._document_count = int(self._searcher.num_docs) - versions
        except ValueError as error:
            raise IndexFault(
                f"The index in {folder} cannot be read ({error}): run `gossamer index --rebuild`."
            ) from error
        self._sequences = WordsDatabase(folder, read_only=True)
        self._frequency_cache: SizedCache[str, int] = SizedCache(MOST_CACHED_FREQUENCIES)
        self._postings_cache: SizedCache[str, tuple[NDArray[np.int64], NDArray[np.int64]]] = SizedCache(
            POSTINGS_CACHE_BYTES
        )

    def close(self) -> None:
        """Close words.db."""
        self._sequences.close()

    def is_current(self) -> bool:
        """Return whether this is still the last commit."""
        return self._commit_state == self._location.commit_state()

    def count(self) -> int:
        """Return the number of documents, without the one that holds the version."""
        return self._document_count

    def ids(self) -> Iterator[int]:
        """Yield every DocID in order, read in batches."""
        first = VERSION_ID + 1
        while True:
            id_range = Tree.range_query(self._schema, "id", tantivy.FieldType.Integer, lower_bound=first)
            hits = self._searcher.search(
                id_range, limit=IDS_AT_ONCE, count=False, order_by_field="id", order=tantivy.Order.Asc
            ).hits
            yield from (int(key) for key, _ in hits)
            if len(hits) < IDS_AT_ONCE:
                return
            first = int(hits[-1][0]) + 1

    def languages(self) -> dict[str, int]:
        """Return the number of documents by the language of their analysis."""
        return dict(self._languages)

    @cached_property
    def _languages(self) -> dict[str, int]:
        names = [name for name, _ in self._searcher.terms_with_prefix("language", "")]
        counts = {name: self._count(Tree.term_query(self._schema, "language", name)) for name in names}
        counts[""] = self.count() - sum(counts.values())
        return {name: number for name, number in counts.items() if number > 0}

    # -- matching ------------------------------------------------------------------------------------------------------

    def match(self, query: Query, weights: FieldWeights, *, limit: int, offset: int = 0) -> Matches:
        """Run the first pass."""
        translator = Translator(self._schema, weights)
        queries = translator.first_pass(query)
        with_all = self._searcher.search(queries.with_all or queries.matching, limit=limit, offset=offset)
        if queries.with_all is not None and len(with_all.hits) == limit:
            total = _total(self._searcher.search(translator.counting(query), limit=1))
            return self._matches(with_all.hits, limit, total)
        return self._with_others(queries, with_all, limit, offset)

    def score(self, query: Query, weights: FieldWeights, ids: Sequence[int]) -> Matches:
        """Run the first pass over these documents only."""
        queries, limit = Translator(self._schema, weights, ids).first_pass(query), max(len(ids), 1)
        with_all = self._searcher.search(queries.with_all or queries.matching, limit=limit).hits
        if queries.with_all is None or len(with_all) == limit:
            return self._matches(with_all, len(with_all), len(with_all))
        return self._complete(with_all, self._searcher.search(queries.matching, limit=limit))

    def _with_others(
        self, queries: FirstPassQueries, with_all: tantivy.SearchResult, limit: int, offset: int
    ) -> Matches:
        """Return the documents with everything wanted, followed by the others."""
        have_all, left = with_all.hits, limit - len(with_all.hits)
        if queries.with_all is None:
            return self._matches(have_all, len(have_all), _total(with_all))
        if not offset:
            return self._complete(have_all, self._searcher.search(queries.matching, limit=limit))
        lacking = self._searcher.search(queries.lacking, limit=left, offset=max(0, offset - _total(with_all)))
        return self._matches([*have_all, *lacking.hits], len(have_all), _total(with_all) + _total(lacking))

    def _complete(self, have_all: list[FirstPassHit], matching: tantivy.SearchResult) -> Matches:
        """Append the best of the other documents to all those with everything wanted.

        The search found both kinds, which takes two thirds of the time of a search for the others only.
        """
        known = {(address.segment_ord, address.doc) for _, address in have_all}
        others = [hit for hit in matching.hits if (hit[1].segment_ord, hit[1].doc) not in known]
        hits = [*have_all, *others[: len(matching.hits) - len(have_all)]]
        return self._matches(hits, len(have_all), _total(matching))

    def _matches(self, hits: list[FirstPassHit], has_all_count: int, total: int) -> Matches:
        """Return hits as columns; the first `has_all_count` have everything wanted."""
        addresses = [address for _, address in hits]
        scores = np.fromiter((score for score, _ in hits), np.float64, len(hits))
        ids = self._column("id", addresses, np.int64)
        has_all = np.arange(len(hits)) < has_all_count
        order = np.lexsort((ids, -scores, ~has_all))
        return Matches(
            total,
            ids[order],
            scores[order],
            has_all[order],
            self._column("twin", addresses, np.uint64)[order],
            self._column("host", addresses, np.int64)[order],
            self._column("changed", addresses, np.float64)[order],
            self._column("steps", addresses, np.int64)[order],
        )

    def _column(self, name: str, addresses: list[tantivy.DocAddress], kind: type[Number]) -> NDArray[Number]:
        return np.array(self._searcher.fast_field_values(name, addresses), kind)

    def has_twins(self, twins: Sequence[int]) -> bool:
        """Return whether several documents may have one of these texts.

        Tantivy's document frequency includes replaced documents, so True may be wrong.
        """
        return any(self._searcher.doc_freq("twin", twin) > 1 for twin in twins)

    def best_by_anchor(self, query: Query, limit: int) -> list[int]:
        """Return the targets whose anchor texts fit best."""
        hits = self._anchor_searcher.search(anchor_query(self._anchors.schema, query), limit=limit, count=False).hits
        return [
            int(target or 0)
            for target in self._anchor_searcher.fast_field_values("id", [address for _, address in hits])
        ]

    def anchor_terms(self, ids: Sequence[int]) -> dict[int, NDArray[np.uint32]]:
        """Return the words of the anchor texts of each document."""
        return self._sequences.anchor_terms(ids)

    # -- words ---------------------------------------------------------------------------------------------------------

    def word_sequences(self, ids: Sequence[int], *, whole: bool = True) -> dict[int, WordSequence]:
        """Return the words of each document in order."""
        return self._sequences.word_sequences(ids) if whole else self._sequences.first_word_sequences(ids)

    def forms(self, term: str) -> list[str]:
        """Return the written words that have a term."""
        return self._sequences.forms(term)

    def words_like(
        self, prefix: str = "", *, shortest: int = 0, longest: int = 99, limit: int | None = None
    ) -> list[tuple[str, int]]:
        """Return written words, the most frequent first."""
        return self._sequences.words_like(prefix, shortest, longest, limit)

    def set_aside_documents(self) -> dict[int, str]:
        """Return the documents that the index could not take, and why."""
        return self._sequences.set_aside_documents()

    def document_frequency(self, term: str) -> int:
        """Return the number of documents that hold a term.

        A search counts them, because Tantivy's document frequency includes replaced documents.
        """
        known = self._frequency_cache.get(term)
        if known is None:
            known = self._count(self._term_query(term))
            self._frequency_cache.put(term, known, 1)
        return known

    def average_length(self) -> float:
        """Return the average number of words of a document."""
        return self._average_length

    @cached_property
    def _average_length(self) -> float:
        aggregation = {"average": {"avg": {"field": "length"}}}
        return float(self._searcher.aggregate(Tree.all_query(), aggregation)["average"]["value"] or 0.0)

    def _term_query(self, term: str) -> Tree:
        return Tree.term_query(self._schema, "body", term, index_option="freq")

    def _count(self, tree: Tree) -> int:
        # With scores, because a search sorted by a field takes twice as long.
        return _total(self._searcher.search(tree, limit=1))

    def postings(self, term: str, *, by_frequency: bool, offset: int, limit: int) -> list[Posting]:
        """Return documents that hold a term, with its frequency in each."""
        tree = self._term_query(term)
        if by_frequency:
            page = slice(offset, offset + limit)
            rows = zip(*(column[page].tolist() for column in self._postings_by_frequency(term)), strict=True)
            return [Posting(id=id_, frequency=frequency) for id_, frequency in rows]
        page_hits = self._searcher.search(
            tree, limit=limit, offset=offset, count=False, order_by_field="id", order=tantivy.Order.Asc
        ).hits
        if not page_hits:
            return []
        page_ids = [int(key) for key, _ in page_hits]
        narrowed = Tree.boolean_query(
            [(tantivy.Occur.Must, tree), (tantivy.Occur.Must, without_score(ids_query(self._schema, page_ids)))]
        )
        hits = self._searcher.search(narrowed, limit=len(page_ids), count=False).hits
        ids, frequencies = term_frequencies(self._searcher, tree, hits)
        return [Posting(id=int(ids[i]), frequency=int(frequencies[i])) for i in np.argsort(ids)]

    def _postings_by_frequency(self, term: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the DocIDs of a term and its frequency in each, most frequent first.

        The cache keeps them, because people page through them.
        """
        postings = self._postings_cache.get(term)
        if postings is None:
            tree = self._term_query(term)
            hits = self._searcher.search(tree, limit=max(self.document_frequency(term), 1), count=False).hits
            ids, frequencies = term_frequencies(self._searcher, tree, hits)
            order = np.lexsort((ids, -frequencies))
            postings = ids[order], frequencies[order]
            self._postings_cache.put(term, postings, 2 * ids.nbytes)
        return postings


def _open_index(folder: Path) -> tantivy.Index:
    """Open an index. Tantivy must write a lock file, so a read-only folder is opened through symbolic links."""
    if os.access(folder, os.W_OK):
        return tantivy.Index.open(str(folder))
    with TemporaryDirectory(prefix="gossamer-", ignore_cleanup_errors=True) as linked_folder:
        for file in folder.iterdir():
            if file.suffix != ".lock":
                (Path(linked_folder) / file.name).symlink_to(file.absolute())
        index = tantivy.Index.open(linked_folder)
    # Tantivy's watcher thread may have created a lock file while the folder was being removed.
    shutil.rmtree(linked_folder, ignore_errors=True)
    return index


def _total(result: tantivy.SearchResult) -> int:
    number: int = result.count  # type: ignore[attr-defined]  # missing in its stub
    return number


def stored_version(searcher: tantivy.Searcher, schema: tantivy.Schema) -> int:
    """Return the store version of an index, 0 for an empty one."""
    hits = searcher.search(Tree.term_query(schema, "id", VERSION_ID), limit=1).hits
    if not hits:
        return 0
    (number,) = searcher.fast_field_values("version", [hits[0][1]])
    return int(number or 0)
