"""What a hit of a search shows: a page's name, place and text, for ten pages in one read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from gossamer.store.values import DocumentRow

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

DOCUMENTS = """
    SELECT r.id, r.url, h.name, r.title, r.description, r.visited_at, t.body
    FROM json_each(?) AS wanted JOIN resources AS r ON r.id = wanted.value
    JOIN hosts AS h ON h.id = r.host JOIN texts AS t ON t.resource = r.id"""


def documents(db: sqlite3.Connection, ids: Sequence[int]) -> dict[int, DocumentRow]:
    """Those of these resources that have a text, by id."""
    rows = db.execute(DOCUMENTS, (json.dumps(list(ids)),))
    return {row[0]: DocumentRow(*row) for row in rows}
