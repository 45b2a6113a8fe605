"""The robots.txt rules of origins that rendered pages ask. Those of held hosts are in the frontier."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gossamer.crawl import policy, visits
from gossamer.model import Outcome, Request, Role
from gossamer.urls.canonical import authority, origin, scheme
from gossamer.urls.robots import ALLOW_ALL, RobotsRules, classify_robots_response

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gossamer.config import Settings
    from gossamer.crawl.frontier import Frontier
    from gossamer.crawl.rendering.connections import Connection, Connections
    from gossamer.fetch.fetcher import Fetcher
    from gossamer.model import FetchResult, Page
    from gossamer.parse.pool import ParserPool
    from gossamer.urls.robots import ProductRules

MAX_ROBOTS = 10_000  # origins whose robots.txt is remembered


class KnownRules(NamedTuple):
    """The rules of an origin, and when they expire."""

    rules: ProductRules | None  # None: robots.txt is unreachable, so everything is refused (RFC 9309 §2.3.1.4)
    expires_at: float

    def refusal(self, url: str) -> str:
        """Return why a URL may not be fetched; "" if it may."""
        if self.rules is None:
            return "the robots.txt of its host is unreachable"
        return "" if self.rules.allows(url) else "robots.txt"


class OriginRules:
    """Rules by origin, fetched when a page asks for something there."""

    def __init__(
        self,
        settings: Settings,
        frontier: Frontier,
        connections: Connections,
        fetcher: Fetcher,
        pool: ParserPool,
        ids: Iterator[int],
    ) -> None:
        self._product = settings.fetch.product
        self._frontier, self._connections = frontier, connections
        self._fetcher, self._pool, self._ids = fetcher, pool, ids
        self._known: dict[str, KnownRules] = {}
        self._asked: dict[int, str] = {}  # request id -> origin whose robots.txt is fetched or parsed
        self._open: dict[int, Connection] = {}  # request id -> its connection

    def find(self, url: str, now: float) -> KnownRules | None:
        """Return the rules of a URL's origin; None if its robots.txt has to come first."""
        held = self._frontier.held_host(authority(url))
        rules = self._frontier.known_rules(held, scheme(url), now) if held is not None else None
        if rules is not None:
            return KnownRules(rules, now)
        known = self._known.get(origin(url))
        if known is not None and known.expires_at > now:
            return known
        self._fetch(origin(url), now)
        return None

    def _fetch(self, host_origin: str, now: float) -> None:
        """Fetch a robots.txt as soon as its host has a free connection."""
        if host_origin in self._asked.values():
            return
        url = f"{host_origin}/robots.txt"
        connection = self._connections.take(authority(url), now)
        if connection is not None:
            request = Request(id=next(self._ids), url=url, role=Role.ROBOTS)
            self._asked[request.id], self._open[request.id] = host_origin, connection
            self._fetcher.start(request)

    def handle_response(self, fetched: FetchResult, now: float) -> bool:
        """Take a result of the fetcher; return whether it is one of these."""
        connection = self._open.pop(fetched.request.id, None)
        if connection is None:
            return False
        self._connections.give_back(connection, fetched, now)
        kind = classify_robots_response(fetched.outcome, fetched.status)
        if kind == "rules":
            self._pool.submit(visits.parse_job(fetched))
            return True
        allowed = ALLOW_ALL.for_product(self._product) if kind == "unavailable" else None
        seconds = policy.ROBOTS_MAX_AGE_SECONDS if allowed else policy.OUTAGE_SECONDS
        self._keep(fetched.request.id, KnownRules(allowed, now + seconds))
        return True

    def handle_page(self, page: Page, now: float) -> bool:
        """Take a parsed robots.txt; return whether the page was one of these."""
        if page.id not in self._asked:
            return False
        text = page.text.decode("utf-8", "replace") if page.outcome is Outcome.FETCHED else ""
        rules = RobotsRules.parse(text).for_product(self._product)
        self._keep(page.id, KnownRules(rules, now + policy.ROBOTS_MAX_AGE_SECONDS))
        return True

    def _keep(self, request_id: int, known: KnownRules) -> None:
        if len(self._known) >= MAX_ROBOTS:
            self._known.clear()  # bounds memory; they are fetched again
        self._known[self._asked.pop(request_id)] = known

    def clear(self, now: float) -> None:
        """Drop the requests, because the transfers were cancelled."""
        for connection in self._open.values():
            self._connections.give_back(connection, None, now)
        self._open.clear()
        self._asked.clear()
