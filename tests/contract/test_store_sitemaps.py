"""The limit of sitemaps that a host gets in a round, whoever names them and whichever crawler asks."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from gossamer.model import Kind, Outcome, State, VisitBatch
from gossamer.revisit.pace import PaceLimits, Schedule, VisitBudget
from gossamer.store.read.questions import Question
from gossamer.store.work.lease_rows import MAX_SITEMAPS, TOO_MANY_SITEMAPS
from helpers.store.crawl_steps import (
    Bond,
    Policy,
    candidate,
    ended_visit,
    fetched_visit,
    join,
    lease_all,
    leases,
    recount,
    requeue,
    start,
    visit_all,
)

if TYPE_CHECKING:
    from gossamer.store.protocol import Store
    from helpers.store.crawl_steps import Open

A = "http://a.test/"
DAY = 86_400.0  # seconds
MAPS = [f"http://a.test/{number}.xml" for number in range(MAX_SITEMAPS + 30)]


def add_sitemaps(store: Store, *urls: str) -> None:
    store.add([candidate(url, kind=Kind.SITEMAP_FILE) for url in urls], Policy())


def test_a_host_gets_fifty_sitemaps_in_a_round_and_the_rest_is_known_with_a_reason(store: Store) -> None:
    crawler = start(store, A, admit=Policy())
    add_sitemaps(store, *MAPS)
    visited = visit_all(store, crawler, {A: [], **{url: [] for url in MAPS}}, admit=Policy(), urls=16)
    assert len([url for url in visited if url in MAPS]) == MAX_SITEMAPS
    left = [row for row in store.resources() if row.state == "known"]
    assert {row.reason for row in left} == {TOO_MANY_SITEMAPS}
    assert {*visited, *(row.url for row in left)} == {A, *MAPS}
    assert not store.waiting_hosts(crawler), "nothing is left to wait for"
    listed = [row[0] for row in store.ask(Question.UNREADABLE_SITEMAPS)]
    assert listed == [row.url for row in left]
    recount(store)


def test_entries_of_a_sitemap_index_and_retries_count_too(store: Store) -> None:
    crawler = start(store, A, admit=Policy())
    index = "http://a.test/index.xml"
    add_sitemaps(store, index)
    bonds = [Bond(url, kind=Kind.SITEMAP_FILE) for url in MAPS]
    requests = 0
    while leased := leases(lease_all(store, crawler, urls=16)):
        visits = [
            fetched_visit(lease, *(bonds if url == index else ()), at=time.time())
            if url in {A, index}
            else ended_visit(lease, Outcome.TIMEOUT, State.QUEUED if lease.tries < 2 else State.FAILED)
            for url, lease in leased.items()
        ]
        requests += len(visits)
        store.submit(crawler, VisitBatch(visits=visits), Policy(), time.time())
    assert requests == 1 + MAX_SITEMAPS, "the page and fifty requests for sitemaps"
    recount(store)


def test_the_limit_holds_for_the_next_crawler_and_starts_again_with_a_round(open_store: Open) -> None:
    store = open_store()
    first = start(store, A, admit=Policy())
    add_sitemaps(store, *MAPS[:40])
    visit_all(store, first, {A: [], **{url: [] for url in MAPS}}, admit=Policy())
    store.leave(first)
    add_sitemaps(store, *MAPS[40:])
    other = open_store()
    second = join(other)
    assert len(visit_all(other, second, {url: [] for url in MAPS}, admit=Policy())) == MAX_SITEMAPS - 40
    requeue(other)
    again = visit_all(other, second, {A: [], **{url: [] for url in MAPS}}, admit=Policy())
    assert len([url for url in again if url in MAPS]) == MAX_SITEMAPS
    recount(other)


def test_sitemaps_read_in_this_round_are_revisited_beyond_the_limit(store: Store) -> None:
    crawler = start(store, A, admit=Policy())
    add_sitemaps(store, *MAPS[:MAX_SITEMAPS])
    while leased := leases(lease_all(store, crawler)):
        visits = [fetched_visit(lease, at=time.time()) for lease in leased.values()]
        store.submit(crawler, VisitBatch(visits=visits), Policy(), time.time())
    store.keep_fresh(Schedule(limits=PaceLimits()), VisitBudget(pages=1_000_000, per_host=1_000_000), time.time() + 30 * DAY)
    assert {*MAPS[:MAX_SITEMAPS]} <= {*leases(lease_all(store, crawler))}


def test_a_page_limit_is_a_limit_of_sitemaps_too(store: Store) -> None:
    crawler = join(store)
    store.begin_round("{}", [A], 5, None)
    add_sitemaps(store, *MAPS)
    assert len(visit_all(store, crawler, {url: [] for url in MAPS}, admit=Policy())) == 5
    assert not store.waiting_hosts(crawler)
