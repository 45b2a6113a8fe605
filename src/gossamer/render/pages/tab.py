"""A tab of the browser: a target in the browser context of one host, used for one page after another."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Protocol

from gossamer.model import Outcome, PageRequest, RenderedPage
from gossamer.render.pages.page_run import PageRun

if TYPE_CHECKING:
    from collections.abc import Callable

    from gossamer.render.messages import RunPage
    from gossamer.render.options import RenderOptions
    from gossamer.render.pages.cdp import CdpConnection, CdpMessage

# So high that lists which load what is in view load. With a quarter of the pixels in each direction the browser draws
# tabs of 3 MB instead of 51.
VIEWPORT = {"width": 1280, "height": 10_000, "deviceScaleFactor": 0.25, "mobile": False}
_PAGES_OF_A_TAB = 200  # then a new one takes its place, because a tab keeps some memory of every page
IDLE_SECONDS = 0.2  # without a page, after which the last one is taken off: its timers still run


class TabOwner(Protocol):
    """What a tab needs of its browser."""

    def ask(self, tab: Tab, request: PageRequest) -> int:
        """Send a request of the tab's page to the crawl; return the number of its answer."""

    def finish(self, tab: Tab, page: RenderedPage) -> None:
        """Take the page of a tab, which is free now or of no use any more."""

    def drop(self, tab: Tab) -> None:
        """Forget a tab that died without a page."""

    def restart(self, tab: Tab, message: RunPage) -> None:
        """Run the page of a tab that closes in another one."""


class Tab:
    """A tab and the page that runs in it."""

    def __init__(self, owner: TabOwner, connection: CdpConnection, host: int, options: RenderOptions) -> None:
        self.host = host
        self.frame = ""  # id of the target, and of its main frame
        self.frames: set[str] = set()
        self.run: PageRun | None = None
        self.is_usable = True
        self.was_stopped = False  # its last page did not end by itself
        self.idle_since = time.monotonic()
        self._is_ready = False  # the target exists and has its settings
        self._is_blank = True
        self._pages = 0
        self._session = ""
        self._message: RunPage | None = None
        self._owner = owner
        self._connection = connection
        self._options = options

    @property
    def needs_time(self) -> bool:
        """Whether its page has a deadline, or the last page is still there."""
        return self.run is not None or not self._is_blank

    def attach(self, target: str, session: str) -> None:
        """Take over the new target, which waits for its settings, and start a page that waits for it."""
        self.frame, self._session = target, session
        self.frames.add(target)
        self.send("Page.enable")
        self.send("Network.enable", {"maxTotalBufferSize": 0, "maxResourceBufferSize": 0})
        self.send("Emulation.setDeviceMetricsOverride", VIEWPORT)
        # Pages start after the answer: the browser would not report what happens to one before.
        self.send("Runtime.runIfWaitingForDebugger", then=self._on_settings)

    def _on_settings(self, _answer: CdpMessage) -> None:
        self._is_ready = True
        if self.run is not None:
            self.run.start()

    def start(self, message: RunPage) -> None:
        """Run a page, as soon as the target exists."""
        self.run = PageRun(self, message.job, self._options, follows_another=self._pages > 0)
        self._message = message
        self._pages += 1
        self._is_blank = False
        if self._is_ready:
            self.frames = {self.frame}
            self.run.start()

    def on_event(self, message: CdpMessage) -> None:
        """Handle an event of the tab's session."""
        if message.method == "Page.frameAttached":
            self.frames.add(message.params["frameId"])
        elif self.run is not None:
            self.run.on_event(message.method, message.params)

    def on_crash(self, reason: str, outcome: Outcome = Outcome.RENDERER_CRASHED) -> None:
        """Give up the tab, because its process died."""
        self.is_usable = False
        if self.run is not None:
            self.run.on_crash(outcome, reason)
        else:
            self._owner.drop(self)

    def clear(self) -> None:
        """Take off the last page."""
        if not self._is_blank and self.run is None:
            self._is_blank = True
            self.send("Page.navigate", {"url": "about:blank"})

    def close(self) -> None:
        """Close the target. A crash first: a tab whose scripts run for ever takes half a second to close."""
        self.is_usable = False
        if self._session:
            if self.run is not None or not self._is_blank:
                self.send("Page.crash")
            self._connection.send("Target.closeTarget", {"targetId": self.frame})
            self._connection.forget(self._session)

    # What its page needs (`page_run.PageTab`)

    def send(
        self, method: str, params: dict[str, Any] | None = None, then: Callable[[CdpMessage], None] | None = None
    ) -> None:
        """Send a command to the tab."""
        self._connection.send(method, params, self._session, then)

    def send_to_browser(self, method: str, params: dict[str, Any]) -> None:
        """Send a command to the browser."""
        self._connection.send(method, params)

    def ask(self, request: PageRequest) -> int:
        """Send a request to the crawl; return the number of its answer."""
        return self._owner.ask(self, request)

    def finish(self, page: RenderedPage, *, is_broken: bool) -> None:
        """Take the result of the page; a broken tab closes."""
        self.idle_since = time.monotonic()
        self.was_stopped = is_broken
        if is_broken or self._pages >= _PAGES_OF_A_TAB:
            self.close()
        self.run = None
        self._owner.finish(self, page)

    def give_up(self) -> None:
        """Run the page again in another tab: the page before it does not make way in this one."""
        assert self._message is not None
        self.close()
        self.run = None
        self._owner.restart(self, self._message)
