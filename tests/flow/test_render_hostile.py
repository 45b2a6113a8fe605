"""Hostile pages and dying browsers: each costs its page, with a reason, and the next page renders within a second."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Self

import psutil
import pytest

from conftest import package
from gossamer.errors import RendererFault
from gossamer.model import Outcome, RenderedPage
from gossamer.render.isolation import IsolationReport
from gossamer.render.renderer_process import MEMORY_BYTES
from helpers.patience import PATIENCE, slowness, until
from helpers.render.render_loop import (
    RenderLoop,
    all_processes,
    browser_processes,
    command,
    renderer_processes,
    seconds_without_core,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

SECONDS = 4.0  # of work, for hostile pages
RECOVERY_SECONDS = 1.0  # on a quiet core, from the end of a page to the end of a simple one behind it
SIMPLE = "<p>simple</p>"
MEMORY = 768  # MiB of data of each process
# Program, shared libraries and files that are mapped do not count as data.
MAPPED = 350  # MiB
GONE = {Outcome.RENDERER_CRASHED, Outcome.RENDERER_MEMORY, Outcome.RENDERER_TIMEOUT}
KEPT = {Outcome.FETCHED}

CLOSED_ROOT = "const host = document.createElement('p'); const root = host.attachShadow({mode: 'closed'})"
TRIES = 3  # of a page that should be kept: on a busy machine a browser may take too long to end its scripts
SOME = "some limit"  # a cut or a reason must be there; a busy machine turns one limit into another
NONE = ""  # the page may end by itself, before a limit
# Name -> script, the outcomes it may have, the limit that cuts it.
HOSTILE: dict[str, tuple[str, set[Outcome], str]] = {
    "endless loop": ("for (;;);", KEPT, "time"),
    "endless microtasks": ("(function f() { Promise.resolve().then(f) })()", KEPT, "time"),
    "late loop": ("setTimeout(() => { for (;;); }, 150)", KEPT, NONE),
    "never quiet": ("setInterval(() => document.body.append('x'), 5)", KEPT, "time"),
    "dialogs": ("for (;;) alert(1)", KEPT, "dialogs"),
    "popups": ("for (;;) open('/' + Math.random())", KEPT, "popups"),
    "navigations": ("setInterval(() => { location = '/' + Math.random() }, 1)", KEPT, "navigations"),
    "routes": ("for (let i = 0;; i++) history.pushState({}, '', '/' + i)", KEPT, "time"),
    "100,000 requests": ("for (let i = 0; i < 100000; i++) fetch('/' + i)", KEPT | GONE, SOME),
    "growing document": (
        "setInterval(() => { for (let i = 0; i < 9999; i++) document.body.append(document.createElement('a')) }, 1)",
        KEPT | GONE, SOME,
    ),
    "400,000 links": ("document.body.innerHTML = '<a href=/x>y</a>'.repeat(400000)", KEPT | GONE, SOME),
    "endless writing": ("for (;;) document.write('<p>w')", KEPT | GONE, SOME),
    "100,000 levels": (
        "let d = document.body; for (let i = 0; i < 1e5; i++) d = d.appendChild(document.createElement('b'))",
        KEPT | GONE, NONE,  # where the stack of the browser is large enough
    ),
    "2,000 frames": ("document.body.innerHTML = '<iframe src=/frame></iframe>'.repeat(2000)", KEPT | GONE, SOME),
    "100 busy workers": (
        "for (let i = 0; i < 100; i++) new Worker(URL.createObjectURL(new Blob(['for(;;);'])))",
        KEPT | GONE, NONE,  # where the machine has time for them and for the page
    ),
    "heap": ("const all = []; for (;;) all.push(new Array(1e5).fill(0).map(() => ({})))", KEPT | GONE, SOME),
    "buffers": ("const all = []; for (;;) all.push(new Uint8Array(16 << 20).fill(1))", KEPT | GONE, NONE),
    "100 MB of text": ("document.body.append('z'.repeat(100 << 20))", KEPT | GONE, SOME),
    "canvases": (
        """const all = []; for (;;) { const c = document.createElement('canvas'); c.width = c.height = 8000;
        const pen = c.getContext('2d'); pen.fillRect(0, 0, 8000, 8000); pen.getImageData(0, 0, 1, 1); all.push(c) }""",
        KEPT | GONE, NONE,  # an exception, where a canvas cannot be drawn
    ),
    "closed root beside 400,000 nodes": (
        f"{CLOSED_ROOT}; document.body.append(host); host.insertAdjacentHTML('afterend', '<b></b>'.repeat(400000))",
        KEPT | GONE, SOME,
    ),
    "closed root of 400,000 nodes": (
        f"{CLOSED_ROOT}; root.innerHTML = '<b></b>'.repeat(400000); document.body.append(host)", KEPT | GONE, SOME,
    ),
    "closed root of 5,000 levels": (
        f"""{CLOSED_ROOT}; document.body.append(host);
        for (let d = root, i = 0; i < 5000; i++) d = d.appendChild(document.createElement('b'))""",
        KEPT | GONE, NONE,  # the browser sends no tree of so many levels
    ),
    "closes itself": ("close()", KEPT | GONE, NONE),
}  # fmt: skip


@pytest.fixture(scope="module")
def shared_loop(browser_program: Path) -> Iterator[RenderLoop]:
    loop = RenderLoop(browser_program, {"/frame": "<p>frame"}, tabs=1, seconds=SECONDS, memory=MEMORY)
    yield loop
    loop.close()


@pytest.fixture
def loop(shared_loop: RenderLoop) -> RenderLoop:
    shared_loop.render(SIMPLE)  # its browser has started
    return shared_loop


@pytest.fixture
def pool_of_four(browser_program: Path) -> Iterator[RenderLoop]:
    loop = RenderLoop(browser_program, tabs=4, seconds=60)
    loop.render(SIMPLE)
    yield loop
    loop.close()


class PeakMemory(threading.Thread):
    """Watches the largest process of the browser."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.mebibytes = 0
        self._is_over = threading.Event()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *fault: object) -> None:
        self._is_over.set()
        self.join()

    def run(self) -> None:
        while not self._is_over.wait(0.05):
            for process in all_processes():
                try:
                    self.mebibytes = max(self.mebibytes, process.memory_info().rss >> 20)
                except psutil.NoSuchProcess:
                    continue


def assert_recovers(loop: RenderLoop) -> None:
    """Check that a simple page behind another takes a second, and longer only where its processes waited for a core."""
    before = seconds_without_core(loop)
    started = time.monotonic()
    assert b"simple" in loop.render(SIMPLE).html
    after = seconds_without_core(loop)
    waited = sum(after[pid] - before.get(pid, 0.0) for pid in after)
    seconds = time.monotonic() - started - waited
    assert seconds < RECOVERY_SECONDS or seconds < RECOVERY_SECONDS * slowness(), f"took {seconds:.1f} s"


# These pages take seconds each. The others meet the same limits.
SLOW = {"2,000 frames", "endless microtasks", "closed root of 400,000 nodes"}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.full if name in SLOW else []) for name in HOSTILE]
)
def test_a_hostile_page_costs_itself_and_says_why(loop: RenderLoop, name: str) -> None:
    script, outcomes, cut = HOSTILE[name]
    for _ in range(TRIES):
        with PeakMemory() as peak:
            page = loop.render(f"<body><p>words</p><script>{script}</script>")
            assert_recovers(loop)
        if page.outcome in outcomes:
            break
        assert (page.outcome, page.reason[:21]) == (Outcome.RENDERER_TIMEOUT, "its scripts were busy"), page.reason
    assert page.outcome in outcomes, page.reason
    assert cut in {NONE, SOME, *page.cut.split(", ")}
    assert cut != SOME or page.cut or page.reason
    if page.outcome is Outcome.FETCHED:
        assert b"<p>words</p>" in page.html or name == "endless writing"
        assert len(page.html) < 17 << 20
    else:
        assert page.reason
    assert peak.mebibytes < MEMORY + MAPPED


def test_the_renderer_process_has_a_limit_of_memory_of_its_own(loop: RenderLoop) -> None:
    limits = Path("/proc", str(renderer_processes(loop)[0].pid), "limits").read_text()
    assert re.search(rf"^Max data size +{MEMORY_BYTES} ", limits, re.MULTILINE)


def test_the_reason_names_the_limit_of_a_page_that_does_not_stop(loop: RenderLoop) -> None:
    page = loop.render("<script>for (let i = 0; i < 5000; i++) fetch('/' + i); for (;;);</script>")
    assert "requests" in f"{page.cut} {page.reason}"
    assert len(page.requests) <= 500


def test_a_hung_page_does_not_hold_up_its_neighbours(pool_of_four: RenderLoop) -> None:
    hung = pool_of_four.submit("<script>for (;;);</script>")
    for _ in range(3):
        assert pool_of_four.render(SIMPLE).outcome is Outcome.FETCHED
    assert all(page.id != hung for page in pool_of_four.pages)


def test_the_browser_of_a_page_that_had_to_be_stopped_takes_no_other(loop: RenderLoop) -> None:
    before = browser_processes(loop)
    page = loop.render("<script>for (;;) alert(1)</script>")
    assert "dialogs" in f"{page.cut} {page.reason}"
    assert loop.render(SIMPLE).outcome is Outcome.FETCHED
    assert browser_processes(loop) != before


def test_a_death_after_a_page_that_had_to_be_stopped_costs_no_other_page(pool_of_four: RenderLoop) -> None:
    number = waiting_page(pool_of_four)
    pool_of_four.render("<script>for (;;) alert(1)</script>")
    browser_processes(pool_of_four)[0].kill()
    pool_of_four.held = lambda _request: False
    assert pool_of_four.wait_for(number).outcome is Outcome.FETCHED


# -- deaths ------------------------------------------------------------------------------------------------------------


def tab_process() -> psutil.Process:
    """Return the process of a tab."""
    return next(each for each in all_processes() if "--type=renderer" in command(each))


def waiting_page(loop: RenderLoop) -> int:
    """Submit a page that waits for data which nobody sends, and wait until it does."""
    loop.held = lambda request: request.url.endswith("/held")
    asked = len(loop.requests)
    number = loop.submit("<p>waits</p><script>fetch('/held')</script>")
    loop.run_until(lambda: len(loop.requests) > asked)
    return number


@pytest.mark.parametrize("victim", ["tab", "browser", "renderer process"])
def test_a_killed_process_costs_its_page_and_is_replaced(loop: RenderLoop, victim: str) -> None:
    number = waiting_page(loop)
    if victim == "tab":
        tab_process().kill()
    else:
        (browser_processes(loop) if victim == "browser" else renderer_processes(loop))[0].kill()
    page = loop.wait_for(number)
    assert page.outcome is Outcome.RENDERER_CRASHED
    assert "SIGKILL" in page.reason
    assert_recovers(loop)


@pytest.mark.parametrize("victim", ["browser", "renderer process"])
def test_pages_beside_the_one_whose_browser_died_run_again(pool_of_four: RenderLoop, victim: str) -> None:
    numbers = [waiting_page(pool_of_four) for _ in range(3)]
    (browser_processes(pool_of_four) if victim == "browser" else renderer_processes(pool_of_four))[0].kill()
    pool_of_four.held = lambda _request: False
    pages = [pool_of_four.wait_for(number) for number in numbers]
    assert [page.outcome for page in pages] == [Outcome.FETCHED] * 3


def test_twenty_kills_cost_twenty_pages_and_leave_no_process(pool_of_four: RenderLoop) -> None:
    ended: list[RenderedPage] = []
    seen = set(all_processes(pool_of_four))
    for kill in range(20):
        number = waiting_page(pool_of_four)
        seen |= set(all_processes(pool_of_four))
        (browser_processes(pool_of_four) if kill % 2 else renderer_processes(pool_of_four))[0].kill()
        ended.append(pool_of_four.wait_for(number))
        assert_recovers(pool_of_four)
    assert {page.outcome for page in ended} == {Outcome.RENDERER_CRASHED}, ended
    seen |= set(all_processes(pool_of_four))
    pool_of_four.close()
    until(lambda: not [process for process in seen if process.is_running()], "the end of all processes")


def test_cancelled_pages_never_come_back(pool_of_four: RenderLoop) -> None:
    number = waiting_page(pool_of_four)
    pool_of_four.pool.cancel_all()
    assert pool_of_four.pool.backlog == 0
    assert pool_of_four.render(SIMPLE).outcome is Outcome.FETCHED
    assert all(page.id != number for page in pool_of_four.pages)


CRAWLER = """
import sys
from pathlib import Path
from helpers.render.render_loop import RenderLoop, all_processes
loop = RenderLoop(Path(sys.argv[1]))
loop.submit("<script>for (;;);</script>")
loop.submit("<p>waits</p><script>fetch('/held')</script>")
loop.held = lambda request: True
loop.run_until(lambda: loop.requests)
print(*(process.pid for process in all_processes()), flush=True)
loop.run_until(lambda: False)
"""


@pytest.mark.parametrize("victims", ["crawler", "crawler and renderer process"])
def test_a_killed_crawler_leaves_no_browser_and_no_home(browser_program: Path, victims: str) -> None:
    tests = Path(__file__).parents[1]
    crawler = subprocess.Popen(
        [sys.executable, "-c", CRAWLER, browser_program],
        env={**os.environ, "PYTHONPATH": str(tests)}, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert crawler.stdout is not None
    processes = [psutil.Process(int(pid)) for pid in crawler.stdout.readline().split()]
    assert len(processes) > 4
    renderer = processes[0]
    crawler.kill()
    if "renderer" in victims:
        renderer.kill()
    crawler.wait(PATIENCE)
    crawler.stdout.close()
    until(lambda: not [process for process in processes if process.is_running()], "the end of all processes")
    if victims == "crawler":
        until(
            lambda: not list(Path(tempfile.gettempdir()).glob(f"gossamer-browser-{renderer.pid}-*")), "the end of HOME"
        )


# -- start -------------------------------------------------------------------------------------------------------------


def test_no_browser_starts_before_the_first_page(browser_program: Path) -> None:
    loop = RenderLoop(browser_program)
    try:
        loop.step()
        assert not renderer_processes(loop)
    finally:
        loop.close()


def test_a_program_that_is_no_browser_ends_the_pool_with_its_reason() -> None:
    loop = RenderLoop(Path("/bin/false"))
    try:
        with pytest.raises(RendererFault, match=r"Browsers cannot be started: .*ended with code 1"):
            loop.render(SIMPLE)
    finally:
        loop.close()


def test_a_missing_layer_stops_the_pool_unless_the_user_goes_on_without() -> None:
    missing = IsolationReport(network="the kernel has none", sandbox="the kernel has none", files="the kernel has none")
    with pytest.raises(RendererFault, match="a network namespace is not to be had: the kernel has none"):
        RenderLoop(package("chromium-headless-shell"), isolation=missing)
    loop = RenderLoop(package("chromium-headless-shell"), isolation=missing, unsafe=True)
    try:
        assert loop.render(SIMPLE).outcome is Outcome.FETCHED
        assert "--no-sandbox" in browser_processes(loop)[0].cmdline()
    finally:
        loop.close()


def test_a_stopped_browser_is_killed_when_its_renderer_process_dies(browser_program: Path) -> None:
    loop = RenderLoop(browser_program)
    try:
        loop.render(SIMPLE)
        browser = browser_processes(loop)[0]
        os.kill(browser.pid, signal.SIGSTOP)
        renderer_processes(loop)[0].kill()
        until(lambda: not browser.is_running() or browser.status() == psutil.STATUS_ZOMBIE, "the end of the browser")
    finally:
        loop.close()
