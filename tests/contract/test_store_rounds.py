"""Rounds: their settings, and the effect of a new round on known resources."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from gossamer.model import Kind, Outcome, State, VisitBatch
from helpers.store.crawl_steps import (
    AT_WORK,
    Bond,
    Open,
    Policy,
    admit_all,
    candidate,
    digest,
    ended_visit,
    fetched_visit,
    join,
    lease_all,
    leases,
    redirected_visit,
    requeue,
    start,
    state,
    visit_all,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from gossamer.model import Lease, Visit
    from gossamer.store.protocol import Store
    from helpers.store.crawl_steps import Site

A, B, C = "http://a.test/", "http://a.test/b", "http://a.test/c"
ELSEWHERE = "http://x.test/"


def test_a_new_web_has_no_round(store: Store) -> None:
    assert store.current_round() is None


def test_a_round_keeps_seeds_settings_and_limits(store: Store) -> None:
    begun = store.begin_round('{"max_depth": 3}', [A, B], 100, 10)
    assert store.current_round() == begun
    assert (begun.seeds, begun.settings, begun.max_pages, begun.max_pages_per_host) == (
        (A, B),
        '{"max_depth": 3}',
        100,
        10,
    )
    assert (begun.pages, begun.finished_at) == (0, None)


def test_seeds_of_a_round_stay_seeds_in_the_next(store: Store) -> None:
    store.begin_round("{}", [A, B], None, None)
    assert store.begin_round("{}", [C, A], None, None).seeds == (A, B, C)


def test_seeds_are_read_again_only_after_a_change(store: Store) -> None:
    crawler = start(store, A)
    seen = store.current_round()
    assert seen is not None
    same = store.current_round()
    assert same == seen
    assert (same.seeds is seen.seeds, same.joined is seen.joined) == (True, True)
    store.add([candidate(B, seed=True)], Policy())
    joined = store.current_round()
    assert joined is not None
    assert (joined.seeds, joined.joined) == ((A,), (B,))
    store.begin_round("{}", [C], None, None)
    begun = store.current_round()
    assert begun is not None
    assert (begun.seeds, begun.joined) == ((A, C), (B,))
    visit_all(store, crawler, {A: [], B: []})
    visited = store.current_round()
    assert visited is not None
    assert (visited.pages, visited.seeds is begun.seeds) == (2, True)


def test_a_round_finishes_only_when_nothing_is_queued_or_leased(store: Store) -> None:
    crawler = start(store, A)
    store.finish_round(5.0)
    assert (current := store.current_round()) is not None
    assert current.finished_at is None, "queued"
    lease_all(store, crawler)
    store.finish_round(6.0)
    assert (current := store.current_round()) is not None
    assert current.finished_at is None, "leased"
    store.leave(crawler)
    visit_all(store, start(store), {A: []})
    store.finish_round(7.0)
    assert (current := store.current_round()) is not None
    assert current.finished_at == 7.0


def test_a_round_counts_only_pages(store: Store) -> None:
    visit_all(store, start(store, A), {A: [B, C], B: []})
    current = store.current_round()
    assert current is not None
    assert current.pages == 2, "the third is gone"


def test_the_queue_carries_over_into_a_new_round(store: Store) -> None:
    crawler = start(store, A, B)
    store.begin_round("{}", [C], None, None)
    assert set(visit_all(store, crawler, {A: [], B: []})) == {A, B}
    assert [visit.round for visit in store.visits(1)] == [2]


# -- revisit all -------------------------------------------------------------------------------------------------------


def test_a_round_that_revisits_all_queues_all_visited_pages(store: Store) -> None:
    crawler = start(store, A)
    site: Site = {A: [B, C, Bond(ELSEWHERE, Kind.IMAGE)], B: []}
    visit_all(store, crawler, site, admit=Policy())
    requeue(store)
    assert store.counts().resources["queued"] == 3, "two pages and a gone one, not the image"
    assert set(visit_all(store, crawler, site, admit=Policy())) == {A, B, C}


def test_a_round_that_revisits_all_skips_visits_by_a_clock_that_is_ahead(store: Store) -> None:
    crawler = start(store, A)
    (lease,) = leases(lease_all(store, crawler)).values()
    ahead = time.time() + 3600
    store.submit(crawler, VisitBatch(visits=[fetched_visit(lease, at=ahead)]), admit_all, ahead)
    requeue(store)
    assert state(store, A) == "visited"


# -- readmit -----------------------------------------------------------------------------------------------------------


def test_a_wider_scope_queues_resources_that_were_out_of_scope(store: Store) -> None:
    crawler = start(store, A)
    visit_all(store, crawler, {A: [ELSEWHERE, B]}, admit=Policy(host="a.test"))
    assert state(store, ELSEWHERE) == "out of scope"
    assert store.readmit(Policy()) == 1
    assert state(store, ELSEWHERE) == "queued"
    assert ELSEWHERE in visit_all(store, crawler, {ELSEWHERE: []})


def test_a_narrower_scope_removes_queued_resources(store: Store) -> None:
    crawler = start(store, A, ELSEWHERE)
    assert store.readmit(Policy(host="a.test")) == 1
    assert state(store, ELSEWHERE) == "out of scope"
    assert visit_all(store, crawler, {A: []}) == [A]


def test_readmission_judges_each_resource_by_its_best_claim(store: Store) -> None:
    crawler = start(store, A)
    bonds = [Bond(B, follow=False, anchor="no"), Bond(C, Kind.STYLE), Bond(ELSEWHERE, anchor="there")]
    visit_all(store, crawler, {A: bonds}, admit=Policy(host="a.test"))
    policy = Policy()
    store.readmit(policy)
    judged = {one.url: (one.kind, one.follow, one.depth, one.anchor, one.backlinks) for one in policy.candidates}
    assert judged == {
        B: (Kind.HYPERLINK, False, 1, "no", 1),
        C: (Kind.STYLE, True, 1, "", 0),
        ELSEWHERE: (Kind.HYPERLINK, True, 1, "there", 1),
    }


def test_readmission_judges_thousands_of_resources(store: Store) -> None:
    urls = [f"http://x.test/{n}" for n in range(4_500)]
    crawler = start(store, A)
    visit_all(store, crawler, {A: urls}, admit=Policy(host="a.test"))
    assert store.readmit(Policy()) == 4_500
    assert store.counts().resources["queued"] == 4_500


def leased_at_work(store: Store, *urls: str) -> tuple[int, dict[str, Lease]]:
    """Join a crawler that is at work, and lease all URLs."""
    crawler = start(store, *urls)
    store.heartbeat(crawler, AT_WORK, time.time())
    return crawler, leases(lease_all(store, crawler))


def test_a_narrower_scope_ends_leases(store: Store) -> None:
    crawler, leased = leased_at_work(store, A, B, ELSEWHERE)
    assert store.readmit(Policy(host="a.test")) == 1
    assert [state(store, url) for url in (A, B, ELSEWHERE)] == ["leased", "leased", "out of scope"]
    again = ended_visit(leased[ELSEWHERE], Outcome.TIMEOUT, State.QUEUED)
    visits = [fetched_visit(leased[A]), again]
    assert store.submit(crawler, VisitBatch(visits=visits, released=[leased[B]]), Policy(), time.time()).lost == 1
    assert [state(store, url) for url in (A, B, ELSEWHERE)] == ["visited", "queued", "out of scope"]


def test_leases_of_a_dead_crawler_outside_a_narrower_scope_are_dropped(open_store: Open) -> None:
    dead = open_store()
    leased_at_work(dead, A, ELSEWHERE)
    dead.close()
    store = open_store()
    store.readmit(Policy(host="a.test"))
    assert set(leases(lease_all(store, join(store)))) == {A}


def test_a_narrower_scope_does_not_end_leases_of_an_import(store: Store) -> None:
    importing = start(store, A)
    (lease,) = store.lease_urls(importing, [candidate(ELSEWHERE)], time.time())
    assert lease is not None
    store.readmit(Policy(host="a.test"))
    assert store.submit(importing, VisitBatch(visits=[fetched_visit(lease)]), Policy(), time.time()).lost == 0
    assert state(store, ELSEWHERE) == "visited"


def test_a_new_scope_reaches_the_cache_of_other_processes(open_store: Open) -> None:
    """Another process removed a page; a store object that has it cached must judge it again."""
    store = open_store()
    crawler = start(store, A, B)
    leased = leases(lease_all(store, crawler))
    store.submit(
        crawler, VisitBatch(visits=[fetched_visit(leased[A], Bond(ELSEWHERE, Kind.CANONICAL))]), Policy(), time.time()
    )
    assert state(store, ELSEWHERE) == "queued"
    open_store().readmit(Policy(host="a.test"))
    assert state(store, ELSEWHERE) == "out of scope"
    store.submit(crawler, VisitBatch(visits=[fetched_visit(leased[B], ELSEWHERE)]), Policy(), time.time())
    assert state(store, ELSEWHERE) == "queued"


def depths(store: Store, urls: list[str]) -> list[int]:
    rows = [store.resource(digest(url)) for url in urls]
    return [row.depth for row in rows if row is not None]


def visit_one(store: Store, crawler: int, make_visit: Callable[[Lease], Visit], url: str) -> None:
    """Visit one URL without limits, whatever else is due."""
    leased = leases(lease_all(store, crawler))
    rest = [lease for other, lease in leased.items() if other != url]
    store.submit(crawler, VisitBatch(visits=[make_visit(leased[url])], released=rest), Policy(), time.time())


@pytest.mark.parametrize("between", ["{}", '{"max_depth": 1}'], ids=["no limit", "a smaller limit"])
def test_a_depth_limit_uses_the_shortest_paths_of_all_earlier_rounds(store: Store, between: str) -> None:
    """The crawl finds a long chain first, then a way into its middle in a round that does not propagate depths."""
    chain = [f"http://a.test/{n}" for n in range(6)]
    crawler = start(store, A, B, settings='{"max_depth": 9}')
    visit_one(store, crawler, lambda lease: fetched_visit(lease, chain[0]), A)
    visit_one(store, crawler, lambda lease: fetched_visit(lease, chain[1]), chain[0])
    visit_one(store, crawler, lambda lease: fetched_visit(lease, chain[2], Bond(chain[5], follow=False)), chain[1])
    visit_one(store, crawler, lambda lease: redirected_visit(lease, chain[3]), chain[2])
    visit_one(store, crawler, lambda lease: fetched_visit(lease, chain[4]), chain[3])
    visit_one(store, crawler, lambda lease: fetched_visit(lease, chain[5]), chain[4])
    assert depths(store, chain) == [1, 2, 3, 3, 4, 5]
    store.begin_round(between, [A, B], None, None)
    visit_one(store, crawler, lambda lease: fetched_visit(lease, chain[1]), B)
    assert depths(store, chain) == [1, 1, 3, 3, 4, 5]
    store.begin_round('{"max_depth": 4}', [A, B], None, None)
    store.readmit(Policy(max_depth=4))
    assert depths(store, chain) == [1, 1, 2, 2, 3, 4]
    assert state(store, chain[5]) == "queued"
