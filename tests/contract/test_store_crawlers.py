"""Names, signs of life, and the work of the dead."""

from __future__ import annotations

import time

from msgspec import structs

from gossamer.model import HostLease, HostUpdate
from gossamer.store.protocol import LEASE_SECONDS, Store
from gossamer.store.values import CrawlerReport
from helpers.store.crawl_steps import (
    Open,
    admit_all,
    candidate,
    fetched,
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


def beat(store: Store, crawler: int, after: float = 0.0) -> str:
    return store.heartbeat(crawler, AT_WORK, time.time() + after).state


def states(store: Store) -> dict[str, str]:
    return {crawler.name: crawler.state for crawler in store.crawlers()}


def test_names_are_the_moons_of_neptune_and_then_numbered(open_store: Open) -> None:
    names = [open_store().join("here", 1).name for _ in range(16)]
    assert names[:3] == ["Naiad", "Thalassa", "Despina"]
    assert names[13:] == ["Neso", "Naiad 2", "Thalassa 2"]


def test_a_name_given_back_is_the_next_one_taken_under_a_new_id(open_store: Open) -> None:
    store = open_store()
    first, second = store.join("here", 1), open_store().join("here", 2)
    store.leave(first.id)
    third = store.join("here", 3)
    assert (third.name, second.name) == ("Naiad", "Thalassa")
    assert third.id not in {first.id, second.id}


def test_a_beat_tells_others_how_it_goes(store: Store) -> None:
    crawler = join(store)
    assert beat(store, crawler) == "run"
    (row,) = store.crawlers()
    assert (row.pages, row.pages_per_second, row.limit, row.state) == (3, 1.5, "network", "running")


def test_a_wish_reaches_the_crawler_with_its_next_beat(open_store: Open) -> None:
    store = open_store()
    crawler = join(store)
    assert open_store().set_wanted_state("naiad", "pause")
    assert beat(store, crawler) == "pause"


def test_a_wish_to_nobody_is_refused(store: Store) -> None:
    crawler = join(store)
    assert not store.set_wanted_state("Triton", "stop")
    store.leave(crawler)
    assert not store.set_wanted_state("Naiad", "stop")


def test_a_crawler_tells_its_parsers_and_hears_how_many_it_shall_have(open_store: Open) -> None:
    store = open_store()
    crawler = join(store)
    staffed = structs.replace(AT_WORK, parsers=2, most_parsers=4)
    assert store.heartbeat(crawler, staffed, time.time()).parsers is None
    assert open_store().set_wanted_parsers("naiad", 4)
    (row,) = open_store().crawlers()
    assert (row.parsers, row.most_parsers, row.wanted_parsers) == (2, 4, 4)
    assert store.heartbeat(crawler, staffed, time.time()).parsers == 4


def test_a_crawler_is_asked_for_no_more_parsers_than_it_may_have_and_for_one_at_least(store: Store) -> None:
    crawler = join(store)
    store.heartbeat(crawler, structs.replace(AT_WORK, parsers=2, most_parsers=4), time.time())
    assert not store.set_wanted_parsers("Naiad", 5)
    assert not store.set_wanted_parsers("Naiad", 0)
    assert not store.set_wanted_parsers("Triton", 2)
    assert store.crawlers()[0].wanted_parsers is None
    store.leave(crawler)
    assert not store.set_wanted_parsers("Naiad", 2)


def test_leaving_gives_back_hosts_and_urls(open_store: Open) -> None:
    store = open_store()
    crawler = start(store, PAGE)
    lease_all(store, crawler)
    store.leave(crawler)
    assert state(store, PAGE) == "queued"
    assert states(store) == {"Naiad": "stopped"}
    other = open_store()
    assert PAGE in leases(lease_all(other, join(other)))


def test_the_work_of_a_crawler_that_died_is_given_back_when_another_joins(open_store: Open) -> None:
    dying, store = open_store(), open_store()
    lease_all(dying, start(dying, PAGE))
    dying.close()
    assert states(store) == {"Naiad": "lost"}, "seen at once, before anybody acted on it"
    crawler = store.join("here", 2)
    assert crawler.name == "Naiad"
    assert PAGE in leases(lease_all(store, crawler.id))


def test_the_work_of_a_crawler_that_died_is_given_back_at_the_beat_of_another(open_store: Open) -> None:
    dying, store = open_store(), open_store()
    lease_all(dying, start(dying, PAGE))
    crawler = join(store)
    assert not lease_all(store, crawler)
    dying.close()
    beat(store, crawler)
    assert PAGE in leases(lease_all(store, crawler))
    assert states(store)["Naiad"] == "lost"


def test_a_crawler_of_this_machine_that_is_slow_keeps_its_leases(open_store: Open) -> None:
    slow, store = open_store(), open_store()
    lease_all(slow, start(slow, PAGE))
    crawler = join(store)
    beat(store, crawler, after=10 * LEASE_SECONDS)
    assert state(store, PAGE) == "leased"


def test_a_crawler_of_another_machine_is_lost_without_a_beat_in_time(open_store: Open) -> None:
    far, store = open_store(), open_store()
    lease_all(far, start(far, PAGE))
    crawler = join(store, "elsewhere")
    beat(store, crawler, after=LEASE_SECONDS / 2)
    assert state(store, PAGE) == "leased"
    beat(store, crawler, after=LEASE_SECONDS + 1)
    assert state(store, PAGE) == "queued"


def test_one_given_up_for_lost_is_told_so_and_its_visits_are_not_written(open_store: Open) -> None:
    frozen, store = open_store(), open_store()
    old = start(frozen, PAGE)
    stale = lease_all(frozen, old)
    crawler = join(store, "elsewhere")
    beat(store, crawler, after=LEASE_SECONDS + 1)
    visit_all(store, crawler, {PAGE: []})
    assert beat(frozen, old) == "lost"
    late = [fetched(lease, "http://a.test/late") for lease in leases(stale).values()]
    submitted = frozen.submit(old, late, admit_all, now=time.time())
    assert submitted.lost == 1
    assert len(store.visits(1)) == 1
    assert store.counts().links == 0


def test_what_another_crawler_has_leased_by_now_is_not_written(open_store: Open) -> None:
    frozen, store = open_store(), open_store()
    old = start(frozen, PAGE)
    stale = leases(lease_all(frozen, old))[PAGE]
    crawler = join(store, "elsewhere")
    beat(store, crawler, after=LEASE_SECONDS + 1)
    lease_all(store, crawler)
    assert frozen.submit(old, [fetched(stale)], admit_all, released=[stale], now=time.time()).lost == 1
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


def share(store: Store, crawler: int, report: CrawlerReport = SHARING) -> int | None:
    return store.heartbeat(crawler, report, time.time()).hosts


def test_who_holds_hosts_learns_its_share_of_them_while_another_waits_without_one(open_store: Open) -> None:
    one, two = open_store(), open_store()
    first, second = start(one, *(f"http://{name}.test/" for name in "abcde")), join(two)
    held = lease_all(one, first)
    assert share(one, first) is None, "nobody waits yet"
    assert share(two, second, WAITING) is None, "nobody but itself waits"
    assert share(one, first) == 3
    given = held[:2]
    one.submit(first, [], admit_all, hosts=[given_back(host) for host in given],
               released=[lease for host in given for lease in host.leases], now=time.time())  # fmt: skip
    assert share(one, first) == 3, "those that are free now count, or it would give more and more"
    assert {host.name for host in lease_all(two, second)} == {host.name for host in given}
    assert share(one, first) is None, "it has some, whatever it said last"


def test_one_host_is_not_shared(open_store: Open) -> None:
    one, two = open_store(), open_store()
    first, second = start(one, PAGE), join(two)
    lease_all(one, first)
    two.heartbeat(second, WAITING, time.time())
    assert share(one, first) == 1


def test_who_pauses_or_imports_neither_shares_nor_counts(open_store: Open) -> None:
    one, two, three = open_store(), open_store(), open_store()
    first, second, third = start(one, *(f"http://{name}.test/" for name in "abcd")), join(two), join(three)
    lease_all(one, first)
    two.heartbeat(second, WAITING, time.time())
    assert share(one, first, structs.replace(SHARING, state="paused")) is None
    three.heartbeat(third, AT_WORK, time.time())
    assert share(three, third, AT_WORK) is None
    assert share(one, first) == 2


def test_hosts_are_not_shared_with_one_that_waits_and_is_not_heard_of_any_more(open_store: Open) -> None:
    one, two = open_store(), open_store()
    first, second = start(one, *(f"http://{name}.test/" for name in "abcd")), join(two)
    lease_all(one, first)
    two.heartbeat(second, WAITING, time.time() - 20)
    assert share(one, first) is None


def test_one_given_up_for_lost_is_handed_nothing_out(open_store: Open) -> None:
    frozen, store = open_store(), open_store()
    old = start(frozen, PAGE)
    lease_all(frozen, old)
    crawler = join(store, "elsewhere")
    beat(store, crawler, after=LEASE_SECONDS + 1)
    assert lease_all(frozen, old) == []
    assert frozen.lease_urls(old, [candidate(PAGE)], time.time()) == [None]
    assert PAGE in leases(lease_all(store, crawler))


def given_back(host: HostLease) -> HostUpdate:
    return HostUpdate(host=host.host, ready_at=0.0, delay=0.0, failures=0, reason="", keep=False)
