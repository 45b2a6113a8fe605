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
    from collections.abc import Iterable

AT_ONCE = 32  # rows


class Insertion:
    """Rows for one table."""

    def __init__(self, table: str, columns: str, otherwise: str = "") -> None:
        """`columns` are named as in SQL; `otherwise` says what becomes of a row that is there."""
        width = columns.count(",") + 1
        row = f"({', '.join('?' * width)})"
        insert = f"INSERT OR ROLLBACK INTO {table} ({columns}) VALUES"
        self._one = f"{insert} {row} {otherwise}"
        self._many = f"{insert} {', '.join([row] * AT_ONCE)} {otherwise}"
        self._values = width * AT_ONCE

    def run(self, db: sqlite3.Connection, rows: Iterable[tuple[object, ...]], number: int) -> None:
        """Insert so many rows: what is left over of whole statements first, then `AT_ONCE` at a time."""
        each = iter(rows)
        db.executemany(self._one, islice(each, number % AT_ONCE))
        values = chain.from_iterable(each)
        db.executemany(self._many, zip(*[values] * self._values, strict=True))
