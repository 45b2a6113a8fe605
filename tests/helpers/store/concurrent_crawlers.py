"""Crawlers that write to one web at the same time, each in its own thread.

Their pages link to each other. So they find the same new URLs, improve each other's resources and change each other's
backlink counts at once.
"""

from __future__ import annotations

import random
import threading
import time
from typing import TYPE_CHECKING

from gossamer.model import HostUpdate, Kind, VisitBatch
from helpers.store.crawl_steps import Bond, Policy, fetched_visit, gone_visit, lease_all, leases, redirected_visit, seed

if TYPE_CHECKING:
    from gossamer.model import Lease, Visit
    from gossamer.store.protocol import Store
    from helpers.store.crawl_steps import Open

CRAWLERS = 4
HOSTS, PAGES = 8, 60
ROUNDS = 12


def page(chance: random.Random) -> str:
    return f"http://{chance.randrange(HOSTS)}.test/{chance.randrange(PAGES)}"


class Crawler(threading.Thread):
    """A crawler that leases, visits and submits, and keeps its exception."""

    def __init__(self, open_store: Open, number: int, settings: str) -> None:
        super().__init__(name=f"crawler {number}")
        self.fault: BaseException | None = None
        self.visited: list[str] = []
        self._chance = random.Random(number)
        self._depth = 3 if "max_depth" in settings else None
        self._store = open_store()

    def run(self) -> None:
        try:
            self._crawl()
        except BaseException as fault:  # noqa: BLE001 - the test raises it again
            self.fault = fault

    def _crawl(self) -> None:
        store, chance = self._store, self._chance
        crawler = store.join("here", 1).id
        for _ in range(ROUNDS):
            leased = lease_all(store, crawler, urls=chance.randint(2, 12), hosts=2)
            visits = [self._visit(lease) for lease in leases(leased).values()]
            updates = [HostUpdate(host=host.host, ready_at=0.0, delay=0.0, failures=0, keep=False) for host in leased]
            notes = updates if chance.random() < 0.5 else []
            result = store.submit(
                crawler, VisitBatch(visits=visits, hosts=notes), Policy(max_depth=self._depth), time.time()
            )
            assert result.lost == 0, "no other crawler takes these leases"
            self.visited += [visit.lease.url for visit in visits]
        store.leave(crawler)

    def _visit(self, lease: Lease) -> Visit:
        chance = self._chance
        if chance.random() < 0.1:
            return gone_visit(lease)
        if chance.random() < 0.1:
            return redirected_visit(lease, page(chance))
        kinds = [Kind.HYPERLINK, Kind.HYPERLINK, Kind.IMAGE, Kind.CANONICAL]
        return fetched_visit(
            lease, *(Bond(page(chance), chance.choice(kinds), chance.random() < 0.9) for _ in range(10))
        )


def crawl_together(open_store: Open, settings: str, max_pages: int | None = None) -> tuple[Store, list[Crawler]]:
    store = open_store()
    store.begin_round(settings, [], max_pages, None)
    store.add([seed(f"http://{host}.test/0") for host in range(HOSTS)], Policy())
    crawlers = [Crawler(open_store, number, settings) for number in range(CRAWLERS)]
    for crawler in crawlers:
        crawler.start()
    for crawler in crawlers:
        crawler.join(120)
    for crawler in crawlers:
        if crawler.fault is not None:
            raise crawler.fault
    return store, crawlers
