"""What a search result shows of its pages: title, URL, host and text, in one read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gossamer.store.postgres.database import int_array
from gossamer.store.values import DocumentRow
from gossamer.store.work.claims import FORGOTTEN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gossamer.store.postgres.database import Connection

DOCUMENTS = """
    SELECT r.id, r.url, h.name, r.title, r.description, r.visited_at, t.body
    FROM resources AS r JOIN hosts AS h ON h.id = r.host JOIN texts AS t ON t.resource = r.id
    WHERE r.id = ANY(%s::bigint[])"""

# Documents that an older index may have: forgotten or changed since its version.
REMOVED_DOCUMENTS = """
    SELECT resource FROM forgotten WHERE resource = ANY(%(ids)s::bigint[])
    UNION ALL SELECT id FROM resources
    WHERE id = ANY(%(ids)s::bigint[]) AND version > %(version)s"""

HAS_FORGOTTEN = f"""
    SELECT EXISTS (SELECT 1 FROM forgotten WHERE version > %(version)s)
        OR EXISTS (SELECT 1 FROM resources
            WHERE version > %(version)s AND state = 'known' AND reason = '{FORGOTTEN}')"""  # noqa: S608


def documents(db: Connection, ids: Sequence[int]) -> dict[int, DocumentRow]:
    """Return the resources that have a text, by id."""
    return {row[0]: DocumentRow(*row) for row in db.execute(DOCUMENTS, (int_array(ids),))}


def missing_documents(db: Connection, ids: Sequence[int], version: int) -> list[int]:
    """Return those of these documents of an index that nobody removed or changed since its version."""
    rows = db.execute(REMOVED_DOCUMENTS, {"ids": int_array(ids), "version": version})
    removed = {resource for (resource,) in rows}
    return [each for each in ids if each not in removed]


def has_forgotten_since(db: Connection, version: int) -> bool:
    """Return whether resources were forgotten after a version."""
    row = db.execute(HAS_FORGOTTEN, {"version": version}).fetchone()
    return row is not None and bool(row[0])
