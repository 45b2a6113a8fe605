"""A crawl to iterate over; it runs in a thread of its own.

The thread hands each stored page over in a queue. A loop body that is slow makes the crawl wait, not fail.
"""

from __future__ import annotations

import asyncio
import os
import queue
import threading
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self, Unpack

from gossamer import start
from gossamer.config.named import keywords_to_keys
from gossamer.errors import CrawlerLost, SeedUnreachable
from gossamer.indexing import IndexFollower
from gossamer.library.visited import VisitedPage
from gossamer.model import PAGE_OUTCOMES, Role
from gossamer.ranking import count_after_crawl, rank_after_crawl

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Generator, Iterator
    from types import TracebackType

    from gossamer.config.named import NamedSettings
    from gossamer.crawl.loop import CrawlLoop
    from gossamer.crawl.statistics import CrawlProgress

MAX_WAITING_PAGES = 512  # pages that wait for the program; above, the crawl starts no transfers


class Crawler:
    """A crawl to iterate over. It yields each page after storing it.

    Keyword arguments are settings by name (`max_pages=100, delay=0.5, scope="domain"`); see
    docs/reference/settings.md. Settings of the index and the search service have their section as prefix (`index_url`,
    `search_service_url`). `query` asks the search service for seeds, so the setting `crawl.query` is `url_query` here,
    like its flag. `revisit` visits known pages again: those that are "due", or "all".

    The crawl runs in its own thread, so that a slow loop body does not make transfers time out. Leaving the loop stops
    the crawl. `async for` works too. `with Crawler(...) as pages` stops the crawl at the end of the block, whatever
    holds its iterator.
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
        # The last iteration; weak, so that a loop that is left ends its generator, and with it the crawl, at once.
        self._pages: weakref.ref[Generator[VisitedPage]] | None = None
        self.index_fault = ""  # why indexing failed, if it did; the pages are stored nevertheless
        self.ranking_fault = ""  # why the web was not ranked at the end, if it should have been

    def __repr__(self) -> str:
        now = self.progress
        state = f"{now.name} is {now.state}: {now.pages:,} pages" if now else "not running"
        return f"<Crawler {', '.join(self._request.urls) or 'of the last crawl'} in {self._request.store}: {state}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pages is not None and (pages := self._pages()) is not None:
            pages.close()

    def __iter__(self) -> Iterator[VisitedPage]:
        pages = self._crawl()
        self._pages = weakref.ref(pages)
        return pages

    async def __aiter__(self) -> AsyncIterator[VisitedPage]:
        pages = self._crawl()
        event_loop, step = asyncio.get_running_loop(), None
        try:
            while True:
                step = event_loop.run_in_executor(None, next, pages, None)
                page = await asyncio.shield(step)  # a cancelled wait leaves the thread at work
                if page is None:
                    return
                yield page
        finally:
            self.stop()
            if step is not None:
                await asyncio.wait({step})
            await event_loop.run_in_executor(None, pages.close)

    def _crawl(self) -> Generator[VisitedPage]:
        loop = start.prepare_crawl(self._request)
        if isinstance(loop, start.AlreadyComplete):
            self._rank(wanted=loop.rank)
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
        self._rank(wanted=loop.wants_ranking)

    def _rank(self, *, wanted: bool) -> None:
        report = rank_after_crawl(self._request.store) if wanted else None
        self.ranking_fault = report.reason if report is not None else ""
        if wanted:
            count_after_crawl(self._request.store)

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
