"""Scrapy on the same site, for comparison: it only extracts links, at its fastest settings.

Runs in its own environment (`.venv-bench`): python bench/races/peers/scrapy_links.py URL [PAGES]. Prints JSON.
"""

from __future__ import annotations

import json
import sys
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

    def parse(self, response: Response) -> Iterator[scrapy.Request]:
        if isinstance(response, HtmlResponse):
            self.pages += 1
            for link in self._links.extract_links(response):
                yield scrapy.Request(link.url, callback=self.parse)


def main() -> None:
    limit = {"CLOSESPIDER_PAGECOUNT": int(sys.argv[2])} if len(sys.argv) > 2 else {}
    process = CrawlerProcess({**SETTINGS, **limit})
    crawler = process.create_crawler(LinkSpider)
    process.crawl(crawler, url=sys.argv[1])
    process.start()
    print(json.dumps({"pages": crawler.spider.pages}))


if __name__ == "__main__":
    main()
