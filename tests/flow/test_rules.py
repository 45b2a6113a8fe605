"""The rules of a crawl, each on a small real site: scope, order, limits, robots.txt, sitemaps, checks, revisits."""

from __future__ import annotations

import gzip
import json
import subprocess
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from gossamer import Crawler
from gossamer.crawl import policy
from helpers.cli import commands
from helpers.cli.commands import command, environment, gossamer, outcomes, query, reasons
from helpers.patience import PATIENCE
from webs.served import SiteResponse, SiteServer

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


Pages = dict[str, str | SiteResponse]


def links(*targets: str, more: str = "") -> str:
    """Return a page that links to the targets, with their names as anchor texts."""
    return f"<!doctype html><title>Page</title>{more}" + "".join(f'<a href="{to}">to {to}</a> ' for to in targets)


def crawl(url: str, store: Path, *arguments: object, env: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Crawl to the end without an index, which no rule concerns; return the summary."""
    return commands.crawl(url, store, "--no-index", *arguments, env=env)


def states(store: Path) -> dict[str, str]:
    return dict(query(store, "SELECT url, state FROM resources"))


def paths(site: SiteServer, store: Path, state: str = "visited") -> set[str]:
    return {url.removeprefix(site.url) for url, current in states(store).items() if current == state}


# -- scope and limits -------------------------------------------------------------------------------------------------


def test_a_crawl_stays_on_its_host_and_records_external_links(tmp_path: Path) -> None:
    with SiteServer({"/": links("a", "http://neighbour.invalid/x"), "/a": links("/")}) as site:
        summary = crawl(site.url, tmp_path / "web")
    assert (summary["pages"], summary["known"], summary["queued"]) == (2, 3, 0)
    assert states(tmp_path / "web")["http://neighbour.invalid/x"] == "out of scope"


def test_prefix_scope_exclude_pattern_and_depth_limit_a_crawl(tmp_path: Path) -> None:
    pages: Pages = {
        "/docs/": links("one", "two?print=1", "/blog/", "deep/1"),
        "/docs/one": links("/docs/"),
        "/docs/deep/1": links("2"),
        "/docs/deep/2": links("3"),
    }
    with SiteServer(pages) as site:
        crawl(f"{site.url}docs/", tmp_path / "web", "--scope", "prefix", "--exclude", "print=", "--max-depth", 2)
        assert paths(site, tmp_path / "web") == {"docs/", "docs/one", "docs/deep/1", "docs/deep/2"}
        assert paths(site, tmp_path / "web", "known") == {"docs/deep/3"}
        assert paths(site, tmp_path / "web", "out of scope") == {"docs/two?print=1", "blog/"}


def test_a_list_of_seeds_with_depth_0_visits_only_the_list(tmp_path: Path) -> None:
    pages: Pages = {
        **{f"/{name}": links("a", "b", "found") for name in ("a", "b", "found", "mapped")},
        "/moved": SiteResponse("", 301, {"Location": "/here"}),
        "/here": links("found"),
    }
    with SiteServer(pages) as site:
        site.pages["/robots.txt"] = SiteResponse(f"Sitemap: {site.url}map.txt", headers={"Content-Type": "text/plain"})
        site.pages["/map.txt"] = SiteResponse(f"{site.url}mapped", headers={"Content-Type": "text/plain"})
        (tmp_path / "list.txt").write_text(f"# mine\n{site.url}a\n\n{site.url}moved\n")
        summary = crawl(f"{site.url}b", tmp_path / "web", "--seeds", tmp_path / "list.txt", "--max-depth", 0)
        assert {*site.paths()} - {"/map.txt"} == {"/a", "/b", "/moved", "/here"}
        assert summary["pages"] == 3


def test_a_list_of_seeds_is_read_from_stdin(tmp_path: Path) -> None:
    with SiteServer({"/a": links("b"), "/b": "", "/c": ""}) as site:
        done = subprocess.run(
            command("crawl", "--seeds", "-", "--store", tmp_path / "web"), input=f"{site.url}a\n{site.url}c\n",
            capture_output=True, text=True, check=True, env=environment(), timeout=PATIENCE,
        )  # fmt: skip
        assert f"Crawling {site.url}a, {site.url}c into" in done.stderr
        assert {*site.paths()} == {"/a", "/b", "/c"}


def test_links_of_a_page_are_followed_when_its_depth_shrinks_later(tmp_path: Path) -> None:
    """/slow answers last and reduces the depth of /far, so the links of /far are within the depth limit."""
    pages: Pages = {
        "/": links("slow", "quick"),
        "/slow": SiteResponse(links("far"), seconds=1.0),
        "/quick": links("step"),
        "/step": links("far"),
        "/far": links("beyond"),
        "/beyond": links("too-far"),
    }
    with SiteServer(pages) as site:
        crawl(site.url, tmp_path / "web", "--max-depth", 3, "--delay", 0, "--connections", 4)
        assert paths(site, tmp_path / "web") == {"", "slow", "quick", "step", "far", "beyond"}


@pytest.mark.parametrize("limit", [1, 3, 7])
def test_the_page_limit_is_exact_and_the_rest_stays_queued(tmp_path: Path, limit: int) -> None:
    with SiteServer({"/": links(*(f"p{n}" for n in range(20))), **{f"/p{n}": links("/") for n in range(20)}}) as site:
        done = gossamer(
            "crawl",
            site.url,
            "--store",
            tmp_path / "web",
            "--json",
            "--max-pages",
            limit,
            "--delay",
            0,
            "--connections",
            8,
        )
        assert len(site.paths()) == limit
    assert json.loads(done.stdout)["pages"] == limit
    assert json.loads(done.stdout)["queued"] == 21 - limit
    assert "page limit reached" in done.stderr


def test_a_raised_page_limit_continues_the_crawl(tmp_path: Path) -> None:
    with SiteServer({"/": links(*(f"p{n}" for n in range(9))), **{f"/p{n}": links("/") for n in range(9)}}) as site:
        crawl(site.url, tmp_path / "web", "--max-pages", 4)
        crawl(site.url, tmp_path / "web", "--max-pages", 6)
        gossamer("crawl", "--store", tmp_path / "web", "--max-pages", "none")
        assert sorted(site.paths()) == ["/", *(f"/p{n}" for n in range(9))], "each page once"


@pytest.mark.parametrize(
    ("order", "expected"),
    [("breadth", ["/", "/a", "/b", "/a/1", "/b/1", "/a/1/x"]), ("depth", ["/", "/a", "/a/1", "/a/1/x", "/b", "/b/1"])],
)
def test_visits_follow_breadth_or_depth_order(tmp_path: Path, order: str, expected: list[str]) -> None:
    pages: Pages = {
        "/": links("a", "b"),
        "/a": links("a/1"),
        "/b": links("b/1"),
        "/a/1": links("1/x"),
        "/b/1": "",
        "/a/1/x": "",
    }
    config = tmp_path / "gossamer.toml"
    config.write_text("[store]\nbatch_visits = 1\n")  # each visit is stored before the next URL is chosen
    with SiteServer(pages) as site:
        crawl(site.url, tmp_path / "web", "--order", order, "--config", config)
        assert site.paths() == expected


def test_best_order_visits_pages_with_many_backlinks_first(tmp_path: Path) -> None:
    pages: Pages = {
        "/": links("a", "b", "c", "lonely", "popular"),
        **{f"/{name}": links("popular") for name in ("a", "b", "c")},
        "/lonely": "", "/popular": "",
    }  # fmt: skip
    config = tmp_path / "gossamer.toml"
    config.write_text("[store]\nbatch_visits = 1\n")
    with SiteServer(pages) as site:
        crawl(site.url, tmp_path / "web", "--order", "best", "--config", config)
        assert site.paths().index("/popular") < site.paths().index("/lonely")


def test_pages_of_the_topic_are_visited_first(tmp_path: Path) -> None:
    pages: Pages = {
        "/": links("beetles", "silk", "contact", "spider"),
        **{f"/{n}": "" for n in ("beetles", "silk", "contact", "spider")},
    }
    config = tmp_path / "gossamer.toml"
    config.write_text("[store]\nbatch_visits = 1\n")
    with SiteServer(pages) as site:
        crawl(site.url, tmp_path / "web", "--topic", "spider silk", "--config", config)
        assert set(site.paths()[1:3]) == {"/spider", "/silk"}


def test_a_seed_without_a_scheme_is_tried_over_https_and_then_http(tmp_path: Path) -> None:
    with SiteServer({"/": links("a"), "/a": ""}) as site:
        summary = crawl(site.authority, tmp_path / "web")
        assert summary["pages"] == 2
        again = gossamer("crawl", "--store", tmp_path / "web", "--revisit", "--all", "--json")
        assert json.loads(again.stdout)["pages"] == 2, again.stderr


def test_the_https_form_of_a_seed_that_answers_over_http_is_not_an_error(tmp_path: Path) -> None:
    web = tmp_path / "web"
    with SiteServer({"/": ""}) as site:
        assert crawl(site.authority, web)["failed"] == 0
        state, reason = query(web, "SELECT state, reason FROM resources WHERE url = ?", f"https://{site.authority}/")[0]
        assert (state, "http is tried instead" in reason) == ("known", True)
        gossamer("crawl", "--store", web, "--revisit", "--all")
    assert json.loads(gossamer("errors", "--json", "--store", web).stdout) == {"errors": []}
    assert [host["robots"] for host in hosts(web)] == ["unavailable"]


def test_an_unreachable_seed_without_a_scheme_is_queued_again_by_a_new_crawl(tmp_path: Path) -> None:
    with SiteServer({}) as closed:
        pass
    for _ in range(2):
        done = gossamer("crawl", closed.authority, "--store", tmp_path / "web")
        assert (done.returncode, "http://" in done.stderr) == (2, True), done.stderr
    assert states(tmp_path / "web") == {f"https://{closed.authority}/": "known", closed.url: "queued"}


def test_the_host_that_a_seed_redirects_to_joins_the_scope(tmp_path: Path) -> None:
    with SiteServer({"/": links("inner"), "/inner": links("last"), "/last": ""}) as target:
        moved = SiteResponse("", 301, {"Location": target.url})
        with SiteServer({"/": moved}) as site:
            summary = crawl(site.url, tmp_path / "web", "--allow-private", "127.0.0.0/8", "--max-pages", 2)
            assert summary["pages"] == 2
            crawl(site.url, tmp_path / "web", "--allow-private", "127.0.0.0/8", "--max-pages", "none")
        assert outcomes(tmp_path / "web")[f"{target.url}last"] == "fetched", "the host stays in scope after a restart"


def test_a_seed_redirect_to_a_private_host_is_refused_even_after_a_restart(tmp_path: Path) -> None:
    with SiteServer({"/": "secret"}) as secret:
        with SiteServer({"/": links("in"), "/in": SiteResponse("", 302, {"Location": secret.url})}) as site:
            crawl(site.url, tmp_path / "web")
            gossamer("crawl", f"{site.url}in", "--store", tmp_path / "web")
            gossamer("crawl", "--store", tmp_path / "web", "--revisit", "--all")
        assert secret.requests == []


# -- robots -----------------------------------------------------------------------------------------------------------


def rules(text: str) -> SiteResponse:
    return SiteResponse(text, headers={"Content-Type": "text/plain"})


def test_robots_txt_is_obeyed_and_the_refusal_recorded(tmp_path: Path) -> None:
    pages: Pages = {
        "/": links("open", "closed"),
        "/open": "",
        "/closed": "",
        "/robots.txt": rules("User-agent: *\nDisallow: /closed"),
    }
    with SiteServer(pages) as site:
        summary = crawl(site.url, tmp_path / "web")
        assert "/closed" not in site.paths()
    assert summary["refused"] == 1
    assert reasons(tmp_path / "web")[f"{site.url}closed"] == ("refused by robots.txt", "robots.txt")


@pytest.mark.parametrize("status", [401, 403, 404, 410])
def test_an_unavailable_robots_txt_allows_everything(tmp_path: Path, status: int) -> None:
    with SiteServer(
        {"/": "<title>x</title>", "/robots.txt": SiteResponse("User-agent: *\nDisallow: /", status)}
    ) as site:
        assert crawl(site.url, tmp_path / "web")["pages"] == 1


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_failing_robots_txt_forbids_everything_for_now(tmp_path: Path, status: int) -> None:
    with SiteServer({"/": "<title>x</title>", "/robots.txt": SiteResponse("", status)}) as site:
        done = gossamer("crawl", site.url, "--store", tmp_path / "web")
        assert site.paths() == []
    assert done.returncode == 2
    assert "robots.txt" in done.stderr
    assert states(tmp_path / "web")[site.url] == "queued", "the seed is tried again later"


def test_robots_directives_in_pages_and_headers_are_obeyed(tmp_path: Path) -> None:
    meta = '<meta name="robots" content="noindex, nofollow">'
    header = {"Content-Type": "text/html", "X-Robots-Tag": "nofollow"}
    pages: Pages = {
        "/": links("meta", "header", more='<a rel="nofollow" href="shy">shy</a>'),
        "/meta": links("a", more=meta),
        "/header": SiteResponse(links("b"), headers=header),
    }
    with SiteServer(pages) as site:
        crawl(site.url, tmp_path / "web")
        assert paths(site, tmp_path / "web", "known") == {"a", "b", "shy"}
    assert query(tmp_path / "web", "SELECT url FROM resources WHERE noindex = 1") == [(f"{site.url}meta",)]


def test_a_cookie_that_a_page_sets_is_not_sent_back(tmp_path: Path) -> None:
    """A cookie of the settings is sent, so that people can pass a wall of cookies."""
    set_cookie = {"Content-Type": "text/html", "Set-Cookie": "seen=1; Path=/"}
    pages: Pages = {
        "/": SiteResponse(links("wall", "there", "next"), headers=set_cookie),
        "/wall": SiteResponse("", 302, {"Location": "/wall", **set_cookie}),
        "/there": SiteResponse("", 302, {"Location": "/back", **set_cookie}),
        "/back": SiteResponse("", 302, {"Location": "/there", **set_cookie}),
        "/next": SiteResponse(links("/"), headers=set_cookie),
    }
    with SiteServer(pages) as site:
        crawl(site.url, tmp_path / "web")
        assert {request.headers.get("cookie") for request in site.requests} == {None}
        by_url = outcomes(tmp_path / "web")
        assert (by_url[f"{site.url}wall"], by_url[f"{site.url}next"]) == ("redirect loop", "fetched")
        assert "redirect loop" in {by_url[f"{site.url}there"], by_url[f"{site.url}back"]}
        (tmp_path / "some.toml").write_text(f'[hosts."{site.authority}"]\ncookies_env = {{ seen = "SEEN" }}\n')
        requests_before = len(site.requests)
        crawl(site.url, tmp_path / "again", "--config", tmp_path / "some.toml", env={"SEEN": "1"})
        assert {request.headers.get("cookie") for request in site.requests[requests_before:]} == {"seen=1"}


def test_a_crawl_delay_is_kept_between_requests(tmp_path: Path) -> None:
    pages: Pages = {"/": links("a", "b"), "/a": "", "/b": "", "/robots.txt": rules("User-agent: *\nCrawl-delay: 0.6")}
    with SiteServer(pages) as site:
        crawl(site.url, tmp_path / "web", "--delay", 0, "--connections", 8)
        times = [request.at for request in site.requests]
    assert min(later - sooner for sooner, later in pairwise(times)) >= 0.6


def test_a_crawl_waits_for_retry_after_and_tries_the_page_again(tmp_path: Path) -> None:
    with SiteServer({"/": links("busy"), "/busy": SiteResponse("", 503, {"Retry-After": "2"})}) as site:
        crawl(site.url, tmp_path / "web", "--delay", 0)
        busy = [request.at for request in site.requests if request.path == "/busy"]
    assert len(busy) == 3
    assert min(later - sooner for sooner, later in pairwise(busy)) >= 2.0
    assert reasons(tmp_path / "web")[f"{site.url}busy"][0] == "throttled"


def test_a_crawl_ends_when_retry_after_exceeds_its_patience(tmp_path: Path) -> None:
    web = tmp_path / "web"
    busy = SiteResponse("", 503, {"Retry-After": "1000"})
    with SiteServer({"/": links("a", "b", "c"), "/a": busy, "/b": busy, "/c": busy}) as site:
        done = gossamer("crawl", site.url, "--store", web, "--no-index")
        assert done.returncode == 0
        assert "nothing can be visited within 60 s" in done.stderr
        assert "asked to wait (Retry-After)" in done.stderr
        assert site.paths() == ["/", "/a"]
    assert states(web) == {site.url: "visited", **{f"{site.url}{page}": "queued" for page in "abc"}}


# -- sitemaps ---------------------------------------------------------------------------------------------------------


def xml(body: str | bytes, kind: str = "application/xml") -> SiteResponse:
    return SiteResponse(body, headers={"Content-Type": kind})


def urlset(*urls: str) -> str:
    entries = "".join(f"<url><loc>{url}</loc></url>" for url in urls)
    return f'<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{entries}</urlset>'


def test_sitemaps_of_robots_txt_are_read_as_index_gzip_and_text(tmp_path: Path) -> None:
    with SiteServer({"/": "<title>Alone</title>"}) as site:
        index = "".join(
            f"<sitemap><loc>{site.url}{name}</loc></sitemap>" for name in ("one.xml.gz", "two.txt", "deep.xml")
        )
        listed = urlset(f"{site.url}by-gzip", "http://other.invalid/")
        nested = f"<sitemapindex><sitemap><loc>{site.url}deep.xml?{{n}}</loc></sitemap></sitemapindex>"
        site.pages |= {
            "/robots.txt": rules(f"Sitemap: {site.url}index.xml"),
            "/index.xml": xml(f"<sitemapindex>{index}</sitemapindex>"),
            "/one.xml.gz": xml(gzip.compress(listed.encode()), "application/gzip"),
            "/two.txt": xml(f"{site.url}by-text\n", "text/plain"),
            "/by-gzip": "<title>g</title>", "/by-text": "<title>t</title>",
            "/deep.xml": xml(nested.format(n=0)),
            **{f"/deep.xml?{n}": xml(nested.format(n=n + 1)) for n in range(9)},
        }  # fmt: skip
        summary = crawl(site.url, tmp_path / "web")
        assert summary["pages"] == 3, "sitemaps are not pages"
        requested = site.paths()
    assert {"/by-gzip", "/by-text"} <= set(requested)
    assert len([path for path in requested if path.startswith("/deep.xml")]) <= 4, "nesting is bounded"
    assert states(tmp_path / "web")["http://other.invalid/"] == "out of scope"


# -- types, embeds, checks --------------------------------------------------------------------------------------------


EMBEDS = '<img src="/i.png"><script src="/s.js"></script><link rel="stylesheet" href="/c.css"><img src="/gone.png">'


def embedding(external: str) -> Pages:
    return {
        "/": links(external, "file.zip", more=EMBEDS),
        "/i.png": SiteResponse(b"png", headers={"Content-Type": "image/png"}),
        "/s.js": SiteResponse("js", headers={"Content-Type": "text/javascript"}),
        "/c.css": SiteResponse("css", headers={"Content-Type": "text/css"}),
        "/file.zip": SiteResponse(b"PK", headers={"Content-Type": "application/zip"}),
    }


def test_embeds_are_recorded_and_not_fetched(tmp_path: Path) -> None:
    with SiteServer(embedding("http://out.invalid/")) as site:
        crawl(site.url, tmp_path / "web")
        assert set(site.paths()) == {"/", "/file.zip"}
        assert reasons(tmp_path / "web")[f"{site.url}file.zip"] == ("refused type", "application/zip")
        assert paths(site, tmp_path / "web", "known") == {"i.png", "s.js", "c.css", "gone.png"}


def test_link_checks_request_only_the_status(tmp_path: Path) -> None:
    with SiteServer({"/page": links("further")}) as other, SiteServer(embedding(f"{other.url}page")) as site:
        crawl(site.url, tmp_path / "web", "--check", "all", "--allow-private", "127.0.0.0/8")
        by_url = outcomes(tmp_path / "web")
        assert {url.removeprefix(site.url): outcome for url, outcome in by_url.items() if url.startswith(site.url)} == {
            "": "fetched", "i.png": "checked", "s.js": "checked", "c.css": "checked", "gone.png": "not found",
            "file.zip": "refused type",
        }  # fmt: skip
        assert by_url[f"{other.url}page"] == "checked"
        assert f"{other.url}further" not in states(tmp_path / "web")
        assert [request.method for request in site.requests if request.path == "/i.png"] == ["HEAD"]


def test_broken_links_are_shown_with_the_page_and_the_anchor(tmp_path: Path) -> None:
    with SiteServer({"/": links("fine", "broken"), "/fine": ""}) as site:
        crawl(site.url, tmp_path / "web")
    [error] = json.loads(gossamer("errors", "--json", "--store", tmp_path / "web").stdout)["errors"]
    assert (error["url"], error["outcome"]) == (f"{site.url}broken", "not found")
    assert (error["source"], error["anchor"]) == (site.url, "to broken")


def test_a_crawl_leaves_a_trap_of_identical_pages(tmp_path: Path) -> None:
    config = tmp_path / "gossamer.toml"
    config.write_text("[crawl]\nmax_copies = 5\n")

    class Maze(dict[str, str | SiteResponse]):
        """Answers every path with the same page, which links to a new path."""

        def get(self, path: str, default: object = None) -> str | SiteResponse:
            return SiteResponse("", 404) if path == "/robots.txt" else links("?more", "next/")

    with SiteServer({}) as site:
        site.pages = Maze()
        summary = crawl(site.url, tmp_path / "web", "--config", config, "--max-pages", 200)
    assert summary["queued"] == 0
    assert summary["pages"] < 50


def test_session_ids_do_not_make_new_pages(tmp_path: Path) -> None:
    pages: Pages = {
        "/": links("a?sessionid=1", "a?sessionid=2", "a;jsessionid=3"),
        "/a?sessionid=1": "<title>A</title>",
    }
    with SiteServer(pages) as site:
        crawl(site.url, tmp_path / "web")
        assert site.paths() == ["/", "/a?sessionid=1"]


# -- second crawls ----------------------------------------------------------------------------------------------------


def test_a_crawl_of_a_complete_web_suggests_a_revisit(tmp_path: Path) -> None:
    with SiteServer({"/": ""}) as site:
        crawl(site.url, tmp_path / "web")
        done = gossamer("crawl", site.url, "--store", tmp_path / "web")
    assert (done.returncode, len(site.paths())) == (0, 1)
    assert "complete" in done.stderr
    assert "--revisit" in done.stderr


def test_a_new_url_extends_the_web(tmp_path: Path) -> None:
    with SiteServer({"/": ""}) as second, SiteServer({"/": links(second.url)}) as first:
        crawl(first.url, tmp_path / "web")
        assert states(tmp_path / "web")[second.url] == "out of scope"
        crawl(second.url, tmp_path / "web")
        assert states(tmp_path / "web")[second.url] == "visited"
        assert len(first.paths()) == 1


def test_a_revisit_sends_conditions_and_keeps_unchanged_pages(tmp_path: Path) -> None:
    with SiteServer(
        {"/": SiteResponse(links("a"), headers={"Content-Type": "text/html", "ETag": '"1"'}), "/a": "<title>A</title>"}
    ) as site:
        crawl(site.url, tmp_path / "web")
        site.pages["/"] = SiteResponse("", 304, {"ETag": '"1"'})
        site.pages["/a"] = "<title>New A</title>"
        done = gossamer("crawl", "--store", tmp_path / "web", "--revisit", "--all", "--json")
        assert json.loads(done.stdout)["pages"] == 2
        assert [request.headers.get("if-none-match") for request in site.requests if request.path == "/"] == [
            None,
            '"1"',
        ]
    titles = dict(query(tmp_path / "web", "SELECT url, title FROM resources"))
    assert titles == {site.url: "Page", f"{site.url}a": "New A"}
    assert query(tmp_path / "web", "SELECT count(*) FROM links") == [(1,)]


def test_a_search_service_finds_the_seeds_of_a_query(tmp_path: Path) -> None:
    with SiteServer({"/": "<title>Found</title>"}) as target:
        results = links("/about", target.url)
        with SiteServer({"/find?q=spider+silk": results}) as service:
            config = tmp_path / "gossamer.toml"
            config.write_text(f'[search_service]\nurl = "{service.url}find?q={{query}}"\n')
            done = gossamer(
                "crawl", "--query", "spider silk", "--store", tmp_path / "web", "--config", config, "--json",
                "--allow-private", "127.0.0.0/8",
            )  # fmt: skip
            assert json.loads(done.stdout)["pages"] == 1, done.stderr
        assert target.paths() == ["/"]
        assert "/about" not in service.paths()


def test_a_private_host_of_a_search_service_is_refused_even_after_a_restart(tmp_path: Path) -> None:
    web, config = tmp_path / "web", tmp_path / "gossamer.toml"
    with SiteServer({"/": "secret"}) as secret:
        with SiteServer({"/find?q=silk": links(secret.url)}) as service:
            config.write_text(f'[search_service]\nurl = "{service.url}find?q={{query}}"\n')
            for arguments in (("--query", "silk"), ("--revisit", "--all"), ("--query", "silk")):
                done = gossamer("crawl", *arguments, "--store", web, "--config", config)
                assert (done.returncode, "loopback" in done.stderr) == (2, True), done.stderr
        assert secret.requests == []
    assert states(web) == {secret.url: "refused"}


# -- messages ----------------------------------------------------------------------------------------------------------


def test_a_complete_web_counts_its_pages_and_not_its_sitemaps(tmp_path: Path) -> None:
    with SiteServer({"/": ""}) as site:
        site.pages["/robots.txt"] = SiteResponse(
            f"Sitemap: {site.url}sitemap.txt", headers={"Content-Type": "text/plain"}
        )
        site.pages["/sitemap.txt"] = SiteResponse(f"{site.url}", headers={"Content-Type": "text/plain"})
        crawl(site.url, tmp_path / "web")
        assert states(tmp_path / "web")[f"{site.url}sitemap.txt"] == "visited"
        assert "complete: 1 page visited" in gossamer("crawl", "--store", tmp_path / "web").stderr


def test_an_unreachable_robots_txt_is_reported_with_the_time_of_the_next_try(tmp_path: Path) -> None:
    web, config = tmp_path / "web", tmp_path / "gossamer.toml"
    config.write_text("[politeness]\nretries = 1\n")
    with SiteServer({"/": "", "/robots.txt": SiteResponse("", 503)}) as site:
        for _ in range(2):
            done = gossamer("crawl", site.url, "--store", web, "--config", config)
            assert done.returncode == 2
            assert "robots.txt unreachable: 503" in done.stderr
            assert "tried again in " in done.stderr
    assert [host["robots"] for host in hosts(web)] == ["unreachable"]


def test_robots_rules_that_change_during_a_crawl_are_obeyed_after_their_age_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(policy, "ROBOTS_MAX_AGE_SECONDS", 0.5)  # seconds
    pages: Pages = {f"/{n}": links(f"/{n + 1}") for n in range(100)}
    with SiteServer(pages) as site:
        for seen, _ in enumerate(Crawler(f"{site.url}0", store=tmp_path / "web", delay=0.05, index=False), start=1):
            if seen == 3:
                site.pages["/robots.txt"] = SiteResponse(
                    "User-agent: *\nDisallow: /", headers={"Content-Type": "text/plain"}
                )
    assert len(site.paths()) < 50
    assert [request.path for request in site.requests][-1] == "/robots.txt"
    assert sorted(set(states(tmp_path / "web").values())) == ["refused", "visited"]


def test_a_host_that_stays_away_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # At the first try the host is away, at the second the crawl gives it up.
    monkeypatch.setattr(policy, "OUTAGE_SECONDS", 2.5)
    home = SiteResponse(links("a", "b"), headers={"Content-Type": "text/html", "Connection": "close"})
    with SiteServer({"/": home}) as site:
        pages = iter(Crawler(site.url, store=tmp_path / "web", delay=1.5, retries=1, index=False))
        assert next(pages).url == site.url
    assert list(pages) == []
    refused = ("connection failure", "Connection refused")
    assert reasons(tmp_path / "web") == {
        site.url: ("fetched", ""), f"{site.url}a": refused, f"{site.url}b": refused
    }  # fmt: skip


def hosts(web: Path) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = json.loads(gossamer("hosts", "--json", "--store", web).stdout)["hosts"]
    return rows


def test_a_reached_page_limit_prints_how_to_raise_it(tmp_path: Path) -> None:
    with SiteServer({"/": links("a", "b"), "/a": "", "/b": ""}) as site:
        done = gossamer("crawl", site.url, "--store", tmp_path / "web", "--max-pages", 1)
    assert "page limit reached. 1 page, " in done.stderr
    continued = (
        f"Continue without a limit, or with a number: gossamer crawl --store {tmp_path / 'web'} --max-pages none\n"
    )
    assert continued in done.stderr


def test_a_crawl_without_a_url_prints_which_web_it_continues(tmp_path: Path) -> None:
    with SiteServer({"/": ""}) as site:
        crawl(site.url, tmp_path / "web")
        done = gossamer("crawl", "--store", tmp_path / "web")
    assert done.stderr.startswith(f"Continuing the last crawl in {tmp_path / 'web'}/ ...\n")


def test_the_demo_prints_how_to_continue_and_lists_next_commands_in_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = gossamer("go", "--no-serve", "--max-pages", 1)
    assert "or with a number: gossamer go --max-pages none\n" in done.stderr
    commands = [line for line in done.stderr.splitlines() if line.startswith("  gossamer ")]
    columns = {line.index(what) for line, what in zip(commands, NEXT, strict=True)}
    assert len(columns) == 1, done.stderr
    assert max(map(len, commands)) <= 80


NEXT = ("find pages", "search and", "show counts", "list broken links", "show a page", "list the reports")


def test_the_next_commands_quote_a_long_store_and_stand_on_their_own_lines(tmp_path: Path) -> None:
    store = tmp_path / "a web with a long name"
    done = gossamer("go", "--no-serve", "--store", store, "--max-pages", 1)
    assert f"Find pages by their words:\n  gossamer search WORDS --store '{store}'\n" in done.stderr


def test_an_unmodified_page_is_shown_and_exported_without_status_304(tmp_path: Path) -> None:
    web, out = tmp_path / "web", tmp_path / "out"
    with SiteServer(
        {"/": links("a"), "/a": SiteResponse("", headers={"Content-Type": "text/html", "ETag": '"1"'})}
    ) as site:
        crawl(site.url, web)
        site.pages["/a"] = SiteResponse("", 304, {"ETag": '"1"'})
        gossamer("crawl", "--revisit", "--all", "--store", web)
        assert query(web, "SELECT status FROM resources WHERE url = ?", f"{site.url}a") == [(304,)]
        assert "visited 304" not in gossamer("page", site.url, "--store", web).stdout
    gossamer("export", "files", "--out", out, "--store", web)
    manifest = (out / "manifest.jsonl").read_text()
    assert '"status":304' not in manifest
    (out / "manifest.jsonl").write_text(manifest.replace('"status":200', '"status":304'))  # as older versions wrote it
    gossamer("import", out, "--store", tmp_path / "copy")
    assert set(query(tmp_path / "copy", "SELECT status FROM resources")) == {(200,)}


def test_an_imported_web_is_finished_and_status_says_so(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a.html").write_text("<title>A</title>")
    gossamer("import", tmp_path / "folder", "--base", "https://docs.example/", "--store", tmp_path / "web")
    status = gossamer("status", "--store", tmp_path / "web").stdout
    assert "not finished" not in status
    assert "its pages were imported" in status
    [crawler] = json.loads(gossamer("crawlers", "--json", "--store", tmp_path / "web").stdout)["crawlers"]
    assert (crawler["pages"], crawler["pages_per_second"], crawler["limit"]) == (1, 0, "")
