"""When resources are visited again, decided without a database: their standing after a visit, and which come first.

What is waited for lies in order of pace and time of the last visit, so the oldest of each pace is found at once, and
choosing the best visits costs the same in a web of a million pages as in one of a thousand.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple, Protocol

from gossamer.model import Outcome, Role, State
from gossamer.revisit.dates import parse_http_date
from gossamer.revisit.evidence import Evidence, initial_evidence, prior_evidence, with_visit
from gossamer.revisit.pace import (
    GONE_OR_REFUSED,
    LISTING,
    MISSING_ONCE,
    UNREACHABLE,
    is_page,
    listing_hint,
    page_pace,
    visit_worth,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from gossamer.model import Visit
    from gossamer.revisit.pace import Schedule, VisitBudget
    from gossamer.store.work.change_detection import Past

SUCCESSES = frozenset({Outcome.FETCHED, Outcome.NOT_MODIFIED, Outcome.REDIRECTED, Outcome.CHECKED})
AGE_STEPS = 256  # of the longest wait: how finely it is seen whether all can be visited in time
MARGIN = 0.02  # of the longest wait: time for a visit that is queued to be made


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
        pace = MISSING_ONCE
    elif visit.state in {State.GONE, State.REFUSED}:
        pace = GONE_OR_REFUSED
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
        pace = GONE_OR_REFUSED
    else:
        told = listing_hint(past.told_at, at, misled)
        pace = page_pace(evidence, backlinks=past.backlinks, seed=bool(past.seed), hint=told)
    return Standing(*evidence, misled, pace)


def _evidence(past: Past, visit: Visit, *, changed: bool) -> Evidence:
    """What is known of its changes. A visit that follows a failed one says nothing: it is not known since when."""
    modified = parse_http_date(visit.last_modified) if visit.last_modified else None
    age = None if modified is None else visit.visited_at - modified
    known = None if past.dated is None else Evidence(past.dated, past.found or 0, past.gap or 0, past.quiet or 0)
    if past.visited_at is None or known is None:
        return initial_evidence(age, known)
    if past.outcome not in SUCCESSES:
        return known
    return with_visit(known, visit.visited_at - past.visited_at, changed=changed, age=age)


class Told(NamedTuple):
    """What sitemaps and feeds say of the pages they list."""

    dates: list[tuple[float, int]]  # changed at, resource
    periods: list[tuple[float, float, float, float, int]]  # the evidence that a period makes, resource


def told_by(visits: Iterable[Visit], ids: Mapping[bytes, int]) -> Told:
    """What the visits of a batch were told."""
    told = Told([], [])
    for visit in visits:
        if visit.page is None or not visit.page.hints.digests:
            continue
        hints = visit.page.hints
        targets = [ids.get(digest) for digest in hints.digests]  # None: one of the links that were too many
        dates = zip(hints.modified, targets, strict=True)
        told.dates.extend((min(at, visit.visited_at), target) for at, target in dates if at > 0 and target is not None)
        said = zip(hints.periods, targets, strict=True)
        told.periods.extend((*prior_evidence(period), target) for period, target in said if period and target)
    return told


# -- what is due -------------------------------------------------------------------------------------------------------


class Due(NamedTuple):
    """A resource that may be visited again."""

    id: int
    host: int
    state: str
    role: str
    outcome: str
    visited_at: float
    pace: int


class Shelf(Protocol):
    """What waits for its next visit, as a back-end has it in order."""

    def paces(self) -> list[int]:
        """The paces that there are."""
        ...

    def oldest(self, pace: int, before: float, passed: Collection[int], most: int) -> Iterable[Due]:
        """Of a pace those not visited since a time, oldest first, without the hosts passed over."""
        ...

    def used(self, hosts: Collection[int]) -> dict[int, int]:
        """How many pages each host has had in this round, with those queued."""
        ...

    def ages(self, now: float, step: float) -> Iterable[tuple[int, int]]:
        """How many pages were visited so many steps ago."""
        ...


def choose_due(shelf: Shelf, schedule: Schedule, budget: VisitBudget, most: int, now: float) -> list[Due]:
    """The visits of most worth. Hosts that have had their share are passed over, as long as there are others."""
    must = _must(shelf, schedule, budget, now)
    per_host = math.inf if budget.per_host is None else budget.per_host
    chosen: dict[int, Due] = {}
    used: dict[int, int] = {}  # of what each host may have
    full: set[int] = set()
    while len(chosen) < most:
        passed = len(full)
        heads = _heads(shelf, schedule, most, full, now, must)
        used |= shelf.used({one.host for one in heads}.difference(used))
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


def _heads(shelf: Shelf, schedule: Schedule, most: int, full: set[int], now: float, must: int) -> list[Due]:
    """Of each pace those not visited for longest, as many as could be chosen; if some must be, also those not due."""
    soonest = schedule.limits.shortest
    return [
        one
        for pace in shelf.paces()
        for wait in (soonest if must and is_page(pace) else schedule.interval(pace),)
        for one in shelf.oldest(pace, now - wait, full, most)
    ]


def _best_first(heads: Sequence[Due], must: int, schedule: Schedule, now: float) -> Iterator[Due]:
    """First those that must be visited to keep within the longest wait, then those of most worth."""
    pages = sorted((one for one in heads if is_page(one.pace)), key=lambda one: one.visited_at)
    yield from pages[:must]
    due = (one for one in heads if now - one.visited_at >= schedule.interval(one.pace))
    yield from sorted(due, key=lambda one: -visit_worth(one.pace, now - one.visited_at))


def _must(shelf: Shelf, schedule: Schedule, budget: VisitBudget, now: float) -> int:
    """How many of the oldest pages have to be visited now for none to wait longer than allowed.

    The k-th oldest must have its visit within the time that its wait leaves, in which the budget allows so many visits.
    Pages that were all visited at once would otherwise be due at once.
    """
    longest = schedule.limits.longest
    step = longest / AGE_STEPS
    allowed = budget.pages / budget.seconds
    must, older = 0, 0
    for age, number in sorted(shelf.ages(now, step), reverse=True):
        older += number
        left = max(0.0, longest * (1 - MARGIN) - (age + 1) * step)
        must = max(must, older - math.floor(left * allowed))
    return must
