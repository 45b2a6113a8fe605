"""Answers about the crawl: status, crawlers, hosts, errors and rates, for HTML pages, API and metrics alike."""

from __future__ import annotations

import os
import time
from itertools import islice
from typing import TYPE_CHECKING, Any

import msgspec

from gossamer.basics.locations import local_directory
from gossamer.config import load
from gossamer.kernels import native
from gossamer.revisit.pace import schedule_from_settings
from gossamer.store.read.questions import Question
from gossamer.store.read.rank_state import RankState, read_rank_state
from gossamer.store.values import (
    Counts,
    CrawlerRow,
    ErrorRow,
    Freshness,
    HostRow,
    LatestVisit,
    VisitedTotals,
    WaitingHost,
)

if TYPE_CHECKING:
    from gossamer.store.protocol import Store
    from gossamer.web.http.sessions import ReadSession

LATEST_COUNT = 12  # latest pages, latest errors and waiting hosts on the dashboard
HISTORY_STEPS = 600  # values of a chart; more than a screen shows
MAX_HISTORY_SECONDS = 30 * 86_400  # of a round that `watch` has begun, for example
NO_CRAWLER = 0  # an id that no crawler has: waiting hosts of all crawlers


# -- status and crawlers -----------------------------------------------------------------------------------------------


class CrawlerStatus(CrawlerRow, frozen=True, kw_only=True):
    """A crawler, and whether it works now."""

    at_work: bool


class RoundStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The current round: its seeds, settings and limits."""

    id: int
    started_at: float
    finished_at: float | None
    settings: dict[str, Any]
    seeds: tuple[str, ...]
    joined: tuple[str, ...]
    max_pages: int | None
    max_pages_per_host: int | None
    pages: int


class Status(Counts, frozen=True, kw_only=True):
    """The size of the web, its crawlers at work, its round and its freshness."""

    rendered_reasons: dict[str, int]  # why a browser rendered pages, with their number
    crawlers: list[CrawlerStatus]
    rate: float  # pages per second of all crawlers together
    round: RoundStatus | None
    version: int
    native: bool  # compiled kernels are in use
    freshness: Freshness
    visited: VisitedTotals
    ranks: RankState | None  # null: the web has no ranks


def status(session: ReadSession) -> Status:
    """Return the size of the web and its crawlers at work."""
    store = session.store
    at_work = [crawler for crawler in crawlers(store) if crawler.at_work]
    counts = store.counts()
    return Status(
        resources=counts.resources,
        hosts=counts.hosts,
        links=counts.links,
        documents=counts.documents,
        cut=counts.cut,
        rendered=counts.rendered,
        unrendered=counts.unrendered,
        rendered_reasons=dict(store.ask(Question.RENDERED_REASONS)) if counts.rendered else {},
        crawlers=at_work,
        rate=sum(crawler.pages_per_second for crawler in at_work),
        round=_round_status(store),
        version=store.version(),
        native=native is not None,
        freshness=_freshness(session),
        visited=store.visited_totals(),
        ranks=read_rank_state(store),
    )


def crawlers(store: Store) -> list[CrawlerStatus]:
    """Return all crawlers of the web, also those that ended."""
    return [
        CrawlerStatus(**msgspec.structs.asdict(each), at_work=each.state not in {"stopped", "lost"})
        for each in store.crawlers()
    ]


def _round_status(store: Store) -> RoundStatus | None:
    current = store.current_round()
    if current is None:
        return None
    fields = msgspec.structs.asdict(current)
    return RoundStatus(**fields | {"settings": msgspec.json.decode(current.settings)})


def _freshness(session: ReadSession) -> Freshness:
    settings = load(file=None, store_dir=local_directory(session.location), environ=os.environ, flags={}).settings
    return session.store.freshness(schedule_from_settings(settings.freshness, session.store.pace_counts()), time.time())


# -- hosts and errors --------------------------------------------------------------------------------------------------


class HostList(msgspec.Struct, frozen=True, kw_only=True):
    """Hosts, those with most pages first."""

    total: int
    visited: VisitedTotals
    hosts: list[HostRow]


def hosts(session: ReadSession, limit: int) -> HostList:
    """Return the hosts with most pages."""
    store = session.store
    return HostList(total=store.counts().hosts, visited=store.visited_totals(), hosts=store.hosts(limit))


class ErrorList(msgspec.Struct, frozen=True, kw_only=True):
    """URLs that Gossamer could not visit, each with its reason."""

    errors: list[ErrorRow]
    more: bool


def errors(session: ReadSession, outcome: str, limit: int, page_number: int) -> ErrorList:
    """Return one page of the errors, only those with `outcome` unless it is empty."""
    matching = (row for row in session.store.errors() if not outcome or row.outcome == outcome)
    first = (page_number - 1) * limit
    rows = list(islice(matching, first, first + limit + 1))
    return ErrorList(errors=rows[:limit], more=len(rows) > limit)


# -- rates and the live view -------------------------------------------------------------------------------------------


class RateHistory(msgspec.Struct, frozen=True, kw_only=True):
    """Visits and bytes a second, oldest first: of each of the last seconds, or of longer steps of a whole crawl."""

    now: float
    step: int  # seconds that one value covers
    seconds: list[int]  # when each step starts
    pages: list[float]  # visits a second
    bytes: list[float]


def rate_history(store: Store, seconds: int, now: float) -> RateHistory:
    """Return the last complete seconds; a second without visits has 0."""
    end = int(now)
    by_second = {second: (pages, amount) for second, pages, amount in store.visits_by_second(end - seconds)}
    span = range(end - seconds, end)
    return RateHistory(
        now=now,
        step=1,
        seconds=list(span),
        pages=[by_second.get(second, (0, 0))[0] for second in span],
        bytes=[by_second.get(second, (0, 0))[1] for second in span],
    )


def crawl_history(store: Store, now: float) -> RateHistory:
    """Return the rates from the start of the current round to its end or now, in at most `HISTORY_STEPS` steps."""
    current = store.current_round()
    if current is None:
        return rate_history(store, 1, now)
    end = int(min(now, current.finished_at or now)) + 1
    start = max(int(current.started_at), end - MAX_HISTORY_SECONDS)
    step = max(1, -(-(end - start) // HISTORY_STEPS))
    starts = range(start, end, step)
    pages, sizes = [0] * len(starts), [0] * len(starts)
    for second, visits, amount in store.visits_by_second(start):
        if start <= second < end:
            pages[(second - start) // step] += visits
            sizes[(second - start) // step] += amount
    return RateHistory(
        now=now,
        step=step,
        seconds=list(starts),
        pages=[visits / step for visits in pages],
        bytes=[amount / step for amount in sizes],
    )


class Tick(msgspec.Struct, frozen=True, kw_only=True):
    """Visits and bytes of one complete second."""

    second: int
    pages: int
    bytes: int


class LiveStatus(Counts, frozen=True, kw_only=True):
    """The state of a running crawl, as the dashboard shows it."""

    now: float
    rate: float
    bytes_rate: float
    limit: str  # the limiting factors of the crawlers
    crawlers: list[CrawlerStatus]
    waiting: list[WaitingHost]
    pages: list[LatestVisit]
    errors: list[LatestVisit]
    tick: Tick
    summary: str  # the size of the web in the words of all commands and pages


def live_status(store: Store, now: float) -> LiveStatus:
    """Return the state of the crawl now."""
    all_crawlers = crawlers(store)
    at_work = [crawler for crawler in all_crawlers if crawler.at_work]
    counts = store.counts()
    last = rate_history(store, 2, now)
    return LiveStatus(
        now=now,
        resources=counts.resources,
        hosts=counts.hosts,
        links=counts.links,
        documents=counts.documents,
        cut=counts.cut,
        rendered=counts.rendered,
        unrendered=counts.unrendered,
        rate=sum(crawler.pages_per_second for crawler in at_work),
        bytes_rate=sum(crawler.bytes_per_second for crawler in at_work),
        limit=", ".join(dict.fromkeys(crawler.limit for crawler in at_work if crawler.limit)),
        crawlers=all_crawlers,
        waiting=store.waiting_hosts(NO_CRAWLER, LATEST_COUNT),
        pages=store.latest_visits(LATEST_COUNT),
        errors=store.latest_visits(LATEST_COUNT, faults=True),
        tick=Tick(second=last.seconds[0], pages=int(last.pages[0]), bytes=int(last.bytes[0])),
        summary=store.visited_totals().describe(),
    )
