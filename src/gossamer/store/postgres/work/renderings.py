"""What browsers made of pages, and what they found about path shapes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gossamer.model import ShapeEvidence
from gossamer.store.postgres.database import int_array
from gossamer.store.work.visit_rows import RENDERING_COLUMNS, rendering_rows, stored_rendering

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gossamer.model import Rendering
    from gossamer.store.postgres.database import Connection
    from gossamer.store.work.visit_rows import FinishedVisit

_COLUMNS = ", ".join(RENDERING_COLUMNS)
INSERT = f"INSERT INTO renderings (resource, {_COLUMNS}) VALUES (%s, {', '.join(['%s'] * len(RENDERING_COLUMNS))})"  # noqa: S608
SELECT = f"SELECT {_COLUMNS} FROM renderings WHERE resource = %s"  # noqa: S608
DELETE = "DELETE FROM renderings WHERE resource = ANY(%s::bigint[])"
UPSERT_SHAPES = """
    INSERT INTO shapes (host, shape, signed, outcomes, looked_at)
    SELECT n.* FROM unnest(%s::bigint[], %s::text[], %s::smallint[], %s::text[], %s::double precision[])
        AS n (host, shape, signed, outcomes, looked_at)
    WHERE n.host IN (SELECT id FROM hosts)
    ON CONFLICT (host, shape, signed) DO UPDATE SET outcomes = excluded.outcomes, looked_at = excluded.looked_at"""
SHAPES = """
    SELECT host, shape, signed, outcomes, looked_at FROM shapes WHERE host = ANY(%s::bigint[])
    ORDER BY host, shape, signed"""
DELETE_SHAPES = "DELETE FROM shapes WHERE host = ANY(%s::bigint[])"


def write_renderings(db: Connection, finished: Sequence[FinishedVisit]) -> None:
    """Replace the renderings of visited pages; `clear_contents` has deleted those of replaced contents."""
    rows, kept = rendering_rows(finished)
    if kept:
        delete_renderings(db, kept)
    if rows:
        with db.cursor() as cursor:
            cursor.executemany(INSERT, rows)


def delete_renderings(db: Connection, resources: Iterable[int]) -> None:
    """Delete the renderings of resources."""
    db.execute(DELETE, (int_array(resources),))


def rendering(db: Connection, resource: int) -> Rendering | None:
    """Return what a browser made of a page; None if none rendered it."""
    return stored_rendering(db.execute(SELECT, (resource,)).fetchone())


def write_shapes(db: Connection, evidence: Iterable[ShapeEvidence]) -> None:
    """Write what is known of path shapes now."""
    latest = sorted({(e.host, e.shape, e.signed): e for e in evidence}.items())
    if latest:
        columns = zip(*((*key, e.outcomes, e.looked_at) for key, e in latest), strict=True)
        hosts, shapes_, signed, outcomes, looked_at = map(list, columns)
        db.execute(UPSERT_SHAPES, (int_array(hosts), shapes_, list(map(int, signed)), outcomes, looked_at))


def shapes(db: Connection, hosts: Sequence[int]) -> list[ShapeEvidence]:
    """Return what is known of the path shapes of hosts."""
    return [
        ShapeEvidence(host=host, shape=shape, signed=bool(signed), outcomes=outcomes, looked_at=looked_at)
        for host, shape, signed, outcomes, looked_at in db.execute(SHAPES, (int_array(hosts),))
    ]


def delete_shapes(db: Connection, hosts: Iterable[int]) -> None:
    """Delete what is known of the path shapes of hosts."""
    db.execute(DELETE_SHAPES, (int_array(hosts),))
