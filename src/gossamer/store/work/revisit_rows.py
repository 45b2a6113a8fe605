"""Revisits without a database: the schedule columns after a visit, and which resources come first.

A back-end keeps waiting resources ordered by pace and time of the last visit. So a query finds the oldest of each pace
at once. The choice costs the same for a thousand pages as for a million.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple, Protocol

from gossamer.model import SUCCESSFUL_OUTCOMES, Role, State
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
    from gossamer.store.work.change_detection import StoredResource

AGE_STEPS = 256  # steps of the longest wait, the resolution of ages
WAIT_MARGIN = 0.02  # share of the longest wait, so that a queued visit has time to happen


class RevisitState(NamedTuple):
    """The columns that say when a resource is visited again."""

    dated: float | None
    found: float | None
    gap: float | None
    quiet: float | None
    misled: int
    pace: int | None


# -- after a visit -----------------------------------------------------------------------------------------------------


def revisit_state_after(
    stored: StoredResource, visit: Visit, *, role: str, changed: bool, doubtful: bool
) -> RevisitState:
    """Return the schedule columns of a resource after a visit."""
    if visit.outcome in SUCCESSFUL_OUTCOMES:
        return _page_revisit_state(stored, visit, role, changed=changed)
    pace = stored.pace
    if visit.state is State.FAILED:
        pace = UNREACHABLE
    elif visit.state is State.GONE and doubtful:
        pace = MISSING_ONCE
    elif visit.state in {State.GONE, State.REFUSED}:
        pace = GONE_OR_REFUSED
    return RevisitState(stored.dated, stored.found, stored.gap, stored.quiet, stored.misled, pace)


def _page_revisit_state(stored: StoredResource, visit: Visit, role: str, *, changed: bool) -> RevisitState:
    at = visit.visited_at
    evidence = _evidence(stored, visit, changed=changed)
    misled = stored.misled
    if stored.visited_at is not None and stored.told_at is not None and stored.told_at > stored.visited_at:
        misled = 0 if changed else misled + 1
    lists = bool(visit.page.hints.digests) if visit.page is not None else stored.pace == LISTING
    if role == Role.SITEMAP or lists:
        pace = LISTING
    elif role == Role.CHECK:
        pace = GONE_OR_REFUSED
    else:
        hint = listing_hint(stored.told_at, at, misled)
        pace = page_pace(evidence, backlinks=stored.backlinks, seed=bool(stored.seed), hint=hint)
    return RevisitState(*evidence, misled, pace)


def _evidence(stored: StoredResource, visit: Visit, *, changed: bool) -> Evidence:
    """Return what is known about changes of the resource.

    A visit after a failed one adds nothing, because the time of the change is unknown.
    """
    modified = parse_http_date(visit.last_modified) if visit.last_modified else None
    age = None if modified is None else visit.visited_at - modified
    known = (
        None if stored.dated is None else Evidence(stored.dated, stored.found or 0, stored.gap or 0, stored.quiet or 0)
    )
    if stored.visited_at is None or known is None:
        return initial_evidence(age, known)
    if stored.outcome not in SUCCESSFUL_OUTCOMES:
        return known
    return with_visit(known, visit.visited_at - stored.visited_at, changed=changed, age=age)


class ResourceHints(NamedTuple):
    """What sitemaps and feeds say about the pages they list."""

    dates: list[tuple[float, int]]  # time of the change, resource
    periods: list[tuple[float, float, float, float, int]]  # the evidence from a period, resource


def collect_hints(visits: Iterable[Visit], ids: Mapping[bytes, int]) -> ResourceHints:
    """Collect the hints from the visits of a batch."""
    collected = ResourceHints([], [])
    for visit in visits:
        if visit.page is None or not visit.page.hints.digests:
            continue
        hints = visit.page.hints
        targets = [ids.get(digest) for digest in hints.digests]  # None: dropped, one link too many
        dates = zip(hints.modified, targets, strict=True)
        collected.dates.extend(
            (min(at, visit.visited_at), target) for at, target in dates if at > 0 and target is not None
        )
        periods = zip(hints.periods, targets, strict=True)
        collected.periods.extend((*prior_evidence(period), target) for period, target in periods if period and target)
    return collected


# -- due resources -----------------------------------------------------------------------------------------------------


class DueResource(NamedTuple):
    """A resource that may be visited again."""

    id: int
    host: int
    state: str
    role: str
    outcome: str
    visited_at: float
    pace: int


class RevisitQueue(Protocol):
    """The resources that wait for their next visit, in the order of a back-end."""

    def paces(self) -> list[int]:
        """Return the paces of waiting resources."""
        ...

    def oldest(self, pace: int, before: float, skipped_hosts: Collection[int], limit: int) -> Iterable[DueResource]:
        """Return resources of a pace not visited since `before`, oldest first, without skipped hosts."""
        ...

    def pages_used(self, hosts: Collection[int]) -> dict[int, int]:
        """Return how many pages of this round each host had, including queued ones."""
        ...

    def age_counts(self, now: float, step: float) -> Iterable[tuple[int, int]]:
        """Return pairs of age in steps and number of pages."""
        ...


def choose_due(
    queue: RevisitQueue, schedule: Schedule, budget: VisitBudget, max_visits: int, now: float
) -> list[DueResource]:
    """Return the most valuable visits, skipping hosts that used their share while others are left."""
    overdue = _count_overdue(queue, schedule, budget, now)
    per_host = math.inf if budget.per_host is None else budget.per_host
    chosen: dict[int, DueResource] = {}
    used: dict[int, int] = {}  # pages by host
    full_hosts: set[int] = set()
    while len(chosen) < max_visits:
        full_before = len(full_hosts)
        heads = _queue_heads(queue, schedule, max_visits, full_hosts, now, overdue)
        used |= queue.pages_used({one.host for one in heads}.difference(used))
        for one in _order_by_worth(heads, overdue, schedule, now):
            if len(chosen) == max_visits:
                break
            if used[one.host] >= per_host:
                full_hosts.add(one.host)
            elif one.id not in chosen:
                chosen[one.id] = one
                used[one.host] += 1
        if len(full_hosts) == full_before:
            break
    return list(chosen.values())


def _queue_heads(
    queue: RevisitQueue, schedule: Schedule, limit: int, full_hosts: set[int], now: float, overdue: int
) -> list[DueResource]:
    """Return the oldest resources of each pace, as many as could be chosen.

    If pages are overdue, pages that are not due come too.
    """
    soonest = schedule.limits.shortest
    return [
        one
        for pace in queue.paces()
        for wait in (soonest if overdue and is_page(pace) else schedule.interval(pace),)
        for one in queue.oldest(pace, now - wait, full_hosts, limit)
    ]


def _order_by_worth(
    heads: Sequence[DueResource], overdue: int, schedule: Schedule, now: float
) -> Iterator[DueResource]:
    """Yield first the pages that must be visited to keep the longest wait, then the most valuable."""
    pages = sorted((one for one in heads if is_page(one.pace)), key=lambda one: one.visited_at)
    yield from pages[:overdue]
    due = (one for one in heads if now - one.visited_at >= schedule.interval(one.pace))
    yield from sorted(due, key=lambda one: -visit_worth(one.pace, now - one.visited_at))


def _count_overdue(queue: RevisitQueue, schedule: Schedule, budget: VisitBudget, now: float) -> int:
    """Return how many of the oldest pages must be visited now so that none waits longer than allowed.

    The k-th oldest page needs its visit before its wait ends, and the budget allows only so many visits until then.
    Otherwise pages that were all visited at once would all become due at once.
    """
    longest = schedule.limits.longest
    step = longest / AGE_STEPS
    allowed = budget.pages / budget.seconds
    overdue, older = 0, 0
    for age, number in sorted(queue.age_counts(now, step), reverse=True):
        older += number
        seconds_left = max(0.0, longest * (1 - WAIT_MARGIN) - (age + 1) * step)
        overdue = max(overdue, older - math.floor(seconds_left * allowed))
    return overdue
