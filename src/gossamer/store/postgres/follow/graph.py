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
from gossamer.store.follow.graph import HostRanks, LinkChanges, Places, RankedHost, RankedPage, Ranking, Ranks
from gossamer.store.postgres.database import ints
from gossamer.store.postgres.read.resources import fetch, only
from gossamer.store.postgres.read.spool import spooled

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gossamer.store.postgres.database import Connection, Database

SOURCES_AT_ONCE = 5_000  # with 60 links each about 10 MB
PLACES_AT_ONCE = 100_000
PATIENCE = 60.0  # seconds
POLL = 0.02

CHANGED = """
    SELECT id FROM resources WHERE version > %(since)s
    UNION ALL SELECT resource FROM forgotten WHERE version > %(since)s
    ORDER BY 1"""
# A page is what the store has the content of, whatever became of later visits.
STANDINGS = f"""
    SELECT id, url FROM resources AS r
    WHERE id = ANY(%s::bigint[]) AND (role = 'page' AND length(content_digest) > 0
        OR EXISTS (SELECT 1 FROM links WHERE source = r.id AND seq = 0 AND kind = {int(Kind.REDIRECT)}))
    ORDER BY id"""  # noqa: S608
LINKS = f"""
    SELECT source, target, CASE kind WHEN {int(Kind.REDIRECT)} THEN 0 ELSE weight END FROM links
    WHERE source = ANY(%s::bigint[]) AND follow = 1 AND kind IN ({int(Kind.HYPERLINK)}, {int(Kind.REDIRECT)})
    ORDER BY source, seq"""  # noqa: S608
PLACES = "SELECT id, host FROM resources WHERE id > %s AND id <= %s ORDER BY id LIMIT %s"
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
_RANKED = f"""
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
    for piece in spooled(database, CHANGED, {"since": since}, SOURCES_AT_ONCE):
        yield _changes_of(database, list(chain.from_iterable(piece)))


def _changes_of(database: Database, chunk: list[int]) -> LinkChanges:
    def look(db: Connection) -> LinkChanges:
        found = db.execute(STANDINGS, (ints(chunk),)).fetchall()
        ids = [resource for resource, _ in found]
        links = array("q", chain.from_iterable(db.execute(LINKS, (ints(ids),))))
        gone = array("q", sorted(set(chunk).difference(ids)))
        return LinkChanges(gone=gone, ids=array("q", ids), urls=[url for _, url in found], links=links)

    return database.snapshot(look)  # both reads see the same state


def places(database: Database, after: int) -> Iterator[Places]:
    """The hosts of resources found after one, by id. The next call goes on behind the last one told."""
    last = _settled(database)

    def read(place: rows.Row, most: int) -> list[rows.Row]:
        return fetch(database, PLACES, (*place, last, most))

    for piece in rows.in_pieces(read, (after,), PLACES_AT_ONCE):
        ids, hosts = zip(*piece, strict=True)
        yield Places(array("q", ids), array("q", hosts))


def _settled(database: Database) -> int:
    """A DocID such that none up to it will appear any more.

    Writers take DocIDs from a sequence and do not wait for one another, so a smaller one may be committed after a
    greater one. A transaction that took some keeps the sequence locked (in a mode that keeps nobody out) to its end;
    so those that have it now are waited for, which are fractions of a second.
    """
    last = int(database.read(lambda db: only(db, LAST_ID)))
    writers = {writer for (writer,) in fetch(database, WRITERS, ())}
    patience = time.monotonic() + PATIENCE
    while writers:
        if time.monotonic() > patience:
            raise StoreBusy("Another process has been writing one batch to the store for a minute: try again later.")
        time.sleep(POLL)
        writers.intersection_update(writer for (writer,) in fetch(database, WRITERS, ()))
    return last


def urls(database: Database, wanted: Sequence[int]) -> Iterator[tuple[int, str]]:
    """The URLs of resources, by id; without those that are no more."""
    for start in range(0, len(wanted), PLACES_AT_ONCE):
        yield from fetch(database, URLS, (ints(wanted[start : start + PLACES_AT_ONCE]),))


def seeds(db: Connection) -> list[int]:
    """The DocIDs of the seeds."""
    return [resource for (resource,) in db.execute(SEEDS)]


def host_names(db: Connection, wanted: Sequence[int]) -> dict[int, str]:
    """The names of hosts."""
    return dict(db.execute(HOST_NAMES, (ints(wanted),)).fetchall())


def host_number(db: Connection, name: str) -> int | None:
    """The id of a host. Whatever people ask for, no name holds a NUL."""
    number = only(db, "SELECT id FROM hosts WHERE name = %s", name.replace("\0", " "))
    return None if number is None else int(number)


# -- ranks -------------------------------------------------------------------------------------------------------------


def ranking(db: Connection) -> Ranking | None:
    """How the ranks were made."""
    facts = only(db, "SELECT facts FROM rankings")
    return None if facts is None else msgspec.json.decode(facts, type=Ranking)


def ranks(db: Connection, resource: int) -> Ranks | None:
    """The ranks of a page."""
    row = db.execute(RANKS, (resource,)).fetchone()
    return rows.struct(Ranks, row) if row else None


def ranked(db: Connection, by: str, limit: int) -> list[RankedPage]:
    """The first pages by one of the fields of `Ranks`."""
    found = db.execute(_RANKED.format(by=by), (limit,))
    return [RankedPage(url=row[0], title=row[1], ranks=rows.struct(Ranks, row[2:])) for row in found]


def ranked_hosts(db: Connection, limit: int) -> list[RankedHost]:
    """The first hosts by PageRank."""
    found = db.execute(RANKED_HOSTS, (limit,))
    return [RankedHost(name=row[0], ranks=rows.struct(HostRanks, row[1:])) for row in found]
