"""The running account of a crawl: the time that is left."""

from __future__ import annotations

import pytest

from gossamer.crawl.statistics import CrawlStatistics
from gossamer.crawl.writer import WriteOrder, WriteResult
from gossamer.model import Lease, Outcome, Role, State, Visit
from gossamer.store.values import Counts, Round, SubmitResult


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time in seconds, to be set."""
    now = [100.0]
    monkeypatch.setattr("gossamer.crawl.statistics.time.monotonic", lambda: now[0])
    return now


def begun(max_pages: int | None, pages: int = 0) -> Round:
    return Round(
        id=1, started_at=0.0, finished_at=None, settings="{}", seeds=(), joined=(), max_pages=max_pages,
        max_pages_per_host=None, pages=pages,
    )  # fmt: skip


def visit(number: int) -> Visit:
    lease = Lease(resource=number, host=1, url=f"http://a.example/{number}", role=Role.PAGE, depth=0, hops=0, tries=0)
    return Visit(
        lease=lease, outcome=Outcome.FETCHED, state=State.VISITED, reason="", status=200, visited_at=0.0, bytes=1,
        milliseconds=1,
    )  # fmt: skip


def tally(known: int) -> CrawlStatistics:
    return CrawlStatistics(Counts(resources={State.QUEUED: known}, hosts=1, links=0, documents=0))


def stored(pages: int, *, known: int, queued: int) -> WriteResult:
    order = WriteOrder(now=0.0, visits=tuple(visit(number) for number in range(pages)))
    return WriteResult(order=order, submitted=SubmitResult(version=1, known=known, open=queued))


def time_left(account: CrawlStatistics) -> float | None:
    return account.progress(name="Naiad", state="running", transfers=0, hosts=1, waiting=()).eta_seconds


def test_without_a_limit_the_queue_says_how_long_it_takes(clock: list[float]) -> None:
    account = tally(1000)
    account.set_page_limit(begun(None))
    clock[0] += 2
    account.count_batch(stored(20, known=1000, queued=980))
    assert time_left(account) == 98


def test_while_the_web_grows_nobody_knows_how_long_it_takes(clock: list[float]) -> None:
    account = tally(1000)
    clock[0] += 2
    account.count_batch(stored(20, known=1500, queued=1480))
    assert time_left(account) is None


@pytest.mark.parametrize("known", [1000, 1500])
def test_a_page_limit_ends_a_crawl_before_its_queue_does(clock: list[float], known: int) -> None:
    account = tally(1000)
    account.set_page_limit(begun(120))
    clock[0] += 2
    account.count_batch(stored(20, known=known, queued=known - 20))
    assert time_left(account) == 10


def test_what_other_crawlers_visit_counts_against_the_limit(clock: list[float]) -> None:
    account = tally(1000)
    account.set_page_limit(begun(120))
    clock[0] += 2
    account.count_batch(stored(20, known=1000, queued=930))
    account.set_page_limit(begun(120, pages=70))
    assert time_left(account) == 5


def test_a_limit_that_is_far_away_changes_nothing(clock: list[float]) -> None:
    account = tally(1000)
    account.set_page_limit(begun(10_000))
    clock[0] += 2
    account.count_batch(stored(20, known=1000, queued=980))
    assert time_left(account) == 98
