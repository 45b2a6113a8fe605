"""What becomes of a host and its URLs when its robots.txt cannot be had."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gossamer.config import PolitenessSettings, Settings
from gossamer.crawl.frontier import FetchRobots, FetchUrl, Frontier
from gossamer.crawl.log import CrawlLog
from gossamer.crawl.loop import CrawlPlan
from gossamer.crawl.outbox import Outbox
from gossamer.crawl.pending_robots import PendingRobots
from gossamer.crawl.round_settings import RoundSettings
from gossamer.model import FetchResult, HostLease, Lease, Outcome, Request, Robots, Role
from gossamer.store.values import Round

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from gossamer.model import Visit

NOW = 1_000_000.0
SETTINGS = Settings(politeness=PolitenessSettings(delay=0.0))
ROUND = Round(
    id=1, started_at=NOW, finished_at=None, settings="{}", seeds=(), joined=(), max_pages=None,
    max_pages_per_host=None, pages=0,
)  # fmt: skip


class Bench:
    """Requests for robots.txt that a test answers, and the frontier they are for."""

    def __init__(self, log: CrawlLog) -> None:
        terms = RoundSettings(SETTINGS)
        self.frontier = Frontier(SETTINGS.politeness, {}, product="Gossamer", obey_robots=True)
        self.outbox = Outbox(SETTINGS.store)
        plan = CrawlPlan(settings=SETTINGS, round=ROUND, product="Gossamer")
        self.robots = PendingRobots(plan, terms, self.frontier, self.outbox, log)

    def take_in(self, host: int, *urls: str, failures: int = 0, robots: tuple[Robots, ...] = ()) -> None:
        leases = tuple(
            Lease(resource=number, host=host, url=url, role=Role.PAGE, depth=0, hops=0, tries=0)
            for number, url in enumerate(urls)
        )
        name = urls[0].split("/")[2]
        leased = HostLease(host=host, name=name, ready_at=0.0, failures=failures, robots=robots, leases=leases)
        self.frontier.add_host_lease(leased, NOW)

    def meet(self, host: int, now: float) -> None:
        """Another host, which answers now."""
        known = Robots(host=host, scheme="https", outcome="rules", text="", fetched_at=NOW)
        self.take_in(host, f"https://{host}.example/", robots=(known,))
        work = self.frontier.next_work(now)
        assert isinstance(work, FetchUrl)
        self.frontier.finish_transfer(
            work.lease, now, transfer_seconds=0.1, address="192.0.2.1", has_failed=False, wait=0.0
        )

    def fail(self, now: float, *, status: int = 0, retry_after: str = "") -> list[Visit]:
        """The next request must be one for robots.txt: nobody is there, or the server says this."""
        ask = self.frontier.next_work(now)
        assert isinstance(ask, FetchRobots)
        self.robots.add(1, ask)
        fetched = FetchResult(
            request=Request(id=1, url=ask.url, role=Role.ROBOTS),
            outcome=Outcome.HTTP_ERROR if status else Outcome.CONNECT,
            reason=f"answered {status}" if status else "connection refused",
            status=status,
            headers={"retry-after": retry_after} if retry_after else {},
            body=b"",
            milliseconds=1,
            address="192.0.2.1" if status else "",
        )
        return self.robots.apply_missing_rules(fetched, now)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    log = CrawlLog(tmp_path / "log.jsonl", "Naiad")
    yield Bench(log)
    log.close()


URLS = [f"https://example.org/{number}" for number in range(16)]


def test_a_host_that_nobody_is_found_at_has_three_tries_for_its_robots_txt(bench: Bench) -> None:
    bench.take_in(1, *URLS)
    assert bench.fail(NOW) == []
    assert bench.fail(NOW + 1) == []
    assert len(bench.fail(NOW + 3)) == 16
    assert len(bench.frontier) == 0


def test_what_failed_while_the_network_was_away_is_no_try_for_robots_txt(bench: Bench) -> None:
    bench.meet(2, NOW)
    bench.take_in(1, *URLS)
    assert bench.frontier.is_host_away(2, "https", NOW)
    for pause in (0, 1, 3, 7, 15):
        assert bench.fail(NOW + pause) == []
    bench.meet(3, NOW + 31)
    assert bench.fail(NOW + 31) == [], "the first that counts"
    assert bench.fail(NOW + 32) == []
    assert len(bench.fail(NOW + 34)) == 16


def test_failures_before_are_no_tries_for_robots_txt(bench: Bench) -> None:
    bench.take_in(1, *URLS, failures=7)
    assert bench.fail(NOW) == []
    assert bench.fail(NOW + 1) == [], "nor do they make its pauses so long that the crawl ends before"
    assert len(bench.fail(NOW + 3)) == 16


def test_tries_for_robots_txt_count_on_when_the_host_was_put_off_between_them(bench: Bench) -> None:
    failures = 0
    for now in (NOW, NOW + 100):
        bench.take_in(1, *URLS, failures=failures)
        assert bench.fail(now, status=503, retry_after="100") == []
        assert bench.frontier.failing_hosts(60.0, now) == [1]
        failures = bench.frontier.release_host(1, now)[0].failures
    bench.take_in(1, *URLS, failures=failures)
    bench.fail(NOW + 200, status=503, retry_after="100")
    assert len(bench.outbox.released) == 16
    assert [note.ready_at for note in bench.outbox.host_updates] == [NOW + 200 + 3600]


def test_a_host_given_up_has_its_tries_anew_when_it_is_asked_again(bench: Bench) -> None:
    for now in (NOW, NOW + 3600):
        bench.take_in(1, *URLS, failures=3 if now > NOW else 0)
        assert bench.fail(now) == []
        assert bench.fail(now + 1) == []
        assert len(bench.fail(now + 3)) == 16


def test_urls_of_the_other_scheme_do_not_wait_as_long_as_robots_txt_given_up_asks_for(bench: Bench) -> None:
    known = Robots(host=1, scheme="http", outcome="rules", text="", fetched_at=NOW)
    bench.take_in(1, URLS[0], "http://example.org/1", "http://example.org/2", robots=(known,))
    for wait in (0, 1):
        bench.fail(NOW + wait, status=503)
    bench.fail(NOW + 3, status=503, retry_after="3600")
    assert [lease.url for lease in bench.outbox.released] == URLS[:1]
    work = bench.frontier.next_work(NOW + 3)
    assert isinstance(work, FetchUrl)
    bench.frontier.finish_transfer(
        work.lease, NOW + 4, transfer_seconds=0.1, address="192.0.2.1", has_failed=False, wait=0.0
    )
    assert isinstance(bench.frontier.next_work(NOW + 4), FetchUrl)
