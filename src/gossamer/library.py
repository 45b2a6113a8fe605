"""Gossamer for programs: `Crawler` crawls a site, `open_web` reads a stored web.

from gossamer import Crawler, open_web

for page in Crawler("https://example.org", scope="host", max_pages=100):
    print(page.url, page.title, len(page.links))

with open_web("web/") as web:
    print(web.page("https://example.org/").title)
"""

from __future__ import annotations

import os
import queue
import threading
from contextlib import closing
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self, Unpack

import msgspec
import zstandard

from gossamer import start, wiring
from gossamer.config.named import keywords_to_keys
from gossamer.errors import CrawlerLost, SeedUnreachable
from gossamer.indexing import IndexFollower
from gossamer.lookup import find_resource, stored_url_rules
from gossamer.model import PAGE_OUTCOMES, Field, Kind, Position, Role, State, Value
from gossamer.urls.canonical import url_digest, urls_from_input

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

    from gossamer.config.named import NamedSettings
    from gossamer.crawl.loop import CrawlLoop
    from gossamer.crawl.statistics import CrawlProgress
    from gossamer.graph.snapshot import Graph
    from gossamer.index.protocol import IndexReader
    from gossamer.index.word_table import DocumentOrder, WordEntry
    from gossamer.model import Visit
    from gossamer.search.service import Answer, Searcher
    from gossamer.store.follow.graph import Ranking, Ranks
    from gossamer.store.protocol import Store
    from gossamer.store.values import Counts, ErrorRow, HostRow, LinkRow, ResourceRow, VisitRow

MAX_WAITING_PAGES = 512  # pages that wait for the program; above, the crawl starts no transfers


class Link(Value, frozen=True, kw_only=True):
    """A link of a page."""

    url: str
    kind: Kind
    anchor: str
    follow: bool
    weight: int
    rel: str
    position: Position


class VisitedPage:
    """A page that a crawl has visited and stored. Text, source and links are decoded at first use."""

    def __init__(self, visit: Visit) -> None:
        self._visit = visit
        page = visit.page
        self.url = visit.lease.url
        self.status = visit.status
        self.depth = visit.lease.depth
        self.visited_at = visit.visited_at
        self.media_type = visit.media_type
        self.title = page.title if page else ""
        self.description = page.description if page else ""
        self.language = page.language if page else ""
        self.charset = page.charset if page else ""

    def __repr__(self) -> str:
        return f"<VisitedPage {self.url} {self.status}>"

    @cached_property
    def fields(self) -> list[tuple[Field, str]]:
        """The text by field, in reading order."""
        from gossamer.store.content import decode_text  # noqa: PLC0415 - only programs that read text need it

        page = self._visit.page
        return decode_text(page.text) if page and page.text else []

    @property
    def text(self) -> str:
        """The text, one run a line."""
        return "\n".join(text for _, text in self.fields)

    @cached_property
    def source(self) -> bytes:
        """The decoded body; empty if `crawl.source` is off."""
        page = self._visit.page
        return zstandard.decompress(page.source) if page and page.source else b""

    @cached_property
    def links(self) -> list[Link]:
        """The links, in order of first occurrence."""
        page = self._visit.page
        if page is None:
            return []
        rows = page.links
        columns = (rows.urls, rows.kinds, rows.anchors, rows.follows, rows.weights, rows.rels, rows.positions)
        return [
            Link(url=url, kind=Kind(kind), anchor=anchor, follow=follow, weight=weight, rel=rel, position=Position(at))
            for url, kind, anchor, follow, weight, rel, at in zip(*columns, strict=True)
        ]


class Crawler:
    """A crawl to iterate over. It yields each page after storing it.

    Keyword arguments are settings by name (`max_pages=100, delay=0.5, scope="domain"`); see
    docs/reference/settings.md. Settings of the index and the search service have their section as prefix (`index_url`,
    `search_service_url`). `query` asks the search service for seeds, so the setting `crawl.query` is `url_query` here,
    like its flag. `revisit` visits known pages again: those that are "due", or "all".

    The crawl runs in its own thread, so that a slow loop body does not make transfers time out. Leaving the loop stops
    the crawl.
    """

    def __init__(
        self,
        *urls: str,
        store: str | Path = "web",
        config_file: str | Path | None = None,
        query: str = "",
        revisit: Literal["", "due", "all"] = "",
        **settings: Unpack[NamedSettings],
    ) -> None:
        self._request = start.CrawlRequest(
            store=str(store),
            urls=urls,
            query=query,
            revisit=revisit,
            flags=keywords_to_keys(settings),
            config_file=Path(config_file) if config_file is not None else None,
            environ=os.environ,
        )
        self._loop: CrawlLoop | None = None
        self.index_fault = ""  # why indexing failed, if it did; the pages are stored nevertheless

    def __iter__(self) -> Iterator[VisitedPage]:
        loop = start.prepare_crawl(self._request)
        if isinstance(loop, start.AlreadyComplete):
            return
        self._loop = loop
        follower = IndexFollower(self._request.store, loop.index_settings) if loop.index_settings else None
        pages: queue.Queue[VisitedPage | BaseException | None] = queue.Queue()
        thread = threading.Thread(target=_run_crawl, args=(loop, pages), name="crawl", daemon=True)
        thread.start()
        try:
            while (item := pages.get()) is not None:
                loop.set_backpressure(on=pages.qsize() > MAX_WAITING_PAGES)
                if isinstance(item, BaseException):
                    raise item
                yield item
        finally:
            loop.stop()
            loop.set_backpressure(on=False)
            thread.join()
            self._loop = None
            if follower is not None:
                self.index_fault = follower.finish()

    def stop(self) -> None:
        """Finish transfers in flight and end the iteration."""
        if self._loop is not None:
            self._loop.stop()

    @property
    def progress(self) -> CrawlProgress | None:
        """The current state, counts and rates; None if the crawl is not running."""
        return self._loop.progress() if self._loop is not None else None


def _run_crawl(loop: CrawlLoop, pages: queue.Queue[VisitedPage | BaseException | None]) -> None:
    try:
        for visit in loop.run():
            if visit.outcome in PAGE_OUTCOMES and visit.lease.role is Role.PAGE:
                pages.put(VisitedPage(visit))
                loop.set_backpressure(on=pages.qsize() > MAX_WAITING_PAGES)
        if loop.failure_message:
            pages.put(SeedUnreachable(loop.failure_message))
        if loop.lost_message:
            pages.put(CrawlerLost(loop.lost_message))
    except BaseException as error:  # noqa: BLE001 - handed to the thread that iterates, which raises it
        pages.put(error)
    pages.put(None)


class Web:
    """A stored web, for reading."""

    def __init__(self, store: Store, place: str) -> None:
        self._store = store
        self._location = place
        self._reader: IndexReader | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the store and the index."""
        if self._reader is not None:
            self._reader.close()
            self._reader = None
        self._store.close()

    def counts(self) -> Counts:
        """Return the numbers of resources, hosts and links."""
        return self._store.counts()

    def page(self, url: str) -> ResourceRow | None:
        """Return a resource; None if it is not known."""
        rules = stored_url_rules(self._store)
        return next(
            (row for each in urls_from_input(url) if (row := self._store.resource(url_digest(each, rules)))), None
        )

    def pages(self) -> Iterator[ResourceRow]:
        """Return all visited pages, without sitemaps, redirects and checked links."""
        visited = self._store.resources(State.VISITED)
        return (row for row in visited if row.role == Role.PAGE and row.outcome in PAGE_OUTCOMES)

    def resources(self) -> Iterator[ResourceRow]:
        """Return all known resources."""
        return self._store.resources()

    def hosts(self) -> list[HostRow]:
        """Return all hosts."""
        return self._store.hosts()

    def errors(self) -> Iterator[ErrorRow]:
        """Return the resources that could not be visited, with reasons."""
        return self._store.errors()

    def inlinks(self, url: str) -> list[LinkRow]:
        """Return the links to a resource."""
        return self._store.inlinks(self._resource_id(url))

    def outlinks(self, url: str) -> list[LinkRow]:
        """Return the links of a page."""
        return self._store.outlinks(self._resource_id(url))

    def report(self, name: str, *, url: str = "", since: float = 0.0) -> Iterator[dict[str, object]]:
        """Return the rows of a report (docs/reference/reports.md), by its name or code.

        `url` is for reports about one resource, `since` (Unix time) for reports about changes.
        """
        from gossamer.graph.reports import run_report  # noqa: PLC0415 - many programs run no report

        return run_report(self._store, name, resource=self._resource_id(url) if url else None, since=since)

    def visits(self, url: str) -> list[VisitRow]:
        """Return the visits of a resource."""
        return self._store.visits(self._resource_id(url))

    def fields(self, url: str) -> list[tuple[Field, str]]:
        """Return the text of a page by field."""
        return self._store.text(self._resource_id(url)) or []

    def source(self, url: str) -> bytes | None:
        """Return the stored source of a page; None if there is none."""
        return self._store.source(self._resource_id(url))

    # -- the link graph ------------------------------------------------------------------------------------------------

    def rank(self, **options: object) -> Ranking:
        """Compute ranks and write them to the store: `measures`, `alpha`, `weighted`, `include_unvisited`."""
        from gossamer.graph import arrays  # noqa: PLC0415 - numpy and scipy are loaded only when needed
        from gossamer.graph.ranking import rank_web  # noqa: PLC0415 - numpy and scipy are loaded only when needed

        rank_options = msgspec.convert(options, rank_web.RankOptions)
        with closing(wiring.open_store(self._location)) as store, arrays.graph_directory(self._location) as directory:
            return rank_web.rank_web(store, directory, rank_options)

    def ranking(self) -> Ranking | None:
        """Return when and how the ranks were computed; None if there are none."""
        return self._store.ranking()

    def ranks(self, url: str) -> Ranks | None:
        """Return the ranks of a page; None if it was not ranked."""
        return self._store.ranks(self._resource_id(url))

    def graph(self, *, include_unvisited: bool = False) -> Graph:
        """Return the links between visited pages as memory-mapped arrays."""
        from gossamer.graph import arrays, snapshot  # noqa: PLC0415

        with arrays.graph_directory(self._location) as directory:
            return snapshot.open_graph(self._store, directory, include_unvisited=include_unvisited)

    # -- the index -----------------------------------------------------------------------------------------------------

    def word(self, word: str, *, order: DocumentOrder = "frequency", page: int = 1, limit: int = 20) -> WordEntry:
        """Return a word's entry in the word table, with one page of its documents."""
        from gossamer.index.word_table import WordTable  # noqa: PLC0415 - numpy and Tantivy are loaded only when needed

        return WordTable(self._store, self._index()).entry(word, order=order, page=page, limit=limit)

    def search(self, text: str, *, page: int = 1, limit: int = 10, explain: bool = False) -> Answer:
        """Search with the query language; pages count from 1."""
        return self._searcher().search(text, page=page, limit=limit, explain=explain)

    def complete(self, text: str, limit: int = 8) -> list[str]:
        """Return completions of a query's last word, each with the whole query."""
        return self._searcher().complete(text, limit)

    def _searcher(self) -> Searcher:
        return wiring.build_searcher(self._store, self._index(), self._location)

    def _index(self) -> IndexReader:
        """Return a reader of the last commit of the index."""
        if self._reader is not None and not self._reader.is_current():
            self._reader.close()
            self._reader = None
        if self._reader is None:
            self._reader = wiring.open_index(self._location)
        return self._reader

    def _resource_id(self, url: str) -> int:
        return find_resource(self._store, url).id


def open_web(place: str | Path = "web") -> Web:
    """Open a stored web for reading."""
    return Web(wiring.open_store(str(place), read_only=True), str(place))
