"""Which resource has a digest: the table `digests`, and the newest resources, which are not in it yet.

Digests are random, so nearly every new one changes another page of the table: at a million known URLs, ten new ones on
a page meant ten pages of the log, twice as many as all the rest of a visit. So new resources wait, some `MOST_FRESH`
of them, and are put into the table together and in its order. They are those with an id above the counter `digested`.
Processes that write have them in memory; those that only read look through them.

That no digest is given two ids rests on the transaction: one process at a time has one, and what it recalls there is
complete. Everything else that asks which resource has a digest asks this module too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gossamer.store.work.claims import distance
from gossamer.store.work.url_cache import Remembered

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gossamer.store.sqlite.database import Transaction

MOST_FRESH = 50_000  # 230 bytes each in memory, so 12 MB, and 3 ms for a reader; twice as many gained nothing

# An expression: the id of the resource with the digest ?1, or NULL.
ID_OF = """coalesce(
    (SELECT resource FROM digests WHERE digest = ?1),
    (SELECT id FROM resources WHERE id > (SELECT value FROM meta WHERE key = 'digested') AND digest = ?1))"""
OLDER = """
    WITH RECURSIVE at (n) AS (SELECT 1 UNION ALL SELECT n + 16 FROM at WHERE n + 16 < length(?1))
    SELECT d.digest, r.id, r.asked, r.depth, r.hops
    FROM at CROSS JOIN digests AS d ON d.digest = substr(?1, n, 16) CROSS JOIN resources AS r ON r.id = d.resource"""
NEWER = "SELECT digest, id, asked, depth, hops FROM resources WHERE id > ?"
FOLD = "INSERT INTO digests (digest, resource) SELECT digest, id FROM resources WHERE id > ? ORDER BY digest"
LESS_DIGESTS = """
    DELETE FROM digests
    WHERE digest IN (SELECT digest FROM resources WHERE id IN (SELECT value FROM json_each(?)))"""


class Fresh:
    """The resources that are not in the table yet, as this process saw them last."""

    def __init__(self) -> None:
        self.entries: dict[bytes, Remembered] = {}
        self.since = (-1, -1)  # the store's generation, and the id above which they are
        self.last = -1  # the id up to which they are complete


def recall(tx: Transaction, digests: Iterable[bytes]) -> dict[bytes, Remembered]:
    """Those of the resources that are known, from memory or from disk."""
    wanted = set(digests)
    fresh = _brought_up_to_date(tx).entries
    found = {digest: fresh[digest] for digest in wanted if digest in fresh}
    found.update(tx.memory.recall(wanted.difference(found)))
    missing = wanted.difference(found)
    if missing:
        read = _entries(tx.db.execute(OLDER, (b"".join(sorted(missing)),)))
        tx.memory.remember(read)
        found.update(read)
    return found


def remember(tx: Transaction, new: dict[bytes, Remembered], changed: dict[bytes, Remembered]) -> None:
    """Keep these for the next batches: all resources inserted since `recall`, and some that were known."""
    fresh = tx.fresh
    fresh.entries.update(new)
    fresh.entries.update((digest, entry) for digest, entry in changed.items() if digest in fresh.entries)
    fresh.last = tx.meta["last_resource"]
    tx.memory.remember({digest: entry for digest, entry in changed.items() if digest not in fresh.entries})


def fold(tx: Transaction) -> None:
    """Put all resources into the table."""
    tx.db.execute(FOLD, (tx.meta["digested"],))
    tx.meta["digested"] = tx.meta["last_resource"]


def _brought_up_to_date(tx: Transaction) -> Fresh:
    """The fresh resources, with those that other processes added."""
    fresh = tx.fresh
    if tx.meta["last_resource"] - tx.meta["digested"] >= MOST_FRESH:
        fold(tx)
    since = (tx.meta["generation"], tx.meta["digested"])
    if since != fresh.since:
        if since[0] == fresh.since[0]:
            tx.memory.remember(fresh.entries)  # they are in the table now
        fresh.entries, fresh.since, fresh.last = {}, since, since[1]
    if fresh.last < tx.meta["last_resource"]:
        fresh.entries.update(_entries(tx.db.execute(NEWER, (fresh.last,))))
        fresh.last = tx.meta["last_resource"]
    return fresh


def _entries(rows: Iterable[tuple[bytes, int, int, int, int]]) -> dict[bytes, Remembered]:
    return {digest: Remembered(number, asked, distance(depth, hops)) for digest, number, asked, depth, hops in rows}
