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
    from gossamer.store.work.change_detection import StoredResource

SUCCESSFUL_OUTCOMES = frozenset({Outcome.FETCHED, Outcome.NOT_MODIFIED, Outcome.REDIRECTED, Outcome.CHECKED})
AGE_STEPS = 256  # of the longest wait: how finely it is seen whether all can be visited in time
WAIT_MARGIN = 0.02  # of the longest wait: time for a visit that is queued to be made


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
    """Where a resource stands after a visit."""
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
    """What is known of its changes. A visit that follows a failed one says nothing: it is not known since when."""
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
    """What sitemaps and feeds say of the pages they list."""

    dates: list[tuple[float, int]]  # changed at, resource
    periods: list[tuple[float, float, float, float, int]]  # the evidence that a period makes, resource


def collect_hints(visits: Iterable[Visit], ids: Mapping[bytes, int]) -> ResourceHints:
    """What the visits of a batch were told."""
    collected = ResourceHints([], [])
    for visit in visits:
        if visit.page is None or not visit.page.hints.digests:
            continue
        hints = visit.page.hints
        targets = [ids.get(digest) for digest in hints.digests]  # None: one of the links that were too many
        dates = zip(hints.modified, targets, strict=True)
        collected.dates.extend(
            (min(at, visit.visited_at), target) for at, target in dates if at > 0 and target is not None
        )
        periods = zip(hints.periods, targets, strict=True)
        collected.periods.extend((*prior_evidence(period), target) for period, target in periods if period and target)
    return collected


# -- what is due -------------------------------------------------------------------------------------------------------


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
    """What waits for its next visit, as a back-end has it in order."""

    def paces(self) -> list[int]:
        """The paces that there are."""
        ...

    def oldest(self, pace: int, before: float, skipped_hosts: Collection[int], limit: int) -> Iterable[DueResource]:
        """Of a pace those not visited since a time, oldest first, without the hosts passed over."""
        ...

    def pages_used(self, hosts: Collection[int]) -> dict[int, int]:
        """How many pages each host has had in this round, with those queued."""
        ...

    def age_counts(self, now: float, step: float) -> Iterable[tuple[int, int]]:
        """How many pages were visited so many steps ago."""
        ...


def choose_due(
    queue: RevisitQueue, schedule: Schedule, budget: VisitBudget, max_visits: int, now: float
) -> list[DueResource]:
    """The visits of most worth. Hosts that have had their share are passed over, as long as there are others."""
    overdue = _count_overdue(queue, schedule, budget, now)
    per_host = math.inf if budget.per_host is None else budget.per_host
    chosen: dict[int, DueResource] = {}
    used: dict[int, int] = {}  # of what each host may have
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
    """Of each pace those not visited for longest, as many as could be chosen; if some must be, also those not due."""
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
    """First those that must be visited to keep within the longest wait, then those of most worth."""
    pages = sorted((one for one in heads if is_page(one.pace)), key=lambda one: one.visited_at)
    yield from pages[:overdue]
    due = (one for one in heads if now - one.visited_at >= schedule.interval(one.pace))
    yield from sorted(due, key=lambda one: -visit_worth(one.pace, now - one.visited_at))


def _count_overdue(queue: RevisitQueue, schedule: Schedule, budget: VisitBudget, now: float) -> int:
    """How many of the oldest pages have to be visited now for none to wait longer than allowed.

    The k-th oldest must have its visit within the time that its wait leaves, in which the budget allows so many visits.
    Pages that were all visited at once would otherwise be due at once.
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
