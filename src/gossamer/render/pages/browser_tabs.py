"""The tabs of one browser: which tab takes a page, and which page a request or an event belongs to."""

from __future__ import annotations

import math
import signal
import time
from collections import OrderedDict, deque
from functools import partial
from typing import TYPE_CHECKING, Protocol

from gossamer.model import Outcome, PageRequest, PageResponse, RenderedPage
from gossamer.processes.exit_report import describe_exit
from gossamer.render.pages.budget import FLOOD
from gossamer.render.pages.cdp import CdpConnection, CdpMessage
from gossamer.render.pages.page_requests import PausedRequest
from gossamer.render.pages.tab import IDLE_SECONDS, Tab

if TYPE_CHECKING:
    from gossamer.render.messages import RunPage
    from gossamer.render.options import RenderOptions

_MAX_CONTEXTS = 32  # hosts whose cookies and storage one browser keeps; each takes about 1 MB
# Longest message of the browser: a snapshot with its JSON escapes.
_MESSAGE_BYTES_PER_SNAPSHOT_BYTE = 6
_MORE_MESSAGE_BYTES = 64 << 20  # a document with closed shadow roots, as a tree of nodes


_SIGNALS_OF_FULL_MEMORY = frozenset({signal.SIGTRAP, signal.SIGILL})  # Chromium ends itself so


# After a page that did not stop, the browser has so long to answer. It takes 1 ms, or seconds while it is busy with
# requests of that page.
_ANSWER_SECONDS = 0.5


class BrowserFlooded(Exception):
    """A page made so many requests that the browser has no time for others."""


class PageOwner(Protocol):
    """What the tabs need of the process."""

    def ask(self, request: PageRequest) -> int:
        """Send a request to the crawl; return the number of its answer."""

    def finish(self, page: RenderedPage) -> None:
        """Take a finished page."""


class BrowserTabs:
    """One browser, as its tabs and the pages that wait for one."""

    def __init__(self, pipes: tuple[int, int], options: RenderOptions, owner: PageOwner) -> None:
        longest = _MESSAGE_BYTES_PER_SNAPSHOT_BYTE * options.max_bytes + _MORE_MESSAGE_BYTES
        self.connection = CdpConnection(*pipes, self._on_event, longest)
        self.is_ready = False
        self._options = options
        self._owner = owner
        self._waiting: deque[RunPage] = deque()
        self._tabs: list[Tab] = []
        self._contexts: OrderedDict[int, str] = OrderedDict()  # host -> browser context; the last used is last
        self._new_contexts: dict[int, list[Tab]] = {}  # host -> tabs that wait for its context
        self._sessions: dict[str, Tab] = {}
        self._new_sessions: dict[str, str] = {}  # target -> session, of targets that no tab has taken over yet
        self._answer_deadline = math.inf  # for the browser to show that it has time
        self._strays = 0  # requests of pages that are gone, since the last page finished
        self.is_tainted = False  # a page had to be stopped or killed; what it left may end the browser later
        self._asked: dict[int, Tab] = {}  # number of a request -> tab
        self.connection.send(
            "Target.setAutoAttach", {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": True}
        )
        # Reports with which signal a tab died.
        self.connection.send("Target.setDiscoverTargets", {"discover": True, "filter": [{"type": "page"}]})
        self.connection.send("Fetch.enable", {"patterns": [{"urlPattern": "*"}]}, then=self._on_ready)

    def _on_ready(self, _answer: CdpMessage) -> None:
        self.is_ready = True
        self._start_pages()

    @property
    def jobs(self) -> list[int]:
        """The pages that run or wait."""
        return [tab.run.job.id for tab in self._tabs if tab.run is not None] + [page.job.id for page in self._waiting]

    @property
    def running(self) -> int:
        """The number of pages that have started."""
        return sum(1 for tab in self._tabs if tab.run is not None)

    @property
    def must_be_replaced(self) -> bool:
        """Whether a page left the browser busy or damaged, and no other page runs in it."""
        return self.is_tainted and not self.running

    def submit(self, page: RunPage) -> None:
        """Accept a page."""
        self._waiting.append(page)
        self._start_pages()

    def answer(self, response: PageResponse) -> None:
        """Give a page the answer to its request."""
        tab = self._asked.pop(response.id, None)
        if tab is not None and tab.run is not None:
            tab.run.on_answer(response)

    # Time

    @property
    def deadline(self) -> float | None:
        """When `on_time` has something to do, by `time.monotonic`."""
        if self._answer_deadline < math.inf:
            return self._answer_deadline
        times = [tab.run.deadline if tab.run else tab.idle_since + IDLE_SECONDS for tab in self._tabs if tab.needs_time]
        return min(times, default=None)

    def on_time(self) -> None:
        """Stop pages that take too long, and take off pages that are done. Raises `BrowserFlooded`."""
        now = time.monotonic()
        if now >= self._answer_deadline:
            raise BrowserFlooded
        for tab in list(self._tabs):
            if tab.run is None and now >= tab.idle_since + IDLE_SECONDS:
                tab.clear()
            elif tab.run is not None and now >= tab.run.deadline:
                tab.run.on_time()

    # Pages and tabs

    def _start_pages(self) -> None:
        while self._takes_pages and self._waiting and self.running < self._options.tabs:
            page = self._waiting.popleft()
            idle = [tab for tab in self._tabs if tab.run is None]
            tab = next((tab for tab in idle if tab.host == page.host), None)
            if tab is None:
                if len(self._tabs) >= self._options.tabs:
                    self._close_tab(min(idle, key=lambda tab: tab.idle_since))
                tab = self._open_tab(page.host)
            tab.start(page)

    @property
    def _takes_pages(self) -> bool:
        """Whether the browser has time: behind a page that had to be stopped, it must show that first."""
        return self.is_ready and self._answer_deadline == math.inf and not self.must_be_replaced

    def _open_tab(self, host: int) -> Tab:
        tab = Tab(self, self.connection, host, self._options)
        self._tabs.append(tab)
        if host in self._contexts:
            self._contexts.move_to_end(host)
            self._create_target(tab, self._contexts[host])
        elif host in self._new_contexts:
            self._new_contexts[host].append(tab)
        else:
            self._new_contexts[host] = [tab]
            self.connection.send(
                "Target.createBrowserContext", {"disposeOnDetach": True}, then=partial(self._on_context, host)
            )
        return tab

    def _on_context(self, host: int, answer: CdpMessage) -> None:
        context = answer.result.get("browserContextId")
        tabs = self._new_contexts.pop(host)
        if context is None:
            for tab in tabs:
                tab.on_crash("the browser opens no context")
            return
        self._contexts[host] = context
        # An empty list of permissions refuses all others: geolocation, camera, notifications, clipboard.
        self.connection.send("Browser.grantPermissions", {"permissions": [], "browserContextId": context})
        self.connection.send("Browser.setDownloadBehavior", {"behavior": "deny", "browserContextId": context})
        for tab in tabs:
            self._create_target(tab, context)
        self._forget_contexts()

    def _forget_contexts(self) -> None:
        used = {tab.host for tab in self._tabs}
        for host in [host for host in self._contexts if host not in used][: len(self._contexts) - _MAX_CONTEXTS]:
            self.connection.send("Target.disposeBrowserContext", {"browserContextId": self._contexts.pop(host)})

    def _create_target(self, tab: Tab, context: str) -> None:
        params = {"url": "about:blank", "browserContextId": context}
        self.connection.send("Target.createTarget", params, then=partial(self._on_target, tab))

    def _on_target(self, tab: Tab, answer: CdpMessage) -> None:
        target = answer.result.get("targetId", "")
        session = self._new_sessions.pop(target, "")
        if not session:
            tab.on_crash("the browser opens no tab")
        elif tab in self._tabs:
            self._sessions[session] = tab
            tab.attach(target, session)
        else:
            self.connection.send("Target.closeTarget", {"targetId": target})

    def _close_tab(self, tab: Tab) -> None:
        tab.close()
        self.drop(tab)

    def drop(self, tab: Tab) -> None:
        """Forget a tab that closed or died."""
        if tab in self._tabs:
            self._tabs.remove(tab)
        for session in [session for session, owner in self._sessions.items() if owner is tab]:
            del self._sessions[session]

    # What tabs need (`tab.TabOwner`)

    def ask(self, tab: Tab, request: PageRequest) -> int:
        """Send a request of a tab's page to the crawl; return the number of its answer."""
        number = self._owner.ask(request)
        self._asked[number] = tab
        return number

    def restart(self, tab: Tab, message: RunPage) -> None:
        """Run the page of a tab that closes in another one."""
        self.drop(tab)
        self.is_tainted = True
        self._waiting.appendleft(message)
        self._start_pages()

    def finish(self, tab: Tab, page: RenderedPage) -> None:
        """Take a finished page, and start the next one."""
        for number in [number for number, owner in self._asked.items() if owner is tab]:
            del self._asked[number]
        if not tab.is_usable:
            self.drop(tab)
        if tab.was_stopped:
            self.is_tainted = True
            self._expect_answer()
        self._strays = 0
        self._owner.finish(page)
        self._start_pages()

    def _expect_answer(self) -> None:
        def on_answer(_answer: CdpMessage) -> None:
            self._answer_deadline = math.inf
            self._start_pages()

        self._answer_deadline = time.monotonic() + _ANSWER_SECONDS
        self.connection.send("Browser.getVersion", then=on_answer)

    # Events

    def _on_event(self, message: CdpMessage) -> None:
        if message.method == "Fetch.requestPaused":
            self._on_request(message)
        elif message.session:
            tab = self._sessions.get(message.session)
            if tab is not None:
                tab.on_event(message)
        elif message.method == "Target.attachedToTarget":
            self._on_attached(message)
        elif message.method == "Target.targetCrashed":
            self._on_crashed(message)
        elif message.method == "Target.detachedFromTarget":
            self._on_detached(message)

    def _on_request(self, message: CdpMessage) -> None:
        request = PausedRequest.from_event(message.params)
        tab = next((tab for tab in self._tabs if request.frame in tab.frames), None)
        if tab is None or tab.run is None:
            self._strays += 1
            if self._strays > FLOOD * self._options.max_requests:
                raise BrowserFlooded
            params = {"requestId": request.id, "errorReason": "Aborted"}
            self.connection.send("Fetch.failRequest", params)
        else:
            tab.run.on_request(request)
            if tab.run is not None and tab.run.floods:
                tab.run.on_crash(Outcome.RENDERER_CRASHED, "it makes more requests than the browser can take")
                raise BrowserFlooded

    def _on_attached(self, message: CdpMessage) -> None:
        info = message.params["targetInfo"]
        if (
            info["type"] == "page"
            and info.get("browserContextId") in self._contexts.values()
            and "openerId" not in info
        ):
            self._new_sessions[info["targetId"]] = message.params["sessionId"]
        else:  # a popup or a worker that outlives pages; it waits for settings, so it has sent nothing
            self.connection.send("Target.closeTarget", {"targetId": info["targetId"]})

    def _on_crashed(self, message: CdpMessage) -> None:
        tab = self._tab_of(message.params["targetId"])
        if tab is None:
            return
        code = message.params.get("errorCode", 0)
        if message.params.get("status") == "oom" or code in _SIGNALS_OF_FULL_MEMORY:
            tab.on_crash(f"its tab ended as at the limit of {self._options.memory} MiB", Outcome.RENDERER_MEMORY)
        else:
            tab.on_crash(f"its tab {describe_exit(-code)}" if code else "its tab crashed")

    def _on_detached(self, message: CdpMessage) -> None:
        tab = self._tab_of(message.params.get("targetId", ""))
        if tab is not None:
            tab.on_crash("the page closed its tab")

    def _tab_of(self, target: str) -> Tab | None:
        return next((tab for tab in self._tabs if tab.frame == target), None)
