"""The workbench of held hosts."""

from __future__ import annotations

from gossamer.config import HostSettings, PolitenessSettings
from gossamer.crawl.frontier import FetchRobots, FetchUrl, Frontier, RefuseUrl
from gossamer.model import HostLease, Lease, Robots, Role

NOW = 1_000_000.0


def lease(number: int, host: int = 1, name: str = "example.org") -> Lease:
    return Lease(resource=number, host=host, url=f"https://{name}/{number}", role=Role.PAGE, depth=0, hops=0, tries=0)


def robots(text: str = "", outcome: str = "rules", host: int = 1, at: float = NOW) -> Robots:
    return Robots(host=host, scheme="https", outcome=outcome, text=text, fetched_at=at)


def host_lease(urls: int, *known: Robots, host: int = 1, name: str = "example.org", ready_at: float = 0.0) -> HostLease:
    leases = tuple(lease(number, host, name) for number in range(urls))
    return HostLease(host=host, name=name, ready_at=ready_at, failures=0, robots=known, leases=leases)


def frontier(politeness: PolitenessSettings | None = None, own: dict[str, HostSettings] | None = None) -> Frontier:
    return Frontier(politeness or PolitenessSettings(), own or {}, product="Gossamer", obey_robots=True)


def fetch(bench: Frontier, now: float) -> Lease:
    work = bench.next_work(now)
    assert isinstance(work, FetchUrl)
    return work.lease


def finish(
    bench: Frontier, done: Lease, now: float, *, took: float = 0.1, failed: bool = False, wait: float = 0.0
) -> None:
    bench.finish_transfer(done, now, transfer_seconds=took, address="192.0.2.1", has_failed=failed, wait=wait)


def test_robots_txt_comes_before_anything_else() -> None:
    bench = frontier()
    bench.add_host_lease(host_lease(2), NOW)
    ask = bench.next_work(NOW)
    assert isinstance(ask, FetchRobots)
    assert ask.url == "https://example.org/robots.txt"
    assert bench.next_work(NOW) is None


def test_robots_txt_kept_from_today_is_not_asked_for_again() -> None:
    bench = frontier()
    bench.add_host_lease(host_lease(1, robots()), NOW + 60)
    assert isinstance(bench.next_work(NOW + 60), FetchUrl)


def test_robots_txt_of_yesterday_is_asked_for_again() -> None:
    bench = frontier()
    bench.add_host_lease(host_lease(1, robots()), NOW + 25 * 3600)
    assert isinstance(bench.next_work(NOW + 25 * 3600), FetchRobots)


DAY = 24 * 3600.0


def held_for_a_day(*rules: Robots, politeness: PolitenessSettings | None = None) -> Frontier:
    """A host with work all day long: of its URLs, some are left."""
    bench = frontier(politeness)
    bench.add_host_lease(host_lease(4, *rules), NOW)
    finish(bench, fetch(bench, NOW), NOW)
    finish(bench, fetch(bench, NOW + DAY - 1), NOW + DAY - 1)
    return bench


def test_robots_txt_of_a_host_that_is_held_for_a_day_is_asked_for_again() -> None:
    bench = held_for_a_day(robots())
    assert isinstance(bench.next_work(NOW + DAY), FetchRobots)
    assert bench.next_work(NOW + DAY + 10) is None, "it waits for the answer"
    bench.apply_robots(robots("User-agent: *\nDisallow: /2", at=NOW + DAY + 10))
    work = [bench.next_work(NOW + DAY + 20) for _ in range(2)]
    assert [type(each) for each in work] == [RefuseUrl, FetchUrl]
    assert bench.next_work(NOW + DAY + 20) is None


def test_what_was_asked_for_on_the_way_is_asked_for_again_a_day_after_that() -> None:
    bench = frontier()
    bench.add_host_lease(host_lease(3), NOW)
    assert isinstance(bench.next_work(NOW), FetchRobots)
    bench.apply_robots(robots(at=NOW + 5))
    finish(bench, fetch(bench, NOW + DAY + 4), NOW + DAY + 4)
    assert isinstance(bench.next_work(NOW + DAY + 5), FetchRobots)


def test_robots_txt_from_the_future_is_believed_for_no_longer_than_a_day() -> None:
    bench = frontier()
    bench.add_host_lease(host_lease(2, robots(at=NOW + DAY / 2)), NOW)
    finish(bench, fetch(bench, NOW), NOW)
    assert isinstance(bench.next_work(NOW + DAY), FetchRobots)


def test_a_held_host_is_not_visited_while_its_robots_txt_cannot_be_had_again() -> None:
    bench = held_for_a_day(robots())
    ask = bench.next_work(NOW + DAY)
    assert isinstance(ask, FetchRobots)
    assert bench.record_robots_failure(ask, NOW + DAY, wait=0.0, reason="answered 503", is_away=False) == 1
    assert bench.next_work(NOW + DAY + 0.5) is None
    assert isinstance(bench.next_work(NOW + DAY + 1), FetchRobots)


def test_a_crawl_delay_that_is_asked_for_no_more_is_waited_for_no_more() -> None:
    asked = robots("User-agent: *\nCrawl-delay: 3600")
    bench = held_for_a_day(asked, politeness=PolitenessSettings(delay=0.0, connections=2))
    later = NOW + DAY + 60
    assert isinstance(bench.next_work(later), FetchRobots)
    bench.apply_robots(robots(at=later))
    assert [type(bench.next_work(later)) for _ in range(2)] == [FetchUrl, FetchUrl]
    assert list(bench.waiting_hosts(later)) == []


def test_without_robots_txt_none_is_asked_for_however_long_a_host_is_held() -> None:
    bench = Frontier(PolitenessSettings(), {}, product="Gossamer", obey_robots=False)
    bench.add_host_lease(host_lease(2, robots("User-agent: *\nDisallow: /")), NOW)
    finish(bench, fetch(bench, NOW), NOW)
    assert isinstance(bench.next_work(NOW + 2 * DAY), FetchUrl)


def test_the_pause_after_robots_txt_begins_when_it_came_not_when_it_was_read() -> None:
    bench = frontier()
    bench.add_host_lease(host_lease(1), NOW)
    assert isinstance(bench.next_work(NOW), FetchRobots)
    bench.apply_robots(robots("User-agent: *\nCrawl-delay: 2", at=NOW))  # however late
    assert bench.next_work(NOW + 1.9) is None
    assert isinstance(bench.next_work(NOW + 2), FetchUrl)


def test_a_forbidden_url_is_refused_and_costs_no_pause() -> None:
    bench = frontier()
    bench.add_host_lease(host_lease(2, robots("User-agent: *\nDisallow: /0")), NOW)
    refused = bench.next_work(NOW)
    assert isinstance(refused, RefuseUrl)
    assert refused.lease.resource == 0
    assert fetch(bench, NOW).resource == 1


def test_one_connection_and_a_pause_as_long_as_the_answer() -> None:
    bench = frontier()
    bench.add_host_lease(host_lease(2, robots()), NOW)
    first = fetch(bench, NOW)
    assert bench.next_work(NOW + 5) is None  # still in flight
    finish(bench, first, NOW + 5, took=5.0)
    assert bench.next_work(NOW + 9.9) is None
    assert fetch(bench, NOW + 10).resource == 1


def test_no_pause_on_loopback() -> None:
    bench = frontier()
    bench.add_host_lease(host_lease(2, robots(), name="127.0.0.1:8000"), NOW)
    finish(bench, fetch(bench, NOW), NOW)
    assert isinstance(bench.next_work(NOW), FetchUrl)


def test_many_connections_without_delay_start_at_once() -> None:
    bench = frontier(PolitenessSettings(delay=0.0, connections=32))
    bench.add_host_lease(host_lease(40, robots()), NOW)
    started = 0
    while isinstance(bench.next_work(NOW), FetchUrl):
        started += 1
    assert started == 32


def test_a_crawl_delay_means_one_connection() -> None:
    bench = frontier(PolitenessSettings(delay=0.0, connections=32))
    bench.add_host_lease(host_lease(40, robots("User-agent: *\nCrawl-delay: 2")), NOW)
    first = fetch(bench, NOW)
    assert bench.next_work(NOW) is None
    finish(bench, first, NOW + 1)
    assert bench.next_work(NOW + 2.9) is None
    assert isinstance(bench.next_work(NOW + 3), FetchUrl)


def test_a_long_crawl_delay_is_cut_and_said() -> None:
    bench = frontier()
    bench.add_host_lease(host_lease(2, robots("User-agent: *\nCrawl-delay: 3600")), NOW)
    finish(bench, fetch(bench, NOW), NOW)
    [(name, seconds, reason)] = bench.waiting_hosts(NOW)
    assert (name, round(seconds)) == ("example.org", 30)
    assert "3600 s" in reason


def test_a_hosts_own_settings_win() -> None:
    bench = frontier(PolitenessSettings(delay=60.0), {"example.org": HostSettings(delay=1.0, connections=2)})
    bench.add_host_lease(host_lease(3, robots()), NOW)
    fetch(bench, NOW)
    assert bench.next_work(NOW) is None
    assert isinstance(bench.next_work(NOW + 1), FetchUrl)


def test_failures_make_the_pause_double() -> None:
    bench = frontier(PolitenessSettings(delay=0.0))
    bench.add_host_lease(host_lease(3, robots()), NOW)
    finish(bench, fetch(bench, NOW), NOW, failed=True)
    assert bench.next_work(NOW + 0.9) is None
    finish(bench, fetch(bench, NOW + 1), NOW + 1, failed=True)
    assert bench.next_work(NOW + 2.9) is None
    assert isinstance(bench.next_work(NOW + 3), FetchUrl)


def test_transfers_that_fail_together_are_one_failure_of_their_host() -> None:
    bench = frontier(PolitenessSettings(delay=0.0, connections=8))
    bench.add_host_lease(host_lease(9, robots()), NOW)
    for lease in [fetch(bench, NOW) for _ in range(8)]:
        finish(bench, lease, NOW + 1, failed=True)
    assert bench.next_work(NOW + 1.9) is None
    assert isinstance(bench.next_work(NOW + 2), FetchUrl)


def lose(bench: Frontier, lost: Lease, now: float) -> None:
    assert bench.is_host_away(lost.host, "https", now)
    bench.requeue(lost, now, transfer_seconds=0.1, reason="No route to host")


def test_a_url_whose_host_is_away_waits_for_its_next_turn() -> None:
    bench = frontier(PolitenessSettings(delay=0.0))
    bench.add_host_lease(host_lease(3, robots()), NOW)
    finish(bench, fetch(bench, NOW), NOW)
    pauses, now = [], NOW
    for _ in range(4):
        lost = fetch(bench, now)
        lose(bench, lost, now)
        assert (lost.resource, bench.waiting_urls) == (1, 2)
        ready = bench.next_ready_at()
        assert ready is not None
        pauses.append(ready - now)
        now = ready
    assert pauses == [1, 2, 4, 8]
    assert list(bench.waiting_hosts(NOW)) == [("example.org", 15, "cannot be reached: No route to host")]


def test_a_host_is_away_for_ten_minutes_after_its_last_answer_and_then_gone() -> None:
    bench = frontier(PolitenessSettings(delay=0.0))
    bench.add_host_lease(host_lease(2, robots()), NOW)
    assert not bench.is_host_away(1, "https", NOW), "it never answered here"
    finish(bench, fetch(bench, NOW), NOW)
    assert bench.is_host_away(1, "https", NOW + 599)
    assert not bench.is_host_away(1, "https", NOW + 600)
    assert not bench.is_host_away(1, "http", NOW + 600)


def test_robots_txt_is_an_answer_and_a_failure_is_none() -> None:
    bench = frontier(PolitenessSettings(delay=0.0))
    bench.add_host_lease(host_lease(2), NOW)
    assert isinstance(bench.next_work(NOW), FetchRobots)
    bench.apply_robots(robots(at=NOW))
    finish(bench, fetch(bench, NOW), NOW + 300, failed=True)
    assert bench.is_host_away(1, "https", NOW + 599)
    assert not bench.is_host_away(1, "https", NOW + 600)


def test_while_a_host_that_was_there_is_away_so_are_those_never_met_until_anybody_answers() -> None:
    bench = with_hosts(3)
    met, other = fetch(bench, NOW), fetch(bench, NOW)
    finish(bench, met, NOW)
    stranger = next(host for host in (1, 2, 3) if host not in {met.host, other.host})
    assert not bench.is_host_away(stranger, "https", NOW + 1)
    assert bench.is_host_away(met.host, "https", NOW + 1)
    assert bench.is_host_away(stranger, "https", NOW + 1)
    finish(bench, other, NOW + 2)
    assert not bench.is_host_away(stranger, "https", NOW + 2)


def test_a_host_that_answered_lately_is_away_also_when_it_was_given_back_meanwhile() -> None:
    bench = with_hosts(2)
    met, other = fetch(bench, NOW), fetch(bench, NOW)
    finish(bench, met, NOW)
    bench.release_host(met.host, NOW + 64)
    finish(bench, other, NOW + 100)
    bench.add_host_lease(host_lease(2, robots(host=met.host), host=met.host), NOW + 130)
    assert bench.is_host_away(met.host, "https", NOW + 599)
    assert not bench.is_host_away(met.host, "https", NOW + 700)


def test_who_answered_longer_ago_than_it_matters_is_forgotten() -> None:
    bench = with_hosts(2)
    first, second = fetch(bench, NOW), fetch(bench, NOW)
    finish(bench, first, NOW)
    finish(bench, second, NOW + 50)
    finish(bench, fetch(bench, NOW + 700), NOW + 700)
    assert len(bench._answered_at) == 1


def test_retry_after_is_obeyed() -> None:
    bench = frontier(PolitenessSettings(delay=0.0))
    bench.add_host_lease(host_lease(2, robots()), NOW)
    finish(bench, fetch(bench, NOW), NOW, failed=True, wait=100.0)
    assert bench.next_work(NOW + 99) is None
    assert isinstance(bench.next_work(NOW + 100), FetchUrl)


def test_hosts_on_one_address_share_its_limit() -> None:
    bench = frontier(PolitenessSettings(delay=0.0, connections_per_address=1))
    for host in (1, 2):
        bench.add_host_lease(host_lease(3, robots(host=host), host=host, name=f"h{host}.example"), NOW)
    for _ in (1, 2):  # their addresses are not known before the first answer
        finish(bench, fetch(bench, NOW), NOW)
    one = fetch(bench, NOW)
    assert bench.next_work(NOW) is None
    finish(bench, one, NOW)
    assert isinstance(bench.next_work(NOW + 1), FetchUrl)


def test_a_host_given_back_returns_its_urls_and_its_ready_time() -> None:
    bench = frontier(PolitenessSettings(delay=10.0))
    bench.add_host_lease(host_lease(3, robots()), NOW)
    finish(bench, fetch(bench, NOW), NOW)
    note, leases = bench.release_host(1, NOW)
    assert [each.resource for each in leases] == [1, 2]
    assert (note.ready_at, note.keep) == (NOW + 10, False)
    assert len(bench) == 0
    assert bench.waiting_urls == 0


def test_idle_hosts_are_those_with_nothing_queued_and_nothing_in_flight() -> None:
    bench = frontier()
    bench.add_host_lease(host_lease(1, robots()), NOW)
    done = fetch(bench, NOW)
    assert bench.idle_hosts() == []
    finish(bench, done, NOW)
    assert bench.idle_hosts() == [1]


def test_unreachable_robots_txt_makes_the_host_wait() -> None:
    bench = frontier()
    bench.add_host_lease(host_lease(1), NOW)
    ask = bench.next_work(NOW)
    assert isinstance(ask, FetchRobots)
    assert bench.record_robots_failure(ask, NOW, wait=0.0, reason="answered 503", is_away=False) == 1
    assert bench.next_work(NOW + 0.5) is None
    assert isinstance(bench.next_work(NOW + 1), FetchRobots)


def test_a_hosts_own_settings_hold_however_its_name_is_written() -> None:
    for name in ("example.org", "http://example.org", "https://example.org"):
        bench = frontier(own={name: HostSettings(delay=7.0)})
        bench.add_host_lease(host_lease(2, robots()), NOW)
        finish(bench, fetch(bench, NOW), NOW)
        assert bench.next_ready_at() == NOW + 7.0, name


def test_hosts_in_a_long_pause_leave_room_for_others() -> None:
    bench = frontier(PolitenessSettings(max_hosts=8))
    for host in range(1, 5):
        bench.add_host_lease(host_lease(1, host=host, name=f"{host}.example", ready_at=NOW + 10), NOW)
    assert bench.wanted_host_count(transfers=2, now=NOW) == 4
    assert bench.wanted_host_count(transfers=2, now=NOW + 10) == 0


def test_no_more_hosts_are_wanted_than_may_be_held() -> None:
    bench = frontier(PolitenessSettings(max_hosts=3))
    for host in range(1, 4):
        bench.add_host_lease(host_lease(1, host=host, name=f"{host}.example", ready_at=NOW + 10), NOW)
    assert bench.wanted_host_count(transfers=100, now=NOW) == 0


def with_hosts(number: int, urls: int = 4) -> Frontier:
    bench = frontier()
    for host in range(1, number + 1):
        bench.add_host_lease(host_lease(urls, robots(host=host), host=host, name=f"{host}.example"), NOW)
    return bench


def test_hosts_beyond_ones_share_get_no_more_work_and_leave() -> None:
    bench = with_hosts(4)
    bench.share_hosts(3, NOW)
    (gone,) = bench.releasable_hosts()
    assert gone not in {fetch(bench, NOW).host for _ in range(3)}
    assert bench.next_work(NOW) is None
    _, leases = bench.release_host(gone, NOW)
    assert {one.host for one in leases} == {gone}
    assert bench.wanted_host_count(transfers=100, now=NOW) == 0
    bench.share_hosts(None, NOW + 1)
    assert bench.wanted_host_count(transfers=100, now=NOW + 1) == 0, "the others come first"
    bench.share_hosts(None, NOW + 60)
    assert bench.wanted_host_count(transfers=100, now=NOW + 60) > 0


def test_a_host_leaves_when_its_transfer_has_ended_and_is_asked_for_no_more_urls() -> None:
    bench = with_hosts(2, urls=2)
    under_way = [fetch(bench, NOW), fetch(bench, NOW)]
    bench.share_hosts(1, NOW)
    assert bench.releasable_hosts() == []
    assert len(bench.hosts_needing_urls()) == 1
    for lease in under_way:
        finish(bench, lease, NOW)
    assert len(bench.releasable_hosts()) == 1


def test_a_host_that_can_go_at_once_leaves_before_one_that_is_being_asked() -> None:
    bench = with_hosts(2)
    busy = fetch(bench, NOW).host
    bench.share_hosts(1, NOW)
    assert bench.releasable_hosts() == [3 - busy]


def test_hosts_that_nobody_could_ask_soon_do_not_leave() -> None:
    bench = frontier()
    for host in (1, 2):
        bench.add_host_lease(host_lease(1, host=host, name=f"{host}.example", ready_at=NOW + 1000), NOW)
    bench.share_hosts(1, NOW)
    assert bench.releasable_hosts() == []


def test_of_hosts_that_can_be_asked_soon_no_greater_part_leaves_than_of_all() -> None:
    bench = with_hosts(4)
    for host in range(5, 13):
        bench.add_host_lease(host_lease(1, host=host, name=f"{host}.example", ready_at=NOW + 1000), NOW)
    bench.share_hosts(6, NOW)
    assert len(bench.releasable_hosts()) == 2


def test_under_other_terms_urls_not_handed_out_go_back_and_their_hosts_stay() -> None:
    bench = with_hosts(2)
    under_way = fetch(bench, NOW)
    waiting = bench.waiting_urls
    returned = bench.reset(obey_robots=True, urls_per_connection=1)
    assert (len(returned), under_way in returned) == (waiting, False)
    assert (bench.waiting_urls, bench.next_work(NOW), len(bench.hosts_needing_urls())) == (0, None, 2)
    finish(bench, under_way, NOW)
    bench.add_host_lease(host_lease(1, host=under_way.host), NOW)
    assert isinstance(bench.next_work(NOW + 60), FetchUrl)


def test_who_is_to_obey_robots_txt_from_now_on_asks_for_it() -> None:
    bench = Frontier(PolitenessSettings(), {}, product="Gossamer", obey_robots=False)
    bench.add_host_lease(host_lease(2), NOW)
    finish(bench, fetch(bench, NOW), NOW)
    bench.reset(obey_robots=True, urls_per_connection=16)
    bench.add_host_lease(host_lease(1), NOW)
    assert isinstance(bench.next_work(NOW + 60), FetchRobots)


def test_who_is_not_to_obey_robots_txt_any_more_keeps_no_crawl_delay() -> None:
    bench = frontier(PolitenessSettings(delay=0.0, connections=2))
    bench.add_host_lease(host_lease(2, robots("User-agent: *\nCrawl-delay: 20")), NOW)
    finish(bench, fetch(bench, NOW), NOW)
    bench.reset(obey_robots=False, urls_per_connection=16)
    bench.add_host_lease(host_lease(3), NOW)
    later = NOW + 20  # the pause that had begun is kept
    started = [bench.next_work(later), bench.next_work(later)]
    assert [type(work) for work in started] == [FetchUrl, FetchUrl]
