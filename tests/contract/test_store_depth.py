"""Depth: the links from a seed, smaller ways taken over when they are found later."""

from __future__ import annotations

import random
import time
from collections import deque
from typing import TYPE_CHECKING

import pytest

from gossamer.model import Kind
from helpers.store.crawl_steps import (
    Bond,
    Policy,
    Site,
    bonds,
    digest,
    fetched,
    lease_all,
    leases,
    redirected,
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


def visit(store: Store, crawler: int, url: str, *given: Bond | str, admit: Policy) -> None:
    """Visit one URL though others of its host may be due first."""
    found = leases(lease_all(store, crawler))
    rest = [lease for other, lease in found.items() if other != url]
    visits = [fetched(found[url], *given)]
    store.submit(crawler, visits, admit, released=rest, now=time.time())


def test_a_queued_resource_takes_a_smaller_depth_and_its_priority(store: Store) -> None:
    policy = Policy()
    crawler = start(store, page(0), page(1), admit=policy)
    visit(store, crawler, page(0), page(2), page(3), admit=policy)
    visit(store, crawler, page(2), page(4), page(5), admit=policy)
    assert depth(store, page(5)) == 2
    visit(store, crawler, page(1), page(5), admit=policy)
    assert depth(store, page(5)) == 1
    assert [lease.url for lease in lease_all(store, crawler)[0].leases] == [page(3), page(5), page(4)]


def test_a_deeper_way_changes_nothing(store: Store) -> None:
    policy = Policy()
    crawler = start(store, page(0), admit=policy)
    visit(store, crawler, page(0), page(1), page(2), admit=policy)
    visit(store, crawler, page(1), page(2), page(0), admit=policy)
    assert (depth(store, page(2)), depth(store, page(0))) == (1, 0)


def test_a_smaller_depth_is_passed_on_where_depth_is_limited(store: Store) -> None:
    policy = Policy(max_depth=3)
    crawler = start(store, page(0), page(9), admit=policy, settings='{"max_depth": 3}')
    for source, target in ((0, 1), (1, 2), (2, 3), (3, 4)):
        visit(store, crawler, page(source), page(target), admit=policy)
    assert state(store, page(4)) == "known", "four links away"
    visit(store, crawler, page(9), page(2), admit=policy)
    assert [depth(store, page(n)) for n in (2, 3, 4)] == [1, 2, 3]
    assert state(store, page(4)) == "queued"


def test_without_a_limit_a_smaller_depth_is_not_passed_on(store: Store) -> None:
    policy = Policy()
    crawler = start(store, page(0), page(9), admit=policy)
    for source, target in ((0, 1), (1, 2), (2, 3)):
        visit(store, crawler, page(source), page(target), admit=policy)
    visit(store, crawler, page(9), page(2), admit=policy)
    assert [depth(store, page(n)) for n in (2, 3)] == [1, 3]


@pytest.mark.parametrize("shallow_first", [True, False])
def test_of_two_ways_found_in_one_batch_the_shorter_counts(store: Store, shallow_first: bool) -> None:
    policy = Policy()
    crawler = start(store, page(0), page(9), admit=policy)
    visit(store, crawler, page(0), page(1), admit=policy)
    found = leases(lease_all(store, crawler))
    both = [fetched(found[page(9)], page(5)), fetched(found[page(1)], page(5))]
    store.submit(crawler, both if shallow_first else both[::-1], policy, now=time.time())
    assert depth(store, page(5)) == 1


def test_a_redirect_passes_on_the_depth_that_was_found_while_it_was_visited(store: Store) -> None:
    policy = Policy()
    crawler = start(store, page(0), page(9), admit=policy)
    visit(store, crawler, page(0), page(1), admit=policy)
    visit(store, crawler, page(1), page(2), admit=policy)
    found = leases(lease_all(store, crawler))
    store.submit(crawler, [fetched(found[page(9)], page(2))], policy, now=time.time())
    store.submit(crawler, [redirected(found[page(2)], page(3))], policy, now=time.time())
    assert (found[page(2)].depth, depth(store, page(3))) == (2, 1)


def test_a_smaller_depth_goes_through_redirects(store: Store) -> None:
    policy = Policy(max_depth=2)
    crawler = start(store, page(0), page(9), admit=policy, settings='{"max_depth": 2}')
    visit(store, crawler, page(0), page(1), admit=policy)
    visit(store, crawler, page(1), page(2), admit=policy)
    found = leases(lease_all(store, crawler))
    store.submit(crawler, [redirected(found[page(2)], page(3))], policy, released=[found[page(9)]], now=time.time())
    visit(store, crawler, page(3), page(4), admit=policy)
    assert state(store, page(4)) == "known"
    visit(store, crawler, page(9), page(2), admit=policy)
    assert (depth(store, page(3)), state(store, page(4))) == (1, "queued")


def test_a_new_seed_makes_what_it_links_to_less_deep_when_it_was_visited_before(store: Store) -> None:
    policy = Policy(max_depth=1)
    crawler = start(store, page(0), admit=policy, settings='{"max_depth": 1}')
    visit_all(store, crawler, {page(0): [page(1)], page(1): [page(2)]}, admit=policy)
    assert state(store, page(2)) == "known"
    store.add([seed(page(1))], policy)
    assert state(store, page(2)) == "queued"


def test_pages_of_one_batch_pass_smaller_depths_on_to_each_other(store: Store) -> None:
    policy = Policy(max_depth=2)
    crawler = start(store, page(0), page(9), admit=policy, settings='{"max_depth": 2}')
    visit(store, crawler, page(0), page(1), admit=policy)
    visit(store, crawler, page(1), page(2), admit=policy)
    found = leases(lease_all(store, crawler))
    assert found[page(2)].depth == 2
    both = [fetched(found[page(2)], page(3)), fetched(found[page(9)], page(2))]
    store.submit(crawler, both, policy, now=time.time())
    assert (depth(store, page(2)), state(store, page(3))) == (1, "queued")


def walked(site: Site, start_at: str, most: int) -> dict[str, int]:
    """Depths by breadth-first search, the way a book has it."""
    found = {start_at: 0}
    waiting = deque([start_at])
    while waiting:
        here = waiting.popleft()
        for bond in bonds(*site.get(here, ())):
            if bond.follow and bond.kind is Kind.HYPERLINK and found[here] < most and bond.url not in found:
                found[bond.url] = found[here] + 1
                waiting.append(bond.url)
    return found


@pytest.mark.parametrize("number", range(8))
def test_whatever_the_order_the_pages_within_the_depth_are_visited(store: Store, number: int) -> None:
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
    while found := leases(lease_all(store, crawler)):
        some = set(random_.sample(sorted(found), k=random_.randint(1, min(3, len(found)))))
        visits = [fetched(found[url], *site[url]) for url in some]
        store.submit(crawler, visits, policy, released=[found[url] for url in set(found) - some], now=time.time())
        visited |= some
    expected = walked(site, A, 4)
    assert visited == set(expected)
    assert {url: depth(store, url) for url in visited} == expected
