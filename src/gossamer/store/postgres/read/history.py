"""What visits found to be different from before, for reading; `submit` writes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gossamer.store import rows
from gossamer.store.content import decode_source
from gossamer.store.postgres.database import ints
from gossamer.store.postgres.follow.graph import URLS
from gossamer.store.postgres.read.resources import fetch, only, reader

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gossamer.store.postgres.database import Connection, Database
    from gossamer.store.values import ChangeRow

ROWS_AT_ONCE = 500
_ROWS = """
    SELECT c.found_at, c.id, r.url, c.since, c.event, c.status, c.bytes, c.title, c.parts, c.links,
        c.source IS NOT NULL, r.title, r.status, r.state
    FROM history AS c JOIN resources AS r ON r.id = c.resource"""
OF_RESOURCE = f"{_ROWS} WHERE c.resource = %s ORDER BY c.id"
SINCE = f"{_ROWS} WHERE (c.found_at, c.id) > (%s, %s) ORDER BY c.found_at, c.id LIMIT %s"
OLD_SOURCE = "SELECT source FROM history WHERE id = %s AND source IS NOT NULL"


def of_resource(database: Database, resource: int) -> list[ChangeRow]:
    """The history of a resource, oldest first."""
    return list(_read(database, fetch(database, OF_RESOURCE, (resource,))))


def since(database: Database, when: float, limit: int | None) -> Iterator[ChangeRow]:
    """What was found changed since then, oldest first."""
    for piece in rows.in_pieces(reader(database, SINCE), (when, 0), ROWS_AT_ONCE, limit):
        yield from _read(database, piece)


def _read(database: Database, found: list[rows.Row]) -> Iterator[ChangeRow]:
    return rows.changes(found, lambda targets: dict(fetch(database, URLS, (ints(targets),))))


def old_source(db: Connection, entry: int) -> bytes | None:
    """The source as it was until a change; None when it was not kept."""
    body = only(db, OLD_SOURCE, entry)
    return None if body is None else decode_source(body)
