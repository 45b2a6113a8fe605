"""What a search result shows of its pages: title, URL, host and text, in one read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gossamer.store.postgres.database import int_array
from gossamer.store.values import DocumentRow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gossamer.store.postgres.database import Connection

DOCUMENTS = """
    SELECT r.id, r.url, h.name, r.title, r.description, r.visited_at, t.body
    FROM resources AS r JOIN hosts AS h ON h.id = r.host JOIN texts AS t ON t.resource = r.id
    WHERE r.id = ANY(%s::bigint[])"""


def documents(db: Connection, ids: Sequence[int]) -> dict[int, DocumentRow]:
    """Return the resources that have a text, by id."""
    return {row[0]: DocumentRow(*row) for row in db.execute(DOCUMENTS, (int_array(ids),))}
