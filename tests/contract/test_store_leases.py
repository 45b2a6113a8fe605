"""The queue: adding URLs and leasing them."""

from __future__ import annotations

import time

import pytest

from gossamer.model import HostUpdate, Kind, Outcome, Robots, Role, State, VisitBatch
from gossamer.store.protocol import LEASE_SECONDS, Store
from helpers.store.crawl_steps import (
    Bond,
    Open,
    Policy,
    admit_all,
    admit_none,
    candidate,
    digest,
    ended_visit,
    fetched_visit,
    join,
    lease_all,
    leases,
    requeue,
    seed,
    start,
    state,
    visit_all,
)

A, B, C = "http://a.test/", "http://a.test/b", "http://a.test/c"
OTHER = "http://b.test/"


def host_update(host: int, *, ready_in: float = 0.0, keep: bool = True, reason: str = "") -> HostUpdate:
    return HostUpdate(host=host, ready_at=time.time() + ready_in, delay=1.0, failures=2, reason=reason, keep=keep)


# -- add ---------------------------------------------------------------------------------------------------------------


def test_adding_distinguishes_new_from_known_urls(store: Store) -> None:
    (first,) = store.add([seed(A)], admit_all)
    again, other = store.add([seed(A), seed(B)], admit_all)
    assert (first.known, first.state) == (False, State.QUEUED)
    assert (again.known, again.resource) == (True, first.resource)
    assert not other.known


def test_a_rejected_url_is_stored_with_its_reason(store: Store) -> None:
    (added,) = store.add([candidate(A)], admit_none)
    assert (added.state, added.reason) == (State.OUT_OF_SCOPE, "elsewhere")
    assert state(store, A) == "out of scope"


def test_one_url_added_twice_is_one_resource(store: Store) -> None:
    one, two = store.add([seed(A), seed(A)], admit_all)
    assert one.resource == two.resource
    assert store.counts().resources["queued"] == 1


def test_a_failed_seed_is_queued_when_added_again(store: Store) -> None:
    crawler = start(store, A)
    (lease,) = leases(lease_all(store, crawler)).values()
    store.submit(
        crawler, VisitBatch(visits=[ended_visit(lease, Outcome.CONNECT, State.FAILED)]), admit_all, time.time()
    )
    assert store.add([candidate(A)], admit_all)[0].state is State.FAILED
    assert store.add([seed(A)], admit_all)[0].state is State.QUEUED


def test_a_visited_seed_is_unchanged_when_added_again(store: Store) -> None:
    visit_all(store, start(store, A), {A: []})
    assert store.add([seed(A)], admit_all)[0].state is State.VISITED


def test_hosts_include_their_port(store: Store) -> None:
    store.add([seed("http://a.test:8080/x"), seed("https://a.test/"), seed("http://[::1]:9/")], admit_all)
    assert {host.name for host in store.hosts()} == {"a.test:8080", "a.test", "[::1]:9"}


# -- lease -------------------------------------------------------------------------------------------------------------


def test_leases_are_ordered_by_priority_then_age(store: Store) -> None:
    crawler = join(store)
    deep = [candidate(f"http://a.test/{n}", depth=n % 3) for n in range(9)]
    store.add(deep, Policy())
    (host,) = lease_all(store, crawler, urls=5)
    assert [lease.url[-1] for lease in host.leases] == ["0", "3", "6", "1", "4"]


def test_pages_and_checks_share_one_order_of_priority(store: Store) -> None:
    crawler = join(store)
    picture = candidate("http://a.test/p.png", kind=Kind.IMAGE)
    store.add([candidate(B, depth=1), candidate(C, depth=2), picture, seed(A)], Policy(check=True))
    (host,) = lease_all(store, crawler, urls=3)
    assert [lease.url for lease in host.leases] == [picture.url, A, B]


def test_a_lease_has_the_validators_of_a_conditional_request(store: Store) -> None:
    crawler = start(store, A)
    visit_all(store, crawler, {A: []})
    requeue(store)
    lease = leases(lease_all(store, crawler))[A]
    assert (lease.etag, lease.last_modified, lease.depth) == ('"e"', "yesterday", 0)


def test_a_checked_resource_has_no_validators(store: Store) -> None:
    picture = Bond("http://a.test/p.png", Kind.IMAGE)
    policy = Policy(check=True)
    crawler = start(store, A)
    (lease,) = leases(lease_all(store, crawler)).values()
    store.submit(crawler, VisitBatch(visits=[fetched_visit(lease, picture)]), policy, time.time())
    (check,) = leases(lease_all(store, crawler)).values()
    store.submit(
        crawler,
        VisitBatch(visits=[ended_visit(check, Outcome.CHECKED, State.VISITED, status=200)]),
        policy,
        time.time(),
    )
    requeue(store)
    assert leases(lease_all(store, crawler))[picture.url].etag == ""


def test_only_the_holder_of_a_host_gets_more_of_its_urls(open_store: Open) -> None:
    store, other = open_store(), open_store()
    crawler, stranger = start(store, A, B, C), join(other)
    (host,) = lease_all(store, crawler, urls=1)
    assert not other.lease(stranger, hosts=9, urls=9, held=[host.host], now=time.time())
    (more,) = store.lease(crawler, hosts=0, urls=9, held=[host.host], now=time.time())
    assert len(more.leases) == 2


def test_hosts_that_are_ready_soonest_are_leased_first(store: Store) -> None:
    crawler = start(store, A, OTHER)
    hosts = lease_all(store, crawler)
    later = [host_update(host.host, ready_in=9 if host.name == "a.test" else 3, keep=False) for host in hosts]
    store.submit(crawler, VisitBatch(hosts=later), admit_all, time.time())
    assert [host.name for host in lease_all(store, crawler)] == ["b.test", "a.test"]


def test_a_host_that_must_wait_long_is_not_leased(store: Store) -> None:
    crawler = start(store, A)
    (host,) = lease_all(store, crawler)
    away = host_update(host.host, ready_in=LEASE_SECONDS + 5, keep=False, reason="asked to wait")
    store.submit(crawler, VisitBatch(hosts=[away]), admit_all, time.time())
    assert not lease_all(store, crawler)
    (waiting,) = store.waiting_hosts(crawler)
    assert (waiting.host, waiting.queued, waiting.holder, waiting.reason) == ("a.test", 1, "", "asked to wait")
    assert store.lease(crawler, hosts=1, urls=1, held=(), now=time.time() + 10)


def test_releasing_a_host_releases_its_leases(store: Store) -> None:
    crawler = start(store, A, B)
    (host,) = lease_all(store, crawler)
    store.submit(crawler, VisitBatch(hosts=[host_update(host.host, keep=False)]), admit_all, time.time())
    assert store.counts().resources["queued"] == 2
    assert store.hosts()[0].holder == ""


def test_an_update_of_a_host_held_by_another_crawler_is_ignored(open_store: Open) -> None:
    store, other = open_store(), open_store()
    crawler, stranger = start(store, A), join(other)
    (host,) = lease_all(store, crawler)
    other.submit(
        stranger, VisitBatch(hosts=[host_update(host.host, keep=False, reason="mine")]), admit_all, time.time()
    )
    (row,) = store.hosts()
    assert (row.holder, row.reason, row.failures) == ("Naiad", "", 0)


def test_the_next_lease_of_a_host_includes_its_robots_and_failures(store: Store) -> None:
    crawler = start(store, A)
    (host,) = lease_all(store, crawler)
    rules = Robots(host=host.host, scheme="http", outcome="rules", text="User-agent: *", fetched_at=5.0)
    newer = Robots(host=host.host, scheme="http", outcome="unavailable", text="", fetched_at=6.0, reason="404")
    secure = Robots(host=host.host, scheme="https", outcome="rules", text="", fetched_at=7.0)
    for known in ([rules, secure], [newer]):
        store.submit(crawler, VisitBatch(robots=known), admit_all, time.time())
    store.submit(crawler, VisitBatch(hosts=[host_update(host.host, keep=False)]), admit_all, time.time())
    (again,) = lease_all(store, crawler)
    assert set(again.robots) == {newer, secure}
    assert again.failures == 2


def test_a_lease_can_be_released_unused(store: Store) -> None:
    crawler = start(store, A, B)
    leased = leases(lease_all(store, crawler))
    store.submit(crawler, VisitBatch(released=[leased[A]]), admit_all, time.time())
    assert (state(store, A), state(store, B)) == ("queued", "leased")
    assert not store.visits(leased[A].resource)


def test_a_failed_url_is_queued_again_with_its_tries_counted(store: Store) -> None:
    crawler = start(store, A)
    for tries in range(3):
        lease = leases(lease_all(store, crawler))[A]
        assert lease.tries == tries
        again = ended_visit(lease, Outcome.TIMEOUT, State.QUEUED, reason="no answer")
        store.submit(crawler, VisitBatch(visits=[again]), admit_all, time.time())
    visit_all(store, crawler, {A: []})
    row = store.resource(digest(A))
    assert row is not None
    assert (row.tries, row.visits, row.state) == (0, 4, "visited")


def test_waiting_hosts_have_their_holder(open_store: Open) -> None:
    store, other = open_store(), open_store()
    crawler, stranger = start(store, A, B), join(other)
    lease_all(store, crawler, urls=1)
    (waiting,) = other.waiting_hosts(stranger)
    assert (waiting.host, waiting.queued, waiting.holder) == ("a.test", 1, "Naiad")
    assert not store.waiting_hosts(crawler)


def test_a_wait_of_a_month_came_from_a_wrong_clock_and_is_ignored(open_store: Open) -> None:
    store = open_store()
    crawler = start(store, A)
    (host,) = lease_all(store, crawler)
    ahead = time.time() + 30 * 86_400
    update = HostUpdate(host=host.host, ready_at=ahead, delay=0, failures=0, keep=False)
    store.submit(crawler, VisitBatch(hosts=[update]), admit_all, ahead)
    assert not lease_all(store, crawler)
    assert leases(lease_all(store, join(store))).keys() == {A}


def test_a_crawler_waits_for_urls_that_another_has_leased(open_store: Open) -> None:
    store, other = open_store(), open_store()
    crawler, stranger = start(store, A), join(other)
    (lease,) = leases(lease_all(store, crawler)).values()
    (waiting,) = other.waiting_hosts(stranger)
    assert (waiting.host, waiting.queued, waiting.holder) == ("a.test", 0, "Naiad")
    store.submit(crawler, VisitBatch(visits=[fetched_visit(lease)]), admit_all, time.time())
    assert not other.waiting_hosts(stranger)


# -- limits ------------------------------------------------------------------------------------------------------------


def test_a_page_limit_holds_exactly_across_crawlers(open_store: Open) -> None:
    store, other = open_store(), open_store()
    one, two = join(store), join(other)
    store.begin_round("{}", [], 5, None)
    store.add([seed(f"http://{host}.test/{n}") for host in "ab" for n in range(9)], admit_all)
    first = leases(lease_all(store, one, hosts=1, urls=3))
    second = leases(lease_all(other, two))
    assert (len(first), len(second)) == (3, 2)
    visits = [fetched_visit(lease) for lease in first.values()]
    store.submit(one, VisitBatch(visits=visits[:2]), admit_all, time.time())
    assert not lease_all(store, one)
    failed = ended_visit(visits[2].lease, Outcome.NOT_FOUND, State.GONE)
    store.submit(one, VisitBatch(visits=[failed]), admit_all, time.time())
    assert len(leases(lease_all(store, one))) == 1, "only pages count"


def test_a_round_at_its_page_limit_has_no_waiting_hosts(store: Store) -> None:
    crawler = join(store)
    store.begin_round("{}", [], 2, None)
    store.add([seed(f"http://{host}.test/") for host in "abcd"], admit_all)
    visit_all(store, crawler, {f"http://{host}.test/": [] for host in "abcd"})
    current = store.current_round()
    assert current is not None
    assert current.pages == 2
    assert not store.waiting_hosts(crawler)
    assert store.counts().resources["queued"] == 2


def test_a_limit_per_host_holds_exactly_and_leaves_the_rest_queued(store: Store) -> None:
    crawler = join(store)
    store.begin_round("{}", [], None, 3)
    urls = [f"http://{host}.test/{n}" for host in "ab" for n in range(5)]
    store.add([seed(url) for url in urls], admit_all)
    visit_all(store, crawler, {url: [] for url in urls}, urls=2)
    assert {(row.pages, row.queued) for row in store.hosts()} == {(3, 2)}
    for row in store.hosts():
        store.submit(crawler, VisitBatch(hosts=[host_update(row.id, keep=False)]), admit_all, time.time())
    assert not store.waiting_hosts(crawler)
    store.begin_round("{}", [], None, 4)
    visit_all(store, crawler, {url: [] for url in urls})
    assert {row.pages for row in store.hosts()} == {5}, "a new round starts its own count"


def test_leased_pages_count_towards_the_limit_per_host(store: Store) -> None:
    crawler = join(store)
    store.begin_round("{}", [], None, 3)
    store.add([seed(f"http://a.test/{n}") for n in range(9)], admit_all)
    assert [len(leases(lease_all(store, crawler, urls=2))) for _ in range(3)] == [2, 1, 0]


@pytest.mark.parametrize("limits", [(1, None), (None, 1)])
def test_page_limits_do_not_hold_back_link_checks(store: Store, limits: tuple[int | None, int | None]) -> None:
    policy = Policy(check=True)
    crawler = join(store)
    store.begin_round("{}", [], *limits)
    store.add([seed(A)], policy)
    picture = Bond("http://a.test/p.png", Kind.IMAGE)
    (lease,) = leases(lease_all(store, crawler)).values()
    keep = host_update(lease.host, keep=False)
    store.submit(crawler, VisitBatch(visits=[fetched_visit(lease, B, picture)], hosts=[keep]), policy, time.time())
    (check,) = leases(lease_all(store, crawler)).values()
    assert (check.url, check.role) == (picture.url, Role.CHECK)


# -- claim -------------------------------------------------------------------------------------------------------------


def test_claimed_urls_are_leased_in_any_state(store: Store) -> None:
    visit_all(store, start(store, A), {A: []})
    store.add([candidate(B)], admit_none)
    importer = join(store)
    store.leave(1)
    claimed = store.lease_urls(importer, [candidate(A), candidate(B), candidate(C)], now=time.time())
    assert [lease and lease.url for lease in claimed] == [A, B, C]
    assert store.counts().resources["leased"] == 3
    visits = [fetched_visit(lease, body="imported") for lease in claimed if lease]
    store.submit(importer, VisitBatch(visits=visits), admit_all, time.time())
    assert {state(store, url) for url in (A, B, C)} == {"visited"}


def test_urls_of_a_host_held_by_another_crawler_are_not_claimed(open_store: Open) -> None:
    store, other = open_store(), open_store()
    lease_all(store, start(store, A))
    importer = join(other)
    claimed = other.lease_urls(importer, [candidate(B), candidate(OTHER)], now=time.time())
    assert [lease and lease.url for lease in claimed] == [None, OTHER]
    assert other.resource(digest(B)) is None
