"""Pages from files and archives instead of the network, through the same parsers and into the same store as a crawl's.

An import is a crawler of its own: it has a name, holds the hosts whose pages it brings, and can be asked to stop. The
resources of a batch are claimed just before the batch is submitted, so a kill leaves at most that one claimed and not
visited; the same import again puts that right. Links out of the pages are recorded and not queued: the next crawl
judges them by its scope.
"""

from __future__ import annotations

import os
import socket
import time
from typing import TYPE_CHECKING

import msgspec

from gossamer.crawl.visits import media_type, parse_job, redirect_candidate, visit_of
from gossamer.errors import CrawlerLost
from gossamer.files.file_page import Skipped
from gossamer.model import Admission, Candidate, Kind, Outcome, State, Value
from gossamer.store.values import Report
from gossamer.urls.canonical import UrlRules, authority, digest

if TYPE_CHECKING:
    import selectors
    from collections.abc import Iterable, Iterator, Sequence

    from gossamer.config import CrawlSettings
    from gossamer.files.file_page import FilePage
    from gossamer.model import Lease, Page, Visit
    from gossamer.parse.pool import ParserPool
    from gossamer.store.protocol import Store

BATCH_VISITS = 256
BATCH_BYTES = 64 << 20  # of bodies in a batch, so that large files do not pile up in memory
AHEAD = 4  # jobs per parser process, so that none idles
LOOK_SECONDS = 0.1  # between looks at parsers that may hang
BEAT_SECONDS = 2.0  # between signs of life
LOST = "The import was not heard of for so long that others were given its hosts. Start it again."


class Taken(Value, frozen=True, kw_only=True):
    """What has become of one file or record."""

    name: str  # its URL, or its place when it was skipped
    bytes: int = 0
    outcome: Outcome | None = None  # of its visit, as it was stored
    skipped: str = ""  # why it was not taken at all


class Parts(Value, frozen=True, kw_only=True):
    """What an import works with."""

    store: Store
    pool: ParserPool
    selector: selectors.BaseSelector
    crawl: CrawlSettings


def take(pages: Iterable[FilePage | Skipped], parts: Parts) -> Iterator[Taken]:
    """Parse and store the pages; tells of each when it is safely stored."""
    store = parts.store
    own_round = store.current_round() is None
    if own_round:
        store.begin_round(msgspec.json.encode(parts.crawl).decode(), (), None, None)
    crawler = store.join(socket.gethostname(), os.getpid())
    importing = _Import(parts, crawler.id)
    try:
        yield from importing.run(pages)
    finally:
        importing.report(time.time(), rates=False)
        store.leave(crawler.id)
        if own_round:
            store.finish_round(time.time())


class _Import:
    """One import under way: files at the parsers, pages waiting for their batch."""

    def __init__(self, parts: Parts, crawler: int) -> None:
        self._store, self._pool, self._selector = parts.store, parts.pool, parts.selector
        self._crawl = parts.crawl
        self._crawler = crawler
        self._rules = UrlRules(query=parts.crawl.query, drop_parameters=frozenset(parts.crawl.drop_parameters))
        self._parsing: dict[int, FilePage] = {}
        self._parsed: dict[bytes, tuple[int, FilePage, Page | None]] = {}  # by the URL's digest, with its number
        self._size = 0  # bytes of the bodies in it
        self._started = time.time()
        self._pages = self._bytes = 0
        self._wanted = "run"
        self._told_at = self._started

    def run(self, pages: Iterable[FilePage | Skipped]) -> Iterator[Taken]:
        for number, page in enumerate(pages, 1):
            if isinstance(page, Skipped):
                yield Taken(name=page.path, skipped=page.reason)
            else:
                yield from self._accept(number, page)
            while len(self._parsing) >= self._pool.processes * AHEAD:
                yield from self._collect()
            if self._size >= BATCH_BYTES or len(self._parsed) >= BATCH_VISITS:
                yield from self._store_batch()
            if time.time() > self._told_at + BEAT_SECONDS:
                self.report(time.time(), rates=True)
            if self._wanted == "lost":
                raise CrawlerLost(LOST)
            if self._wanted == "stop":
                break
        while self._parsing:
            yield from self._collect()
        yield from self._store_batch()

    def _accept(self, number: int, page: FilePage) -> Iterator[Taken]:
        declared = media_type(page.fetched.headers.get("content-type", ""))
        if page.fetched.outcome is not Outcome.FETCHED:
            yield from self._keep(number, page, None)
        elif declared and declared not in self._crawl.accept:
            yield _unaccepted(page, declared)
        else:
            self._parsing[number] = page
            self._pool.submit(msgspec.structs.replace(parse_job(page.fetched), id=number))

    def _collect(self) -> Iterator[Taken]:
        for key, mask in self._selector.select(LOOK_SECONDS):
            key.data(mask)
        self._pool.tick(time.time())
        for parsed in self._pool.finished():
            page = self._parsing.pop(parsed.id)
            if parsed.outcome is Outcome.FETCHED and parsed.media_type not in self._crawl.accept:
                yield _unaccepted(page, parsed.media_type)
            else:
                yield from self._keep(parsed.id, page, parsed)

    def _keep(self, number: int, page: FilePage, parsed: Page | None) -> Iterator[Taken]:
        """Put a page into the batch; of several for one URL the last one stays."""
        key, new = digest(page.url, self._rules), (number, page, parsed)
        old = self._parsed.get(key)
        self._parsed[key] = new if old is None or number > old[0] else old
        self._size += len(page.fetched.body)
        if old is not None:
            yield Taken(name=page.url, skipped="there is a later one for the same URL")

    def _store_batch(self) -> Iterator[Taken]:
        if not self._parsed:
            return
        now = time.time()
        batch = list(self._parsed.items())
        self._parsed.clear()
        self._size = 0
        candidates = [
            Candidate(url=page.url, digest=key, kind=Kind.HYPERLINK, follow=True, depth=0)
            for key, (_, page, _) in batch
        ]
        leases = self._store.claim(self._crawler, candidates, now)
        visits = []
        for lease, (_, (_, page, parsed)) in zip(leases, batch, strict=True):
            if lease is None:
                yield Taken(name=page.url, skipped=f"another crawler is visiting {authority(page.url)}")
            else:
                visits.append(self._visit(lease, page, parsed, now))
        self._store.submit(self._crawler, visits, _linked, now=now, keep_links=self._crawl.links)
        self._count(visits, now)
        for visit in visits:
            yield Taken(name=visit.lease.url, bytes=visit.bytes, outcome=visit.outcome)

    def _visit(self, lease: Lease, page: FilePage, parsed: Page | None, now: float) -> Visit:
        redirect = None
        if page.fetched.outcome is Outcome.REDIRECTED:
            redirect = redirect_candidate(lease, page.fetched.location, self._rules)
            redirect = msgspec.structs.replace(redirect, seed=False)  # nobody asked to start there
        at = now if page.at is None else min(page.at, now)
        return visit_of(lease, page.fetched, parsed, now=at, retries=1, redirect=redirect)

    def _count(self, visits: Sequence[Visit], now: float) -> None:
        """Tell others how it goes, and learn whether to stop. A pause is not for us: we bother nobody."""
        self._pages += len(visits)
        self._bytes += sum(visit.bytes for visit in visits)
        self.report(now, rates=True)

    def report(self, now: float, *, rates: bool) -> None:
        seconds = max(now - self._started, 0.001) if rates else float("inf")
        report = Report(
            state="running", pages=self._pages, pages_per_second=self._pages / seconds,
            bytes_per_second=self._bytes / seconds, limit="parsing" if rates else "", waiting_for="",
        )  # fmt: skip
        self._wanted = self._store.beat(self._crawler, report, now).state
        self._told_at = now


def _unaccepted(page: FilePage, declared: str) -> Taken:
    return Taken(name=page.url, skipped=f"its type is not to be parsed: {declared or 'unknown'}")


def _linked(candidates: Sequence[Candidate]) -> list[Admission]:
    return [Admission(state=State.KNOWN, reason="linked from a page that was taken from a file") for _ in candidates]
