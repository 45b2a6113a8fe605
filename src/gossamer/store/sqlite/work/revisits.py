"""Compare visits with stored resources, and write what a visit found to be different.

Only visits of resources visited before come here. One read of their old bonds shows whether anything differs, what
differs, and which targets gained or lost a bond.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from gossamer.store.sqlite.database import json_array
from gossamer.store.work.change_detection import (
    COMPARED_FIELDS,
    StoredResource,
    assess_visits,
    find_difference,
    history_row,
    select_revisits,
    texts_to_compare,
    visit_bonds,
)

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Mapping, Sequence

    from gossamer.store.rows import BondRow
    from gossamer.store.sqlite.database import Transaction
    from gossamer.store.work.change_detection import ComparedBatch, Difference, HistoryEntry
    from gossamer.store.work.visit_rows import FinishedVisit

SELECT_STORED = f"""
    SELECT id, outcome, visited_at, status, bytes, content_digest, text_digest, {", ".join(COMPARED_FIELDS)}, dated,
        found, gap, quiet, told_at, misled, coalesce(number, 0), seed, pace
    FROM resources LEFT JOIN backlinks ON resource = id WHERE id IN (SELECT value FROM json_each(?))"""  # noqa: S608
BONDS = """
    SELECT source, target, kind, follow, weight, position, rel, anchor FROM links
    WHERE source IN (SELECT value FROM json_each(?)) ORDER BY source, seq"""
TEXTS = "SELECT resource, body FROM texts WHERE resource IN (SELECT value FROM json_each(?))"
INSERT = """
    INSERT INTO history (resource, found_at, since, event, status, bytes, title, parts, links)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"""
INSERT_RELINKED = """
    INSERT INTO relinked (target, version) SELECT value, ?1 FROM json_each(?2) WHERE true
    ON CONFLICT DO UPDATE SET version = excluded.version"""
KEEP_SOURCE = """
    UPDATE history SET source = (SELECT body FROM sources AS s WHERE s.resource = history.resource)
    WHERE id > ? AND event IN ('changed', 'gone', 'moved', 'refused')"""
SOURCES_SINCE = "SELECT coalesce(sum(length(source)), 0) FROM history WHERE id > ? AND source IS NOT NULL"
OLDEST_SOURCES = (
    "SELECT id, length(source) FROM history INDEXED BY history_sources WHERE source IS NOT NULL ORDER BY id"
)


def compare_visits(
    db: sqlite3.Connection, finished: Sequence[FinishedVisit], ids: Mapping[bytes, int], *, keep_links: bool
) -> ComparedBatch:
    """Compare visits with their stored resources."""
    revisits = select_revisits(finished)
    rows_ = db.execute(SELECT_STORED, (json_array(item.row.id for item in finished),))
    stored = {one.id: one for one in map(StoredResource._make, rows_)}
    return assess_visits(
        finished, stored, _differences(db, revisits, stored, ids, keep_links=keep_links) if revisits else {}
    )


def _differences(
    db: sqlite3.Connection,
    revisits: Mapping[int, FinishedVisit],
    stored: Mapping[int, StoredResource],
    ids: Mapping[bytes, int],
    *,
    keep_links: bool,
) -> dict[int, Difference]:
    """Return the differences of visits that would replace stored content."""
    old_bonds: defaultdict[int, list[BondRow]] = defaultdict(list)
    for source, *row in db.execute(BONDS, (json_array(revisits),)):
        old_bonds[source].append(tuple(row))
    to_compare = texts_to_compare(revisits, stored)
    old_texts = dict(db.execute(TEXTS, (json_array(to_compare),))) if to_compare else {}
    return {
        resource: find_difference(
            stored[resource], item.visit.page, old_texts.get(resource), old_bonds[resource],
            list(visit_bonds(item, ids, keep_links=keep_links)),
        )
        for resource, item in revisits.items()
    }  # fmt: skip


# -- writing -----------------------------------------------------------------------------------------------------------


def write_history(tx: Transaction, entries: Sequence[HistoryEntry], version: int, old_sources: int) -> None:
    """Write the old facts of changed resources, before the batch replaces them."""
    last = tx.db.execute("SELECT coalesce(max(id), 0) FROM history").fetchone()[0]
    tx.db.executemany(INSERT, map(history_row, entries))
    if old_sources:
        _keep_sources(tx, last, old_sources)
    targets = {row[0] for entry in entries for row in (*entry.difference.lost, *entry.difference.gained)}
    tx.db.execute(INSERT_RELINKED, (version, json_array(targets)))


def _keep_sources(tx: Transaction, last: int, max_bytes: int) -> None:
    """Keep the sources that the batch replaces; drop the oldest ones beyond `max_bytes`."""
    tx.db.execute(KEEP_SOURCE, (last,))
    tx.meta["old_sources"] += tx.db.execute(SOURCES_SINCE, (last,)).fetchone()[0]
    dropped = []
    for entry, size in tx.db.execute(OLDEST_SOURCES):
        if tx.meta["old_sources"] <= max_bytes:
            break
        tx.meta["old_sources"] -= size
        dropped.append(entry)
    drop = "UPDATE history SET source = NULL WHERE id IN (SELECT value FROM json_each(?))"
    tx.db.execute(drop, (json_array(dropped),))
