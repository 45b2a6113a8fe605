"""What visits mean for what is known already, and the history of what they found changed, written.

Only visits to what was visited before come here, and their old bonds are read once for all of it: to see whether
anything differs, to say what, and to tell which targets gained or lost something (`store/work/change_detection.py`).
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from gossamer.store.postgres.bulk_copy import copy, digests, numbers, texts, whole
from gossamer.store.postgres.database import ints
from gossamer.store.work.change_detection import (
    COMPARED,
    Past,
    bonds_of,
    difference,
    history_row,
    revisited,
    texts_to_compare,
    weigh,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gossamer.store import rows
    from gossamer.store.postgres.database import Connection, Transaction
    from gossamer.store.work.change_detection import Difference, Entry, Weighed
    from gossamer.store.work.visit_rows import Finished

PAST = f"""
    SELECT id, outcome, visited_at, status, bytes, content_digest, text_digest, {", ".join(COMPARED)}, dated, found,
        gap, quiet, told_at, misled, coalesce((SELECT number FROM backlinks WHERE resource = id), 0), seed, pace
    FROM resources WHERE id = ANY(%s::bigint[])"""  # noqa: S608
BONDS = """
    SELECT source, target, kind, follow, weight, position, rel, anchor FROM links
    WHERE source = ANY(%s::bigint[]) ORDER BY source, seq"""
TEXTS = "SELECT resource, body FROM texts WHERE resource = ANY(%s::bigint[])"
HISTORY = ("resource", "found_at", "since", "event", "status", "bytes", "title", "parts", "links")
RELINKED = """
    INSERT INTO relinked (target, version) SELECT target, %s FROM unnest(%s::bigint[]) AS t (target) ORDER BY target
    ON CONFLICT (target) DO UPDATE SET version = excluded.version"""
KEEP_SOURCE = """
    UPDATE history AS h SET source = s.body FROM sources AS s
    WHERE s.resource = h.resource AND h.id = (SELECT max(id) FROM history WHERE resource = h.resource)
        AND h.resource = ANY(%s::bigint[]) AND h.event IN ('changed', 'gone', 'moved', 'refused')
    RETURNING length(h.source)"""
DROP_SOURCES = """
    UPDATE history SET source = NULL WHERE id = ANY(%s::bigint[])"""
OLDEST_SOURCES = "SELECT id, length(source) FROM history WHERE source IS NOT NULL ORDER BY id LIMIT %s"
OLD_SOURCES = "SELECT value FROM meta WHERE key = 'old_sources'"


def compared(db: Connection, finished: Sequence[Finished], ids: Mapping[bytes, int], *, keep_links: bool) -> Weighed:
    """Compare visits with what is stored of their resources."""
    again = revisited(finished)
    rows = db.execute(PAST, (ints(item.row.id for item in finished),)).fetchall()
    past = {one.id: one for one in map(Past._make, rows)}
    return weigh(finished, past, _differences(db, again, past, ids, keep_links=keep_links) if again else {})


def _differences(
    db: Connection,
    again: Mapping[int, Finished],
    past: Mapping[int, Past],
    ids: Mapping[bytes, int],
    *,
    keep_links: bool,
) -> dict[int, Difference]:
    old: defaultdict[int, list[rows.BondRow]] = defaultdict(list)
    for source, *row in db.execute(BONDS, (ints(again),)):
        old[source].append(tuple(row))
    old_texts: dict[int, bytes] = dict(db.execute(TEXTS, (ints(texts_to_compare(again, past)),)).fetchall())
    return {
        resource: difference(
            past[resource], item.visit.page, old_texts.get(resource), old[resource],
            list(bonds_of(item, ids, keep_links=keep_links)),
        )
        for resource, item in again.items()
    }  # fmt: skip


def write_history(tx: Transaction, entries: Sequence[Entry], old_sources: int) -> None:
    """Write down how resources were until now; before what is stored of them is replaced."""
    if not entries:
        return
    columns = list(zip(*map(history_row, entries), strict=True))
    resource, found_at, since, event, status, size, title, parts, links = columns
    copy(
        tx.db, "history", HISTORY,
        [
            whole(resource), numbers(found_at), numbers(since), event, whole(status), whole(size), texts(title), parts,
            digests(links),
        ],
    )  # fmt: skip
    if old_sources:
        kept = tx.db.execute(KEEP_SOURCE, (ints(resource),)).fetchall()
        tx.meta["old_sources"] += sum(length for (length,) in kept)


def write_relinked(tx: Transaction, entries: Sequence[Entry], version: int) -> None:
    """The targets that gained or lost a bond, with the version of this batch."""
    targets = {row[0] for entry in entries for row in (*entry.difference.lost, *entry.difference.gained)}
    if targets:
        tx.db.execute(RELINKED, (version, ints(targets)))


def drop_old_sources(tx: Transaction, most: int) -> None:
    """Let go of the oldest sources kept, when they are more than so many bytes. Nobody else writes meanwhile."""
    row = tx.db.execute(OLD_SOURCES).fetchone()
    assert row is not None
    over = row[0] + tx.meta["old_sources"] - most
    at_once = 100
    while over > 0 and (oldest := tx.db.execute(OLDEST_SOURCES, (at_once,)).fetchall()):
        dropped = []
        for entry, size in oldest:
            if over <= 0:
                break
            over -= size
            tx.meta["old_sources"] -= size
            dropped.append(entry)
        tx.db.execute(DROP_SOURCES, (ints(dropped),))
