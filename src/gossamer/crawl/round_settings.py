"""The `[crawl]` settings of a round, and the rules and options derived from them.

The store keeps these settings with the web, and all its crawlers use the same ones. A crawl started with other settings
begins a new round. Running crawlers take them over at their next heartbeat or lease of new hosts.
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

URLS_PER_CONNECTION = 16  # URLs leased ahead; 1 in other orders than breadth, where a new link may come first


def url_rules(crawl: CrawlSettings) -> UrlRules:
    """Return the rules that decide which URLs are duplicates."""
    return UrlRules(query=crawl.query, drop_parameters=frozenset(crawl.drop_parameters))


def admission_policy(crawl: CrawlSettings, seeds: tuple[str, ...]) -> AdmitCandidates:
    """Return the policy that decides about new URLs, given these seeds."""
    return AdmissionPolicy(crawl, Scope(crawl, seeds))


def parse_options(settings: Settings) -> ParseOptions:
    """Return the options of the parser processes."""
    crawl = settings.crawl
    return ParseOptions(
        keep_source=crawl.source,
        script_links=crawl.script_links,
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
    """The settings of the current round."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._stored_json = msgspec.json.encode(settings.crawl).decode()
        self.rules = url_rules(settings.crawl)
        self.exclusions = Scope(settings.crawl, ())  # of requests of rendered pages, which have no area

    @property
    def crawl(self) -> CrawlSettings:
        """The `[crawl]` settings."""
        return self._settings.crawl

    @property
    def urls_per_connection(self) -> int:
        """URLs to lease for each connection to a host."""
        return URLS_PER_CONNECTION if self.crawl.order == "breadth" else 1

    def parse_options(self) -> ParseOptions:
        """Return the options of the parser processes."""
        return parse_options(self._settings)

    def update(self, stored: str) -> bool:
        """Take over the stored settings of the current round; return whether they changed."""
        if stored == self._stored_json:
            return False
        self._stored_json = stored
        self._settings = msgspec.structs.replace(self._settings, crawl=config.decode_crawl_settings(stored))
        self.rules = url_rules(self.crawl)
        self.exclusions = Scope(self.crawl, ())
        return True
