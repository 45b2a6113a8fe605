"""The requests of rendered pages, answered by the crawl's own fetcher.

In: `PageRequest`s. Out: a `PageResponse` for each, whatever happens to it. A request may go to any host that its page
names. It passes the address guard, the robots.txt of its host, the limits of a transfer and the credentials of the
user, and takes one of the host's connections. Pages ask for the same scripts again and again: a cache of bounded size
answers them, and equal requests share one transfer.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from typing import TYPE_CHECKING, NamedTuple

from gossamer.basics.cache import SizedCache
from gossamer.crawl import policy, visits
from gossamer.fetch.response import SUBRESOURCE_BYTES
from gossamer.model import FetchResult, Kind, Outcome, Page, PageRequest, PageResponse, Request, Role
from gossamer.parse.content_encoding import decode_body
from gossamer.urls.canonical import authority, canonicalize, origin, scheme
from gossamer.urls.robots import ALLOW_ALL, RobotsRules, classify_robots_response

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gossamer.config import Settings
    from gossamer.crawl.frontier import Frontier
    from gossamer.crawl.log import CrawlLog
    from gossamer.crawl.round_settings import RoundSettings
    from gossamer.fetch.fetcher import Fetcher
    from gossamer.parse.pool import ParserPool
    from gossamer.urls.robots import ProductRules

CACHE_BYTES = 64 << 20  # of decoded bodies: the bundles and styles of some dozen sites
CACHED_BODY_BYTES = 4 << 20  # the largest that is cached
CACHE_SECONDS = 3600.0  # age of a cached answer, for crawls that never end
MAX_WAITING = 2_000  # requests that wait for a connection; a page that asks for more gets refusals
MAX_ROBOTS = 10_000  # origins whose robots.txt is remembered
THROTTLED_SECONDS = 10.0  # pause of a host that answered 429 without saying for how long
ACCEPTED_METHODS = frozenset({"GET", "HEAD"})

# The fetcher sets these, or the connection does. A page must not set them for it.
_OWN_HEADERS = frozenset(
    {"accept-encoding", "connection", "content-length", "cookie", "expect", "host", "keep-alive", "origin", "referer",
     "te", "trailer", "transfer-encoding", "upgrade", "user-agent", "via"}
)  # fmt: skip
# The body is decoded, and the browser has no connection. It gets no cookies: those of a crawl come from its settings.
_DROPPED_HEADERS = frozenset(
    {"connection", "content-encoding", "content-length", "keep-alive", "set-cookie", "transfer-encoding"}
)
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110 §5.6.2
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")  # RFC 9110 §5.5
_MAX_AGE = re.compile(r"\bmax-age\s*=\s*\"?(\d+)", re.IGNORECASE)

Key = tuple[str, str, tuple[tuple[str, str], ...], bytes]  # URL, method, headers, body


class _Waiting:
    """A request, the pages that wait for its answer, and the connection that it takes."""

    def __init__(self, key: Key, asked: PageRequest) -> None:
        self.key = key
        self.kind = asked.kind
        self.waiters = [asked]
        self.held_host: int | None = None  # the held host whose connection it has

    @property
    def url(self) -> str:
        return self.key[0]


class _CachedAnswer(NamedTuple):
    response: PageResponse
    expires_at: float  # Unix time


class _KnownRules(NamedTuple):
    rules: ProductRules | None  # None: robots.txt is unreachable, so everything is refused (RFC 9309 §2.3.1.4)
    expires_at: float


class Subresources:
    """Requests of pages on their way to a `PageResponse`."""

    def __init__(
        self,
        settings: Settings,
        round_settings: RoundSettings,
        frontier: Frontier,
        fetcher: Fetcher,
        pool: ParserPool,
        log: CrawlLog,
        ids: Iterator[int],
    ) -> None:
        self._settings, self._round_settings = settings, round_settings
        self._frontier, self._fetcher, self._pool, self._log = frontier, fetcher, pool, log
        self._ids = ids
        self._host_settings = {name.rpartition("://")[2]: own for name, own in settings.hosts.items()}
        self._cache: SizedCache[Key, _CachedAnswer] = SizedCache(CACHE_BYTES)
        self._by_key: dict[Key, _Waiting] = {}  # requests that others may join
        self._queues: dict[str, deque[_Waiting]] = {}  # authority -> requests that wait for a connection
        self._open: dict[int, _Waiting] = {}  # request id -> request in transfer
        self._open_by_name: Counter[str] = Counter()  # transfers to hosts that this crawler does not hold
        self._robots: dict[str, _KnownRules] = {}  # by origin, of hosts that this crawler does not hold
        self._robots_requests: dict[int, str] = {}  # request id -> origin
        self._closed_until: dict[str, float] = {}  # authority -> until when it asked to wait
        self._answers: list[PageResponse] = []

    def __len__(self) -> int:
        return len(self._open) + sum(map(len, self._queues.values()))

    def request(self, asked: PageRequest, now: float) -> None:
        """Accept a request; `take_answers` returns its answer sooner or later."""
        url = canonicalize(asked.url)
        if url is None:
            self._refuse([asked], "not a URL to request")
            return
        host = authority(url)
        own = self._host_settings.get(host)
        if asked.method not in ACCEPTED_METHODS and (own is None or asked.method not in own.render_methods):
            self._refuse([asked], f"{asked.method} is not allowed for {host} (render_methods)")
            return
        key = (url, asked.method, tuple(sorted(_sendable(asked.headers).items())), asked.body)
        cached = self._cache.get(key)
        if cached is not None and cached.expires_at > now:
            self._answer([asked], cached.response)
        elif asked.method in ACCEPTED_METHODS and key in self._by_key:
            self._by_key[key].waiters.append(asked)
        elif len(self) >= MAX_WAITING:
            self._refuse([asked], "too many requests wait")
        else:
            waiting = _Waiting(key, asked)
            if asked.method in ACCEPTED_METHODS:
                self._by_key[key] = waiting
            self._queues.setdefault(host, deque()).append(waiting)

    def take_answers(self) -> list[PageResponse]:
        """Return the answers since the last call."""
        answers, self._answers = self._answers, []
        return answers

    def forget_job(self, job: int) -> None:
        """Drop the requests of a page that is done; transfers in progress go on, because others may join them."""
        for name, queue in list(self._queues.items()):
            for waiting in list(queue):
                waiting.waiters = [asked for asked in waiting.waiters if asked.job != job]
                if not waiting.waiters:
                    queue.remove(waiting)
                    self._by_key.pop(waiting.key, None)
            if not queue:
                del self._queues[name]

    def forget_waiters(self) -> None:
        """Drop all requests, because no page waits for them; transfers in progress end by themselves."""
        self._queues.clear()
        self._by_key.clear()
        self._answers.clear()

    def clear(self) -> None:
        """Drop everything, because the transfers were cancelled."""
        for waiting in self._open.values():
            self._give_connection_back(waiting)
        for pending in (self._queues, self._by_key, self._open, self._robots_requests, self._answers):
            pending.clear()

    # -- start -----------------------------------------------------------------------------------------------------

    def start_transfers(self, now: float) -> None:
        """Start the requests that have a connection and rules."""
        for name in list(self._queues):
            queue = self._queues[name]
            while queue and self._start_next(queue, name, now):
                pass
            if not queue:
                del self._queues[name]

    def _start_next(self, queue: deque[_Waiting], name: str, now: float) -> bool:
        """Start or refuse the first request of a host; return False if it has to wait."""
        waiting = queue[0]
        refusal = self._closed_reason(name, now)
        if not refusal and self._round_settings.crawl.robots:
            known = self._rules(waiting.url, now)
            if known is None:
                return False
            refusal = _robots_refusal(known, waiting.url)
        if refusal:
            self._finish(queue.popleft(), PageResponse(0, 0, {}, b"", refusal))
            return True
        if self._fetcher.active_count >= self._settings.politeness.transfers or not self._take_connection(
            waiting, name
        ):
            return False
        queue.popleft()
        self._fetch(waiting)
        return True

    def _closed_reason(self, name: str, now: float) -> str:
        until = self._closed_until.get(name)
        if until is None:
            return ""
        if until <= now:
            del self._closed_until[name]
            return ""
        return "its host asked to wait"

    def _take_connection(self, waiting: _Waiting, name: str) -> bool:
        waiting.held_host = self._frontier.held_host(name)
        if waiting.held_host is not None:
            return self._frontier.start_subresource(waiting.held_host)
        own = self._host_settings.get(name)
        limit = own.connections if own is not None and own.connections else self._settings.politeness.connections
        if self._open_by_name[name] >= limit:
            return False
        self._open_by_name[name] += 1
        return True

    def _give_connection_back(self, waiting: _Waiting) -> None:
        if waiting.held_host is not None:
            self._frontier.finish_subresource(waiting.held_host)
            return
        name = authority(waiting.url)
        self._open_by_name[name] -= 1
        if not self._open_by_name[name]:
            del self._open_by_name[name]

    def _fetch(self, waiting: _Waiting) -> None:
        url, method, headers, body = waiting.key
        request = Request(
            id=next(self._ids),
            url=url,
            role=Role.SUBRESOURCE,
            head=method == "HEAD",
            method="" if method in ACCEPTED_METHODS else method,
            headers=dict(headers),
            body=body,
        )
        self._open[request.id] = waiting
        self._fetcher.start(request)

    # -- robots.txt --------------------------------------------------------------------------------------------------

    def _rules(self, url: str, now: float) -> _KnownRules | None:
        """Return the rules of a URL's origin; None if its robots.txt is being fetched."""
        held = self._frontier.held_host(authority(url))
        rules = self._frontier.known_rules(held, scheme(url), now) if held is not None else None
        if rules is not None:
            return _KnownRules(rules, now)
        host_origin = origin(url)
        known = self._robots.get(host_origin)
        if known is not None and known.expires_at > now:
            return known
        if host_origin not in self._robots_requests.values():
            request = Request(id=next(self._ids), url=f"{host_origin}/robots.txt", role=Role.ROBOTS)
            self._robots_requests[request.id] = host_origin
            self._fetcher.start(request)
        return None

    def _keep_rules(self, request_id: int, rules: ProductRules | None, now: float, seconds: float) -> None:
        if len(self._robots) >= MAX_ROBOTS:
            self._robots.clear()  # bounds memory; they are fetched again
        self._robots[self._robots_requests.pop(request_id)] = _KnownRules(rules, now + seconds)

    def _handle_robots(self, fetched: FetchResult, now: float) -> None:
        kind = classify_robots_response(fetched.outcome, fetched.status)
        if kind == "rules":
            self._pool.submit(visits.parse_job(fetched))
            return
        allowed = ALLOW_ALL.for_product(self._settings.fetch.product) if kind == "unavailable" else None
        seconds = policy.ROBOTS_MAX_AGE_SECONDS if allowed else policy.OUTAGE_SECONDS
        self._keep_rules(fetched.request.id, allowed, now, seconds)

    def handle_page(self, page: Page, now: float) -> bool:
        """Take a parsed robots.txt; return whether the page was one of these."""
        if page.id not in self._robots_requests:
            return False
        text = page.text.decode("utf-8", "replace") if page.outcome is Outcome.FETCHED else ""
        rules = RobotsRules.parse(text).for_product(self._settings.fetch.product)
        self._keep_rules(page.id, rules, now, policy.ROBOTS_MAX_AGE_SECONDS)
        return True

    # -- results -----------------------------------------------------------------------------------------------------

    def handle_response(self, fetched: FetchResult, now: float) -> bool:
        """Take a result of the fetcher; return whether it was for a page's request or its robots.txt."""
        if fetched.request.id in self._robots_requests:
            self._handle_robots(fetched, now)
            return True
        waiting = self._open.pop(fetched.request.id, None)
        if waiting is None:
            return False
        self._give_connection_back(waiting)
        if fetched.outcome is Outcome.THROTTLED:
            wait = policy.retry_after(fetched.headers.get("retry-after", ""), now)
            self._closed_until[authority(waiting.url)] = now + max(wait, THROTTLED_SECONDS)
        response = _response(fetched)
        if not response.status:
            self._log.write("subresource failed", url=waiting.url, outcome=fetched.outcome, reason=response.reason)
        elif (seconds := _cacheable_seconds(waiting, fetched)) and len(response.body) <= CACHED_BODY_BYTES:
            self._cache.put(waiting.key, _CachedAnswer(response, now + seconds), len(response.body) + len(waiting.url))
        self._finish(waiting, response)
        return True

    def _finish(self, waiting: _Waiting, response: PageResponse) -> None:
        if self._by_key.get(waiting.key) is waiting:
            del self._by_key[waiting.key]
        self._answer(waiting.waiters, response)

    def _answer(self, waiters: list[PageRequest], response: PageResponse) -> None:
        self._answers += (
            PageResponse(asked.id, response.status, response.headers, response.body, response.reason)
            for asked in waiters
        )

    def _refuse(self, waiters: list[PageRequest], reason: str) -> None:
        self._answer(waiters, PageResponse(0, 0, {}, b"", reason))


def _robots_refusal(known: _KnownRules, url: str) -> str:
    if known.rules is None:
        return "the robots.txt of its host is unreachable"
    return "" if known.rules.allows(url) else "robots.txt"


def _sendable(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers that a page may set: well-formed ones, and none of those that the crawler sets itself."""
    return {
        name: value
        for name, value in headers.items()
        if name.lower() not in _OWN_HEADERS
        and not name.lower().startswith(("sec-", "proxy-"))
        and _TOKEN.fullmatch(name)
        and _VALUE.fullmatch(value)
    }


def _response(fetched: FetchResult) -> PageResponse:
    """Return a result as a browser wants it: decoded, or status 0 with the reason.

    A body of at most 8 MiB is decompressed here. That takes some 10 ms at worst, and its limit holds while it grows.
    """
    if not fetched.status or fetched.outcome in {Outcome.TOO_BIG, Outcome.BAD_HTTP, Outcome.TIMEOUT, Outcome.TOO_SLOW}:
        return PageResponse(0, 0, {}, b"", fetched.reason or str(fetched.outcome))
    headers = {name: value for name, value in fetched.headers.items() if name not in _DROPPED_HEADERS}
    if fetched.outcome is Outcome.REDIRECTED:
        headers["location"] = fetched.location  # the browser asks for it next
    decoded = decode_body(fetched.body, fetched.headers.get("content-encoding", ""), SUBRESOURCE_BYTES)
    if decoded.outcome is not Outcome.FETCHED:
        return PageResponse(0, 0, {}, b"", decoded.reason)
    return PageResponse(0, fetched.status, headers, decoded.body)


def _cacheable_seconds(waiting: _Waiting, fetched: FetchResult) -> float:
    """Return for how long an answer may serve other pages of this crawl; 0: not at all."""
    _, method, headers, _ = waiting.key
    names = {name.lower() for name, _ in headers}
    control = fetched.headers.get("cache-control", "").lower()
    if method != "GET" or fetched.status != 200 or "authorization" in names or "no-store" in control:
        return 0.0
    if fetched.headers.get("vary", "").strip() == "*":
        return 0.0
    if waiting.kind is Kind.DATA and ("no-cache" in control or "private" in control):
        return 0.0
    age = _MAX_AGE.search(control)
    if age is None or (waiting.kind is not Kind.DATA and int(age[1][:9]) < CACHE_SECONDS):
        return CACHE_SECONDS  # the pages of one crawl count as one visit of the site
    return min(float(age[1][:9]), CACHE_SECONDS)
