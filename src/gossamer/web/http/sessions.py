"""A pool of read sessions: open stores, each used by one request at a time.

Requests run in several threads, but only one thread at a time may use a store. So each session has a store of its own.
A request takes the session that was used last, because its caches are warm. The search process opens the index.
"""

from __future__ import annotations

import queue
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gossamer.errors import GossamerError, StoreError
from gossamer.wiring import open_store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gossamer.store.protocol import Store

POOL_SIZE = 4  # sessions; more threads would only wait for each other
CHECK_SECONDS = 0.5  # between two looks at the web's identity, a request to a database server
WAIT_SECONDS = 10.0  # for a free session


class TooBusy(GossamerError):
    """No session or search became free in time."""


class ReadSession:
    """An open store."""

    def __init__(self, location: str) -> None:
        self.location = location
        self.store: Store = open_store(location, read_only=True)
        self._checked_at = time.monotonic()

    def is_current(self) -> bool:
        """Return whether the web at the location is still this one; look at most every `CHECK_SECONDS`."""
        now = time.monotonic()
        if now - self._checked_at < CHECK_SECONDS:
            return True
        self._checked_at = now
        return self.store.is_current()

    def close(self) -> None:
        """Close the store."""
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
        """Lend a session to one request. A web that was removed or replaced is opened again."""
        try:
            session = self._idle.get(timeout=WAIT_SECONDS)
        except queue.Empty:
            raise TooBusy("The server is busy with other requests. Try again in a moment.") from None
        try:
            if session is not None and not session.is_current():
                session.close()
                session = None
            session = session or ReadSession(self.location)
            yield session
        except StoreError:
            if session is not None:
                session.close()
                session = None  # a repaired web is read again from its files
            raise
        finally:
            self._idle.put(session)

    def close(self) -> None:
        """Close the sessions that no request uses."""
        while not self._idle.empty():
            if session := self._idle.get():
                session.close()
