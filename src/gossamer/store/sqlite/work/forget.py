"""Remove contents of resources, resources, and hosts with all that belongs to them.

A forgotten resource that stored pages still link to stays known with the reason "forgotten". So these links stay valid,
and finding them again does not queue it. Every other forgotten resource is deleted. Its DocID goes to the table
`forgotten`, so that index and graph can drop it.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from gossamer.model import Role, State
from gossamer.store.sqlite.bulk_insert import BulkInsert
from gossamer.store.sqlite.columns import SQLITE_COLUMNS
from gossamer.store.sqlite.database import json_array
from gossamer.store.sqlite.work.counters import write_host_counters
from gossamer.store.sqlite.work.digests import DELETE_DIGESTS, ID_BY_DIGEST
from gossamer.store.sqlite.work.renderings import delete_renderings, delete_shapes
from gossamer.store.work.claims import FORGOTTEN
from gossamer.store.work.visit_rows import BACKLINK_KINDS

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterator, Sequence

    from gossamer.store.sqlite.database import Transaction


OLD_BACKLINKS = """
    SELECT target, count(DISTINCT source) FROM links
    WHERE source IN (SELECT value FROM json_each(?)) AND kind IN (SELECT value FROM json_each(?)) AND source <> target
    GROUP BY target"""
DELETE_LINKS = "DELETE FROM links WHERE source IN (SELECT value FROM json_each(?))"
DELETE_TEXTS = "DELETE FROM texts WHERE resource IN (SELECT value FROM json_each(?))"
DELETE_SOURCES = "DELETE FROM sources WHERE resource IN (SELECT value FROM json_each(?))"
BACKLINKS = BulkInsert("backlinks", "resource, number", "ON CONFLICT DO UPDATE SET number = number + excluded.number")
PRIORITY = "UPDATE resources SET priority = priority + ?2 * ?3 WHERE id = ?1"
DELETE_BACKLINKS = "DELETE FROM backlinks WHERE resource IN (SELECT value FROM json_each(?))"
FORGET_AT_ONCE = 10_000  # resources removed together, to bound memory

SELECT_BY_DIGEST = f"SELECT id FROM resources WHERE id = {ID_BY_DIGEST}"  # noqa: S608
SELECT_BY_HOST = """
    SELECT id FROM resources WHERE host = (SELECT id FROM hosts WHERE name = ?) AND id > ? ORDER BY id LIMIT ?"""
SELECT_STATES = """
    SELECT id, host, state, role, outcome, reason, EXISTS (SELECT 1 FROM links WHERE target = r.id) FROM resources AS r
    WHERE id IN (SELECT value FROM json_each(?))"""
INSERT_RELINKED = """
    INSERT INTO relinked (target, version)
    SELECT DISTINCT target, ?1 FROM links WHERE source IN (SELECT value FROM json_each(?2))
    ON CONFLICT DO UPDATE SET version = excluded.version"""
OLD_SOURCES = """
    SELECT coalesce(sum(length(source)), 0) FROM history WHERE resource IN (SELECT value FROM json_each(?))"""
DELETE_HISTORY = "DELETE FROM history WHERE resource IN (SELECT value FROM json_each(?))"
DELETE_VISITS = "DELETE FROM visits WHERE resource IN (SELECT value FROM json_each(?))"
DELETE_RANKS = "DELETE FROM ranks WHERE resource IN (SELECT value FROM json_each(?))"
DELETE_RESOURCES = "DELETE FROM resources WHERE id IN (SELECT value FROM json_each(?))"
INSERT_FORGOTTEN = "INSERT INTO forgotten (resource, version) SELECT value, ? FROM json_each(?)"
BLANK = f"""
    UPDATE resources SET state = 'known', role = 'page', reason = '{FORGOTTEN}', version = ?,
        {SQLITE_COLUMNS.reset()}
    WHERE id IN (SELECT value FROM json_each(?))"""  # noqa: S608
DELETE_EMPTY_HOSTS = "DELETE FROM hosts WHERE id IN (SELECT value FROM json_each(?)) AND known = 0 RETURNING id"
DELETE_ROBOTS = "DELETE FROM robots WHERE host IN (SELECT id FROM hosts WHERE name = ?)"


# -- contents and backlinks --------------------------------------------------------------------------------------------


def clear_contents(tx: Transaction, resources: Sequence[int]) -> Counter[int]:
    """Delete links, texts, sources and renderings; return the changes of backlinks for `change_backlinks`."""
    backlinks: Counter[int] = Counter()
    if resources:
        listed = json_array(resources)
        backlinks.subtract(dict(tx.db.execute(OLD_BACKLINKS, (listed, json_array(BACKLINK_KINDS)))))
        tx.meta["links"] -= tx.db.execute(DELETE_LINKS, (listed,)).rowcount
        tx.meta["documents"] -= tx.db.execute(DELETE_TEXTS, (listed,)).rowcount
        tx.db.execute(DELETE_SOURCES, (listed,))
        delete_renderings(tx.db, resources)
    return backlinks


def change_backlinks(db: sqlite3.Connection, changes: Counter[int], gain: float = 0.0) -> None:
    """Add to backlinks, and with a gain to priorities: pages with many backlinks come sooner."""
    rows = sorted(change for change in changes.items() if change[1])  # in the order of the file
    BACKLINKS.insert(db, rows)
    if gain:
        db.executemany(PRIORITY, ((*row, gain) for row in rows))


# -- resources and hosts -----------------------------------------------------------------------------------------------


def forget_resource(tx: Transaction, digest: bytes) -> int:
    """Remove one resource; return how many were removed."""
    ids = [resource for (resource,) in tx.db.execute(SELECT_BY_DIGEST, (digest,))]
    return _forget(tx, lambda: iter([ids] if ids else []))


def forget_host(tx: Transaction, name: str) -> int:
    """Remove all resources of a host, its robots.txt and what is known of its path shapes.

    Return how many resources were removed.
    """
    tx.db.execute(DELETE_ROBOTS, (name,))
    delete_shapes(tx.db, [host for (host,) in tx.db.execute("SELECT id FROM hosts WHERE name = ?", (name,))])
    return _forget(tx, lambda: _read_host_chunks(tx, name))


def _read_host_chunks(tx: Transaction, name: str) -> Iterator[list[int]]:
    last = 0
    while ids := [resource for (resource,) in tx.db.execute(SELECT_BY_HOST, (name, last, FORGET_AT_ONCE))]:
        last = ids[-1]
        yield ids


def _forget(tx: Transaction, chunks: Callable[[], Iterator[list[int]]]) -> int:
    tx.meta["generation"] += 1  # so that no other process writes a link to a deleted id
    tx.meta["version"] += 1
    for ids in chunks():  # delete all links first, because linked resources are not deleted
        listed = json_array(ids)
        tx.db.execute(INSERT_RELINKED, (tx.meta["version"], listed))
        change_backlinks(tx.db, clear_contents(tx, ids))
        tx.meta["old_sources"] -= tx.db.execute(OLD_SOURCES, (listed,)).fetchone()[0]
        tx.db.execute(DELETE_HISTORY, (listed,))
        tx.db.execute(DELETE_VISITS, (listed,))
        tx.db.execute(DELETE_RANKS, (listed,))
    hosts: set[int] = set()
    removed = 0
    for ids in chunks():
        rows = tx.db.execute(SELECT_STATES, (json_array(ids),)).fetchall()
        removed += _remove(tx, rows)
        hosts.update(row[1] for row in rows)
    _remove_empty_hosts(tx, hosts)
    return removed


def _remove(tx: Transaction, rows: list[tuple[int, int, str, str, str, str, int]]) -> int:
    """Blank resources that are still linked to, delete the rest; return how many were not forgotten yet."""
    linked, gone, forgotten_before = [], [], 0
    for resource, host, state, role, outcome, reason, is_linked in rows:
        forgotten_before += state == State.KNOWN and reason == FORGOTTEN
        tx.counter_deltas.subtract(host, state, role, outcome)
        if is_linked:
            linked.append(resource)
            tx.counter_deltas.add(host, State.KNOWN, Role.PAGE, "")
        else:
            gone.append(resource)
    version = tx.meta["version"]
    tx.db.execute(BLANK, (version, json_array(linked)))
    tx.db.execute(DELETE_BACKLINKS, (json_array(gone),))
    tx.db.execute(DELETE_DIGESTS, (json_array(gone),))
    tx.db.execute(DELETE_RESOURCES, (json_array(gone),))
    tx.db.execute(INSERT_FORGOTTEN, (version, json_array(gone)))
    return len(rows) - forgotten_before


def _remove_empty_hosts(tx: Transaction, hosts: set[int]) -> None:
    write_host_counters(tx.db, tx.counter_deltas)  # DELETE_EMPTY_HOSTS reads them
    empty = tx.db.execute(DELETE_EMPTY_HOSTS, (json_array(hosts),)).fetchall()
    tx.meta["hosts"] -= len(empty)
    tx.db.executemany("DELETE FROM robots WHERE host = ?", empty)
    tx.db.executemany("DELETE FROM host_ranks WHERE host = ?", empty)
    delete_shapes(tx.db, [host for (host,) in empty])
