"""The requests of rendered pages: which are sent, how, and what answers them."""

from __future__ import annotations

import gzip
import threading
import time
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest

from gossamer.config import CrawlSettings, HostSettings, PolitenessSettings, Settings
from gossamer.crawl.frontier import Frontier
from gossamer.crawl.log import CrawlLog
from gossamer.crawl.rendering.subresources import Subresources
from gossamer.crawl.round_settings import RoundSettings, parse_options
from gossamer.model import HostLease, Kind, Lease, PageRequest, PageResponse, Robots, Role
from gossamer.parse.pool import ParserPool
from helpers.fetch.fetch_loop import FetchLoop
from helpers.patience import until
from webs.served import SiteResponse, SiteServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

JSON = {"Content-Type": "application/json"}
TEXT = {"Content-Type": "text/plain"}
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
        self.subresources.request(asked, time.time())
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

    def close(self) -> None:
        self.fetcher.cancel_all()
        self.subresources.clear()
        self.parsers.close()
        self._fetching.close()
        self.log.close()


@pytest.fixture
def loop(tmp_path: Path) -> Iterator[RequestLoop]:
    loop = RequestLoop(tmp_path)
    yield loop
    loop.close()


@pytest.fixture
def site() -> Iterator[SiteServer]:
    with SiteServer({"/a.json": SiteResponse('"a"', headers=JSON)}) as server:
        yield server


def test_an_answer_is_decoded_and_keeps_its_headers(loop: RequestLoop, site: SiteServer) -> None:
    zipped = {**JSON, "Content-Encoding": "gzip", "X-Total": "3", "Set-Cookie": "id=1"}
    site.pages["/zipped.json"] = SiteResponse(gzip.compress(b'"zipped"'), headers=zipped)
    response = loop.get(f"{site.url}zipped.json")
    assert (response.status, response.body, response.headers["x-total"]) == (200, b'"zipped"', "3")
    assert not {"content-encoding", "content-length", "set-cookie"} & set(response.headers)


def test_equal_requests_share_a_transfer_and_the_cache(loop: RequestLoop, site: SiteServer) -> None:
    gate = threading.Event()
    site.pages["/slow.js"] = SiteResponse("1", headers={"Content-Type": "text/javascript"}, gate=gate)
    numbers = [loop.ask(f"{site.url}slow.js", kind=Kind.SCRIPT, job=job) for job in range(3)]
    loop.run_until(lambda: "/slow.js" in site.paths(), "the request")
    gate.set()
    assert [loop.answer(number).body for number in numbers] == [b"1"] * 3
    assert loop.get(f"{site.url}slow.js", kind=Kind.SCRIPT).body == b"1"
    assert site.paths() == ["/slow.js"]


@pytest.mark.parametrize(
    ("control", "times"),
    [("", 1), ("max-age=600", 1), ("no-store", 2), ("private", 2), ("max-age=0", 2)],
)
def test_the_cache_respects_what_a_server_says_about_data(
    loop: RequestLoop, site: SiteServer, control: str, times: int
) -> None:
    site.pages["/a.json"] = SiteResponse("1", headers={**JSON, "Cache-Control": control})
    for _ in range(2):
        loop.get(f"{site.url}a.json")
    assert len(site.paths()) == times


def test_errors_reach_the_page_and_are_not_cached(loop: RequestLoop, site: SiteServer) -> None:
    assert [loop.get(f"{site.url}missing").status for _ in range(2)] == [404, 404]
    assert site.paths() == ["/missing"] * 2


def test_a_redirect_is_left_to_the_browser(loop: RequestLoop, site: SiteServer) -> None:
    site.pages["/old"] = SiteResponse("", 302, {"Location": "/a.json"})
    response = loop.get(f"{site.url}old")
    assert (response.status, response.headers["location"]) == (302, f"{site.url}a.json")


def test_robots_rules_of_a_held_host_apply(loop: RequestLoop, site: SiteServer) -> None:
    loop.hold(site, "User-agent: *\nDisallow: /a.json")
    response = loop.get(f"{site.url}a.json")
    assert (response.status, response.reason, site.requests) == (0, "robots.txt", [])


def test_the_robots_txt_of_another_host_is_fetched_once(loop: RequestLoop, site: SiteServer) -> None:
    site.pages["/robots.txt"] = SiteResponse("User-agent: Gossamer\nDisallow: /b", headers=TEXT)
    assert loop.get(f"{site.url}a.json").status == 200
    assert loop.get(f"{site.url}b.json").reason == "robots.txt"
    assert [request.path for request in site.requests] == ["/robots.txt", "/a.json"]


def test_an_unreachable_robots_txt_forbids_everything(loop: RequestLoop, site: SiteServer) -> None:
    site.pages["/robots.txt"] = SiteResponse("", 500)
    assert "unreachable" in loop.get(f"{site.url}a.json").reason
    assert site.paths() == []


def test_without_robots_none_is_fetched(tmp_path: Path, site: SiteServer) -> None:
    loop = RequestLoop(tmp_path, crawl=CrawlSettings(robots=False))
    assert loop.get(f"{site.url}a.json").status == 200
    assert [request.path for request in site.requests] == ["/a.json"]
    loop.close()


@pytest.mark.parametrize("is_held", [True, False])
def test_a_host_gets_no_more_connections_than_it_may_have(tmp_path: Path, is_held: bool) -> None:
    gate = threading.Event()
    with SiteServer({f"/{n}": SiteResponse("1", headers=JSON, gate=gate) for n in range(5)}) as site:
        loop = RequestLoop(tmp_path, politeness=PolitenessSettings(connections=2))
        if is_held:
            loop.hold(site)
        numbers = [loop.ask(f"{site.url}{n}") for n in range(5)]
        loop.run_until(lambda: len(site.paths()) == 2, "two requests")
        for _ in range(20):
            loop.step()
        assert len(site.paths()) == 2
        gate.set()
        assert {loop.answer(number).status for number in numbers} == {200}
        loop.close()


def test_methods_need_the_permission_of_the_host(tmp_path: Path, site: SiteServer) -> None:
    loop = RequestLoop(tmp_path)
    refused = loop.get(f"{site.url}graphql", method="POST", body=b"{}")
    assert (refused.status, site.requests) == (0, [])
    assert "POST is not allowed" in refused.reason
    loop.close()
    loop = RequestLoop(tmp_path, hosts={site.authority: HostSettings(render_methods=("POST",))})
    site.pages["/graphql"] = SiteResponse('"answer"', headers=JSON)
    posted = {"method": "POST", "headers": {"content-type": "application/json"}}
    assert [loop.get(f"{site.url}graphql", body=body, **posted).body for body in (b"1", b"1")] == [b'"answer"'] * 2
    assert loop.get(f"{site.url}a.json").body == b'"a"'
    sent = [(request.method, request.body) for request in site.requests if request.path != "/robots.txt"]
    assert sent == [("POST", b"1"), ("POST", b"1"), ("GET", b"")]
    assert next(r for r in site.requests if r.method == "POST").headers["content-type"] == "application/json"
    loop.close()


def test_the_headers_of_scripts_are_sent_without_those_of_the_crawler(loop: RequestLoop, site: SiteServer) -> None:
    headers = {
        "accept": "application/json", "x-api": "7", "user-agent": "Somebody", "host": "other.test", "cookie": "a=1",
        "x-split": "a\r\nx-injected: 1", "sec-fetch-mode": "cors", "proxy-authorization": "x",
    }  # fmt: skip
    loop.get(f"{site.url}a.json", headers=headers)
    sent = site.requests[-1].headers
    assert (sent["accept"], sent["x-api"], sent["host"]) == ("application/json", "7", site.authority)
    assert sent["user-agent"].startswith("Gossamer/")
    assert not {"cookie", "x-split", "x-injected", "sec-fetch-mode", "proxy-authorization"} & set(sent)


def test_the_headers_of_a_host_win_over_those_of_scripts(tmp_path: Path, site: SiteServer) -> None:
    loop = RequestLoop(tmp_path, hosts={site.authority: HostSettings(headers={"X-Team": "search"})})
    loop.get(f"{site.url}a.json", headers={"x-team": "nobody", "accept": "application/json"})
    assert (site.requests[-1].headers["x-team"], site.requests[-1].headers["accept"]) == ("search", "application/json")
    loop.close()


def test_a_host_that_asks_to_wait_gets_no_further_requests(loop: RequestLoop, site: SiteServer) -> None:
    site.pages["/busy"] = SiteResponse("", 429, {"Retry-After": "60"})
    assert loop.get(f"{site.url}busy").status == 429
    assert loop.get(f"{site.url}a.json").reason == "its host asked to wait"
    assert site.paths() == ["/busy"]


def test_the_requests_of_a_finished_page_are_dropped(loop: RequestLoop, site: SiteServer) -> None:
    gate = threading.Event()
    site.pages["/first"] = SiteResponse("1", headers=JSON, gate=gate)
    loop.ask(f"{site.url}first", job=1)
    loop.ask(f"{site.url}a.json", job=1)
    kept = loop.ask(f"{site.url}kept.json", job=2)
    loop.run_until(lambda: "/first" in site.paths(), "the first request")
    loop.subresources.forget_job(1)
    gate.set()
    loop.answer(kept)
    assert site.paths() == ["/first", "/kept.json"]
