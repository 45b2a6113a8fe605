"""Read counts, hosts, resources, links, visits and contents; long answers are streamed in short reads.

A read that stays open keeps SQLite from folding the log into the file, and the log would grow meanwhile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gossamer.store import rows
from gossamer.store.content import decode_source, decode_text
from gossamer.store.sqlite.columns import SQLITE_COLUMNS
from gossamer.store.sqlite.work.digests import ID_BY_DIGEST
from gossamer.store.values import Counts, ErrorRow, HostRow, LinkRow, ResourceRow, VisitedTotals, VisitRow

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator

    from gossamer.model import Field, State
    from gossamer.store.sqlite.database import Database

ROWS_AT_ONCE = 1_000
NO_LIMIT = -1  # LIMIT -1 is no limit

_SELECT_RESOURCES = SQLITE_COLUMNS.select_rows()
RESOURCE = f"{_SELECT_RESOURCES} WHERE r.id = {ID_BY_DIGEST}"
RESOURCES = f"{_SELECT_RESOURCES} WHERE r.id > ? ORDER BY r.id LIMIT ?"
RESOURCES_IN_STATE = f"{_SELECT_RESOURCES} WHERE r.id > ? AND r.state = ? ORDER BY r.id LIMIT ?"
HOSTS = """
    SELECT h.id, h.name, h.known, h.queued_pages + h.queued_others AS queued, h.pages, h.failed, h.ready_at, h.delay,
        h.failures, h.reason, coalesce(c.name, '') AS holder,
        coalesce((SELECT outcome FROM robots WHERE host = h.id
            ORDER BY outcome = 'unreachable', fetched_at DESC LIMIT 1), '') AS robots
    FROM hosts AS h LEFT JOIN crawlers AS c ON c.id = h.holder
    ORDER BY h.pages DESC, h.known DESC, h.name LIMIT ?"""
_LINK = """
    SELECT o.url, o.state, o.status, l.kind, l.follow, l.anchor, l.weight, l.rel, l.position FROM links AS l"""
INLINKS = f"{_LINK} JOIN resources AS o ON o.id = l.source WHERE l.target = ? ORDER BY l.source, l.seq LIMIT ?"
OUTLINKS = f"{_LINK} JOIN resources AS o ON o.id = l.target WHERE l.source = ? ORDER BY l.seq LIMIT ?"
ERRORS = """
    SELECT r.id, r.url, r.state, r.outcome, r.status, r.reason, coalesce(s.url, '') AS source,
        coalesce(l.anchor, '') AS anchor, (SELECT count(DISTINCT source) FROM links WHERE target = r.id) AS inlinks
    FROM resources AS r INDEXED BY resources_errors
    LEFT JOIN links AS l ON (l.source, l.seq)
        = (SELECT source, seq FROM links WHERE target = r.id ORDER BY source, seq LIMIT 1)
    LEFT JOIN resources AS s ON s.id = l.source
    WHERE r.state IN ('failed', 'gone', 'refused') AND r.id > ? ORDER BY r.id LIMIT ?"""
VISITS = """
    SELECT r.url, v.round, v.visited_at, coalesce(c.name, '') AS crawler, v.outcome, v.status, v.bytes, v.milliseconds
    FROM visits AS v JOIN resources AS r ON r.id = v.resource LEFT JOIN crawlers AS c ON c.id = v.crawler
    WHERE v.resource = ? ORDER BY v.id"""


def version(db: sqlite3.Connection) -> int:
    """Return the version of the last batch written."""
    row = db.execute("SELECT value FROM meta WHERE key = 'version'").fetchone()
    if row is None:
        raise rows.missing_counter("version")
    return int(row[0])


def counts(db: sqlite3.Connection) -> Counts:
    """Return the counters."""
    return rows.counts(dict(db.execute("SELECT key, value FROM meta")), db.execute(rows.COUNT_MARKED).fetchone())


def visited_totals(db: sqlite3.Connection) -> VisitedTotals:
    """Return how many pages were visited, on how many hosts, and how many hosts have none."""
    (totals,) = rows.to_structs_by_name(VisitedTotals, db.execute(rows.VISITED_TOTALS))
    return totals


def hosts(db: sqlite3.Connection, limit: int | None) -> list[HostRow]:
    """Return hosts, those with most pages first."""
    return rows.to_structs_by_name(HostRow, db.execute(HOSTS, (NO_LIMIT if limit is None else limit,)))


def resource(db: sqlite3.Connection, digest: bytes) -> ResourceRow | None:
    """Return a resource by the digest of its URL."""
    return next(iter(rows.to_structs_by_name(ResourceRow, db.execute(RESOURCE, (digest,)))), None)


def resources(database: Database, state: State | None) -> Iterator[ResourceRow]:
    """Stream all resources, or those in a state, by id."""

    def read(cursor: rows.Row, max_rows: int) -> list[rows.Row]:
        with database.connection() as db:
            if state is None:
                return db.execute(RESOURCES, (*cursor, max_rows)).fetchall()
            return db.execute(RESOURCES_IN_STATE, (*cursor, state.value, max_rows)).fetchall()

    for chunk in rows.read_chunks(read, (0,), ROWS_AT_ONCE):
        yield from rows.to_structs_by_position(ResourceRow, chunk)


def inlinks(db: sqlite3.Connection, resource_id: int, limit: int | None) -> list[LinkRow]:
    """Return the bonds that point at a resource."""
    return rows.links(db.execute(INLINKS, (resource_id, NO_LIMIT if limit is None else limit)))


def outlinks(db: sqlite3.Connection, resource_id: int, limit: int | None) -> list[LinkRow]:
    """Return the bonds of a page, in order of first occurrence."""
    return rows.links(db.execute(OUTLINKS, (resource_id, NO_LIMIT if limit is None else limit)))


def errors(database: Database, limit: int | None) -> Iterator[ErrorRow]:
    """Stream failed, gone and refused resources, by id."""

    def read(cursor: rows.Row, max_rows: int) -> list[rows.Row]:
        with database.connection() as db:
            return db.execute(ERRORS, (*cursor, max_rows)).fetchall()

    for chunk in rows.read_chunks(read, (0,), ROWS_AT_ONCE, limit):
        for row in chunk:
            yield rows.to_struct(ErrorRow, row[1:])


def visits(db: sqlite3.Connection, resource_id: int) -> list[VisitRow]:
    """Return every visit of a resource, oldest first."""
    return rows.to_structs_by_name(VisitRow, db.execute(VISITS, (resource_id,)))


def text(db: sqlite3.Connection, resource_id: int) -> list[tuple[Field, str]] | None:
    """Return the text by field, in reading order."""
    body = packed_text(db, resource_id)
    return None if body is None else decode_text(body)


def packed_text(db: sqlite3.Connection, resource_id: int) -> bytes | None:
    """Return the text as stored."""
    row = db.execute("SELECT body FROM texts WHERE resource = ?", (resource_id,)).fetchone()
    return row[0] if row else None


def source(db: sqlite3.Connection, resource_id: int) -> bytes | None:
    """Return the decoded body."""
    body = packed_source(db, resource_id)
    return None if body is None else decode_source(body)


def packed_source(db: sqlite3.Connection, resource_id: int) -> bytes | None:
    """Return the body as stored."""
    row = db.execute("SELECT body FROM sources WHERE resource = ?", (resource_id,)).fetchone()
    return row[0] if row else None
