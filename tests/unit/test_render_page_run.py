"""The requests and limits of one page, with a tab that writes down what it is told."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from gossamer.model import Outcome, PageRequest, PageResponse, RenderedPage, RenderJob
from gossamer.render.options import RenderOptions
from gossamer.render.pages.cdp import CdpMessage
from gossamer.render.pages.page_requests import PausedRequest
from gossamer.render.pages.page_run import PageRun, Stage
from gossamer.render.pages.snapshot import SnapshotReader

if TYPE_CHECKING:
    from collections.abc import Callable

PAGE = "http://site.test/pages/one%20two"
OTHER = "http://site.test/other"
OPTIONS = RenderOptions(browser="/browser", max_answer_bytes=10, max_url_length=60)


class WrittenTab:
    """Writes down what a page does."""

    def __init__(self) -> None:
        self.frame = "main"
        self.commands: list[str] = []
        self.answers: dict[str, str] = {}  # request -> what became of it
        self.asked: list[PageRequest] = []
        self.finished: list[bytes] = []
        self.has_given_up = False

    def send(
        self, method: str, params: dict[str, Any] | None = None, then: Callable[[CdpMessage], None] | None = None
    ) -> None:
        self.commands.append(method)

    def send_to_browser(self, method: str, params: dict[str, Any]) -> None:
        self.answers[params["requestId"]] = method.removeprefix("Fetch.")

    def ask(self, request: PageRequest) -> int:
        self.asked.append(request)
        return len(self.asked)

    def finish(self, page: RenderedPage, *, is_broken: bool) -> None:
        assert page.outcome is Outcome.FETCHED, page.reason
        self.finished.append(page.html)

    def give_up(self) -> None:
        self.has_given_up = True


@pytest.fixture
def tab() -> WrittenTab:
    return WrittenTab()


def page_run(tab: WrittenTab, *, follows_another: bool = False) -> PageRun:
    return PageRun(tab, RenderJob(1, PAGE, 200, {}, b"<p>one"), OPTIONS, follows_another=follows_another)


def request(name: str, url: str, kind: str = "Document") -> PausedRequest:
    event = {"requestId": name, "request": {"url": url, "method": "GET"}, "resourceType": kind, "frameId": "main"}
    return PausedRequest.from_event(event)


def message(**parts: Any) -> CdpMessage:
    return CdpMessage(**parts)


def test_a_late_navigation_of_the_page_before_does_not_get_the_next_page(tab: WrittenTab) -> None:
    run = page_run(tab, follows_another=True)
    run.on_request(request("late", OTHER))
    run.on_event("Page.frameRequestedNavigation", {"frameId": "main", "url": OTHER})
    run.on_event("Page.windowOpen", {"url": OTHER})
    run.on_request(request("ours", "http://site.test/pages/one two"))
    assert tab.answers == {"late": "failRequest", "ours": "fulfillRequest"}
    assert not run._routes


def test_a_page_that_the_page_before_keeps_out_runs_in_another_tab(tab: WrittenTab) -> None:
    run = page_run(tab, follows_another=True)
    run.on_request(request("late", OTHER))
    run._on_navigated(message(error={"message": "net::ERR_ABORTED"}))
    assert tab.has_given_up


def test_a_new_tab_shows_its_page_however_the_browser_writes_the_url(tab: WrittenTab) -> None:
    page_run(tab).on_request(request("ours", OTHER))
    assert tab.answers == {"ours": "fulfillRequest"}


def test_the_time_of_a_page_begins_when_its_tab_is_there(tab: WrittenTab) -> None:
    run = page_run(tab)
    assert run.deadline - time.monotonic() > OPTIONS.seconds + 1  # the limit of the whole page
    run.start()
    assert run.deadline - time.monotonic() <= OPTIONS.seconds


def test_urls_beyond_the_limit_of_the_crawl_are_neither_recorded_nor_routes(tab: WrittenTab) -> None:
    run = page_run(tab)
    run.on_request(request("page", PAGE))
    long, endless = f"{OTHER}?{'x' * 60}", f"{OTHER}?{'x' * 20_000}"
    for url in (OTHER, long, endless):
        run.on_request(request(url, url, "Script"))
        run.on_event("Page.windowOpen", {"url": url})
    assert [url for url, _ in run._traffic.requests] == [OTHER]
    assert list(run._routes) == [OTHER]
    assert [asked.url for asked in tab.asked] == [OTHER, long]
    assert tab.answers[endless] == "failRequest"


def test_responses_over_the_limit_of_all_of_a_page_are_refused(tab: WrittenTab) -> None:
    run = page_run(tab)
    run.on_request(request("page", PAGE))
    for number, size in enumerate((6, 4, 1), start=1):
        run.on_request(request(str(number), f"{OTHER}/{number}", "Fetch"))
        run.on_answer(PageResponse(number, 200, {}, bytes(size)))
    assert [tab.answers[name] for name in "123"] == ["fulfillRequest", "fulfillRequest", "failRequest"]
    assert run._budget.cut == "response bytes"


def quiet_page(tab: WrittenTab) -> PageRun:
    """Return a page whose document has loaded and is quiet, so that it is read."""
    run = page_run(tab)
    run.on_request(request("page", PAGE))
    run.on_event("Page.domContentEventFired", {})
    settle(run)
    return run


def settle(run: PageRun) -> None:
    run._world = 1
    run._on_quiet(message(result={"result": {"value": 0}}))


def test_a_request_that_comes_behind_the_quiet_is_waited_for(tab: WrittenTab) -> None:
    run = quiet_page(tab)
    run.on_request(request("late", OTHER, "Fetch"))
    run._on_snapshot(b"<p>without", "")
    assert run.stage is Stage.LOADING
    run.on_answer(PageResponse(1, 200, {}, b"more"))
    settle(run)
    run._on_snapshot(b"<p>with", "")
    assert tab.finished == [b"<p>with"]


def test_a_page_that_goes_on_asking_is_read_at_last(tab: WrittenTab) -> None:
    run = quiet_page(tab)
    for number in range(1, 4):
        run.on_request(request(str(number), OTHER, "Fetch"))
        run._on_snapshot(b"<p>without", "")
        run.on_answer(PageResponse(number, 200, {}, b""))
        settle(run)
    run.on_request(request("last", OTHER, "Fetch"))
    run._on_snapshot(b"<p>last", "")
    assert tab.finished == [b"<p>last"]


def test_a_large_document_is_never_sent_for_its_closed_roots(tab: WrittenTab) -> None:
    reader = SnapshotReader(tab, OPTIONS)
    reader.read(1, lambda _html, _cut: None, with_closed_roots=True)
    for _ in range(2):  # nodes of pages before may go with the garbage
        reader._on_count(message(result={"nodes": 400_000}))
    assert "DOM.getDocument" not in tab.commands
    assert tab.commands.count("HeapProfiler.collectGarbage") == 1
    assert tab.commands[-1] == "Runtime.evaluate"
