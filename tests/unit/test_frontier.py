"""The frontier: which request comes next, and how long a host pauses."""

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


def make_frontier(politeness: PolitenessSettings | None = None, own: dict[str, HostSettings] | None = None) -> Frontier:
    return Frontier(politeness or PolitenessSettings(), own or {}, product="Gossamer", obey_robots=True)


def fetch_next(frontier: Frontier, now: float) -> Lease:
    work = frontier.next_work(now)
    assert isinstance(work, FetchUrl)
    return work.lease


def finish(
    frontier: Frontier, done: Lease, now: float, *, took: float = 0.1, failed: bool = False, wait: float = 0.0
) -> None:
    frontier.finish_transfer(done, now, transfer_seconds=took, address="192.0.2.1", has_failed=failed, wait=wait)


def test_robots_txt_is_fetched_before_any_url() -> None:
    frontier = make_frontier()
    frontier.add_host_lease(host_lease(2), NOW)
    request = frontier.next_work(NOW)
    assert isinstance(request, FetchRobots)
    assert request.url == "https://example.org/robots.txt"
    assert frontier.next_work(NOW) is None


def test_stored_robots_txt_of_today_is_not_fetched_again() -> None:
    frontier = make_frontier()
    frontier.add_host_lease(host_lease(1, robots()), NOW + 60)
    assert isinstance(frontier.next_work(NOW + 60), FetchUrl)


def test_stored_robots_txt_of_yesterday_is_fetched_again() -> None:
    frontier = make_frontier()
    frontier.add_host_lease(host_lease(1, robots()), NOW + 25 * 3600)
    assert isinstance(frontier.next_work(NOW + 25 * 3600), FetchRobots)


DAY = 24 * 3600.0


def frontier_after_a_day(*rules: Robots, politeness: PolitenessSettings | None = None) -> Frontier:
    """Return a frontier that has held one host for a day, with URLs left."""
    frontier = make_frontier(politeness)
    frontier.add_host_lease(host_lease(4, *rules), NOW)
    finish(frontier, fetch_next(frontier, NOW), NOW)
    finish(frontier, fetch_next(frontier, NOW + DAY - 1), NOW + DAY - 1)
    return frontier


def test_a_host_held_for_a_day_fetches_robots_txt_again() -> None:
    frontier = frontier_after_a_day(robots())
    assert isinstance(frontier.next_work(NOW + DAY), FetchRobots)
    assert frontier.next_work(NOW + DAY + 10) is None, "it waits for the answer"
    frontier.apply_robots(robots("User-agent: *\nDisallow: /2", at=NOW + DAY + 10))
    work = [frontier.next_work(NOW + DAY + 20) for _ in range(2)]
    assert [type(each) for each in work] == [RefuseUrl, FetchUrl]
    assert frontier.next_work(NOW + DAY + 20) is None


def test_fetched_robots_txt_expires_a_day_after_its_arrival() -> None:
    frontier = make_frontier()
    frontier.add_host_lease(host_lease(3), NOW)
    assert isinstance(frontier.next_work(NOW), FetchRobots)
    frontier.apply_robots(robots(at=NOW + 5))
    finish(frontier, fetch_next(frontier, NOW + DAY + 4), NOW + DAY + 4)
    assert isinstance(frontier.next_work(NOW + DAY + 5), FetchRobots)


def test_robots_txt_dated_in_the_future_expires_after_a_day() -> None:
    frontier = make_frontier()
    frontier.add_host_lease(host_lease(2, robots(at=NOW + DAY / 2)), NOW)
    finish(frontier, fetch_next(frontier, NOW), NOW)
    assert isinstance(frontier.next_work(NOW + DAY), FetchRobots)


def test_a_held_host_waits_while_its_robots_txt_cannot_be_refreshed() -> None:
    frontier = frontier_after_a_day(robots())
    request = frontier.next_work(NOW + DAY)
    assert isinstance(request, FetchRobots)
    assert frontier.record_robots_failure(request, NOW + DAY, wait=0.0, reason="answered 503", is_away=False) == 1
    assert frontier.next_work(NOW + DAY + 0.5) is None
    assert isinstance(frontier.next_work(NOW + DAY + 1), FetchRobots)


def test_a_removed_crawl_delay_does_not_apply_any_more() -> None:
    rules = robots("User-agent: *\nCrawl-delay: 3600")
    frontier = frontier_after_a_day(rules, politeness=PolitenessSettings(delay=0.0, connections=2))
    later = NOW + DAY + 60
    assert isinstance(frontier.next_work(later), FetchRobots)
    frontier.apply_robots(robots(at=later))
    assert [type(frontier.next_work(later)) for _ in range(2)] == [FetchUrl, FetchUrl]
    assert list(frontier.waiting_hosts(later)) == []


def test_robots_txt_is_never_fetched_if_it_is_not_obeyed() -> None:
    frontier = Frontier(PolitenessSettings(), {}, product="Gossamer", obey_robots=False)
    frontier.add_host_lease(host_lease(2, robots("User-agent: *\nDisallow: /")), NOW)
    finish(frontier, fetch_next(frontier, NOW), NOW)
    assert isinstance(frontier.next_work(NOW + 2 * DAY), FetchUrl)


def test_the_pause_after_robots_txt_starts_at_its_arrival() -> None:
    frontier = make_frontier()
    frontier.add_host_lease(host_lease(1), NOW)
    assert isinstance(frontier.next_work(NOW), FetchRobots)
    frontier.apply_robots(robots("User-agent: *\nCrawl-delay: 2", at=NOW))  # applied late
    assert frontier.next_work(NOW + 1.9) is None
    assert isinstance(frontier.next_work(NOW + 2), FetchUrl)


def test_a_disallowed_url_is_refused_without_a_pause() -> None:
    frontier = make_frontier()
    frontier.add_host_lease(host_lease(2, robots("User-agent: *\nDisallow: /0")), NOW)
    refused = frontier.next_work(NOW)
    assert isinstance(refused, RefuseUrl)
    assert refused.lease.resource == 0
    assert fetch_next(frontier, NOW).resource == 1


def test_default_is_one_connection_and_a_pause_as_long_as_the_transfer() -> None:
    frontier = make_frontier()
    frontier.add_host_lease(host_lease(2, robots()), NOW)
    first = fetch_next(frontier, NOW)
    assert frontier.next_work(NOW + 5) is None  # still in flight
    finish(frontier, first, NOW + 5, took=5.0)
    assert frontier.next_work(NOW + 9.9) is None
    assert fetch_next(frontier, NOW + 10).resource == 1


def test_loopback_hosts_have_no_pause() -> None:
    frontier = make_frontier()
    frontier.add_host_lease(host_lease(2, robots(), name="127.0.0.1:8000"), NOW)
    finish(frontier, fetch_next(frontier, NOW), NOW)
    assert isinstance(frontier.next_work(NOW), FetchUrl)


def test_many_connections_without_delay_start_at_once() -> None:
    frontier = make_frontier(PolitenessSettings(delay=0.0, connections=32))
    frontier.add_host_lease(host_lease(40, robots()), NOW)
    started = 0
    while isinstance(frontier.next_work(NOW), FetchUrl):
        started += 1
    assert started == 32


def test_a_crawl_delay_limits_the_host_to_one_connection() -> None:
    frontier = make_frontier(PolitenessSettings(delay=0.0, connections=32))
    frontier.add_host_lease(host_lease(40, robots("User-agent: *\nCrawl-delay: 2")), NOW)
    first = fetch_next(frontier, NOW)
    assert frontier.next_work(NOW) is None
    finish(frontier, first, NOW + 1)
    assert frontier.next_work(NOW + 2.9) is None
    assert isinstance(frontier.next_work(NOW + 3), FetchUrl)


def test_a_long_crawl_delay_is_capped_and_reported() -> None:
    frontier = make_frontier()
    frontier.add_host_lease(host_lease(2, robots("User-agent: *\nCrawl-delay: 3600")), NOW)
    finish(frontier, fetch_next(frontier, NOW), NOW)
    [(name, seconds, reason)] = frontier.waiting_hosts(NOW)
    assert (name, round(seconds)) == ("example.org", 30)
    assert "3600 s" in reason


def test_host_settings_override_the_defaults() -> None:
    frontier = make_frontier(PolitenessSettings(delay=60.0), {"example.org": HostSettings(delay=1.0, connections=2)})
    frontier.add_host_lease(host_lease(3, robots()), NOW)
    fetch_next(frontier, NOW)
    assert frontier.next_work(NOW) is None
    assert isinstance(frontier.next_work(NOW + 1), FetchUrl)


def test_each_failure_doubles_the_pause() -> None:
    frontier = make_frontier(PolitenessSettings(delay=0.0))
    frontier.add_host_lease(host_lease(3, robots()), NOW)
    finish(frontier, fetch_next(frontier, NOW), NOW, failed=True)
    assert frontier.next_work(NOW + 0.9) is None
    finish(frontier, fetch_next(frontier, NOW + 1), NOW + 1, failed=True)
    assert frontier.next_work(NOW + 2.9) is None
    assert isinstance(frontier.next_work(NOW + 3), FetchUrl)


def test_simultaneous_failures_count_as_one_failure_of_the_host() -> None:
    frontier = make_frontier(PolitenessSettings(delay=0.0, connections=8))
    frontier.add_host_lease(host_lease(9, robots()), NOW)
    for lease in [fetch_next(frontier, NOW) for _ in range(8)]:
        finish(frontier, lease, NOW + 1, failed=True)
    assert frontier.next_work(NOW + 1.9) is None
    assert isinstance(frontier.next_work(NOW + 2), FetchUrl)


def requeue_away(frontier: Frontier, lost: Lease, now: float) -> None:
    assert frontier.is_host_away(lost.host, "https", now)
    frontier.requeue(lost, now, transfer_seconds=0.1, reason="No route to host")


def test_a_url_of_an_away_host_is_requeued_with_growing_pauses() -> None:
    frontier = make_frontier(PolitenessSettings(delay=0.0))
    frontier.add_host_lease(host_lease(3, robots()), NOW)
    finish(frontier, fetch_next(frontier, NOW), NOW)
    pauses, now = [], NOW
    for _ in range(4):
        lost = fetch_next(frontier, now)
        requeue_away(frontier, lost, now)
        assert (lost.resource, frontier.waiting_urls) == (1, 2)
        ready = frontier.next_ready_at()
        assert ready is not None
        pauses.append(ready - now)
        now = ready
    assert pauses == [1, 2, 4, 8]
    assert list(frontier.waiting_hosts(NOW)) == [("example.org", 15, "cannot be reached: No route to host")]


def test_a_host_counts_as_away_for_ten_minutes_after_its_last_answer() -> None:
    frontier = make_frontier(PolitenessSettings(delay=0.0))
    frontier.add_host_lease(host_lease(2, robots()), NOW)
    assert not frontier.is_host_away(1, "https", NOW), "it never answered here"
    finish(frontier, fetch_next(frontier, NOW), NOW)
    assert frontier.is_host_away(1, "https", NOW + 599)
    assert not frontier.is_host_away(1, "https", NOW + 600)
    assert not frontier.is_host_away(1, "http", NOW + 600)


def test_robots_txt_counts_as_an_answer_and_a_failure_does_not() -> None:
    frontier = make_frontier(PolitenessSettings(delay=0.0))
    frontier.add_host_lease(host_lease(2), NOW)
    assert isinstance(frontier.next_work(NOW), FetchRobots)
    frontier.apply_robots(robots(at=NOW))
    finish(frontier, fetch_next(frontier, NOW), NOW + 300, failed=True)
    assert frontier.is_host_away(1, "https", NOW + 599)
    assert not frontier.is_host_away(1, "https", NOW + 600)


def test_an_away_host_makes_unmet_hosts_away_until_any_host_answers() -> None:
    frontier = frontier_with_hosts(3)
    answered, other = fetch_next(frontier, NOW), fetch_next(frontier, NOW)
    finish(frontier, answered, NOW)
    unmet = next(host for host in (1, 2, 3) if host not in {answered.host, other.host})
    assert not frontier.is_host_away(unmet, "https", NOW + 1)
    assert frontier.is_host_away(answered.host, "https", NOW + 1)
    assert frontier.is_host_away(unmet, "https", NOW + 1)
    finish(frontier, other, NOW + 2)
    assert not frontier.is_host_away(unmet, "https", NOW + 2)


def test_a_released_host_still_counts_as_away_after_a_recent_answer() -> None:
    frontier = frontier_with_hosts(2)
    answered, other = fetch_next(frontier, NOW), fetch_next(frontier, NOW)
    finish(frontier, answered, NOW)
    frontier.release_host(answered.host, NOW + 64)
    finish(frontier, other, NOW + 100)
    frontier.add_host_lease(host_lease(2, robots(host=answered.host), host=answered.host), NOW + 130)
    assert frontier.is_host_away(answered.host, "https", NOW + 599)
    assert not frontier.is_host_away(answered.host, "https", NOW + 700)


def test_old_answer_times_are_forgotten() -> None:
    frontier = frontier_with_hosts(2)
    first, second = fetch_next(frontier, NOW), fetch_next(frontier, NOW)
    finish(frontier, first, NOW)
    finish(frontier, second, NOW + 50)
    finish(frontier, fetch_next(frontier, NOW + 700), NOW + 700)
    assert len(frontier._outages) == 1


def test_retry_after_is_obeyed() -> None:
    frontier = make_frontier(PolitenessSettings(delay=0.0))
    frontier.add_host_lease(host_lease(2, robots()), NOW)
    finish(frontier, fetch_next(frontier, NOW), NOW, failed=True, wait=100.0)
    assert frontier.next_work(NOW + 99) is None
    assert isinstance(frontier.next_work(NOW + 100), FetchUrl)


def test_hosts_on_one_address_share_its_limit() -> None:
    frontier = make_frontier(PolitenessSettings(delay=0.0, connections_per_address=1))
    for host in (1, 2):
        frontier.add_host_lease(host_lease(3, robots(host=host), host=host, name=f"h{host}.example"), NOW)
    for _ in (1, 2):  # their addresses are not known before the first answer
        finish(frontier, fetch_next(frontier, NOW), NOW)
    first = fetch_next(frontier, NOW)
    assert frontier.next_work(NOW) is None
    finish(frontier, first, NOW)
    assert isinstance(frontier.next_work(NOW + 1), FetchUrl)


def test_releasing_a_host_returns_its_urls_and_ready_time() -> None:
    frontier = make_frontier(PolitenessSettings(delay=10.0))
    frontier.add_host_lease(host_lease(3, robots()), NOW)
    finish(frontier, fetch_next(frontier, NOW), NOW)
    note, leases = frontier.release_host(1, NOW)
    assert [each.resource for each in leases] == [1, 2]
    assert (note.ready_at, note.keep) == (NOW + 10, False)
    assert len(frontier) == 0
    assert frontier.waiting_urls == 0


def test_a_host_without_queued_or_active_urls_is_idle() -> None:
    frontier = make_frontier()
    frontier.add_host_lease(host_lease(1, robots()), NOW)
    done = fetch_next(frontier, NOW)
    assert frontier.idle_hosts() == []
    finish(frontier, done, NOW)
    assert frontier.idle_hosts() == [1]


def test_unreachable_robots_txt_makes_the_host_wait() -> None:
    frontier = make_frontier()
    frontier.add_host_lease(host_lease(1), NOW)
    request = frontier.next_work(NOW)
    assert isinstance(request, FetchRobots)
    assert frontier.record_robots_failure(request, NOW, wait=0.0, reason="answered 503", is_away=False) == 1
    assert frontier.next_work(NOW + 0.5) is None
    assert isinstance(frontier.next_work(NOW + 1), FetchRobots)


def test_host_settings_apply_with_and_without_a_scheme() -> None:
    for name in ("example.org", "http://example.org", "https://example.org"):
        frontier = make_frontier(own={name: HostSettings(delay=7.0)})
        frontier.add_host_lease(host_lease(2, robots()), NOW)
        finish(frontier, fetch_next(frontier, NOW), NOW)
        assert frontier.next_ready_at() == NOW + 7.0, name


def test_hosts_in_a_long_pause_make_room_for_others() -> None:
    frontier = make_frontier(PolitenessSettings(max_hosts=8))
    for host in range(1, 5):
        frontier.add_host_lease(host_lease(1, host=host, name=f"{host}.example", ready_at=NOW + 10), NOW)
    assert frontier.wanted_host_count(transfers=2, now=NOW) == 4
    assert frontier.wanted_host_count(transfers=2, now=NOW + 10) == 0


def test_no_hosts_are_wanted_beyond_max_hosts() -> None:
    frontier = make_frontier(PolitenessSettings(max_hosts=3))
    for host in range(1, 4):
        frontier.add_host_lease(host_lease(1, host=host, name=f"{host}.example", ready_at=NOW + 10), NOW)
    assert frontier.wanted_host_count(transfers=100, now=NOW) == 0


def frontier_with_hosts(number: int, urls: int = 4) -> Frontier:
    frontier = make_frontier()
    for host in range(1, number + 1):
        frontier.add_host_lease(host_lease(urls, robots(host=host), host=host, name=f"{host}.example"), NOW)
    return frontier


def test_hosts_beyond_the_share_get_no_work_and_are_released() -> None:
    frontier = frontier_with_hosts(4)
    frontier.share_hosts(3, NOW)
    (leaving,) = frontier.releasable_hosts()
    assert leaving not in {fetch_next(frontier, NOW).host for _ in range(3)}
    assert frontier.next_work(NOW) is None
    _, leases = frontier.release_host(leaving, NOW)
    assert {each.host for each in leases} == {leaving}
    assert frontier.wanted_host_count(transfers=100, now=NOW) == 0
    frontier.share_hosts(None, NOW + 1)
    assert frontier.wanted_host_count(transfers=100, now=NOW + 1) == 0, "other crawlers come first"
    frontier.share_hosts(None, NOW + 60)
    assert frontier.wanted_host_count(transfers=100, now=NOW + 60) > 0


def test_a_leaving_host_is_released_after_its_transfer_ends() -> None:
    frontier = frontier_with_hosts(2, urls=2)
    in_flight = [fetch_next(frontier, NOW), fetch_next(frontier, NOW)]
    frontier.share_hosts(1, NOW)
    assert frontier.releasable_hosts() == []
    assert len(frontier.hosts_needing_urls()) == 1
    for lease in in_flight:
        finish(frontier, lease, NOW)
    assert len(frontier.releasable_hosts()) == 1


def test_an_idle_host_is_released_before_a_busy_one() -> None:
    frontier = frontier_with_hosts(2)
    busy = fetch_next(frontier, NOW).host
    frontier.share_hosts(1, NOW)
    assert frontier.releasable_hosts() == [3 - busy]


def test_hosts_in_a_long_pause_are_not_released() -> None:
    frontier = make_frontier()
    for host in (1, 2):
        frontier.add_host_lease(host_lease(1, host=host, name=f"{host}.example", ready_at=NOW + 1000), NOW)
    frontier.share_hosts(1, NOW)
    assert frontier.releasable_hosts() == []


def test_ready_hosts_are_released_at_most_in_proportion_to_all() -> None:
    frontier = frontier_with_hosts(4)
    for host in range(5, 13):
        frontier.add_host_lease(host_lease(1, host=host, name=f"{host}.example", ready_at=NOW + 1000), NOW)
    frontier.share_hosts(6, NOW)
    assert len(frontier.releasable_hosts()) == 2


def test_reset_returns_unfetched_urls_and_keeps_their_hosts() -> None:
    frontier = frontier_with_hosts(2)
    in_flight = fetch_next(frontier, NOW)
    waiting = frontier.waiting_urls
    returned = frontier.reset(obey_robots=True, urls_per_connection=1)
    assert (len(returned), in_flight in returned) == (waiting, False)
    assert (frontier.waiting_urls, frontier.next_work(NOW), len(frontier.hosts_needing_urls())) == (0, None, 2)
    finish(frontier, in_flight, NOW)
    frontier.add_host_lease(host_lease(1, host=in_flight.host), NOW)
    assert isinstance(frontier.next_work(NOW + 60), FetchUrl)


def test_reset_to_obeying_robots_txt_fetches_it() -> None:
    frontier = Frontier(PolitenessSettings(), {}, product="Gossamer", obey_robots=False)
    frontier.add_host_lease(host_lease(2), NOW)
    finish(frontier, fetch_next(frontier, NOW), NOW)
    frontier.reset(obey_robots=True, urls_per_connection=16)
    frontier.add_host_lease(host_lease(1), NOW)
    assert isinstance(frontier.next_work(NOW + 60), FetchRobots)


def test_reset_to_ignoring_robots_txt_drops_the_crawl_delay() -> None:
    frontier = make_frontier(PolitenessSettings(delay=0.0, connections=2))
    frontier.add_host_lease(host_lease(2, robots("User-agent: *\nCrawl-delay: 20")), NOW)
    finish(frontier, fetch_next(frontier, NOW), NOW)
    frontier.reset(obey_robots=False, urls_per_connection=16)
    frontier.add_host_lease(host_lease(3), NOW)
    later = NOW + 20  # the pause that has begun still applies
    started = [frontier.next_work(later), frontier.next_work(later)]
    assert [type(work) for work in started] == [FetchUrl, FetchUrl]


# -- shares and excesses -----------------------------------------------------------------------------------------------


def test_a_host_fills_only_as_much_room_as_is_left() -> None:
    frontier = make_frontier(PolitenessSettings(delay=0, connections=100, connections_per_address=100))
    frontier.add_host_lease(host_lease(50, robots()), NOW)
    other = host_lease(50, robots(host=2), host=2, name="example.net")
    for page in range(20):  # the pages of one host wait for a parser
        finish(frontier, fetch_next(frontier, NOW), NOW)
        frontier.start_page(1, 1000)
        assert page < 20
    assert frontier.next_work(NOW, 20, 1 << 20) is None, "it has as many pages as room is left"
    frontier.add_host_lease(other, NOW)
    work = frontier.next_work(NOW, 20, 1 << 20)
    assert isinstance(work, FetchUrl)
    assert work.lease.host == 2
    frontier.finish_page(1, 1000)
    assert isinstance(frontier.next_work(NOW, 20, 1 << 20), FetchUrl)


def test_a_host_fills_only_as_many_bytes_as_are_left() -> None:
    frontier = make_frontier(PolitenessSettings(delay=0))
    frontier.add_host_lease(host_lease(3, robots()), NOW)
    finish(frontier, fetch_next(frontier, NOW), NOW)
    frontier.start_page(1, 5000)
    assert frontier.next_work(NOW, 100, 4000) is None
    frontier.finish_page(1, 5000)
    assert isinstance(frontier.next_work(NOW, 100, 4000), FetchUrl)


def rests(frontier: Frontier, now: float) -> list[tuple[float, str]]:
    return [(round(seconds), reason) for _, seconds, reason in frontier.waiting_hosts(now)]


def test_a_host_rests_longer_after_each_page_that_uses_up_a_limit() -> None:
    frontier = make_frontier(PolitenessSettings(delay=0))
    frontier.add_host_lease(host_lease(9, robots()), NOW)
    now, reason = NOW, "its pages use up their limits: parser timeout"
    for expected in (1, 2, 4):
        finish(frontier, fetch_next(frontier, now), now)
        frontier.record_excess(1, now, seconds=0.0, reason="parser timeout")
        frontier.record_excess(1, now + 0.1, seconds=0.0, reason="parser timeout")  # of the same incident
        assert rests(frontier, now + 0.1) == [(expected, reason)]
        assert frontier.next_work(now + expected - 0.1) is None
        now += expected + 1
    finish(frontier, fetch_next(frontier, now), now)
    frontier.record_good_page(1)
    frontier.record_excess(1, now, seconds=0.0, reason="too slow")
    assert rests(frontier, now)[0][0] == 4, "a good page makes up for one"


def test_a_host_rests_at_least_as_long_as_its_page_took_and_at_most_max_delay() -> None:
    frontier = make_frontier(PolitenessSettings(delay=0, max_delay=15))
    frontier.add_host_lease(host_lease(9, robots()), NOW)
    frontier.record_excess(1, NOW, seconds=12.0, reason="parser timeout")
    assert rests(frontier, NOW)[0][0] == 12
    frontier.record_excess(1, NOW + 20, seconds=60.0, reason="parser timeout")
    assert rests(frontier, NOW + 20)[0][0] == 15


def test_a_host_that_rests_beyond_the_patience_for_its_pages_is_released() -> None:
    frontier = make_frontier(PolitenessSettings(delay=0))
    frontier.add_host_lease(host_lease(9, robots()), NOW)
    frontier.record_excess(1, NOW, seconds=200.0, reason="parser timeout")
    assert frontier.failing_hosts(60.0, NOW) == [1]


def test_a_crawler_that_ends_gives_back_hosts_with_their_pauses() -> None:
    frontier = make_frontier(PolitenessSettings(delay=4.0))
    frontier.add_host_lease(host_lease(2, robots()), NOW)
    frontier.add_host_lease(host_lease(2, robots(host=2), host=2, name="busy.example"), NOW)
    finish(frontier, fetch_next(frontier, NOW), NOW + 1)
    fetch_next(frontier, NOW)  # still under way when the crawler ends
    updates = {update.host: update for update in frontier.release_all_hosts(NOW + 2)}
    assert {host: (update.ready_at, update.keep) for host, update in updates.items()} == {
        1: (NOW + 5, False),
        2: (NOW + 6, False),
    }
    assert len(frontier) == 0


def test_an_unanswered_robots_txt_request_counts_for_the_pause_too() -> None:
    frontier = make_frontier(PolitenessSettings(min_delay=0.5))
    frontier.add_host_lease(host_lease(1), NOW)
    assert isinstance(frontier.next_work(NOW), FetchRobots)
    [update] = frontier.release_all_hosts(NOW + 1)
    assert update.ready_at == NOW + 1.5


def test_the_store_learns_the_crawl_delay_with_the_rules() -> None:
    frontier = make_frontier()
    frontier.add_host_lease(host_lease(1), NOW)
    frontier.next_work(NOW)
    frontier.take_host_updates()
    frontier.apply_robots(robots("User-agent: *\nCrawl-delay: 3"))
    assert [(update.delay, update.ready_at) for update in frontier.take_host_updates()] == [(3.0, NOW + 3)]


def finish_subresource(frontier: Frontier, now: float, *, failed: bool = True, wait: float = 0.0) -> None:
    frontier.finish_subresource(
        1, now, transfer_seconds=0.1, address="192.0.2.1", has_failed=failed, wait=wait
    )  # fmt: skip


def test_requests_of_pages_heed_a_rest_and_not_the_pause_between_pages() -> None:
    frontier = make_frontier(PolitenessSettings(delay=30.0))
    frontier.add_host_lease(host_lease(3, robots()), NOW)
    finish(frontier, fetch_next(frontier, NOW), NOW)
    assert (frontier.rest_seconds(1, NOW + 1), frontier.start_subresource(1)) == (0.0, True)
    finish_subresource(frontier, NOW + 1, wait=60.0)
    assert frontier.rest_seconds(1, NOW + 2) == 59.0
    assert frontier.next_work(NOW + 40) is None, "a page waits for the rest too"
    assert fetch_next(frontier, NOW + 62)


def test_a_host_that_is_not_held_shares_the_connections_of_its_address() -> None:
    frontier = make_frontier(PolitenessSettings(connections_per_address=1))
    frontier.add_host_lease(host_lease(3, robots()), NOW)
    finish(frontier, fetch_next(frontier, NOW), NOW)
    assert frontier.start_at_address("192.0.2.1", 1)
    assert not frontier.start_at_address("192.0.2.1", 1)
    assert not frontier.start_subresource(1)
    frontier.finish_at_address("192.0.2.1")
    assert frontier.start_subresource(1)
