"""Find resources by digest: the table `digests`, and the newest resources, which are not in it yet.

Digests are random, so nearly every insert changes another page of the table. At a million known URLs these pages would
take twice the log space of all other writes of a visit. So up to `MAX_FRESH` new resources wait. Then one statement
inserts them in the order of the table. Fresh resources have an id above the counter `digested`. Writing processes keep
them in memory, reading processes scan them.

No digest gets two ids, because one process at a time has a transaction and sees all resources in it. All other code
that looks for a digest uses this module too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gossamer.store.work.claims import distance
from gossamer.store.work.url_cache import KnownResource

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gossamer.store.sqlite.database import Transaction

MAX_FRESH = 50_000  # resources; 230 bytes each are 12 MB, and a reader scans them in 3 ms

# An SQL expression: the id of the resource with the digest ?1, or NULL.
ID_BY_DIGEST = """coalesce(
    (SELECT resource FROM digests WHERE digest = ?1),
    (SELECT id FROM resources WHERE id > (SELECT value FROM meta WHERE key = 'digested') AND digest = ?1))"""
SELECT_INDEXED = """
    WITH RECURSIVE at (n) AS (SELECT 1 UNION ALL SELECT n + 16 FROM at WHERE n + 16 < length(?1))
    SELECT d.digest, r.id, r.asked, r.depth, r.hops
    FROM at CROSS JOIN digests AS d ON d.digest = substr(?1, n, 16) CROSS JOIN resources AS r ON r.id = d.resource"""
SELECT_FRESH = "SELECT digest, id, asked, depth, hops FROM resources WHERE id > ?"
INSERT_FRESH = "INSERT INTO digests (digest, resource) SELECT digest, id FROM resources WHERE id > ? ORDER BY digest"
DELETE_DIGESTS = """
    DELETE FROM digests
    WHERE digest IN (SELECT digest FROM resources WHERE id IN (SELECT value FROM json_each(?)))"""


class FreshDigests:
    """The resources that are not in the table yet, as this process saw them last."""

    def __init__(self) -> None:
        self.entries: dict[bytes, KnownResource] = {}
        self.epoch = (-1, -1)  # the generation of the store, and its counter `digested`
        self.last_id = -1  # `entries` is complete up to this id


def find_known_resources(tx: Transaction, digests: Iterable[bytes]) -> dict[bytes, KnownResource]:
    """Return the known resources with these digests, from memory or from disk."""
    requested = set(digests)
    fresh = _refresh(tx).entries
    known = {digest: fresh[digest] for digest in requested if digest in fresh}
    known.update(tx.url_cache.lookup(requested.difference(known)))
    missing = requested.difference(known)
    if missing:
        loaded = _entries(tx.db.execute(SELECT_INDEXED, (b"".join(sorted(missing)),)))
        tx.url_cache.put(loaded)
        known.update(loaded)
    return known


def cache_resources(tx: Transaction, new: dict[bytes, KnownResource], changed: dict[bytes, KnownResource]) -> None:
    """Keep all resources inserted since `find_known_resources`, and some known ones, for the next batches."""
    fresh = tx.fresh_digests
    fresh.entries.update(new)
    fresh.entries.update((digest, entry) for digest, entry in changed.items() if digest in fresh.entries)
    fresh.last_id = tx.meta["last_resource"]
    tx.url_cache.put({digest: entry for digest, entry in changed.items() if digest not in fresh.entries})


def index_fresh_digests(tx: Transaction) -> None:
    """Insert all fresh resources into the table."""
    tx.db.execute(INSERT_FRESH, (tx.meta["digested"],))
    tx.meta["digested"] = tx.meta["last_resource"]


def _refresh(tx: Transaction) -> FreshDigests:
    """Return the fresh resources, including those of other processes."""
    fresh = tx.fresh_digests
    if tx.meta["last_resource"] - tx.meta["digested"] >= MAX_FRESH:
        index_fresh_digests(tx)
    epoch = (tx.meta["generation"], tx.meta["digested"])
    if epoch != fresh.epoch:
        if epoch[0] == fresh.epoch[0]:
            tx.url_cache.put(fresh.entries)  # they are in the table now
        fresh.entries, fresh.epoch, fresh.last_id = {}, epoch, epoch[1]
    if fresh.last_id < tx.meta["last_resource"]:
        fresh.entries.update(_entries(tx.db.execute(SELECT_FRESH, (fresh.last_id,))))
        fresh.last_id = tx.meta["last_resource"]
    return fresh


def _entries(rows: Iterable[tuple[bytes, int, int, int, int]]) -> dict[bytes, KnownResource]:
    return {digest: KnownResource(number, asked, distance(depth, hops)) for digest, number, asked, depth, hops in rows}
