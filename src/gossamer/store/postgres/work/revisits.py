"""Comparing visits with the stored state, and writing the history of changes.

The old bonds of revisited pages are read once. They tell whether a page differs, how, and which targets gained or lost
a link (`store/work/change_detection.py`).
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from gossamer.store.postgres.bulk_copy import bytes_column, copy_rows, int_column, number_column, text_column
from gossamer.store.postgres.database import int_array
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
    from collections.abc import Mapping, Sequence

    from gossamer.store import rows
    from gossamer.store.postgres.database import Connection, Transaction
    from gossamer.store.work.change_detection import ComparedBatch, Difference, HistoryEntry
    from gossamer.store.work.visit_rows import FinishedVisit

SELECT_STORED = f"""
    SELECT id, outcome, visited_at, status, bytes, content_digest, text_digest, {", ".join(COMPARED_FIELDS)}, dated,
        found, gap, quiet, told_at, misled, coalesce((SELECT number FROM backlinks WHERE resource = id), 0), seed, pace
    FROM resources WHERE id = ANY(%s::bigint[])"""  # noqa: S608
BONDS = """
    SELECT source, target, kind, follow, weight, position, rel, anchor FROM links
    WHERE source = ANY(%s::bigint[]) ORDER BY source, seq"""
TEXTS = "SELECT resource, body FROM texts WHERE resource = ANY(%s::bigint[])"
HISTORY_COLUMNS = ("resource", "found_at", "since", "event", "status", "bytes", "title", "parts", "links")
INSERT_RELINKED = """
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


def compare_visits(
    db: Connection, finished: Sequence[FinishedVisit], ids: Mapping[bytes, int], *, keep_links: bool
) -> ComparedBatch:
    """Compare visits with the stored state of their resources."""
    revisits = select_revisits(finished)
    rows = db.execute(SELECT_STORED, (int_array(item.row.id for item in finished),)).fetchall()
    stored = {one.id: one for one in map(StoredResource._make, rows)}
    return assess_visits(
        finished, stored, _differences(db, revisits, stored, ids, keep_links=keep_links) if revisits else {}
    )


def _differences(
    db: Connection,
    revisits: Mapping[int, FinishedVisit],
    stored: Mapping[int, StoredResource],
    ids: Mapping[bytes, int],
    *,
    keep_links: bool,
) -> dict[int, Difference]:
    old_bonds: defaultdict[int, list[rows.BondRow]] = defaultdict(list)
    for source, *row in db.execute(BONDS, (int_array(revisits),)):
        old_bonds[source].append(tuple(row))
    old_texts: dict[int, bytes] = dict(db.execute(TEXTS, (int_array(texts_to_compare(revisits, stored)),)).fetchall())
    return {
        resource: find_difference(
            stored[resource], item.visit.page, old_texts.get(resource), old_bonds[resource],
            list(visit_bonds(item, ids, keep_links=keep_links)),
        )
        for resource, item in revisits.items()
    }  # fmt: skip


def write_history(tx: Transaction, entries: Sequence[HistoryEntry], old_sources: int) -> None:
    """Write the previous state of changed resources. Call it before their contents are replaced."""
    if not entries:
        return
    columns = list(zip(*map(history_row, entries), strict=True))
    resource, found_at, since, event, status, size, title, parts, links = columns
    copy_rows(
        tx.db, "history", HISTORY_COLUMNS,
        [
            int_column(resource), number_column(found_at), number_column(since), event, int_column(status),
            int_column(size), text_column(title), parts, bytes_column(links),
        ],
    )  # fmt: skip
    if old_sources:
        kept = tx.db.execute(KEEP_SOURCE, (int_array(resource),)).fetchall()
        tx.meta["old_sources"] += sum(length for (length,) in kept)


def write_relinked_targets(tx: Transaction, entries: Sequence[HistoryEntry], version: int) -> None:
    """Write the targets that gained or lost a link, with the version of this batch."""
    targets = {row[0] for entry in entries for row in (*entry.difference.lost, *entry.difference.gained)}
    if targets:
        tx.db.execute(INSERT_RELINKED, (version, int_array(targets)))


def drop_old_sources(tx: Transaction, max_bytes: int) -> None:
    """Drop the oldest kept sources beyond `max_bytes`. The caller holds the row `version`, so nobody else does."""
    row = tx.db.execute(OLD_SOURCES).fetchone()
    assert row is not None
    excess = row[0] + tx.meta["old_sources"] - max_bytes
    at_once = 100
    while excess > 0 and (oldest := tx.db.execute(OLDEST_SOURCES, (at_once,)).fetchall()):
        dropped = []
        for entry, size in oldest:
            if excess <= 0:
                break
            excess -= size
            tx.meta["old_sources"] -= size
            dropped.append(entry)
        tx.db.execute(DROP_SOURCES, (int_array(dropped),))
