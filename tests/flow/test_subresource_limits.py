"""What the requests of rendered pages may not do: to hosts, to the memory of the crawler, to other sites."""

from __future__ import annotations

import threading
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from gossamer.config import CrawlSettings, HostSettings, PolitenessSettings
from gossamer.crawl.rendering.page_limits import PAGE_BYTES, PAGE_HOSTS
from helpers.render.rendering_crawl import JSON
from helpers.render.request_loop import HOST, RequestLoop
from webs.served import SiteResponse, SiteServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SECRET = {"X-Secret": "of the user"}
MEBIBYTE = 1 << 20


@pytest.fixture
def loop(tmp_path: Path) -> Iterator[RequestLoop]:
    loop = RequestLoop(tmp_path)
    yield loop
    loop.close()


@pytest.fixture
def site() -> Iterator[SiteServer]:
    with SiteServer({"/a.json": SiteResponse('"a"', headers=JSON)}) as server:
        yield server


@pytest.fixture
def other() -> Iterator[SiteServer]:
    with SiteServer({"/a.json": SiteResponse('"other"', headers=JSON)}) as server:
        yield server


def own_loop(folder: Path, site: SiteServer, **settings: object) -> RequestLoop:
    """Return a loop with settings of its own for the host of a site."""
    return RequestLoop(folder, hosts={site.authority: HostSettings(**settings)})  # type: ignore[arg-type]


# -- memory ------------------------------------------------------------------------------------------------------------


def test_the_answers_of_one_page_are_limited_in_bytes(loop: RequestLoop, site: SiteServer) -> None:
    site.pages["/large"] = SiteResponse(b"x" * (MEBIBYTE // 2), headers=JSON)
    fitting = PAGE_BYTES // (MEBIBYTE // 2) - 1  # headers count too
    numbers = [loop.ask(f"{site.url}large", job=1) for _ in range(fitting + 20)]
    neighbour = loop.ask(f"{site.url}large", job=2)
    answers = [loop.answer(number) for number in numbers]
    assert [answer.status for answer in answers] == [200] * fitting + [0] * 20
    assert answers[-1].reason == "its page got 64 MiB already"
    assert answers[0].body is answers[1].body, "one body for all"
    assert loop.answer(neighbour).status == 200
    assert loop.get(f"{site.url}a.json", job=1).status == 0
    assert (loop.subresources.forget_job(1), loop.subresources.forget_job(2)) == ("traffic", "")
    assert site.paths() == ["/large"]


# -- politeness --------------------------------------------------------------------------------------------------------


def test_a_page_may_ask_so_many_hosts(loop: RequestLoop) -> None:
    urls = [f"http://127.0.3.{number}:9/x" for number in range(PAGE_HOSTS + 1)]
    numbers = [loop.ask(url, page="http://127.0.0.1:9/") for url in urls]
    loop.ask("http://127.0.0.1:9/own", page="http://127.0.0.1:9/")
    refused = {answer.id: answer.reason for answer in loop.subresources.take_answers()}
    assert refused == {numbers[-1]: f"its page asks more than {PAGE_HOSTS} hosts"}
    assert loop.subresources.forget_job(1) == "hosts"


def test_robots_txt_of_many_hosts_take_no_more_transfers_than_there_are(tmp_path: Path) -> None:
    gate = threading.Event()
    held = SiteResponse("", headers={"Content-Type": "text/plain"}, gate=gate)
    loop = RequestLoop(tmp_path, politeness=PolitenessSettings(transfers=2))
    with ExitStack() as stack:
        sites = [stack.enter_context(SiteServer({"/robots.txt": held})) for _ in range(5)]
        numbers = [loop.ask(f"{site.url}a.json", page="http://127.0.0.1:9/") for site in sites]
        loop.run_until(lambda: sum(len(site.requests) for site in sites) == 2, "two requests")
        for _ in range(20):
            loop.step()
            assert loop.fetcher.active_count <= 2
        gate.set()
        assert {loop.answer(number).status for number in numbers} == {404}
    loop.close()


def test_hosts_at_one_address_share_its_connections(tmp_path: Path, site: SiteServer, other: SiteServer) -> None:
    politeness = PolitenessSettings(connections=1, connections_per_address=1)
    loop = RequestLoop(tmp_path, politeness=politeness, crawl=CrawlSettings(robots=False))
    gate = threading.Event()
    site.pages["/slow"] = SiteResponse("1", headers=JSON, gate=gate)
    assert [loop.get(f"{each.url}a.json").status for each in (site, other)] == [200, 200], "their address is known now"
    slow = loop.ask(f"{site.url}slow")
    loop.run_until(lambda: "/slow" in site.paths(), "the request")
    later = loop.ask(f"{other.url}later.json")
    for _ in range(20):
        loop.step()
    assert other.paths() == ["/a.json"]
    gate.set()
    assert (loop.answer(slow).status, loop.answer(later).status) == (200, 404)
    loop.close()


@pytest.mark.parametrize("is_held", [True, False])
@pytest.mark.parametrize("status", [429, 503])
def test_a_failure_makes_a_host_rest(loop: RequestLoop, site: SiteServer, status: int, is_held: bool) -> None:
    if is_held:
        loop.hold(site)
    site.pages["/busy"] = SiteResponse("", status, {"Retry-After": "60"})
    assert loop.get(f"{site.url}busy").status == status
    assert "asked to wait" in loop.get(f"{site.url}a.json", job=2).reason
    assert (loop.subresources.forget_job(1), loop.subresources.forget_job(2)) == ("", "rest")
    assert site.paths() == ["/busy"]
    if is_held:
        assert loop.frontier.rest_seconds(HOST, loop.now()) > 30, "its pages rest too"
        assert loop.frontier.next_work(loop.now()) is None


def test_a_request_waits_for_a_short_rest(loop: RequestLoop, site: SiteServer) -> None:
    loop.hold(site)
    site.pages["/broken"] = SiteResponse("", 500)
    assert loop.get(f"{site.url}broken").status == 500
    assert loop.frontier.rest_seconds(HOST, loop.now()) > 0
    assert loop.get(f"{site.url}a.json").status == 200
    assert site.requests[-1].at - site.requests[-2].at > 0.5


def test_the_pause_between_pages_holds_up_no_request_of_a_page(tmp_path: Path, site: SiteServer) -> None:
    loop = RequestLoop(tmp_path, politeness=PolitenessSettings(delay=86_400.0))
    loop.hold(site)
    answers = [loop.get(f"{site.url}a.json?{number}") for number in range(5)]  # would wait for a day
    assert [answer.status for answer in answers] == [404] * 5
    assert len(site.paths()) == 5
    loop.close()


# -- what the user wants -----------------------------------------------------------------------------------------------


def test_exclusions_and_the_limit_of_urls_hold_for_requests_of_pages(tmp_path: Path, site: SiteServer) -> None:
    loop = RequestLoop(tmp_path, crawl=CrawlSettings(exclude=("/private/",), max_url_length=200))
    assert loop.get(f"{site.url}private/a.json").reason == "excluded by /private/"
    assert loop.get(f"{site.url}{'a' * 200}").reason == "URL too long"
    assert loop.get(f"{site.url}a.json").status == 200, "the area of the crawl does not matter"
    assert site.paths() == ["/a.json"]
    loop.close()


# -- other sites -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("origin", [None, "null", "http://evil.test"])
def test_pages_and_frames_of_other_sites_write_nothing(
    tmp_path: Path, site: SiteServer, other: SiteServer, origin: str | None
) -> None:
    loop = own_loop(tmp_path, site, render_methods=("POST",))
    page, headers = (site.url, {"origin": origin}) if origin else (other.url, {})
    refused = loop.get(f"{site.url}graphql", method="POST", body=b"{}", page=page, headers=headers)
    assert refused.reason == f"POST to {site.authority} is allowed to pages of its own site only"
    assert site.requests == []
    own = loop.get(f"{site.url}a.json", method="POST", page=site.url, headers={"origin": site.url.rstrip("/")})
    assert own.status == 200
    loop.close()


def test_credentials_are_for_pages_of_the_same_site(tmp_path: Path, site: SiteServer, other: SiteServer) -> None:
    loop = own_loop(tmp_path, site, headers=SECRET)
    url = f"{site.url}a.json"
    for page, origin in ((other.url, None), (site.url, "http://evil.test"), (site.url, None)):
        loop.get(url, page=page, headers={"origin": origin} if origin else {})
    sent = [request.headers.get("x-secret") for request in site.requests if request.path == "/a.json"]
    assert sent == [None, None, SECRET["X-Secret"]], "no cached answer crosses from one to the other"
    loop.close()


def test_the_origin_of_a_page_is_sent_and_part_of_the_cache(loop: RequestLoop, site: SiteServer) -> None:
    for origin in ("http://one.test", "http://two.test", "http://one.test"):
        loop.get(f"{site.url}a.json", headers={"origin": origin})
    sent = [request.headers["origin"] for request in site.requests if request.path == "/a.json"]
    assert sent == ["http://one.test", "http://two.test"]
