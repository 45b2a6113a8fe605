"""The one place that names concrete back-ends: a place becomes a store and an index.

Everybody else talks to protocols. Kept light, for every reading command comes through here; a crawl is put together in
`start`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gossamer.config import StoreSettings
from gossamer.errors import UsageError
from gossamer.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gossamer.index.base import IndexReader, IndexWriter
    from gossamer.search.service import Searcher
    from gossamer.search.weights import Blend
    from gossamer.store.base import Store


def open_store(
    place: str, *, create: bool = False, read_only: bool = False, settings: StoreSettings | None = None
) -> Store:
    """The store at a place."""
    if "://" in place:
        raise UsageError(f"{place.partition('://')[0]} stores are not there yet; give a directory.")
    cache = (settings or StoreSettings()).cache
    old_sources = (settings or StoreSettings()).old_sources
    return SqliteStore.open(
        Path(place), create=create, read_only=read_only, cache_mib=cache, old_sources_mib=old_sources
    )


def open_index(place: str) -> IndexReader:
    """The index of the web at a place, for asking; it holds the last commit."""
    from gossamer.index.tantivy import IndexPlace, TantivyReader  # noqa: PLC0415 - not every command asks the index

    return TantivyReader(IndexPlace(Path(place) / "index"))


def has_index(place: str) -> bool:
    """Whether there is an index of the web at a place."""
    from gossamer.index.tantivy.place import IndexPlace  # noqa: PLC0415

    return IndexPlace(Path(place) / "index").current() is not None


def open_index_writer(place: str, *, rebuild: bool = False) -> IndexWriter:
    """The writer of the index of the web at a place. There is one at a time: `IndexBusy` when another has it."""
    from gossamer.index.tantivy import IndexPlace, TantivyWriter  # noqa: PLC0415

    return TantivyWriter(IndexPlace(Path(place) / "index"), rebuild=rebuild)


def open_searcher(store: Store, place: str, blend: Blend | None = None) -> Searcher:
    """What answers questions about the web at a place, by the last commit of its index. Closing it closes the index."""
    return searcher(store, open_index(place), place, blend)


def searcher(store: Store, index: IndexReader, place: str, blend: Blend | None = None) -> Searcher:
    """The same with an index that is open already; with PageRank, if that was computed."""
    import numpy as np  # noqa: PLC0415

    from gossamer.graph.rank import load_pagerank  # noqa: PLC0415
    from gossamer.search.service import Searcher  # noqa: PLC0415
    from gossamer.search.weights import SECOND  # noqa: PLC0415

    scores = load_pagerank(Path(place) / "graph")

    def pagerank(ids: NDArray[np.int64]) -> NDArray[np.float64]:
        known = np.zeros(1, np.float32) if scores is None else scores
        return np.where(ids < len(known), known[np.minimum(ids, len(known) - 1)], 0.0)

    return Searcher(store, index, pagerank, blend or SECOND)
