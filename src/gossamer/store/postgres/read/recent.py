"""The latest visits, and the number of visits in each second, for live views."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gossamer.model import PAGE_OUTCOMES, SUCCESSFUL_OUTCOMES
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
    """Return the latest visits that fetched a page, or with `faults` those that failed; newest first."""
    outcomes = SUCCESSFUL_OUTCOMES if faults else PAGE_OUTCOMES
    records = db.execute(SELECT_LATEST_VISITS, ([outcome.value for outcome in outcomes], faults, limit))
    return [rows.to_struct(LatestVisit, row) for row in records]


def visits_by_second(db: Connection, since: float) -> list[tuple[int, int, int]]:
    """Return (second, visits, bytes) for each second with visits since a time; oldest first."""
    return db.execute(BY_SECOND, (since,)).fetchall()
