"""Nothing leaves the browser: pages that try seventy ways out reach no canary, and reach it without the layers.

The control runs first: a plain Chromium at the same pages. Each vector that works must hit the canary there.
"""

from __future__ import annotations

import sys
import threading
import time
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from conftest import package, skip_or_fail
from gossamer.model import Outcome
from gossamer.render.browser_command import browser_command
from gossamer.render.browser_search import find_program
from gossamer.render.options import RenderOptions
from helpers.cli.commands import FAST, gossamer, query
from helpers.patience import PATIENCE, slowness, until
from helpers.render.plain_browser import browser_by_itself, browser_with_given_pages
from helpers.render.render_loop import RenderLoop
from webs.canary import NETWORK, START, Canary
from webs.canary_vectors import VECTORS
from webs.served import SiteServer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

PATHS = sorted({f"/{vector.page}" for vector in VECTORS})
WORKING = {vector.name for vector in VECTORS if vector.works}
# Debian's two browsers, with what they leave out by themselves.
BROWSERS = {
    "chromium": frozenset[str](),
    "chromium-headless-shell": frozenset({"preconnect", "preconnect by name", "dns-prefetch"}),
}
LISTENING_SECONDS = 3.0  # after the last page is open; in the control all hits come within one
# These always get past a client that answers the requests of tabs. A client closes some others by being attached.
UNDER_A_CLIENT = {
    "manifest",
    "fetch",
    "websocket",
    "stun",
    "dns-prefetch",
    "popup",
    "service worker",
    "beacon",
    "eventsource",
}
LEAVE_THE_NETWORK = (
    "import os, sys; from gossamer.render.namespaces import enter_empty_network;"
    " enter_empty_network(); os.execv(sys.argv[1], sys.argv[1:])"
)


@pytest.fixture
def canary() -> Iterator[Canary]:
    with Canary() as canary:
        if not canary.has_dns:
            skip_or_fail("The canary's name server needs port 53, which only root may open")
        yield canary


@pytest.fixture
def site(canary: Canary) -> Iterator[SiteServer]:
    with SiteServer({}) as site:
        site.pages.update(canary.pages(site.url.rstrip("/")))
        yield site


def enter_and_leave(canary: Canary) -> None:
    with canary:
        pass


def test_a_second_run_of_these_tests_waits_for_the_first(canary: Canary) -> None:
    second = threading.Thread(target=enter_and_leave, args=(Canary(),), daemon=True)
    second.start()
    second.join(1.0)
    assert second.is_alive()
    canary.close()
    second.join(PATIENCE)
    assert not second.is_alive()


# -- the control -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", BROWSERS)
def test_every_vector_reaches_the_canary_from_a_plain_browser(canary: Canary, site: SiteServer, name: str) -> None:
    expected = WORKING - BROWSERS[name]
    with browser_by_itself(package(name), f"{site.url}{START}"):
        until(lambda: canary.vectors_hit() >= expected, "every vector's hit")
    assert {hit.protocol for hit in canary.hits} == {"tcp", "udp", "dns"}


def visit_given_pages(
    canary: Canary, site: SiteServer, *, prefix: Sequence[str] = (), switches: Sequence[str] = ()
) -> None:
    """Let a browser show all pages, which it gets without the network; then listen for a while.

    Each page has a tab and a navigation of its own: where popups are blocked, no page could open another.
    """
    origin = site.url.rstrip("/")
    pages = canary.pages(origin)
    site.requests.clear()
    with browser_with_given_pages(package("chromium"), origin, pages, prefix=prefix, switches=switches) as context:
        context.set_default_timeout(1000 * PATIENCE)
        context.set_default_navigation_timeout(1000 * PATIENCE)
        shown: set[str] = set()
        for path in PATHS:
            page = context.new_page()
            page.on("framenavigated", lambda frame: shown.add(frame.url))
            page.goto(f"{origin}{path}", wait_until="commit")
            if path == f"/{START}":
                page.wait_for_load_state("domcontentloaded")
                context.new_cdp_session(page).send("Page.getAppManifest")  # nothing else loads it in a headless tab
        page.wait_for_timeout(1000 * LISTENING_SECONDS * slowness())
    assert {f"{origin}{path}" for path in PATHS} <= shown


@pytest.mark.full
def test_given_pages_alone_do_not_keep_a_browser_from_the_canary(canary: Canary, site: SiteServer) -> None:
    visit_given_pages(canary, site)
    assert canary.vectors_hit() >= UNDER_A_CLIENT
    assert len(canary.vectors_hit() & WORKING) > len(WORKING) / 2


# -- each layer alone --------------------------------------------------------------------------------------------------


def test_the_switches_alone_keep_a_browser_from_the_canary(canary: Canary, site: SiteServer, tmp_path: Path) -> None:
    command = browser_command(RenderOptions(browser="chromium"), tmp_path, sandbox=False)
    left_out = ("--remote-debugging-pipe", "--user-data-dir=", "--no-startup-window")  # Playwright sets its own
    visit_given_pages(canary, site, switches=[switch for switch in command[1:] if not switch.startswith(left_out)])
    assert (canary.hits, site.paths()) == ([], [])


@pytest.mark.full
def test_the_empty_network_alone_keeps_a_browser_from_the_canary(canary: Canary, site: SiteServer) -> None:
    visit_given_pages(canary, site, prefix=(sys.executable, "-c", LEAVE_THE_NETWORK))
    assert (canary.hits, site.paths()) == ([], [])


# -- all of them -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", BROWSERS)
@pytest.mark.usefixtures("browser_program")  # skips where a layer is missing
def test_no_page_that_the_pool_renders_reaches_the_canary(canary: Canary, site: SiteServer, name: str) -> None:
    origin = site.url.rstrip("/")
    pages = canary.pages(origin)
    web = {f"{origin}{path}": str(page.body) for path, page in pages.items()}
    with closing(RenderLoop(find_program(package(name)), web, tabs=4)) as loop:
        for path, page in pages.items():
            headers = {key.lower(): value for key, value in page.headers.items()}
            loop.submit(str(page.body), f"{origin}{path}", headers=headers)
        loop.run_until(lambda: len(loop.pages) == len(pages), "all pages")
        listened = time.monotonic() + LISTENING_SECONDS * slowness()
        loop.run_until(lambda: time.monotonic() > listened)
    assert {page.outcome for page in loop.pages} == {Outcome.FETCHED}
    assert {request.method for request in loop.requests} == {"GET"}
    assert len({url for page in loop.pages for url, _ in page.requests}) > 20  # so that the pages did try
    assert (canary.hits, site.paths()) == ([], [])


def test_no_page_of_a_crawl_reaches_the_canary(
    browser_program: Path, canary: Canary, site: SiteServer, tmp_path: Path
) -> None:
    site.pages["/"] = "".join(f'<a href="{path}">{path}</a>' for path in site.pages)
    done = gossamer(
        "crawl", site.url, "--store", tmp_path, "--render", "always", "--browser", browser_program, "--no-index", *FAST
    )
    assert done.returncode == 0, done.stderr
    rendered = query(tmp_path, "SELECT count(*) FROM renderings")
    refused = query(tmp_path, "SELECT count(*) FROM resources WHERE url LIKE ?", f"%{NETWORK}%")
    assert rendered[0][0] >= len({vector.page for vector in VECTORS})
    assert refused[0][0] > 20  # so that the pages did try
    assert canary.hits == []
    assert {request.method for request in site.requests} == {"GET"}
