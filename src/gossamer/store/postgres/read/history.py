"""The changes that visits found; `work/revisits.py` writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gossamer.store import rows
from gossamer.store.content import decode_source
from gossamer.store.postgres.database import int_array
from gossamer.store.postgres.follow.graph import URLS
from gossamer.store.postgres.read.resources import fetch_value

if TYPE_CHECKING:
    from gossamer.store.postgres.database import Connection
    from gossamer.store.values import ChangeRow

SELECT_HISTORY = """
    SELECT c.found_at, c.id, r.url, c.since, c.event, c.status, c.bytes, c.title, c.parts, c.links,
        c.source IS NOT NULL, r.title, r.status, r.state
    FROM history AS c JOIN resources AS r ON r.id = c.resource WHERE c.resource = %s ORDER BY c.id"""
SELECT_OLD_SOURCE = "SELECT source FROM history WHERE id = %s AND source IS NOT NULL"


def history(db: Connection, resource: int) -> list[ChangeRow]:
    """Return the changes of a resource, oldest first."""
    found = db.execute(SELECT_HISTORY, (resource,)).fetchall()
    return list(rows.changes(found, lambda targets: dict(db.execute(URLS, (int_array(targets),)).fetchall())))


def old_source(db: Connection, change: int) -> bytes | None:
    """Return the source before a change; None if it was not kept."""
    body = fetch_value(db, SELECT_OLD_SOURCE, change)
    return None if body is None else decode_source(body)
