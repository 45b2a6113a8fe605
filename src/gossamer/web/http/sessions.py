"""Where requests read: stores and searchers that are opened once and used by one request at a time.

A store may be used by one thread at a time, and requests run in several. So there are a few desks, each with a store of
its own, and a request takes the one that was used last: its caches are warm.
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

POOL_SIZE = 4  # requests read in so many threads at once; more would only wait for each other
CHECK_SECONDS = 0.5  # how often to look whether the index has a newer commit
WAIT_SECONDS = 30.0  # for a free desk


class TooBusy(GossamerError):
    """No desk came free in time."""


class SessionState(NamedTuple):
    """What answers depend on."""

    generation: int  # counts up when index or ranks are others
    version: int  # of the store


class ReadSession:
    """A store, and what searches it."""

    def __init__(self, location: str) -> None:
        self.location = location
        self.store: Store = open_store(location, read_only=True)
        self._index: IndexReader | None = None
        self._searcher: Searcher | None = None
        self.checked_at = float("-inf")  # when it was last made sure that all of it is up to date
        self._generation = 0
        self._version = -1
        self._ranked_at = 0.0

    @property
    def searcher(self) -> Searcher:
        """Answers questions by a commit of the index that is at most a moment old. `IndexMissing`: there is none."""
        index = self.index  # by it newer commits are seen
        self._searcher = self._searcher or build_searcher(self.store, index, self.location)
        return self._searcher

    @property
    def index(self) -> IndexReader:
        """The same commit, for other questions."""
        self._refresh()
        self._index = self._index or open_index(self.location)
        return self._index

    @property
    def state(self) -> SessionState:
        """Differs when answers may differ."""
        self._refresh()
        return SessionState(self._generation, self._version)

    def _refresh(self) -> None:
        """Let go of what is out of date. While a crawl runs the store always is another, but the index not as often."""
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
        """Let go of everything."""
        self._close_index()
        self.store.close()


class SessionPool:
    """The desks of one web."""

    def __init__(self, location: str) -> None:
        self.location = location
        self._idle: queue.LifoQueue[ReadSession | None] = queue.LifoQueue()
        for _ in range(POOL_SIZE):
            self._idle.put(None)  # opened when it is first needed

    @contextmanager
    def open(self) -> Iterator[ReadSession]:
        """A desk for one request."""
        try:
            session = self._idle.get(timeout=WAIT_SECONDS)
        except queue.Empty:
            raise TooBusy("Too many requests are being answered: try again in a moment.") from None
        try:
            session = session or ReadSession(self.location)
            yield session
        finally:
            self._idle.put(session)

    def close(self) -> None:
        """Let go of what no request uses."""
        while not self._idle.empty():
            if session := self._idle.get():
                session.close()
