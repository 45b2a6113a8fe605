"""Counters kept by deltas, in the transaction that changes what they count.

Counting a million resources takes a second, and `status`, the display and the search for work ask all the time. Every
change of a resource's standing (state, role, outcome) passes through the `Ledger`; a property test recounts.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import cache
from typing import TYPE_CHECKING

from gossamer.model import Outcome, Role, State

if TYPE_CHECKING:
    import sqlite3

PAGE_OUTCOMES = frozenset({Outcome.FETCHED, Outcome.NOT_MODIFIED})  # a visit that ended so counts as a page
HOST_COLUMNS = ("known", "queued_pages", "queued_others", "pages", "failed")
UPDATE_HOST = """
    UPDATE hosts SET known = known + ?, queued_pages = queued_pages + ?, queued_others = queued_others + ?,
        pages = pages + ?, failed = failed + ?
    WHERE id = ?"""


class Meta:
    """The table of single numbers, as a mapping. Only what changed is written."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._stored: dict[str, int] = dict(db.execute("SELECT key, value FROM meta"))
        self._now = dict(self._stored)

    def __getitem__(self, key: str) -> int:
        return self._now[key]

    def __setitem__(self, key: str, value: int) -> None:
        self._now[key] = value

    def resources(self, state: State) -> int:
        """How many resources are in a state."""
        return self._now[f"resources {state}"]

    def write(self, db: sqlite3.Connection) -> None:
        """Store what changed."""
        changed = [(value, key) for key, value in self._now.items() if value != self._stored[key]]
        db.executemany("UPDATE meta SET value = ? WHERE key = ?", changed)


@cache
def _columns(state: str, role: str, outcome: str) -> tuple[str, ...]:
    """The counters of its host that a resource of this standing is in."""
    if state == State.QUEUED:
        return ("known", "queued_pages" if role == Role.PAGE else "queued_others")
    if state == State.VISITED and role == Role.PAGE and outcome in PAGE_OUTCOMES:
        return ("known", "pages")
    if state in {State.FAILED, State.GONE}:
        return ("known", "failed")
    return ("known",)


class Ledger:
    """Resources that came, went, or changed their standing in this transaction."""

    def __init__(self, meta: Meta) -> None:
        self._meta = meta
        self._hosts: defaultdict[int, Counter[str]] = defaultdict(Counter)

    def enter(self, host: int, state: str, role: str, outcome: str, times: int = 1) -> None:
        """Resources of this standing are there now."""
        self._meta[f"resources {state}"] += times
        counters = self._hosts[host]
        for column in _columns(state, role, outcome):
            counters[column] += times

    def leave(self, host: int, state: str, role: str, outcome: str, times: int = 1) -> None:
        """Resources of this standing are there no more."""
        self.enter(host, state, role, outcome, -times)

    def write(self, db: sqlite3.Connection) -> None:
        """Bring the hosts' counters up to date."""
        changed = (
            (*deltas, host)
            for host, counters in self._hosts.items()
            if any(deltas := [counters[column] for column in HOST_COLUMNS])
        )
        db.executemany(UPDATE_HOST, changed)
        self._hosts.clear()
