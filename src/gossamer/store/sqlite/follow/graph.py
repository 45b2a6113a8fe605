"""Read where resources are, and ranks, for the graph package; link_changes.py reads links."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

import msgspec

from gossamer.store import rows
from gossamer.store.follow.graph import HostRanks, RankedHost, RankedPage, Ranking, Ranks, ResourceHosts
from gossamer.store.sqlite.database import json_array

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator, Sequence

    from gossamer.store.sqlite.database import Database

IDS_AT_ONCE = 100_000

SELECT_RESOURCE_HOSTS = "SELECT id, host FROM resources WHERE id > ? ORDER BY id LIMIT ?"
URLS = "SELECT id, url FROM resources WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id"
SEEDS = "SELECT id FROM resources WHERE seed = 1"
HOST_NAMES = "SELECT id, name FROM hosts WHERE id IN (SELECT value FROM json_each(?))"

_RANKS = ", ".join(Ranks.__struct_fields__)
RANKS = f"SELECT {_RANKS} FROM ranks WHERE resource = ?"  # noqa: S608
# The inner SELECT limits the rows; a join before it would look up the names of all.
_SELECT_RANKED_PAGES = f"""
    SELECT url, title, {", ".join(f"k.{name}" for name in Ranks.__struct_fields__)}
    FROM (SELECT * FROM ranks ORDER BY {{by}} DESC, resource LIMIT ?) AS k JOIN resources AS r ON r.id = k.resource
    ORDER BY k.{{by}} DESC, k.resource"""  # noqa: S608
RANKED_HOSTS = f"""
    SELECT name, {", ".join(f"k.{name}" for name in HostRanks.__struct_fields__)}
    FROM (SELECT * FROM host_ranks ORDER BY pagerank DESC, host LIMIT ?) AS k JOIN hosts AS h ON h.id = k.host
    ORDER BY k.pagerank DESC, k.host"""  # noqa: S608


# -- ids, hosts and URLs -----------------------------------------------------------------------------------------------


def resource_hosts(database: Database, after: int) -> Iterator[ResourceHosts]:
    """Stream the hosts of resources with a greater id, by id."""

    def read(cursor: rows.Row, max_rows: int) -> list[rows.Row]:
        with database.connection() as db:
            return db.execute(SELECT_RESOURCE_HOSTS, (*cursor, max_rows)).fetchall()

    for chunk in rows.read_chunks(read, (after,), IDS_AT_ONCE):
        ids, hosts = zip(*chunk, strict=True)
        yield ResourceHosts(array("q", ids), array("q", hosts))


def urls(database: Database, requested: Sequence[int]) -> Iterator[tuple[int, str]]:
    """Stream the URLs of resources, by id; removed resources are left out."""
    for start in range(0, len(requested), IDS_AT_ONCE):
        with database.connection() as db:
            chunk = db.execute(URLS, (json_array(requested[start : start + IDS_AT_ONCE]),)).fetchall()
        yield from chunk


def seed_ids(db: sqlite3.Connection) -> list[int]:
    """Return the DocIDs of the seeds."""
    return [resource for (resource,) in db.execute(SEEDS)]


def host_names(db: sqlite3.Connection, requested: Sequence[int]) -> dict[int, str]:
    """Return the names of hosts by id."""
    return dict(db.execute(HOST_NAMES, (json_array(requested),)))


def host_id(db: sqlite3.Connection, name: str) -> int | None:
    """Return the id of a host."""
    row = db.execute("SELECT id FROM hosts WHERE name = ?", (name,)).fetchone()
    return int(row[0]) if row else None


# -- ranks -------------------------------------------------------------------------------------------------------------


def ranking(db: sqlite3.Connection) -> Ranking | None:
    """Return how the ranks were computed."""
    row = db.execute("SELECT facts FROM rankings").fetchone()
    return msgspec.json.decode(row[0], type=Ranking) if row else None


def ranks(db: sqlite3.Connection, resource: int) -> Ranks | None:
    """Return the ranks of a page."""
    row = db.execute(RANKS, (resource,)).fetchone()
    return rows.to_struct(Ranks, row) if row else None


def ranked_pages(db: sqlite3.Connection, measure: str, limit: int) -> list[RankedPage]:
    """Return the first pages by one of the fields of `Ranks`."""
    records = db.execute(_SELECT_RANKED_PAGES.format(by=measure), (limit,))
    return [RankedPage(url=row[0], title=row[1], ranks=rows.to_struct(Ranks, row[2:])) for row in records]


def ranked_hosts(db: sqlite3.Connection, limit: int) -> list[RankedHost]:
    """Return the first hosts by PageRank."""
    records = db.execute(RANKED_HOSTS, (limit,))
    return [RankedHost(name=row[0], ranks=rows.to_struct(HostRanks, row[1:])) for row in records]
