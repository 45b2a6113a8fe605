"""Leases without a database: a crawler's share of hosts, the pages a round still allows, rows into leases."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

from gossamer.model import Admission, HostLease, Lease, Robots, Role, State
from gossamer.store.values import AddResult, WaitingHost

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from gossamer.model import Candidate
    from gossamer.store.work.claims import ResourceClaim
    from gossamer.store.work.counters import CounterDeltas
    from gossamer.store.work.rounds import RoundLimits
    from gossamer.store.work.url_cache import KnownResource


RECENT_HEARTBEAT_SECONDS = 10.0  # a waiting crawler that is silent for longer gets no share
MAX_SITEMAPS = 50  # sitemaps of a host requested in a round; one may list 50,000 pages (sitemaps.org)
TOO_MANY_SITEMAPS = f"more than {MAX_SITEMAPS} sitemaps of its host in this round"  # or more than pages; a reason
# The state of a sitemap beyond the limit: as after its last visit.
STATE_BEFORE = """CASE WHEN outcome = '' THEN 'known' WHEN outcome = 'not found' THEN 'gone'
    WHEN outcome IN ('fetched', 'not modified', 'redirected') THEN 'visited' ELSE 'failed' END"""
MAX_COUNTED_HOSTS = 10_000  # free hosts counted for a fair share; with more, no crawler lacks one


def fair_share(hosts: int, crawlers: int) -> int:
    """Return how many hosts each crawler may hold, at least one."""
    return max(1, -(-hosts // max(1, crawlers)))


class LeasableHost(NamedTuple):
    """A host that may have work."""

    id: int
    name: str
    ready_at: float
    failures: int
    round_pages: int
    queued_pages: int
    queued_others: int
    round_sitemaps: int


class PageBudget:
    """How many pages may still be leased. Leased pages count as visited, so that limits hold exactly."""

    def __init__(self, limits: RoundLimits, leased: Mapping[int, int]) -> None:
        """`leased` are pages by host, if the round has limits."""
        self._max_pages = limits.max_pages
        self._per_host = limits.max_pages_per_host
        self._leased = leased
        self.round_started_at = limits.started_at
        used = limits.pages + sum(leased.values())
        self.pages_left = None if limits.max_pages is None else max(0, limits.max_pages - used)

    def pages_for_host(self, host: LeasableHost, max_pages: int) -> int:
        """Return how many pages of a host may be leased, at most `max_pages`."""
        if self.pages_left is not None:
            max_pages = min(max_pages, self.pages_left)
        if self._per_host is not None:
            max_pages = min(max_pages, max(0, self._per_host - host.round_pages - self._leased.get(host.id, 0)))
        return max_pages

    def sitemaps_for_host(self, host: LeasableHost) -> int:
        """Return how many sitemaps of a host the round still allows: at most `MAX_SITEMAPS`, and no more than pages."""
        limits = (MAX_SITEMAPS, self._max_pages, self._per_host)
        return max(0, min(limit for limit in limits if limit is not None) - host.round_sitemaps)

    def select_others(
        self, host: LeasableHost, rows: Iterable[Sequence[Any]], leased_sitemaps: int
    ) -> tuple[list[Sequence[Any]], bool]:
        """Return the rows of URLs that are no pages without sitemaps beyond the limit, and whether it is reached.

        `leased_sitemaps` are those that the host's crawler already has; they count too.
        """
        left = self.sitemaps_for_host(host)
        is_reached = not left
        left -= leased_sitemaps
        selected = []
        for row in sorted(rows, key=_lease_order):
            if row[3] == Role.SITEMAP and is_counted_sitemap(row[11], row[6], self.round_started_at):
                left -= 1
                if left < 0:
                    continue
            selected.append(row)
        return selected, is_reached

    def grant(self, leases: Iterable[Lease]) -> list[Lease]:
        """Return the leases that the budget allows, and spend it."""
        granted = []
        for lease in leases:
            if self.pages_left is not None and lease.role is Role.PAGE:
                if not self.pages_left:
                    continue
                self.pages_left -= 1
            granted.append(lease)
        return granted


def is_limited(limits: RoundLimits) -> bool:
    """Return whether a round limits pages."""
    return limits.max_pages is not None or limits.max_pages_per_host is not None


def choose_best_leases(rows: Iterable[Sequence[Any]], max_leases: int) -> list[Lease]:
    """Return the first `max_leases` URLs of a host, by priority and then by id.

    Rows: host, id, url, role, depth, hops, tries, etag, last_modified, priority, outcome, visited_at.
    """
    return [
        Lease(
            resource=row[1], host=row[0], url=row[2], role=Role(row[3]), depth=row[4], hops=row[5], tries=row[6],
            etag=row[7], last_modified=row[8], before=row[10],
        )
        for row in sorted(rows, key=_lease_order)[:max_leases]
    ]  # fmt: skip


def _lease_order(row: Sequence[Any]) -> tuple[float, int]:
    return -row[9], row[1]


def is_counted_sitemap(visited_at: float | None, tries: int, round_started_at: float) -> bool:
    """Return whether a request for a sitemap counts: all but the scheduled revisits of sitemaps of this round."""
    return tries > 0 or not visited_at or visited_at < round_started_at


def count_new_leases(deltas: CounterDeltas, leases: Iterable[Lease]) -> None:
    """Count leases that were queued until now."""
    deltas.move(
        ((one.host, State.QUEUED, one.role, one.before), (one.host, State.LEASED, one.role, one.before))
        for one in leases
    )


def count_set_aside(deltas: CounterDeltas, host: int, state: str, outcome: str) -> None:
    """Count a sitemap that was queued until now and is beyond the limit."""
    deltas.subtract(host, State.QUEUED, Role.SITEMAP, outcome)
    deltas.add(host, state, Role.SITEMAP, outcome)


def host_leases(chosen: Iterable[tuple[LeasableHost, list[Lease]]], robots: Iterable[Sequence[Any]]) -> list[HostLease]:
    """Build the answer of `lease`. Rows of robots: host, scheme, outcome, text, fetched_at, reason."""
    known: defaultdict[int, list[Robots]] = defaultdict(list)
    for host, scheme, outcome, text, fetched_at, reason in robots:
        known[host].append(
            Robots(host=host, scheme=scheme, outcome=outcome, text=text, fetched_at=fetched_at, reason=reason)
        )
    return [
        HostLease(
            host=host.id, name=host.name, ready_at=host.ready_at, failures=host.failures,
            robots=tuple(known[host.id]), leases=tuple(leases),
        )
        for host, leases in chosen
    ]  # fmt: skip


def build_add_results(
    candidates: Iterable[Candidate],
    known: Mapping[bytes, KnownResource],
    before: Collection[bytes],
    rows: Mapping[int, ResourceClaim],
) -> list[AddResult]:
    """Build the answer of `add`; `before` are the digests known before the call."""
    return [
        AddResult(
            url=candidate.url, resource=(row := rows[known[candidate.digest].id]).id, known=candidate.digest in before,
            state=State(row.state), reason=row.reason,
        )
        for candidate in candidates
    ]  # fmt: skip


def build_waiting_hosts(rows: Iterable[Sequence[Any]]) -> list[WaitingHost]:
    """Build waiting hosts from rows of host, queued, ready_at, holder, reason."""
    return [WaitingHost(**dict(zip(WaitingHost.__struct_fields__, row, strict=True))) for row in rows]


# -- leases by URL -----------------------------------------------------------------------------------------------------


def admit_all(candidates: Sequence[Candidate]) -> list[Admission]:
    """Admit every candidate, whatever the scope of the crawl is."""
    return [Admission(state=State.QUEUED) for _ in candidates]


def lease_rows(deltas: CounterDeltas, rows: Iterable[Sequence[Any]]) -> dict[int, Lease]:
    """Return leases by id from rows of id, host, state, role, outcome, url, depth, hops, tries."""
    leases = {}
    for resource, host, state, role, outcome, url, depth, hops, tries in rows:
        deltas.subtract(host, state, role, outcome)
        deltas.add(host, State.LEASED, Role.PAGE, outcome)
        leases[resource] = Lease(
            resource=resource, host=host, url=url, role=Role.PAGE, depth=depth, hops=hops, tries=tries, before=outcome
        )
    return leases
