"""Import pages from files and archives, through the same parsers and into the same store as a crawl.

An import registers as a crawler: it has a name, leases the hosts of its pages, and obeys `gossamer stop`.
It leases a batch just before it submits it. So a killed import leaves at most one batch leased and unvisited;
running the same import again repairs that. The import stores outgoing links as known, not as queued:
the next crawl admits them by its scope.
"""

from __future__ import annotations

import os
import socket
import time
from typing import TYPE_CHECKING

import msgspec

from gossamer.basics.headers import parse_media_type
from gossamer.crawl.visits import build_visit, parse_job, redirect_candidate
from gossamer.errors import CrawlerLost
from gossamer.files.file_page import SkippedItem
from gossamer.model import Admission, Candidate, Kind, Outcome, State, Value, VisitBatch
from gossamer.store.values import CrawlerReport
from gossamer.urls.canonical import UrlRules, authority, url_digest

if TYPE_CHECKING:
    import selectors
    from collections.abc import Iterable, Iterator, Sequence

    from gossamer.config import CrawlSettings
    from gossamer.files.file_page import FilePage
    from gossamer.model import Lease, Page, Visit
    from gossamer.parse.pool import ParserPool
    from gossamer.store.protocol import WorkStore

BATCH_VISITS = 256  # visits per transaction
BATCH_BYTES = 64 << 20  # bytes of bodies in a batch; bounds the memory that large files take
JOBS_PER_PROCESS = 4  # jobs in flight per parser process, so that none is idle
POLL_SECONDS = 0.1  # longest wait for parser results, so that a hung parser is noticed
HEARTBEAT_SECONDS = 2.0  # seconds between heartbeats
LOST_MESSAGE = "The import sent no heartbeat for too long and lost its hosts to other crawlers. Start it again."


class ImportResult(Value, frozen=True, kw_only=True):
    """The result of importing one file or record."""

    name: str  # its URL; its path or record if it was skipped
    bytes: int = 0
    outcome: Outcome | None = None  # of the stored visit
    skip_reason: str = ""  # why it was not imported; "": it was


class ImportParts(Value, frozen=True, kw_only=True):
    """The objects that an import uses."""

    store: WorkStore
    pool: ParserPool
    selector: selectors.BaseSelector
    crawl: CrawlSettings


def import_pages(pages: Iterable[FilePage | SkippedItem], parts: ImportParts) -> Iterator[ImportResult]:
    """Parse and store the pages; yield a result for each after its batch is committed."""
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
    """A running import: pages at the parsers, and the batch of parsed pages."""

    def __init__(self, parts: ImportParts, crawler: int) -> None:
        self._store, self._pool, self._selector = parts.store, parts.pool, parts.selector
        self._crawl = parts.crawl
        self._crawler = crawler
        self._rules = UrlRules(query=parts.crawl.query, drop_parameters=frozenset(parts.crawl.drop_parameters))
        self._parsing: dict[int, FilePage] = {}
        self._batch: dict[bytes, tuple[int, FilePage, Page | None]] = {}  # by URL digest: number, page, parsed page
        self._batch_bytes = 0
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
        declared = parse_media_type(page.fetched.headers.get("content-type", ""))
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
        """Add a page to the batch; among several for one URL the last one wins."""
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
        self._store.submit(
            self._crawler, VisitBatch(visits=visits, keep_links=self._crawl.links), _known_admissions, now
        )
        self._count_visits(visits, now)
        if self._requested_state == "lost":
            raise CrawlerLost(LOST_MESSAGE)
        for visit in visits:
            yield ImportResult(name=visit.lease.url, bytes=visit.bytes, outcome=visit.outcome)

    def _make_visit(self, lease: Lease, page: FilePage, parsed: Page | None, now: float) -> Visit:
        redirect = None
        if page.fetched.outcome is Outcome.REDIRECTED:
            redirect = redirect_candidate(lease, page.fetched.location, self._rules)
            redirect = msgspec.structs.replace(redirect, seed=False)  # a redirect target is no start URL
        visited_at = now if page.fetched_at is None else min(page.fetched_at, now)
        return build_visit(lease, page.fetched, parsed, now=visited_at, retries=1, redirect=redirect)

    def _count_visits(self, visits: Sequence[Visit], now: float) -> None:
        """Count stored visits and send a heartbeat.

        The reply may ask to stop. An import ignores a pause, because it sends no requests.
        """
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
    return ImportResult(name=page.url, skip_reason=f"its media type is not accepted: {declared or 'unknown'}")


def _known_admissions(candidates: Sequence[Candidate]) -> list[Admission]:
    return [Admission(state=State.KNOWN, reason="linked from a page that was taken from a file") for _ in candidates]
