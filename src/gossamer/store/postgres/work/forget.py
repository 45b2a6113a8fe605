"""Removing: what hangs on a resource, and resources and hosts with everything that hangs on them.

What remembered pages still link to stays as a known resource with the reason "forgotten", so that those links stay
valid and nobody queues it again by finding them. Everything else vanishes and leaves its DocID in `forgotten`, for what
is derived from the store to drop.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from gossamer.model import Role, State
from gossamer.store.postgres.database import ints
from gossamer.store.work.claims import FORGOTTEN
from gossamer.store.work.visit_rows import BACKLINK_KINDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from gossamer.store.postgres.database import Connection, Transaction

FORGET_AT_ONCE = 10_000  # resources handled together: bounded memory

OLD_BACKLINKS = """
    SELECT target, count(DISTINCT source) FROM links
    WHERE source = ANY(%s::bigint[]) AND kind = ANY(%s::smallint[]) AND source <> target GROUP BY target"""
LESS_LINKS = "DELETE FROM links WHERE source = ANY(%s::bigint[])"
LESS_TEXTS = "DELETE FROM texts WHERE resource = ANY(%s::bigint[])"
LESS_SOURCES = "DELETE FROM sources WHERE resource = ANY(%s::bigint[])"
_CHANGED = "(SELECT * FROM unnest(%s::bigint[], %s::integer[]) AS u (resource, number) ORDER BY resource) AS c"
BACKLINKS = f"""
    INSERT INTO backlinks AS b (resource, number) SELECT c.resource, c.number FROM {_CHANGED}
    ON CONFLICT (resource) DO UPDATE SET number = b.number + excluded.number"""  # noqa: S608
PRIORITY = f"""
    UPDATE resources AS r SET priority = r.priority + c.number * %s::double precision FROM {_CHANGED}
    WHERE r.id = c.resource"""  # noqa: S608
LESS_BACKLINKS = "DELETE FROM backlinks WHERE resource = ANY(%s::bigint[])"

OF_DIGEST = "SELECT id FROM resources WHERE digest = %s"
OF_HOST = "SELECT r.id FROM resources AS r JOIN hosts AS h ON h.id = r.host WHERE h.name = %s ORDER BY r.id"
STANDINGS = """
    SELECT id, host, state, role, outcome, reason, EXISTS (SELECT 1 FROM links WHERE target = r.id) FROM resources AS r
    WHERE id = ANY(%s::bigint[])"""
RELINKED = """
    INSERT INTO relinked (target, version)
    SELECT DISTINCT target, %s::bigint FROM links WHERE source = ANY(%s::bigint[])
    ON CONFLICT (target) DO UPDATE SET version = excluded.version"""
OLD_SOURCES = "SELECT coalesce(sum(length(source)), 0)::bigint FROM history WHERE resource = ANY(%s::bigint[])"
LESS_HISTORY = "DELETE FROM history WHERE resource = ANY(%s::bigint[])"
LESS_VISITS = "DELETE FROM visits WHERE resource = ANY(%s::bigint[])"
LESS_RANKS = "DELETE FROM ranks WHERE resource = ANY(%s::bigint[])"
LESS_RESOURCES = "DELETE FROM resources WHERE id = ANY(%s::bigint[])"
TOMBSTONES = "INSERT INTO forgotten (resource, version) SELECT unnest(%s::bigint[]), %s"
BLANK = f"""
    UPDATE resources SET state = 'known', role = 'page', reason = '{FORGOTTEN}', outcome = '', version = %s, tries = 0,
        visits = 0, outlinks = NULL, visited_at = NULL, visited_by = NULL, status = 0, bytes = 0, media_type = '',
        charset = '', language = '', title = '', description = '', canonical = '', noindex = 0, nofollow = 0, etag = '',
        last_modified = '', content_digest = '', text_digest = '', topic = 0, changes = 0, told_at = NULL,
        misled = 0, dated = NULL, found = NULL, gap = NULL, quiet = NULL, pace = NULL
    WHERE id = ANY(%s::bigint[])"""  # noqa: S608
EMPTY_HOSTS = "DELETE FROM hosts WHERE id = ANY(%s::bigint[]) AND known = 0 RETURNING id"
LESS_ROBOTS_OF = "DELETE FROM robots WHERE host IN (SELECT id FROM hosts WHERE name = %s)"
LESS_ROBOTS = "DELETE FROM robots WHERE host = ANY(%s::bigint[])"
LESS_HOST_RANKS = "DELETE FROM host_ranks WHERE host = ANY(%s::bigint[])"
NEXT_GENERATION = "UPDATE meta SET value = value + 1 WHERE key = 'generation'"


# -- contents and backlinks --------------------------------------------------------------------------------------------


def clear_contents(tx: Transaction, resources: Sequence[int]) -> Counter[int]:
    """Take away links, texts and sources; returns how the backlinks of others change, for `change_backlinks`."""
    backlinks: Counter[int] = Counter()
    if resources:
        listed = ints(resources)
        backlinks.subtract(dict(tx.db.execute(OLD_BACKLINKS, (listed, ints(BACKLINK_KINDS)))))
        tx.meta["links"] -= tx.db.execute(LESS_LINKS, (listed,)).rowcount
        tx.meta["documents"] -= tx.db.execute(LESS_TEXTS, (listed,)).rowcount
        tx.db.execute(LESS_SOURCES, (listed,))
    return backlinks


def change_backlinks(db: Connection, changes: Counter[int]) -> None:
    """Add to backlinks."""
    if rows := sorted(change for change in changes.items() if change[1]):
        db.execute(BACKLINKS, [ints(column) for column in zip(*rows, strict=True)])


def change_priorities(db: Connection, changes: Counter[int], gain: float) -> None:
    """What many pages point at comes sooner: by so much for each."""
    rows = [change for change in changes.items() if change[1]]
    if gain and rows:
        db.execute(PRIORITY, [gain, *(ints(column) for column in zip(*rows, strict=True))])


# -- resources and hosts -----------------------------------------------------------------------------------------------


def forget_resource(tx: Transaction, digest: bytes) -> int:
    """Remove one resource; returns how many were removed."""
    ids = [resource for (resource,) in tx.db.execute(OF_DIGEST, (digest,))]
    return _forget(tx, lambda: iter([ids] if ids else []))


def forget_host(tx: Transaction, name: str) -> int:
    """Remove all resources of a host, and its robots.txt; returns how many resources were removed."""
    tx.db.execute(LESS_ROBOTS_OF, (name,))
    ids = [resource for (resource,) in tx.db.execute(OF_HOST, (name,))]
    return _forget(tx, lambda: (ids[at : at + FORGET_AT_ONCE] for at in range(0, len(ids), FORGET_AT_ONCE)))


def _forget(tx: Transaction, chunks: Callable[[], Iterator[list[int]]]) -> int:
    tx.db.execute(NEXT_GENERATION)  # so that no other process writes a link to an id that is gone
    version = tx.next_version()
    for ids in chunks():  # all links first: they must not keep one another's ends alive
        listed = ints(ids)
        tx.db.execute(RELINKED, (version, listed))
        change_backlinks(tx.db, clear_contents(tx, ids))
        row = tx.db.execute(OLD_SOURCES, (listed,)).fetchone()
        tx.meta["old_sources"] -= row[0] if row else 0
        for less in (LESS_HISTORY, LESS_VISITS, LESS_RANKS):
            tx.db.execute(less, (listed,))
    hosts: set[int] = set()
    removed = 0
    for ids in chunks():
        rows = tx.db.execute(STANDINGS, (ints(ids),)).fetchall()
        removed += _remove(tx, rows, version)
        hosts.update(row[1] for row in rows)
    _remove_empty(tx, hosts)
    return removed


def _remove(tx: Transaction, rows: Sequence[tuple[int, int, str, str, str, str, bool]], version: int) -> int:
    """Blank what is still linked to, delete the rest; returns how many were not forgotten before."""
    linked, gone, before = [], [], 0
    for resource, host, state, role, outcome, reason, is_linked in rows:
        before += state == State.KNOWN and reason == FORGOTTEN
        tx.ledger.leave(host, state, role, outcome)
        if is_linked:
            linked.append(resource)
            tx.ledger.enter(host, State.KNOWN, Role.PAGE, "")
        else:
            gone.append(resource)
    tx.db.execute(BLANK, (version, ints(linked)))
    tx.db.execute(LESS_BACKLINKS, (ints(gone),))
    tx.db.execute(LESS_RESOURCES, (ints(gone),))
    tx.db.execute(TOMBSTONES, (ints(gone), version))
    return len(rows) - before


def _remove_empty(tx: Transaction, hosts: set[int]) -> None:
    tx.count_hosts()  # so that the hosts' own counters are right to look at
    empty = [host for (host,) in tx.db.execute(EMPTY_HOSTS, (ints(hosts),)).fetchall()]
    tx.meta["hosts"] -= len(empty)
    tx.db.execute(LESS_ROBOTS, (ints(empty),))
    tx.db.execute(LESS_HOST_RANKS, (ints(empty),))
