"""The terms of a round: its [crawl] settings, which are kept with the web, and what is made of them.

All crawlers of a web go by the same. A crawl that is started with others begins a round with them, and the crawlers at
work take them over when they hear of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from gossamer import config
from gossamer.crawl.policy import AdmissionPolicy, topic_words
from gossamer.parse.options import ParseOptions
from gossamer.urls.canonical import UrlRules
from gossamer.urls.scope import Scope

if TYPE_CHECKING:
    from gossamer.config import CrawlSettings, Settings
    from gossamer.model import AdmitCandidates

URLS_PER_CONNECTION = 16  # URLs per connection; in other orders than breadth first, what is found may come before them


def url_rules(crawl: CrawlSettings) -> UrlRules:
    """How duplicates among URLs are told."""
    return UrlRules(query=crawl.query, drop_parameters=frozenset(crawl.drop_parameters))


def admission_policy(crawl: CrawlSettings, seeds: tuple[str, ...]) -> AdmitCandidates:
    """What becomes of URLs that are found, by these seeds."""
    return AdmissionPolicy(crawl, Scope(crawl, seeds))


def parse_options(settings: Settings) -> ParseOptions:
    """What the parser processes need to know."""
    crawl = settings.crawl
    return ParseOptions(
        keep_source=crawl.source,
        keep_links=crawl.links,
        rules=url_rules(crawl),
        product=settings.fetch.product,
        topic=topic_words(crawl.topic),
        max_bytes=settings.fetch.max_bytes,
        max_links=settings.parse.max_links,
        memory=settings.parse.memory,
        seconds=settings.parse.seconds,
    )


class RoundSettings:
    """Those that hold now."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._stored_json = msgspec.json.encode(settings.crawl).decode()
        self.rules = url_rules(settings.crawl)

    @property
    def crawl(self) -> CrawlSettings:
        """The settings themselves."""
        return self._settings.crawl

    @property
    def urls_per_connection(self) -> int:
        """URLs to lease for each connection to a host."""
        return URLS_PER_CONNECTION if self.crawl.order == "breadth" else 1

    def parse_options(self) -> ParseOptions:
        """What the parser processes need to know."""
        return parse_options(self._settings)

    def update(self, stored: str) -> bool:
        """Go by the settings of the current round; tells whether they are others than before."""
        if stored == self._stored_json:
            return False
        self._stored_json = stored
        self._settings = msgspec.structs.replace(self._settings, crawl=config.decode_crawl_settings(stored))
        self.rules = url_rules(self.crawl)
        return True
