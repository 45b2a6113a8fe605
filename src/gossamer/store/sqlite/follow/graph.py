"""For the graph room: where resources are, and ranks, written as a whole. Its links are in link_changes.py."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

import msgspec

from gossamer.store import rows
from gossamer.store.follow.graph import HostRanks, RankedHost, RankedPage, Ranking, Ranks, ResourceHosts
from gossamer.store.sqlite.bulk_insert import BulkInsert
from gossamer.store.sqlite.work.admission import json_array
from gossamer.store.work.rounds import LOWEST_PRIORITY

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator, Sequence

    from gossamer.store.follow.graph import RankColumns
    from gossamer.store.sqlite.database import Database, Transaction

IDS_AT_ONCE = 100_000

SELECT_RESOURCE_HOSTS = "SELECT id, host FROM resources WHERE id > ? ORDER BY id LIMIT ?"
URLS = "SELECT id, url FROM resources WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id"
SEEDS = "SELECT id FROM resources WHERE seed = 1"
HOST_NAMES = "SELECT id, name FROM hosts WHERE id IN (SELECT value FROM json_each(?))"

_RANKS = ", ".join(Ranks.__struct_fields__)
DELETE_FORGOTTEN = """
    DELETE FROM ranks WHERE resource IN (SELECT resource FROM forgotten WHERE version > ?1
        UNION ALL SELECT id FROM resources WHERE version > ?1 AND visits = 0)"""
# As `crawl.policy` has it: a backlink is the unit, and a level of depth costs one.
UPDATE_PRIORITIES = f"""
    UPDATE resources SET priority = ? - depth
    WHERE id = ? AND state = 'queued' AND role = 'page' AND priority > {LOWEST_PRIORITY}"""  # noqa: S608
RANKS = f"SELECT {_RANKS} FROM ranks WHERE resource = ?"  # noqa: S608
# The first rows, then their names: joined first, the names of all would be looked up.
_SELECT_RANKED_PAGES = f"""
    SELECT url, title, {", ".join(f"k.{name}" for name in Ranks.__struct_fields__)}
    FROM (SELECT * FROM ranks ORDER BY {{by}} DESC, resource LIMIT ?) AS k JOIN resources AS r ON r.id = k.resource
    ORDER BY k.{{by}} DESC, k.resource"""  # noqa: S608
RANKED_HOSTS = f"""
    SELECT name, {", ".join(f"k.{name}" for name in HostRanks.__struct_fields__)}
    FROM (SELECT * FROM host_ranks ORDER BY pagerank DESC, host LIMIT ?) AS k JOIN hosts AS h ON h.id = k.host
    ORDER BY k.pagerank DESC, k.host"""  # noqa: S608


# -- what is where ---------------------------------------------------------------------------------------------------


def resource_hosts(database: Database, after: int) -> Iterator[ResourceHosts]:
    """The hosts of resources found after one, by id."""

    def read(cursor: rows.Row, max_rows: int) -> list[rows.Row]:
        with database.connection() as db:
            return db.execute(SELECT_RESOURCE_HOSTS, (*cursor, max_rows)).fetchall()

    for chunk in rows.read_chunks(read, (after,), IDS_AT_ONCE):
        ids, hosts = zip(*chunk, strict=True)
        yield ResourceHosts(array("q", ids), array("q", hosts))


def urls(database: Database, requested: Sequence[int]) -> Iterator[tuple[int, str]]:
    """The URLs of resources, by id; without those that are no more."""
    for start in range(0, len(requested), IDS_AT_ONCE):
        with database.connection() as db:
            chunk = db.execute(URLS, (json_array(requested[start : start + IDS_AT_ONCE]),)).fetchall()
        yield from chunk


def seed_ids(db: sqlite3.Connection) -> list[int]:
    """The DocIDs of the seeds."""
    return [resource for (resource,) in db.execute(SEEDS)]


def host_names(db: sqlite3.Connection, requested: Sequence[int]) -> dict[int, str]:
    """The names of hosts."""
    return dict(db.execute(HOST_NAMES, (json_array(requested),)))


def host_id(db: sqlite3.Connection, name: str) -> int | None:
    """The id of a host."""
    row = db.execute("SELECT id FROM hosts WHERE name = ?", (name,)).fetchone()
    return int(row[0]) if row else None


# -- ranks -------------------------------------------------------------------------------------------------------------


def write_ranks(tx: Transaction, ranking: Ranking, pages: RankColumns, hosts: RankColumns) -> None:
    """Put new ranks in place of the old ones. What was forgotten in the meantime gets none."""
    tx.db.execute("DELETE FROM ranks")
    tx.db.execute("DELETE FROM host_ranks")
    tx.db.execute("DELETE FROM rankings")
    _insert(tx.db, "ranks", pages.columns_by_name("resource", Ranks.__struct_fields__))
    _insert(tx.db, "host_ranks", hosts.columns_by_name("host", HostRanks.__struct_fields__))
    tx.db.execute(DELETE_FORGOTTEN, (ranking.version,))
    tx.db.execute("DELETE FROM host_ranks WHERE host NOT IN (SELECT id FROM hosts)")
    tx.db.execute("INSERT INTO rankings (facts) VALUES (?)", (msgspec.json.encode(ranking).decode(),))


def _insert(db: sqlite3.Connection, table: str, columns: dict[str, Iterable[object]]) -> None:
    """Add rows. Columns that are not given are not bound as NULL either, which would double the time."""
    BulkInsert(table, ", ".join(columns)).insert(db, zip(*columns.values(), strict=True))


def reprioritize(tx: Transaction, resources: Iterable[object], backlinks: Iterable[object]) -> None:
    """Give queued pages the priority that the order `best` gives to so many backlinks."""
    tx.db.executemany(UPDATE_PRIORITIES, zip(backlinks, resources, strict=True))


def ranking(db: sqlite3.Connection) -> Ranking | None:
    """How the ranks were made."""
    row = db.execute("SELECT facts FROM rankings").fetchone()
    return msgspec.json.decode(row[0], type=Ranking) if row else None


def ranks(db: sqlite3.Connection, resource: int) -> Ranks | None:
    """The ranks of a page."""
    row = db.execute(RANKS, (resource,)).fetchone()
    return rows.to_struct(Ranks, row) if row else None


def ranked_pages(db: sqlite3.Connection, measure: str, limit: int) -> list[RankedPage]:
    """The first pages by one of the fields of `Ranks`."""
    records = db.execute(_SELECT_RANKED_PAGES.format(by=measure), (limit,))
    return [RankedPage(url=row[0], title=row[1], ranks=rows.to_struct(Ranks, row[2:])) for row in records]


def ranked_hosts(db: sqlite3.Connection, limit: int) -> list[RankedHost]:
    """The first hosts by PageRank."""
    records = db.execute(RANKED_HOSTS, (limit,))
    return [RankedHost(name=row[0], ranks=rows.to_struct(HostRanks, row[1:])) for row in records]
