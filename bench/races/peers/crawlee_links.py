"""Crawlee on the same site, for comparison: it only extracts and follows links, at its fastest settings.

Runs in its own environment (`.venv-bench`): python bench/races/peers/crawlee_links.py URL. Prints one line of JSON.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys

from crawlee import ConcurrencySettings
from crawlee.crawlers import ParselCrawler, ParselCrawlingContext
from crawlee.storage_clients import MemoryStorageClient

TRANSFERS = 32


async def crawl(url: str) -> int:
    pages = 0
    crawler = ParselCrawler(
        storage_client=MemoryStorageClient(),
        concurrency_settings=ConcurrencySettings(
            min_concurrency=TRANSFERS, desired_concurrency=TRANSFERS, max_concurrency=TRANSFERS
        ),
        max_request_retries=0,
        retry_on_blocked=False,
        use_session_pool=False,
        configure_logging=False,
    )

    @crawler.router.default_handler  # type: ignore[untyped-decorator]  # Crawlee is not installed where types are checked
    async def follow(context: ParselCrawlingContext) -> None:
        nonlocal pages
        pages += context.http_response.headers.get("content-type", "").startswith("text/html")
        await context.enqueue_links()

    await crawler.run([url])
    return pages


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    print(json.dumps({"pages": asyncio.run(crawl(sys.argv[1]))}))
