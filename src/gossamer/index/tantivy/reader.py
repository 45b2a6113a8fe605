"""The last commit of an index, for asking."""

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

from gossamer.errors import IndexFault
from gossamer.index.protocol import Matches, Posting
from gossamer.index.recent import TwoGenerationCache
from gossamer.index.tantivy.frequencies import term_frequencies
from gossamer.index.tantivy.queries import FirstPassQueries, Translator, anchor_query, ids_query, without_score
from gossamer.index.tantivy.schema import VERSION_ID
from gossamer.index.tantivy.sequences import WordsDatabase

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from gossamer.index.protocol import FieldWeights, Query, WordSequence
    from gossamer.index.tantivy.location import TantivyLocation

IDS_AT_ONCE = 50_000
MOST_CACHED_FREQUENCIES = 100_000  # terms whose number of documents is kept
POSTINGS_CACHE_BYTES = 16 << 20  # bytes of documents by frequency: those of the words looked at last

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
            raise IndexFault(f"The index in {folder} cannot be read ({error}): `gossamer index --rebuild`.") from error
        self._sequences = WordsDatabase(folder, read_only=True)
        self._frequency_cache: TwoGenerationCache[str, int] = TwoGenerationCache(MOST_CACHED_FREQUENCIES)
        self._postings_cache: TwoGenerationCache[str, tuple[NDArray[np.int64], NDArray[np.int64]]] = TwoGenerationCache(
            POSTINGS_CACHE_BYTES
        )

    def close(self) -> None:
        """Let go of it."""
        self._sequences.close()

    def is_current(self) -> bool:
        """Whether this still is the last commit."""
        return self._commit_state == self._location.commit_state()

    def count(self) -> int:
        """Documents; the one that holds the version, if it is there yet, is none."""
        return self._document_count

    def ids(self) -> Iterator[int]:
        """Every DocID held, in order, read in stretches."""
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
        """Documents by the analysis they went through."""
        return dict(self._languages)

    @cached_property
    def _languages(self) -> dict[str, int]:
        names = [name for name, _ in self._searcher.terms_with_prefix("language", "")]
        counts = {name: self._count(Tree.term_query(self._schema, "language", name)) for name in names}
        counts[""] = self.count() - sum(counts.values())
        return {name: number for name, number in counts.items() if number > 0}

    # -- matching ------------------------------------------------------------------------------------------------------

    def match(self, query: Query, weights: FieldWeights, *, limit: int, offset: int = 0) -> Matches:
        """First pass."""
        return self._search(Translator(self._schema, weights).first_pass(query), limit, offset)

    def score(self, query: Query, weights: FieldWeights, ids: Sequence[int]) -> Matches:
        """The same for those of these documents that match."""
        return self._search(Translator(self._schema, weights).first_pass(query, ids), max(len(ids), 1), 0)

    def _search(self, queries: FirstPassQueries, limit: int, offset: int) -> Matches:
        """Those with all that is wanted, and behind them the others."""
        with_all = self._searcher.search(queries.with_all or queries.matching, limit=limit, offset=offset)
        have_all, left = with_all.hits, limit - len(with_all.hits)
        if queries.with_all is None:
            return self._matches(have_all, len(have_all), _total(with_all))
        if not left:
            return self._matches(have_all, limit, _total(self._searcher.search(queries.counting, limit=1)))
        lacking = self._searcher.search(queries.lacking, limit=left, offset=max(0, offset - _total(with_all)))
        return self._matches([*have_all, *lacking.hits], len(have_all), _total(with_all) + _total(lacking))

    def _matches(self, hits: list[tuple[float, tantivy.DocAddress]], has_all_count: int, total: int) -> Matches:
        """Hits as columns; so many of the first have all that is wanted."""
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
        """By Tantivy's own figure, which has those in it that were replaced: so True may be wrong."""
        return any(self._searcher.doc_freq("twin", twin) > 1 for twin in twins)

    def best_by_anchor(self, query: Query, limit: int) -> list[int]:
        """The targets whose anchor texts fit best."""
        hits = self._anchor_searcher.search(anchor_query(self._anchors.schema, query), limit=limit, count=False).hits
        return [
            int(target or 0)
            for target in self._anchor_searcher.fast_field_values("id", [address for _, address in hits])
        ]

    def anchor_terms(self, ids: Sequence[int]) -> dict[int, NDArray[np.uint32]]:
        """The words of the anchor texts that lead to each."""
        return self._sequences.anchor_terms(ids)

    # -- words ---------------------------------------------------------------------------------------------------------

    def word_sequences(self, ids: Sequence[int], *, whole: bool = True) -> dict[int, WordSequence]:
        """The words of each in order."""
        return self._sequences.word_sequences(ids) if whole else self._sequences.first_word_sequences(ids)

    def forms(self, term: str) -> list[str]:
        """The words seen that have a term."""
        return self._sequences.forms(term)

    def words_like(
        self, prefix: str = "", *, shortest: int = 0, longest: int = 99, limit: int | None = None
    ) -> list[tuple[str, int]]:
        """Words as they are written, the most frequent first."""
        return self._sequences.words_like(prefix, shortest, longest, limit)

    def set_aside_documents(self) -> dict[int, str]:
        """Documents that could not be taken, and why."""
        return self._sequences.set_aside_documents()

    def document_frequency(self, term: str) -> int:
        """Documents that hold a term. Counted: Tantivy's own figure has those in it that were replaced."""
        known = self._frequency_cache.get(term)
        if known is None:
            known = self._count(self._term_query(term))
            self._frequency_cache.put(term, known, 1)
        return known

    def average_length(self) -> float:
        """Words of a document, on average."""
        return self._average_length

    @cached_property
    def _average_length(self) -> float:
        aggregation = {"average": {"avg": {"field": "length"}}}
        return float(self._searcher.aggregate(Tree.all_query(), aggregation)["average"]["value"] or 0.0)

    def _term_query(self, term: str) -> Tree:
        return Tree.term_query(self._schema, "body", term, index_option="freq")

    def _count(self, tree: Tree) -> int:
        return _total(self._searcher.search(tree, limit=1))  # twice as quick as without scores, by a field

    def postings(self, term: str, *, by_frequency: bool, offset: int, limit: int) -> list[Posting]:
        """Documents that hold a term, with how often."""
        tree = self._term_query(term)
        if by_frequency:
            page = slice(offset, offset + limit)
            rows = zip(*(column[page].tolist() for column in self._postings_by_frequency(term)), strict=True)
            return [Posting(id=id_, frequency=often) for id_, often in rows]
        found = self._searcher.search(
            tree, limit=limit, offset=offset, count=False, order_by_field="id", order=tantivy.Order.Asc
        ).hits
        if not found:
            return []
        within = [int(key) for key, _ in found]
        narrowed = Tree.boolean_query(
            [(tantivy.Occur.Must, tree), (tantivy.Occur.Must, without_score(ids_query(self._schema, within)))]
        )
        hits = self._searcher.search(narrowed, limit=len(within), count=False).hits
        ids, often = term_frequencies(self._searcher, tree, hits)
        return [Posting(id=int(ids[one]), frequency=int(often[one])) for one in np.argsort(ids)]

    def _postings_by_frequency(self, term: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Every document of a term and how often it holds it, most often first; kept, for people page through them."""
        kept = self._postings_cache.get(term)
        if kept is None:
            tree = self._term_query(term)
            hits = self._searcher.search(tree, limit=max(self.document_frequency(term), 1), count=False).hits
            ids, often = term_frequencies(self._searcher, tree, hits)
            order = np.lexsort((ids, -often))
            kept = ids[order], often[order]
            self._postings_cache.put(term, kept, 2 * ids.nbytes)
        return kept


def _open_index(folder: Path) -> tantivy.Index:
    """An index, opened. Tantivy locks a file meanwhile; where none can be written, it is shown one that can."""
    if os.access(folder, os.W_OK):
        return tantivy.Index.open(str(folder))
    with TemporaryDirectory(prefix="gossamer-", ignore_cleanup_errors=True) as linked_folder:
        for file in folder.iterdir():
            if file.suffix != ".lock":
                (Path(linked_folder) / file.name).symlink_to(file.absolute())
        index = tantivy.Index.open(linked_folder)
    # A thread of Tantivy's looks for changes as soon as the index is open, and may have locked it while it was removed.
    shutil.rmtree(linked_folder, ignore_errors=True)
    return index


def _total(result: tantivy.SearchResult) -> int:
    number: int = result.count  # type: ignore[attr-defined]  # its stub forgot it
    return number


def stored_version(searcher: tantivy.Searcher, schema: tantivy.Schema) -> int:
    """The store version of an index, 0 for an empty one."""
    hits = searcher.search(Tree.term_query(schema, "id", VERSION_ID), limit=1).hits
    if not hits:
        return 0
    (number,) = searcher.fast_field_values("version", [hits[0][1]])
    return int(number or 0)
