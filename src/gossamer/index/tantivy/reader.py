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
from gossamer.index.protocol import Entry, Matches
from gossamer.index.recent import Recent
from gossamer.index.tantivy.frequencies import frequencies
from gossamer.index.tantivy.queries import First, Translator, anchor_tree, these, unscored
from gossamer.index.tantivy.schema import VERSION_ID
from gossamer.index.tantivy.sequences import Sequences

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from gossamer.index.protocol import Query, Weights, WordSequence
    from gossamer.index.tantivy.location import IndexPlace

IDS_AT_ONCE = 50_000
MOST_COUNTS = 100_000  # terms whose number of documents is kept
REMEMBERED = 16 << 20  # bytes of documents by frequency: those of the words looked at last

Number = TypeVar("Number", np.int64, np.uint64, np.float64)


class TantivyReader:
    """Documents, anchor texts and word sequences of one generation."""

    def __init__(self, place: IndexPlace) -> None:
        folder = place.must()
        self._place = place
        self._state = place.state()
        try:
            self._pages = _opened(folder / "pages")
            self._anchors = _opened(folder / "anchors")
            self._schema = self._pages.schema
            self._searcher = self._pages.searcher()
            self._calls = self._anchors.searcher()
            self.version = stored_version(self._searcher, self._schema)
            self.anchors_version = stored_version(self._calls, self._anchors.schema)
            versions = self._count(Tree.term_query(self._schema, "id", VERSION_ID))
            self._documents = int(self._searcher.num_docs) - versions
        except ValueError as error:
            raise IndexFault(f"The index in {folder} cannot be read ({error}): `gossamer index --rebuild`.") from error
        self._sequences = Sequences(folder, read_only=True)
        self._counts: Recent[str, int] = Recent(MOST_COUNTS)
        self._frequencies: Recent[str, tuple[NDArray[np.int64], NDArray[np.int64]]] = Recent(REMEMBERED)

    def close(self) -> None:
        """Let go of it."""
        self._sequences.close()

    def is_current(self) -> bool:
        """Whether this still is the last commit."""
        return self._state == self._place.state()

    def count(self) -> int:
        """Documents; the one that holds the version, if it is there yet, is none."""
        return self._documents

    def ids(self) -> Iterator[int]:
        """Every DocID held, in order, read in stretches."""
        first = VERSION_ID + 1
        while True:
            stretch = Tree.range_query(self._schema, "id", tantivy.FieldType.Integer, lower_bound=first)
            found = self._searcher.search(
                stretch, limit=IDS_AT_ONCE, count=False, order_by_field="id", order=tantivy.Order.Asc
            ).hits
            yield from (int(key) for key, _ in found)
            if len(found) < IDS_AT_ONCE:
                return
            first = int(found[-1][0]) + 1

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

    def match(self, query: Query, weights: Weights, *, limit: int, offset: int = 0) -> Matches:
        """First pass."""
        return self._found(Translator(self._schema, weights).first(query), limit, offset)

    def score(self, query: Query, weights: Weights, ids: Sequence[int]) -> Matches:
        """The same for those of these documents that match."""
        return self._found(Translator(self._schema, weights).first(query, ids), max(len(ids), 1), 0)

    def _found(self, first: First, limit: int, offset: int) -> Matches:
        """Those with all that is wanted, and behind them the others."""
        whole = self._searcher.search(first.whole or first.every, limit=limit, offset=offset)
        have_all, left = whole.hits, limit - len(whole.hits)
        if first.whole is None:
            return self._matches(have_all, len(have_all), _total(whole))
        if not left:
            return self._matches(have_all, limit, _total(self._searcher.search(first.counted, limit=1)))
        rest = self._searcher.search(first.rest, limit=left, offset=max(0, offset - _total(whole)))
        return self._matches([*have_all, *rest.hits], len(have_all), _total(whole) + _total(rest))

    def _matches(self, hits: list[tuple[float, tantivy.DocAddress]], having_all: int, total: int) -> Matches:
        """Hits as columns; so many of the first have all that is wanted."""
        where = [address for _, address in hits]
        scores = np.fromiter((score for score, _ in hits), np.float64, len(hits))
        ids = self._column("id", where, np.int64)
        whole = np.arange(len(hits)) < having_all
        order = np.lexsort((ids, -scores, ~whole))
        return Matches(
            total,
            ids[order],
            scores[order],
            whole[order],
            self._column("twin", where, np.uint64)[order],
            self._column("host", where, np.int64)[order],
            self._column("changed", where, np.float64)[order],
            self._column("steps", where, np.int64)[order],
        )

    def _column(self, name: str, where: list[tantivy.DocAddress], kind: type[Number]) -> NDArray[Number]:
        return np.array(self._searcher.fast_field_values(name, where), kind)

    def has_twins(self, twins: Sequence[int]) -> bool:
        """By Tantivy's own figure, which has those in it that were replaced: so True may be wrong."""
        return any(self._searcher.doc_freq("twin", twin) > 1 for twin in twins)

    def best_called(self, query: Query, limit: int) -> list[int]:
        """The targets whose anchor texts fit best."""
        hits = self._calls.search(anchor_tree(self._anchors.schema, query), limit=limit, count=False).hits
        return [int(target or 0) for target in self._calls.fast_field_values("id", [address for _, address in hits])]

    def callings(self, ids: Sequence[int]) -> dict[int, NDArray[np.uint32]]:
        """The words of the anchor texts that lead to each."""
        return self._sequences.callings(ids)

    # -- words ---------------------------------------------------------------------------------------------------------

    def word_sequences(self, ids: Sequence[int], *, whole: bool = True) -> dict[int, WordSequence]:
        """The words of each in order."""
        return self._sequences.words(ids) if whole else self._sequences.first_words(ids)

    def forms(self, term: str) -> list[str]:
        """The words seen that have a term."""
        return self._sequences.forms(term)

    def words_like(
        self, prefix: str = "", *, shortest: int = 0, longest: int = 99, limit: int | None = None
    ) -> list[tuple[str, int]]:
        """Words as they are written, the most frequent first."""
        return self._sequences.words_like(prefix, shortest, longest, limit)

    def set_aside(self) -> dict[int, str]:
        """Documents that could not be taken, and why."""
        return self._sequences.aside()

    def frequency(self, term: str) -> int:
        """Documents that hold a term. Counted: Tantivy's own figure has those in it that were replaced."""
        known = self._counts.get(term)
        if known is None:
            known = self._count(self._term(term))
            self._counts.put(term, known, 1)
        return known

    def average_length(self) -> float:
        """Words of a document, on average."""
        return self._average_length

    @cached_property
    def _average_length(self) -> float:
        asked = {"average": {"avg": {"field": "length"}}}
        return float(self._searcher.aggregate(Tree.all_query(), asked)["average"]["value"] or 0.0)

    def _term(self, term: str) -> Tree:
        return Tree.term_query(self._schema, "body", term, index_option="freq")

    def _count(self, tree: Tree) -> int:
        return _total(self._searcher.search(tree, limit=1))  # twice as quick as without scores, by a field

    def documents(self, term: str, *, by_frequency: bool, offset: int, limit: int) -> list[Entry]:
        """Documents that hold a term, with how often."""
        tree = self._term(term)
        if by_frequency:
            chosen = slice(offset, offset + limit)
            rows = zip(*(column[chosen].tolist() for column in self._by_frequency(term)), strict=True)
            return [Entry(id=id_, frequency=often) for id_, often in rows]
        found = self._searcher.search(
            tree, limit=limit, offset=offset, count=False, order_by_field="id", order=tantivy.Order.Asc
        ).hits
        if not found:
            return []
        within = [int(key) for key, _ in found]
        narrowed = Tree.boolean_query(
            [(tantivy.Occur.Must, tree), (tantivy.Occur.Must, unscored(these(self._schema, within)))]
        )
        hits = self._searcher.search(narrowed, limit=len(within), count=False).hits
        ids, often = frequencies(self._searcher, tree, hits)
        return [Entry(id=int(ids[one]), frequency=int(often[one])) for one in np.argsort(ids)]

    def _by_frequency(self, term: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Every document of a term and how often it holds it, most often first; kept, for people page through them."""
        kept = self._frequencies.get(term)
        if kept is None:
            tree = self._term(term)
            hits = self._searcher.search(tree, limit=max(self.frequency(term), 1), count=False).hits
            ids, often = frequencies(self._searcher, tree, hits)
            order = np.lexsort((ids, -often))
            kept = ids[order], often[order]
            self._frequencies.put(term, kept, 2 * ids.nbytes)
        return kept


def _opened(folder: Path) -> tantivy.Index:
    """An index, opened. Tantivy locks a file meanwhile; where none can be written, it is shown one that can."""
    if os.access(folder, os.W_OK):
        return tantivy.Index.open(str(folder))
    with TemporaryDirectory(prefix="gossamer-", ignore_cleanup_errors=True) as shown:
        for file in folder.iterdir():
            if file.suffix != ".lock":
                (Path(shown) / file.name).symlink_to(file.absolute())
        index = tantivy.Index.open(shown)
    # A thread of Tantivy's looks for changes as soon as the index is open, and may have locked it while it was removed.
    shutil.rmtree(shown, ignore_errors=True)
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
