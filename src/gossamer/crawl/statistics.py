"""Counters and rates of a running crawl, and what limits it; for displays and for other crawlers."""

from __future__ import annotations

import time
from collections import Counter, deque
from typing import TYPE_CHECKING

from gossamer.basics.display import pluralize
from gossamer.model import PAGE_OUTCOMES, Role, State, Value
from gossamer.store.values import CrawlerReport

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gossamer.crawl.writer import WriteResult
    from gossamer.model import Page, Visit
    from gossamer.store.values import Counts, Round

WINDOW_SECONDS = 5.0  # rates and the limiting factor cover this many seconds: steady to read, yet current
LATEST_VISITS = 4  # visits that a display lists


class CrawlProgress(Value, frozen=True, kw_only=True):
    """A crawler at one moment. Counts cover this crawler since its start; `known` and `queued` cover the whole web."""

    name: str  # name of the crawler
    state: str  # running, paused, waiting, stopping
    note: str  # why it is not running, for people; "" if it runs
    seconds: float  # since the start
    pages: int  # pages visited
    failed: int  # failed or gone
    gone: int = 0  # of these gone
    refused: int
    bytes: int  # total size of decoded bodies
    known: int  # resources known
    queued: int  # resources still to be visited
    transfers: int  # transfers in flight
    hosts: int  # hosts held
    pages_per_second: float  # over the last WINDOW_SECONDS
    bytes_per_second: float  # over the last WINDOW_SECONDS
    mean_pages_per_second: float  # since the start
    limit: str  # what it waits for most: politeness, network, parsing, rendering, store, disk; "" if unknown
    eta_seconds: float | None  # until the queue is empty or the page limit is reached; None if unknown
    waiting: tuple[tuple[str, float, str], ...]  # hosts that cannot be visited yet: name, seconds left, why
    latest: tuple[tuple[str, str], ...]  # the last few visits: URL, outcome

    def describe_errors(self) -> str:
        """Return what this crawler could not visit: `1 failed, 2 gone, 3 refused`."""
        return f"{self.failed - self.gone:,} failed, {self.gone:,} gone, {self.refused:,} refused"


class CrawlStatistics:
    """Counts the stored visits of one crawler."""

    def __init__(self, counts: Counts) -> None:
        self._started = time.monotonic()
        self.pages = self.failed = self.gone = self.refused = self.bytes = 0
        self.known = self.queued = 0
        self.rendered: Counter[str] = Counter()  # pages that a browser rendered, by reason
        self.unrendered = 0  # pages that scripts seem to make, and no browser rendered
        self.set_totals(counts)
        self._pages_left: int | None = None  # pages until the round's limit; None: no limit
        self.disk_note = ""  # why the crawl waits for disk space
        self.pause_note = ""  # why the crawl pauses, if a user asked for it
        self.waiting_for = ""  # hosts, and the crawlers that hold them
        self._samples: deque[tuple[float, int, int, int]] = deque([(self._started, 0, 0, self.known)])
        # For each second, the microseconds that the loop waited for each limiting factor.
        self._waits_by_second: deque[tuple[int, Counter[str]]] = deque()
        self._latest: deque[tuple[str, str]] = deque(maxlen=LATEST_VISITS)

    def set_totals(self, counts: Counts) -> None:
        """Set the counts of the whole web."""
        self.known = sum(counts.resources.values())
        self.queued = counts.resources.get(State.QUEUED, 0) + counts.resources.get(State.LEASED, 0)

    def set_page_limit(self, current: Round) -> None:
        """Set how many pages the round's limit leaves for all crawlers together."""
        self._pages_left = None if current.max_pages is None else max(0, current.max_pages - current.pages)

    def count_batch(self, result: WriteResult) -> None:
        """Count the visits of a stored batch."""
        self.disk_note = ""
        before = self.pages
        for visit in result.order.batch.visits:
            self._count_visit(visit)
        if self._pages_left is not None:
            self._pages_left = max(0, self._pages_left - (self.pages - before))
        if result.submitted is not None:
            self.known, self.queued = result.submitted.known, result.submitted.open
        if result.counts is not None:
            self.set_totals(result.counts)
        now = time.monotonic()
        self._samples.append((now, self.pages, self.bytes, self.known))
        while len(self._samples) > 2 and now - self._samples[0][0] > WINDOW_SECONDS:
            self._samples.popleft()

    def _count_visit(self, visit: Visit) -> None:
        self.bytes += visit.bytes
        self._latest.append((visit.lease.url, str(visit.outcome)))
        if visit.state is State.REFUSED:
            self.refused += 1
        elif visit.state in {State.FAILED, State.GONE}:
            self.failed += 1
            self.gone += visit.state is State.GONE
        elif visit.outcome in PAGE_OUTCOMES and visit.lease.role is Role.PAGE:
            self.pages += 1
            if visit.page is not None and (visit.page.rendered or visit.page.script_sign):
                self._count_scripts(visit.page)

    def _count_scripts(self, page: Page) -> None:
        if page.rendered:
            self.rendered[page.rendered] += 1
        else:
            self.unrendered += 1

    def rendering_summary(self, no_browser: str, samples: Mapping[bool, int], *, failed_samples: int = 0) -> list[str]:
        """Return which pages a browser rendered, and which would have needed one, in sentences for people.

        `samples` counts further pages that were rendered, by whether scripts added anything to them. Browsers failed at
        `failed_samples` more.
        """
        lines = []
        if self.rendered:
            reasons = ", ".join(f"{number:,} {reason}" for reason, number in self.rendered.most_common())
            lines.append(f"{pluralize(self.rendered.total(), 'page')} rendered by a browser ({reasons}).")
        if number := sum(samples.values()):
            gains = samples.get(True, 0)
            what = (
                f"scripts add to {gains:,} of them, and pages like those were rendered"
                if gains
                else "scripts add nothing to them"
            )
            lines.append(f"{pluralize(number, 'more page')} rendered as samples: {what}.")
        if failed_samples:
            lines.append(f"Browsers could not render {pluralize(failed_samples, 'sample')}; the log says why.")
        if self.unrendered:
            why = f": {no_browser}" if no_browser else ""
            lines.append(f"{pluralize(self.unrendered, 'page')} would need a browser, and none rendered them{why}.")
        return lines

    def count_wait(self, limit: str, seconds: float) -> None:
        """Add a wait of the loop to the current second."""
        second = int(time.monotonic())
        if not self._waits_by_second or self._waits_by_second[-1][0] != second:
            self._waits_by_second.append((second, Counter()))
            while second - self._waits_by_second[0][0] > WINDOW_SECONDS:
                self._waits_by_second.popleft()
        self._waits_by_second[-1][1][limit] += int(seconds * 1e6)

    def build_report(self, progress: CrawlProgress, parsers: int, most_parsers: int) -> CrawlerReport:
        """Return the report that other crawlers and `gossamer crawlers` see."""
        return CrawlerReport(
            state=progress.state,
            pages=progress.pages,
            pages_per_second=progress.pages_per_second,
            bytes_per_second=progress.bytes_per_second,
            limit=progress.limit,
            waiting_for=self.waiting_for,
            parsers=parsers,
            most_parsers=most_parsers,
        )

    def build_last_report(self) -> CrawlerReport:
        """Return the report of a crawler that leaves: its page count, with rates and waits cleared."""
        return CrawlerReport(
            state="stopping", pages=self.pages, pages_per_second=0.0, bytes_per_second=0.0, limit="", waiting_for=""
        )

    def _limiting_factor(self) -> str:
        waits = sum((waited for _, waited in self._waits_by_second), start=Counter[str]())
        return waits.most_common(1)[0][0] if waits else ""

    def _remaining_visits(self, *, is_growing: bool) -> int | None:
        """Return how many visits are left; None if the queue still grows and no page limit ends the crawl."""
        if self._pages_left is not None and self._pages_left <= self.queued:
            return self._pages_left
        return None if is_growing else self.queued

    def progress(
        self, *, name: str, state: str, transfers: int, hosts: int, waiting: tuple[tuple[str, float, str], ...]
    ) -> CrawlProgress:
        """Return the counters and rates as a value."""
        now = time.monotonic()
        sampled_at, pages, size, known = self._samples[0]
        span = max(now - sampled_at, 0.001)
        rate = (self.pages - pages) / span
        remaining = self._remaining_visits(is_growing=self.known > known)
        limit_when_paused = "disk" if self.disk_note else ""
        limit = limit_when_paused if state == "paused" else self._limiting_factor()
        return CrawlProgress(
            name=name,
            state=state,
            note=self.disk_note or self.pause_note or (f"waiting for {self.waiting_for}" if state == "waiting" else ""),
            seconds=now - self._started,
            pages=self.pages,
            failed=self.failed,
            gone=self.gone,
            refused=self.refused,
            bytes=self.bytes,
            known=self.known,
            queued=max(self.queued, 0),
            transfers=transfers,
            hosts=hosts,
            pages_per_second=rate,
            bytes_per_second=(self.bytes - size) / span,
            mean_pages_per_second=self.pages / max(now - self._started, 0.001),
            limit=limit,
            eta_seconds=remaining / rate if remaining and remaining > 0 and rate > 0 else None,
            waiting=waiting,
            latest=tuple(self._latest),
        )
