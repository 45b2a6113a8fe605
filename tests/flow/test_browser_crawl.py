"""The live dashboard in a real browser: it updates while a crawl runs, and controls the crawl."""

from __future__ import annotations

import json
import re
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from helpers.cli.commands import command, environment, gossamer
from helpers.patience import PATIENCE, until
from helpers.web.browser import (
    PICTURE_SIZE,
    AppServer,
    Look,
    check_appearances,
    in_every_look,
    open_page,
    save_picture,
)
from webs.generated import GeneratedWeb, Shape

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page

SLOW = Shape(latency=0.05)  # about forty pages a second over two connections: the crawl lasts and leaves the cores free


@pytest.fixture(scope="module")
def generated_web() -> Iterator[GeneratedWeb]:
    with GeneratedWeb(SLOW) as web:
        yield web


@pytest.fixture(scope="module")
def server(generated_web: GeneratedWeb, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AppServer]:
    """Serve a web while a crawl runs on it."""
    store = tmp_path_factory.mktemp("crawl")
    with crawling(generated_web, store), AppServer(store) as serving:
        yield serving


@contextmanager
def crawling(web: GeneratedWeb, store: Path) -> Iterator[None]:
    """Run a crawl until the context ends or a test stops it."""
    arguments = ("crawl", web.url, "--store", store, "--quiet", "--delay", "0", "--connections", "2")
    process = subprocess.Popen(
        command(*arguments), env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        until(lambda: states(store) == ["running"])
        yield
    finally:
        process.terminate()
        process.wait(PATIENCE)


def states(store: Path) -> list[str]:
    """Return the states of the crawlers in the store."""
    done = gossamer("crawlers", "--store", store, "--json")
    return [crawler["state"] for crawler in json.loads(done.stdout)["crawlers"]] if done.returncode == 0 else []


def counter(page: Page, name: str) -> float:
    return float(page.inner_text(f"[data-count={name}]").replace(",", ""))


def wait_until_live(page: Page) -> None:
    page.wait_for_selector("#charts[data-state=live][data-second]")


def press(page: Page, verb: str) -> None:
    page.click(f"#crawlers tr:first-child form[data-verb={verb}]:not([hidden]) button")


def test_numbers_charts_and_latest_pages_update_while_a_crawl_runs(browser: Browser, server: AppServer) -> None:
    with open_page(browser, server.control_url, viewport=PICTURE_SIZE) as page:
        wait_until_live(page)
        visited, newest = counter(page, "visited"), page.inner_text("#latest li:first-child a")
        until(lambda: counter(page, "visited") > visited)
        until(lambda: page.inner_text("#latest li:first-child a") != newest)
        until(lambda: float(page.get_attribute("#chart-pages", "data-most") or 0) > 0)
        until(lambda: float(page.get_attribute("#chart-bytes", "data-most") or 0) > 0)
        save_picture(page, "dashboard", seconds=25)
        assert page.inner_text("#live-status").startswith("Naiad at work")
        assert page.inner_text("#crawlers tr:first-child [data-f=state]") == "running"
        drawn = "canvas => canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.some(x => x)"
        assert page.eval_on_selector("#chart-pages canvas", drawn)


def test_rows_update_in_place_and_keep_the_focus(browser: Browser, server: AppServer) -> None:
    with open_page(browser, server.control_url) as page:
        wait_until_live(page)
        button = "#crawlers tr:first-child form[data-verb=stop] button"
        page.focus(button)
        page.eval_on_selector("#crawlers tr:first-child", "row => row.dataset.mine = 'yes'")
        pages = page.inner_text("#crawlers tr:first-child [data-f=pages]")
        until(lambda: page.inner_text("#crawlers tr:first-child [data-f=pages]") != pages)
        assert page.get_attribute("#crawlers tr:first-child", "data-mine") == "yes"
        expect(page.locator(button)).to_be_focused()


def test_a_crawler_is_paused_resumed_stopped_and_started(
    browser: Browser, generated_web: GeneratedWeb, tmp_path: Path
) -> None:
    with (
        crawling(generated_web, tmp_path),
        AppServer(tmp_path) as server,
        open_page(browser, server.control_url) as page,
    ):
        wait_until_live(page)
        state = page.locator("#crawlers tr:first-child [data-f=state]")
        press(page, "pause")
        expect(page.locator("#control-message")).to_have_text("Naiad will pause within a few seconds.")
        expect(state).to_have_text("paused")
        assert states(tmp_path) == ["paused"]
        press(page, "resume")
        expect(state).to_have_text("running")
        press(page, "stop")
        expect(state).to_have_text("stopped")
        assert states(tmp_path) == ["stopped"]
        expect(page.locator("#live-status")).to_have_text("No crawler is at work.")
        page.click("form[action='/control/crawlers'] button")
        expect(page.locator("#control-message")).to_have_text("A crawler was started on this machine.")
        expect(page.locator("#crawlers [data-f=state]", has_text="running")).to_have_count(1)
        visited = counter(page, "visited")
        until(lambda: counter(page, "visited") > visited)


def test_parsers_are_added_and_removed_within_the_limits(browser: Browser, server: AppServer) -> None:
    with open_page(browser, server.control_url) as page:
        wait_until_live(page)
        row = page.locator("#crawlers tr:first-child")
        parsers, more, fewer = (row.locator(one) for one in ("[data-f=parsers]", "[data-step='1']", "[data-step='-1']"))
        expect(parsers).to_have_text(re.compile(r"^\d+$"))
        before = int(parsers.inner_text())
        more.click()
        expect(page.locator("#control-message")).to_have_text(
            f"Naiad will have {before + 1} parsers within a few seconds."
        )
        expect(parsers).to_have_text(f"{before + 1}")
        for number in range(before, 0, -1):
            fewer.click()
            expect(parsers).to_have_text(f"{number}")
        expect(fewer).to_be_disabled()
        expect(more).to_be_enabled()


def test_a_visitor_without_a_token_can_watch_but_not_control(browser: Browser, server: AppServer) -> None:
    with open_page(browser, f"{server.url}crawl", expected=("401",)) as page:
        wait_until_live(page)
        assert page.locator("form[data-verb]").count() == 0
        stop = "fetch('/api/crawlers/Naiad/stop', {method: 'POST'}).then(answer => answer.status)"
        assert page.evaluate(stop) == 401
        visited = counter(page, "visited")
        until(lambda: counter(page, "visited") > visited)


def test_the_page_reconnects_after_the_server_was_away(browser: Browser, server: AppServer) -> None:
    away = ("ERR_CONNECTION_REFUSED", "ERR_INCOMPLETE_CHUNKED_ENCODING", "ERR_CONNECTION_RESET")
    with AppServer(server.store) as first, open_page(browser, f"{first.url}crawl", expected=away) as page:
        wait_until_live(page)
        first.stop()
        page.wait_for_selector("#charts[data-state=lost]")
        assert page.inner_text("#live-status") == "No connection to the server; trying again …"
        with AppServer(server.store, port=first.port):
            page.wait_for_selector("#charts[data-state=live]")
            visited = counter(page, "visited")
            until(lambda: counter(page, "visited") > visited)


def test_each_field_of_a_new_crawler_stands_beside_its_label(browser: Browser, server: AppServer) -> None:
    with open_page(browser, server.control_url) as page:
        wait_until_live(page)
        form = page.locator("form[action='/control/crawlers']")
        for label in ("page limit", "delay in seconds", "scope", "parsers"):
            field = form.get_by_label(label, exact=True)
            name, box = form.get_by_text(label, exact=True).bounding_box(), field.bounding_box()
            assert name
            assert box
            assert abs(name["y"] + name["height"] / 2 - box["y"] - box["height"] / 2) < 10, label
            assert 0 <= box["x"] - name["x"] - name["width"] < 20, label
            assert box["width"] < 200, label


@in_every_look
def test_the_counts_leave_no_empty_place(browser: Browser, server: AppServer, look: Look) -> None:
    with open_page(browser, server.control_url, **look) as page:
        wait_until_live(page)
        edges = page.eval_on_selector_all(
            "#counts, #counts div", "all => all.map(one => one.getBoundingClientRect().right)"
        )
        assert abs(edges[0] - edges[-1]) < 3


def test_the_dashboard_of_a_running_crawl_is_accessible_and_fits(browser: Browser, server: AppServer) -> None:
    with open_page(browser, server.control_url) as page:
        wait_until_live(page)
        check_appearances(page)
