"""Where requests read: stores and searchers that are opened once and used by one request at a time.

A store may be used by one thread at a time, and requests run in several. So there are a few desks, each with a store of
its own, and a request takes the one that was used last: its caches are warm.
"""

from __future__ import annotations

import queue
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gossamer.errors import GossamerError
from gossamer.wiring import open_index, open_store, searcher

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gossamer.index.base import IndexReader
    from gossamer.search.service import Searcher
    from gossamer.store.base import Store

DESKS = 4  # requests read in so many threads at once; more would only wait for each other
LOOK_SECONDS = 1.0  # how often to look whether the index has a newer commit
WAIT_SECONDS = 30.0  # for a free desk


class TooBusy(GossamerError):
    """No desk came free in time."""


class Desk:
    """A store, and what searches it."""

    def __init__(self, place: str) -> None:
        self.place = place
        self.store: Store = open_store(place, read_only=True)
        self._index: IndexReader | None = None
        self._searcher: Searcher | None = None
        self._looked_at = float("-inf")
        self._seen: tuple[int, float] = (-1, 0.0)

    @property
    def searcher(self) -> Searcher:
        """Answers questions by a commit of the index that is at most a second old. `IndexMissing`: there is none."""
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
    def state(self) -> str:
        """Differs when answers may differ: a tag for caches."""
        self._look()
        return f"{self._seen[0]:x}.{self._seen[1]:.0f}"

    def _look(self) -> None:
        """Let go of what is out of date. While a crawl runs the store always is another, but the index not as often."""
        now = time.monotonic()
        if now - self._looked_at < LOOK_SECONDS:
            return
        ranking = self.store.ranking()
        state = (self.store.version(), ranking.made_at if ranking else 0.0)
        if state[1] != self._seen[1] or (self._index is not None and not self._index.is_current()):
            self._let_go()
        self._seen = state
        self._looked_at = now

    def _let_go(self) -> None:
        if self._index is not None:
            self._index.close()
        self._searcher = self._index = None

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
