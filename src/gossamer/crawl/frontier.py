"""The workbench: the hosts this crawler holds, their next URLs, and when each may be asked again.

A host's life here: taken in with some URLs → its robots.txt asked for, if not known or of yesterday → its URLs handed
out one by one, each when the host is ready → given back when nothing of it is left, when a crawler without hosts is to
have it, or when it failed and must be left alone for longer than the crawl waits (put off: it may be taken in again).
Everything large stays in the store; what is here is bounded by the number of hosts held and the URLs leased for each,
and by the hosts that answered in the last ten minutes.
"""

from __future__ import annotations

import heapq
import ipaddress
from collections import Counter, OrderedDict, deque
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

from gossamer.crawl import policy
from gossamer.model import HostUpdate, Lease, Value
from gossamer.store.protocol import LEASE_SECONDS
from gossamer.urls.canonical import scheme as scheme_of
from gossamer.urls.robots import ALLOW_ALL, RobotsRules

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gossamer.config import HostSettings, PolitenessSettings
    from gossamer.model import FetchResult, HostLease, Robots
    from gossamer.urls.robots import ProductRules

SOON_SECONDS = 0.25  # seconds: a host that pauses longer gives a crawler nothing to do meanwhile
SHARING_SECONDS = 10.0  # seconds in which what was given back for others is not taken again
MAX_NEW_HOSTS = 64  # asked for in one exchange with the store, so that other crawlers get some too
MAX_ROBOTS_TRIES_KEPT = 10_000  # of those whose robots.txt could not be had, held or not; about 2 MB
ADDRESS_RECHECK_SECONDS = 0.05  # seconds until a host is looked at again whose address had no free connection


class FetchRobots(Value, frozen=True, kw_only=True):
    """Work: fetch a host's robots.txt before anything else of it."""

    host: int
    scheme: str
    url: str


class FetchUrl(Value, frozen=True, kw_only=True):
    """Work: fetch this URL now."""

    lease: Lease


class RefuseUrl(Value, frozen=True, kw_only=True):
    """Work: record that robots.txt forbids this URL."""

    lease: Lease


Work = FetchRobots | FetchUrl | RefuseUrl


class _CachedRules(NamedTuple):
    """What a host's robots.txt says, and for how long it is believed."""

    rules: ProductRules
    expires_at: float  # Unix time


class _HeldHost:
    """A held host. Mutable, and seen by nobody but the frontier."""

    __slots__ = (
        "active",
        "address",
        "configured_connections",
        "configured_delay",
        "connections",
        "crawl_delay",
        "delay",
        "failed_at",
        "failures",
        "has_changed",
        "heap_ticket",
        "id",
        "is_asking_robots",
        "is_leaving",
        "is_local",
        "name",
        "queue",
        "ready_at",
        "reason",
        "robots",
    )  # fmt: skip

    def __init__(self, leased: HostLease, politeness: PolitenessSettings, host_settings: HostSettings | None) -> None:
        self.id = leased.host
        self.name = leased.name
        self.ready_at = leased.ready_at
        self.failures = leased.failures  # incidents in a row; they make pauses longer, no more
        self.failed_at = float("-inf")  # when the last of them was noticed
        self.queue: deque[Lease] = deque()
        self.active = 0
        self.is_asking_robots = False
        self.is_leaving = False  # another crawler is to have it
        self.heap_ticket: int | None = None  # the ticket by which it stands in the heap of ready times
        self.has_changed = False  # something to tell the store
        self.robots: dict[str, _CachedRules] = {}  # by scheme
        self.crawl_delay: float | None = None
        self.configured_delay = (
            host_settings.delay if host_settings and host_settings.delay is not None else politeness.delay
        )
        self.configured_connections = (
            host_settings.connections if host_settings and host_settings.connections else politeness.connections
        )
        self.connections = self.configured_connections
        self.delay = self.configured_delay or 0.0
        self.address = ""
        self.is_local = _is_loopback_name(leased.name)
        self.reason = ""


def _is_loopback_name(authority: str) -> bool:
    host = authority.rsplit(":", 1)[0] if not authority.endswith("]") else authority
    host = host.strip("[]")
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class Frontier:
    """Held hosts by ready time."""

    def __init__(
        self,
        politeness: PolitenessSettings,
        hosts: Mapping[str, HostSettings],
        *,
        product: str,
        obey_robots: bool,
        urls_per_connection: int = 16,
    ) -> None:
        """`ahead`: URLs leased for each connection to a host; one where their order must follow what is found."""
        self._politeness = politeness
        self._host_settings = {name.rpartition("://")[2]: own for name, own in hosts.items()}
        self._product = product
        self._obey_robots = obey_robots
        self._hosts: dict[int, _HeldHost] = {}
        self._heap: list[tuple[float, int, _HeldHost]] = []
        self._ticket = count()
        self._transfers_by_address: Counter[str] = Counter()
        self._max_hosts, self._sharing_until = politeness.max_hosts, 0.0  # hosts held at a time, and how long not more
        self._robots_tries: Counter[tuple[int, str]] = Counter()  # in vain, by host and scheme; also of hosts put off
        # When who answered, the latest last, by host and scheme (and so by port); also of hosts given back since.
        self._answered_at: OrderedDict[tuple[int, str], float] = OrderedDict()
        self._away_until = 0.0  # how long those count as away who cannot be reached, if nobody answers before
        self.urls_per_host = urls_per_connection * politeness.connections
        self.waiting_urls = 0  # leased and not handed out yet

    def __len__(self) -> int:
        return len(self._hosts)

    # -- in ------------------------------------------------------------------------------------------------------

    def add_host_lease(self, leased: HostLease, now: float) -> None:
        """Add a host, or more URLs of one that is held."""
        host = self._hosts.get(leased.host)
        if host is None:
            host = self._hosts[leased.host] = _HeldHost(leased, self._politeness, self._host_settings.get(leased.name))
            for robots in leased.robots:
                age = abs(now - robots.fetched_at)  # fetched in the future: by a clock that was wrong
                if age < policy.ROBOTS_MAX_AGE_SECONDS and robots.outcome != "unreachable":
                    self._set_rules(host, robots, expires_at=now + policy.ROBOTS_MAX_AGE_SECONDS - age)
        host.queue.extend(leased.leases)
        self.waiting_urls += len(leased.leases)
        self._schedule(host)

    def apply_robots(self, robots: Robots) -> RobotsRules:
        """Rules arrived for a host; it may be visited, after a pause that began when they did."""
        host = self._hosts[robots.host]
        host.is_asking_robots = False
        self._robots_tries.pop((host.id, robots.scheme), None)
        self._record_answer(host, robots.scheme, robots.fetched_at)
        rules = self._set_rules(host, robots, expires_at=robots.fetched_at + policy.ROBOTS_MAX_AGE_SECONDS)
        host.ready_at = max(host.ready_at, robots.fetched_at + self._pause_seconds(host, 0.0))
        self._schedule(host)
        return rules

    def record_robots_failure(self, work: FetchRobots, now: float, *, wait: float, reason: str, is_away: bool) -> int:
        """robots.txt could not be had: wait before the next try; returns the tries in vain, in a row.

        A request to a host that is away is none. The pauses between tries are their own: after a long outage they would
        be so long that the host is put off each time, and in crawl after crawl never given up.
        """
        host, key = self._hosts[work.host], (work.host, work.scheme)
        host.is_asking_robots = False
        if is_away:
            host.failures += 1
        else:
            if len(self._robots_tries) >= MAX_ROBOTS_TRIES_KEPT:
                self._robots_tries.clear()  # those then have their tries anew
            self._robots_tries[key] += 1
            host.failures = self._robots_tries[key]
        self._back_off(host, now, wait, reason)
        return self._robots_tries[key]

    def _set_rules(self, host: _HeldHost, robots: Robots, expires_at: float) -> RobotsRules:
        rules = RobotsRules.parse(robots.text) if robots.outcome == "rules" and self._obey_robots else ALLOW_ALL
        host.robots[robots.scheme] = _CachedRules(rules.for_product(self._product), expires_at)
        self._apply_crawl_delay(host)
        requested_delay, cap = host.crawl_delay or 0.0, self._politeness.max_crawl_delay
        host.reason = (
            f"robots.txt asks for {requested_delay:g} s between requests, cut to {cap:g} s"
            if requested_delay > cap
            else ""
        )
        return rules

    def _apply_crawl_delay(self, host: _HeldHost) -> None:
        delays = [known.rules.crawl_delay for known in host.robots.values()]
        host.crawl_delay = max((delay for delay in delays if delay is not None), default=None)
        # A site that asks for a pause means it between any two requests.
        host.connections = host.configured_connections if host.crawl_delay is None else 1
        host.delay = self._pause_seconds(host, 0.0)

    # -- out -----------------------------------------------------------------------------------------------------

    def next_work(self, now: float) -> Work | None:
        """The next thing to do, if any host is ready."""
        heap = self._heap
        while heap and heap[0][0] <= now:
            _, ticket, host = heapq.heappop(heap)
            if host.heap_ticket != ticket:
                continue  # listed anew since, for another time
            host.heap_ticket = None
            if self._hosts.get(host.id) is not host:
                continue  # given back since, and perhaps taken in anew
            if not self._has_work(host):
                continue
            if host.ready_at > now or self._address_is_busy(host):
                self._schedule(host, max(host.ready_at, now + ADDRESS_RECHECK_SECONDS))
                continue
            return self._take_work(host, now)
        return None

    def _take_work(self, host: _HeldHost, now: float) -> Work:
        lease = host.queue[0]
        scheme = scheme_of(lease.url)
        known = host.robots.get(scheme)
        if self._obey_robots and (known is None or known.expires_at <= now):
            host.is_asking_robots = True
            return FetchRobots(host=host.id, scheme=scheme, url=f"{scheme}://{host.name}/robots.txt")
        host.queue.popleft()
        self.waiting_urls -= 1
        if known is not None and not known.rules.allows(lease.url):
            self._schedule(host)
            return RefuseUrl(lease=lease)
        host.active += 1
        host.has_changed = True
        self._transfers_by_address[host.address] += 1
        if host.connections > 1:
            host.ready_at = now + host.delay
            self._schedule(host)
        return FetchUrl(lease=lease)

    def _address_is_busy(self, host: _HeldHost) -> bool:
        limit = max(self._politeness.connections_per_address, host.connections)
        return bool(host.address) and self._transfers_by_address[host.address] >= limit

    # -- after a transfer ----------------------------------------------------------------------------------------

    def finish_transfer(
        self, lease: Lease, now: float, *, transfer_seconds: float, address: str, has_failed: bool, wait: float
    ) -> None:
        """A transfer ended: the host may be asked again after its pause."""
        host = self._hosts[lease.host]
        host.active -= 1
        self._leave_address(host.address)
        if address:
            self._move_address(host, address)
        host.has_changed = True
        if has_failed:
            if (
                now - transfer_seconds > host.failed_at
            ):  # else it was under way at the failure before: one incident, not two
                host.failures, host.failed_at = host.failures + 1, now
            self._back_off(host, now, wait, "waits after a failure" if not wait else "asked to wait (Retry-After)")
            return
        if address:
            self._record_answer(host, scheme_of(lease.url), now)
        host.failures = 0
        host.delay = self._pause_seconds(host, transfer_seconds)
        host.reason = "" if host.crawl_delay is None else host.reason
        host.ready_at = max(host.ready_at, now + max(host.delay, wait))
        self._schedule(host)

    def requeue(self, lease: Lease, now: float, *, transfer_seconds: float, reason: str) -> None:
        """A transfer found nobody there, for its host is away: the URL waits here for its next turn."""
        host = self._hosts[lease.host]
        host.queue.appendleft(lease)  # first, so that no other URL of the host has to find out
        self.waiting_urls += 1
        self.finish_transfer(lease, now, transfer_seconds=transfer_seconds, address="", has_failed=True, wait=0.0)
        host.reason = f"cannot be reached: {reason}"

    def is_outage(self, host_id: int, fetched: FetchResult, now: float) -> bool:
        """Whether a transfer found nobody there, while its host is only away."""
        is_unconnected = policy.is_unconnected(fetched.outcome, fetched.address)
        return is_unconnected and self.is_host_away(host_id, scheme_of(fetched.request.url), now)

    def is_host_away(self, host_id: int, scheme: str, now: float) -> bool:
        """Whether a host where nobody is found is likely to come back: it was there a few minutes ago.

        Then the network may be gone, and with it hosts that were never met: until anybody answers, they are away too.
        It ends: every host is away for at most `OUTAGE` after an answer.
        """
        answered_at = self._answered_at.get((host_id, scheme))
        if answered_at is not None:
            self._away_until = max(self._away_until, answered_at + policy.OUTAGE_SECONDS)
        return now < self._away_until

    def _record_answer(self, host: _HeldHost, scheme: str, now: float) -> None:
        self._answered_at[host.id, scheme] = now
        self._answered_at.move_to_end((host.id, scheme))
        while next(iter(self._answered_at.values())) <= now - policy.OUTAGE_SECONDS:
            self._answered_at.popitem(last=False)
        self._away_until = 0.0

    def _leave_address(self, address: str) -> None:
        self._transfers_by_address[address] -= 1
        if self._transfers_by_address[address] <= 0:
            del self._transfers_by_address[address]

    def _move_address(self, host: _HeldHost, address: str) -> None:
        """Its other transfers are counted at the old address still: move them along."""
        if host.address != address:
            for _ in range(host.active):
                self._leave_address(host.address)
                self._transfers_by_address[address] += 1
            host.address = address

    def _back_off(self, host: _HeldHost, now: float, wait: float, reason: str) -> None:
        host.has_changed = True
        host.reason = reason
        host.ready_at = max(host.ready_at, now + max(wait, host.delay, policy.backoff(self._politeness, host.failures)))
        self._schedule(host)

    def _pause_seconds(self, host: _HeldHost, transfer_seconds: float) -> float:
        return policy.pause_after(
            self._politeness,
            own_delay=host.configured_delay,
            crawl_delay=host.crawl_delay,
            transfer_seconds=transfer_seconds,
            is_local=host.is_local,
        )

    def _schedule(self, host: _HeldHost, at: float | None = None) -> None:
        if host.heap_ticket is None and self._has_work(host):
            host.heap_ticket = next(self._ticket)
            heapq.heappush(self._heap, (host.ready_at if at is None else at, host.heap_ticket, host))

    def _has_work(self, host: _HeldHost) -> bool:
        return bool(host.queue) and not host.is_asking_robots and not host.is_leaving and host.active < host.connections

    # -- the store's side ----------------------------------------------------------------------------------------

    def hosts_needing_urls(self) -> list[int]:
        """Held hosts that will soon need more URLs."""
        few = self.urls_per_host // 4
        return [host.id for host in self._hosts.values() if len(host.queue) <= few and not host.is_leaving]

    def wanted_host_count(self, transfers: int, now: float) -> int:
        """How many more hosts would be welcome."""
        room = self._max_hosts - len(self._hosts)
        # Twice as many hosts as transfers, so that short pauses of some are filled by others. Hosts in a long pause are
        # no work: where all ask for a delay, as many are held as may be.
        working = sum(h.connections for h in self._hosts.values() if h.active or h.ready_at <= now + SOON_SECONDS)
        return max(0, min(room, 2 * transfers - working, MAX_NEW_HOSTS))

    def share_hosts(self, max_hosts: int | None, now: float) -> None:
        """Hold at most so many hosts, and for a while after (None: as many as may be): those beyond get no more work.

        Those first that can go at once. Not those that pause for longer than the store hands hosts out before: of the
        others the same part.
        """
        if max_hosts is not None:
            self._max_hosts, self._sharing_until = min(max_hosts, self._politeness.max_hosts), now + SHARING_SECONDS
        elif now >= self._sharing_until:
            self._max_hosts = self._politeness.max_hosts
        staying = [host for host in self._hosts.values() if not host.is_leaving]
        useful = [host for host in staying if host.queue and host.ready_at <= now + LEASE_SECONDS]
        useful.sort(key=lambda host: (host.active > 0 or host.is_asking_robots, host.ready_at))
        excess = max(0, len(staying) - self._max_hosts)
        for host in useful[: len(useful) * excess // max(1, len(staying))]:
            host.is_leaving = True

    def releasable_hosts(self) -> list[int]:
        """Hosts that another crawler is to have and of which nothing is under way here."""
        return [
            host.id
            for host in self._hosts.values()
            if host.is_leaving and not host.active and not host.is_asking_robots
        ]

    def failing_hosts(self, patience: float, now: float) -> list[int]:
        """Hosts that failed and must be left alone for longer than that; not those that only are slow by politeness."""
        patience_ends_at = now + max(patience, LEASE_SECONDS)  # before that the store would hand them out at once again
        hosts = [host for host in self._hosts.values() if host.failures and host.ready_at > patience_ends_at]
        return [host.id for host in hosts if not host.active and not host.is_asking_robots]

    def release_host(
        self, host_id: int, now: float, *, wait: float = 0.0, reason: str = ""
    ) -> tuple[HostUpdate, list[Lease]]:
        """Let go of a host; returns what the store must know, and the URLs not visited."""
        host = self._hosts.pop(host_id)
        self.waiting_urls -= len(host.queue)
        update = HostUpdate(
            host=host.id, ready_at=max(host.ready_at, now + wait), delay=host.delay, failures=host.failures,
            reason=reason or host.reason, keep=False,
        )  # fmt: skip
        return update, list(host.queue)

    def withdraw_urls(self, host_id: int, scheme: str, now: float) -> list[Lease]:
        """Take out a host's URLs of one scheme: its robots.txt is not to be had. Those of the other are not held up."""
        host = self._hosts[host_id]
        withdrawn = [lease for lease in host.queue if scheme_of(lease.url) == scheme]
        host.queue = deque(lease for lease in host.queue if scheme_of(lease.url) != scheme)
        self.waiting_urls -= len(withdrawn)
        self._robots_tries.pop((host_id, scheme), None)
        if host.queue:
            host.failures, host.reason, host.ready_at = 0, "", now
            host.heap_ticket = None  # for later, perhaps much later
            self._schedule(host)
        return withdrawn

    def reset(self, *, obey_robots: bool, urls_per_connection: int) -> list[Lease]:
        """Other terms hold. Returns the URLs not handed out yet, to be judged by them; their hosts stay."""
        self.urls_per_host = urls_per_connection * self._politeness.connections
        self.waiting_urls = 0
        returned: list[Lease] = []
        for host in self._hosts.values():
            returned += host.queue
            host.queue.clear()
            if obey_robots != self._obey_robots:
                host.robots.clear()  # read as they were obeyed: ask again
                self._apply_crawl_delay(host)
        self._obey_robots = obey_robots
        return returned

    def queued_urls(self, host_id: int) -> list[str]:
        """A host's URLs not handed out yet."""
        return [lease.url for lease in self._hosts[host_id].queue]

    def idle_hosts(self) -> list[int]:
        """Held hosts with nothing to do."""
        return [
            host.id for host in self._hosts.values() if not host.queue and not host.active and not host.is_asking_robots
        ]

    def held_hosts(self) -> list[int]:
        """All hosts held."""
        return list(self._hosts)

    def take_host_updates(self) -> list[HostUpdate]:
        """What changed for hosts since the last call, so that a successor knows when they may be asked again."""
        updates = []
        for host in self._hosts.values():
            if host.has_changed:
                host.has_changed = False
                updates.append(
                    HostUpdate(
                        host=host.id,
                        ready_at=host.ready_at,
                        delay=host.delay,
                        failures=host.failures,
                        reason=host.reason,
                    )
                )
        return updates

    def next_ready_at(self) -> float | None:
        """When the next host can be ready (Unix time)."""
        return self._heap[0][0] if self._heap else None

    def waiting_hosts(self, now: float) -> Iterator[tuple[str, float, str]]:
        """Hosts that wait, longest first: name, seconds, why."""
        waits = [
            (h.ready_at - now, h)
            for h in self._hosts.values()
            if h.ready_at - now > 0.5 and (h.queue or h.is_asking_robots)
        ]
        for seconds, host in sorted(waits, key=lambda pair: -pair[0]):
            yield host.name, seconds, host.reason or "politeness"
