"""What pages and API say alike: from a desk and what was asked to one value."""

from __future__ import annotations

import os
import time
from itertools import islice
from typing import TYPE_CHECKING, Any

import msgspec

from gossamer.basics.locations import local_directory
from gossamer.config import load
from gossamer.errors import UsageError
from gossamer.index.word_table import WordEntry, WordTable
from gossamer.lookup import find_resource
from gossamer.revisit.pace import schedule_from_settings
from gossamer.search.service import Answer
from gossamer.store.follow.graph import Ranks
from gossamer.store.values import (
    ChangeRow,
    Counts,
    CrawlerRow,
    ErrorRow,
    Freshness,
    HostRow,
    LatestVisit,
    LinkRow,
    ResourceRow,
    VisitRow,
    WaitingHost,
)
from gossamer.urls.canonical import urls_from_input
from gossamer.web.http.problems import NotFound
from gossamer.web.search.facets import Facets, Filters, facets, with_filters

if TYPE_CHECKING:
    from gossamer.index.word_table import DocumentOrder
    from gossamer.store.protocol import Store
    from gossamer.web.http.sessions import ReadSession


# -- search ------------------------------------------------------------------------------------------------------------


class SearchQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """What is searched for, and how much of it."""

    q: str
    page: int = 1
    limit: int = 10
    explain: bool = False
    filters: Filters = Filters()


class SearchAnswer(Answer, frozen=True, kw_only=True):
    """What was found."""

    facets: Facets | None = None


def search(session: ReadSession, question: SearchQuestion, *, with_facets: bool = False) -> SearchAnswer:
    """Search. Filters are put into words: a page that shows them can also show the question they make."""
    text = with_filters(question.q, question.filters)
    answer = session.searcher.search(text, page=question.page, limit=question.limit, explain=question.explain)
    fields = {name: getattr(answer, name) for name in Answer.__struct_fields__}
    if answer.suggestion is not None:
        fields["suggestion"] = answer.suggestion.removesuffix(text.removeprefix(question.q))
    fields["query"] = question.q
    counted_facets = (
        facets(session, question.q, question.filters, [hit.host for hit in answer.hits]) if with_facets else None
    )
    return SearchAnswer(**fields, facets=counted_facets)


class Completions(msgspec.Struct, frozen=True, kw_only=True):
    """How what was typed may go on."""

    query: str
    completions: list[str]


def complete(session: ReadSession, text: str, limit: int) -> Completions:
    """Complete the last word."""
    return Completions(query=text, completions=session.searcher.complete(text, limit))


def word(session: ReadSession, typed: str, order: DocumentOrder, page_number: int, limit: int) -> WordEntry:
    """The word table's entry of a word."""
    return WordTable(session.store, session.index).entry(typed, order=order, page=page_number, limit=limit)


# -- a page ------------------------------------------------------------------------------------------------------------


class PageAnswer(ResourceRow, frozen=True, kw_only=True):
    """All that is known of a resource."""

    inlinks: list[LinkRow]
    outlinks: list[LinkRow]
    ranks: Ranks | None
    visits: list[VisitRow]  # type: ignore[assignment]  # in place of their number
    changes: list[ChangeRow]


def resource(store: Store, url: str) -> ResourceRow:
    """The resource that a person named."""
    urls_from_input(url)  # says what is wrong with it, if it is no URL at all
    try:
        return find_resource(store, url)
    except UsageError as error:
        raise NotFound(str(error)) from error


def page(session: ReadSession, url: str, limit: int) -> PageAnswer:
    """All that is known of a resource."""
    store = session.store
    row = resource(store, url)
    columns = {name: getattr(row, name) for name in ResourceRow.__struct_fields__ if name != "visits"}
    return PageAnswer(
        **columns,
        inlinks=store.inlinks(row.id, limit),
        outlinks=store.outlinks(row.id, limit),
        ranks=store.ranks(row.id),
        visits=store.visits(row.id)[-limit:],
        changes=store.history(row.id)[-limit:],
    )


class TextRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run of text."""

    field: str
    text: str


class TextAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The text of a page as it is stored."""

    url: str
    text: list[TextRun]


def text(session: ReadSession, url: str) -> TextAnswer:
    """The text of a page."""
    row = resource(session.store, url)
    runs = session.store.text(row.id)
    if runs is None:
        raise NotFound(f"{row.url} has no text: {row.reason or row.outcome or row.state}.")
    return TextAnswer(url=row.url, text=[TextRun(field=field.name.lower(), text=run) for field, run in runs])


# -- what is there, and what goes on -----------------------------------------------------------------------------------


class CrawlerStatus(CrawlerRow, frozen=True, kw_only=True):
    """A crawler, and whether it works now."""

    at_work: bool


class RoundStatus(msgspec.Struct, frozen=True, kw_only=True):
    """What was asked of the web last."""

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
    """What is there, and what is going on now."""

    crawlers: list[CrawlerStatus]
    rate: float  # pages a second, all crawlers together
    round: RoundStatus | None
    version: int
    freshness: Freshness


def status(session: ReadSession) -> Status:
    """What is there, and what is going on now."""
    store = session.store
    at_work = [crawler for crawler in crawlers(store) if crawler.at_work]
    counts = store.counts()
    return Status(
        resources=counts.resources,
        hosts=counts.hosts,
        links=counts.links,
        documents=counts.documents,
        crawlers=at_work,
        rate=sum(crawler.pages_per_second for crawler in at_work),
        round=_round_status(store),
        version=store.version(),
        freshness=_freshness(session),
    )


def crawlers(store: Store) -> list[CrawlerStatus]:
    """Who works here, and who did."""
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


class HostList(msgspec.Struct, frozen=True, kw_only=True):
    """Hosts, those with most pages first."""

    total: int
    hosts: list[HostRow]


def hosts(session: ReadSession, limit: int) -> HostList:
    """The hosts."""
    return HostList(total=session.store.counts().hosts, hosts=session.store.hosts(limit))


class ErrorList(msgspec.Struct, frozen=True, kw_only=True):
    """What was not visited as it should have been, and why."""

    errors: list[ErrorRow]
    more: bool


def errors(session: ReadSession, outcome: str, limit: int, page_number: int) -> ErrorList:
    """What went wrong."""
    matching = (row for row in session.store.errors() if not outcome or row.outcome == outcome)
    first = (page_number - 1) * limit
    rows = list(islice(matching, first, first + limit + 1))
    return ErrorList(errors=rows[:limit], more=len(rows) > limit)


class RateHistory(msgspec.Struct, frozen=True, kw_only=True):
    """How many visits and bytes there were in each of the last seconds, oldest first."""

    now: float
    step: int
    seconds: list[int]
    pages: list[int]
    bytes: list[int]


def rate_history(store: Store, seconds: int, now: float) -> RateHistory:
    """The last whole seconds; those without visits have 0."""
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


class Tick(msgspec.Struct, frozen=True, kw_only=True):
    """A second that is over."""

    second: int
    pages: int
    bytes: int


class LiveStatus(Counts, frozen=True, kw_only=True):
    """What goes on, for those who watch."""

    now: float
    rate: float
    bytes_rate: float
    limit: str  # what holds the crawlers back
    crawlers: list[CrawlerStatus]
    waiting: list[WaitingHost]
    pages: list[LatestVisit]
    errors: list[LatestVisit]
    tick: Tick


LATEST_COUNT = 12  # pages and errors shown to those who watch
NO_CRAWLER = 0  # the id of no crawler: what waits for anybody


def live_status(store: Store, now: float) -> LiveStatus:
    """What goes on now."""
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
        rate=sum(crawler.pages_per_second for crawler in at_work),
        bytes_rate=sum(crawler.bytes_per_second for crawler in at_work),
        limit=", ".join(dict.fromkeys(crawler.limit for crawler in at_work if crawler.limit)),
        crawlers=all_crawlers,
        waiting=store.waiting_hosts(NO_CRAWLER, LATEST_COUNT),
        pages=store.latest_visits(LATEST_COUNT),
        errors=store.latest_visits(LATEST_COUNT, faults=True),
        tick=Tick(second=last.seconds[0], pages=last.pages[0], bytes=last.bytes[0]),
    )
