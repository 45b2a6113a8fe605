"""Recent visits, for live displays."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gossamer.model import VisitBatch
from helpers.store.crawl_steps import admit_all, fetched_visit, gone_visit, lease_all, leases, start

if TYPE_CHECKING:
    from gossamer.store.protocol import Store

A, B, C = "http://a.test/", "http://a.test/b", "http://a.test/c"


def crawl_three_pages(store: Store) -> None:
    """Visit A at second 100 and B at second 103; C is not found."""
    crawler = start(store, A)
    leased = leases(lease_all(store, crawler))
    store.submit(crawler, VisitBatch(visits=[fetched_visit(leased[A], B, C, title="Home", at=100.25)]), admit_all, 101)
    held = [lease.host for lease in leased.values()]
    more = leases(store.lease(crawler, hosts=0, urls=10, held=held, now=102))
    store.submit(crawler, VisitBatch(visits=[fetched_visit(more[B], at=103.75), gone_visit(more[C])]), admit_all, 104)


def test_the_latest_pages_come_newest_first_without_failures(store: Store) -> None:
    crawl_three_pages(store)
    assert [(visit.url, visit.title) for visit in store.latest_visits(10)] == [(B, "A title"), (A, "Home")]
    assert [visit.url for visit in store.latest_visits(1)] == [B]


def test_the_latest_failures_have_outcome_and_status(store: Store) -> None:
    crawl_three_pages(store)
    assert [(visit.url, visit.outcome, visit.status) for visit in store.latest_visits(10, faults=True)] == [
        (C, "not found", 404)
    ]


def test_visits_are_counted_by_second(store: Store) -> None:
    crawl_three_pages(store)
    counted = {second: pages for second, pages, _ in store.visits_by_second(50)}
    assert counted[100] == 1
    assert counted[103] == 1
    assert 100 not in {second for second, _, _ in store.visits_by_second(102)}


def test_a_new_web_has_no_visits(store: Store) -> None:
    assert (store.latest_visits(10), store.latest_visits(10, faults=True), store.visits_by_second(0)) == ([], [], [])
