"""The counters of web.db (`store/work/counters.py` explains them)."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3

    from gossamer.model import State
    from gossamer.store.work.counters import CounterDeltas

UPDATE_HOST = """
    UPDATE hosts SET known = known + ?, queued_pages = queued_pages + ?, queued_others = queued_others + ?,
        pages = pages + ?, failed = failed + ?
    WHERE id = ?"""


class MetaTable(MutableMapping[str, int]):
    """The table `meta` of single numbers, as a mapping. `write` stores only changes."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._stored: dict[str, int] = dict(db.execute("SELECT key, value FROM meta"))
        self._current = dict(self._stored)

    def __getitem__(self, key: str) -> int:
        return self._current[key]

    def __setitem__(self, key: str, value: int) -> None:
        self._current[key] = value

    def __delitem__(self, key: str) -> None:
        raise NotImplementedError  # counters are never deleted

    def __iter__(self) -> Iterator[str]:
        return iter(self._current)

    def __len__(self) -> int:
        return len(self._current)

    def resources(self, state: State) -> int:
        """Return how many resources are in a state."""
        return self._current[f"resources {state}"]

    def write(self, db: sqlite3.Connection) -> None:
        """Store the changed numbers."""
        changed = [(value, key) for key, value in self._current.items() if value != self._stored[key]]
        db.executemany("UPDATE meta SET value = ? WHERE key = ?", changed)


def write_host_counters(db: sqlite3.Connection, deltas: CounterDeltas) -> None:
    """Write the changes to the counters of hosts."""
    db.executemany(UPDATE_HOST, deltas.take_host_deltas())
