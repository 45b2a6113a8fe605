"""Crawl statistics: the estimate of the time left."""

from __future__ import annotations

import pytest

from gossamer.crawl.statistics import CrawlStatistics
from gossamer.crawl.writer import WriteOrder, WriteResult
from gossamer.model import Lease, Outcome, Role, State, Visit, VisitBatch
from gossamer.store.values import Counts, Round, SubmitResult


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The monotonic time in seconds, which a test can set."""
    now = [100.0]
    monkeypatch.setattr("gossamer.crawl.statistics.time.monotonic", lambda: now[0])
    return now


def crawl_round(max_pages: int | None, pages: int = 0) -> Round:
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


def crawl_statistics(known: int) -> CrawlStatistics:
    return CrawlStatistics(Counts(resources={State.QUEUED: known}, hosts=1, links=0, documents=0))


def write_result(pages: int, *, known: int, queued: int) -> WriteResult:
    order = WriteOrder(now=0.0, batch=VisitBatch(visits=[visit(number) for number in range(pages)]))
    return WriteResult(order=order, submitted=SubmitResult(version=1, known=known, open=queued))


def time_left(statistics: CrawlStatistics) -> float | None:
    return statistics.progress(name="Naiad", state="running", transfers=0, hosts=1, waiting=()).eta_seconds


def test_without_a_limit_the_queue_decides_the_time_left(clock: list[float]) -> None:
    statistics = crawl_statistics(1000)
    statistics.set_page_limit(crawl_round(None))
    clock[0] += 2
    statistics.count_batch(write_result(20, known=1000, queued=980))
    assert time_left(statistics) == 98


def test_a_growing_web_has_no_estimate_of_the_time_left(clock: list[float]) -> None:
    statistics = crawl_statistics(1000)
    clock[0] += 2
    statistics.count_batch(write_result(20, known=1500, queued=1480))
    assert time_left(statistics) is None


@pytest.mark.parametrize("known", [1000, 1500])
def test_a_page_limit_decides_the_time_left_before_the_queue(clock: list[float], known: int) -> None:
    statistics = crawl_statistics(1000)
    statistics.set_page_limit(crawl_round(120))
    clock[0] += 2
    statistics.count_batch(write_result(20, known=known, queued=known - 20))
    assert time_left(statistics) == 10


def test_visits_of_other_crawlers_count_against_the_limit(clock: list[float]) -> None:
    statistics = crawl_statistics(1000)
    statistics.set_page_limit(crawl_round(120))
    clock[0] += 2
    statistics.count_batch(write_result(20, known=1000, queued=930))
    statistics.set_page_limit(crawl_round(120, pages=70))
    assert time_left(statistics) == 5


def test_a_distant_limit_changes_nothing(clock: list[float]) -> None:
    statistics = crawl_statistics(1000)
    statistics.set_page_limit(crawl_round(10_000))
    clock[0] += 2
    statistics.count_batch(write_result(20, known=1000, queued=980))
    assert time_left(statistics) == 98
