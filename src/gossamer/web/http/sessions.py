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
from gossamer.wiring import open_index, open_store, searcher

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gossamer.index.protocol import IndexReader
    from gossamer.search.service import Searcher
    from gossamer.store.protocol import Store

DESKS = 4  # requests read in so many threads at once; more would only wait for each other
LOOK_SECONDS = 0.5  # how often to look whether the index has a newer commit
WAIT_SECONDS = 30.0  # for a free desk


class TooBusy(GossamerError):
    """No desk came free in time."""


class State(NamedTuple):
    """What answers depend on."""

    opened: int  # counts up when index or ranks are others
    version: int  # of the store


class Desk:
    """A store, and what searches it."""

    def __init__(self, place: str) -> None:
        self.place = place
        self.store: Store = open_store(place, read_only=True)
        self._index: IndexReader | None = None
        self._searcher: Searcher | None = None
        self.looked_at = float("-inf")  # when it was last made sure that all of it is up to date
        self._opened = 0
        self._version = -1
        self._ranked_at = 0.0

    @property
    def searcher(self) -> Searcher:
        """Answers questions by a commit of the index that is at most a moment old. `IndexMissing`: there is none."""
        index = self.index  # by it newer commits are seen
        self._searcher = self._searcher or searcher(self.store, index, self.place)
        return self._searcher

    @property
    def index(self) -> IndexReader:
        """The same commit, for other questions."""
        self._look()
        self._index = self._index or open_index(self.place)
        return self._index

    @property
    def state(self) -> State:
        """Differs when answers may differ."""
        self._look()
        return State(self._opened, self._version)

    def _look(self) -> None:
        """Let go of what is out of date. While a crawl runs the store always is another, but the index not as often."""
        now = time.monotonic()
        if now - self.looked_at < LOOK_SECONDS:
            return
        ranking = self.store.ranking()
        ranked_at = ranking.made_at if ranking else 0.0
        self._version = self.store.version()
        if ranked_at != self._ranked_at or (self._index is not None and not self._index.is_current()):
            self._let_go()
        self._ranked_at = ranked_at
        self.looked_at = now

    def _let_go(self) -> None:
        if self._index is not None:
            self._index.close()
        self._searcher = self._index = None
        self._opened += 1

    def close(self) -> None:
        """Let go of everything."""
        self._let_go()
        self.store.close()


class Desks:
    """The desks of one web."""

    def __init__(self, place: str) -> None:
        self.place = place
        self._idle: queue.LifoQueue[Desk | None] = queue.LifoQueue()
        for _ in range(DESKS):
            self._idle.put(None)  # opened when it is first needed

    @contextmanager
    def open(self) -> Iterator[Desk]:
        """A desk for one request."""
        try:
            desk = self._idle.get(timeout=WAIT_SECONDS)
        except queue.Empty:
            raise TooBusy("Too many requests are being answered: try again in a moment.") from None
        try:
            desk = desk or Desk(self.place)
            yield desk
        finally:
            self._idle.put(desk)

    def close(self) -> None:
        """Let go of what no request uses."""
        while not self._idle.empty():
            if desk := self._idle.get():
                desk.close()
