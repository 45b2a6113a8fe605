"""Faults planted into the real code, to show that the simulation finds such faults."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING
from unittest.mock import patch

from gossamer.crawl import loop
from gossamer.crawl.frontier import Frontier
from gossamer.crawl.outbox import Outbox
from gossamer.store.sqlite.work import crawlers, lease, submit
from gossamer.store.work.lease_rows import PageBudget

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gossamer.model import HostLease
    from gossamer.store.work.rounds import RoundLimits

Replacement = tuple[object, str, object]  # an object, the name of its attribute, and the new value
_add_host_lease = Frontier.add_host_lease
ALIVE = " AND state NOT IN ('stopped', 'lost')"
HELD = " AND r.state = 'leased' AND h.holder = ?"


class GenerousBudget(PageBudget):
    """Forgets that leased pages count as visited."""

    def __init__(self, limits: RoundLimits, leased: Mapping[int, int]) -> None:
        super().__init__(limits, {})


def _without(statement: str, condition: str, replacement: str = "") -> str:
    assert condition in statement
    return statement.replace(condition, replacement)


def _add_host_lease_at_once(self: Frontier, leased: HostLease, now: float) -> None:
    is_new = leased.host not in self._hosts
    _add_host_lease(self, leased, now)
    if is_new:
        host = self._hosts[leased.host]
        host.ready_at, host.heap_ticket = now, None
        self._schedule(host, now)


def _due_at_behind_a_refused_order(self: Outbox) -> float | None:
    return self._oldest_visit_at + self._settings.batch_seconds if self.visits else None


PLANTED_BUGS: dict[str, list[Replacement]] = {
    "a lost crawler renews its leases": [
        (crawlers, "RECORD_HEARTBEAT", _without(crawlers.RECORD_HEARTBEAT, ALIVE)),
        (crawlers, "SELECT_IF_WORKING", _without(crawlers.SELECT_IF_WORKING, ALIVE)),
    ],
    "a crawler without heartbeat replies goes on": [(loop, "HEARTBEAT_TIMEOUT_SECONDS", float("inf"))],
    "URLs of a released host stay leased": [(crawlers, "UNLEASE", "SELECT ?")],
    "the next holder of a host forgets its pause": [(Frontier, "add_host_lease", _add_host_lease_at_once)],
    "a dead crawler's hosts get no pause": [(crawlers, "DELAY_HOSTS", "SELECT ?1, ?2")],
    "leased pages do not count against the page limit": [(lease, "PageBudget", GenerousBudget)],
    "the loop spins while the disk is full": [(Outbox, "due_at", _due_at_behind_a_refused_order)],
    "a visit is written without its lease": [
        (submit, "SELECT_LEASED_ROWS", _without(submit.SELECT_LEASED_ROWS, HELD, " AND ? IS NOT NULL"))
    ],
}


@contextmanager
def planted_bug(name: str) -> Iterator[None]:
    """Run the block with one fault in the code."""
    with ExitStack() as patches:
        for owner, attribute, value in PLANTED_BUGS[name]:
            patches.enter_context(patch.object(owner, attribute, value))
        yield
