"""Counters of resources, hosts, links and documents, kept by deltas in the transaction that changes them.

Counting a million resources takes a second, while `status`, the display and the search for work ask all the time. Every
change of a resource's state, role or outcome passes through `CounterDeltas`. A property test recounts.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import cache
from typing import TYPE_CHECKING

from gossamer.model import PAGE_OUTCOMES, Role, State

if TYPE_CHECKING:
    from collections.abc import Iterable, MutableMapping

    CountedAs = tuple[int, str, str, str]  # host, state, role, outcome

HOST_COLUMNS = ("known", "queued_pages", "queued_others", "pages", "failed")


@cache
def _columns(state: str, role: str, outcome: str) -> tuple[str, ...]:
    """Return the host counters that include a resource with this state, role and outcome."""
    if state == State.QUEUED:
        return ("known", "queued_pages" if role == Role.PAGE else "queued_others")
    if state == State.VISITED and role == Role.PAGE and outcome in PAGE_OUTCOMES:
        return ("known", "pages")
    if state in {State.FAILED, State.GONE}:
        return ("known", "failed")
    return ("known",)


class CounterDeltas:
    """Changes to counters in one transaction."""

    def __init__(self, totals: MutableMapping[str, int]) -> None:
        """`totals` are the counters of the web; this object counts per host."""
        self._totals = totals
        self._hosts: defaultdict[int, Counter[str]] = defaultdict(Counter)

    def add(self, host: int, state: str, role: str, outcome: str, times: int = 1) -> None:
        """Count resources that are now in this state, role and outcome."""
        self._totals[f"resources {state}"] += times
        counters = self._hosts[host]
        for column in _columns(state, role, outcome):
            counters[column] += times

    def subtract(self, host: int, state: str, role: str, outcome: str, times: int = 1) -> None:
        """Count resources that left this state, role and outcome."""
        self.add(host, state, role, outcome, -times)

    def move(self, moves: Iterable[tuple[CountedAs, CountedAs]]) -> None:
        """Count many resources that change: host, state, role and outcome before and after."""
        for (before, after), times in Counter(moves).items():
            self.subtract(*before, times)
            self.add(*after, times)

    def changed_hosts(self) -> set[int]:
        """Return the hosts whose counters changed."""
        return set(self._hosts)

    def take_host_deltas(self) -> list[tuple[int, ...]]:
        """Return the changes of `HOST_COLUMNS` per host, with the host as last item, and reset them."""
        changed = [
            (*deltas, host)
            for host, counters in sorted(self._hosts.items())
            if any(deltas := [counters[column] for column in HOST_COLUMNS])
        ]
        self._hosts.clear()
        return changed
