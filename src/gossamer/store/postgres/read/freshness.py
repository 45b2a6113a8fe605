"""How fresh the web is, and what is due; read from the index `resources_pace` (see `store/sqlite/work/schedule.py`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gossamer.revisit.pace import LISTING
from gossamer.store import rows
from gossamer.store.postgres.read.resources import fetch_value

if TYPE_CHECKING:
    from gossamer.revisit.pace import Schedule
    from gossamer.store.postgres.database import Connection
    from gossamer.store.values import Freshness

# What waits for its next visit; word by word the condition of the index `resources_pace`.
FROM_WAITING = "FROM resources WHERE state IN ('visited', 'failed', 'refused', 'gone') AND pace IS NOT NULL"
PACES = f"SELECT pace, count(*) {FROM_WAITING} GROUP BY pace"
# From one pace to the next by way of the index: there are hundreds of them, and millions of resources.
SELECT_WAITING_PACES = f"""
    WITH RECURSIVE there (pace) AS (
        SELECT (SELECT min(pace) {FROM_WAITING})
        UNION ALL SELECT (SELECT min(pace) {FROM_WAITING} AND pace > there.pace) FROM there WHERE there.pace IS NOT NULL)
    SELECT pace FROM there WHERE pace IS NOT NULL"""  # noqa: S608
AGES_BY_PACE = f"""
    SELECT pace, trunc((%s - visited_at) / {rows.MINUTE})::bigint AS age, count(*)
    {FROM_WAITING} AND pace < {LISTING} GROUP BY 1, 2"""
SELECT_DUE = f"""
    SELECT (SELECT count(*) {FROM_WAITING} AND pace = %(pace)s AND visited_at <= %(until)s),
        (SELECT min(visited_at) {FROM_WAITING} AND pace = %(pace)s AND visited_at > %(until)s)"""


def pace_counts(db: Connection) -> dict[int, int]:
    """How many resources wait for their next visit, by pace."""
    return dict(db.execute(PACES).fetchall())


def resource_pace(db: Connection, resource: int) -> int | None:
    """The pace of a resource."""
    pace: int | None = fetch_value(db, "SELECT pace FROM resources WHERE id = %s", resource)
    return pace


def waiting_paces(db: Connection) -> list[int]:
    """The paces of which there are resources that wait."""
    return [number for (number,) in db.execute(SELECT_WAITING_PACES)]


def freshness(db: Connection, schedule: Schedule, now: float) -> Freshness:
    """How long ago the pages were visited, how many of them have probably changed since, and what is due."""

    def count_due(number: int, until: float) -> tuple[int, float | None]:
        ((due, first_later),) = db.execute(SELECT_DUE, {"pace": number, "until": until}).fetchall()
        return due, first_later

    ages = db.execute(AGES_BY_PACE, (now,)).fetchall()
    return rows.freshness(ages, *rows.count_due_and_next(waiting_paces(db), schedule, now, count_due))
