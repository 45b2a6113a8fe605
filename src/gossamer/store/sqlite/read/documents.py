"""Read the pages of search results, all in one read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gossamer.store.sqlite.database import json_array
from gossamer.store.values import DocumentRow
from gossamer.store.work.claims import FORGOTTEN

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

DOCUMENTS = """
    SELECT r.id, r.url, h.name, r.title, r.description, r.visited_at, t.body
    FROM json_each(?) AS wanted JOIN resources AS r ON r.id = wanted.value
    JOIN hosts AS h ON h.id = r.host JOIN texts AS t ON t.resource = r.id"""

# Documents that an older index may have: forgotten or changed since its version.
REMOVED_DOCUMENTS = """
    SELECT resource FROM forgotten WHERE resource IN (SELECT value FROM json_each(?1))
    UNION ALL SELECT id FROM resources
    WHERE id IN (SELECT value FROM json_each(?1)) AND version > ?2"""

HAS_FORGOTTEN = f"""
    SELECT EXISTS (SELECT 1 FROM forgotten WHERE version > ?1)
        OR EXISTS (SELECT 1 FROM resources WHERE version > ?1 AND state = 'known' AND reason = '{FORGOTTEN}')"""  # noqa: S608


def documents(db: sqlite3.Connection, ids: Sequence[int]) -> dict[int, DocumentRow]:
    """Return these resources by id, without those that have no text."""
    rows = db.execute(DOCUMENTS, (json_array(ids),))
    return {row[0]: DocumentRow(*row) for row in rows}


def missing_documents(db: sqlite3.Connection, ids: Sequence[int], version: int) -> list[int]:
    """Return those of these documents of an index that nobody removed or changed since its version."""
    removed = {resource for (resource,) in db.execute(REMOVED_DOCUMENTS, (json_array(ids), version))}
    return [each for each in ids if each not in removed]


def has_forgotten_since(db: sqlite3.Connection, version: int) -> bool:
    """Return whether resources were forgotten after a version."""
    return bool(db.execute(HAS_FORGOTTEN, (version,)).fetchone()[0])
