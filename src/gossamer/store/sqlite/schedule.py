"""When resources are visited again: their paces written with every visit, and what is due put into the queue.

The index `resources_pace` holds what waits for its next visit, by pace and time of the last one. So the oldest of each
pace is found at once, and choosing the best visits costs the same in a web of a million pages as in one of a thousand.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from gossamer.model import Outcome, Role, State
from gossamer.revisit.dates import http_time
from gossamer.revisit.evidence import Evidence, after, at_first, believed
from gossamer.revisit.pace import (
    DOUBTFUL,
    LISTING,
    MOST_MISLED,
    NEWER,
    RESTING,
    STEADY,
    TOLD_BIT,
    UNCHANGED,
    UNREACHABLE,
    is_page,
    out_of_date,
    pace_of,
    told_of,
    worth,
)
from gossamer.store.base import LEASE_SECONDS, Freshness
from gossamer.store.sqlite import rounds
from gossamer.store.sqlite.admission import as_json

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from gossamer.model import Visit
    from gossamer.revisit.pace import Budget, Schedule
    from gossamer.store.sqlite.database import Transaction
    from gossamer.store.sqlite.history import Past

SUCCESSES = frozenset({Outcome.FETCHED, Outcome.NOT_MODIFIED, Outcome.REDIRECTED, Outcome.CHECKED})
AGE_STEPS = 256  # of the longest wait: how finely it is seen whether all can be visited in time
PERCENTILES = (50, 90, 99, 100)
MARGIN = 0.02  # of the longest wait: time for a visit that is queued to be made
MINUTE = 60.0

_WAITING = "FROM resources INDEXED BY resources_pace WHERE state IN ('visited', 'failed', 'refused', 'gone')"
PACES = f"SELECT pace, count(*) {_WAITING} AND pace IS NOT NULL GROUP BY pace"
PACES_THERE = f"""
    WITH RECURSIVE there (pace) AS (
        SELECT (SELECT min(pace) {_WAITING} AND pace IS NOT NULL)
        UNION ALL SELECT (SELECT min(pace) {_WAITING} AND pace > there.pace) FROM there WHERE there.pace IS NOT NULL)
    SELECT pace FROM there WHERE pace IS NOT NULL"""  # noqa: S608
OLDEST = f"""
    SELECT id, host, state, role, outcome, visited_at {_WAITING} AND pace = ? AND visited_at <= ?
        AND host NOT IN (SELECT value FROM json_each(?))
    ORDER BY visited_at LIMIT ?"""  # noqa: S608
STANDINGS_DUE = f"""
    SELECT host, state, role, outcome, count(*) {_WAITING} AND pace = ? AND visited_at <= ?
    GROUP BY 1, 2, 3, 4"""
_QUEUE = f"""
    UPDATE resources SET state = 'queued', reason = '', tries = 0,
        priority = CASE WHEN priority <= {rounds.LAST_OF_ALL} THEN -depth ELSE priority END"""  # noqa: S608
QUEUE_DUE = f"""
    {_QUEUE} WHERE id IN (SELECT id {_WAITING} AND pace = ? AND visited_at <= ?)"""
QUEUE = f"{_QUEUE} WHERE id IN (SELECT value FROM json_each(?))"  # noqa: S608
AGES = f"""
    SELECT CAST((?1 - visited_at) / ?2 AS INTEGER), count(*) {_WAITING} AND pace < {LISTING} GROUP BY 1"""
AGES_BY_PACE = f"""
    SELECT pace, CAST((?1 - visited_at) / ?2 AS INTEGER), count(*) {_WAITING} AND pace < {LISTING} GROUP BY 1, 2"""
NUMBER_DUE = f"SELECT count(*) {_WAITING} AND pace = ? AND visited_at <= ?"
FIRST_LATER = f"SELECT min(visited_at) {_WAITING} AND pace = ? AND visited_at > ?"
# What is queued and can be visited now. A host that is down, or has had its share, must not keep others waiting.
OPEN = """
    SELECT queued_pages + queued_others FROM hosts INDEXED BY hosts_free
    WHERE holder IS NULL AND (queued_others > 0 OR queued_pages > 0 AND spent = 0) AND ready_at <= ?
    UNION ALL
    SELECT queued_pages + queued_others FROM hosts INDEXED BY hosts_held WHERE holder IS NOT NULL"""
USED = "SELECT id, round_pages + queued_pages FROM hosts WHERE id IN (SELECT value FROM json_each(?))"
# A date from a sitemap or feed: kept when it is news, and believed unless the last ones were wrong.
TELL = f"""
    UPDATE resources SET told_at = ?1,
        pace = CASE WHEN pace < {LISTING} AND misled < {MOST_MISLED} AND visited_at IS NOT NULL THEN
            (pace & {STEADY}) + {TOLD_BIT} * CASE WHEN ?1 > visited_at THEN {NEWER} ELSE {UNCHANGED} END
            ELSE pace END
    WHERE id = ?2 AND (told_at IS NULL OR told_at < ?1)"""  # noqa: S608
BELIEVE = "UPDATE resources SET dated = ?, found = ?, gap = ?, quiet = ? WHERE id = ? AND dated IS NULL"


class Standing(NamedTuple):
    """The columns that say when a resource is visited again."""

    dated: float | None
    found: float | None
    gap: float | None
    quiet: float | None
    misled: int
    pace: int | None


# -- after a visit -----------------------------------------------------------------------------------------------------


def standing_after(past: Past, visit: Visit, *, role: str, changed: bool, doubtful: bool) -> Standing:
    """Where a resource stands after a visit."""
    if visit.outcome in SUCCESSES:
        return _standing_of_page(past, visit, role, changed=changed)
    pace = past.pace
    if visit.state is State.FAILED:
        pace = UNREACHABLE
    elif visit.state is State.GONE and doubtful:
        pace = DOUBTFUL
    elif visit.state in {State.GONE, State.REFUSED}:
        pace = RESTING
    return Standing(past.dated, past.found, past.gap, past.quiet, past.misled, pace)


def _standing_of_page(past: Past, visit: Visit, role: str, *, changed: bool) -> Standing:
    at = visit.visited_at
    evidence = _evidence(past, visit, changed=changed)
    misled = past.misled
    if past.visited_at is not None and past.told_at is not None and past.told_at > past.visited_at:
        misled = 0 if changed else misled + 1
    lists = bool(visit.page.hints.digests) if visit.page is not None else past.pace == LISTING
    if role == Role.SITEMAP or lists:
        pace = LISTING
    elif role == Role.CHECK:
        pace = RESTING
    else:
        told = told_of(past.told_at, at, misled)
        pace = pace_of(evidence, backlinks=past.backlinks, seed=bool(past.seed), told=told)
    return Standing(*evidence, misled, pace)


def _evidence(past: Past, visit: Visit, *, changed: bool) -> Evidence:
    """What is known of its changes. A visit that follows a failed one says nothing: it is not known since when."""
    modified = http_time(visit.last_modified) if visit.last_modified else None
    age = None if modified is None else visit.visited_at - modified
    known = None if past.dated is None else Evidence(past.dated, past.found or 0, past.gap or 0, past.quiet or 0)
    if past.visited_at is None or known is None:
        return at_first(age, known)
    if past.outcome not in SUCCESSES:
        return known
    return after(known, visit.visited_at - past.visited_at, changed=changed, age=age)


def tell(db: sqlite3.Connection, visits: Iterable[Visit], ids: Mapping[bytes, int]) -> None:
    """What sitemaps and feeds say of the pages they list."""
    for visit in visits:
        if visit.page is None or not visit.page.hints.digests:
            continue
        hints = visit.page.hints
        targets = [ids.get(digest) for digest in hints.digests]  # None: one of the links that were too many
        told = zip(hints.modified, targets, strict=True)
        news = ((min(at, visit.visited_at), resource) for at, resource in told if at > 0 and resource is not None)
        db.executemany(TELL, news)
        said = zip(hints.periods, targets, strict=True)
        db.executemany(BELIEVE, ((*believed(period), resource) for period, resource in said if period and resource))


# -- what is due -------------------------------------------------------------------------------------------------------


def paces(db: sqlite3.Connection) -> dict[int, int]:
    """How many resources wait for their next visit, by pace."""
    return dict(db.execute(PACES))


def pace(db: sqlite3.Connection, resource: int) -> int | None:
    """The pace of a resource."""
    row = db.execute("SELECT pace FROM resources WHERE id = ?", (resource,)).fetchone()
    return row[0] if row else None


def queue_due(tx: Transaction, schedule: Schedule, now: float) -> int:
    """Queue all that is due; returns how many."""
    queued = 0
    for (pace,) in tx.db.execute(PACES_THERE).fetchall():
        due = (pace, now - schedule.interval(pace))
        for host, state, role, outcome, times in tx.db.execute(STANDINGS_DUE, due).fetchall():
            tx.ledger.leave(host, state, role, outcome, times)
            tx.ledger.enter(host, State.QUEUED, role, outcome, times)
        queued += tx.db.execute(QUEUE_DUE, due).rowcount
    return queued


def keep_fresh(tx: Transaction, schedule: Schedule, budget: Budget, now: float) -> int:
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
    tx.ledger.write(tx.db)  # so that the hosts' own counters are right to look at
    queued = sum(number for (number,) in tx.db.execute(OPEN, (now + LEASE_SECONDS,)))
    most = math.ceil(budget.pages * share) - current.pages - queued - tx.meta.resources(State.LEASED)
    if most <= 0:
        return 0
    chosen = _choose(tx.db, schedule, budget, most, now)
    for one in chosen:
        tx.ledger.leave(one.host, one.state, one.role, one.outcome)
        tx.ledger.enter(one.host, State.QUEUED, one.role, one.outcome)
    tx.db.execute(QUEUE, (as_json(one.id for one in chosen),))
    return len(chosen)


class _Due(NamedTuple):
    """A resource that may be visited again."""

    id: int
    host: int
    state: str
    role: str
    outcome: str
    visited_at: float
    pace: int


def _choose(db: sqlite3.Connection, schedule: Schedule, budget: Budget, most: int, now: float) -> list[_Due]:
    """The visits of most worth. Hosts that have had their share are passed over, as long as there are others."""
    must = _must(db, schedule, budget, now)
    per_host = math.inf if budget.per_host is None else budget.per_host
    chosen: dict[int, _Due] = {}
    used: dict[int, int] = {}  # of what each host may have
    full: set[int] = set()
    while len(chosen) < most:
        passed = len(full)
        heads = _heads(db, schedule, most, full, now, must)
        used |= db.execute(USED, (as_json({one.host for one in heads}.difference(used)),))
        for one in _best_first(heads, must, schedule, now):
            if len(chosen) == most:
                break
            if used[one.host] >= per_host:
                full.add(one.host)
            elif one.id not in chosen:
                chosen[one.id] = one
                used[one.host] += 1
        if len(full) == passed:
            break
    return list(chosen.values())


def _heads(db: sqlite3.Connection, schedule: Schedule, most: int, full: set[int], now: float, must: int) -> list[_Due]:
    """Of each pace those not visited for longest, as many as could be chosen; if some must be, also those not due."""
    others = as_json(full)
    soonest = schedule.limits.shortest
    return [
        _Due._make((*row, pace))
        for (pace,) in db.execute(PACES_THERE).fetchall()
        for wait in (soonest if must and is_page(pace) else schedule.interval(pace),)
        for row in db.execute(OLDEST, (pace, now - wait, others, most))
    ]


def _best_first(heads: Sequence[_Due], must: int, schedule: Schedule, now: float) -> Iterator[_Due]:
    """First those that must be visited to keep within the longest wait, then those of most worth."""
    pages = sorted((one for one in heads if is_page(one.pace)), key=lambda one: one.visited_at)
    yield from pages[:must]
    due = (one for one in heads if now - one.visited_at >= schedule.interval(one.pace))
    yield from sorted(due, key=lambda one: -worth(one.pace, now - one.visited_at))


def _must(db: sqlite3.Connection, schedule: Schedule, budget: Budget, now: float) -> int:
    """How many of the oldest pages have to be visited now for none to wait longer than allowed.

    The k-th oldest must have its visit within the time that its wait leaves, in which the budget allows so many visits.
    Pages that were all visited at once would otherwise be due at once.
    """
    longest = schedule.limits.longest
    step = longest / AGE_STEPS
    allowed = budget.pages / budget.seconds
    must, older = 0, 0
    for age, number in sorted(db.execute(AGES, (now, step)), reverse=True):
        older += number
        left = max(0.0, longest * (1 - MARGIN) - (age + 1) * step)
        must = max(must, older - math.floor(left * allowed))
    return must


# -- how fresh it is ---------------------------------------------------------------------------------------------------


def freshness(db: sqlite3.Connection, schedule: Schedule, now: float) -> Freshness:
    """How long ago the pages were visited, how many of them have probably changed since, and what is due."""
    rows = db.execute(AGES_BY_PACE, (now, MINUTE)).fetchall()
    pages = sum(number for _, _, number in rows)
    changed = sum(out_of_date(pace, age * MINUTE) * number for pace, age, number in rows)
    by_age: Counter[int] = Counter()
    for _, age, number in rows:
        by_age[age] += number
    due, next_at = _due(db, schedule, now)
    return Freshness(
        pages=pages, ages=_percentiles(by_age, pages), out_of_date=changed / pages if pages else 0.0, due=due,
        next_at=next_at,
    )  # fmt: skip


def _percentiles(by_age: Mapping[int, int], pages: int) -> dict[str, float]:
    found: dict[str, float] = {}
    reached = 0
    for age, number in sorted(by_age.items()):
        reached += number
        for percent in PERCENTILES:
            if reached * 100 >= percent * pages:
                found.setdefault(str(percent), age * MINUTE)
    return found


def _due(db: sqlite3.Connection, schedule: Schedule, now: float) -> tuple[int, float | None]:
    """How many are due, and when the next one is."""
    due, next_at = 0, None
    for (pace,) in db.execute(PACES_THERE).fetchall():
        interval = schedule.interval(pace)
        due += db.execute(NUMBER_DUE, (pace, now - interval)).fetchone()[0]
        (oldest,) = db.execute(FIRST_LATER, (pace, now - interval)).fetchone()
        if oldest is not None:
            next_at = min(next_at or math.inf, oldest + interval)
    return due, next_at
