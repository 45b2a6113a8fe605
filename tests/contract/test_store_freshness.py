"""Revisits: what stays, what is replaced, what the history records, and what is due next."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from gossamer.model import Hints, HostUpdate, Kind, Lease, Outcome, State, Visit, VisitBatch
from gossamer.revisit.evidence import DAY
from gossamer.revisit.pace import LISTING, MISSING_ONCE, UNREACHABLE, PaceLimits, Schedule, VisitBudget
from helpers.store.crawl_steps import (
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
    start,
    state,
    visit_all,
)

if TYPE_CHECKING:
    from gossamer.store.protocol import Store
    from gossamer.store.values import ResourceRow

A, B, C, D = "http://a.test/", "http://a.test/b", "http://a.test/c", "http://a.test/d"
SITEMAP = "http://a.test/sitemap.xml"
START = 1_000_000_000.0
ANY_TIME = Schedule(limits=PaceLimits(shortest=0.0, longest=30 * DAY))


def row(store: Store, url: str) -> ResourceRow:
    resource = store.resource(digest(url))
    assert resource is not None
    return resource


def lease_again(store: Store, crawler: int, url: str) -> Lease:
    """Lease a page that was visited before."""
    (lease,) = store.lease_urls(crawler, [candidate(url)], time.time())
    assert lease is not None
    return lease


def submit(store: Store, crawler: int, *visits: Visit) -> None:
    store.submit(crawler, VisitBatch(visits=visits), Policy(), time.time())


def relinked_urls(store: Store, since: int) -> set[str]:
    """Return URLs whose anchor texts may have changed, with changed pages and their targets."""
    ids = {resource for some in store.relinked_documents(since) for resource in some}
    return {row.url for row in store.resources() if row.id in ids}


@pytest.fixture
def crawler(store: Store) -> int:
    """Crawl a web of three pages: A links to B and C, B to C."""
    crawler = start(store, A)
    visit_all(store, crawler, {A: [Bond(B, anchor="to b"), C], B: [C], C: []})
    return crawler


# -- the same ----------------------------------------------------------------------------------------------------------


def test_a_page_not_modified_keeps_everything_derived_from_it(store: Store, crawler: int) -> None:
    before = row(store, A)
    submit(store, crawler, ended_visit(lease_again(store, crawler, A), Outcome.NOT_MODIFIED, State.VISITED, status=304))
    after = row(store, A)
    assert (after.state, after.outcome, after.visits) == ("visited", "not modified", 2)
    assert (after.version, after.title, after.content_digest) == (before.version, before.title, before.content_digest)
    assert store.text(after.id) is not None
    assert len(store.outlinks(after.id)) == 2
    assert store.history(after.id) == []


def test_an_identical_body_causes_no_change(store: Store, crawler: int) -> None:
    version = row(store, A).version
    same = fetched_visit(lease_again(store, crawler, A), Bond(B, anchor="to b"), C, body=f"the body of {A}")
    before = store.version()
    submit(store, crawler, replace(same, etag='"new"'))
    assert row(store, A).version == version
    assert row(store, A).etag == '"new"'
    assert relinked_urls(store, before) == set()


def test_a_body_that_differs_only_in_time_stamps_is_unchanged(store: Store, crawler: int) -> None:
    first = fetched_visit(lease_again(store, crawler, C), body="Spiders. Generated on 2024-05-12 10:11:12")
    submit(store, crawler, first)
    version, changes = row(store, C).version, len(store.history(row(store, C).id))
    submit(
        store, crawler, fetched_visit(lease_again(store, crawler, C), body="Spiders. Generated on 2024-05-13 09:00:00")
    )
    assert row(store, C).version == version
    assert len(store.history(row(store, C).id)) == changes
    assert b"05-13" in (store.source(row(store, C).id) or b""), "the stored source is still the newest"


# -- changed -----------------------------------------------------------------------------------------------------------


def test_a_change_is_recorded_with_the_previous_state(store: Store, crawler: int) -> None:
    version = row(store, B).version
    submit(
        store, crawler, fetched_visit(lease_again(store, crawler, B), Bond(D, anchor="to d"), title="Another", at=9.0)
    )
    assert row(store, B).version > version
    (change,) = store.history(row(store, B).id)
    assert (change.event, change.title, change.now_title, change.status) == ("changed", "A title", "Another", 200)
    assert set(change.parts) == {"text", "title", "links"}
    assert [(bond.url, bond.anchor) for bond in change.lost] == [(C, "")]
    assert [(bond.url, bond.anchor) for bond in change.gained] == [(D, "to d")]
    assert change.found_at == 9.0


def test_targets_that_gained_or_lost_a_link_are_reported(store: Store, crawler: int) -> None:
    version = store.version()
    submit(store, crawler, fetched_visit(lease_again(store, crawler, A), C, D))
    assert relinked_urls(store, version) >= {B, D}, "one link lost, one gained"
    assert relinked_urls(store, store.version()) == set()
    recount(store)


# -- gone --------------------------------------------------------------------------------------------------------------


def test_a_page_not_found_once_keeps_its_content(store: Store, crawler: int) -> None:
    version = row(store, B).version
    submit(store, crawler, gone_visit(lease_again(store, crawler, B)))
    page = row(store, B)
    assert (page.state, page.title, page.version) == ("gone", "A title", version)
    assert store.text(page.id) is not None
    assert len(store.outlinks(page.id)) == 1
    assert store.pace(page.id) == MISSING_ONCE


def test_a_page_not_found_twice_loses_content_and_links_but_not_history(store: Store, crawler: int) -> None:
    version = store.version()
    for _ in range(2):
        submit(store, crawler, gone_visit(lease_again(store, crawler, B)))
    page = row(store, B)
    assert (page.state, page.title, page.content_digest) == ("gone", "", "")
    assert page.version > version
    assert store.text(page.id) is None
    assert store.outlinks(page.id) == []
    assert C in relinked_urls(store, version)
    assert row(store, C).backlinks == 1
    (change,) = store.history(page.id)
    assert (change.event, change.title, change.status) == ("gone", "A title", 404)
    assert len(store.visits(page.id)) == 3
    recount(store)


def test_a_page_missing_only_once_has_no_history(store: Store, crawler: int) -> None:
    submit(store, crawler, gone_visit(lease_again(store, crawler, B)))
    submit(store, crawler, ended_visit(lease_again(store, crawler, B), Outcome.NOT_MODIFIED, State.VISITED, status=304))
    assert state(store, B) == "visited"
    assert store.history(row(store, B).id) == []
    submit(store, crawler, gone_visit(lease_again(store, crawler, B)))
    assert store.text(row(store, B).id) is not None, "the two failures were not consecutive"


def test_a_page_that_comes_back_is_recorded_as_appeared(store: Store, crawler: int) -> None:
    for _ in range(2):
        submit(store, crawler, gone_visit(lease_again(store, crawler, B)))
    submit(store, crawler, fetched_visit(lease_again(store, crawler, B), C))
    assert [change.event for change in store.history(row(store, B).id)] == ["gone", "appeared"]


def test_a_page_that_now_redirects_is_recorded_as_moved(store: Store, crawler: int) -> None:
    submit(store, crawler, redirected_visit(lease_again(store, crawler, B), D))
    page = row(store, B)
    assert store.text(page.id) is None
    assert [(bond.url, bond.kind) for bond in store.outlinks(page.id)] == [(D, "redirect")]
    assert state(store, D) == "queued"
    (change,) = store.history(page.id)
    assert change.event == "moved"
    version = row(store, B).version
    submit(store, crawler, redirected_visit(lease_again(store, crawler, B), D))
    assert row(store, B).version == version, "the target has not changed"


def test_pages_of_an_unreachable_host_keep_their_content(store: Store, crawler: int) -> None:
    version = store.version()
    for outcome in (Outcome.TIMEOUT, Outcome.CONNECT, Outcome.DNS):
        for url in (A, B, C):
            submit(store, crawler, ended_visit(lease_again(store, crawler, url), outcome, State.FAILED))
    for url, number in ((A, 2), (B, 1), (C, 0)):
        page = row(store, url)
        assert (page.state, page.title) == ("failed", "A title")
        assert page.version <= version
        assert store.text(page.id) is not None
        assert len(store.outlinks(page.id)) == number
        assert store.pace(page.id) == UNREACHABLE
    assert relinked_urls(store, version) == set()


def test_a_page_queued_for_a_revisit_keeps_its_content(store: Store, crawler: int) -> None:
    store.begin_round("{}", [], None, None, "all")
    assert state(store, A) == "queued"
    assert store.text(row(store, A).id) is not None
    lease_all(store, crawler)
    assert state(store, A) == "leased"
    assert len(store.outlinks(row(store, A).id)) == 2
    assert store.counts().documents == 3


def test_changed_parse_settings_make_requests_unconditional(store: Store, crawler: int) -> None:
    store.begin_round('{"max_depth": 9}', [], None, None, "all")
    assert {lease.etag for lease in leases(lease_all(store, crawler)).values()} == {'"e"'}
    store.begin_round('{"links": false}', [], None, None, "all")
    store.leave(crawler)
    assert {lease.etag for lease in leases(lease_all(store, store.join("here", 1).id)).values()} == {""}


# -- what is due -------------------------------------------------------------------------------------------------------


def crawl_pages(store: Store, number: int, hosts: int = 1) -> int:
    """Crawl pages that were all visited at START."""
    urls = [f"http://{n % hosts}.test/{n}" for n in range(number)]
    crawler = start(store, *urls)
    leased = leases(lease_all(store, crawler, urls=number))
    visits = [fetched_visit(lease, body=url, at=START) for url, lease in leased.items()]
    store.submit(crawler, VisitBatch(visits=visits), Policy(), START)
    return crawler


def queued_urls(store: Store) -> set[str]:
    return {row.url for row in store.resources(State.QUEUED)}


def test_a_round_queues_only_pages_that_are_due(store: Store) -> None:
    crawler = crawl_pages(store, 10)
    store.begin_round("{}", [], None, None, Schedule(limits=PaceLimits(shortest=1e10, longest=1e10)))
    assert queued_urls(store) == set()
    store.begin_round("{}", [], None, None, ANY_TIME)
    assert len(queued_urls(store)) == 10
    recount(store)
    assert store.pace_counts() == {}
    visit_all(store, crawler, {})


def test_a_budget_is_spread_over_its_period_and_then_renewed(store: Store) -> None:
    crawler = crawl_pages(store, 200)
    now, budget = START + 3 * DAY, VisitBudget(pages=60, seconds=3600.0)
    rounds = 0
    for minute in range(0, 125, 5):
        store.keep_fresh(ANY_TIME, budget, now + minute * 60)
        leased = leases(store.lease(crawler, hosts=1, urls=100, held=[1], now=now + minute * 60))
        visits = [fetched_visit(lease, body=url, at=now + minute * 60) for url, lease in leased.items()]
        store.submit(crawler, VisitBatch(visits=visits), Policy(), now)
        assert len(visits) <= 6, "five pages for five minutes, and one that was already begun"
        current = store.current_round()
        assert current is not None
        rounds = max(rounds, current.id)
    assert rounds == 4, "the first crawl, and one per started hour"
    assert sum(len(store.visits(row.id)) - 1 for row in store.resources()) in range(110, 126)


def test_each_host_gets_exactly_its_share_of_the_budget(store: Store) -> None:
    crawl_pages(store, 300, hosts=3)
    now = START + 10 * DAY
    store.keep_fresh(ANY_TIME, VisitBudget(pages=100, per_host=20, seconds=3600.0), now)
    store.keep_fresh(ANY_TIME, VisitBudget(pages=100, per_host=20, seconds=3600.0), now + 3600.0 - 1)
    by_host = {host.name: host.queued for host in store.hosts()}
    assert by_host == {"0.test": 20, "1.test": 20, "2.test": 20}


def test_a_host_that_must_wait_does_not_delay_others(store: Store) -> None:
    crawler = crawl_pages(store, 20, hosts=2)
    now = START + 10 * DAY
    requeue(store)
    store.leave(crawler)
    crawler = store.join("here", 1).id
    leased = leases(lease_all(store, crawler, hosts=2, urls=20))
    down = {host.name: host.id for host in store.hosts()}["0.test"]
    visits = [fetched_visit(lease, body="x", at=START) for url, lease in leased.items() if "1.test" in url]
    update = HostUpdate(host=down, ready_at=now + DAY, delay=0.0, failures=3, reason="it is down", keep=False)
    store.submit(crawler, VisitBatch(visits=visits, hosts=[update]), Policy(), now)
    store.keep_fresh(ANY_TIME, VisitBudget(pages=10, seconds=3600.0), now)
    store.keep_fresh(ANY_TIME, VisitBudget(pages=10, seconds=3600.0), now + 3599.0)
    assert {host.name: host.queued for host in store.hosts()} == {"0.test": 10, "1.test": 10}


def test_a_page_that_sometimes_changes_comes_before_one_that_never_does(store: Store) -> None:
    crawler = crawl_pages(store, 2)
    lively, still = "http://0.test/0", "http://0.test/1"
    for visit in range(1, 9):
        at = START + visit * 3 * DAY
        lease = lease_again(store, crawler, lively)
        submit(store, crawler, fetched_visit(lease, body=str(visit), at=at))
        unchanged = ended_visit(lease_again(store, crawler, still), Outcome.NOT_MODIFIED, State.VISITED, status=304)
        submit(store, crawler, replace(unchanged, visited_at=at))
    now = START + 9 * 3 * DAY
    store.keep_fresh(ANY_TIME, VisitBudget(pages=1, seconds=3600.0), now)
    store.keep_fresh(ANY_TIME, VisitBudget(pages=1, seconds=3600.0), now + 3000.0)
    assert queued_urls(store) == {lively}


def sitemap_visit(lease: Lease, at: float, **dates: float) -> Visit:
    """Return a visit of a sitemap that gives dates to the pages of a host."""
    urls = [f"http://0.test/{name[1:]}" for name in dates]
    visit = fetched_visit(lease, *urls, body=str(at), at=at)
    assert visit.page is not None
    hints = Hints([digest(url) for url in urls], list(dates.values()), [0.0] * len(urls))
    return replace(visit, page=replace(visit.page, hints=hints))


def sitemap_lease(store: Store, crawler: int) -> Lease:
    store.add([candidate(SITEMAP, kind=Kind.SITEMAP_FILE)], Policy())
    return leases(lease_all(store, crawler))[SITEMAP]


def test_pages_that_a_sitemap_reports_as_newer_come_first(store: Store) -> None:
    crawler = crawl_pages(store, 5)
    now = START + 2 * DAY
    submit(store, crawler, sitemap_visit(sitemap_lease(store, crawler), now, _3=START + DAY, _1=START - DAY))
    assert store.pace(row(store, SITEMAP).id) == LISTING
    store.keep_fresh(ANY_TIME, VisitBudget(pages=1, seconds=3600.0), now)
    store.keep_fresh(ANY_TIME, VisitBudget(pages=1, seconds=3600.0), now + 3000.0)
    assert queued_urls(store) == {"http://0.test/3"}


def test_a_sitemap_that_is_wrong_twice_about_a_page_is_ignored(store: Store) -> None:
    crawler = crawl_pages(store, 1)
    url = "http://0.test/0"
    without_hint = store.pace(row(store, url).id)
    paces = []
    for visit in range(1, 4):
        at = START + visit * DAY
        lease = sitemap_lease(store, crawler) if visit == 1 else lease_again(store, crawler, SITEMAP)
        submit(store, crawler, sitemap_visit(lease, at, _0=at))
        paces.append(store.pace(row(store, url).id))
        unchanged = ended_visit(lease_again(store, crawler, url), Outcome.NOT_MODIFIED, State.VISITED, status=304)
        submit(store, crawler, replace(unchanged, visited_at=at + 1))
    assert without_hint is not None
    newer = [pace is not None and pace // 256 == 2 for pace in paces]
    assert newer == [True, True, False]


def test_freshness_reports_ages_and_due_pages(store: Store) -> None:
    crawl_pages(store, 100)
    fresh = store.freshness(ANY_TIME, START + 7 * DAY)
    assert fresh.pages == 100
    assert fresh.ages == {"50": 7 * DAY, "90": 7 * DAY, "99": 7 * DAY, "100": 7 * DAY}
    assert 0.2 < fresh.out_of_date < 0.6, "without evidence a page changes once in two weeks"
    assert fresh.due == 100
    at_once = store.freshness(ANY_TIME, START)
    assert (at_once.out_of_date, at_once.due) == (0.0, 0)
    assert at_once.next_at is not None
    assert START < at_once.next_at < START + 7 * DAY


def test_a_web_without_pages_is_neither_fresh_nor_stale(store: Store) -> None:
    fresh = store.freshness(ANY_TIME, START)
    assert (fresh.pages, fresh.ages, fresh.out_of_date, fresh.due, fresh.next_at) == (0, {}, 0.0, 0, None)
