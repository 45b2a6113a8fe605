"""Stream whole tables for exports, by key, in short reads.

Each read starts where the last one ended. A row written meanwhile may be missing or have its new values; no row comes
twice. For one consistent moment of the web, export while no crawler is at work.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gossamer.store import rows
from gossamer.store.follow.graph import HostRanks, Ranks
from gossamer.store.sqlite.columns import SQLITE_COLUMNS
from gossamer.store.sqlite.database import json_array
from gossamer.store.values import Bond, HostNode, HostRow, PageNode, ResourceRow, VisitRow

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gossamer.store.sqlite.database import Database

ROWS_AT_ONCE = 10_000
PAGES_AT_ONCE = 1_000  # their rows are long

# The first columns are the cursor: the next read starts after it.
LINKS = """
    SELECT l.source, l.seq, s.url, t.url, l.kind, l.follow, l.anchor, l.weight, l.rel, l.position, t.state, t.outcome,
        t.status, t.bytes
    FROM links AS l JOIN resources AS s ON s.id = l.source JOIN resources AS t ON t.id = l.target
    WHERE (l.source, l.seq) > (?, ?) ORDER BY l.source, l.seq LIMIT ?"""
VISITS = """
    SELECT v.id, r.url, v.round, v.visited_at, coalesce(c.name, ''), v.outcome, v.status, v.bytes, v.milliseconds
    FROM visits AS v JOIN resources AS r ON r.id = v.resource LEFT JOIN crawlers AS c ON c.id = v.crawler
    WHERE v.id > ? ORDER BY v.id LIMIT ?"""
HOSTS = """
    SELECT h.id, h.id, h.name, h.known, h.queued_pages + h.queued_others, h.pages, h.failed, h.ready_at, h.delay,
        h.failures, h.reason, coalesce(c.name, ''),
        coalesce((SELECT outcome FROM robots WHERE host = h.id ORDER BY fetched_at DESC LIMIT 1), '')
    FROM hosts AS h LEFT JOIN crawlers AS c ON c.id = h.holder
    WHERE h.id > ? ORDER BY h.id LIMIT ?"""

PAGES = f"{SQLITE_COLUMNS.select_rows()} WHERE r.id > ? AND length(r.content_digest) > 0 ORDER BY r.id LIMIT ?"
# In the order of the ids; a resource forgotten meanwhile gives empty values.
PAGE_NODES = f"""
    SELECT coalesce(r.title, ''), coalesce(r.status, 0), coalesce(r.media_type, ''), coalesce(r.language, ''),
        {", ".join(f"k.{name}" for name in Ranks.__struct_fields__)}
    FROM json_each(?) AS j LEFT JOIN resources AS r ON r.id = j.value LEFT JOIN ranks AS k ON k.resource = j.value
    ORDER BY j.key"""  # noqa: S608
HOST_NODES = f"""
    SELECT coalesce(h.pages, 0), {", ".join(f"k.{name}" for name in HostRanks.__struct_fields__)}
    FROM json_each(?) AS j LEFT JOIN hosts AS h ON h.id = j.value LEFT JOIN host_ranks AS k ON k.host = j.value
    ORDER BY j.key"""  # noqa: S608


def links(database: Database) -> Iterator[Bond]:
    """Stream every bond with both its ends, by source and order of first occurrence."""
    return rows.stream_structs(_row_reader(database, LINKS), (0, -1), Bond, ROWS_AT_ONCE)


def visits(database: Database) -> Iterator[VisitRow]:
    """Stream every visit, oldest first."""
    return rows.stream_structs(_row_reader(database, VISITS), (0,), VisitRow, ROWS_AT_ONCE)


def hosts(database: Database) -> Iterator[HostRow]:
    """Stream every host, by id."""
    return rows.stream_structs(_row_reader(database, HOSTS), (0,), HostRow, ROWS_AT_ONCE)


def pages(database: Database) -> Iterator[ResourceRow]:
    """Stream every resource whose content is stored, by id."""
    for chunk in rows.read_chunks(_row_reader(database, PAGES), (0,), PAGES_AT_ONCE):
        yield from rows.to_structs_by_position(ResourceRow, chunk)


def page_nodes(database: Database, resources: Sequence[int]) -> Iterator[PageNode]:
    """Stream page data and ranks for these resources, in the order given."""
    return rows.page_nodes(_read_nodes(database, PAGE_NODES, resources))


def host_nodes(database: Database, host_ids: Sequence[int]) -> Iterator[HostNode]:
    """Stream page counts and ranks for these hosts, in the order given."""
    return rows.host_nodes(_read_nodes(database, HOST_NODES, host_ids))


def _read_nodes(database: Database, sql: str, ids: Sequence[int]) -> Iterator[rows.Row]:
    for start in range(0, len(ids), ROWS_AT_ONCE):
        with database.connection() as db:
            chunk = db.execute(sql, (json_array(ids[start : start + ROWS_AT_ONCE]),)).fetchall()
        yield from chunk


def _row_reader(database: Database, sql: str) -> rows.RowReader:
    def read(cursor: rows.Row, max_rows: int) -> list[rows.Row]:
        with database.connection() as db:
            return db.execute(sql, (*cursor, max_rows)).fetchall()

    return read
