"""Whole tables for exports, streamed by key in short reads.

Each read continues after the last key. So a row that a crawler writes meanwhile may be missing or have its new values;
no row comes twice. For an export of one moment, stop the crawlers first, or export from a copy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gossamer.store import rows
from gossamer.store.follow.graph import HostRanks, Ranks
from gossamer.store.postgres.columns import POSTGRES_COLUMNS
from gossamer.store.postgres.database import int_array
from gossamer.store.postgres.read.resources import HOST_COLUMNS, fetch_rows, row_reader
from gossamer.store.values import Bond, HostNode, HostRow, PageNode, ResourceRow, VisitRow

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gossamer.store.postgres.database import Database

ROWS_AT_ONCE = 10_000  # rows per read; bounds memory
PAGES_AT_ONCE = 1_000  # fewer, because their rows are long

# The key of a row comes first: the next read continues after it.
LINKS = """
    SELECT l.source, l.seq, s.url, t.url, l.kind, l.follow, l.anchor, l.weight, l.rel, l.position, t.state, t.outcome,
        t.status, t.bytes
    FROM links AS l JOIN resources AS s ON s.id = l.source JOIN resources AS t ON t.id = l.target
    WHERE (l.source, l.seq) > (%s, %s) ORDER BY l.source, l.seq LIMIT %s"""
VISITS = """
    SELECT v.id, r.url, v.round, v.visited_at, coalesce(c.name, ''), v.outcome, v.status, v.bytes, v.milliseconds
    FROM visits AS v JOIN resources AS r ON r.id = v.resource LEFT JOIN crawlers AS c ON c.id = v.crawler
    WHERE v.id > %s ORDER BY v.id LIMIT %s"""
HOSTS = f"SELECT h.id, {HOST_COLUMNS} WHERE h.id > %s ORDER BY h.id LIMIT %s"
PAGES = f"{POSTGRES_COLUMNS.select_rows()} WHERE r.id > %s AND length(r.content_digest) > 0 ORDER BY r.id LIMIT %s"

# In the given order. A resource that was forgotten meanwhile gets empty values.
PAGE_NODES = f"""
    SELECT coalesce(r.title, ''), coalesce(r.status, 0), coalesce(r.media_type, ''), coalesce(r.language, ''),
        {", ".join(f"k.{name}" for name in Ranks.__struct_fields__)}
    FROM unnest(%s::bigint[]) WITH ORDINALITY AS j (id, ordinal)
    LEFT JOIN resources AS r ON r.id = j.id LEFT JOIN ranks AS k ON k.resource = j.id
    ORDER BY j.ordinal"""  # noqa: S608
HOST_NODES = f"""
    SELECT coalesce(h.pages, 0), {", ".join(f"k.{name}" for name in HostRanks.__struct_fields__)}
    FROM unnest(%s::bigint[]) WITH ORDINALITY AS j (id, ordinal)
    LEFT JOIN hosts AS h ON h.id = j.id LEFT JOIN host_ranks AS k ON k.host = j.id
    ORDER BY j.ordinal"""  # noqa: S608


def links(database: Database) -> Iterator[Bond]:
    """Yield every bond with both its ends, by source and order of first occurrence."""
    return rows.stream_structs(row_reader(database, LINKS), (0, -1), Bond, ROWS_AT_ONCE)


def visits(database: Database) -> Iterator[VisitRow]:
    """Yield every visit, oldest first."""
    return rows.stream_structs(row_reader(database, VISITS), (0,), VisitRow, ROWS_AT_ONCE)


def hosts(database: Database) -> Iterator[HostRow]:
    """Yield every host, by id."""
    return rows.stream_structs(row_reader(database, HOSTS), (0,), HostRow, ROWS_AT_ONCE)


def pages(database: Database) -> Iterator[ResourceRow]:
    """Yield every resource whose content is stored, by id."""
    for chunk in rows.read_chunks(row_reader(database, PAGES), (0,), PAGES_AT_ONCE):
        yield from rows.to_structs_by_position(ResourceRow, chunk)


def page_nodes(database: Database, resources: Sequence[int]) -> Iterator[PageNode]:
    """Yield facts and ranks of pages, in the order of `resources`."""
    return rows.page_nodes(_read_nodes(database, PAGE_NODES, resources))


def host_nodes(database: Database, host_ids: Sequence[int]) -> Iterator[HostNode]:
    """Yield facts and ranks of hosts, in the order of `host_ids`."""
    return rows.host_nodes(_read_nodes(database, HOST_NODES, host_ids))


def _read_nodes(database: Database, sql: str, ids: Sequence[int]) -> Iterator[rows.Row]:
    for start in range(0, len(ids), ROWS_AT_ONCE):
        yield from fetch_rows(database, sql, (int_array(ids[start : start + ROWS_AT_ONCE]),))
