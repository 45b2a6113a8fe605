"""The changes that visits found; `work/revisits.py` writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gossamer.store import rows
from gossamer.store.content import decode_source
from gossamer.store.postgres.database import int_array
from gossamer.store.postgres.follow.graph import URLS
from gossamer.store.postgres.read.resources import fetch_rows, fetch_value, row_reader

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gossamer.store.postgres.database import Connection, Database
    from gossamer.store.values import ChangeRow

ROWS_AT_ONCE = 500  # rows per read; few, because a row carries the changed links of a page
_SELECT_HISTORY = """
    SELECT c.found_at, c.id, r.url, c.since, c.event, c.status, c.bytes, c.title, c.parts, c.links,
        c.source IS NOT NULL, r.title, r.status, r.state
    FROM history AS c JOIN resources AS r ON r.id = c.resource"""
SELECT_BY_RESOURCE = f"{_SELECT_HISTORY} WHERE c.resource = %s ORDER BY c.id"
SELECT_SINCE = f"{_SELECT_HISTORY} WHERE (c.found_at, c.id) > (%s, %s) ORDER BY c.found_at, c.id LIMIT %s"
OLD_SOURCE = "SELECT source FROM history WHERE id = %s AND source IS NOT NULL"


def resource_history(database: Database, resource: int) -> list[ChangeRow]:
    """Return the changes of a resource, oldest first."""
    return list(_build_changes(database, fetch_rows(database, SELECT_BY_RESOURCE, (resource,))))


def history_since(database: Database, when: float, limit: int | None) -> Iterator[ChangeRow]:
    """Yield the changes found after `when`, oldest first."""
    for chunk in rows.read_chunks(row_reader(database, SELECT_SINCE), (when, 0), ROWS_AT_ONCE, limit):
        yield from _build_changes(database, chunk)


def _build_changes(database: Database, history: list[rows.Row]) -> Iterator[ChangeRow]:
    return rows.changes(history, lambda targets: dict(fetch_rows(database, URLS, (int_array(targets),))))


def old_source(db: Connection, entry: int) -> bytes | None:
    """Return the source before a change; None if it was not kept."""
    body = fetch_value(db, OLD_SOURCE, entry)
    return None if body is None else decode_source(body)
