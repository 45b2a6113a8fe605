"""The requests of rendered pages: which are sent, how, and what answers them."""

from __future__ import annotations

import gzip
import threading
from typing import TYPE_CHECKING

import pytest

from gossamer.config import CrawlSettings, HostSettings, PolitenessSettings
from gossamer.model import Kind
from helpers.render.rendering_crawl import JSON
from helpers.render.request_loop import RequestLoop
from webs.served import SiteResponse, SiteServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TEXT = {"Content-Type": "text/plain"}


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
    assert loop.get(f"{site.url}a.json").reason == "its host asked to wait, or fails"
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
