"""What browsers made of pages, and what they found about path shapes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gossamer.model import ShapeEvidence
from gossamer.store.sqlite.database import json_array
from gossamer.store.work.visit_rows import RENDERING_COLUMNS, rendering_rows, stored_rendering

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Sequence

    from gossamer.model import Rendering
    from gossamer.store.work.visit_rows import FinishedVisit

_COLUMNS = ", ".join(RENDERING_COLUMNS)
INSERT = f"INSERT INTO renderings (resource, {_COLUMNS}) VALUES (?, {', '.join('?' * len(RENDERING_COLUMNS))})"  # noqa: S608
SELECT = f"SELECT {_COLUMNS} FROM renderings WHERE resource = ?"  # noqa: S608
DELETE = "DELETE FROM renderings WHERE resource IN (SELECT value FROM json_each(?))"
UPSERT_SHAPE = """
    INSERT INTO shapes (host, shape, signed, outcomes, looked_at) SELECT id, ?2, ?3, ?4, ?5 FROM hosts WHERE id = ?1
    ON CONFLICT DO UPDATE SET outcomes = excluded.outcomes, looked_at = excluded.looked_at"""
SHAPES = """
    SELECT host, shape, signed, outcomes, looked_at FROM shapes WHERE host IN (SELECT value FROM json_each(?))
    ORDER BY host, shape, signed"""
DELETE_SHAPES = "DELETE FROM shapes WHERE host IN (SELECT value FROM json_each(?))"


def write_renderings(db: sqlite3.Connection, finished: Sequence[FinishedVisit]) -> None:
    """Replace the renderings of visited pages; `clear_contents` has deleted those of replaced contents."""
    rows, kept = rendering_rows(finished)
    if kept:
        delete_renderings(db, kept)
    db.executemany(INSERT, rows)


def delete_renderings(db: sqlite3.Connection, resources: Iterable[int]) -> None:
    """Delete the renderings of resources."""
    db.execute(DELETE, (json_array(resources),))


def rendering(db: sqlite3.Connection, resource: int) -> Rendering | None:
    """Return what a browser made of a page; None if none rendered it."""
    return stored_rendering(db.execute(SELECT, (resource,)).fetchone())


def write_shapes(db: sqlite3.Connection, evidence: Iterable[ShapeEvidence]) -> None:
    """Write what is known of path shapes now."""
    db.executemany(UPSERT_SHAPE, ((e.host, e.shape, int(e.signed), e.outcomes, e.looked_at) for e in evidence))


def shapes(db: sqlite3.Connection, hosts: Sequence[int]) -> list[ShapeEvidence]:
    """Return what is known of the path shapes of hosts."""
    return [
        ShapeEvidence(host=host, shape=shape, signed=bool(signed), outcomes=outcomes, looked_at=looked_at)
        for host, shape, signed, outcomes, looked_at in db.execute(SHAPES, (json_array(hosts),))
    ]


def delete_shapes(db: sqlite3.Connection, hosts: Iterable[int]) -> None:
    """Delete what is known of the path shapes of hosts."""
    db.execute(DELETE_SHAPES, (json_array(hosts),))
