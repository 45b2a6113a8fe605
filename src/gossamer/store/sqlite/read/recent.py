"""Read the latest visits, and visits per second, for the live display."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gossamer.model import PAGE_OUTCOMES, SUCCESSFUL_OUTCOMES
from gossamer.store import rows
from gossamer.store.values import LatestVisit

if TYPE_CHECKING:
    import sqlite3

SELECT_LATEST_VISITS = f"""
    SELECT r.url, r.title, v.visited_at, c.name, v.outcome, v.status, r.reason, v.bytes, v.milliseconds
    FROM (SELECT * FROM visits ORDER BY id DESC LIMIT {rows.RECENT_VISITS}) AS v
    JOIN resources AS r ON r.id = v.resource JOIN crawlers AS c ON c.id = v.crawler
    WHERE v.outcome {{}} ({{}}) ORDER BY v.id DESC LIMIT ?"""  # noqa: S608 - numbers and question marks
BY_SECOND = f"""
    SELECT CAST(visited_at AS INTEGER) AS second, count(*), sum(bytes) FROM visits
    WHERE id > (SELECT max(id) FROM visits) - {rows.MAX_COUNTED_VISITS} AND visited_at >= ?
    GROUP BY second ORDER BY second"""  # noqa: S608


def latest_visits(db: sqlite3.Connection, limit: int, *, faults: bool) -> list[LatestVisit]:
    """Return the latest visits that brought a page, or (`faults`) failed; newest first."""
    known = SUCCESSFUL_OUTCOMES if faults else PAGE_OUTCOMES
    sql = SELECT_LATEST_VISITS.format("NOT IN" if faults else "IN", ",".join("?" * len(known)))
    return [rows.to_struct(LatestVisit, row) for row in db.execute(sql, (*known, limit))]


def visits_by_second(db: sqlite3.Connection, since: float) -> list[tuple[int, int, int]]:
    """Return second, visits and bytes for each second with visits since a time; oldest first."""
    return db.execute(BY_SECOND, (since,)).fetchall()
