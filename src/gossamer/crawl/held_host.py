"""A host that this crawler holds, and the connections that held hosts share by IP address."""

from __future__ import annotations

from collections import Counter, deque
from typing import TYPE_CHECKING, NamedTuple

from gossamer.crawl import policy
from gossamer.model import HostUpdate
from gossamer.urls.canonical import hostname, is_loopback

if TYPE_CHECKING:
    from gossamer.config import HostSettings, PolitenessSettings
    from gossamer.model import HostLease, Lease
    from gossamer.urls.robots import ProductRules


class CachedRules(NamedTuple):
    """The rules of a host's robots.txt, and when they expire."""

    rules: ProductRules
    expires_at: float  # Unix time


class HeldHost:
    """A host with its queue, transfers, pauses and robots rules. Mutable; only the frontier uses it."""

    __slots__ = (
        "_configured_connections",
        "_configured_delay",
        "_politeness",
        "active",
        "address",
        "backs_off_until",
        "connections",
        "crawl_delay",
        "delay",
        "excess_until",
        "excesses",
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
        "unparsed",
        "unparsed_bytes",
    )  # fmt: skip

    def __init__(self, leased: HostLease, politeness: PolitenessSettings, host_settings: HostSettings | None) -> None:
        self.id = leased.host
        self.name = leased.name
        self.ready_at = leased.ready_at
        # Unix time until which it rests after an incident, apart from the pauses between pages
        self.backs_off_until = leased.ready_at if leased.failures else 0.0
        self.failures = leased.failures  # incidents in a row; each one makes the pause longer
        self.failed_at = float("-inf")  # Unix time at which the last incident was noticed
        self.queue: deque[Lease] = deque()
        self.active = 0  # transfers in flight
        self.unparsed = 0  # pages that wait for a parser or are in one ...
        self.unparsed_bytes = 0  # ... and the size of their bodies
        self.excesses = 0  # incidents of pages that used up a limit, less pages that did not
        self.excess_until = 0.0  # Unix time until which it rests for them
        self.is_asking_robots = False
        self.is_leaving = False  # another crawler needs it; released once nothing is in flight
        self.heap_ticket: int | None = None  # ticket of its valid entry in the heap; None: not in the heap
        self.has_changed = False  # the store needs a `HostUpdate`
        self.robots: dict[str, CachedRules] = {}  # by scheme
        self.crawl_delay: float | None = None
        self._politeness = politeness
        self._configured_delay = (
            host_settings.delay if host_settings and host_settings.delay is not None else politeness.delay
        )
        self._configured_connections = (
            host_settings.connections if host_settings and host_settings.connections else politeness.connections
        )
        self.connections = self._configured_connections
        self.delay = self._configured_delay or 0.0
        self.address = ""
        self.is_local = is_loopback(hostname(leased.name))
        self.reason = ""  # why it waits, for people

    @property
    def has_work(self) -> bool:
        """Whether a URL can be handed out, once the host is ready."""
        return bool(self.queue) and not self.is_asking_robots and not self.is_leaving and self.active < self.connections

    @property
    def is_in_flight(self) -> bool:
        """Whether a transfer or a robots.txt request is under way."""
        return bool(self.active) or self.is_asking_robots

    @property
    def is_idle(self) -> bool:
        """Whether the host has no URLs, and nothing of it is in flight or in a parser."""
        return not self.queue and not self.unparsed and not self.is_in_flight

    def pause_seconds(self, transfer_seconds: float) -> float:
        """Return the pause after a transfer that took this long."""
        return policy.pause_after(
            self._politeness,
            own_delay=self._configured_delay,
            crawl_delay=self.crawl_delay,
            transfer_seconds=transfer_seconds,
            is_local=self.is_local,
        )

    def apply_crawl_delay(self) -> None:
        """Take the longest Crawl-delay of the known rules."""
        delays = [known.rules.crawl_delay for known in self.robots.values()]
        self.crawl_delay = max((delay for delay in delays if delay is not None), default=None)
        # A Crawl-delay applies between any two requests, so such a host gets one connection.
        self.connections = self._configured_connections if self.crawl_delay is None else 1
        self.delay = self.pause_seconds(0.0)

    def update(self) -> HostUpdate:
        """Return what the store keeps, so that the next holder keeps to the pauses."""
        return HostUpdate(
            host=self.id, ready_at=self.ready_at, delay=self.delay, failures=self.failures, reason=self.reason
        )


class AddressTransfers:
    """Counts the transfers in flight by IP address, because hosts on one machine share its connections."""

    def __init__(self, most: int) -> None:
        """Allow `most` transfers to an address, or as many as a host alone may have."""
        self._most = most
        self._counts: Counter[str] = Counter()

    def is_full(self, host: HeldHost) -> bool:
        """Return whether the address of a host has no free connection."""
        return self.is_address_full(host.address, host.connections)

    def is_address_full(self, address: str, connections: int) -> bool:
        """Return whether an address has no free connection for a host that may have so many; "" is not known yet."""
        return bool(address) and self._counts[address] >= max(self._most, connections)

    def start(self, host: HeldHost) -> None:
        """Count a transfer of a host."""
        host.active += 1
        self.take(host.address)

    def finish(self, host: HeldHost) -> None:
        """End the count of `start`."""
        host.active -= 1
        self.give_back(host.address)

    def move(self, host: HeldHost, address: str) -> None:
        """Set a host's address, and move the count of its transfers there."""
        if host.address != address:
            self.give_back(host.address, host.active)
            if host.active:
                self._counts[address] += host.active
            host.address = address

    def take(self, address: str) -> None:
        """Count a transfer to an address."""
        self._counts[address] += 1

    def give_back(self, address: str, transfers: int = 1) -> None:
        """End the count of `take`."""
        self._counts[address] -= transfers
        if self._counts[address] <= 0:
            del self._counts[address]
