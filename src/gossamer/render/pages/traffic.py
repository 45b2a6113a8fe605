"""The requests of one page: who answers each, which transfers are open, and how long the page waited for the crawl."""

from __future__ import annotations

import base64
import time
from typing import TYPE_CHECKING

from gossamer.model import Kind, PageRequest, PageResponse
from gossamer.render.pages.page_requests import (
    PausedRequest,
    Treatment,
    empty_answer,
    preflight_answer,
    treatment,
)

if TYPE_CHECKING:
    from gossamer.render.options import RenderOptions
    from gossamer.render.pages.budget import RenderBudget
    from gossamer.render.pages.page_run import PageTab

_DELIVERY_SECONDS = 2.0  # after the last answer, until transfers count as ended: requests of workers report no end
# Of the URL of a request. Loaders that join scripts ask for more than `max_url_length`; servers refuse more than this.
_MAX_ASKED_LENGTH = 16 << 10
# Headers that would make a document a download, or that belong to a body as it was sent.
_DROPPED_HEADERS = frozenset({"content-disposition", "content-encoding", "content-length", "transfer-encoding"})


class PageTraffic:
    """The requests of one page and their answers."""

    def __init__(self, job: int, tab: PageTab, options: RenderOptions, budget: RenderBudget) -> None:
        self.requests: dict[tuple[str, Kind], None] = {}
        self.may_close_roots = False  # a script came that may make closed shadow roots
        self.waiting_since: float | None = None  # given: the page waits for the crawl
        self.waited = 0.0  # seconds for which it has waited before
        self._job = job
        self._tab = tab
        self._options = options
        self._budget = budget
        self._open: dict[str, float] = {}  # answered transfers without a report of their end -> time of the answer
        self._asked: dict[int, PausedRequest] = {}  # number -> request that the crawl answers

    @property
    def is_idle(self) -> bool:
        """Whether nothing is asked or on its way."""
        return not self._open and not self._asked

    @property
    def overdue(self) -> float | None:
        """When the last answered transfer counts as ended without a report; None while the crawl has requests."""
        return max(self._open.values()) + _DELIVERY_SECONDS if self._open and not self._asked else None

    def forget_overdue(self) -> None:
        """Count the open transfers as ended."""
        self._open.clear()

    def end_transfer(self, network_id: str) -> None:
        """Note that the browser reports the end of a transfer."""
        self._open.pop(network_id, None)

    def handle(self, request: PausedRequest) -> None:
        """Answer a request, pass it on to the crawl, or refuse it."""
        if not self._budget.take("requests"):
            self.refuse(request)
            return
        if len(request.url) > _MAX_ASKED_LENGTH:
            self.refuse(request)
            return
        if request.is_web and len(request.url) <= self._options.max_url_length:
            self.requests[request.url, request.kind] = None
        match treatment(request, self._options.write_hosts):
            case Treatment.ASK:
                self._ask(request)
            case Treatment.EMPTY:
                self.fulfil(request, *empty_answer(request))
            case Treatment.PREFLIGHT:
                self.fulfil(request, *preflight_answer(request))
            case Treatment.METHOD:
                self.fulfil(request, 405, {}, b"")
            case Treatment.REFUSE:
                self.refuse(request)

    def _ask(self, request: PausedRequest) -> None:
        method, headers = request.method, request.passed_headers()
        number = self._tab.ask(PageRequest(self._job, 0, request.url, method, request.kind, headers, request.body))
        self._asked[number] = request
        if self.waiting_since is None:
            self.waiting_since = time.monotonic()

    def answer(self, response: PageResponse) -> None:
        """Give the page the crawl's answer to one of its requests."""
        request = self._asked.pop(response.id, None)
        if request is None:
            return
        if not self._asked and self.waiting_since is not None:
            self.waited += time.monotonic() - self.waiting_since
            self.waiting_since = None
        size = len(response.body)
        if response.status and size <= self._options.max_bytes and self._budget.take_answer(size):
            self.may_close_roots = self.may_close_roots or may_close_roots(response.body)
            self.fulfil(request, response.status, response.headers, response.body)
        else:
            self.refuse(request)

    def fulfil(self, request: PausedRequest, status: int, headers: dict[str, str], body: bytes) -> None:
        """Answer a request."""
        if request.reports_its_end:
            self._open[request.network_id] = time.monotonic()
        answer = {
            "requestId": request.id,
            "responseCode": status,
            "responseHeaders": [
                {"name": name, "value": value.replace("\n", " ")}
                for name, value in headers.items()
                if name.lower() not in _DROPPED_HEADERS
            ],
            "body": base64.b64encode(body).decode(),
        }
        self._tab.send_to_browser("Fetch.fulfillRequest", answer)

    def refuse(self, request: PausedRequest) -> None:
        """Let a request fail."""
        # Not BlockedByClient: it would replace the document by an error page.
        self._tab.send_to_browser("Fetch.failRequest", {"requestId": request.id, "errorReason": "Aborted"})

    def refuse_all(self) -> None:
        """Let the requests fail that wait for the crawl."""
        for request in self._asked.values():
            self.refuse(request)
        self._asked.clear()


def may_close_roots(body: bytes) -> bool:
    """Whether a script or document may make closed shadow roots, which our scripts cannot see."""
    return b"shadowrootmode" in body or (b"attachShadow" in body and b"closed" in body)
