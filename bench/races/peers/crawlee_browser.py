"""Crawlee's PlaywrightCrawler on the same site, for comparison: it renders pages, extracts and follows links.

A page is done as for Gossamer: its DOM has not changed for 100 ms and none of its requests is open. The browser is the
one that Gossamer uses. Runs in its own environment (`.venv-bench`):

    python bench/races/peers/crawlee_browser.py URL BROWSER TABS

Prints one line of JSON.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crawlee import ConcurrencySettings
from crawlee.browsers import BrowserPool, PlaywrightBrowserPlugin
from crawlee.crawlers import PlaywrightCrawler, PlaywrightCrawlingContext, PlaywrightPreNavCrawlingContext
from crawlee.storage_clients import MemoryStorageClient

if TYPE_CHECKING:
    from playwright.async_api import Page

ROOT = Path(__file__).resolve().parents[3]
VIEWPORT = {"width": 1200, "height": 10_000}  # as Gossamer's, so that lists load that wait to be seen
PAGES_A_BROWSER = 100_000  # Crawlee's default retires a browser after 100
# Gossamer's own script: it resolves once the DOM has not changed for so many milliseconds.
QUIET = f"({(ROOT / 'src/gossamer/render/pages/quiet.js').read_text()})(100, 200000)"


class OpenRequests:
    """Counts the open requests of a page."""

    def __init__(self, page: Page) -> None:
        self.number = 0
        page.on("request", lambda _: self._change(1))
        page.on("requestfinished", lambda _: self._change(-1))
        page.on("requestfailed", lambda _: self._change(-1))

    def _change(self, by: int) -> None:
        self.number += by


def browser_pool(browser: str, tabs: int) -> BrowserPool:
    """Return a pool of one browser that is never retired."""
    plugin = PlaywrightBrowserPlugin(
        browser_launch_options={"executable_path": browser, "headless": True, "chromium_sandbox": os.geteuid() != 0},
        browser_new_context_options={"viewport": VIEWPORT},
        max_open_pages_per_browser=tabs,
        fingerprint_generator=None,
    )
    return BrowserPool([plugin], retire_browser_after_page_count=PAGES_A_BROWSER)


async def crawl(url: str, browser: str, tabs: int) -> int:
    pages = 0
    open_requests: dict[Any, OpenRequests] = {}
    crawler = PlaywrightCrawler(
        browser_pool=browser_pool(browser, tabs),
        storage_client=MemoryStorageClient(),
        concurrency_settings=ConcurrencySettings(min_concurrency=tabs, desired_concurrency=tabs, max_concurrency=tabs),
        max_request_retries=0,
        retry_on_blocked=False,
        use_session_pool=False,
        configure_logging=False,
    )

    @crawler.pre_navigation_hook  # type: ignore[untyped-decorator]  # Crawlee is not installed where types are checked
    async def watch(context: PlaywrightPreNavCrawlingContext) -> None:
        open_requests[context.page] = OpenRequests(context.page)

    @crawler.router.default_handler  # type: ignore[untyped-decorator]
    async def follow(context: PlaywrightCrawlingContext) -> None:
        nonlocal pages
        requests = open_requests.pop(context.page)
        await context.page.evaluate(QUIET)
        while requests.number > 0:
            await context.page.evaluate(QUIET)
        pages += 1
        await context.enqueue_links()

    await crawler.run([url])
    return pages


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    with suppress(KeyboardInterrupt):
        print(json.dumps({"pages": asyncio.run(crawl(sys.argv[1], sys.argv[2], int(sys.argv[3])))}))
