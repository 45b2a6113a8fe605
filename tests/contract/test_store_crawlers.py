"""Crawlers: names, heartbeats, and how others take over the work of lost ones."""

from __future__ import annotations

import time

import pytest
from msgspec import structs

from gossamer.model import HostLease, HostUpdate, Robots, VisitBatch
from gossamer.store.protocol import LEASE_SECONDS, Store
from gossamer.store.values import CrawlerReport
from helpers.store.crawl_steps import (
    Open,
    admit_all,
    candidate,
    digest,
    fetched_visit,
    join,
    lease_all,
    leases,
    start,
    state,
    visit_all,
)

PAGE = "http://a.test/"
AT_WORK = CrawlerReport(
    state="running", pages=3, pages_per_second=1.5, bytes_per_second=9.0, limit="network", waiting_for=""
)
SHARING = structs.replace(AT_WORK, parsers=2, most_parsers=4)
WAITING = structs.replace(SHARING, state="waiting", waiting_for="a.test (held by Naiad)")


def heartbeat(store: Store, crawler: int, after: float = 0.0) -> str:
    return store.heartbeat(crawler, AT_WORK, time.time() + after).state


def miss_heartbeats(store: Store, crawler: int, seconds: float) -> None:
    """Let so many seconds pass, in which only this crawler sends heartbeats."""
    began = time.time()
    for after in range(0, int(seconds) + 1, 10):
        store.heartbeat(crawler, AT_WORK, began + after)
    store.heartbeat(crawler, AT_WORK, began + seconds)


def states(store: Store) -> dict[str, str]:
    return {crawler.name: crawler.state for crawler in store.crawlers()}


def test_names_are_the_moons_of_neptune_and_then_numbered(open_store: Open) -> None:
    names = [open_store().join("here", 1).name for _ in range(16)]
    assert names[:3] == ["Naiad", "Thalassa", "Despina"]
    assert names[13:] == ["Neso", "Naiad 2", "Thalassa 2"]


def test_a_released_name_is_taken_next_with_a_new_id(open_store: Open) -> None:
    store = open_store()
    first, second = store.join("here", 1), open_store().join("here", 2)
    store.leave(first.id)
    third = store.join("here", 3)
    assert (third.name, second.name) == ("Naiad", "Thalassa")
    assert third.id not in {first.id, second.id}


def test_a_heartbeat_publishes_the_report_of_the_crawler(store: Store) -> None:
    crawler = join(store)
    assert heartbeat(store, crawler) == "run"
    (row,) = store.crawlers()
    assert (row.pages, row.pages_per_second, row.limit, row.state) == (3, 1.5, "network", "running")


def test_an_order_reaches_the_crawler_with_its_next_heartbeat(open_store: Open) -> None:
    store = open_store()
    crawler = join(store)
    assert open_store().set_wanted_state("naiad", "pause")
    assert heartbeat(store, crawler) == "pause"


def test_an_order_to_an_unknown_or_stopped_crawler_is_refused(store: Store) -> None:
    crawler = join(store)
    assert not store.set_wanted_state("Triton", "stop")
    store.leave(crawler)
    assert not store.set_wanted_state("Naiad", "stop")


def test_a_heartbeat_reports_parsers_and_returns_the_wanted_number(open_store: Open) -> None:
    store = open_store()
    crawler = join(store)
    report = structs.replace(AT_WORK, parsers=2, most_parsers=4)
    assert store.heartbeat(crawler, report, time.time()).parsers is None
    assert open_store().set_wanted_parsers("naiad", 4)
    (row,) = open_store().crawlers()
    assert (row.parsers, row.most_parsers, row.wanted_parsers) == (2, 4, 4)
    assert store.heartbeat(crawler, report, time.time()).parsers == 4


def test_the_wanted_number_of_parsers_is_between_one_and_the_maximum(store: Store) -> None:
    crawler = join(store)
    store.heartbeat(crawler, structs.replace(AT_WORK, parsers=2, most_parsers=4), time.time())
    assert not store.set_wanted_parsers("Naiad", 5)
    assert not store.set_wanted_parsers("Naiad", 0)
    assert not store.set_wanted_parsers("Triton", 2)
    assert store.crawlers()[0].wanted_parsers is None
    store.leave(crawler)
    assert not store.set_wanted_parsers("Naiad", 2)


def test_leaving_releases_hosts_and_urls(open_store: Open) -> None:
    store = open_store()
    crawler = start(store, PAGE)
    lease_all(store, crawler)
    store.leave(crawler)
    assert state(store, PAGE) == "queued"
    assert states(store) == {"Naiad": "stopped"}
    other = open_store()
    assert PAGE in leases(lease_all(other, join(other)))


def test_leases_of_a_dead_crawler_are_released_when_another_joins(open_store: Open) -> None:
    dying, store = open_store(), open_store()
    lease_all(dying, start(dying, PAGE))
    dying.close()
    assert states(store) == {"Naiad": "lost"}, "visible at once, before another crawler acts"
    crawler = store.join("here", 2)
    assert crawler.name == "Naiad"
    assert PAGE in leases(lease_all(store, crawler.id))


def test_leases_of_a_dead_crawler_are_released_at_the_next_heartbeat(open_store: Open) -> None:
    dying, store = open_store(), open_store()
    lease_all(dying, start(dying, PAGE))
    crawler = join(store)
    assert not lease_all(store, crawler)
    dying.close()
    heartbeat(store, crawler)
    assert PAGE in leases(lease_all(store, crawler))
    assert states(store)["Naiad"] == "lost"


@pytest.mark.parametrize("machine", ["here", "elsewhere"])
def test_a_crawler_without_heartbeats_for_a_lease_is_lost_though_its_lock_is_held(
    open_store: Open, machine: str
) -> None:
    frozen, store = open_store(), open_store()
    lease_all(frozen, start(frozen, PAGE))
    crawler = join(store, machine)
    miss_heartbeats(store, crawler, LEASE_SECONDS - 1)
    assert state(store, PAGE) == "leased"
    miss_heartbeats(store, crawler, LEASE_SECONDS + 1)
    assert state(store, PAGE) == "queued"
    assert states(store) == {"Naiad": "lost", "Thalassa": "running"}


def test_a_slow_crawler_with_late_heartbeats_keeps_its_leases(open_store: Open) -> None:
    slow, store = open_store(), open_store()
    old = start(slow, PAGE)
    lease_all(slow, old)
    crawler, began = join(store), time.time()
    for after in range(0, 10 * int(LEASE_SECONDS), 5):
        store.heartbeat(crawler, AT_WORK, began + after)
        if after % 25 == 0:
            slow.heartbeat(old, AT_WORK, began + after)
    assert state(store, PAGE) == "leased"


def test_a_crawler_that_slept_itself_takes_nothing_from_the_others(open_store: Open) -> None:
    asleep, store = open_store(), open_store()
    lease_all(asleep, start(asleep, PAGE))
    crawler = join(store)
    miss_heartbeats(store, crawler, 10)
    heartbeat(store, crawler, after=3_600)
    assert state(store, PAGE) == "leased", "all crawlers slept with their machine"
    heartbeat(store, crawler, after=3_600 + LEASE_SECONDS)
    assert state(store, PAGE) == "leased", "the machine slept again, or a long transaction blocked all"


def test_a_crawler_with_a_wrong_clock_keeps_its_leases(open_store: Open) -> None:
    late, store = open_store(), open_store()
    old = start(late, PAGE)
    lease_all(late, old)
    crawler, began = join(store), time.time()
    for after in range(0, 3 * int(LEASE_SECONDS), 2):
        late.heartbeat(old, AT_WORK, began - 3_600 + after)
        store.heartbeat(crawler, AT_WORK, began + after)
    assert state(store, PAGE) == "leased"


def test_a_crawler_that_joins_trusts_a_held_lock_of_its_machine(open_store: Open) -> None:
    frozen, store = open_store(), open_store()
    old = start(frozen, PAGE)
    lease_all(frozen, old)
    frozen.heartbeat(old, AT_WORK, time.time() - 10 * LEASE_SECONDS)
    join(store)
    assert state(store, PAGE) == "leased"


def test_a_lost_crawler_learns_it_and_its_visits_are_not_written(open_store: Open) -> None:
    frozen, store = open_store(), open_store()
    old = start(frozen, PAGE)
    stale = lease_all(frozen, old)
    crawler = join(store, "elsewhere")
    miss_heartbeats(store, crawler, LEASE_SECONDS + 1)
    visit_all(store, crawler, {PAGE: []})
    assert heartbeat(frozen, old) == "lost"
    late = [fetched_visit(lease, "http://a.test/late") for lease in leases(stale).values()]
    rules = Robots(host=stale[0].host, scheme="http", outcome="rules", text="Disallow: /", fetched_at=1.0)
    submitted = frozen.submit(old, VisitBatch(visits=late, robots=[rules]), admit_all, time.time())
    assert (submitted.lost, submitted.crawler_lost) == (1, True)
    assert frozen.add([candidate("http://a.test/late")], admit_all, discovered_by=old) == []
    assert store.resource(digest("http://a.test/late")) is None
    assert [host.robots for host in store.hosts()] == [""]
    assert len(store.visits(1)) == 1
    assert store.counts().links == 0


def test_visits_of_urls_that_another_crawler_leased_are_not_written(open_store: Open) -> None:
    frozen, store = open_store(), open_store()
    old = start(frozen, PAGE)
    stale = leases(lease_all(frozen, old))[PAGE]
    crawler = join(store, "elsewhere")
    miss_heartbeats(store, crawler, LEASE_SECONDS + 1)
    lease_all(store, crawler)
    assert (
        frozen.submit(old, VisitBatch(visits=[fetched_visit(stale)], released=[stale]), admit_all, time.time()).lost
        == 1
    )
    assert state(store, PAGE) == "leased"


def test_two_crawlers_never_hold_one_host(open_store: Open) -> None:
    one, two = open_store(), open_store()
    first = start(one, "http://a.test/", "http://b.test/")
    second = join(two)
    taken = {host.name for host in lease_all(one, first, hosts=1)}
    rest = {host.name for host in lease_all(two, second)}
    assert len(taken) == 1
    assert taken | rest == {"a.test", "b.test"}
    assert not taken & rest


def host_share(store: Store, crawler: int, report: CrawlerReport = SHARING) -> int | None:
    return store.heartbeat(crawler, report, time.time()).hosts


def test_a_crawler_learns_its_share_of_hosts_while_another_waits(open_store: Open) -> None:
    one, two = open_store(), open_store()
    first, second = start(one, *(f"http://{name}.test/" for name in "abcde")), join(two)
    held = lease_all(one, first)
    assert host_share(one, first) is None, "no crawler waits yet"
    assert host_share(two, second, WAITING) is None, "only this crawler waits"
    assert host_share(one, first) == 3
    released = held[:2]
    one.submit(
        first,
        VisitBatch(
            hosts=[release_host(host) for host in released],
            released=[lease for host in released for lease in host.leases],
        ),
        admit_all,
        time.time(),
    )
    assert host_share(one, first) == 3, "free hosts count, or the share would shrink further"
    assert {host.name for host in lease_all(two, second)} == {host.name for host in released}
    assert host_share(one, first) is None, "the other crawler holds hosts now"


def test_one_host_is_not_shared(open_store: Open) -> None:
    one, two = open_store(), open_store()
    first, second = start(one, PAGE), join(two)
    lease_all(one, first)
    two.heartbeat(second, WAITING, time.time())
    assert host_share(one, first) == 1


def test_paused_and_importing_crawlers_do_not_share_hosts(open_store: Open) -> None:
    one, two, three = open_store(), open_store(), open_store()
    first, second, third = start(one, *(f"http://{name}.test/" for name in "abcd")), join(two), join(three)
    lease_all(one, first)
    two.heartbeat(second, WAITING, time.time())
    assert host_share(one, first, structs.replace(SHARING, state="paused")) is None
    three.heartbeat(third, AT_WORK, time.time())
    assert host_share(three, third, AT_WORK) is None
    assert host_share(one, first) == 2


def test_hosts_are_not_shared_with_a_waiting_crawler_that_fell_silent(open_store: Open) -> None:
    one, two = open_store(), open_store()
    first, second = start(one, *(f"http://{name}.test/" for name in "abcd")), join(two)
    lease_all(one, first)
    two.heartbeat(second, WAITING, time.time() - 20)
    assert host_share(one, first) is None


def test_a_lost_crawler_gets_no_leases(open_store: Open) -> None:
    frozen, store = open_store(), open_store()
    old = start(frozen, PAGE)
    lease_all(frozen, old)
    crawler = join(store, "elsewhere")
    miss_heartbeats(store, crawler, LEASE_SECONDS + 1)
    assert lease_all(frozen, old) == []
    assert frozen.lease_urls(old, [candidate(PAGE)], time.time()) == [None]
    assert PAGE in leases(lease_all(store, crawler))


def release_host(host: HostLease) -> HostUpdate:
    return HostUpdate(host=host.host, ready_at=0.0, delay=0.0, failures=0, reason="", keep=False)
