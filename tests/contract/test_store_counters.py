"""Counters kept by deltas equal a recount after any sequence of operations.

The tests run seeded random steps of two crawlers on one web, with user actions in between. They find planted faults (a
backlink to itself counted, a role mixed up, a cache not cleared) within a few hundred steps.
"""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING

import msgspec
import pytest

from gossamer.model import HostUpdate, Kind, Lease, Outcome, State, Visit, VisitBatch
from gossamer.revisit.pace import Schedule, VisitBudget
from helpers.store.crawl_steps import (
    AT_WORK,
    Bond,
    Policy,
    candidate,
    digest,
    ended_visit,
    fetched_visit,
    gone_visit,
    lease_all,
    leases,
    recount,
    redirected_visit,
    requeue,
    seed,
)

if TYPE_CHECKING:
    from gossamer.store.protocol import Store
    from helpers.store.crawl_steps import Open

URLS = [f"http://{host}.test/{page}" for host in "abc" for page in range(5)]
STEPS = 120
ENDS = ["fetched"] * 6 + ["gone", "failed", "again", "refused", "redirected", "not modified", "released"]


class Crawls:
    """Two crawlers on one web."""

    def __init__(self, open_store: Open, seed_: int) -> None:
        self.random = random.Random(seed_)
        self.open = open_store
        self.reader = open_store()
        self.stores = [open_store(), open_store()]
        self.crawlers = [self.join(store) for store in self.stores]
        self.held: list[dict[str, Lease]] = [{}, {}]
        self.stores[0].begin_round("{}", URLS[:1], None, None)
        self.stores[0].add([seed(URLS[0])], Policy())

    def join(self, store: Store) -> int:
        crawler = store.join("here", 1).id
        store.heartbeat(crawler, msgspec.structs.replace(AT_WORK, most_parsers=self.random.choice([0, 2])), time.time())
        return crawler

    def step(self) -> str:
        """Run a random action and return its name."""
        often, seldom = [self.lease, self.submit], [
            self.give_back, self.add, self.claim, self.die, self.leave, self.requeue, self.readmit, self.begin_round,
            self.forget, self.forget_host, self.keep_fresh,
        ]  # fmt: skip
        action = self.random.choice(often if self.random.random() < 0.7 else seldom)
        action(self.random.randrange(2))
        return action.__name__

    def lease(self, index: int) -> None:
        number = self.random.randint(1, 5)
        self.held[index].update(leases(lease_all(self.stores[index], self.crawlers[index], urls=number, hosts=2)))

    def submit(self, index: int) -> None:
        some = list(self.held[index].values())
        ends = self.random.choices(ENDS, k=len(some))
        visits = [self.visit_ending_in(lease, end) for lease, end in zip(some, ends, strict=True) if end != "released"]
        released = [lease for lease, end in zip(some, ends, strict=True) if end == "released"]
        self.stores[index].submit(
            self.crawlers[index], VisitBatch(visits=visits, released=released), self.policy(), time.time()
        )
        self.held[index].clear()

    def visit_ending_in(self, lease: Lease, end: str) -> Visit:
        match end:
            case "fetched":
                return fetched_visit(lease, *(self.bond() for _ in range(self.random.randint(0, 5))))
            case "gone":
                return gone_visit(lease)
            case "failed":
                return ended_visit(lease, Outcome.TIMEOUT, State.FAILED)
            case "again":
                return ended_visit(lease, Outcome.TIMEOUT, State.QUEUED)
            case "refused":
                return ended_visit(lease, Outcome.TYPE, State.REFUSED)
            case "redirected":
                return redirected_visit(lease, self.random.choice(URLS))
            case _:
                return ended_visit(lease, Outcome.NOT_MODIFIED, State.VISITED)

    def bond(self) -> Bond:
        kind = self.random.choice([Kind.HYPERLINK, Kind.HYPERLINK, Kind.IMAGE, Kind.CANONICAL])
        return Bond(self.random.choice(URLS), kind, self.random.random() < 0.8)

    def policy(self) -> Policy:
        choose = self.random.choice
        return Policy(host=choose(["", "", "a.test"]), max_depth=choose([None, 2]), check=choose([False, True]))

    def give_back(self, index: int) -> None:
        host = self.random.choice(self.reader.hosts()).id if self.reader.hosts() else 1
        note = HostUpdate(host=host, ready_at=0.0, delay=0.0, failures=0, keep=False)
        self.stores[index].submit(self.crawlers[index], VisitBatch(hosts=[note]), Policy(), time.time())

    def add(self, index: int) -> None:
        kind, as_seed = self.random.choice([Kind.HYPERLINK, Kind.MEDIA]), self.random.random() < 0.5
        self.stores[index].add([candidate(self.random.choice(URLS), kind=kind, depth=1, seed=as_seed)], self.policy())

    def claim(self, index: int) -> None:
        url = self.random.choice(URLS)
        (lease,) = self.stores[index].lease_urls(self.crawlers[index], [candidate(url)], time.time())
        if lease is not None:
            self.held[index][url] = lease

    def die(self, index: int) -> None:
        self.stores[index].close()
        self.stores[index] = self.open()
        self.crawlers[index] = self.join(self.stores[index])
        self.held[index].clear()

    def leave(self, index: int) -> None:
        self.stores[index].leave(self.crawlers[index])
        self.crawlers[index] = self.join(self.stores[index])
        self.held[index].clear()

    def requeue(self, index: int) -> None:
        requeue(self.stores[index])

    def keep_fresh(self, index: int) -> None:
        now = time.time() + self.random.choice([0.0, 100.0, 1e7])
        self.stores[index].keep_fresh(Schedule(), VisitBudget(pages=3, per_host=self.random.choice([None, 2])), now)

    def readmit(self, index: int) -> None:
        self.stores[index].readmit(self.policy())

    def begin_round(self, index: int) -> None:
        self.stores[index].begin_round(self.random.choice(["{}", '{"max_depth": 2}']), [], None, None)

    def forget(self, index: int) -> None:
        self.stores[index].forget(digest(self.random.choice(URLS)))

    def forget_host(self, index: int) -> None:
        self.stores[index].forget(host=f"{self.random.choice('abc')}.test")


@pytest.mark.parametrize("number", range(8))
def test_counters_equal_a_recount_after_every_step(open_store: Open, number: int) -> None:
    crawls = Crawls(open_store, number)
    for step in range(STEPS):
        action = crawls.step()
        try:
            recount(crawls.reader)
        except AssertionError as error:
            error.add_note(f"after step {step}: {action}")
            raise


@pytest.mark.parametrize("number", range(100, 108))
def test_every_queued_url_can_be_leased(open_store: Open, number: int) -> None:
    crawls = Crawls(open_store, number)
    for _ in range(STEPS):
        crawls.step()
    crawls.requeue(0)
    crawls.readmit(0)
    crawls.leave(0)
    crawls.leave(1)
    crawls.begin_round(0)  # ends the limits of keep_fresh
    queued = {row.url for row in crawls.reader.resources(State.QUEUED)}
    assert set(leases(lease_all(crawls.stores[0], crawls.crawlers[0]))) == queued
