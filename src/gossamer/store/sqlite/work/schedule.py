"""Revisits: store hints of sitemaps and feeds, and queue what is due.

`store/work/revisit_rows.py` decides. The index `resources_pace` orders waiting resources by pace and last visit. So a
query finds the oldest of each pace at once. The choice costs the same for a thousand pages as for a million.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from gossamer.model import State
from gossamer.revisit.pace import HINT_BIT, HINT_NEWER, HINT_UNCHANGED, LISTING, MAX_MISLED, STEADY_MASK
from gossamer.store.protocol import LEASE_SECONDS
from gossamer.store.sqlite.database import json_array
from gossamer.store.sqlite.read.freshness import FROM_WAITING, waiting_paces
from gossamer.store.sqlite.work import rounds
from gossamer.store.sqlite.work.counters import write_host_counters
from gossamer.store.work.revisit_rows import DueResource, choose_due
from gossamer.store.work.rounds import LOWEST_PRIORITY

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Iterator

    from gossamer.revisit.pace import Schedule, VisitBudget
    from gossamer.store.sqlite.database import Transaction
    from gossamer.store.work.revisit_rows import ResourceHints

OLDEST = f"""
    SELECT id, host, state, role, outcome, visited_at {FROM_WAITING} AND pace = ? AND visited_at <= ?
        AND host NOT IN (SELECT value FROM json_each(?))
    ORDER BY visited_at LIMIT ?"""  # noqa: S608
COUNT_DUE_STATES = f"""
    SELECT host, state, role, outcome, count(*) {FROM_WAITING} AND pace = ? AND visited_at <= ?
    GROUP BY 1, 2, 3, 4"""
_QUEUE = f"""
    UPDATE resources SET state = 'queued', reason = '', tries = 0,
        priority = CASE WHEN priority <= {LOWEST_PRIORITY} THEN -depth ELSE priority END"""  # noqa: S608
QUEUE_DUE = f"""
    {_QUEUE} WHERE id IN (SELECT id {FROM_WAITING} AND pace = ? AND visited_at <= ?)"""
QUEUE = f"{_QUEUE} WHERE id IN (SELECT value FROM json_each(?))"  # noqa: S608
AGES = f"""
    SELECT CAST((?1 - visited_at) / ?2 AS INTEGER), count(*) {FROM_WAITING} AND pace < {LISTING} GROUP BY 1"""
# Queued URLs that can be visited now. A host that is down, or has used its share, must not make others wait.
COUNT_QUEUED_WORK = """
    SELECT queued_pages + queued_others FROM hosts INDEXED BY hosts_free
    WHERE holder IS NULL AND (queued_others > 0 OR queued_pages > 0 AND spent = 0) AND ready_at <= ?
    UNION ALL
    SELECT queued_pages + queued_others FROM hosts INDEXED BY hosts_held WHERE holder IS NOT NULL"""
SELECT_PAGES_USED = "SELECT id, round_pages + queued_pages FROM hosts WHERE id IN (SELECT value FROM json_each(?))"
# Keep a newer date from a sitemap or feed, and believe it unless the last dates were wrong.
WRITE_DATES = f"""
    UPDATE resources SET told_at = ?1,
        pace = CASE WHEN pace < {LISTING} AND misled < {MAX_MISLED} AND visited_at IS NOT NULL THEN
            (pace & {STEADY_MASK}) + {HINT_BIT} * CASE WHEN ?1 > visited_at THEN {HINT_NEWER} ELSE {HINT_UNCHANGED} END
            ELSE pace END
    WHERE id = ?2 AND (told_at IS NULL OR told_at < ?1)"""  # noqa: S608
WRITE_PERIODS = "UPDATE resources SET dated = ?, found = ?, gap = ?, quiet = ? WHERE id = ? AND dated IS NULL"


def write_hints(db: sqlite3.Connection, hints: ResourceHints) -> None:
    """Write what sitemaps and feeds say about the pages they list."""
    db.executemany(WRITE_DATES, hints.dates)
    db.executemany(WRITE_PERIODS, hints.periods)


# -- due resources -----------------------------------------------------------------------------------------------------


def queue_due(tx: Transaction, schedule: Schedule, now: float) -> int:
    """Queue every due resource; return how many."""
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

    A period of the budget is a round. Its limits hold for all crawlers, and for new pages too. The visits are spread
    evenly over the period.
    """
    current = rounds.current_round(tx.db)
    if current is None:
        return 0
    limits = (current.max_pages, current.max_pages_per_host)
    if now >= current.started_at + budget.seconds or limits != (budget.pages, budget.per_host):
        current = rounds.begin_round(tx, current.settings, current.seeds, budget.pages, budget.per_host, now)
    share = min(1.0, (now - current.started_at) / budget.seconds)
    write_host_counters(tx.db, tx.counter_deltas)  # COUNT_QUEUED_WORK reads them
    queued = sum(number for (number,) in tx.db.execute(COUNT_QUEUED_WORK, (now + LEASE_SECONDS,)))
    max_visits = math.ceil(budget.pages * share) - current.pages - queued - tx.meta.resources(State.LEASED)
    if max_visits <= 0:
        return 0
    chosen = choose_due(_RevisitQueue(tx.db), schedule, budget, max_visits, now)
    for one in chosen:
        tx.counter_deltas.subtract(one.host, one.state, one.role, one.outcome)
        tx.counter_deltas.add(one.host, State.QUEUED, one.role, one.outcome)
    tx.db.execute(QUEUE, (json_array(one.id for one in chosen),))
    return len(chosen)


class _RevisitQueue:
    """The waiting resources of web.db (`store.work.revisit_rows.RevisitQueue`)."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def paces(self) -> list[int]:
        return waiting_paces(self._db)

    def oldest(self, pace: int, before: float, skipped_hosts: Collection[int], limit: int) -> Iterator[DueResource]:
        return (
            DueResource._make((*row, pace))
            for row in self._db.execute(OLDEST, (pace, before, json_array(skipped_hosts), limit))
        )

    def pages_used(self, hosts: Collection[int]) -> dict[int, int]:
        return dict(self._db.execute(SELECT_PAGES_USED, (json_array(hosts),)))

    def age_counts(self, now: float, step: float) -> list[tuple[int, int]]:
        return self._db.execute(AGES, (now, step)).fetchall()
