"""Long answers of one moment: worked out at once and kept by the server, from where they are read piece by piece.

A cursor WITH HOLD outlives its transaction: the answer lies in a temporary file on the server, so that neither memory
here nor an open transaction there is needed however long somebody looks at it. It works on a read-only replica as well.
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
    """The rows of an answer, so many at once."""
    name = f"answer_{secrets.token_hex(8)}"  # several may be read at the same time

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
