"""What happened just now, for those who watch: the latest visits, and how many there were in each second.

Visits have no index by time, for every visit would pay for it. Their ids grow with time, so a bounded number of the
last ones is looked at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gossamer.model import Outcome
from gossamer.store.base import LatestVisit

if TYPE_CHECKING:
    import sqlite3

LOOKED_AT = 5_000  # visits among which the latest of a kind are looked for
COUNTED = 500_000  # visits that are counted by second, at most

WELL = (Outcome.FETCHED, Outcome.NOT_MODIFIED)
FAULTLESS = (*WELL, Outcome.REDIRECTED, Outcome.CHECKED)

LATEST = f"""
    SELECT r.url, r.title, v.visited_at, c.name, v.outcome, v.status, r.reason, v.bytes, v.milliseconds
    FROM (SELECT * FROM visits ORDER BY id DESC LIMIT {LOOKED_AT}) AS v
    JOIN resources AS r ON r.id = v.resource JOIN crawlers AS c ON c.id = v.crawler
    WHERE v.outcome {{}} ({{}}) ORDER BY v.id DESC LIMIT ?"""  # noqa: S608 - numbers and question marks
BY_SECOND = f"""
    SELECT CAST(visited_at AS INTEGER) AS second, count(*), sum(bytes) FROM visits
    WHERE id > (SELECT max(id) FROM visits) - {COUNTED} AND visited_at >= ? GROUP BY second ORDER BY second"""  # noqa: S608


def latest(db: sqlite3.Connection, limit: int, *, faults: bool) -> list[LatestVisit]:
    """The latest visits that brought a page, or those that failed; newest first."""
    known = FAULTLESS if faults else WELL
    sql = LATEST.format("NOT IN" if faults else "IN", ",".join("?" * len(known)))
    rows = db.execute(sql, (*known, limit))
    return [LatestVisit(**dict(zip(LatestVisit.__struct_fields__, row, strict=True))) for row in rows]


def by_second(db: sqlite3.Connection, since: float) -> list[tuple[int, int, int]]:
    """Second, visits and bytes, for each second since a time that had any; oldest first."""
    return db.execute(BY_SECOND, (since,)).fetchall()
