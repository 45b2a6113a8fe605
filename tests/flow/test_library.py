"""The library as programs use it: real crawls of small sites, iterated, interrupted and continued."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from gossamer import Crawler, open_web
from gossamer.crawl import loop
from gossamer.errors import SeedUnreachable, UsageError
from gossamer.model import Field, Kind
from webs.served import SiteResponse, SiteServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HANGS = 10_000.0  # seconds; above the timeout of a test
HOME = '<!doctype html><title>Home</title><p>Some words <a href="/a">to a</a> <a href="/gone">lost</a></p>'


@pytest.fixture
def site() -> Iterator[SiteServer]:
    with SiteServer({"/": HOME, "/a": '<title>A</title><a href="/b">b</a>', "/b": "<title>B</title>"}) as served:
        yield served


def many_pages(number: int) -> dict[str, str | SiteResponse]:
    index = "".join(f'<a href="/{n}">{n}</a>' for n in range(number))
    return {"/": index, **{f"/{n}": f"<title>{n}</title>" for n in range(number)}}


def test_a_crawl_yields_its_pages_and_nothing_else(site: SiteServer, tmp_path: Path) -> None:
    pages = list(Crawler(site.url, store=tmp_path / "web"))
    assert {(page.url.removeprefix(site.url), page.title, page.status) for page in pages} == {
        ("", "Home", 200), ("a", "A", 200), ("b", "B", 200),
    }  # fmt: skip


def test_a_crawl_ends_at_its_page_limit_without_waiting_for_a_heartbeat(
    site: SiteServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "HEARTBEAT_SECONDS", HANGS)
    assert len(list(Crawler(site.url, store=tmp_path / "web", max_pages=2))) == 2


def test_a_page_has_its_links_text_and_source(site: SiteServer, tmp_path: Path) -> None:
    home = next(iter(Crawler(site.url, store=tmp_path / "web", max_pages=1)))
    assert [(link.url, link.kind, link.anchor, link.weight, link.follow) for link in home.links] == [
        (f"{site.url}a", Kind.HYPERLINK, "to a", 1, True),
        (f"{site.url}gone", Kind.HYPERLINK, "lost", 1, True),
    ]
    assert home.fields == [(Field.TITLE, "Home"), (Field.PARAGRAPH, "Some words to a lost")]
    assert home.text == "Home\nSome words to a lost"
    assert home.source == HOME.encode()


def test_an_interrupted_loop_continues_where_it_stopped(tmp_path: Path) -> None:
    with SiteServer(many_pages(30)) as site:
        first = []
        for page in Crawler(site.url, store=tmp_path / "web", delay=0.01):
            first.append(page.url)
            if len(first) == 3:
                break
        with open_web(tmp_path / "web") as web:
            stored = {page.url for page in web.pages()}
        assert set(first) <= stored
        assert len(stored) < 31
        rest = {page.url for page in Crawler(store=tmp_path / "web")}
        assert len(stored) + len(rest) == 31
        assert len(site.paths()) == 31, "no page is fetched twice"


def test_settings_are_given_by_their_names(site: SiteServer, tmp_path: Path) -> None:
    web = tmp_path / "web"
    pages = list(Crawler(site.url, store=web, max_depth=1, source=False, url_query="strip", confirm_gone=1.0))
    assert {page.title for page in pages} == {"Home", "A"}
    assert {page.source for page in pages} == {b""}


def test_an_unknown_setting_is_refused_at_once() -> None:
    with pytest.raises(UsageError, match="no setting max_page;"):
        Crawler("https://example.org/", max_page=1)  # type: ignore[call-arg]  # type checkers report it


def test_a_settings_file_may_be_given_as_a_string(site: SiteServer, tmp_path: Path) -> None:
    (tmp_path / "some.toml").write_text("[crawl]\nmax_depth = 0\n")
    pages = list(Crawler(site.url, store=str(tmp_path / "web"), config_file=str(tmp_path / "some.toml")))
    assert [page.title for page in pages] == ["Home"]


def test_a_web_is_visited_again_on_request(site: SiteServer, tmp_path: Path) -> None:
    list(Crawler(site.url, store=tmp_path / "web"))
    assert list(Crawler(site.url, store=tmp_path / "web")) == []
    assert len(list(Crawler(store=tmp_path / "web", revisit="all"))) == 3


def test_a_crawl_starts_from_a_search_query(site: SiteServer, tmp_path: Path) -> None:
    with SiteServer({"/?q=silk": f'<a href="{site.url}b">found</a>'}) as service:
        (tmp_path / "some.toml").write_text(f'[search_service]\nurl = "{service.url}?q={{query}}"\n')
        crawler = Crawler(
            query="silk", store=tmp_path / "web", config_file=tmp_path / "some.toml", allow_private=["127.0.0.0/8"]
        )
        assert [page.title for page in crawler] == ["B"]


def test_a_program_sets_its_search_service(site: SiteServer, tmp_path: Path) -> None:
    with SiteServer({"/?q=silk": f'<a href="{site.url}b">found</a>'}) as service:
        crawler = Crawler(
            query="silk", store=tmp_path / "web", search_service_url=f"{service.url}?q={{query}}",
            allow_private=["127.0.0.0/8"],
        )  # fmt: skip
        assert [page.title for page in crawler] == ["B"]


def test_a_program_sets_the_headers_of_a_host(site: SiteServer, tmp_path: Path) -> None:
    list(
        Crawler(site.url, store=tmp_path / "web", max_pages=1, hosts={site.authority: {"headers": {"X-Team": "docs"}}})
    )
    assert {request.headers.get("x-team") for request in site.requests if request.path == "/"} == {"docs"}


def test_an_unreachable_seed_raises_an_error(tmp_path: Path) -> None:
    with SiteServer({}) as closed:
        pass
    with pytest.raises(SeedUnreachable, match=closed.authority):
        list(Crawler(closed.url, store=tmp_path / "web", retries=1))


def test_a_slow_loop_loses_no_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gossamer.library.crawler.MAX_WAITING_PAGES", 3)
    with SiteServer(many_pages(60)) as site:
        seen = []
        for page in Crawler(site.url, store=tmp_path / "web", batch_visits=4):
            seen.append(page.url)
            time.sleep(0.01)
    assert len(seen) == len(set(seen)) == 61


def test_a_crawl_on_loopback_never_reports_politeness_as_its_limit(tmp_path: Path) -> None:
    """Each page links only to the next, so the crawler has nothing to do until the store has the page."""
    chain = {f"/{n}": f'<a href="/{n + 1}">on</a>' for n in range(150)}
    with SiteServer(chain) as site:
        crawler = Crawler(f"{site.url}0", store=tmp_path / "web")
        limits = [now.limit for _ in crawler if (now := crawler.progress) is not None]
    assert len(limits) == 150
    assert "politeness" not in limits


def test_a_stored_web_returns_its_pages_links_and_errors(site: SiteServer, tmp_path: Path) -> None:
    site.pages["/robots.txt"] = SiteResponse(f"Sitemap: {site.url}map.txt", headers={"Content-Type": "text/plain"})
    site.pages["/map.txt"] = SiteResponse(f"{site.url}moved", headers={"Content-Type": "text/plain"})
    site.pages["/moved"] = SiteResponse("", 301, {"Location": "/b"})
    list(Crawler(site.url, store=tmp_path / "web"))
    with open_web(tmp_path / "web") as web:
        assert {page.title for page in web.pages()} == {"Home", "A", "B"}, "neither the sitemap nor the redirect"
        assert len(list(web.pages())) == 3
        assert web.counts().resources["visited"] == 5
        assert [link.url for link in web.outlinks(f"{site.url}a")] == [f"{site.url}b"]
        assert [error.url for error in web.errors()] == [f"{site.url}gone"]
        assert web.source(f"{site.url}b") == b"<title>B</title>"
        assert web.page("https://elsewhere.example/") is None
