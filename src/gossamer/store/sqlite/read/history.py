"""Read the changes that visits found; `work/revisits.py` writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gossamer.store import rows
from gossamer.store.content import decode_source
from gossamer.store.sqlite.database import json_array

if TYPE_CHECKING:
    import sqlite3

    from gossamer.store.values import ChangeRow

SELECT_HISTORY = """
    SELECT c.found_at, c.id, r.url, c.since, c.event, c.status, c.bytes, c.title, c.parts, c.links,
        c.source IS NOT NULL, r.title, r.status, r.state
    FROM history AS c JOIN resources AS r ON r.id = c.resource WHERE c.resource = ? ORDER BY c.id"""
SELECT_OLD_SOURCE = "SELECT source FROM history WHERE id = ? AND source IS NOT NULL"
URLS = "SELECT id, url FROM resources WHERE id IN (SELECT value FROM json_each(?))"


def history(db: sqlite3.Connection, resource: int) -> list[ChangeRow]:
    """Return the changes of a resource, oldest first."""
    found = db.execute(SELECT_HISTORY, (resource,)).fetchall()
    return list(rows.changes(found, lambda targets: dict(db.execute(URLS, (json_array(targets),)))))


def old_source(db: sqlite3.Connection, change: int) -> bytes | None:
    """Return the source until a change; None when it was not kept."""
    row = db.execute(SELECT_OLD_SOURCE, (change,)).fetchone()
    return decode_source(row[0]) if row else None
