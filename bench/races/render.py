"""Pages made by scripts: Gossamer beside Crawlee's PlaywrightCrawler, with the same browser and as many tabs.

The site is drawn by React in the browser (`tests/webs/museum.py`); nginx serves it. For both, a page is done when its
DOM has not changed for 100 ms and no request of it is open. Pages a second come from outside, over the whole process.
"""

from __future__ import annotations

import dataclasses
import sys
import tempfile
import threading
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

import psutil
from bench.harness.contest import Contestant, ContestantFailed, Run, Spread, measure, print_progress, ratio
from bench.harness.report import Aim, Section
from bench.races import peers
from bench.races.crawl import gossamer

from gossamer.render.browser_search import find_browser
from webs import debian, museum
from webs.nginx import Nginx, Site

if TYPE_CHECKING:
    from collections.abc import Sequence

OURS, CRAWLEE = "gossamer", "crawlee, PlaywrightCrawler"
TABS = 4
OPTIONS = ("--render", "always", "--renderers", str(TABS))
MIN_SPEED_RATIO = 2.5
MAX_CPU_MILLISECONDS = 150.0  # a page, of all processes
MAX_MEGABYTES = 450.0  # PSS of the browser with its tabs and of the process that drives it
SAMPLE_SECONDS = 0.25
NO_PART = ("nginx", "resource_tracker")  # processes that are not the contestant's


@dataclass(frozen=True, kw_only=True)
class RenderRun:
    """One run, and what its processes took."""

    run: Run
    cpu_seconds: float  # of all its processes, also of those that nobody waited for
    browser_megabytes: float  # peak PSS of the browser's processes and of the process that drives it


class ProcessWatch:
    """Samples the processes below this one: their CPU time, and the memory of browsers."""

    def __init__(self) -> None:
        self.browser_megabytes = 0.0
        self._cpu: dict[tuple[int, float], float] = {}  # process -> its seconds so far
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    @property
    def cpu_seconds(self) -> float:
        return sum(self._cpu.values())

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ended.wait(SAMPLE_SECONDS):
            memory = 0.0
            for process in psutil.Process().children(recursive=True):
                with suppress(psutil.Error):
                    memory += self._sample(process)
            self.browser_megabytes = max(self.browser_megabytes, memory / 1e6)

    def _sample(self, process: psutil.Process) -> float:
        """Note the CPU time of a process; return its PSS if it is the browser's or drives it."""
        command = " ".join(process.cmdline())
        if any(name in command for name in NO_PART):
            return 0.0
        times = process.cpu_times()
        self._cpu[process.pid, process.create_time()] = times.user + times.system
        is_browser = "--type=" in command or "--remote-debugging-pipe" in command
        drives = "gossamer.render" in command or "playwright/driver" in command
        return float(process.memory_full_info().pss) if is_browser or drives else 0.0


def race(runs: int) -> Section:
    """Race on the client-rendered site."""
    binary, scripts, browser = debian.find("nginx"), museum.built_scripts(), find_browser()
    if binary is None or scripts is None or browser is None:
        sys.exit("nginx, Chromium or the client-rendered site is missing: run `make test-packages`, with Node")
    contestants = [gossamer(OURS, *OPTIONS, does="everything on: links, words, sources, index"), _crawlee(browser)]
    measured: defaultdict[str, list[RenderRun]] = defaultdict(list)
    left_out: list[str] = []
    with tempfile.TemporaryDirectory(prefix="gossamer-bench-") as folder:
        Path(folder).chmod(0o755)  # for nginx, which is not root
        root = museum.write_site(museum.client_rendered(scripts), Path(folder, "site"))
        with Nginx(binary, {"site": Site(root, museum.NGINX)}, log=False) as nginx:
            for _ in range(runs):
                for contestant in contestants:
                    try:
                        measured[contestant.name].append(_measure(contestant, nginx.url("site")))
                    except ContestantFailed as fault:
                        left_out.append(f"{contestant.name}, which failed: {' '.join(str(fault).split())[-200:]}")
    return _section(contestants, measured, left_out)


def _crawlee(browser: Path) -> Contestant:
    program = [str(peers.PYTHON), str(peers.HERE / "crawlee_browser.py")]
    return Contestant(
        name=CRAWLEE,
        command=lambda url, _: [*program, url, str(browser), str(TABS)],
        does="links extracted and followed; nothing kept",
    )


def _measure(contestant: Contestant, url: str) -> RenderRun:
    print_progress(f"{contestant.name} ...")
    with tempfile.TemporaryDirectory(prefix="gossamer-bench-") as folder, ProcessWatch() as watch:
        run = measure(contestant, url, Path(folder))
    print_progress(f"    {run.pages:,} pages in {run.seconds:.1f} s: {run.pages_per_second:.1f} a second")
    return RenderRun(run=run, cpu_seconds=watch.cpu_seconds, browser_megabytes=watch.browser_megabytes)


def _section(
    contestants: Sequence[Contestant], measured: dict[str, list[RenderRun]], left_out: Sequence[str]
) -> Section:
    ours, theirs = (measured.get(name, []) for name in (OURS, CRAWLEE))
    if not ours:
        raise ContestantFailed("\n".join(left_out))
    rates = {name: [_rate(each) for each in same] for name, same in measured.items()}
    aims = [
        Aim(name="CPU ms a rendered page", measured=_cpu(ours), most=MAX_CPU_MILLISECONDS, form=",.0f"),
        Aim(name=f"MB (PSS) of {TABS} tabs", measured=_memory(ours), most=MAX_MEGABYTES, form=",.0f"),
    ]
    if theirs:
        times = ratio(rates[OURS], rates[CRAWLEE])
        aims.insert(0, Aim(name="rendered pages/s, to Crawlee", measured=times, least=MIN_SPEED_RATIO))
    return Section(
        name="Pages made by scripts",
        work=(
            f"A site of {len(museum.routes())} routes drawn by React in the browser, from nginx; one browser with"
            f" {TABS} tabs each. A page is done when its DOM is quiet for 100 ms and none of its requests is open."
        ),
        columns=(
            "system",
            "runs",
            "pages",
            "pages/s",
            "CPU ms a page",
            "MB (PSS) of browsers",
            "MB (PSS)",
            "what it did",
        ),
        rows=[_row(each, measured[each.name]) for each in contestants if measured.get(each.name)],
        measured=[dataclasses.asdict(each) for same in measured.values() for each in same],
        aims=aims,
        left_out=left_out,
    )


def _pages(run: RenderRun) -> int:
    return min(run.run.pages, len(museum.routes()))


def _rate(run: RenderRun) -> float:
    return _pages(run) / run.run.seconds


def _cpu(runs: Sequence[RenderRun]) -> Spread:
    return Spread.of(1000 * each.cpu_seconds / _pages(each) for each in runs)


def _memory(runs: Sequence[RenderRun]) -> Spread:
    return Spread.of(each.browser_megabytes for each in runs)


def _row(contestant: Contestant, runs: Sequence[RenderRun]) -> list[str]:
    return [
        f"{contestant.name} {contestant.version}".strip(),
        str(len(runs)),
        Spread.of(each.run.pages for each in runs).describe(),
        Spread.of(map(_rate, runs)).describe(".1f"),
        _cpu(runs).describe(),
        _memory(runs).describe(),
        Spread.of(each.run.megabytes for each in runs).describe(),
        contestant.does,
    ]
