"""A fetcher, a parser and a frontier that answer the requests of rendered pages, without a browser."""

from __future__ import annotations

import time
from itertools import count
from typing import TYPE_CHECKING, Any

from gossamer.config import Settings
from gossamer.crawl.frontier import Frontier
from gossamer.crawl.log import CrawlLog
from gossamer.crawl.rendering.subresources import Subresources
from gossamer.crawl.round_settings import RoundSettings, parse_options
from gossamer.model import HostLease, Kind, Lease, PageRequest, PageResponse, Robots, Role
from gossamer.parse.pool import ParserPool
from helpers.fetch.fetch_loop import FetchLoop
from helpers.patience import until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from webs.served import SiteServer

HOST = 7


class RequestLoop:
    """A fetcher, a parser and a frontier, and the pages whose requests they answer."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        self.settings = Settings(**settings)
        hosts = self.settings.hosts
        self._fetching = FetchLoop(hosts=hosts)
        self.fetcher = self._fetching.fetcher
        round_settings = RoundSettings(self.settings)
        self.frontier = Frontier(
            self.settings.politeness, hosts, product="Gossamer", obey_robots=self.settings.crawl.robots
        )
        self.parsers = ParserPool(parse_options(self.settings), 1, self._fetching.selector)
        self.log = CrawlLog(folder / "log.jsonl", "Naiad")
        self.subresources = Subresources(
            self.settings, round_settings, self.frontier, self.fetcher, self.parsers, self.log, count(1)
        )
        self._numbers = count(1)
        self.answers: dict[int, PageResponse] = {}

    def hold(self, site: SiteServer, robots: str = "") -> None:
        """Hold the host of a site, with its rules."""
        rules = Robots(host=HOST, scheme="http", outcome="rules", text=robots, fetched_at=time.time())
        lease = Lease(resource=1, host=HOST, url=site.url, role=Role.PAGE, depth=0, hops=0, tries=0)
        held = HostLease(host=HOST, name=site.authority, ready_at=0.0, failures=0, robots=(rules,), leases=(lease,))
        self.frontier.add_host_lease(held, time.time())

    def ask(self, url: str, method: str = "GET", kind: Kind = Kind.DATA, job: int = 1, **rest: Any) -> int:
        number = next(self._numbers)
        self.fetcher.allow_private(url)
        asked = PageRequest(job, number, url, method, kind, rest.get("headers", {}), rest.get("body", b""))
        self.subresources.request(asked, rest.get("page", url), time.time())
        return number

    def step(self) -> None:
        now = time.time()
        for page in self.parsers.take_results():
            assert self.subresources.handle_page(page, now)
        self.subresources.start_transfers(now)
        self.answers |= {answer.id: answer for answer in self.subresources.take_answers()}
        for key, mask in self._fetching.selector.select(0.02):
            key.data(mask)
        self.fetcher.tick(time.monotonic())
        for fetched in self.fetcher.take_results():
            assert self.subresources.handle_response(fetched, now)

    def answer(self, number: int) -> PageResponse:
        def has_answer() -> bool:
            self.step()
            return number in self.answers

        until(has_answer, "the answer to a request")
        return self.answers[number]

    def run_until(self, condition: Callable[[], bool], event: str) -> None:
        def holds() -> bool:
            self.step()
            return condition()

        until(holds, event)

    def get(self, url: str, **rest: Any) -> PageResponse:
        return self.answer(self.ask(url, **rest))

    @staticmethod
    def now() -> float:
        return time.time()

    def close(self) -> None:
        self.fetcher.cancel_all()
        self.subresources.clear(time.time())
        self.parsers.close()
        self._fetching.close()
        self.log.close()
