"""Everything there is, for exports: streamed in the order of the table, in short reads as in `read`.

Each read takes up where the last one ended, so a row that is written meanwhile may be missed or come with its new
values; no row comes twice. Whoever needs one moment of the web exports while nobody crawls.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from gossamer.store.base import Bond, HostNode, HostRow, PageNode, ResourceRow, VisitRow
from gossamer.store.graph import HostRanks, Ranks
from gossamer.store.sqlite.admission import as_json
from gossamer.store.sqlite.read import _RESOURCE

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator, Sequence

    from gossamer.store.sqlite.database import Database

ROWS_AT_ONCE = 10_000
PAGES_AT_ONCE = 1_000  # their rows are long

# The place of a row comes first: the next read starts behind it.
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

PAGES = f"{_RESOURCE} WHERE r.id > ? AND length(r.content_digest) > 0 ORDER BY r.id LIMIT ?"
# In the order asked for; of what was forgotten meanwhile only nothing is known.
PAGE_NODES = f"""
    SELECT coalesce(r.title, ''), coalesce(r.status, 0), coalesce(r.media_type, ''), coalesce(r.language, ''),
        {", ".join(f"k.{name}" for name in Ranks.__struct_fields__)}
    FROM json_each(?) AS j LEFT JOIN resources AS r ON r.id = j.value LEFT JOIN ranks AS k ON k.resource = j.value
    ORDER BY j.key"""  # noqa: S608
HOST_NODES = f"""
    SELECT coalesce(h.pages, 0), {", ".join(f"k.{name}" for name in HostRanks.__struct_fields__)}
    FROM json_each(?) AS j LEFT JOIN hosts AS h ON h.id = j.value LEFT JOIN host_ranks AS k ON k.host = j.value
    ORDER BY j.key"""  # noqa: S608

T = TypeVar("T", bound=msgspec.Struct)


def links(database: Database) -> Iterator[Bond]:
    """Every bond with both its ends, by source and order of first occurrence."""
    return _values(database, LINKS, (0, -1), Bond)


def visits(database: Database) -> Iterator[VisitRow]:
    """Every visit, oldest first."""
    return _values(database, VISITS, (0,), VisitRow)


def hosts(database: Database) -> Iterator[HostRow]:
    """Every host, by id."""
    return _values(database, HOSTS, (0,), HostRow)


def pages(database: Database) -> Iterator[ResourceRow]:
    """Every resource whose content is stored, by id."""
    last = 0
    while True:
        with database.reading() as db:
            rows = _converted(db.execute(PAGES, (last, PAGES_AT_ONCE)), ResourceRow)
        if not rows:
            return
        yield from rows
        last = rows[-1].id


def page_nodes(database: Database, resources: Sequence[int]) -> Iterator[PageNode]:
    """What is known of pages and what the link graph says of them, in the order asked for."""
    for row in _chunked(database, PAGE_NODES, resources):
        yield PageNode(title=row[0], status=row[1], media_type=row[2], language=row[3], ranks=_ranks(Ranks, row[4:]))


def host_nodes(database: Database, wanted: Sequence[int]) -> Iterator[HostNode]:
    """The same of hosts."""
    for row in _chunked(database, HOST_NODES, wanted):
        yield HostNode(pages=row[0], ranks=_ranks(HostRanks, row[1:]))


def _chunked(database: Database, sql: str, ids: Sequence[int]) -> Iterator[tuple[Any, ...]]:
    for start in range(0, len(ids), ROWS_AT_ONCE):
        with database.reading() as db:
            rows = db.execute(sql, (as_json(ids[start : start + ROWS_AT_ONCE]),)).fetchall()
        yield from rows


def _ranks(type_: type[T], row: Sequence[object]) -> T | None:
    return None if row[0] is None else type_(**dict(zip(type_.__struct_fields__, row, strict=True)))


def _converted(cursor: sqlite3.Cursor, type_: type[T]) -> list[T]:
    columns = [column[0] for column in cursor.description]
    return msgspec.convert([dict(zip(columns, row, strict=True)) for row in cursor], list[type_], strict=False)  # type: ignore[valid-type]


def _values(database: Database, sql: str, place: tuple[int, ...], type_: type[T]) -> Iterator[T]:
    names, width = type_.__struct_fields__, len(place)
    while True:
        with database.reading() as db:
            rows: list[tuple[Any, ...]] = db.execute(sql, (*place, ROWS_AT_ONCE)).fetchall()
        if not rows:
            return
        named = [dict(zip(names, row[width:], strict=True)) for row in rows]
        yield from msgspec.convert(named, list[type_], strict=False)  # type: ignore[valid-type]
        place = rows[-1][:width]
