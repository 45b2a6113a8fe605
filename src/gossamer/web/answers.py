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
from gossamer.lookup import find
from gossamer.revisit.pace import schedule_from_settings
from gossamer.search.service import Answer
from gossamer.store.follow.graph import Ranks
from gossamer.store.values import (
    ChangeRow,
    Counts,
    Crawler,
    ErrorRow,
    Freshness,
    HostRow,
    LatestVisit,
    LinkRow,
    ResourceRow,
    VisitRow,
    Waiting,
)
from gossamer.urls.canonical import urls_from_input
from gossamer.web.http.problems import NotKnown
from gossamer.web.search.facets import Facets, Filters, facets, with_filters

if TYPE_CHECKING:
    from gossamer.index.word_table import DocumentOrder
    from gossamer.store.protocol import Store
    from gossamer.web.http.sessions import Desk


# -- search ------------------------------------------------------------------------------------------------------------


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """What is searched for, and how much of it."""

    q: str
    page: int = 1
    limit: int = 10
    explain: bool = False
    filters: Filters = Filters()


class SearchAnswer(Answer, frozen=True, kw_only=True):
    """What was found."""

    facets: Facets | None = None


def search(desk: Desk, asked: Question, *, with_facets: bool = False) -> SearchAnswer:
    """Search. Filters are put into words: a page that shows them can also show the question they make."""
    text = with_filters(asked.q, asked.filters)
    answer = desk.searcher.search(text, page=asked.page, limit=asked.limit, explain=asked.explain)
    told = {name: getattr(answer, name) for name in Answer.__struct_fields__}
    if answer.suggestion is not None:
        told["suggestion"] = answer.suggestion.removesuffix(text.removeprefix(asked.q))
    told["query"] = asked.q
    found = facets(desk, asked.q, asked.filters, [hit.host for hit in answer.hits]) if with_facets else None
    return SearchAnswer(**told, facets=found)


class Completions(msgspec.Struct, frozen=True, kw_only=True):
    """How what was typed may go on."""

    query: str
    completions: list[str]


def complete(desk: Desk, text: str, limit: int) -> Completions:
    """Complete the last word."""
    return Completions(query=text, completions=desk.searcher.complete(text, limit))


def word(desk: Desk, typed: str, order: DocumentOrder, page_number: int, limit: int) -> WordEntry:
    """The word table's entry of a word."""
    return WordTable(desk.store, desk.index).entry(typed, order=order, page=page_number, limit=limit)


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
        return find(store, url)
    except UsageError as error:
        raise NotKnown(str(error)) from error


def page(desk: Desk, url: str, limit: int) -> PageAnswer:
    """All that is known of a resource."""
    store = desk.store
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


def text(desk: Desk, url: str) -> TextAnswer:
    """The text of a page."""
    row = resource(desk.store, url)
    runs = desk.store.text(row.id)
    if runs is None:
        raise NotKnown(f"{row.url} has no text: {row.reason or row.outcome or row.state}.")
    return TextAnswer(url=row.url, text=[TextRun(field=field.name.lower(), text=run) for field, run in runs])


# -- what is there, and what goes on -----------------------------------------------------------------------------------


class CrawlerTold(Crawler, frozen=True, kw_only=True):
    """A crawler, and whether it works now."""

    at_work: bool


class RoundTold(msgspec.Struct, frozen=True, kw_only=True):
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

    crawlers: list[CrawlerTold]
    rate: float  # pages a second, all crawlers together
    round: RoundTold | None
    version: int
    freshness: Freshness


def status(desk: Desk) -> Status:
    """What is there, and what is going on now."""
    store = desk.store
    at_work = [crawler for crawler in crawlers(store) if crawler.at_work]
    counts = store.counts()
    return Status(
        resources=counts.resources,
        hosts=counts.hosts,
        links=counts.links,
        documents=counts.documents,
        crawlers=at_work,
        rate=sum(crawler.pages_per_second for crawler in at_work),
        round=_round(store),
        version=store.version(),
        freshness=_freshness(desk),
    )


def crawlers(store: Store) -> list[CrawlerTold]:
    """Who works here, and who did."""
    return [
        CrawlerTold(**msgspec.structs.asdict(each), at_work=each.state not in {"stopped", "lost"})
        for each in store.crawlers()
    ]


def _round(store: Store) -> RoundTold | None:
    current = store.current_round()
    if current is None:
        return None
    told = msgspec.structs.asdict(current)
    return RoundTold(**told | {"settings": msgspec.json.decode(current.settings)})


def _freshness(desk: Desk) -> Freshness:
    settings = load(file=None, store_dir=local_directory(desk.place), environ=os.environ, flags={}).settings
    return desk.store.freshness(schedule_from_settings(settings.freshness, desk.store.paces()), time.time())


class Hosts(msgspec.Struct, frozen=True, kw_only=True):
    """Hosts, those with most pages first."""

    total: int
    hosts: list[HostRow]


def hosts(desk: Desk, limit: int) -> Hosts:
    """The hosts."""
    return Hosts(total=desk.store.counts().hosts, hosts=desk.store.hosts(limit))


class Errors(msgspec.Struct, frozen=True, kw_only=True):
    """What was not visited as it should have been, and why."""

    errors: list[ErrorRow]
    more: bool


def errors(desk: Desk, outcome: str, limit: int, page_number: int) -> Errors:
    """What went wrong."""
    found = (row for row in desk.store.errors() if not outcome or row.outcome == outcome)
    first = (page_number - 1) * limit
    rows = list(islice(found, first, first + limit + 1))
    return Errors(errors=rows[:limit], more=len(rows) > limit)


class Pace(msgspec.Struct, frozen=True, kw_only=True):
    """How many visits and bytes there were in each of the last seconds, oldest first."""

    now: float
    step: int
    seconds: list[int]
    pages: list[int]
    bytes: list[int]


def pace(store: Store, seconds: int, now: float) -> Pace:
    """The last whole seconds; those without visits have 0."""
    end = int(now)
    counted = {second: (pages, amount) for second, pages, amount in store.by_second(end - seconds)}
    span = range(end - seconds, end)
    return Pace(
        now=now,
        step=1,
        seconds=list(span),
        pages=[counted.get(second, (0, 0))[0] for second in span],
        bytes=[counted.get(second, (0, 0))[1] for second in span],
    )


class Tick(msgspec.Struct, frozen=True, kw_only=True):
    """A second that is over."""

    second: int
    pages: int
    bytes: int


class Live(Counts, frozen=True, kw_only=True):
    """What goes on, for those who watch."""

    now: float
    rate: float
    bytes_rate: float
    limit: str  # what holds the crawlers back
    crawlers: list[CrawlerTold]
    waiting: list[Waiting]
    pages: list[LatestVisit]
    errors: list[LatestVisit]
    tick: Tick


LATEST = 12  # pages and errors shown to those who watch
NOBODY = 0  # the id of no crawler: what waits for anybody


def live(store: Store, now: float) -> Live:
    """What goes on now."""
    everybody = crawlers(store)
    at_work = [crawler for crawler in everybody if crawler.at_work]
    counts = store.counts()
    last = pace(store, 2, now)
    return Live(
        now=now,
        resources=counts.resources,
        hosts=counts.hosts,
        links=counts.links,
        documents=counts.documents,
        rate=sum(crawler.pages_per_second for crawler in at_work),
        bytes_rate=sum(crawler.bytes_per_second for crawler in at_work),
        limit=", ".join(dict.fromkeys(crawler.limit for crawler in at_work if crawler.limit)),
        crawlers=everybody,
        waiting=store.waiting(NOBODY, LATEST),
        pages=store.latest(LATEST),
        errors=store.latest(LATEST, faults=True),
        tick=Tick(second=last.seconds[0], pages=last.pages[0], bytes=last.bytes[0]),
    )
