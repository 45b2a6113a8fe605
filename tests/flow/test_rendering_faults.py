"""Pages that are hostile to browsers, and kills: each costs its page, with its reason, and leaves no process behind."""

from __future__ import annotations

import itertools
import random
import re
import signal
import subprocess
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple, Self

import psutil
import pytest

from gossamer.crawl.rendering.decisions import TRIALS
from helpers.cli.commands import FAST, command, environment, query
from helpers.patience import slowness, until
from helpers.render.render_loop import proportional_bytes
from helpers.render.rendering_crawl import SCRIPT
from hostile.rendered import HOSTILE_PAGES, HostileToBrowsers
from webs import museum
from webs.served import SiteResponse, SiteServer

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

RENDER = ("--render", "always", "--renderers", "4", "--no-index")
PAGE_SECONDS = 6.0  # for a page in a browser
# The limit of data of one process is 768 MiB. The other processes of browser and crawler take as much at most.
MOST_BYTES = 1_600 << 20
FETCHES, LARGE_BYTES = 490, 7 << 20  # requests of one page, and the size of the file that they ask for
MOST_CRAWLER_BYTES = 250 << 20  # more than at its start
QUICK_PAGES = ("loop", "alerts", "requests", "navigation", "popups", "stay")
LOOK_SECONDS = 1.0  # between looks at processes and their memory, which cost 10 ms each
WORDS_OF_A_GOOD_PAGE = 8
NEW_PAGES = 6  # begun after a kill, until the next one: those that it interrupted, up to four, ran again before


class Visited(NamedTuple):
    """What a crawl stored about a page."""

    outcome: str
    reason: str
    title: str
    cut: str | None  # None: not rendered
    words: int


def visited(store: Path) -> dict[str, Visited]:
    """Return what a crawl stored, by path and query."""
    rows = query(
        store,
        "SELECT url, outcome, reason, title, renderings.cut, renderings.words FROM resources"
        " LEFT JOIN renderings ON resource = id WHERE outcome <> ''",
    )
    return {"/" + url.split("/", 3)[3]: Visited(*fields) for url, *fields in rows}


class RenderingCrawl:
    """A crawl that renders all pages, as a context manager. It knows all processes that it ever saw of the crawl."""

    def __init__(self, browser: Path, url: str, store: Path, *arguments: object) -> None:
        seconds = {"GOSSAMER_RENDER_SECONDS": f"{PAGE_SECONDS * slowness():g}"}
        options = ("--store", store, "--browser", browser, "--quiet", *RENDER, *FAST, *arguments)
        self.process = psutil.Popen(
            command("crawl", url, *options), env=environment(seconds),
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.peak_bytes = 0
        self._family: set[psutil.Process] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.look()
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()
        until(lambda: not any(map(is_running, self._family)), f"the end of all processes: {self._family}")

    def look(self) -> list[psutil.Process]:
        """Return the living processes below the crawl, and note them and their memory."""
        with suppress(psutil.NoSuchProcess):
            found: list[psutil.Process] = self.process.children(recursive=True)
            self._family.update(found)
            self.peak_bytes = max(self.peak_bytes, sum(map(proportional_bytes, [self.process, *found])))
            return found
        return []

    def find(self, part: str) -> list[psutil.Process]:
        """Return the living processes that have a text in their command lines."""
        return [process for process in self.look() if part in command_line(process)]

    def wait(self) -> int:
        """Wait for the end of the crawl and return its exit code."""
        until(lambda: (self.look() and self.process.poll() is not None) or self.process.poll() is not None, "the crawl")
        return int(self.process.wait())


def is_running(process: psutil.Process) -> bool:
    with suppress(psutil.NoSuchProcess):
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    return False


def command_line(process: psutil.Process) -> str:
    with suppress(psutil.Error):
        return " ".join(process.cmdline())
    return ""


@pytest.mark.parametrize(
    "names",
    [
        pytest.param(QUICK_PAGES, id="some pages"),
        pytest.param(tuple(HOSTILE_PAGES), id="all pages", marks=pytest.mark.full),
    ],
)
def test_a_hostile_page_costs_itself_and_no_other(
    browser_program: Path, tmp_path: Path, names: tuple[str, ...]
) -> None:
    store = tmp_path / "web"
    with HostileToBrowsers(names) as site, RenderingCrawl(browser_program, site.url, store, "--max-depth", 1) as crawl:
        assert crawl.wait() == 0
    pages = visited(store)
    incomplete = {path: pages[path] for path in site.good if pages[path].words != WORDS_OF_A_GOOD_PAGE}
    assert not incomplete, "neighbours lost what their scripts write"
    for name in names:
        page = pages[f"/{name}"]
        assert page.outcome == "fetched"
        assert re.search(HOSTILE_PAGES[name].limit, f"{page.cut} {page.reason}"), (name, page)
        assert page.cut is not None or page.reason.startswith("not rendered: "), (name, page)
    print(f"{crawl.peak_bytes / 1e6:.0f} MB at most")
    assert crawl.peak_bytes < MOST_BYTES


def test_many_fetches_of_one_large_file_take_bounded_memory(browser_program: Path, tmp_path: Path) -> None:
    large = SiteResponse(b"x" * LARGE_BYTES, headers={"Content-Type": "text/plain", "Cache-Control": "no-store"})
    script = f"for (let i = 0; i < {FETCHES}; i++) fetch('/large').then(answer => answer.text()).catch(() => 0)"
    shell = f"<!doctype html><title>Greedy</title><div id=root></div><script>{script}</script>"
    store = tmp_path / "web"
    with (
        SiteServer({"/": shell, "/large": large}) as site,
        RenderingCrawl(browser_program, site.url, store) as crawl,
    ):
        until(lambda: site.requests, "the crawl")
        before, peak = crawl.process.memory_info().rss, 0
        while crawl.process.poll() is None:
            with suppress(psutil.NoSuchProcess):
                peak = max(peak, crawl.process.memory_info().rss)
            time.sleep(0.02)
    print(f"{(peak - before) / 1e6:.0f} MB more")
    assert peak - before < MOST_CRAWLER_BYTES
    assert "traffic" in (visited(store)["/"].cut or "")


# -- kills -------------------------------------------------------------------------------------------------------------

HALF = ("--exclude", "/(exhibits|halls)/[d-z]")  # of the museum: a kill shows as much there
VICTIMS = {
    "browser": "--remote-debugging-pipe",
    "renderer process": "gossamer.render.renderer_process",
    "tab": "--type=renderer",
}


def data_requests(site: museum.MuseumServer) -> int:
    """Return how many pages have begun to load their data; the crawl asks for each file once."""
    return len({path for path in site.paths() if path.startswith("/api/")})


def wait_for_pages(site: museum.MuseumServer, number: int) -> None:
    until(lambda: data_requests(site) >= number, "pages in browsers")


def kill_one(crawl: RenderingCrawl, part: str, chance: random.Random) -> None:
    """Kill a process of the crawl that has a text in its command line."""

    def is_killed() -> bool:
        with suppress(psutil.NoSuchProcess, IndexError):
            chance.choice(crawl.find(part)).kill()
            return True
        return False

    until(is_killed, "a process to kill")


def assert_complete(store: Path, part: Sequence[str], most_lost: int) -> None:
    """Check that every route was visited and has what its scripts write, but for some with their reasons."""
    pages = visited(store)
    left_out = part[1] if part else "$"
    routes = {path: route for path, route in museum.routes().items() if not re.match(left_out, path)}
    titles = {path: routes[route.get("moved", path)]["title"] for path, route in routes.items()}
    lost = {path: page for path, page in pages.items() if page.title != titles.get(path, page.title)}
    print(f"{len(lost)} of {len(pages)} pages lost: {lost}")
    assert len(lost) <= most_lost
    assert all(page.reason.startswith("not rendered: ") for page in lost.values()), lost
    if not lost:
        assert routes.keys() <= pages.keys()


@pytest.mark.parametrize(
    ("kills", "part"),
    [
        pytest.param(3, HALF, id="3 kills", marks=pytest.mark.full),
        pytest.param(20, (), id="20 kills", marks=pytest.mark.full),
    ],
)
def test_a_killed_browser_costs_at_most_the_page_it_shows(
    browser_program: Path, museum_scripts: Path, tmp_path: Path, kills: int, part: tuple[str, ...]
) -> None:
    store, chance = tmp_path / "web", random.Random(kills)
    with (
        museum.MuseumServer(museum.client_rendered(museum_scripts)) as site,
        RenderingCrawl(browser_program, site.url, store, *part) as crawl,
    ):
        for victim in itertools.islice(itertools.cycle(VICTIMS.values()), kills):
            wait_for_pages(site, data_requests(site) + NEW_PAGES)
            kill_one(crawl, victim, chance)
        assert crawl.wait() == 0
    assert_complete(store, part, most_lost=kills)


def test_kills_under_the_first_pages_of_a_shape_do_not_decide_for_it(browser_program: Path, tmp_path: Path) -> None:
    gates = {f"/app.js?{number}": threading.Event() for number in range(8)}
    draw = "document.getElementById('root').innerHTML = '<p>Seven words that only scripts bring here.'"
    shell = "<!doctype html><title>Shell</title><div id=root></div><script src='{}'></script>"
    links = "".join(f"<a href=/item/{number}>{number}</a>" for number in range(len(gates)))
    pages: dict[str, str | SiteResponse] = {
        f"/item/{number}": shell.format(script) for number, script in enumerate(gates)
    }
    pages |= {script: SiteResponse(draw, headers=SCRIPT, gate=gate) for script, gate in gates.items()}
    pages["/"] = f"<title>Home</title><p>{'Words of the server. ' * 20}{links}"
    mode = ("--render", "auto", "--renderers", 1)
    store = tmp_path / "web"
    with SiteServer(pages) as site, RenderingCrawl(browser_program, site.url, store, *mode) as crawl:
        killed: list[str] = []
        while len(killed) < TRIALS:
            until(lambda: set(site.paths()) & set(gates) - {*killed}, "a page that waits in a browser")
            [script] = set(site.paths()) & set(gates) - {*killed}
            kill_one(crawl, VICTIMS["browser"], random.Random(1))
            gates[script].set()
            killed.append(script)
        for gate in gates.values():
            gate.set()
        assert crawl.wait() == 0
    rows = query(store, "SELECT rendered, reason, script_sign FROM resources WHERE url LIKE '%/item/%'")
    assert sorted(rendered for rendered, _, _ in rows if rendered)[-1:] == ["shape needs scripts"]
    failed = [(reason, sign) for rendered, reason, sign in rows if not rendered]
    assert len(failed) == TRIALS
    assert all(reason.startswith("not rendered: ") and sign == "app shell" for reason, sign in failed), failed


def test_a_killed_crawl_leaves_no_process_and_loses_nothing(
    browser_program: Path, museum_scripts: Path, tmp_path: Path
) -> None:
    store = tmp_path / "web"
    with museum.MuseumServer(museum.client_rendered(museum_scripts)) as site:
        for pages in (20, 60):
            with RenderingCrawl(browser_program, site.url, store, *HALF) as crawl:
                wait_for_pages(site, pages)
                crawl.look()
                crawl.process.send_signal(signal.SIGKILL)
        with RenderingCrawl(browser_program, site.url, store, *HALF) as crawl:
            assert crawl.wait() == 0
    assert_complete(store, HALF, most_lost=0)
    assert max(number for (number,) in query(store, "SELECT count(*) FROM visits GROUP BY resource")) == 1
