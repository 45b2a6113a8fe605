"""A pool of read sessions: open stores and indexes, reopened when they change, each used by one request at a time.

Requests run in several threads, but only one thread at a time may use a store. So each session has a store of its own.
A request takes the session that was used last, because its caches are warm.
"""

from __future__ import annotations

import queue
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from gossamer.errors import GossamerError
from gossamer.wiring import build_searcher, open_index, open_store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gossamer.index.protocol import IndexReader
    from gossamer.search.service import Searcher
    from gossamer.store.protocol import Store

POOL_SIZE = 4  # sessions; more threads would only wait for each other
CHECK_SECONDS = 0.5  # between two checks for a newer commit of the index or newer ranks
WAIT_SECONDS = 30.0  # for a free session


class TooBusy(GossamerError):
    """No session became free within `WAIT_SECONDS`."""


class SessionState(NamedTuple):
    """The versions that an answer depends on."""

    generation: int  # increases when the index or the ranks change
    version: int  # of the store


class ReadSession:
    """An open store with its index and searcher."""

    def __init__(self, location: str) -> None:
        self.location = location
        self.store: Store = open_store(location, read_only=True)
        self._index: IndexReader | None = None
        self._searcher: Searcher | None = None
        self.checked_at = float("-inf")  # monotonic time of the last check for newer data
        self._generation = 0
        self._version = -1
        self._ranked_at = 0.0

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
        self._index = self._index or open_index(self.location)
        return self._index

    @property
    def state(self) -> SessionState:
        """The versions that answers depend on now."""
        self._refresh()
        return SessionState(self._generation, self._version)

    def _refresh(self) -> None:
        """Close the index if it or the ranks changed; a crawl changes the store more often than these."""
        now = time.monotonic()
        if now - self.checked_at < CHECK_SECONDS:
            return
        ranking = self.store.ranking()
        ranked_at = ranking.made_at if ranking else 0.0
        self._version = self.store.version()
        if ranked_at != self._ranked_at or (self._index is not None and not self._index.is_current()):
            self._close_index()
        self._ranked_at = ranked_at
        self.checked_at = now

    def _close_index(self) -> None:
        if self._index is not None:
            self._index.close()
        self._searcher = self._index = None
        self._generation += 1

    def close(self) -> None:
        """Close index and store."""
        self._close_index()
        self.store.close()


class SessionPool:
    """The read sessions of one web."""

    def __init__(self, location: str) -> None:
        self.location = location
        self._idle: queue.LifoQueue[ReadSession | None] = queue.LifoQueue()
        for _ in range(POOL_SIZE):
            self._idle.put(None)  # a session that its first request opens

    @contextmanager
    def open(self) -> Iterator[ReadSession]:
        """Lend a session to one request."""
        try:
            session = self._idle.get(timeout=WAIT_SECONDS)
        except queue.Empty:
            raise TooBusy("The server is busy with other requests. Try again in a moment.") from None
        try:
            session = session or ReadSession(self.location)
            yield session
        finally:
            self._idle.put(session)

    def close(self) -> None:
        """Close the sessions that no request uses."""
        while not self._idle.empty():
            if session := self._idle.get():
                session.close()
