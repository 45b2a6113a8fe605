"""When resources are visited again: their paces written with every visit, and what is due put into the queue.

The index `resources_pace` holds what waits for its next visit, by pace and time of the last one. So the oldest of each
pace is found at once, and choosing the best visits costs the same in a web of a million pages as in one of a thousand.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from gossamer.model import State
from gossamer.revisit.pace import HINT_BIT, HINT_NEWER, HINT_UNCHANGED, LISTING, MAX_MISLED, STEADY_MASK
from gossamer.store import rows
from gossamer.store.protocol import LEASE_SECONDS
from gossamer.store.sqlite.work import rounds
from gossamer.store.sqlite.work.admission import json_array
from gossamer.store.sqlite.work.counters import write_host_counters
from gossamer.store.work.revisit_rows import DueResource, choose_due
from gossamer.store.work.rounds import LOWEST_PRIORITY

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Iterator

    from gossamer.revisit.pace import Schedule, VisitBudget
    from gossamer.store.sqlite.database import Transaction
    from gossamer.store.values import Freshness
    from gossamer.store.work.revisit_rows import ResourceHints

_FROM_WAITING = "FROM resources INDEXED BY resources_pace WHERE state IN ('visited', 'failed', 'refused', 'gone')"
PACES = f"SELECT pace, count(*) {_FROM_WAITING} AND pace IS NOT NULL GROUP BY pace"
SELECT_WAITING_PACES = f"""
    WITH RECURSIVE there (pace) AS (
        SELECT (SELECT min(pace) {_FROM_WAITING} AND pace IS NOT NULL)
        UNION ALL SELECT (SELECT min(pace) {_FROM_WAITING} AND pace > there.pace) FROM there WHERE there.pace IS NOT NULL)
    SELECT pace FROM there WHERE pace IS NOT NULL"""  # noqa: S608
OLDEST = f"""
    SELECT id, host, state, role, outcome, visited_at {_FROM_WAITING} AND pace = ? AND visited_at <= ?
        AND host NOT IN (SELECT value FROM json_each(?))
    ORDER BY visited_at LIMIT ?"""  # noqa: S608
COUNT_DUE_STATES = f"""
    SELECT host, state, role, outcome, count(*) {_FROM_WAITING} AND pace = ? AND visited_at <= ?
    GROUP BY 1, 2, 3, 4"""
_QUEUE = f"""
    UPDATE resources SET state = 'queued', reason = '', tries = 0,
        priority = CASE WHEN priority <= {LOWEST_PRIORITY} THEN -depth ELSE priority END"""  # noqa: S608
QUEUE_DUE = f"""
    {_QUEUE} WHERE id IN (SELECT id {_FROM_WAITING} AND pace = ? AND visited_at <= ?)"""
QUEUE = f"{_QUEUE} WHERE id IN (SELECT value FROM json_each(?))"  # noqa: S608
AGES = f"""
    SELECT CAST((?1 - visited_at) / ?2 AS INTEGER), count(*) {_FROM_WAITING} AND pace < {LISTING} GROUP BY 1"""
AGES_BY_PACE = f"""
    SELECT pace, CAST((?1 - visited_at) / ?2 AS INTEGER), count(*) {_FROM_WAITING} AND pace < {LISTING} GROUP BY 1, 2"""
COUNT_DUE = f"SELECT count(*) {_FROM_WAITING} AND pace = ? AND visited_at <= ?"
FIRST_LATER = f"SELECT min(visited_at) {_FROM_WAITING} AND pace = ? AND visited_at > ?"
# What is queued and can be visited now. A host that is down, or has had its share, must not keep others waiting.
COUNT_QUEUED_WORK = """
    SELECT queued_pages + queued_others FROM hosts INDEXED BY hosts_free
    WHERE holder IS NULL AND (queued_others > 0 OR queued_pages > 0 AND spent = 0) AND ready_at <= ?
    UNION ALL
    SELECT queued_pages + queued_others FROM hosts INDEXED BY hosts_held WHERE holder IS NOT NULL"""
SELECT_PAGES_USED = "SELECT id, round_pages + queued_pages FROM hosts WHERE id IN (SELECT value FROM json_each(?))"
# A date from a sitemap or feed: kept when it is news, and believed unless the last ones were wrong.
WRITE_DATES = f"""
    UPDATE resources SET told_at = ?1,
        pace = CASE WHEN pace < {LISTING} AND misled < {MAX_MISLED} AND visited_at IS NOT NULL THEN
            (pace & {STEADY_MASK}) + {HINT_BIT} * CASE WHEN ?1 > visited_at THEN {HINT_NEWER} ELSE {HINT_UNCHANGED} END
            ELSE pace END
    WHERE id = ?2 AND (told_at IS NULL OR told_at < ?1)"""  # noqa: S608
WRITE_PERIODS = "UPDATE resources SET dated = ?, found = ?, gap = ?, quiet = ? WHERE id = ? AND dated IS NULL"


def write_hints(db: sqlite3.Connection, hints: ResourceHints) -> None:
    """What sitemaps and feeds say of the pages they list."""
    db.executemany(WRITE_DATES, hints.dates)
    db.executemany(WRITE_PERIODS, hints.periods)


# -- what is due -------------------------------------------------------------------------------------------------------


def pace_counts(db: sqlite3.Connection) -> dict[int, int]:
    """How many resources wait for their next visit, by pace."""
    return dict(db.execute(PACES))


def resource_pace(db: sqlite3.Connection, resource: int) -> int | None:
    """The pace of a resource."""
    row = db.execute("SELECT pace FROM resources WHERE id = ?", (resource,)).fetchone()
    return row[0] if row else None


def queue_due(tx: Transaction, schedule: Schedule, now: float) -> int:
    """Queue all that is due; returns how many."""
    queued = 0
    for (pace,) in tx.db.execute(SELECT_WAITING_PACES).fetchall():
        due = (pace, now - schedule.interval(pace))
        for host, state, role, outcome, times in tx.db.execute(COUNT_DUE_STATES, due).fetchall():
            tx.counter_deltas.subtract(host, state, role, outcome, times)
            tx.counter_deltas.add(host, State.QUEUED, role, outcome, times)
        queued += tx.db.execute(QUEUE_DUE, due).rowcount
    return queued


def keep_fresh(tx: Transaction, schedule: Schedule, budget: VisitBudget, now: float) -> int:
    """Queue the visits of most worth that the budget allows by now; returns how many.

    A period of the budget is a round, whose limits hold for all crawlers and for new pages as well. Within it the
    visits are spread evenly.
    """
    current = rounds.current_round(tx.db)
    if current is None:
        return 0
    limits = (current.max_pages, current.max_pages_per_host)
    if now >= current.started_at + budget.seconds or limits != (budget.pages, budget.per_host):
        current = rounds.begin_round(tx, current.settings, current.seeds, budget.pages, budget.per_host, now)
    share = min(1.0, (now - current.started_at) / budget.seconds)
    write_host_counters(tx.db, tx.counter_deltas)  # so that the hosts' own counters are right to look at
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
    """What waits for its next visit (`store.revisiting.Shelf`)."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def paces(self) -> list[int]:
        return [pace for (pace,) in self._db.execute(SELECT_WAITING_PACES).fetchall()]

    def oldest(self, pace: int, before: float, skipped_hosts: Collection[int], limit: int) -> Iterator[DueResource]:
        return (
            DueResource._make((*row, pace))
            for row in self._db.execute(OLDEST, (pace, before, json_array(skipped_hosts), limit))
        )

    def pages_used(self, hosts: Collection[int]) -> dict[int, int]:
        return dict(self._db.execute(SELECT_PAGES_USED, (json_array(hosts),)))

    def age_counts(self, now: float, step: float) -> list[tuple[int, int]]:
        return self._db.execute(AGES, (now, step)).fetchall()


# -- how fresh it is ---------------------------------------------------------------------------------------------------


def freshness(db: sqlite3.Connection, schedule: Schedule, now: float) -> Freshness:
    """How long ago the pages were visited, how many of them have probably changed since, and what is due."""

    def count_due(pace: int, until: float) -> tuple[int, float | None]:
        ((number,),) = db.execute(COUNT_DUE, (pace, until)).fetchall()
        ((first_later,),) = db.execute(FIRST_LATER, (pace, until)).fetchall()
        return number, first_later

    ages = db.execute(AGES_BY_PACE, (now, rows.MINUTE)).fetchall()
    waiting_paces = [pace for (pace,) in db.execute(SELECT_WAITING_PACES)]
    return rows.freshness(ages, *rows.count_due_and_next(waiting_paces, schedule, now, count_due))
