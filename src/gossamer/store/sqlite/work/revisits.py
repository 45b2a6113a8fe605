"""What a visit found to be different from before: told apart, written down, and read.

Only visits to what was visited before come here, and their old bonds are read once for all of it: to see whether
anything differs, to say what, and to tell which targets gained or lost something.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from gossamer.store import rows
from gossamer.store.content import decode_source
from gossamer.store.sqlite.work.admission import json_array
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
    from collections.abc import Iterator, Mapping, Sequence

    from gossamer.store.sqlite.database import Database, Transaction
    from gossamer.store.values import ChangeRow
    from gossamer.store.work.change_detection import ComparedBatch, Difference, HistoryEntry
    from gossamer.store.work.visit_rows import FinishedVisit

ROWS_AT_ONCE = 500
NO_LIMIT = -1  # LIMIT -1 is no limit
SELECT_STORED = f"""
    SELECT id, outcome, visited_at, status, bytes, content_digest, text_digest, {", ".join(COMPARED_FIELDS)}, dated, found,
        gap, quiet, told_at, misled, coalesce(number, 0), seed, pace
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
_SELECT_HISTORY = """
    SELECT c.found_at, c.id, r.url, c.since, c.event, c.status, c.bytes, c.title, c.parts, c.links,
        c.source IS NOT NULL, r.title, r.status, r.state
    FROM history AS c JOIN resources AS r ON r.id = c.resource"""
SELECT_BY_RESOURCE = f"{_SELECT_HISTORY} WHERE c.resource = ? ORDER BY c.id"
SELECT_SINCE = f"""
    {_SELECT_HISTORY} WHERE (c.found_at, c.id) > (?, ?) ORDER BY c.found_at, c.id LIMIT ?"""
URLS = "SELECT id, url FROM resources WHERE id IN (SELECT value FROM json_each(?))"


def compare_visits(
    db: sqlite3.Connection, finished: Sequence[FinishedVisit], ids: Mapping[bytes, int], *, keep_links: bool
) -> ComparedBatch:
    """Compare visits with what is stored of their resources."""
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
    """What is different, for visits that would replace what is stored."""
    old_bonds: defaultdict[int, list[rows.BondRow]] = defaultdict(list)
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
    """Write down how resources were until now; before what is stored of them is replaced."""
    last = tx.db.execute("SELECT coalesce(max(id), 0) FROM history").fetchone()[0]
    tx.db.executemany(INSERT, map(history_row, entries))
    if old_sources:
        _keep_sources(tx, last, old_sources)
    targets = {row[0] for entry in entries for row in (*entry.difference.lost, *entry.difference.gained)}
    tx.db.execute(INSERT_RELINKED, (version, json_array(targets)))


def _keep_sources(tx: Transaction, last: int, max_bytes: int) -> None:
    """Keep the sources that are about to be replaced; the oldest ones go when they are more than so many bytes."""
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


# -- reading -----------------------------------------------------------------------------------------------------------


def resource_history(db: sqlite3.Connection, resource: int) -> list[ChangeRow]:
    """The history of a resource, oldest first."""
    return list(_build_changes(db, db.execute(SELECT_BY_RESOURCE, (resource,)).fetchall()))


def history_since(database: Database, when: float, limit: int | None) -> Iterator[ChangeRow]:
    """What was found changed since then, oldest first."""

    def read(cursor: rows.Row, max_rows: int) -> list[rows.Row]:
        with database.connection() as db:
            return db.execute(SELECT_SINCE, (*cursor, max_rows)).fetchall()

    for chunk in rows.read_chunks(read, (when, 0), ROWS_AT_ONCE, limit):
        with database.connection() as db:
            changes = list(_build_changes(db, chunk))
        yield from changes


def old_source(db: sqlite3.Connection, entry: int) -> bytes | None:
    """The source as it was until a change; None when it was not kept."""
    row = db.execute("SELECT source FROM history WHERE id = ? AND source IS NOT NULL", (entry,)).fetchone()
    return decode_source(row[0]) if row else None


def _build_changes(db: sqlite3.Connection, history: Sequence[rows.Row]) -> Iterator[ChangeRow]:
    return rows.changes(history, lambda targets: dict(db.execute(URLS, (json_array(targets),))))
