"""Seeds from a search service: fetch its result page, and take the links that lead to other hosts."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING
from urllib.parse import quote_plus

from gossamer.crawl.visits import parse_job
from gossamer.errors import SeedUnreachable, UsageError
from gossamer.model import Kind, Outcome, Request, Role
from gossamer.urls.canonical import authority, canonicalize

if TYPE_CHECKING:
    import selectors

    from gossamer.fetch.fetcher import Fetcher
    from gossamer.model import FetchResult, Page
    from gossamer.parse.pool import ParserPool

MAX_SEEDS = 50  # a result page has 10 to 100 results, and its footers and adverts have links too


def search_result_links(
    template: str, words: str, fetcher: Fetcher, pool: ParserPool, selector: selectors.BaseSelector
) -> list[str]:
    """Return the pages that a search service finds for some words.

    The user asked for this one request by name. robots.txt governs crawling and does not apply.
    """
    if "{query}" not in template:
        raise UsageError(
            "crawl --query needs a search service: set search_service.url in gossamer.toml, with {query} in place of"
            " the words."
        )
    url = canonicalize(template.replace("{query}", quote_plus(words)))
    if url is None:
        raise UsageError(f"search_service.url is not a URL: {template}")
    fetcher.allow_private(url)
    page = _fetch_page(url, fetcher, pool, selector)
    service = authority(url)
    targets = [
        target
        for target, kind in zip(page.links.urls, page.links.kinds, strict=True)
        if kind == Kind.HYPERLINK and authority(target) != service
    ]
    seeds = list(dict.fromkeys(targets))[:MAX_SEEDS]
    if not seeds:
        raise SeedUnreachable(f"The search service at {service} gave no links for these words: {words}")
    return seeds


def _fetch_page(url: str, fetcher: Fetcher, pool: ParserPool, selector: selectors.BaseSelector, hops: int = 5) -> Page:
    fetched = _fetch(Request(id=1, url=url, role=Role.PAGE), fetcher, selector)
    if fetched.outcome is Outcome.REDIRECTED and hops:
        return _fetch_page(fetched.location, fetcher, pool, selector, hops - 1)
    if fetched.outcome is not Outcome.FETCHED:
        raise SeedUnreachable(f"The search service did not answer: {fetched.reason or fetched.outcome} ({url})")
    pool.submit(parse_job(fetched))
    while not (pages := pool.take_results()):
        for key, mask in selector.select(0.25):
            key.data(mask)
        pool.tick(time.time())
    return pages[0]


def _fetch(request: Request, fetcher: Fetcher, selector: selectors.BaseSelector) -> FetchResult:
    fetcher.start(request)
    while not (results := fetcher.take_results()):
        timeout = fetcher.next_timeout(time.time())
        for key, mask in selector.select(0.25 if timeout is None else min(timeout, 0.25)):
            key.data(mask)
        fetcher.tick(time.time())
    return results[0]
