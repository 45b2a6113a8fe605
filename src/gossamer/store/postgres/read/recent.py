"""What happened just now, for those who watch: the latest visits, and how many there were in each second."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gossamer.store import rows
from gossamer.store.values import LatestVisit

if TYPE_CHECKING:
    from gossamer.store.postgres.database import Connection

SELECT_LATEST_VISITS = f"""
    SELECT r.url, r.title, v.visited_at, c.name, v.outcome, v.status, r.reason, v.bytes, v.milliseconds
    FROM (SELECT * FROM visits ORDER BY id DESC LIMIT {rows.RECENT_VISITS}) AS v
    JOIN resources AS r ON r.id = v.resource JOIN crawlers AS c ON c.id = v.crawler
    WHERE (v.outcome = ANY(%s)) <> %s ORDER BY v.id DESC LIMIT %s"""  # noqa: S608 - a number
BY_SECOND = f"""
    SELECT floor(visited_at)::bigint AS second, count(*), sum(bytes)::bigint FROM visits
    WHERE id > (SELECT max(id) FROM visits) - {rows.MAX_COUNTED_VISITS} AND visited_at >= %s
    GROUP BY second ORDER BY second"""  # noqa: S608


def latest_visits(db: Connection, limit: int, *, faults: bool) -> list[LatestVisit]:
    """The latest visits that brought a page, or those that failed; newest first."""
    found = db.execute(
        SELECT_LATEST_VISITS, (list(rows.SUCCESSFUL_OUTCOMES if faults else rows.PAGE_OUTCOMES), faults, limit)
    )
    return [rows.to_struct(LatestVisit, row) for row in found]


def visits_by_second(db: Connection, since: float) -> list[tuple[int, int, int]]:
    """Second, visits and bytes, for each second since a time that had any; oldest first."""
    return db.execute(BY_SECOND, (since,)).fetchall()
