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

from gossamer.crawl.visits import build_visit, media_type, parse_job, redirect_candidate
from gossamer.errors import CrawlerLost
from gossamer.files.file_page import SkippedItem
from gossamer.model import Admission, Candidate, Kind, Outcome, State, Value
from gossamer.store.values import CrawlerReport
from gossamer.urls.canonical import UrlRules, authority, url_digest

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
JOBS_PER_PROCESS = 4  # jobs per parser process, so that none idles
POLL_SECONDS = 0.1  # between looks at parsers that may hang
HEARTBEAT_SECONDS = 2.0  # between signs of life
LOST_MESSAGE = "The import was not heard of for so long that others were given its hosts. Start it again."


class ImportResult(Value, frozen=True, kw_only=True):
    """What has become of one file or record."""

    name: str  # its URL, or its place when it was skipped
    bytes: int = 0
    outcome: Outcome | None = None  # of its visit, as it was stored
    skip_reason: str = ""  # why it was not taken at all


class ImportParts(Value, frozen=True, kw_only=True):
    """What an import works with."""

    store: Store
    pool: ParserPool
    selector: selectors.BaseSelector
    crawl: CrawlSettings


def import_pages(pages: Iterable[FilePage | SkippedItem], parts: ImportParts) -> Iterator[ImportResult]:
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
        importing.send_heartbeat(time.time(), rates=False)
        store.leave(crawler.id)
        if own_round:
            store.finish_round(time.time())


class _Import:
    """One import under way: files at the parsers, pages waiting for their batch."""

    def __init__(self, parts: ImportParts, crawler: int) -> None:
        self._store, self._pool, self._selector = parts.store, parts.pool, parts.selector
        self._crawl = parts.crawl
        self._crawler = crawler
        self._rules = UrlRules(query=parts.crawl.query, drop_parameters=frozenset(parts.crawl.drop_parameters))
        self._parsing: dict[int, FilePage] = {}
        self._batch: dict[bytes, tuple[int, FilePage, Page | None]] = {}  # by the URL's digest, with its number
        self._batch_bytes = 0  # bytes of the bodies in it
        self._started = time.time()
        self._pages = self._bytes = 0
        self._requested_state = "run"
        self._reported_at = self._started

    def run(self, pages: Iterable[FilePage | SkippedItem]) -> Iterator[ImportResult]:
        for number, page in enumerate(pages, 1):
            if isinstance(page, SkippedItem):
                yield ImportResult(name=page.path, skip_reason=page.reason)
            else:
                yield from self._accept(number, page)
            while len(self._parsing) >= self._pool.processes * JOBS_PER_PROCESS:
                yield from self._collect()
            if self._batch_bytes >= BATCH_BYTES or len(self._batch) >= BATCH_VISITS:
                yield from self._store_batch()
            if time.time() > self._reported_at + HEARTBEAT_SECONDS:
                self.send_heartbeat(time.time(), rates=True)
            if self._requested_state == "lost":
                raise CrawlerLost(LOST_MESSAGE)
            if self._requested_state == "stop":
                break
        while self._parsing:
            yield from self._collect()
        yield from self._store_batch()

    def _accept(self, number: int, page: FilePage) -> Iterator[ImportResult]:
        declared = media_type(page.fetched.headers.get("content-type", ""))
        if page.fetched.outcome is not Outcome.FETCHED:
            yield from self._add_to_batch(number, page, None)
        elif declared and declared not in self._crawl.accept:
            yield _refuse_type(page, declared)
        else:
            self._parsing[number] = page
            self._pool.submit(msgspec.structs.replace(parse_job(page.fetched), id=number))

    def _collect(self) -> Iterator[ImportResult]:
        for key, mask in self._selector.select(POLL_SECONDS):
            key.data(mask)
        self._pool.tick(time.time())
        for parsed in self._pool.take_results():
            page = self._parsing.pop(parsed.id)
            if parsed.outcome is Outcome.FETCHED and parsed.media_type not in self._crawl.accept:
                yield _refuse_type(page, parsed.media_type)
            else:
                yield from self._add_to_batch(parsed.id, page, parsed)

    def _add_to_batch(self, number: int, page: FilePage, parsed: Page | None) -> Iterator[ImportResult]:
        """Put a page into the batch; of several for one URL the last one stays."""
        key, new = url_digest(page.url, self._rules), (number, page, parsed)
        old = self._batch.get(key)
        self._batch[key] = new if old is None or number > old[0] else old
        self._batch_bytes += len(page.fetched.body)
        if old is not None:
            yield ImportResult(name=page.url, skip_reason="there is a later one for the same URL")

    def _store_batch(self) -> Iterator[ImportResult]:
        if not self._batch:
            return
        now = time.time()
        batch = list(self._batch.items())
        self._batch.clear()
        self._batch_bytes = 0
        candidates = [
            Candidate(url=page.url, digest=key, kind=Kind.HYPERLINK, follow=True, depth=0)
            for key, (_, page, _) in batch
        ]
        leases = self._store.lease_urls(self._crawler, candidates, now)
        visits = []
        for lease, (_, (_, page, parsed)) in zip(leases, batch, strict=True):
            if lease is None:
                yield ImportResult(name=page.url, skip_reason=f"another crawler is visiting {authority(page.url)}")
            else:
                visits.append(self._make_visit(lease, page, parsed, now))
        self._store.submit(self._crawler, visits, _known_admissions, now=now, keep_links=self._crawl.links)
        self._count_visits(visits, now)
        for visit in visits:
            yield ImportResult(name=visit.lease.url, bytes=visit.bytes, outcome=visit.outcome)

    def _make_visit(self, lease: Lease, page: FilePage, parsed: Page | None, now: float) -> Visit:
        redirect = None
        if page.fetched.outcome is Outcome.REDIRECTED:
            redirect = redirect_candidate(lease, page.fetched.location, self._rules)
            redirect = msgspec.structs.replace(redirect, seed=False)  # nobody asked to start there
        visited_at = now if page.fetched_at is None else min(page.fetched_at, now)
        return build_visit(lease, page.fetched, parsed, now=visited_at, retries=1, redirect=redirect)

    def _count_visits(self, visits: Sequence[Visit], now: float) -> None:
        """Tell others how it goes, and learn whether to stop. A pause is not for us: we bother nobody."""
        self._pages += len(visits)
        self._bytes += sum(visit.bytes for visit in visits)
        self.send_heartbeat(now, rates=True)

    def send_heartbeat(self, now: float, *, rates: bool) -> None:
        seconds = max(now - self._started, 0.001) if rates else float("inf")
        report = CrawlerReport(
            state="running", pages=self._pages, pages_per_second=self._pages / seconds,
            bytes_per_second=self._bytes / seconds, limit="parsing" if rates else "", waiting_for="",
        )  # fmt: skip
        self._requested_state = self._store.heartbeat(self._crawler, report, now).state
        self._reported_at = now


def _refuse_type(page: FilePage, declared: str) -> ImportResult:
    return ImportResult(name=page.url, skip_reason=f"its type is not to be parsed: {declared or 'unknown'}")


def _known_admissions(candidates: Sequence[Candidate]) -> list[Admission]:
    return [Admission(state=State.KNOWN, reason="linked from a page that was taken from a file") for _ in candidates]
