"""The requests of rendered pages, answered by the crawl's own fetcher.

In: `PageRequest`s. Out: a `PageResponse` for each, whatever happens to it. A request may go to any host that its page
names. It passes the user's exclusions, the address guard, the robots.txt of its host and the limits of a transfer, and
takes one of the host's connections. It carries the credentials of the user if page and host are of one site. Pages ask
for the same scripts again and again: a cache of bounded size answers them, and equal requests share one transfer.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from gossamer.basics.cache import SizedCache
from gossamer.crawl.rendering.connections import Connection, Connections
from gossamer.crawl.rendering.origin_rules import OriginRules
from gossamer.crawl.rendering.page_limits import PAGE_BYTES, PAGE_HOSTS, PageLimits
from gossamer.crawl.rendering.request_key import (
    ACCEPTED_METHODS,
    RequestKey,
    cacheable_seconds,
    is_of_same_site,
    page_response,
    sendable_headers,
)
from gossamer.model import FetchResult, Page, PageRequest, PageResponse, Request, Role
from gossamer.urls.canonical import authority, canonicalize

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gossamer.config import Settings
    from gossamer.crawl.frontier import Frontier
    from gossamer.crawl.log import CrawlLog
    from gossamer.crawl.round_settings import RoundSettings
    from gossamer.fetch.fetcher import Fetcher
    from gossamer.parse.pool import ParserPool

CACHE_BYTES = 64 << 20  # of decoded bodies: the bundles and styles of some dozen sites
CACHED_BODY_BYTES = 4 << 20  # the largest that is cached
MAX_WAITING = 2_000  # requests that wait for a connection; a page that asks for more gets refusals
HOLD_SECONDS = 10.0  # that a request waits for a host which rests; a longer rest refuses it
SPENT = f"its page got {PAGE_BYTES >> 20} MiB already"


class _Waiting:
    """A request, the pages that wait for its answer, and the connection that it takes."""

    def __init__(self, key: RequestKey, asked: PageRequest) -> None:
        self.key = key
        self.kind = asked.kind
        self.waiters = [asked]
        self.connection: Connection | None = None

    @property
    def url(self) -> str:
        return self.key.url


class _CachedAnswer(NamedTuple):
    response: PageResponse
    expires_at: float  # Unix time


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
        self._fetcher, self._log, self._ids = fetcher, log, ids
        self._host_settings = {name.rpartition("://")[2]: own for name, own in settings.hosts.items()}
        self._connections = Connections(settings, frontier)
        self._rules = OriginRules(settings, frontier, self._connections, fetcher, pool, ids)
        self._limits = PageLimits()
        self._cache: SizedCache[RequestKey, _CachedAnswer] = SizedCache(CACHE_BYTES)
        self._by_key: dict[RequestKey, _Waiting] = {}  # requests that others may join
        self._queues: dict[str, deque[_Waiting]] = {}  # authority -> requests that wait for a connection
        self._open: dict[int, _Waiting] = {}  # request id -> request in transfer
        self._answers: list[PageResponse] = []

    def __len__(self) -> int:
        return len(self._open) + sum(map(len, self._queues.values()))

    def request(self, asked: PageRequest, page_url: str, now: float) -> None:
        """Accept a request of a page; `take_answers` returns its answer sooner or later."""
        url = canonicalize(asked.url)
        if url is None:
            self._refuse([asked], "not a URL to request")
            return
        is_own = is_of_same_site(asked, url, page_url)
        refusal = self._refusal(asked, url, page_url, is_own=is_own)
        if refusal:
            self._refuse([asked], refusal)
            return
        has_credentials = is_own and authority(url) in self._host_settings
        key = RequestKey(url, asked.method, sendable_headers(asked.headers), asked.body, has_credentials)
        cached = self._cache.get(key)
        if cached is not None and cached.expires_at > now:
            self._answer([asked], cached.response)
        elif key.is_read and key in self._by_key:
            self._by_key[key].waiters.append(asked)
        elif len(self) >= MAX_WAITING:
            self._refuse([asked], "too many requests wait")
        else:
            waiting = _Waiting(key, asked)
            if key.is_read:
                self._by_key[key] = waiting
            self._queues.setdefault(authority(url), deque()).append(waiting)

    def _refusal(self, asked: PageRequest, url: str, page_url: str, *, is_own: bool) -> str:
        """Return why a request is not sent; "" if nothing speaks against it so far."""
        if unwanted := self._round_settings.exclusions.unwanted_reason(url):
            return unwanted
        host = authority(url)
        if asked.method not in ACCEPTED_METHODS:
            own = self._host_settings.get(host)
            if own is None or asked.method not in own.render_methods:
                return f"{asked.method} is not allowed for {host} (render_methods)"
            if not is_own:
                return f"{asked.method} to {host} is allowed to pages of its own site only"
        if not self._limits.has_bytes(asked.job):
            return SPENT
        if host != authority(page_url) and not self._limits.take_host(asked.job, host):
            return f"its page asks more than {PAGE_HOSTS} hosts"
        return ""

    def take_answers(self) -> list[PageResponse]:
        """Return the answers since the last call."""
        answers, self._answers = self._answers, []
        return answers

    def forget_job(self, job: int) -> str:
        """Drop the requests of a page that is done; return the names of the limits that its requests met.

        Transfers in progress go on, because others may join them.
        """
        for name, queue in list(self._queues.items()):
            for waiting in list(queue):
                waiting.waiters = [asked for asked in waiting.waiters if asked.job != job]
                if not waiting.waiters:
                    queue.remove(waiting)
                    self._by_key.pop(waiting.key, None)
            if not queue:
                del self._queues[name]
        for waiting in self._open.values():
            waiting.waiters = [asked for asked in waiting.waiters if asked.job != job]
        return self._limits.forget(job)

    def forget_waiters(self) -> None:
        """Drop all requests, because no page waits for them; transfers in progress end by themselves."""
        for waiting in self._open.values():
            waiting.waiters.clear()
        self._limits.clear()
        self._queues.clear()
        self._by_key.clear()
        self._answers.clear()

    def clear(self, now: float) -> None:
        """Drop everything, because the transfers were cancelled."""
        for waiting in self._open.values():
            self._give_connection_back(waiting, None, now)
        self._open.clear()
        self._rules.clear(now)
        self.forget_waiters()

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
        rest = self._connections.rest_seconds(name, now)
        refusal = ""
        if rest > HOLD_SECONDS:
            refusal = "its host asked to wait, or fails"
            for asked in waiting.waiters:
                self._limits.note_rest(asked.job)
        if not any(self._limits.has_bytes(asked.job) for asked in waiting.waiters):
            refusal = SPENT
        if not refusal:
            if rest > 0 or self._fetcher.active_count >= self._settings.politeness.transfers:
                return False
            if self._round_settings.crawl.robots:
                known = self._rules.find(waiting.url, now)
                if known is None:
                    return False
                refusal = known.refusal(waiting.url)
        if refusal:
            self._finish(queue.popleft(), PageResponse(0, 0, {}, b"", refusal))
            return True
        waiting.connection = self._connections.take(name, now)
        if waiting.connection is None:
            return False
        self._fetch(queue.popleft())
        return True

    def _fetch(self, waiting: _Waiting) -> None:
        key = waiting.key
        request = Request(
            id=next(self._ids),
            url=key.url,
            role=Role.SUBRESOURCE,
            head=key.method == "HEAD",
            method="" if key.is_read else key.method,
            headers=dict(key.headers),
            body=key.body,
            has_credentials=key.has_credentials,
        )
        self._open[request.id] = waiting
        self._fetcher.start(request)

    # -- results -----------------------------------------------------------------------------------------------------

    def handle_page(self, page: Page, now: float) -> bool:
        """Take a parsed robots.txt; return whether the page was one of these."""
        return self._rules.handle_page(page, now)

    def handle_response(self, fetched: FetchResult, now: float) -> bool:
        """Take a result of the fetcher; return whether it was for a page's request or its robots.txt."""
        if self._rules.handle_response(fetched, now):
            return True
        waiting = self._open.pop(fetched.request.id, None)
        if waiting is None:
            return False
        self._give_connection_back(waiting, fetched, now)
        response = page_response(fetched)
        if not response.status:
            self._log.write("subresource failed", url=waiting.url, outcome=fetched.outcome, reason=response.reason)
        elif (seconds := cacheable_seconds(waiting.key, waiting.kind, fetched)) and (
            len(response.body) <= CACHED_BODY_BYTES
        ):
            self._cache.put(waiting.key, _CachedAnswer(response, now + seconds), len(response.body) + len(waiting.url))
        self._finish(waiting, response)
        return True

    def _give_connection_back(self, waiting: _Waiting, fetched: FetchResult | None, now: float) -> None:
        if waiting.connection is not None:
            self._connections.give_back(waiting.connection, fetched, now)

    def _finish(self, waiting: _Waiting, response: PageResponse) -> None:
        if self._by_key.get(waiting.key) is waiting:
            del self._by_key[waiting.key]
        self._answer(waiting.waiters, response)

    def _answer(self, waiters: list[PageRequest], response: PageResponse) -> None:
        """Answer requests. They share the body, so that many equal ones cost no more memory than one."""
        size = len(response.body) + sum(map(len, response.headers.values()))
        for asked in waiters:
            if self._limits.take_bytes(asked.job, size):
                answer = PageResponse(asked.id, response.status, response.headers, response.body, response.reason)
            else:
                answer = PageResponse(asked.id, 0, {}, b"", SPENT)
            self._answers.append(answer)

    def _refuse(self, waiters: list[PageRequest], reason: str) -> None:
        self._answers += (PageResponse(asked.id, 0, {}, b"", reason) for asked in waiters)
