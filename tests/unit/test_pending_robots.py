"""What happens to a host and its URLs when its robots.txt is unavailable."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gossamer.config import PolitenessSettings, Settings
from gossamer.crawl.frontier import FetchRobots, FetchUrl, Frontier
from gossamer.crawl.log import CrawlLog
from gossamer.crawl.outbox import Outbox
from gossamer.crawl.pending_robots import PendingRobots
from gossamer.crawl.plan import CrawlPlan
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


class RobotsHarness:
    """Pending robots.txt requests that the test answers, with their frontier."""

    def __init__(self, log: CrawlLog) -> None:
        round_settings = RoundSettings(SETTINGS)
        self.frontier = Frontier(SETTINGS.politeness, {}, product="Gossamer", obey_robots=True)
        self.outbox = Outbox(SETTINGS.store)
        plan = CrawlPlan(settings=SETTINGS, round=ROUND, product="Gossamer")
        self.robots = PendingRobots(plan, round_settings, self.frontier, self.outbox, log)

    def add_host(self, host: int, *urls: str, failures: int = 0, robots: tuple[Robots, ...] = ()) -> None:
        leases = tuple(
            Lease(resource=number, host=host, url=url, role=Role.PAGE, depth=0, hops=0, tries=0)
            for number, url in enumerate(urls)
        )
        name = urls[0].split("/")[2]
        host_lease = HostLease(host=host, name=name, ready_at=0.0, failures=failures, robots=robots, leases=leases)
        self.frontier.add_host_lease(host_lease, NOW)

    def add_answering_host(self, host: int, now: float) -> None:
        """Add another host and let it answer now."""
        rules = Robots(host=host, scheme="https", outcome="rules", text="", fetched_at=NOW)
        self.add_host(host, f"https://{host}.example/", robots=(rules,))
        work = self.frontier.next_work(now)
        assert isinstance(work, FetchUrl)
        self.frontier.finish_transfer(
            work.lease, now, transfer_seconds=0.1, address="192.0.2.1", has_failed=False, wait=0.0
        )

    def fail_robots(self, now: float, *, status: int = 0, retry_after: str = "") -> list[Visit]:
        """Fail the next request, which must be for robots.txt: by this status, or without a connection."""
        work = self.frontier.next_work(now)
        assert isinstance(work, FetchRobots)
        self.robots.add(1, work)
        fetched = FetchResult(
            request=Request(id=1, url=work.url, role=Role.ROBOTS),
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
def harness(tmp_path: Path) -> Iterator[RobotsHarness]:
    log = CrawlLog(tmp_path / "log.jsonl", "Naiad")
    yield RobotsHarness(log)
    log.close()


URLS = [f"https://example.org/{number}" for number in range(16)]


def test_an_unreachable_host_gets_three_robots_txt_attempts(harness: RobotsHarness) -> None:
    harness.add_host(1, *URLS)
    assert harness.fail_robots(NOW) == []
    assert harness.fail_robots(NOW + 1) == []
    assert len(harness.fail_robots(NOW + 3)) == 16
    assert len(harness.frontier) == 0


def test_failures_during_a_network_outage_do_not_count_as_attempts(harness: RobotsHarness) -> None:
    harness.add_answering_host(2, NOW)
    harness.add_host(1, *URLS)
    assert harness.frontier.is_host_away(2, "https", NOW)
    for pause in (0, 1, 3, 7, 15):
        assert harness.fail_robots(NOW + pause) == []
    harness.add_answering_host(3, NOW + 31)
    assert harness.fail_robots(NOW + 31) == [], "the first attempt that counts"
    assert harness.fail_robots(NOW + 32) == []
    assert len(harness.fail_robots(NOW + 34)) == 16


def test_earlier_host_failures_do_not_count_as_robots_txt_attempts(harness: RobotsHarness) -> None:
    harness.add_host(1, *URLS, failures=7)
    assert harness.fail_robots(NOW) == []
    assert harness.fail_robots(NOW + 1) == [], "earlier failures do not lengthen its pauses either"
    assert len(harness.fail_robots(NOW + 3)) == 16


def test_robots_txt_attempts_add_up_across_releases_of_the_host(harness: RobotsHarness) -> None:
    failures = 0
    for now in (NOW, NOW + 100):
        harness.add_host(1, *URLS, failures=failures)
        assert harness.fail_robots(now, status=503, retry_after="100") == []
        assert harness.frontier.failing_hosts(60.0, now) == [1]
        failures = harness.frontier.release_host(1, now)[0].failures
    harness.add_host(1, *URLS, failures=failures)
    harness.fail_robots(NOW + 200, status=503, retry_after="100")
    assert len(harness.outbox.released) == 16
    assert [note.ready_at for note in harness.outbox.host_updates] == [NOW + 200 + 3600]


def test_an_abandoned_host_gets_new_robots_txt_attempts_later(harness: RobotsHarness) -> None:
    for now in (NOW, NOW + 3600):
        harness.add_host(1, *URLS, failures=3 if now > NOW else 0)
        assert harness.fail_robots(now) == []
        assert harness.fail_robots(now + 1) == []
        assert len(harness.fail_robots(now + 3)) == 16


def test_retry_after_of_an_abandoned_robots_txt_spares_the_other_scheme(harness: RobotsHarness) -> None:
    rules = Robots(host=1, scheme="http", outcome="rules", text="", fetched_at=NOW)
    harness.add_host(1, URLS[0], "http://example.org/1", "http://example.org/2", robots=(rules,))
    for wait in (0, 1):
        harness.fail_robots(NOW + wait, status=503)
    harness.fail_robots(NOW + 3, status=503, retry_after="3600")
    assert [lease.url for lease in harness.outbox.released] == URLS[:1]
    work = harness.frontier.next_work(NOW + 3)
    assert isinstance(work, FetchUrl)
    harness.frontier.finish_transfer(
        work.lease, NOW + 4, transfer_seconds=0.1, address="192.0.2.1", has_failed=False, wait=0.0
    )
    assert isinstance(harness.frontier.next_work(NOW + 4), FetchUrl)
