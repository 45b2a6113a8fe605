"""The life of one page in a tab: its document, its requests, quiet or a limit, and its snapshot.

Everything happens in answers and events of the browser. `check` goes on to the next stage when its condition holds.

    LOADING   requests are open, or the document is not complete
    SETTLING  nothing is open; a script of ours waits for 100 ms without a change, then `check` looks again
    READING   the document is serialized, and drawn if the job asks for it
    FINISHED  the result is there
"""

from __future__ import annotations

import base64
import math
import time
from enum import Enum, auto
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import unquote, urldefrag

from gossamer.model import Outcome, PageRequest, PageResponse, RenderedPage, RenderJob
from gossamer.render.pages.budget import RenderBudget
from gossamer.render.pages.snapshot import QUIET, SCROLL, SnapshotReader
from gossamer.render.pages.traffic import PageTraffic, may_close_roots

if TYPE_CHECKING:
    from collections.abc import Callable

    from gossamer.render.options import RenderOptions
    from gossamer.render.pages.cdp import CdpMessage
    from gossamer.render.pages.page_requests import PausedRequest

QUIET_MILLISECONDS = 100  # without a change and without an open request: the page is done
_ARRIVAL_SECONDS = 0.5  # a document arrives within 20 ms, unless a script of the page before holds the tab
STOP_SECONDS = 1.5  # that a page over its time has to give up its thread, until its tab is killed
_READ_SECONDS = 8.0  # for the snapshot and the screenshot of a page that still answers
_REREADS = 3  # of a page that goes on asking
_SCROLLS = 20  # steps down a page that grows
_SCREENSHOT = {"x": 0, "y": 0, "width": 1280, "height": 800, "scale": 1}


class Stage(Enum):
    """The stage of a page."""

    LOADING = auto()
    SETTLING = auto()
    READING = auto()
    FINISHED = auto()


class PageTab(Protocol):
    """What a page needs of its tab and of the process."""

    frame: str  # id of the main frame

    def send(
        self, method: str, params: dict[str, Any] | None = None, then: Callable[[CdpMessage], None] | None = None
    ) -> None:
        """Send a command to the tab."""

    def send_to_browser(self, method: str, params: dict[str, Any]) -> None:
        """Send a command to the browser."""

    def ask(self, request: PageRequest) -> int:
        """Send a request to the crawl; return the number of its answer."""

    def finish(self, page: RenderedPage, *, is_broken: bool) -> None:
        """Take the result; a broken tab must be killed."""

    def give_up(self) -> None:
        """Run the page again in another tab: the page before it does not make way in this one."""


class PageRun:
    """A page at work in a tab."""

    def __init__(self, tab: PageTab, job: RenderJob, options: RenderOptions, *, follows_another: bool) -> None:
        self.job = job
        self.stage = Stage.LOADING
        self._tab = tab
        self._options = options
        self._budget = RenderBudget(options)
        self._traffic = PageTraffic(job.id, tab, options, self._budget)
        self._created = time.monotonic()
        self._started: float | None = None  # when its tab was there; what the browser needs for that is not its work
        self._stage_deadline: float | None = None
        self._is_stopped = False
        self._is_document_answered = False
        self._arrival_deadline = math.inf  # for the document to replace the one of the page before
        self._follows_another = follows_another
        self._is_loaded = False
        self._world: int | None = None  # our script context in the document
        self._rereads = 0
        self._scrolls = 0
        self._height = 0
        self._routes: dict[str, None] = {}
        self._reader = SnapshotReader(tab, options)
        self._handlers: dict[str, Callable[[dict[str, Any]], None]] = {
            "Network.loadingFinished": self._on_transfer_end,
            "Network.loadingFailed": self._on_transfer_end,
            "Page.frameNavigated": self._on_arrival,
            "Page.domContentEventFired": self._on_load,
            "Page.loadEventFired": self._on_load,
            "Page.navigatedWithinDocument": self._on_route,
            "Page.frameRequestedNavigation": self._on_navigation,
            "Page.windowOpen": self._on_popup,
            "Page.javascriptDialogOpening": self._on_dialog,
        }

    # Start and events

    def start(self) -> None:
        """Let the browser ask for the document; `on_request` answers."""
        self._started = time.monotonic()
        self._tab.send("Page.navigate", {"url": self.job.url}, self._on_navigated)

    def _on_navigated(self, answer: CdpMessage) -> None:
        problem = answer.error.get("message") or answer.result.get("errorText")
        if not problem or self.stage is Stage.FINISHED:
            return
        if self._is_document_answered and self._is_loaded:
            return
        if self._follows_another and not self._is_document_answered:
            self._give_up()  # the page before went somewhere else
        else:
            self._fail(Outcome.TYPE, f"the browser does not show it: {problem}")

    def on_event(self, method: str, params: dict[str, Any]) -> None:
        """Handle an event of the tab."""
        handler = self._handlers.get(method)
        if handler is not None and self.stage is not Stage.FINISHED:
            handler(params)
            self.check()

    def _on_transfer_end(self, params: dict[str, Any]) -> None:
        self._traffic.end_transfer(params["requestId"])

    def _on_arrival(self, params: dict[str, Any]) -> None:
        if params["frame"]["id"] == self._tab.frame and self._is_document_answered:
            self._arrival_deadline = math.inf

    @property
    def _has_arrived(self) -> bool:
        """Whether events are of this page, not of the one before in the tab."""
        return self._is_document_answered and self._arrival_deadline == math.inf

    def _on_load(self, _params: dict[str, Any]) -> None:
        self._is_loaded = self._is_document_answered

    def _on_route(self, params: dict[str, Any]) -> None:
        is_ours = self._has_arrived and params.get("frameId") == self._tab.frame
        if is_ours and params.get("navigationType") != "fragment":
            self._add_route(params["url"])

    def _on_navigation(self, params: dict[str, Any]) -> None:
        if self._has_arrived and params.get("frameId") == self._tab.frame:
            self._is_loaded = True  # such a page may never report that it is loaded
            if self._budget.take("navigations") and params.get("reason") != "formSubmissionPost":
                self._add_route(params["url"])
            self._stop_if_excessive()

    def _on_popup(self, params: dict[str, Any]) -> None:
        if self._has_arrived and self._budget.take("popups"):
            self._add_route(params["url"])
        self._stop_if_excessive()

    def _on_dialog(self, params: dict[str, Any]) -> None:
        leaves = params.get("type") == "beforeunload"
        self._tab.send("Page.handleJavaScriptDialog", {"accept": leaves})
        if not leaves:
            self._budget.take("dialogs")
            self._stop_if_excessive()
            if self._is_stopped:
                self._tab.send("Runtime.terminateExecution")  # the first one may have met the dialog before

    def _add_route(self, url: str) -> None:
        is_new = url != self.job.url and url not in self._routes
        is_web = url.startswith(("http://", "https://")) and len(url) <= self._options.max_url_length
        if is_new and is_web and self._budget.take("routes"):
            self._routes[url] = None

    # Requests

    def on_request(self, request: PausedRequest) -> None:
        """Handle a request that waits for its answer."""
        if request.type == "Document" and request.frame == self._tab.frame:
            self._on_document(request)
        elif self.stage is Stage.FINISHED or not self._is_document_answered:
            self._traffic.refuse(request)  # of the page before
        else:
            self._traffic.handle(request)
            self._stop_if_excessive()
        self.check()

    def _on_document(self, request: PausedRequest) -> None:
        if self._asks_for_page(request):
            self._is_document_answered = True
            if self._follows_another and self._arrival_deadline == math.inf:
                self._arrival_deadline = time.monotonic() + _ARRIVAL_SECONDS
            self._traffic.fulfil(request, self.job.status or 200, self.job.headers, self.job.body)
            return
        self._traffic.refuse(request)
        if self._is_document_answered and self.stage is not Stage.FINISHED and request.method == "GET":
            self._add_route(request.url)

    def _asks_for_page(self, request: PausedRequest) -> bool:
        """Whether a request for a document is ours. In a used tab it may be a late `location =` of the page before."""
        if not self._follows_another:
            return not self._is_document_answered
        is_expected = not self._is_document_answered or self._arrival_deadline < math.inf
        return is_expected and request.method == "GET" and _is_same_url(request.url, self.job.url)

    def on_answer(self, response: PageResponse) -> None:
        """Give the page the crawl's answer to one of its requests."""
        self._traffic.answer(response)
        self.check()

    @property
    def floods(self) -> bool:
        """Whether the page makes so many requests that its browser must be replaced."""
        return self._budget.is_flooded

    # Stages

    def check(self) -> None:
        """Go on to the next stage if nothing is open."""
        if self.stage is Stage.LOADING and self._is_loaded and self._traffic.is_idle:
            self.stage = Stage.SETTLING
            if self._world is None:
                self._enter_world(self._settle)
            else:
                self._settle()

    def _enter_world(self, then: Callable[[], None]) -> None:
        def on_world(answer: CdpMessage) -> None:
            self._world = answer.result.get("executionContextId")
            if self.stage is Stage.FINISHED:
                return
            if self._world is None:
                self._fail(Outcome.RENDERER_CRASHED, "the browser gives no access to the document")
            else:
                then()

        self._tab.send("Page.createIsolatedWorld", {"frameId": self._tab.frame, "worldName": "snapshot"}, on_world)

    def _evaluate(self, expression: str, then: Callable[[CdpMessage], None]) -> None:
        call = {"expression": expression, "contextId": self._world, "awaitPromise": True, "returnByValue": True}
        self._tab.send("Runtime.evaluate", call, then)

    def _settle(self) -> None:
        self._evaluate(f"({QUIET})({QUIET_MILLISECONDS}, {self._options.max_nodes})", self._on_quiet)

    def _on_quiet(self, answer: CdpMessage) -> None:
        if self.stage is not Stage.SETTLING:
            return
        added = answer.result.get("result", {}).get("value")
        if added is None:  # the document went away, with our script
            self._world = None
        elif added > self._options.max_nodes:
            self._stop("nodes")
            return
        elif self._traffic.is_idle:
            self._scroll_or_read()
            return
        self.stage = Stage.LOADING
        self.check()

    def _scroll_or_read(self) -> None:
        if not self._options.scroll or self._scrolls >= _SCROLLS:
            self._read()
            return
        self._scrolls += 1
        self._evaluate(SCROLL, self._on_scrolled)

    def _on_scrolled(self, answer: CdpMessage) -> None:
        if self.stage is not Stage.SETTLING:
            return
        height = answer.result.get("result", {}).get("value") or 0
        if height > self._height:
            self._height = height
            self._settle()
        else:
            self._read()

    def _read(self) -> None:
        self.stage = Stage.READING
        if self._stage_deadline is None:
            self._stage_deadline = time.monotonic() + _READ_SECONDS
        if self._world is None:
            self._enter_world(self._read_document)
        else:
            self._read_document()

    def _read_document(self) -> None:
        assert self._world is not None
        closed = self._traffic.may_close_roots or may_close_roots(self.job.body)
        self._reader.read(self._world, self._on_snapshot, with_closed_roots=closed)

    def _on_snapshot(self, html: bytes | None, cut: str) -> None:
        if self.stage is not Stage.READING:
            return
        if not self._is_stopped and not self._traffic.is_idle and self._rereads < _REREADS:
            self._wait_again()
            return
        self._budget.note(cut)
        if html is None:
            self._fail(Outcome.RENDERER_CRASHED, "the browser cannot serialize the document")
        elif self.job.screenshot:
            picture = {"format": "webp", "quality": 60, "clip": _SCREENSHOT}
            self._tab.send("Page.captureScreenshot", picture, partial(self._on_screenshot, html))
        else:
            self._succeed(html)

    def _wait_again(self) -> None:
        """Wait for a request that was on its way when the document was quiet, as on a busy machine, and read again."""
        self._rereads += 1
        self._reader = SnapshotReader(self._tab, self._options)
        self._stage_deadline = None
        self.stage = Stage.LOADING

    def _on_screenshot(self, html: bytes, answer: CdpMessage) -> None:
        if self.stage is Stage.READING:
            self._succeed(html, base64.b64decode(answer.result.get("data", "")))

    # Limits and end

    @property
    def deadline(self) -> float:
        """When `on_time` has something to do, by `time.monotonic`."""
        if self._stage_deadline is not None:
            return self._stage_deadline
        if self._arrival_deadline < math.inf:
            return self._arrival_deadline
        longest = self._created + self._options.max_seconds
        if self._traffic.waiting_since is not None or self._started is None:
            return longest
        longest = min(longest, self._started + self._traffic.waited + self._options.seconds)
        overdue = self._traffic.overdue if self.stage is Stage.LOADING else None
        return longest if overdue is None else min(longest, overdue)

    def on_time(self) -> None:
        """Stop a page that takes too long, or give it up if it does not stop."""
        now = time.monotonic()
        overdue = self._traffic.overdue if self.stage is Stage.LOADING else None
        if self._started is None:
            reason = f"the browser opened no tab for {now - self._created:.0f} seconds"
            self._fail(Outcome.RENDERER_TIMEOUT, reason, is_broken=True)
        elif now >= self._arrival_deadline:
            self._give_up()
        elif overdue is not None and now >= overdue:
            self._traffic.forget_overdue()
            self.check()
        elif not self._is_stopped:
            self._stop("time")
        elif self.stage is not Stage.FINISHED:
            seconds = now - self._started - self._traffic.waited
            over = f" (over the limit of {self._budget.cut})" if self._budget.cut not in {"", "time"} else ""
            reason = f"its scripts were busy for {seconds:.0f} seconds{over}"
            self._fail(Outcome.RENDERER_TIMEOUT, reason, is_broken=True)

    def _give_up(self) -> None:
        self.stage = Stage.FINISHED
        self._tab.give_up()

    def _stop_if_excessive(self) -> None:
        if self._budget.is_excessive:
            self._stop("")

    def _stop(self, limit: str) -> None:
        """End the scripts of the page, and read what is there."""
        self._budget.note(limit)
        if self._is_stopped or self.stage is Stage.FINISHED:
            return
        self._is_stopped = True
        self._stage_deadline = time.monotonic() + STOP_SECONDS
        self._tab.send("Runtime.terminateExecution")
        self._tab.send("Emulation.setScriptExecutionDisabled", {"value": True})
        self._world = None
        self._read()

    def on_crash(self, outcome: Outcome, reason: str) -> None:
        """End the page, because its tab died."""
        self._fail(outcome, reason, is_broken=True)

    def _fail(self, outcome: Outcome, reason: str, *, is_broken: bool = False) -> None:
        self._finish(RenderedPage(self.job.id, outcome, reason), is_broken=is_broken)

    def _succeed(self, html: bytes, screenshot: bytes = b"") -> None:
        page = RenderedPage(
            self.job.id,
            Outcome.FETCHED,
            "",
            html,
            list(self._routes),
            list(self._traffic.requests),
            self._budget.cut,
            screenshot,
            round((time.monotonic() - (self._started or self._created)) * 1000),
        )
        self._finish(page, is_broken=False)

    def _finish(self, page: RenderedPage, *, is_broken: bool) -> None:
        if self.stage is Stage.FINISHED:
            return
        self.stage = Stage.FINISHED
        self._traffic.refuse_all()
        # A stopped page has timers and requests left, which the next page would get.
        self._tab.finish(page, is_broken=is_broken or self._is_stopped)


def _is_same_url(one: str, other: str) -> bool:
    """Whether two URLs lead to the same document. The browser escapes other characters than we do."""
    return unquote(urldefrag(one).url) == unquote(urldefrag(other).url)
