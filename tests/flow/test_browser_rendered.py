"""The page view of a page that a browser rendered: its reason, both readings, its picture, and what scripts made."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import httpx
import pytest

from helpers.cli.commands import gossamer
from helpers.patience import PATIENCE
from helpers.render.rendering_crawl import SCRIPT, rendering_crawl
from helpers.web.browser import AppServer, check_appearances, open_page
from webs.served import SiteResponse, SiteServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser

SHELL = '<!doctype html><html lang="en"><title>Shell</title><div id="root"></div><script src="/app.js"></script>'
DRAW = """document.getElementById('root').innerHTML =
    '<h1>Made by scripts</h1><p>Words that only scripts bring here.</p><a href="/plain">Plain</a>'"""
PLAIN = f"<!doctype html><html lang='en'><title>Plain</title><p>{'Words of the server. ' * 20}"


@pytest.fixture(scope="module")
def crawled(browser_program: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[AppServer, str]]:
    """Serve a web of one page that scripts make and a plain one; also return the URL of the first."""
    store = tmp_path_factory.mktemp("rendered") / "web"
    with SiteServer({"/": SHELL, "/app.js": SiteResponse(DRAW, headers=SCRIPT), "/plain": PLAIN}) as site:
        rendering_crawl(browser_program, site.url, store, "--screenshots")
        with AppServer(store) as server:
            yield server, site.url


def test_a_rendered_page_shows_its_reason_and_both_readings(crawled: tuple[AppServer, str], browser: Browser) -> None:
    server, url = crawled
    with open_page(browser, f"{server.url}page?url={url}") as page:
        facts = dict(zip(page.locator("dt").all_inner_texts(), page.locator("dd").all_inner_texts(), strict=True))
        assert facts["Rendered"] == "app shell"
        rows = [row.split() for row in page.locator("#readings tbody tr").all_inner_texts()]
        assert [row[:-2] for row in rows] == [["the", "source", "alone"], ["in", "a", "browser"]]
        (plain_words, plain_links), (words, links) = (map(int, row[-2:]) for row in rows)
        assert (plain_words, plain_links, links) == (1, 0, 1)
        assert words > plain_words + 8
        check_appearances(page)


def test_a_rendered_page_shows_its_picture(crawled: tuple[AppServer, str], browser: Browser) -> None:
    server, url = crawled
    with open_page(browser, f"{server.url}page?url={url}") as page:
        picture = page.locator("img.screenshot")
        picture.scroll_into_view_if_needed()
        page.wait_for_function("() => document.querySelector('img.screenshot').naturalWidth > 0")
        assert picture.evaluate("image => image.clientWidth") <= 640


def test_what_scripts_made_and_the_source_are_apart(crawled: tuple[AppServer, str], browser: Browser) -> None:
    server, url = crawled
    with open_page(browser, f"{server.url}page?url={url}") as page:
        page.click("text=Rendered page")
        assert page.inner_text("h1") == "What a browser made of the page"
        assert page.frame_locator("iframe").locator("h1").inner_text() == "Made by scripts"
        page.go_back()
        page.click("text=Stored source")
        stored = page.frame_locator("iframe").locator("body")
        stored.wait_for(state="attached")
        assert stored.inner_text().strip() == ""


def test_the_api_counts_the_reasons_as_the_command_does(crawled: tuple[AppServer, str]) -> None:
    server, _ = crawled
    status = httpx.get(f"{server.url}api/status", timeout=PATIENCE).json()
    printed = json.loads(gossamer("status", "--json", "--store", server.store).stdout)
    assert status["rendered_reasons"] == printed["rendered_reasons"] == {"app shell": 1}


def test_a_plain_page_has_one_reading(crawled: tuple[AppServer, str], browser: Browser) -> None:
    server, url = crawled
    with open_page(browser, f"{server.url}page?url={url}plain") as page:
        assert "Rendered" not in page.locator("dt").all_inner_texts()
        assert page.locator("#readings, img.screenshot, a:text-is('Rendered page')").count() == 0
