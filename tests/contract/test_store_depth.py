"""Depth: the number of links from a seed; shorter paths found later reduce it."""

from __future__ import annotations

import random
import time
from collections import deque
from typing import TYPE_CHECKING

import pytest

from gossamer.model import Kind, VisitBatch
from helpers.store.crawl_steps import (
    Bond,
    Policy,
    Site,
    bonds,
    digest,
    fetched_visit,
    lease_all,
    leases,
    redirected_visit,
    seed,
    start,
    state,
    visit_all,
)

if TYPE_CHECKING:
    from gossamer.store.protocol import Store

A = "http://a.test/0"


def page(number: int) -> str:
    return f"http://a.test/{number}"


def depth(store: Store, url: str) -> int:
    row = store.resource(digest(url))
    assert row is not None
    return row.depth


def visit(store: Store, crawler: int, url: str, *targets: Bond | str, admit: Policy) -> None:
    """Visit one URL even if others of its host are due first."""
    leased = leases(lease_all(store, crawler))
    rest = [lease for other, lease in leased.items() if other != url]
    visits = [fetched_visit(leased[url], *targets)]
    store.submit(crawler, VisitBatch(visits=visits, released=rest), admit, time.time())


def test_a_queued_resource_takes_over_a_smaller_depth_and_its_priority(store: Store) -> None:
    policy = Policy()
    crawler = start(store, page(0), page(1), admit=policy)
    visit(store, crawler, page(0), page(2), page(3), admit=policy)
    visit(store, crawler, page(2), page(4), page(5), admit=policy)
    assert depth(store, page(5)) == 2
    visit(store, crawler, page(1), page(5), admit=policy)
    assert depth(store, page(5)) == 1
    assert [lease.url for lease in lease_all(store, crawler)[0].leases] == [page(3), page(5), page(4)]


def test_a_longer_path_changes_nothing(store: Store) -> None:
    policy = Policy()
    crawler = start(store, page(0), admit=policy)
    visit(store, crawler, page(0), page(1), page(2), admit=policy)
    visit(store, crawler, page(1), page(2), page(0), admit=policy)
    assert (depth(store, page(2)), depth(store, page(0))) == (1, 0)


def test_a_smaller_depth_propagates_when_depth_is_limited(store: Store) -> None:
    policy = Policy(max_depth=3)
    crawler = start(store, page(0), page(9), admit=policy, settings='{"max_depth": 3}')
    for source, target in ((0, 1), (1, 2), (2, 3), (3, 4)):
        visit(store, crawler, page(source), page(target), admit=policy)
    assert state(store, page(4)) == "known", "four links away"
    visit(store, crawler, page(9), page(2), admit=policy)
    assert [depth(store, page(n)) for n in (2, 3, 4)] == [1, 2, 3]
    assert state(store, page(4)) == "queued"


def test_a_smaller_depth_does_not_propagate_without_a_limit(store: Store) -> None:
    policy = Policy()
    crawler = start(store, page(0), page(9), admit=policy)
    for source, target in ((0, 1), (1, 2), (2, 3)):
        visit(store, crawler, page(source), page(target), admit=policy)
    visit(store, crawler, page(9), page(2), admit=policy)
    assert [depth(store, page(n)) for n in (2, 3)] == [1, 3]


@pytest.mark.parametrize("shallow_first", [True, False])
def test_the_shorter_of_two_paths_in_one_batch_counts(store: Store, shallow_first: bool) -> None:
    policy = Policy()
    crawler = start(store, page(0), page(9), admit=policy)
    visit(store, crawler, page(0), page(1), admit=policy)
    leased = leases(lease_all(store, crawler))
    both = [fetched_visit(leased[page(9)], page(5)), fetched_visit(leased[page(1)], page(5))]
    store.submit(crawler, VisitBatch(visits=both if shallow_first else both[::-1]), policy, time.time())
    assert depth(store, page(5)) == 1


def test_a_redirect_passes_on_the_depth_found_during_its_visit(store: Store) -> None:
    policy = Policy()
    crawler = start(store, page(0), page(9), admit=policy)
    visit(store, crawler, page(0), page(1), admit=policy)
    visit(store, crawler, page(1), page(2), admit=policy)
    leased = leases(lease_all(store, crawler))
    store.submit(crawler, VisitBatch(visits=[fetched_visit(leased[page(9)], page(2))]), policy, time.time())
    store.submit(crawler, VisitBatch(visits=[redirected_visit(leased[page(2)], page(3))]), policy, time.time())
    assert (leased[page(2)].depth, depth(store, page(3))) == (2, 1)


def test_a_smaller_depth_propagates_through_redirects(store: Store) -> None:
    policy = Policy(max_depth=2)
    crawler = start(store, page(0), page(9), admit=policy, settings='{"max_depth": 2}')
    visit(store, crawler, page(0), page(1), admit=policy)
    visit(store, crawler, page(1), page(2), admit=policy)
    leased = leases(lease_all(store, crawler))
    store.submit(
        crawler,
        VisitBatch(visits=[redirected_visit(leased[page(2)], page(3))], released=[leased[page(9)]]),
        policy,
        time.time(),
    )
    visit(store, crawler, page(3), page(4), admit=policy)
    assert state(store, page(4)) == "known"
    visit(store, crawler, page(9), page(2), admit=policy)
    assert (depth(store, page(3)), state(store, page(4))) == (1, "queued")


def test_a_visited_page_that_becomes_a_seed_reduces_its_targets_depth(store: Store) -> None:
    policy = Policy(max_depth=1)
    crawler = start(store, page(0), admit=policy, settings='{"max_depth": 1}')
    visit_all(store, crawler, {page(0): [page(1)], page(1): [page(2)]}, admit=policy)
    assert state(store, page(2)) == "known"
    store.add([seed(page(1))], policy)
    assert state(store, page(2)) == "queued"


def test_smaller_depths_propagate_between_pages_of_one_batch(store: Store) -> None:
    policy = Policy(max_depth=2)
    crawler = start(store, page(0), page(9), admit=policy, settings='{"max_depth": 2}')
    visit(store, crawler, page(0), page(1), admit=policy)
    visit(store, crawler, page(1), page(2), admit=policy)
    leased = leases(lease_all(store, crawler))
    assert leased[page(2)].depth == 2
    both = [fetched_visit(leased[page(2)], page(3)), fetched_visit(leased[page(9)], page(2))]
    store.submit(crawler, VisitBatch(visits=both), policy, time.time())
    assert (depth(store, page(2)), state(store, page(3))) == (1, "queued")


def breadth_first_depths(site: Site, start_at: str, most: int) -> dict[str, int]:
    """Compute depths with a textbook breadth-first search."""
    depths = {start_at: 0}
    waiting = deque([start_at])
    while waiting:
        url = waiting.popleft()
        for bond in bonds(*site.get(url, ())):
            if bond.follow and bond.kind is Kind.HYPERLINK and depths[url] < most and bond.url not in depths:
                depths[bond.url] = depths[url] + 1
                waiting.append(bond.url)
    return depths


@pytest.mark.parametrize("number", range(8))
def test_any_visit_order_reaches_all_pages_within_the_depth(store: Store, number: int) -> None:
    random_ = random.Random(number)
    pages = [page(n) for n in range(60)]
    site = {
        url: [
            Bond(
                random_.choice(pages),
                random_.choice([Kind.HYPERLINK, Kind.HYPERLINK, Kind.IMAGE]),
                random_.random() < 0.9,
            )
            for _ in range(2)
        ]
        for url in pages
    }
    policy = Policy(max_depth=4)
    crawler = start(store, A, admit=policy, settings='{"max_depth": 4}')
    visited: set[str] = set()
    while leased := leases(lease_all(store, crawler)):
        some = set(random_.sample(sorted(leased), k=random_.randint(1, min(3, len(leased)))))
        visits = [fetched_visit(leased[url], *site[url]) for url in some]
        store.submit(
            crawler,
            VisitBatch(visits=visits, released=[leased[url] for url in set(leased) - some]),
            policy,
            time.time(),
        )
        visited |= some
    expected = breadth_first_depths(site, A, 4)
    assert visited == set(expected)
    assert {url: depth(store, url) for url in visited} == expected
