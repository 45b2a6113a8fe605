"""Counts, hosts, resources, links, visits, texts and sources; long answers are streamed by id in short reads.

A transaction that stays open would keep the server from vacuuming replaced rows. A short read can also be retried after
the connection was lost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gossamer.store import rows
from gossamer.store.content import decode_source, decode_text
from gossamer.store.postgres.columns import POSTGRES_COLUMNS
from gossamer.store.values import Counts, ErrorRow, HostRow, LinkRow, ResourceRow, VisitedTotals, VisitRow

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gossamer.model import Field, State
    from gossamer.store.postgres.database import Connection, Database

ROWS_AT_ONCE = 1_000  # rows per read; bounds memory

_SELECT_RESOURCES = POSTGRES_COLUMNS.select_rows()
RESOURCE = f"{_SELECT_RESOURCES} WHERE r.digest = %s"
RESOURCES = f"{_SELECT_RESOURCES} WHERE r.id > %s ORDER BY r.id LIMIT %s"
RESOURCES_IN_STATE = f"{_SELECT_RESOURCES} WHERE r.id > %s AND r.state = %s ORDER BY r.id LIMIT %s"
HOST_COLUMNS = """
    h.id, h.name, h.known, h.queued_pages + h.queued_others AS queued, h.pages, h.failed, h.ready_at, h.delay,
    h.failures, h.reason, coalesce(c.name, '') AS holder,
    coalesce((SELECT outcome FROM robots WHERE host = h.id
        ORDER BY outcome = 'unreachable', fetched_at DESC LIMIT 1), '') AS robots
    FROM hosts AS h LEFT JOIN crawlers AS c ON c.id = h.holder"""
HOSTS = f"SELECT {HOST_COLUMNS} ORDER BY h.pages DESC, h.known DESC, h.name LIMIT %s"
_LINK = """
    SELECT o.url, o.state, o.status, l.kind, l.follow, l.anchor, l.weight, l.rel, l.position FROM links AS l"""
INLINKS = f"{_LINK} JOIN resources AS o ON o.id = l.source WHERE l.target = %s ORDER BY l.source, l.seq LIMIT %s"
OUTLINKS = f"{_LINK} JOIN resources AS o ON o.id = l.target WHERE l.source = %s ORDER BY l.seq LIMIT %s"
ERRORS = """
    SELECT r.id, r.url, r.state, r.outcome, r.status, r.reason, coalesce(s.url, ''), coalesce(l.anchor, ''),
        (SELECT count(DISTINCT source) FROM links WHERE target = r.id)
    FROM resources AS r
    LEFT JOIN LATERAL (
        SELECT source, anchor FROM links WHERE target = r.id ORDER BY source, seq LIMIT 1) AS l ON true
    LEFT JOIN resources AS s ON s.id = l.source
    WHERE r.state IN ('failed', 'gone', 'refused') AND r.id > %s ORDER BY r.id LIMIT %s"""
VISITS = """
    SELECT r.url, v.round, v.visited_at, coalesce(c.name, '') AS crawler, v.outcome, v.status, v.bytes, v.milliseconds
    FROM visits AS v JOIN resources AS r ON r.id = v.resource LEFT JOIN crawlers AS c ON c.id = v.crawler
    WHERE v.resource = %s ORDER BY v.id"""


def fetch_rows(database: Database, sql: str, parameters: Sequence[object] | Mapping[str, object]) -> list[rows.Row]:
    """Return all rows of a short answer."""
    return database.read(lambda db: db.execute(sql, parameters).fetchall())


def row_reader(database: Database, sql: str) -> rows.RowReader:
    """Return a reader of a statement whose last parameters are the cursor and the number of rows."""
    return lambda cursor, max_rows: fetch_rows(database, sql, (*cursor, max_rows))


def fetch_value(db: Connection, sql: str, *parameters: object) -> Any:
    """Return the first value of the first row; None without rows."""
    row = db.execute(sql, parameters).fetchone()
    return row[0] if row else None


def version(db: Connection) -> int:
    """Return the version of the last batch written."""
    return int(fetch_value(db, "SELECT value FROM meta WHERE key = 'version'"))


def counts(db: Connection) -> Counts:
    """Return the numbers of resources, hosts, links and documents, from the counters."""
    marked = db.execute(rows.COUNT_MARKED).fetchall()[0]
    return rows.counts(dict(db.execute("SELECT key, value FROM meta").fetchall()), marked)


def visited_totals(db: Connection) -> VisitedTotals:
    """Return how many pages were visited, on how many hosts, and how many hosts have none."""
    (totals,) = rows.to_structs_by_name(VisitedTotals, db.execute(rows.VISITED_TOTALS))
    return totals


def hosts(db: Connection, limit: int | None) -> list[HostRow]:
    """Return hosts, those with most pages first."""
    return rows.to_structs_by_name(HostRow, db.execute(HOSTS, (limit,)))


def resource(db: Connection, digest: bytes) -> ResourceRow | None:
    """Return a resource by the digest of its URL."""
    return next(iter(rows.to_structs_by_name(ResourceRow, db.execute(RESOURCE, (digest,)))), None)


def resources(database: Database, state: State | None) -> Iterator[ResourceRow]:
    """Yield all resources (of a state), by id."""

    def read(cursor: rows.Row, max_rows: int) -> list[rows.Row]:
        if state is None:
            return fetch_rows(database, RESOURCES, (*cursor, max_rows))
        return fetch_rows(database, RESOURCES_IN_STATE, (*cursor, state.value, max_rows))

    for chunk in rows.read_chunks(read, (0,), ROWS_AT_ONCE):
        yield from rows.to_structs_by_position(ResourceRow, chunk)


def inlinks(db: Connection, resource_id: int, limit: int | None) -> list[LinkRow]:
    """Return the bonds that point at a resource."""
    return rows.links(db.execute(INLINKS, (resource_id, limit)))


def outlinks(db: Connection, resource_id: int, limit: int | None) -> list[LinkRow]:
    """Return the bonds of a page, in order of first occurrence."""
    return rows.links(db.execute(OUTLINKS, (resource_id, limit)))


def errors(database: Database, limit: int | None) -> Iterator[ErrorRow]:
    """Yield failed, gone and refused resources, each with one page that points at it; by id."""
    for chunk in rows.read_chunks(row_reader(database, ERRORS), (0,), ROWS_AT_ONCE, limit):
        for row in chunk:
            yield rows.to_struct(ErrorRow, row[1:])


def visits(db: Connection, resource_id: int) -> list[VisitRow]:
    """Return every visit of a resource, oldest first."""
    return rows.to_structs_by_name(VisitRow, db.execute(VISITS, (resource_id,)))


def text(db: Connection, resource_id: int) -> list[tuple[Field, str]] | None:
    """Return the text by field, in reading order; None if there is none."""
    body = packed_text(db, resource_id)
    return None if body is None else decode_text(body)


def packed_text(db: Connection, resource_id: int) -> bytes | None:
    """Return the text as stored; None if there is none."""
    body: bytes | None = fetch_value(db, "SELECT body FROM texts WHERE resource = %s", resource_id)
    return body


def source(db: Connection, resource_id: int) -> bytes | None:
    """Return the decoded body; None if it was not kept."""
    body = packed_source(db, resource_id)
    return None if body is None else decode_source(body)


def packed_source(db: Connection, resource_id: int) -> bytes | None:
    """Return the body as stored; None if there is none."""
    body: bytes | None = fetch_value(db, "SELECT body FROM sources WHERE resource = %s", resource_id)
    return body
