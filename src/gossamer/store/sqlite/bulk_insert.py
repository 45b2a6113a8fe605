"""Many rows by few statements.

A statement opens its table and each of its indexes, whether it writes one row or many: a new resource, with seven
indexes, takes 9 µs alone and 4 among many, a bond 2.0 and 1.2. OR ROLLBACK, which a fault comes to in any case,
spares SQLite a journal of its own for each statement of several rows; with that journal half of the gain would be lost.
"""

from __future__ import annotations

from itertools import chain, islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator

AT_ONCE = 32  # rows


class Insertion:
    """Rows for one table."""

    def __init__(self, table: str, columns: str, otherwise: str = "") -> None:
        """`columns` are named as in SQL; `otherwise` says what becomes of a row that is there."""
        self._width = columns.count(",") + 1
        row = f"({', '.join('?' * self._width)})"
        insert = f"INSERT OR ROLLBACK INTO {table} ({columns}) VALUES"
        self._one = f"{insert} {row} {otherwise}"
        self._many = f"{insert} {', '.join([row] * AT_ONCE)} {otherwise}"

    def run(self, db: sqlite3.Connection, rows: Iterable[tuple[object, ...]]) -> None:
        """Insert them, `AT_ONCE` at a time, and what is left over one by one."""
        values = chain.from_iterable(rows)
        some: tuple[object, ...] = ()

        def whole() -> Iterator[tuple[object, ...]]:
            nonlocal some
            while len(some := tuple(islice(values, self._width * AT_ONCE))) == self._width * AT_ONCE:
                yield some

        db.executemany(self._many, whole())
        db.executemany(self._one, zip(*[iter(some)] * self._width, strict=True))
