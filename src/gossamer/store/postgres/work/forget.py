"""Removing resources and hosts with all their data.

A removed resource that other pages link to stays as a known resource with the reason "forgotten". So those links stay
valid, and no crawler queues it again when it finds them. Every other removed resource is deleted, and its DocID goes to
`forgotten`: index and graph drop it when they follow.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from gossamer.model import Role, State
from gossamer.store.postgres.columns import POSTGRES_COLUMNS
from gossamer.store.postgres.database import int_array
from gossamer.store.postgres.work.renderings import delete_renderings, delete_shapes
from gossamer.store.work.claims import FORGOTTEN
from gossamer.store.work.visit_rows import BACKLINK_KINDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from gossamer.store.postgres.database import Connection, Transaction

FORGET_AT_ONCE = 10_000  # resources removed together; bounds memory

OLD_BACKLINKS = """
    SELECT target, count(DISTINCT source) FROM links
    WHERE source = ANY(%s::bigint[]) AND kind = ANY(%s::smallint[]) AND source <> target GROUP BY target"""
DELETE_LINKS = "DELETE FROM links WHERE source = ANY(%s::bigint[])"
DELETE_TEXTS = "DELETE FROM texts WHERE resource = ANY(%s::bigint[])"
DELETE_SOURCES = "DELETE FROM sources WHERE resource = ANY(%s::bigint[])"
_CHANGED = "(SELECT * FROM unnest(%s::bigint[], %s::integer[]) AS u (resource, number) ORDER BY resource) AS c"
BACKLINKS = f"""
    INSERT INTO backlinks AS b (resource, number) SELECT c.resource, c.number FROM {_CHANGED}
    ON CONFLICT (resource) DO UPDATE SET number = b.number + excluded.number"""  # noqa: S608
PRIORITY = f"""
    UPDATE resources AS r SET priority = r.priority + c.number * %s::double precision FROM {_CHANGED}
    WHERE r.id = c.resource"""  # noqa: S608
DELETE_BACKLINKS = "DELETE FROM backlinks WHERE resource = ANY(%s::bigint[])"

SELECT_BY_DIGEST = "SELECT id FROM resources WHERE digest = %s"
SELECT_BY_HOST = "SELECT r.id FROM resources AS r JOIN hosts AS h ON h.id = r.host WHERE h.name = %s ORDER BY r.id"
SELECT_STATES = """
    SELECT id, host, state, role, outcome, reason, EXISTS (SELECT 1 FROM links WHERE target = r.id) FROM resources AS r
    WHERE id = ANY(%s::bigint[])"""
INSERT_RELINKED = """
    INSERT INTO relinked (target, version)
    SELECT DISTINCT target, %s::bigint FROM links WHERE source = ANY(%s::bigint[])
    ON CONFLICT (target) DO UPDATE SET version = excluded.version"""
OLD_SOURCES = "SELECT coalesce(sum(length(source)), 0)::bigint FROM history WHERE resource = ANY(%s::bigint[])"
DELETE_HISTORY = "DELETE FROM history WHERE resource = ANY(%s::bigint[])"
DELETE_VISITS = "DELETE FROM visits WHERE resource = ANY(%s::bigint[])"
DELETE_RANKS = "DELETE FROM ranks WHERE resource = ANY(%s::bigint[])"
DELETE_RESOURCES = "DELETE FROM resources WHERE id = ANY(%s::bigint[])"
INSERT_FORGOTTEN = "INSERT INTO forgotten (resource, version) SELECT unnest(%s::bigint[]), %s"
BLANK = f"""
    UPDATE resources SET state = 'known', role = 'page', reason = '{FORGOTTEN}', version = %s,
        {POSTGRES_COLUMNS.reset()}
    WHERE id = ANY(%s::bigint[])"""  # noqa: S608
DELETE_EMPTY_HOSTS = "DELETE FROM hosts WHERE id = ANY(%s::bigint[]) AND known = 0 RETURNING id"
DELETE_HOST_ROBOTS = "DELETE FROM robots WHERE host IN (SELECT id FROM hosts WHERE name = %s)"
DELETE_ROBOTS = "DELETE FROM robots WHERE host = ANY(%s::bigint[])"
DELETE_HOST_RANKS = "DELETE FROM host_ranks WHERE host = ANY(%s::bigint[])"
NEXT_GENERATION = "UPDATE meta SET value = value + 1 WHERE key = 'generation'"


# -- contents and backlinks --------------------------------------------------------------------------------------------


def clear_contents(tx: Transaction, resources: Sequence[int]) -> Counter[int]:
    """Delete links, texts, sources and renderings; return the change of backlinks by target, for `change_backlinks`."""
    backlinks: Counter[int] = Counter()
    if resources:
        listed = int_array(resources)
        backlinks.subtract(dict(tx.db.execute(OLD_BACKLINKS, (listed, int_array(BACKLINK_KINDS)))))
        tx.meta["links"] -= tx.db.execute(DELETE_LINKS, (listed,)).rowcount
        tx.meta["documents"] -= tx.db.execute(DELETE_TEXTS, (listed,)).rowcount
        tx.db.execute(DELETE_SOURCES, (listed,))
        delete_renderings(tx.db, resources)
    return backlinks


def change_backlinks(db: Connection, changes: Counter[int]) -> None:
    """Add these changes to the backlink counts."""
    if rows := sorted(change for change in changes.items() if change[1]):
        db.execute(BACKLINKS, [int_array(column) for column in zip(*rows, strict=True)])


def change_priorities(db: Connection, changes: Counter[int], gain: float) -> None:
    """Raise the priority of link targets by `gain` per new backlink."""
    rows = [change for change in changes.items() if change[1]]
    if gain and rows:
        db.execute(PRIORITY, [gain, *(int_array(column) for column in zip(*rows, strict=True))])


# -- resources and hosts -----------------------------------------------------------------------------------------------


def forget_resource(tx: Transaction, digest: bytes) -> int:
    """Remove one resource; return how many were removed."""
    ids = [resource for (resource,) in tx.db.execute(SELECT_BY_DIGEST, (digest,))]
    return _forget(tx, lambda: iter([ids] if ids else []))


def forget_host(tx: Transaction, name: str) -> int:
    """Remove all resources of a host, its robots.txt and what is known of its path shapes.

    Return how many resources were removed.
    """
    tx.db.execute(DELETE_HOST_ROBOTS, (name,))
    delete_shapes(tx.db, [host for (host,) in tx.db.execute("SELECT id FROM hosts WHERE name = %s", (name,))])
    ids = [resource for (resource,) in tx.db.execute(SELECT_BY_HOST, (name,))]
    return _forget(tx, lambda: (ids[at : at + FORGET_AT_ONCE] for at in range(0, len(ids), FORGET_AT_ONCE)))


def _forget(tx: Transaction, chunks: Callable[[], Iterator[list[int]]]) -> int:
    tx.db.execute(NEXT_GENERATION)  # empties the URL caches of all processes: no links to deleted ids
    version = tx.next_version()
    for ids in chunks():  # all links first: links between removed resources must not keep either
        listed = int_array(ids)
        tx.db.execute(INSERT_RELINKED, (version, listed))
        change_backlinks(tx.db, clear_contents(tx, ids))
        row = tx.db.execute(OLD_SOURCES, (listed,)).fetchone()
        tx.meta["old_sources"] -= row[0] if row else 0
        for delete in (DELETE_HISTORY, DELETE_VISITS, DELETE_RANKS):
            tx.db.execute(delete, (listed,))
    hosts: set[int] = set()
    removed = 0
    for ids in chunks():
        rows = tx.db.execute(SELECT_STATES, (int_array(ids),)).fetchall()
        removed += _remove(tx, rows, version)
        hosts.update(row[1] for row in rows)
    _remove_empty_hosts(tx, hosts)
    return removed


def _remove(tx: Transaction, rows: Sequence[tuple[int, int, str, str, str, str, bool]], version: int) -> int:
    """Blank resources that are still linked to, delete the others; return how many were not forgotten before."""
    linked, gone, forgotten_before = [], [], 0
    for resource, host, state, role, outcome, reason, is_linked in rows:
        forgotten_before += state == State.KNOWN and reason == FORGOTTEN
        tx.counter_deltas.subtract(host, state, role, outcome)
        if is_linked:
            linked.append(resource)
            tx.counter_deltas.add(host, State.KNOWN, Role.PAGE, "")
        else:
            gone.append(resource)
    tx.db.execute(BLANK, (version, int_array(linked)))
    tx.db.execute(DELETE_BACKLINKS, (int_array(gone),))
    tx.db.execute(DELETE_RESOURCES, (int_array(gone),))
    tx.db.execute(INSERT_FORGOTTEN, (int_array(gone), version))
    return len(rows) - forgotten_before


def _remove_empty_hosts(tx: Transaction, hosts: set[int]) -> None:
    tx.write_host_counters()  # DELETE_EMPTY_HOSTS reads them
    empty = [host for (host,) in tx.db.execute(DELETE_EMPTY_HOSTS, (int_array(hosts),)).fetchall()]
    tx.meta["hosts"] -= len(empty)
    tx.db.execute(DELETE_ROBOTS, (int_array(empty),))
    tx.db.execute(DELETE_HOST_RANKS, (int_array(empty),))
    delete_shapes(tx.db, empty)
