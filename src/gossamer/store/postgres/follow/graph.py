"""What the graph follows: hosts, URLs and seeds of resources; and the ranks, for readers.

`link_changes` reads the links, `rank_writer` writes the ranks.
"""

from __future__ import annotations

import time
from array import array
from typing import TYPE_CHECKING

import msgspec

from gossamer.errors import StoreBusy
from gossamer.store import rows
from gossamer.store.follow.graph import HostRanks, RankedHost, RankedPage, Ranking, Ranks, ResourceHosts
from gossamer.store.postgres.database import int_array
from gossamer.store.postgres.read.resources import fetch_rows, fetch_value

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gossamer.store.postgres.database import Connection, Database

IDS_AT_ONCE = 100_000  # rows per read; bounds memory
WRITERS_SECONDS = 60.0  # a batch takes a fraction of a second; a suspended writer can take longer
POLL_SECONDS = 0.02

SELECT_RESOURCE_HOSTS = "SELECT id, host FROM resources WHERE id > %s AND id <= %s ORDER BY id LIMIT %s"
LAST_ID = "SELECT last_value FROM resource_ids"
WRITERS = """
    SELECT DISTINCT virtualtransaction FROM pg_locks
    WHERE relation = 'resource_ids'::regclass AND mode = 'RowExclusiveLock'
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"""
URLS = "SELECT id, url FROM resources WHERE id = ANY(%s::bigint[]) ORDER BY id"
SEEDS = "SELECT id FROM resources WHERE seed = 1 ORDER BY id"
HOST_NAMES = "SELECT id, name FROM hosts WHERE id = ANY(%s::bigint[])"

RANKS = f"SELECT {', '.join(Ranks.__struct_fields__)} FROM ranks WHERE resource = %s"  # noqa: S608
# The inner query limits first. A join before the limit would look up the name of every page.
_SELECT_RANKED_PAGES = f"""
    SELECT url, title, {", ".join(f"k.{name}" for name in Ranks.__struct_fields__)}
    FROM (SELECT * FROM ranks ORDER BY {{by}} DESC NULLS LAST, resource LIMIT %s) AS k
    JOIN resources AS r ON r.id = k.resource
    ORDER BY k.{{by}} DESC NULLS LAST, k.resource"""  # noqa: S608
RANKED_HOSTS = f"""
    SELECT name, {", ".join(f"k.{name}" for name in HostRanks.__struct_fields__)}
    FROM (SELECT * FROM host_ranks ORDER BY pagerank DESC, host LIMIT %s) AS k JOIN hosts AS h ON h.id = k.host
    ORDER BY k.pagerank DESC, k.host"""  # noqa: S608


# -- resources and hosts -----------------------------------------------------------------------------------------------


def resource_hosts(database: Database, after: int) -> Iterator[ResourceHosts]:
    """Yield the hosts of resources with a greater id, by id. The next call continues after the last id."""
    last = _last_stable_id(database)

    def read(cursor: rows.Row, max_rows: int) -> list[rows.Row]:
        return fetch_rows(database, SELECT_RESOURCE_HOSTS, (*cursor, last, max_rows))

    for chunk in rows.read_chunks(read, (after,), IDS_AT_ONCE):
        ids, hosts = zip(*chunk, strict=True)
        yield ResourceHosts(array("q", ids), array("q", hosts))


def _last_stable_id(database: Database) -> int:
    """Return a DocID such that no writer will commit a smaller new one.

    Writers take DocIDs from a sequence without waiting for one another. So a smaller DocID may be committed after a
    greater one. A transaction that took DocIDs holds a lock on the sequence until its end; the lock blocks nobody.
    This function waits for the transactions that hold it now: a fraction of a second.
    """
    last = int(database.read(lambda db: fetch_value(db, LAST_ID)))
    writers = {writer for (writer,) in fetch_rows(database, WRITERS, ())}
    deadline = time.monotonic() + WRITERS_SECONDS
    while writers:
        if time.monotonic() > deadline:
            raise StoreBusy("Another process has been writing one batch to the store for a minute: try again later.")
        time.sleep(POLL_SECONDS)
        writers.intersection_update(writer for (writer,) in fetch_rows(database, WRITERS, ()))
    return last


def urls(database: Database, requested: Sequence[int]) -> Iterator[tuple[int, str]]:
    """Yield the URLs of resources, by id; without forgotten ones."""
    for start in range(0, len(requested), IDS_AT_ONCE):
        yield from fetch_rows(database, URLS, (int_array(requested[start : start + IDS_AT_ONCE]),))


def seed_ids(db: Connection) -> list[int]:
    """Return the DocIDs of the seeds."""
    return [resource for (resource,) in db.execute(SEEDS)]


def host_names(db: Connection, requested: Sequence[int]) -> dict[int, str]:
    """Return the names of hosts by their id."""
    return dict(db.execute(HOST_NAMES, (int_array(requested),)).fetchall())


def host_id(db: Connection, name: str) -> int | None:
    """Return the id of a host. PostgreSQL accepts no NUL; a space matches no name either."""
    number = fetch_value(db, "SELECT id FROM hosts WHERE name = %s", name.replace("\0", " "))
    return None if number is None else int(number)


# -- ranks -------------------------------------------------------------------------------------------------------------


def ranking(db: Connection) -> Ranking | None:
    """Return how the ranks were computed; None without ranks."""
    facts = fetch_value(db, "SELECT facts FROM rankings")
    return None if facts is None else msgspec.json.decode(facts, type=Ranking)


def ranks(db: Connection, resource: int) -> Ranks | None:
    """Return the ranks of a page; None if it has none."""
    row = db.execute(RANKS, (resource,)).fetchone()
    return rows.to_struct(Ranks, row) if row else None


def ranked_pages(db: Connection, measure: str, limit: int) -> list[RankedPage]:
    """Return the first pages by one of the fields of `Ranks`."""
    records = db.execute(_SELECT_RANKED_PAGES.format(by=measure), (limit,))
    return [RankedPage(url=row[0], title=row[1], ranks=rows.to_struct(Ranks, row[2:])) for row in records]


def ranked_hosts(db: Connection, limit: int) -> list[RankedHost]:
    """Return the first hosts by PageRank."""
    records = db.execute(RANKED_HOSTS, (limit,))
    return [RankedHost(name=row[0], ranks=rows.to_struct(HostRanks, row[1:])) for row in records]
