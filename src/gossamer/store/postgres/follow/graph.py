"""For the graph room: links as columns, read by what changed, and ranks.

What changed is worked out once and kept by the server. Then each read covers a few thousand sources; what changes
between two of them has a newer version and is read again next time.
"""

from __future__ import annotations

import time
from array import array
from itertools import chain
from typing import TYPE_CHECKING

import msgspec

from gossamer.errors import StoreBusy
from gossamer.model import Kind
from gossamer.store import rows
from gossamer.store.follow.graph import HostRanks, LinkChanges, RankedHost, RankedPage, Ranking, Ranks, ResourceHosts
from gossamer.store.postgres.database import int_array
from gossamer.store.postgres.read.resources import fetch_rows, fetch_value
from gossamer.store.postgres.read.spool import spool_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gossamer.store.postgres.database import Connection, Database

SOURCES_AT_ONCE = 5_000  # with 60 links each about 10 MB
IDS_AT_ONCE = 100_000
WRITERS_SECONDS = 60.0  # seconds
POLL_SECONDS = 0.02

CHANGED = """
    SELECT id FROM resources WHERE version > %(since)s
    UNION ALL SELECT resource FROM forgotten WHERE version > %(since)s
    ORDER BY 1"""
# A page is what the store has the content of, whatever became of later visits.
SELECT_PAGES = f"""
    SELECT id, url FROM resources AS r
    WHERE id = ANY(%s::bigint[]) AND (role = 'page' AND length(content_digest) > 0
        OR EXISTS (SELECT 1 FROM links WHERE source = r.id AND seq = 0 AND kind = {int(Kind.REDIRECT)}))
    ORDER BY id"""  # noqa: S608
LINKS = f"""
    SELECT source, target, CASE kind WHEN {int(Kind.REDIRECT)} THEN 0 ELSE weight END FROM links
    WHERE source = ANY(%s::bigint[]) AND follow = 1 AND kind IN ({int(Kind.HYPERLINK)}, {int(Kind.REDIRECT)})
    ORDER BY source, seq"""  # noqa: S608
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
# The first rows, then their names: joined first, the names of all would be looked up.
_SELECT_RANKED_PAGES = f"""
    SELECT url, title, {", ".join(f"k.{name}" for name in Ranks.__struct_fields__)}
    FROM (SELECT * FROM ranks ORDER BY {{by}} DESC NULLS LAST, resource LIMIT %s) AS k
    JOIN resources AS r ON r.id = k.resource
    ORDER BY k.{{by}} DESC NULLS LAST, k.resource"""  # noqa: S608
RANKED_HOSTS = f"""
    SELECT name, {", ".join(f"k.{name}" for name in HostRanks.__struct_fields__)}
    FROM (SELECT * FROM host_ranks ORDER BY pagerank DESC, host LIMIT %s) AS k JOIN hosts AS h ON h.id = k.host
    ORDER BY k.pagerank DESC, k.host"""  # noqa: S608


# -- links -------------------------------------------------------------------------------------------------------------


def link_changes(database: Database, since: int) -> Iterator[LinkChanges]:
    """What changed since a version, by id."""
    for chunk in spool_rows(database, CHANGED, {"since": since}, SOURCES_AT_ONCE):
        yield _read_changes(database, list(chain.from_iterable(chunk)))


def _read_changes(database: Database, chunk: list[int]) -> LinkChanges:
    def read_pages(db: Connection) -> LinkChanges:
        pages = db.execute(SELECT_PAGES, (int_array(chunk),)).fetchall()
        ids = [resource for resource, _ in pages]
        links = array("q", chain.from_iterable(db.execute(LINKS, (int_array(ids),))))
        gone = array("q", sorted(set(chunk).difference(ids)))
        return LinkChanges(gone=gone, ids=array("q", ids), urls=[url for _, url in pages], links=links)

    return database.snapshot(read_pages)  # both reads see the same state


def resource_hosts(database: Database, after: int) -> Iterator[ResourceHosts]:
    """The hosts of resources found after one, by id. The next call goes on behind the last one told."""
    last = _last_stable_id(database)

    def read(cursor: rows.Row, max_rows: int) -> list[rows.Row]:
        return fetch_rows(database, SELECT_RESOURCE_HOSTS, (*cursor, last, max_rows))

    for chunk in rows.read_chunks(read, (after,), IDS_AT_ONCE):
        ids, hosts = zip(*chunk, strict=True)
        yield ResourceHosts(array("q", ids), array("q", hosts))


def _last_stable_id(database: Database) -> int:
    """A DocID such that none up to it will appear any more.

    Writers take DocIDs from a sequence and do not wait for one another, so a smaller one may be committed after a
    greater one. A transaction that took some keeps the sequence locked (in a mode that keeps nobody out) to its end;
    so those that have it now are waited for, which are fractions of a second.
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
    """The URLs of resources, by id; without those that are no more."""
    for start in range(0, len(requested), IDS_AT_ONCE):
        yield from fetch_rows(database, URLS, (int_array(requested[start : start + IDS_AT_ONCE]),))


def seed_ids(db: Connection) -> list[int]:
    """The DocIDs of the seeds."""
    return [resource for (resource,) in db.execute(SEEDS)]


def host_names(db: Connection, requested: Sequence[int]) -> dict[int, str]:
    """The names of hosts."""
    return dict(db.execute(HOST_NAMES, (int_array(requested),)).fetchall())


def host_id(db: Connection, name: str) -> int | None:
    """The id of a host. Whatever people ask for, no name holds a NUL."""
    number = fetch_value(db, "SELECT id FROM hosts WHERE name = %s", name.replace("\0", " "))
    return None if number is None else int(number)


# -- ranks -------------------------------------------------------------------------------------------------------------


def ranking(db: Connection) -> Ranking | None:
    """How the ranks were made."""
    facts = fetch_value(db, "SELECT facts FROM rankings")
    return None if facts is None else msgspec.json.decode(facts, type=Ranking)


def ranks(db: Connection, resource: int) -> Ranks | None:
    """The ranks of a page."""
    row = db.execute(RANKS, (resource,)).fetchone()
    return rows.to_struct(Ranks, row) if row else None


def ranked_pages(db: Connection, measure: str, limit: int) -> list[RankedPage]:
    """The first pages by one of the fields of `Ranks`."""
    records = db.execute(_SELECT_RANKED_PAGES.format(by=measure), (limit,))
    return [RankedPage(url=row[0], title=row[1], ranks=rows.to_struct(Ranks, row[2:])) for row in records]


def ranked_hosts(db: Connection, limit: int) -> list[RankedHost]:
    """The first hosts by PageRank."""
    records = db.execute(RANKED_HOSTS, (limit,))
    return [RankedHost(name=row[0], ranks=rows.to_struct(HostRanks, row[1:])) for row in records]
