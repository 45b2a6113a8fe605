"""Work handed out, without a database: how many pages a round still allows, and rows made into leases."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

from gossamer.model import Admission, HostLease, Lease, Robots, Role, State
from gossamer.store.values import Added, Waiting

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from gossamer.model import Candidate
    from gossamer.store.work.claims import Row
    from gossamer.store.work.counters import Ledger
    from gossamer.store.work.rounds import Limits
    from gossamer.store.work.url_cache import Remembered


HEARD_OF = 10.0  # seconds: who waits and was not heard of for longer would take no hosts
MOST_SHARED = 10_000  # free hosts counted when they are shared out: with more than that, nobody lacks one


def fair_share(hosts: int, crawlers: int) -> int:
    """How many hosts each of so many crawlers may hold; one at least, for it is held by somebody."""
    return max(1, -(-hosts // max(1, crawlers)))


class Host(NamedTuple):
    """A host that work is sought on."""

    id: int
    name: str
    ready_at: float
    failures: int
    round_pages: int
    queued_pages: int
    queued_others: int


class Budget:
    """How many pages may still be leased. Leased ones count as visited, so that limits hold exactly."""

    def __init__(self, limits: Limits, leased: Mapping[int, int]) -> None:
        """`leased`: pages by host, where there are limits."""
        self._per_host = limits.max_pages_per_host
        self._leased = leased
        used = limits.pages + sum(leased.values())
        self.left = None if limits.max_pages is None else max(0, limits.max_pages - used)

    def of(self, host: Host, most: int) -> int:
        """Pages that may be leased of a host, at most so many."""
        if self.left is not None:
            most = min(most, self.left)
        if self._per_host is not None:
            most = min(most, max(0, self._per_host - host.round_pages - self._leased.get(host.id, 0)))
        return most

    def granted(self, leases: Iterable[Lease]) -> list[Lease]:
        """Those leases that there are pages left for; they are spent."""
        granted = []
        for lease in leases:
            if self.left is not None and lease.role is Role.PAGE:
                if not self.left:
                    continue
                self.left -= 1
            granted.append(lease)
        return granted


def is_limited(limits: Limits) -> bool:
    """Whether a round limits pages."""
    return limits.max_pages is not None or limits.max_pages_per_host is not None


def best_first(rows: Iterable[Sequence[Any]], most: int) -> list[Lease]:
    """The first so many of a host's URLs, by priority and then by age.

    Rows: host, id, url, role, depth, hops, tries, etag, last_modified, priority, outcome.
    """
    return [
        Lease(
            resource=row[1], host=row[0], url=row[2], role=Role(row[3]), depth=row[4], hops=row[5], tries=row[6],
            etag=row[7], last_modified=row[8], before=row[10],
        )
        for row in sorted(rows, key=lambda row: (-row[9], row[1]))[:most]
    ]  # fmt: skip


def count_leased(ledger: Ledger, leases: Iterable[Lease]) -> None:
    """What was queued is leased."""
    for one in leases:
        ledger.leave(one.host, State.QUEUED, one.role, one.before)
        ledger.enter(one.host, State.LEASED, one.role, one.before)


def host_leases(chosen: Iterable[tuple[Host, list[Lease]]], robots: Iterable[Sequence[Any]]) -> list[HostLease]:
    """The answer to who asks for work. Rows of robots: host, scheme, outcome, text, fetched_at, reason."""
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


def added(
    candidates: Iterable[Candidate],
    known: Mapping[bytes, Remembered],
    before: Collection[bytes],
    rows: Mapping[int, Row],
) -> list[Added]:
    """The answer to who adds URLs: where each stands now. `before` are the digests that were known."""
    return [
        Added(
            url=candidate.url, resource=(row := rows[known[candidate.digest].id]).id, known=candidate.digest in before,
            state=State(row.state), reason=row.reason,
        )
        for candidate in candidates
    ]  # fmt: skip


def waiting(rows: Iterable[Sequence[Any]]) -> list[Waiting]:
    """Rows: host, queued, ready_at, holder, reason."""
    return [Waiting(**dict(zip(Waiting.__struct_fields__, row, strict=True))) for row in rows]


# -- claimed by name ---------------------------------------------------------------------------------------------------


def admit_all(candidates: Sequence[Candidate]) -> list[Admission]:
    """What is claimed is visited, whatever the rules of a crawl say."""
    return [Admission(state=State.QUEUED) for _ in candidates]


def claimed(ledger: Ledger, rows: Iterable[Sequence[Any]]) -> dict[int, Lease]:
    """Claimed resources as leases, by id. Rows: id, host, state, role, outcome, url, depth, hops, tries."""
    leases = {}
    for resource, host, state, role, outcome, url, depth, hops, tries in rows:
        ledger.leave(host, state, role, outcome)
        ledger.enter(host, State.LEASED, Role.PAGE, outcome)
        leases[resource] = Lease(
            resource=resource, host=host, url=url, role=Role.PAGE, depth=depth, hops=hops, tries=tries, before=outcome
        )
    return leases
