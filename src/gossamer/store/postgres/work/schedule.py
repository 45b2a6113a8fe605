"""When resources are visited again: what sitemaps tell of them, and what is due put into the queue.

`store/work/revisit_rows.py` decides; the index `resources_pace` has what waits for its next visit by pace and time.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from gossamer.model import State
from gossamer.revisit.pace import HINT_BIT, HINT_NEWER, HINT_UNCHANGED, LISTING, MAX_MISLED, STEADY_MASK
from gossamer.store.postgres.database import ints
from gossamer.store.postgres.read.freshness import WAITING, paces_there
from gossamer.store.postgres.work import rounds
from gossamer.store.protocol import LEASE_SECONDS
from gossamer.store.work.revisit_rows import Due, choose_due

if TYPE_CHECKING:
    from collections.abc import Collection

    from gossamer.revisit.pace import Schedule, VisitBudget
    from gossamer.store.postgres.database import Connection, Transaction
    from gossamer.store.work.revisit_rows import Told

OLDEST = f"""
    SELECT id, host, state, role, outcome, visited_at, pace {WAITING} AND pace = %s AND visited_at <= %s
        AND host <> ALL(%s::bigint[])
    ORDER BY visited_at, id LIMIT %s"""
STANDINGS_DUE = f"""
    SELECT host, state, role, outcome, count(*) {WAITING} AND pace = %s AND visited_at <= %s GROUP BY 1, 2, 3, 4"""
QUEUE_DUE = f"""
    UPDATE resources SET {rounds.AGAIN} WHERE id IN (SELECT id {WAITING} AND pace = %s AND visited_at <= %s)"""  # noqa: S608
QUEUE = f"UPDATE resources SET {rounds.AGAIN} WHERE id = ANY(%s::bigint[])"  # noqa: S608
AGES = f"""
    SELECT trunc((%s - visited_at) / %s::double precision)::bigint, count(*)
    {WAITING} AND pace < {LISTING} GROUP BY 1"""
# What is queued and can be visited now. A host that is down, or has had its share, must not keep others waiting.
OPEN = """
    SELECT coalesce(sum(queued_pages + queued_others), 0)::bigint FROM hosts
    WHERE holder IS NULL AND (queued_others > 0 OR queued_pages > 0 AND spent = 0) AND ready_at <= %s
        OR holder IS NOT NULL"""
USED = "SELECT id, round_pages + queued_pages FROM hosts WHERE id = ANY(%s::bigint[])"
# A date from a sitemap or feed: kept when it is news, and believed unless the last ones were wrong. Of several dates
# for one resource the newest counts.
TELL = f"""
    UPDATE resources AS r SET told_at = t.at,
        pace = CASE WHEN pace < {LISTING} AND misled < {MAX_MISLED} AND visited_at IS NOT NULL THEN
            (pace & {STEADY_MASK}) + {HINT_BIT} * CASE WHEN t.at > visited_at THEN {HINT_NEWER} ELSE {HINT_UNCHANGED} END
            ELSE pace END
    FROM (SELECT id, max(at) AS at FROM unnest(%s::double precision[], %s::bigint[]) AS u (at, id)
        GROUP BY id ORDER BY id) AS t
    WHERE r.id = t.id AND (r.told_at IS NULL OR r.told_at < t.at)"""  # noqa: S608
BELIEVE = """
    UPDATE resources AS r SET dated = t.dated, found = t.found, gap = t.gap, quiet = t.quiet
    FROM (SELECT DISTINCT ON (id) * FROM unnest(%s::double precision[], %s::double precision[], %s::double precision[],
        %s::double precision[], %s::bigint[]) AS u (dated, found, gap, quiet, id) ORDER BY id) AS t
    WHERE r.id = t.id AND r.dated IS NULL"""


def tell(db: Connection, told: Told) -> None:
    """What sitemaps and feeds say of the pages they list."""
    if told.dates:
        at, resources = zip(*told.dates, strict=True)
        db.execute(TELL, (ints(at), ints(resources)))
    if told.periods:
        *evidence, resources = zip(*told.periods, strict=True)
        db.execute(BELIEVE, [*map(ints, evidence), ints(resources)])


# -- what is due: the transaction is alone -----------------------------------------------------------------------------


def queue_due(tx: Transaction, schedule: Schedule, now: float) -> int:
    """Queue all that is due; returns how many."""
    queued = 0
    for pace in paces_there(tx.db):
        due = (pace, now - schedule.interval(pace))
        for host, state, role, outcome, times in tx.db.execute(STANDINGS_DUE, due).fetchall():
            tx.ledger.leave(host, state, role, outcome, times)
            tx.ledger.enter(host, State.QUEUED, role, outcome, times)
        queued += tx.db.execute(QUEUE_DUE, due).rowcount
    return queued


def keep_fresh(tx: Transaction, schedule: Schedule, budget: VisitBudget, now: float) -> int:
    """Queue the visits of most worth that the budget allows by now; returns how many.

    A period of the budget is a round, whose limits hold for all crawlers and for new pages as well. Within it the
    visits are spread evenly.
    """
    current = rounds.current(tx.db)
    if current is None:
        return 0
    limits = (current.max_pages, current.max_pages_per_host)
    if now >= current.started_at + budget.seconds or limits != (budget.pages, budget.per_host):
        current = rounds.begin(tx, current.settings, current.seeds, budget.pages, budget.per_host, now)
    share = min(1.0, (now - current.started_at) / budget.seconds)
    row = tx.db.execute(OPEN, (now + LEASE_SECONDS,)).fetchone()
    assert row is not None
    leased = tx.totals()[f"resources {State.LEASED}"]
    most = math.ceil(budget.pages * share) - current.pages - row[0] - leased
    if most <= 0:
        return 0
    chosen = choose_due(_Shelf(tx.db), schedule, budget, most, now)
    for one in chosen:
        tx.ledger.leave(one.host, one.state, one.role, one.outcome)
        tx.ledger.enter(one.host, State.QUEUED, one.role, one.outcome)
    tx.db.execute(QUEUE, (ints(one.id for one in chosen),))
    return len(chosen)


class _Shelf:
    """What waits for its next visit (`store.revisiting.Shelf`)."""

    def __init__(self, db: Connection) -> None:
        self._db = db

    def paces(self) -> list[int]:
        return paces_there(self._db)

    def oldest(self, pace: int, before: float, passed: Collection[int], most: int) -> list[Due]:
        return [Due._make(row) for row in self._db.execute(OLDEST, (pace, before, ints(passed), most))]

    def used(self, hosts: Collection[int]) -> dict[int, int]:
        return dict(self._db.execute(USED, (ints(hosts),)).fetchall())

    def ages(self, now: float, step: float) -> list[tuple[int, int]]:
        return self._db.execute(AGES, (now, step)).fetchall()
