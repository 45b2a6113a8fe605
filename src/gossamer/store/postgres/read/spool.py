"""Long answers of one moment: the server computes and keeps them, and the reader fetches them in chunks.

A cursor WITH HOLD outlives its transaction: the server keeps the answer in a temporary file. So a slow reader needs
neither memory in this process nor an open transaction on the server. It works on a read-only replica too.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from psycopg import ServerCursor

    from gossamer.store.postgres.database import Connection, Database
    from gossamer.store.rows import Row


def spool_rows(
    database: Database, sql: str, values: Sequence[object] | Mapping[str, object], at_once: int
) -> Iterator[list[Row]]:
    """Yield the rows of an answer in chunks of `at_once`."""
    name = f"answer_{secrets.token_hex(8)}"  # unique, because several answers may be open at the same time

    def open_cursor(db: Connection) -> ServerCursor[Row]:
        cursor = db.cursor(name, withhold=True)
        cursor.execute(sql, values)
        return cursor

    cursor = database.read(open_cursor)
    try:
        while rows := database.read(lambda _: cursor.fetchmany(at_once)):
            yield rows
    finally:
        database.read(lambda _: cursor.close())
