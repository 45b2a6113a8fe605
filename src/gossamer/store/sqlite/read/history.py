"""Read the changes that visits found; `work/revisits.py` writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gossamer.store import rows
from gossamer.store.content import decode_source
from gossamer.store.sqlite.database import json_array

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator, Sequence

    from gossamer.store.sqlite.database import Database
    from gossamer.store.values import ChangeRow

ROWS_AT_ONCE = 500
_SELECT_HISTORY = """
    SELECT c.found_at, c.id, r.url, c.since, c.event, c.status, c.bytes, c.title, c.parts, c.links,
        c.source IS NOT NULL, r.title, r.status, r.state
    FROM history AS c JOIN resources AS r ON r.id = c.resource"""
SELECT_BY_RESOURCE = f"{_SELECT_HISTORY} WHERE c.resource = ? ORDER BY c.id"
SELECT_SINCE = f"""
    {_SELECT_HISTORY} WHERE (c.found_at, c.id) > (?, ?) ORDER BY c.found_at, c.id LIMIT ?"""
URLS = "SELECT id, url FROM resources WHERE id IN (SELECT value FROM json_each(?))"


def resource_history(db: sqlite3.Connection, resource: int) -> list[ChangeRow]:
    """Return the history of a resource, oldest first."""
    return list(_build_changes(db, db.execute(SELECT_BY_RESOURCE, (resource,)).fetchall()))


def history_since(database: Database, when: float, limit: int | None) -> Iterator[ChangeRow]:
    """Stream the changes found since a time, oldest first."""

    def read(cursor: rows.Row, max_rows: int) -> list[rows.Row]:
        with database.connection() as db:
            return db.execute(SELECT_SINCE, (*cursor, max_rows)).fetchall()

    for chunk in rows.read_chunks(read, (when, 0), ROWS_AT_ONCE, limit):
        with database.connection() as db:
            changes = list(_build_changes(db, chunk))
        yield from changes


def old_source(db: sqlite3.Connection, entry: int) -> bytes | None:
    """Return the source until a change; None when it was not kept."""
    row = db.execute("SELECT source FROM history WHERE id = ? AND source IS NOT NULL", (entry,)).fetchone()
    return decode_source(row[0]) if row else None


def _build_changes(db: sqlite3.Connection, history: Sequence[rows.Row]) -> Iterator[ChangeRow]:
    return rows.changes(history, lambda targets: dict(db.execute(URLS, (json_array(targets),))))
