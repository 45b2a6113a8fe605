"""Read the pages of search results, all in one read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gossamer.store.sqlite.database import json_array
from gossamer.store.values import DocumentRow

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

DOCUMENTS = """
    SELECT r.id, r.url, h.name, r.title, r.description, r.visited_at, t.body
    FROM json_each(?) AS wanted JOIN resources AS r ON r.id = wanted.value
    JOIN hosts AS h ON h.id = r.host JOIN texts AS t ON t.resource = r.id"""


def documents(db: sqlite3.Connection, ids: Sequence[int]) -> dict[int, DocumentRow]:
    """Return these resources by id, without those that have no text."""
    rows = db.execute(DOCUMENTS, (json_array(ids),))
    return {row[0]: DocumentRow(*row) for row in rows}
