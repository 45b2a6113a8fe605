"""Counters kept by deltas, in the transaction that changes what they count.

Counting a million resources takes a second, and `status`, the display and the search for work ask all the time. Every
change of a resource's standing (state, role, outcome) passes through the `Ledger`; a property test recounts.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import cache
from typing import TYPE_CHECKING

from gossamer.model import Outcome, Role, State

if TYPE_CHECKING:
    from collections.abc import MutableMapping

PAGE_OUTCOMES = frozenset({Outcome.FETCHED, Outcome.NOT_MODIFIED})  # a visit that ended so counts as a page
HOST_COLUMNS = ("known", "queued_pages", "queued_others", "pages", "failed")


@cache
def _columns(state: str, role: str, outcome: str) -> tuple[str, ...]:
    """The counters of its host that a resource of this standing is in."""
    if state == State.QUEUED:
        return ("known", "queued_pages" if role == Role.PAGE else "queued_others")
    if state == State.VISITED and role == Role.PAGE and outcome in PAGE_OUTCOMES:
        return ("known", "pages")
    if state in {State.FAILED, State.GONE}:
        return ("known", "failed")
    return ("known",)


class CounterDeltas:
    """Resources that came, went, or changed their standing in this transaction."""

    def __init__(self, totals: MutableMapping[str, int]) -> None:
        """`totals` are the web's own counters; hosts are counted here."""
        self._totals = totals
        self._hosts: defaultdict[int, Counter[str]] = defaultdict(Counter)

    def add(self, host: int, state: str, role: str, outcome: str, times: int = 1) -> None:
        """Resources of this standing are there now."""
        self._totals[f"resources {state}"] += times
        counters = self._hosts[host]
        for column in _columns(state, role, outcome):
            counters[column] += times

    def subtract(self, host: int, state: str, role: str, outcome: str, times: int = 1) -> None:
        """Resources of this standing are there no more."""
        self.add(host, state, role, outcome, -times)

    def changed_hosts(self) -> set[int]:
        """The hosts whose counters changed."""
        return set(self._hosts)

    def take_host_deltas(self) -> list[tuple[int, ...]]:
        """By how much the hosts' counters (`HOST_COLUMNS`) changed, each with its host at the end; then begin anew."""
        changed = [
            (*deltas, host)
            for host, counters in sorted(self._hosts.items())
            if any(deltas := [counters[column] for column in HOST_COLUMNS])
        ]
        self._hosts.clear()
        return changed
