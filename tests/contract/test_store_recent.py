"""What happened just now, for those who watch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from helpers.store.crawl_steps import admit_all, fetched, gone, lease_all, leases, start

if TYPE_CHECKING:
    from gossamer.store.protocol import Store

A, B, C = "http://a.test/", "http://a.test/b", "http://a.test/c"


def visited(store: Store) -> None:
    """A at second 100, then B at second 103 and C not found."""
    crawler = start(store, A)
    found = leases(lease_all(store, crawler))
    store.submit(crawler, [fetched(found[A], B, C, title="Home", at=100.25)], admit_all, now=101)
    held = [lease.host for lease in found.values()]
    more = leases(store.lease(crawler, hosts=0, urls=10, held=held, now=102))
    store.submit(crawler, [fetched(more[B], at=103.75), gone(more[C])], admit_all, now=104)


def test_the_latest_pages_come_newest_first_and_without_failures(store: Store) -> None:
    visited(store)
    assert [(visit.url, visit.title) for visit in store.latest_visits(10)] == [(B, "A title"), (A, "Home")]
    assert [visit.url for visit in store.latest_visits(1)] == [B]


def test_the_latest_failures_say_what_happened(store: Store) -> None:
    visited(store)
    assert [(visit.url, visit.outcome, visit.status) for visit in store.latest_visits(10, faults=True)] == [
        (C, "not found", 404)
    ]


def test_visits_are_counted_by_second(store: Store) -> None:
    visited(store)
    counted = {second: pages for second, pages, _ in store.visits_by_second(50)}
    assert counted[100] == 1
    assert counted[103] == 1
    assert 100 not in {second for second, _, _ in store.visits_by_second(102)}


def test_nothing_happened_in_a_new_web(store: Store) -> None:
    assert (store.latest_visits(10), store.latest_visits(10, faults=True), store.visits_by_second(0)) == ([], [], [])
