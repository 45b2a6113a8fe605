"""The frontier: the hosts this crawler holds, their next URLs, delays and robots rules, and when each is ready.

The life of a host in the frontier:

1. The store leases the host with some of its URLs.
2. The crawler fetches its robots.txt, if no copy is known or the copy is older than a day.
3. The frontier hands out the URLs one by one, each when the host is ready.
4. The crawler releases the host: no URL is left, an idle crawler needs a host, or the host failed and must rest for
   longer than the crawl waits. The store may lease it again later.

The store keeps everything large. Memory here holds only the leased hosts, their leased URLs, and the hosts that
answered in the last ten minutes.
"""

from __future__ import annotations

import heapq
from collections import Counter, deque
from itertools import count
from typing import TYPE_CHECKING

import msgspec

from gossamer.crawl import policy
from gossamer.crawl.held_host import AddressTransfers, CachedRules, HeldHost
from gossamer.crawl.outages import Outages
from gossamer.model import Lease, Value
from gossamer.store.protocol import LEASE_SECONDS
from gossamer.urls.canonical import scheme as scheme_of
from gossamer.urls.robots import ALLOW_ALL, RobotsRules

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gossamer.config import HostSettings, PolitenessSettings
    from gossamer.model import FetchResult, HostLease, HostUpdate, Robots
    from gossamer.urls.robots import ProductRules

SOON_SECONDS = 0.25  # a host with a longer pause does not count as work for the transfers
SHARING_SECONDS = 10.0  # after sharing hosts, take no new ones for this long, so that the other crawler gets them
MAX_NEW_HOSTS = 64  # hosts leased in one exchange with the store, so that other crawlers get some too
MAX_ROBOTS_TRIES_KEPT = 10_000  # hosts with failed robots.txt requests, held or not; about 2 MB
ADDRESS_RECHECK_SECONDS = 0.05  # a host whose IP address had no free connection is examined again after this time


class FetchRobots(Value, frozen=True, kw_only=True):
    """Work: fetch a host's robots.txt before any of its URLs."""

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


class Frontier:
    """The held hosts, in a heap by ready time."""

    def __init__(
        self,
        politeness: PolitenessSettings,
        hosts: Mapping[str, HostSettings],
        *,
        product: str,
        obey_robots: bool,
        urls_per_connection: int = 16,
    ) -> None:
        """Start without hosts. `urls_per_connection` is 1 where new links can change the order of the queue."""
        self._politeness = politeness
        self._host_settings = {name.rpartition("://")[2]: own for name, own in hosts.items()}
        self._product = product
        self._obey_robots = obey_robots
        self._hosts: dict[int, HeldHost] = {}
        self._ids_by_name: dict[str, int] = {}  # of held hosts
        self._heap: list[tuple[float, int, HeldHost]] = []
        self._ticket = count()
        self._transfers = AddressTransfers(politeness.connections_per_address)
        self._max_hosts, self._sharing_until = politeness.max_hosts, 0.0  # most hosts to hold, and until when
        # Failed robots.txt requests in a row by host and scheme, also of released hosts.
        self._robots_tries: Counter[tuple[int, str]] = Counter()
        self._outages = Outages()
        self.urls_per_host = urls_per_connection * politeness.connections
        self.waiting_urls = 0  # URLs leased and not handed out yet

    def __len__(self) -> int:
        return len(self._hosts)

    # -- leases and robots.txt -----------------------------------------------------------------------------------

    def add_host_lease(self, leased: HostLease, now: float) -> None:
        """Add a host, or more URLs of a held one."""
        host = self._hosts.get(leased.host)
        if host is None:
            host = self._hosts[leased.host] = HeldHost(leased, self._politeness, self._host_settings.get(leased.name))
            self._ids_by_name[leased.name] = leased.host
            for robots in leased.robots:
                age = abs(now - robots.fetched_at)  # a time in the future comes from a wrong clock
                if age < policy.ROBOTS_MAX_AGE_SECONDS and robots.outcome != "unreachable":
                    self._set_rules(host, robots, expires_at=now + policy.ROBOTS_MAX_AGE_SECONDS - age)
        host.queue.extend(leased.leases)
        self.waiting_urls += len(leased.leases)
        self._schedule(host)

    def apply_robots(self, robots: Robots) -> RobotsRules:
        """Apply the rules of a held host. Its URLs may be visited after a pause, counted from the rules' arrival."""
        host = self._hosts[robots.host]
        host.is_asking_robots = False
        self._robots_tries.pop((host.id, robots.scheme), None)
        self._outages.record_answer(host.id, robots.scheme, robots.fetched_at)
        rules = self._set_rules(host, robots, expires_at=robots.fetched_at + policy.ROBOTS_MAX_AGE_SECONDS)
        host.ready_at = max(host.ready_at, robots.fetched_at + host.pause_seconds(0.0))
        host.has_changed = True  # the store gets the pause with the rules, for the case that this crawler dies
        self._schedule(host)
        return rules

    def record_robots_failure(self, work: FetchRobots, now: float, *, wait: float, reason: str, is_away: bool) -> int:
        """Back off after a failed robots.txt request; return the number of failed tries in a row.

        A request to a host that is away does not count as a try. The back-off follows these tries and not the host's
        incidents. After a long outage the incidents would make pauses too long: every crawl would release the host, and
        none would give it up.
        """
        host, key = self._hosts[work.host], (work.host, work.scheme)
        host.is_asking_robots = False
        if is_away:
            host.failures += 1
        else:
            if len(self._robots_tries) >= MAX_ROBOTS_TRIES_KEPT:
                self._robots_tries.clear()  # bounds memory; these hosts start counting again
            self._robots_tries[key] += 1
            host.failures = self._robots_tries[key]
        self._back_off(host, now, wait, reason)
        return self._robots_tries[key]

    def _set_rules(self, host: HeldHost, robots: Robots, expires_at: float) -> RobotsRules:
        rules = RobotsRules.parse(robots.text) if robots.outcome == "rules" and self._obey_robots else ALLOW_ALL
        host.robots[robots.scheme] = CachedRules(rules.for_product(self._product), expires_at)
        host.apply_crawl_delay()
        requested_delay, cap = host.crawl_delay or 0.0, self._politeness.max_crawl_delay
        host.reason = (
            f"robots.txt asks for {requested_delay:g} s between requests, cut to {cap:g} s"
            if requested_delay > cap
            else ""
        )
        return rules

    # -- hand out work -------------------------------------------------------------------------------------------

    def next_work(self, now: float, pages_left: float = float("inf"), bytes_left: float = float("inf")) -> Work | None:
        """Return the next work, or None if no host is ready.

        `pages_left` and `bytes_left` are the room for pages that wait for a parser. A host may fill as much room as is
        left, so that some is always left for the next host.
        """
        heap = self._heap
        while heap and heap[0][0] <= now:
            _, ticket, host = heapq.heappop(heap)
            if host.heap_ticket != ticket:
                continue  # a stale entry: the host was scheduled again
            host.heap_ticket = None
            if self._hosts.get(host.id) is not host:
                continue  # released, and perhaps leased again as another object
            if not host.has_work:
                continue
            if host.ready_at > now or self._transfers.is_full(host):
                self._schedule(host, max(host.ready_at, now + ADDRESS_RECHECK_SECONDS))
                continue
            if host.unparsed and (host.unparsed >= pages_left or host.unparsed_bytes >= bytes_left):
                continue  # `finish_page` schedules it again
            return self._take_work(host, now)
        return None

    def _take_work(self, host: HeldHost, now: float) -> Work:
        lease = host.queue[0]
        scheme = scheme_of(lease.url)
        known = host.robots.get(scheme)
        if self._obey_robots and (known is None or known.expires_at <= now):
            host.is_asking_robots = host.has_changed = True
            return FetchRobots(host=host.id, scheme=scheme, url=f"{scheme}://{host.name}/robots.txt")
        host.queue.popleft()
        self.waiting_urls -= 1
        if known is not None and not known.rules.allows(lease.url):
            self._schedule(host)
            return RefuseUrl(lease=lease)
        self._transfers.start(host)
        host.has_changed = True
        if host.connections > 1:
            host.ready_at = now + host.delay
            self._schedule(host)
        return FetchUrl(lease=lease)

    # -- after a transfer ----------------------------------------------------------------------------------------

    def finish_transfer(
        self, lease: Lease, now: float, *, transfer_seconds: float, address: str, has_failed: bool, wait: float
    ) -> None:
        """End a transfer. The host is ready again after its pause."""
        host = self._hosts[lease.host]
        self._transfers.finish(host)
        if address:
            self._transfers.move(host, address)
        host.has_changed = True
        if has_failed:
            self._record_failure(host, now, transfer_seconds, wait)
            return
        if address:
            self._outages.record_answer(host.id, scheme_of(lease.url), now)
        host.failures = 0
        host.delay = host.pause_seconds(transfer_seconds)
        if now >= host.excess_until:
            host.reason = "" if host.crawl_delay is None else host.reason
        host.ready_at = max(host.ready_at, now + max(host.delay, wait))
        self._schedule(host)

    def _record_failure(self, host: HeldHost, now: float, transfer_seconds: float, wait: float) -> None:
        # A transfer that was in flight at the previous failure belongs to the same incident.
        if now - transfer_seconds > host.failed_at:
            host.failures, host.failed_at = host.failures + 1, now
        self._back_off(host, now, wait, "waits after a failure" if not wait else "asked to wait (Retry-After)")

    # -- requests of rendered pages ------------------------------------------------------------------------------

    def held_host(self, name: str) -> int | None:
        """Return the id of a held host by its name, None if this crawler does not hold it."""
        return self._ids_by_name.get(name)

    def known_rules(self, host_id: int, scheme: str, now: float) -> ProductRules | None:
        """Return the robots.txt rules of a held host, None if they are not known or too old."""
        known = self._hosts[host_id].robots.get(scheme)
        return None if known is None or known.expires_at <= now else known.rules

    def rest_seconds(self, host_id: int, now: float) -> float:
        """Return for how long a held host rests after an incident, without the pauses between its pages."""
        return max(0.0, self._hosts[host_id].backs_off_until - now)

    def start_subresource(self, host_id: int) -> bool:
        """Take a connection of a held host for a request of a rendered page; False if none is free.

        The pause between two requests is for pages: a reader's browser asks for the parts of a page without one.
        """
        host = self._hosts[host_id]
        if host.active >= host.connections or self._transfers.is_full(host):
            return False
        self._transfers.start(host)
        return True

    def finish_subresource(
        self, host_id: int, now: float, *, transfer_seconds: float, address: str, has_failed: bool, wait: float
    ) -> None:
        """Give a connection back. A failure is an incident of the host; only pages make up for one."""
        host = self._hosts.get(host_id)
        if host is None:
            return
        self._transfers.finish(host)
        if address:
            self._transfers.move(host, address)
        if has_failed:
            self._record_failure(host, now, transfer_seconds, wait)
        else:
            self._schedule(host)

    def start_at_address(self, address: str, connections: int) -> bool:
        """Count a transfer of a host that is not held; False if its address has no free connection."""
        if self._transfers.is_address_full(address, connections):
            return False
        self._transfers.take(address)
        return True

    def finish_at_address(self, address: str) -> None:
        """End the count of `start_at_address`."""
        self._transfers.give_back(address)

    # -- pages in parsers ----------------------------------------------------------------------------------------

    def start_page(self, host_id: int, size: int) -> None:
        """Count a page that waits for a parser."""
        host = self._hosts[host_id]
        host.unparsed += 1
        host.unparsed_bytes += size

    def finish_page(self, host_id: int, size: int) -> None:
        """End the count of `start_page`; the host may fill its place."""
        host = self._hosts[host_id]
        host.unparsed -= 1
        host.unparsed_bytes -= size
        self._schedule(host)

    def record_good_page(self, host_id: int) -> None:
        """Count a page that kept its limits: it makes up for one that did not."""
        host = self._hosts[host_id]
        host.excesses = max(0, host.excesses - 1)

    def record_excess(self, host_id: int, now: float, *, seconds: float, reason: str) -> None:
        """Let a host rest because a page used up a limit: as long as the page took, and longer after more of them.

        Pages that do so during the rest were fetched before it, so they belong to the same incident.
        """
        host = self._hosts[host_id]
        if now >= host.excess_until:
            host.excesses += 1
        rest = max(seconds, policy.backoff(self._politeness, host.excesses))
        host.excess_until = now + min(rest, self._politeness.max_delay)
        self._back_off(host, now, host.excess_until - now, f"its pages use up their limits: {reason}")

    def requeue(self, lease: Lease, now: float, *, transfer_seconds: float, reason: str) -> None:
        """Put a URL back because its host is away. It waits here, and this counts as no attempt."""
        host = self._hosts[lease.host]
        host.queue.appendleft(lease)  # first, so that one URL tests the host and the others do not
        self.waiting_urls += 1
        self.finish_transfer(lease, now, transfer_seconds=transfer_seconds, address="", has_failed=True, wait=0.0)
        host.reason = f"cannot be reached: {reason}"

    def is_outage(self, host_id: int, fetched: FetchResult, now: float) -> bool:
        """Return whether a transfer got no connection because its host is away for a while."""
        is_unconnected = policy.is_unconnected(fetched.outcome, fetched.address)
        return is_unconnected and self.is_host_away(host_id, scheme_of(fetched.request.url), now)

    def is_host_away(self, host_id: int, scheme: str, now: float) -> bool:
        """Return whether an unreachable host is likely to come back."""
        return self._outages.is_away(host_id, scheme, now)

    def _back_off(self, host: HeldHost, now: float, wait: float, reason: str) -> None:
        host.has_changed = True
        host.reason = reason
        rest = max(wait, policy.backoff(self._politeness, host.failures))
        host.backs_off_until = max(host.backs_off_until, now + rest)
        host.ready_at = max(host.ready_at, now + max(rest, host.delay))
        self._schedule(host)

    def _schedule(self, host: HeldHost, at: float | None = None) -> None:
        if host.heap_ticket is None and host.has_work:
            host.heap_ticket = next(self._ticket)
            heapq.heappush(self._heap, (host.ready_at if at is None else at, host.heap_ticket, host))

    # -- exchange with the store ---------------------------------------------------------------------------------

    def hosts_needing_urls(self) -> list[int]:
        """Return the held hosts that need more URLs soon."""
        few = self.urls_per_host // 4
        return [host.id for host in self._hosts.values() if len(host.queue) <= few and not host.is_leaving]

    def wanted_host_count(self, transfers: int, now: float) -> int:
        """Return how many more hosts to lease."""
        room = self._max_hosts - len(self._hosts)
        # Twice as many connections as transfers, so that hosts fill each other's short pauses. Hosts in a long pause do
        # not count: if all hosts ask for a delay, the crawler holds up to `max_hosts`.
        working = sum(h.connections for h in self._hosts.values() if h.active or h.ready_at <= now + SOON_SECONDS)
        return max(0, min(room, 2 * transfers - working, MAX_NEW_HOSTS))

    def share_hosts(self, max_hosts: int | None, now: float) -> None:
        """Hold at most `max_hosts` hosts now and for SHARING_SECONDS; None lifts the limit after that time.

        Excess hosts get no more work, those without a transfer first. Hosts that pause for longer than LEASE_SECONDS
        stay, because the store would not lease them to anyone. Of the others the same share leaves.
        """
        if max_hosts is not None:
            self._max_hosts, self._sharing_until = min(max_hosts, self._politeness.max_hosts), now + SHARING_SECONDS
        elif now >= self._sharing_until:
            self._max_hosts = self._politeness.max_hosts
        staying = [host for host in self._hosts.values() if not host.is_leaving]
        useful = [host for host in staying if host.queue and host.ready_at <= now + LEASE_SECONDS]
        useful.sort(key=lambda host: (host.is_in_flight, host.ready_at))
        excess = max(0, len(staying) - self._max_hosts)
        for host in useful[: len(useful) * excess // max(1, len(staying))]:
            host.is_leaving = True

    def releasable_hosts(self) -> list[int]:
        """Return the hosts to share of which nothing is in flight."""
        return [host.id for host in self._hosts.values() if host.is_leaving and not host.is_in_flight]

    def failing_hosts(self, patience: float, now: float) -> list[int]:
        """Return the hosts that failed and must rest for longer than `patience`; politeness pauses do not count."""
        patience_ends_at = now + max(patience, LEASE_SECONDS)  # the store leases hosts that are ready within that time
        hosts = [host for host in self._hosts.values() if host.ready_at > patience_ends_at]
        failing_hosts = [host for host in hosts if host.failures or host.excess_until > patience_ends_at]
        return [host.id for host in failing_hosts if not host.is_in_flight]

    def release_host(
        self, host_id: int, now: float, *, wait: float = 0.0, reason: str = ""
    ) -> tuple[HostUpdate, list[Lease]]:
        """Remove a host; return the update for the store and the leases of URLs not handed out."""
        host = self._hosts.pop(host_id)
        del self._ids_by_name[host.name]
        self.waiting_urls -= len(host.queue)
        host.ready_at, host.reason = max(host.ready_at, now + wait), reason or host.reason
        return msgspec.structs.replace(host.update(), keep=False), list(host.queue)

    def release_all_hosts(self, now: float) -> list[HostUpdate]:
        """Remove all hosts; return the updates for the store. After a request without an answer, a pause begins now."""
        pauses = {
            host.id: max(host.delay, host.pause_seconds(0.0)) if host.is_in_flight else 0.0
            for host in self._hosts.values()
        }
        return [self.release_host(host, now, wait=pause)[0] for host, pause in pauses.items()]

    def withdraw_urls(self, host_id: int, scheme: str, now: float) -> list[Lease]:
        """Remove and return a host's URLs of a scheme whose robots.txt is unreachable. The other scheme continues."""
        host = self._hosts[host_id]
        withdrawn = [lease for lease in host.queue if scheme_of(lease.url) == scheme]
        host.queue = deque(lease for lease in host.queue if scheme_of(lease.url) != scheme)
        self.waiting_urls -= len(withdrawn)
        self._robots_tries.pop((host_id, scheme), None)
        if host.queue:
            host.failures, host.reason, host.ready_at = 0, "", now
            host.heap_ticket = None  # its entry in the heap may be for a much later time
            self._schedule(host)
        return withdrawn

    def reset(self, *, obey_robots: bool, urls_per_connection: int) -> list[Lease]:
        """Apply new round settings; return the URLs not handed out, for the store to decide again. Hosts stay held."""
        self.urls_per_host = urls_per_connection * self._politeness.connections
        self.waiting_urls = 0
        returned: list[Lease] = []
        for host in self._hosts.values():
            returned += host.queue
            host.queue.clear()
            if obey_robots != self._obey_robots:
                host.robots.clear()  # they were parsed under the old setting
                host.apply_crawl_delay()
        self._obey_robots = obey_robots
        return returned

    def queued_urls(self, host_id: int) -> list[str]:
        """Return a host's URLs not handed out yet."""
        return [lease.url for lease in self._hosts[host_id].queue]

    def idle_hosts(self) -> list[int]:
        """Return the held hosts without URLs, transfers or a robots.txt request."""
        return [host.id for host in self._hosts.values() if host.is_idle]

    def held_hosts(self) -> list[int]:
        """Return all held hosts."""
        return list(self._hosts)

    def take_host_updates(self) -> list[HostUpdate]:
        """Return what changed for hosts since the last call, so that the next holder keeps to their pauses."""
        updates = []
        for host in self._hosts.values():
            if host.has_changed:
                host.has_changed = False
                updates.append(host.update())
        return updates

    def next_ready_at(self) -> float | None:
        """Return when the next host can be ready (Unix time); None without waiting hosts."""
        return self._heap[0][0] if self._heap else None

    def waiting_hosts(self, now: float) -> Iterator[tuple[str, float, str]]:
        """Yield the hosts that wait, longest first: name, seconds, why."""
        waits = [
            (h.ready_at - now, h)
            for h in self._hosts.values()
            if h.ready_at - now > 0.5 and (h.queue or h.is_asking_robots)
        ]
        for seconds, host in sorted(waits, key=lambda pair: -pair[0]):
            yield host.name, seconds, host.reason or "politeness"
