"""The open web of the search process: store, index and searcher, reopened when any of them changes.

Store and index must belong to one web, even when somebody removes the web and makes another in its place. So the
session opens both between two looks at the store's identity, and refuses an index that is ahead of its store.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

from gossamer.errors import IndexFault
from gossamer.wiring import build_searcher, open_index, open_store

if TYPE_CHECKING:
    from gossamer.index.protocol import IndexReader
    from gossamer.search.service import Searcher
    from gossamer.store.protocol import Store

CHECK_SECONDS = 0.5  # between two checks for a newer commit of the index, newer ranks or another web


class SessionState(NamedTuple):
    """The versions that an answer depends on."""

    generation: int  # increases when the index, the ranks or the web change
    version: int  # of the store


class SearchSession:
    """An open store with its index and searcher."""

    def __init__(self, location: str, *, check_seconds: float = CHECK_SECONDS) -> None:
        self.location = location
        self._check_seconds = check_seconds
        self._store: Store | None = None
        self._index: IndexReader | None = None
        self._searcher: Searcher | None = None
        self._checked_at = float("-inf")  # monotonic time of the last check for newer data
        self._generation = 0
        self._version = -1
        self._ranked_at = 0.0

    @property
    def store(self) -> Store:
        """The store of the web that is at the location now."""
        self._store = self._store or open_store(self.location, read_only=True)
        return self._store

    @property
    def searcher(self) -> Searcher:
        """The searcher on a recent commit of the index. Raises `IndexMissing` if the web has no index."""
        index = self.index  # refreshes: a newer commit drops the old searcher
        self._searcher = self._searcher or build_searcher(self.store, index, self.location)
        return self._searcher

    @property
    def index(self) -> IndexReader:
        """The index on the same commit as `searcher`."""
        self._refresh()
        while self._index is None:
            index = open_index(self.location)
            if self.store.is_current():
                self._index = index
                self._refuse_foreign_index(index)
            else:
                index.close()
                self.close()
        return self._index

    @property
    def state(self) -> SessionState:
        """The versions that answers depend on now."""
        self._refresh()
        return SessionState(self._generation, self._version)

    def _refresh(self) -> None:
        """Close what changed; a crawl changes the store more often than index and ranks."""
        now = time.monotonic()
        if now - self._checked_at < self._check_seconds:
            return
        if not self.store.is_current():
            self.close()
        ranking = self.store.ranking()
        ranked_at = ranking.made_at if ranking else 0.0
        self._version = self.store.version()
        if ranked_at != self._ranked_at or (self._index is not None and not self._index.is_current()):
            self._close_index()
        self._ranked_at = ranked_at
        self._checked_at = now

    def _refuse_foreign_index(self, index: IndexReader) -> None:
        """An index follows its store, so an index ahead of the store belongs to another web."""
        latest = self.store.version()
        if index.version > latest:
            self._close_index()
            raise IndexFault(
                f"The index is ahead of the web (version {index.version:,} of {latest:,}): it belongs to an earlier"
                " web. Run `gossamer index --rebuild`."
            )

    def _close_index(self) -> None:
        if self._index is not None:
            self._index.close()
        self._searcher = self._index = None
        self._generation += 1

    def close(self) -> None:
        """Close index and store; the next question opens them again."""
        self._close_index()
        if self._store is not None:
            self._store.close()
        self._store = None
