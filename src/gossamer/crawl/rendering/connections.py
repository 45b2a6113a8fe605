"""Connections for the requests of rendered pages: to hosts that this crawler holds, and to all others.

A held host has its connections and pauses in the frontier. A page may name hosts that nobody holds, or that another
crawler holds. They get as many connections, count for their IP address too, and rest after failures as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gossamer.crawl import policy

if TYPE_CHECKING:
    from gossamer.config import Settings
    from gossamer.crawl.frontier import Frontier
    from gossamer.model import FetchResult

MAX_GUESTS = 10_000  # hosts remembered that this crawler does not hold; about 3 MB


class Connection(NamedTuple):
    """A connection in use."""

    name: str  # authority of the host
    held_host: int | None  # its id, if this crawler holds it
    address: str = ""  # that a host which is not held had at its last request


class _Guest:
    """A host that this crawler does not hold."""

    def __init__(self) -> None:
        self.active = 0  # requests in transfer
        self.address = ""
        self.failures = 0  # incidents in a row
        self.failed_at = float("-inf")  # Unix time of the last one
        self.rests_until = 0.0  # Unix time


class Connections:
    """The hosts that pages ask, their connections in use, and when they rest."""

    def __init__(self, settings: Settings, frontier: Frontier) -> None:
        self._politeness = settings.politeness
        self._host_settings = {name.rpartition("://")[2]: own for name, own in settings.hosts.items()}
        self._frontier = frontier
        self._guests: dict[str, _Guest] = {}

    def rest_seconds(self, name: str, now: float) -> float:
        """Return for how long a host rests, because it failed or asked to wait."""
        held = self._frontier.held_host(name)
        if held is not None:
            return self._frontier.rest_seconds(held, now)
        guest = self._guests.get(name)
        return max(0.0, guest.rests_until - now) if guest is not None else 0.0

    def take(self, name: str, now: float) -> Connection | None:
        """Take a connection to a host; None if none is free."""
        held = self._frontier.held_host(name)
        if held is not None:
            return Connection(name, held) if self._frontier.start_subresource(held) else None
        guest = self._guest(name, now)
        own = self._host_settings.get(name)
        most = own.connections if own is not None and own.connections else self._politeness.connections
        if guest.active >= most or not self._frontier.start_at_address(guest.address, most):
            return None
        guest.active += 1
        return Connection(name, None, guest.address)

    def give_back(self, connection: Connection, fetched: FetchResult | None, now: float) -> None:
        """Give a connection back, with the result of its request; None if it was cancelled."""
        has_failed, wait = False, 0.0
        if fetched is not None:
            has_failed = policy.verdict(fetched.outcome, fetched.status, 0, 1).host_failure
            wait = policy.retry_after(fetched.headers.get("retry-after", ""), now) if has_failed else 0.0
        seconds, address = (fetched.milliseconds / 1000, fetched.address) if fetched is not None else (0.0, "")
        if connection.held_host is not None:
            self._frontier.finish_subresource(
                connection.held_host, now, transfer_seconds=seconds, address=address, has_failed=has_failed, wait=wait
            )
            return
        self._frontier.finish_at_address(connection.address)
        guest = self._guests[connection.name]
        guest.active -= 1
        guest.address = address or guest.address
        if has_failed:
            self._let_rest(guest, now, seconds, wait)
        elif fetched is not None:
            guest.failures = 0

    def _let_rest(self, guest: _Guest, now: float, transfer_seconds: float, wait: float) -> None:
        if now - transfer_seconds > guest.failed_at:  # else it began before the last failure: the same incident
            guest.failures, guest.failed_at = guest.failures + 1, now
        rest = max(wait, policy.backoff(self._politeness, guest.failures))
        guest.rests_until = max(guest.rests_until, now + rest)

    def _guest(self, name: str, now: float) -> _Guest:
        if name not in self._guests and len(self._guests) >= MAX_GUESTS:
            self._guests = {
                known: guest for known, guest in self._guests.items() if guest.active or guest.rests_until > now
            }
        return self._guests.setdefault(name, _Guest())
