"""How fresh the web is, and what is due; read from the index `resources_pace` (see `store/sqlite/work/schedule.py`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gossamer.revisit.pace import LISTING
from gossamer.store import rows
from gossamer.store.postgres.read.resources import only

if TYPE_CHECKING:
    from gossamer.revisit.pace import Schedule
    from gossamer.store.postgres.database import Connection
    from gossamer.store.values import Freshness

# What waits for its next visit; word by word the condition of the index `resources_pace`.
WAITING = "FROM resources WHERE state IN ('visited', 'failed', 'refused', 'gone') AND pace IS NOT NULL"
PACES = f"SELECT pace, count(*) {WAITING} GROUP BY pace"
# From one pace to the next by way of the index: there are hundreds of them, and millions of resources.
PACES_THERE = f"""
    WITH RECURSIVE there (pace) AS (
        SELECT (SELECT min(pace) {WAITING})
        UNION ALL SELECT (SELECT min(pace) {WAITING} AND pace > there.pace) FROM there WHERE there.pace IS NOT NULL)
    SELECT pace FROM there WHERE pace IS NOT NULL"""  # noqa: S608
AGES_BY_PACE = f"""
    SELECT pace, trunc((%s - visited_at) / {rows.MINUTE})::bigint AS age, count(*)
    {WAITING} AND pace < {LISTING} GROUP BY 1, 2"""
DUE = f"""
    SELECT (SELECT count(*) {WAITING} AND pace = %(pace)s AND visited_at <= %(until)s),
        (SELECT min(visited_at) {WAITING} AND pace = %(pace)s AND visited_at > %(until)s)"""


def paces(db: Connection) -> dict[int, int]:
    """How many resources wait for their next visit, by pace."""
    return dict(db.execute(PACES).fetchall())


def pace(db: Connection, resource: int) -> int | None:
    """The pace of a resource."""
    found: int | None = only(db, "SELECT pace FROM resources WHERE id = %s", resource)
    return found


def paces_there(db: Connection) -> list[int]:
    """The paces of which there are resources that wait."""
    return [number for (number,) in db.execute(PACES_THERE)]


def freshness(db: Connection, schedule: Schedule, now: float) -> Freshness:
    """How long ago the pages were visited, how many of them have probably changed since, and what is due."""

    def look(number: int, until: float) -> tuple[int, float | None]:
        ((due, first_later),) = db.execute(DUE, {"pace": number, "until": until}).fetchall()
        return due, first_later

    ages = db.execute(AGES_BY_PACE, (now,)).fetchall()
    return rows.freshness(ages, *rows.due_and_next(paces_there(db), schedule, now, look))
