"""Scrapy on the same site, for comparison: link extraction only, as fast as its settings allow.

Runs in an environment of its own (`.venv-bench`): python bench/scrapy_peer.py URL PAGES. Prints one line of JSON.
"""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.http import HtmlResponse, Response
from scrapy.linkextractors import LinkExtractor

if TYPE_CHECKING:
    from collections.abc import Iterator

SETTINGS: dict[str, Any] = {
    "CONCURRENT_REQUESTS": 100,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 100,
    "DOWNLOAD_DELAY": 0,
    "ROBOTSTXT_OBEY": False,
    "AUTOTHROTTLE_ENABLED": False,
    "COOKIES_ENABLED": False,
    "RETRY_ENABLED": False,
    "TELNETCONSOLE_ENABLED": False,
    "LOG_ENABLED": False,
}


class LinkSpider(scrapy.Spider):  # type: ignore[misc]  # Scrapy is not installed where types are checked
    """Follows every link of one host."""

    name = "links"

    def __init__(self, url: str, **others: Any) -> None:
        super().__init__(**others)
        self.start_urls = [url]
        self._links = LinkExtractor(allow_domains=[urlsplit(url).netloc])
        self.pages = 0
        self.bytes = 0

    def parse(self, response: Response) -> Iterator[scrapy.Request]:
        self.pages += 1
        self.bytes += len(response.body)
        if isinstance(response, HtmlResponse):
            for link in self._links.extract_links(response):
                yield scrapy.Request(link.url, callback=self.parse)


def main() -> None:
    url, pages = sys.argv[1], int(sys.argv[2])
    process = CrawlerProcess({**SETTINGS, "CLOSESPIDER_PAGECOUNT": pages})
    crawler = process.create_crawler(LinkSpider)
    started = time.monotonic()
    process.crawl(crawler, url=url)
    process.start()
    seconds = time.monotonic() - started
    spider = crawler.spider
    print(
        json.dumps(
            {
                "pages": spider.pages,
                "bytes": spider.bytes,
                "seconds": seconds,
                "pages_per_second": spider.pages / seconds,
            }
        )
    )


if __name__ == "__main__":
    main()
