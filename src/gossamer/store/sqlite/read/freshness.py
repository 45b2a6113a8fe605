"""Read how fresh the web is and what is due, from the index `resources_pace`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gossamer.revisit.pace import LISTING
from gossamer.store import rows

if TYPE_CHECKING:
    import sqlite3

    from gossamer.revisit.pace import Schedule
    from gossamer.store.values import Freshness

# Resources that wait for their next visit; the condition is the one of the index `resources_pace`.
FROM_WAITING = "FROM resources INDEXED BY resources_pace WHERE state IN ('visited', 'failed', 'refused', 'gone')"
PACES = f"SELECT pace, count(*) {FROM_WAITING} AND pace IS NOT NULL GROUP BY pace"
# Steps from one pace to the next in the index: there are hundreds of paces, and millions of resources.
SELECT_WAITING_PACES = f"""
    WITH RECURSIVE there (pace) AS (
        SELECT (SELECT min(pace) {FROM_WAITING} AND pace IS NOT NULL)
        UNION ALL
        SELECT (SELECT min(pace) {FROM_WAITING} AND pace > there.pace) FROM there WHERE there.pace IS NOT NULL)
    SELECT pace FROM there WHERE pace IS NOT NULL"""  # noqa: S608
AGES_BY_PACE = f"""
    SELECT pace, CAST((?1 - visited_at) / ?2 AS INTEGER), count(*) {FROM_WAITING} AND pace < {LISTING} GROUP BY 1, 2"""
COUNT_DUE = f"SELECT count(*) {FROM_WAITING} AND pace = ? AND visited_at <= ?"
FIRST_LATER = f"SELECT min(visited_at) {FROM_WAITING} AND pace = ? AND visited_at > ?"


def pace_counts(db: sqlite3.Connection) -> dict[int, int]:
    """Return how many resources wait for their next visit, by pace."""
    return dict(db.execute(PACES))


def resource_pace(db: sqlite3.Connection, resource: int) -> int | None:
    """Return the pace of a resource."""
    row = db.execute("SELECT pace FROM resources WHERE id = ?", (resource,)).fetchone()
    return row[0] if row else None


def waiting_paces(db: sqlite3.Connection) -> list[int]:
    """Return the paces of waiting resources."""
    return [pace for (pace,) in db.execute(SELECT_WAITING_PACES).fetchall()]


def freshness(db: sqlite3.Connection, schedule: Schedule, now: float) -> Freshness:
    """Return ages of pages, the share that probably changed since, and what is due."""

    def count_due(pace: int, until: float) -> tuple[int, float | None]:
        ((number,),) = db.execute(COUNT_DUE, (pace, until)).fetchall()
        ((first_later,),) = db.execute(FIRST_LATER, (pace, until)).fetchall()
        return number, first_later

    ages = db.execute(AGES_BY_PACE, (now, rows.MINUTE)).fetchall()
    return rows.freshness(ages, *rows.count_due_and_next(waiting_paces(db), schedule, now, count_due))
