"""When resources are visited again: change hints of sitemaps and feeds, and queuing of due visits.

`store/work/revisit_rows.py` decides. The index `resources_pace` orders waiting resources by pace and last visit.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from gossamer.model import State
from gossamer.revisit.pace import HINT_BIT, HINT_NEWER, HINT_UNCHANGED, LISTING, MAX_MISLED, STEADY_MASK
from gossamer.store.postgres.database import int_array
from gossamer.store.postgres.read.freshness import FROM_WAITING, waiting_paces
from gossamer.store.postgres.work import rounds
from gossamer.store.protocol import LEASE_SECONDS
from gossamer.store.work.revisit_rows import DueResource, choose_due

if TYPE_CHECKING:
    from collections.abc import Collection

    from gossamer.revisit.pace import Schedule, VisitBudget
    from gossamer.store.postgres.database import Connection, Transaction
    from gossamer.store.work.revisit_rows import ResourceHints

OLDEST = f"""
    SELECT id, host, state, role, outcome, visited_at, pace {FROM_WAITING} AND pace = %s AND visited_at <= %s
        AND host <> ALL(%s::bigint[])
    ORDER BY visited_at, id LIMIT %s"""
COUNT_DUE_STATES = f"""
    SELECT host, state, role, outcome, count(*) {FROM_WAITING} AND pace = %s AND visited_at <= %s GROUP BY 1, 2, 3, 4"""
QUEUE_DUE = f"""
    UPDATE resources SET {rounds.SET_QUEUED}
    WHERE id IN (SELECT id {FROM_WAITING} AND pace = %s AND visited_at <= %s)"""  # noqa: S608
QUEUE = f"UPDATE resources SET {rounds.SET_QUEUED} WHERE id = ANY(%s::bigint[])"  # noqa: S608
AGES = f"""
    SELECT trunc((%s - visited_at) / %s::double precision)::bigint, count(*)
    {FROM_WAITING} AND pace < {LISTING} GROUP BY 1"""
# Queued work that can be visited now. A host that is down or has reached its limit must not hold up others.
COUNT_QUEUED_WORK = """
    SELECT coalesce(sum(queued_pages + queued_others), 0)::bigint FROM hosts
    WHERE holder IS NULL AND (queued_others > 0 OR queued_pages > 0 AND spent = 0) AND ready_at <= %s
        OR holder IS NOT NULL"""
SELECT_PAGES_USED = "SELECT id, round_pages + queued_pages FROM hosts WHERE id = ANY(%s::bigint[])"
# The newest date from a sitemap or feed, if it is newer than the stored one. It changes the pace unless earlier dates
# of this resource were wrong (`misled`).
WRITE_DATES = f"""
    UPDATE resources AS r SET told_at = t.at,
        pace = CASE WHEN pace < {LISTING} AND misled < {MAX_MISLED} AND visited_at IS NOT NULL THEN
            (pace & {STEADY_MASK})
                + {HINT_BIT} * CASE WHEN t.at > visited_at THEN {HINT_NEWER} ELSE {HINT_UNCHANGED} END
            ELSE pace END
    FROM (SELECT id, max(at) AS at FROM unnest(%s::double precision[], %s::bigint[]) AS u (at, id)
        GROUP BY id ORDER BY id) AS t
    WHERE r.id = t.id AND (r.told_at IS NULL OR r.told_at < t.at)"""  # noqa: S608
WRITE_PERIODS = """
    UPDATE resources AS r SET dated = t.dated, found = t.found, gap = t.gap, quiet = t.quiet
    FROM (SELECT DISTINCT ON (id) * FROM unnest(%s::double precision[], %s::double precision[], %s::double precision[],
        %s::double precision[], %s::bigint[]) AS u (dated, found, gap, quiet, id) ORDER BY id) AS t
    WHERE r.id = t.id AND r.dated IS NULL"""


def write_hints(db: Connection, hints: ResourceHints) -> None:
    """Write what sitemaps and feeds say about the pages they list."""
    if hints.dates:
        at, resources = zip(*hints.dates, strict=True)
        db.execute(WRITE_DATES, (int_array(at), int_array(resources)))
    if hints.periods:
        *evidence, resources = zip(*hints.periods, strict=True)
        db.execute(WRITE_PERIODS, [*map(int_array, evidence), int_array(resources)])


# -- due visits, in exclusive transactions -----------------------------------------------------------------------------


def queue_due(tx: Transaction, schedule: Schedule, now: float) -> int:
    """Queue all due resources; return how many."""
    queued = 0
    for pace in waiting_paces(tx.db):
        due = (pace, now - schedule.interval(pace))
        for host, state, role, outcome, times in tx.db.execute(COUNT_DUE_STATES, due).fetchall():
            tx.counter_deltas.subtract(host, state, role, outcome, times)
            tx.counter_deltas.add(host, State.QUEUED, role, outcome, times)
        queued += tx.db.execute(QUEUE_DUE, due).rowcount
    return queued


def keep_fresh(tx: Transaction, schedule: Schedule, budget: VisitBudget, now: float) -> int:
    """Queue the most valuable visits that the budget allows by now; return how many.

    A period of the budget is a round. Its limits apply to all crawlers, and to new pages too. The visits are spread
    evenly over the period.
    """
    current = rounds.current_round(tx.db)
    if current is None:
        return 0
    limits = (current.max_pages, current.max_pages_per_host)
    if now >= current.started_at + budget.seconds or limits != (budget.pages, budget.per_host):
        current = rounds.begin_round(tx, current.settings, current.seeds, budget.pages, budget.per_host, now)
    share = min(1.0, (now - current.started_at) / budget.seconds)
    row = tx.db.execute(COUNT_QUEUED_WORK, (now + LEASE_SECONDS,)).fetchone()
    assert row is not None
    leased = tx.totals()[f"resources {State.LEASED}"]
    max_visits = math.ceil(budget.pages * share) - current.pages - row[0] - leased
    if max_visits <= 0:
        return 0
    chosen = choose_due(_RevisitQueue(tx.db), schedule, budget, max_visits, now)
    for one in chosen:
        tx.counter_deltas.subtract(one.host, one.state, one.role, one.outcome)
        tx.counter_deltas.add(one.host, State.QUEUED, one.role, one.outcome)
    tx.db.execute(QUEUE, (int_array(one.id for one in chosen),))
    return len(chosen)


class _RevisitQueue:
    """The resources that wait for their next visit (`store.work.revisit_rows.RevisitQueue`)."""

    def __init__(self, db: Connection) -> None:
        self._db = db

    def paces(self) -> list[int]:
        return waiting_paces(self._db)

    def oldest(self, pace: int, before: float, skipped_hosts: Collection[int], limit: int) -> list[DueResource]:
        return [
            DueResource._make(row) for row in self._db.execute(OLDEST, (pace, before, int_array(skipped_hosts), limit))
        ]

    def pages_used(self, hosts: Collection[int]) -> dict[int, int]:
        return dict(self._db.execute(SELECT_PAGES_USED, (int_array(hosts),)).fetchall())

    def age_counts(self, now: float, step: float) -> list[tuple[int, int]]:
        return self._db.execute(AGES, (now, step)).fetchall()
