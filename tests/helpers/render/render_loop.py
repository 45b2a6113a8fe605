"""A renderer pool with a loop, and a dictionary instead of the web."""

from __future__ import annotations

import selectors
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

from gossamer.model import PageRequest, PageResponse, RenderedPage, RenderJob
from gossamer.render.options import RenderOptions
from gossamer.render.pool import RendererPool
from helpers.patience import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Callable

    from gossamer.render.isolation import IsolationReport

SITE = "http://site.test"
TYPES = {".js": "text/javascript", ".css": "text/css", ".json": "application/json"}


class RenderLoop:
    """Renders pages of a made-up web: URL or path -> document, script or data."""

    def __init__(self, browser: Path, web: dict[str, str] | None = None, tabs: int = 2, **options: Any) -> None:
        self.web = web or {}
        self.requests: list[PageRequest] = []
        self.held: Callable[[PageRequest], bool] = lambda _request: False  # True: the request gets no answer
        self.pages: list[RenderedPage] = []
        self.isolation: IsolationReport | None = options.pop("isolation", None)
        self._selector = selectors.DefaultSelector()
        self.pool = RendererPool(RenderOptions(browser=str(browser), **options), tabs, self._selector, self.isolation)
        self._last_id = 0
        self._ticked = 0.0

    def submit(self, document: str, url: str = f"{SITE}/", host: int = 1, **job: Any) -> int:
        """Give the pool a page and return its number."""
        self._last_id += 1
        headers = {"content-type": "text/html; charset=utf-8"} | job.pop("headers", {})
        self.pool.submit(RenderJob(self._last_id, url, 200, headers, document.encode(), **job), host)
        return self._last_id

    def render(self, document: str, url: str = f"{SITE}/", host: int = 1, **job: Any) -> RenderedPage:
        """Render one page."""
        return self.wait_for(self.submit(document, url, host, **job))

    def wait_for(self, number: int) -> RenderedPage:
        """Run until a page is done, and return it."""
        self.run_until(lambda: any(page.id == number for page in self.pages), f"page {number}")
        return next(page for page in self.pages if page.id == number)

    def run_until(self, condition: Callable[[], object], event: str = "an event") -> None:
        """Run until a condition holds."""
        deadline = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < deadline, f"waited for {event}"
            self.step()

    def step(self, seconds: float = 0.05) -> None:
        """Handle what the pool has."""
        for key, mask in self._selector.select(seconds):
            key.data(mask)
        for request in self.pool.take_requests():
            self.requests.append(request)
            if not self.held(request):
                self.pool.answer(self.response(request))
        self.pages += self.pool.take_results()
        if time.monotonic() > self._ticked + 1:
            self._ticked = time.monotonic()
            self.pool.tick(self._ticked)

    def response(self, request: PageRequest) -> PageResponse:
        """Return what the web has for a request."""
        path = request.url.removeprefix(SITE)
        if path not in self.web:
            return PageResponse(request.id, 404, {"content-type": "text/plain"}, b"not here")
        kind = TYPES.get(Path(path).suffix, "text/html")
        headers = {"content-type": kind, "access-control-allow-origin": "*"}
        return PageResponse(request.id, 200, headers, self.web[path].encode())

    def close(self) -> None:
        """End the pool."""
        self.pool.close()


def renderer_processes(loop: RenderLoop | None = None) -> list[psutil.Process]:
    """Return the renderer processes of a pool, or of all pools of this process."""
    if loop is not None:
        return [psutil.Process(each.process.pid) for each in loop.pool._processes]
    return [child for child in psutil.Process().children() if "gossamer.render.renderer_process" in command(child)]


def command(process: psutil.Process) -> list[str]:
    """Return the command line of a process; nothing for one that has ended."""
    try:
        return list(process.cmdline())
    except (psutil.NoSuchProcess, psutil.ZombieProcess):
        return []


def browser_processes(loop: RenderLoop | None = None) -> list[psutil.Process]:
    """Return the browsers of a pool, each the child of a renderer process."""
    return [
        child
        for renderer in renderer_processes(loop)
        for child in renderer.children()
        if "--remote-debugging-pipe" in command(child)
    ]


def all_processes(loop: RenderLoop | None = None) -> list[psutil.Process]:
    """Return the renderer processes and browsers of a pool, and everything that they started."""
    return [each for renderer in renderer_processes(loop) for each in (renderer, *renderer.children(recursive=True))]


def proportional_bytes(process: psutil.Process) -> int:
    """Return the memory of a process, with its part of what it shares; 0 for one that has ended."""
    with suppress(psutil.Error):
        return int(process.memory_full_info().pss)
    return 0


def seconds_without_core(loop: RenderLoop) -> dict[int, float]:
    """Return how long the threads of a pool's processes, and ours, were ready to run and had no core, by process."""
    found = {}
    for process in (psutil.Process(), *all_processes(loop)):
        with suppress(OSError):  # it has ended
            tasks = Path(f"/proc/{process.pid}/task").glob("*/schedstat")
            found[process.pid] = sum(int(task.read_text().split()[1]) for task in tasks) / 1e9
    return found
