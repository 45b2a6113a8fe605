"""Pages from files instead of the network, through the same parsers and into the same store as a crawl's.

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

from gossamer.crawl.policy import verdict
from gossamer.crawl.urls import UrlRules, authority, digest
from gossamer.files.folder import Skipped
from gossamer.model import Admission, Candidate, Kind, Outcome, ParseJob, Role, State, Value, Visit
from gossamer.store.base import Report

if TYPE_CHECKING:
    import selectors
    from collections.abc import Iterable, Iterator, Sequence

    from gossamer.config import CrawlSettings
    from gossamer.crawl.parsers import ParserPool
    from gossamer.files.folder import FilePage
    from gossamer.model import Lease, Page
    from gossamer.store.base import Store

BATCH_VISITS = 256
BATCH_BYTES = 64 << 20  # of bodies in a batch, so that large files do not pile up in memory
AHEAD = 4  # jobs per parser process, so that none idles
LOOK_SECONDS = 0.1  # between looks at parsers that may hang


class Taken(Value, frozen=True, kw_only=True):
    """What has become of one file."""

    name: str  # its URL, or its path when it was skipped
    bytes: int = 0
    failed: str = ""  # why its bytes could not be parsed
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
        self._parsed: dict[bytes, tuple[FilePage, Page]] = {}  # by digest: of two files for one URL the later counts
        self._started = time.time()
        self._pages = self._bytes = 0
        self._stopped = False

    def run(self, pages: Iterable[FilePage | Skipped]) -> Iterator[Taken]:
        for number, page in enumerate(pages, 1):
            if isinstance(page, Skipped):
                yield Taken(name=page.path, skipped=page.reason)
            elif page.media_type and page.media_type not in self._crawl.accept:
                yield _unaccepted(page, page.media_type)
            else:
                self._parsing[number] = page
                self._pool.submit(_job(number, page))
            while len(self._parsing) >= self._pool.processes * AHEAD:
                yield from self._collect()
            if self._stopped:
                break
        while self._parsing:
            yield from self._collect()
        yield from self._store_batch()

    def _collect(self) -> Iterator[Taken]:
        for key, mask in self._selector.select(LOOK_SECONDS):
            key.data(mask)
        self._pool.tick(time.time())
        for parsed in self._pool.finished():
            page = self._parsing.pop(parsed.id)
            if parsed.outcome is Outcome.FETCHED and parsed.media_type not in self._crawl.accept:
                yield _unaccepted(page, parsed.media_type)
            else:
                self._parsed[digest(page.url, self._rules)] = page, parsed
        size = sum(len(page.body) for page, _ in self._parsed.values())
        if len(self._parsed) >= BATCH_VISITS or size >= BATCH_BYTES:
            yield from self._store_batch()

    def _store_batch(self) -> Iterator[Taken]:
        if not self._parsed:
            return
        now = time.time()
        batch = list(self._parsed.items())
        self._parsed.clear()
        candidates = [
            Candidate(url=page.url, digest=key, kind=Kind.HYPERLINK, follow=True, depth=0) for key, (page, _) in batch
        ]
        leases = self._store.claim(self._crawler, candidates, now)
        visits = []
        for lease, (_, (page, parsed)) in zip(leases, batch, strict=True):
            if lease is None:
                yield Taken(name=page.url, skipped=f"another crawler is visiting {authority(page.url)}")
            else:
                visits.append(_visit(lease, page, parsed, now))
        self._store.submit(self._crawler, visits, _linked, now=now, keep_links=self._crawl.links)
        self._count(visits, now)
        for visit in visits:
            failed = "" if visit.outcome is Outcome.FETCHED else visit.reason or str(visit.outcome)
            yield Taken(name=visit.lease.url, bytes=visit.bytes, failed=failed)

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
        self._stopped = self._store.beat(self._crawler, report, now) == "stop"


def _unaccepted(page: FilePage, media_type: str) -> Taken:
    return Taken(name=page.url, skipped=f"its type is not to be parsed: {media_type or 'unknown'}")


def _job(number: int, page: FilePage) -> ParseJob:
    content_type = f"{page.media_type}; charset={page.charset}" if page.charset else page.media_type
    return ParseJob(number, Role.PAGE, page.url, page.body, content_type, "", "", "", "", "")


def _visit(lease: Lease, page: FilePage, parsed: Page, now: float) -> Visit:
    return Visit(
        lease=lease,
        outcome=parsed.outcome,
        state=verdict(parsed.outcome, page.status, lease.tries, retries=1).state,
        reason=parsed.reason,
        status=page.status,
        visited_at=now,
        bytes=parsed.size,
        milliseconds=0,
        last_modified=page.last_modified,
        media_type=parsed.media_type or page.media_type,
        page=parsed if parsed.outcome is Outcome.FETCHED else None,
    )


def _linked(candidates: Sequence[Candidate]) -> list[Admission]:
    return [Admission(state=State.KNOWN, reason="linked from a page that was taken from a file") for _ in candidates]
