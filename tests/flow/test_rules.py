"""The rules of a crawl, each on a small real site: scope, order, limits, robots.txt, sitemaps, checks, revisits."""

from __future__ import annotations

import gzip
import json
import subprocess
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from gossamer import Crawler
from gossamer.crawl import policy
from helpers.cli.commands import command, crawl, environment, gossamer, outcomes, query, reasons
from webs.served import Answer, Served

if TYPE_CHECKING:
    from pathlib import Path


Pages = dict[str, str | Answer]


def links(*targets: str, more: str = "") -> str:
    """A page that links to the targets, with their names as anchor texts."""
    return f"<!doctype html><title>Page</title>{more}" + "".join(f'<a href="{to}">to {to}</a> ' for to in targets)


def states(store: Path) -> dict[str, str]:
    return dict(query(store, "SELECT url, state FROM resources"))


def paths(site: Served, store: Path, state: str = "visited") -> set[str]:
    return {url.removeprefix(site.url) for url, found in states(store).items() if found == state}


# -- scope and limits -------------------------------------------------------------------------------------------------


def test_a_crawl_stays_on_its_host_and_records_its_neighbours(tmp_path: Path) -> None:
    with Served({"/": links("a", "http://neighbour.invalid/x"), "/a": links("/")}) as site:
        summary = crawl(site.url, tmp_path / "web")
    assert (summary["pages"], summary["known"], summary["queued"]) == (2, 3, 0)
    assert states(tmp_path / "web")["http://neighbour.invalid/x"] == "out of scope"


def test_prefix_scope_patterns_and_depth(tmp_path: Path) -> None:
    pages: Pages = {
        "/docs/": links("one", "two?print=1", "/blog/", "deep/1"),
        "/docs/one": links("/docs/"),
        "/docs/deep/1": links("2"),
        "/docs/deep/2": links("3"),
    }
    with Served(pages) as site:
        crawl(f"{site.url}docs/", tmp_path / "web", "--scope", "prefix", "--exclude", "print=", "--max-depth", 2)
        assert paths(site, tmp_path / "web") == {"docs/", "docs/one", "docs/deep/1", "docs/deep/2"}
        assert paths(site, tmp_path / "web", "known") == {"docs/deep/3"}
        assert paths(site, tmp_path / "web", "out of scope") == {"docs/two?print=1", "blog/"}


def test_a_list_of_seeds_with_depth_0_visits_the_list_alone(tmp_path: Path) -> None:
    pages: Pages = {
        **{f"/{name}": links("a", "b", "found") for name in ("a", "b", "found", "mapped")},
        "/moved": Answer("", 301, {"Location": "/here"}),
        "/here": links("found"),
    }
    with Served(pages) as site:
        site.pages["/robots.txt"] = Answer(f"Sitemap: {site.url}map.txt", headers={"Content-Type": "text/plain"})
        site.pages["/map.txt"] = Answer(f"{site.url}mapped", headers={"Content-Type": "text/plain"})
        (tmp_path / "list.txt").write_text(f"# mine\n{site.url}a\n\n{site.url}moved\n")
        summary = crawl(f"{site.url}b", tmp_path / "web", "--seeds", tmp_path / "list.txt", "--max-depth", 0)
        assert {*site.paths()} - {"/map.txt"} == {"/a", "/b", "/moved", "/here"}
        assert summary["pages"] == 3


def test_a_list_of_seeds_comes_from_stdin(tmp_path: Path) -> None:
    with Served({"/a": links("b"), "/b": "", "/c": ""}) as site:
        done = subprocess.run(
            command("crawl", "--seeds", "-", "--store", tmp_path / "web"), input=f"{site.url}a\n{site.url}c\n",
            capture_output=True, text=True, check=True, env=environment(), timeout=60,
        )  # fmt: skip
        assert f"Crawling {site.url}a, {site.url}c into" in done.stderr
        assert {*site.paths()} == {"/a", "/b", "/c"}


def test_a_page_found_deep_first_and_near_later_still_leads_on(tmp_path: Path) -> None:
    """/slow answers last, and shows that /far is near: what /far links to is within the depth limit after all."""
    pages: Pages = {
        "/": links("slow", "quick"),
        "/slow": Answer(links("far"), seconds=1.0),
        "/quick": links("step"),
        "/step": links("far"),
        "/far": links("beyond"),
        "/beyond": links("too-far"),
    }
    with Served(pages) as site:
        crawl(site.url, tmp_path / "web", "--max-depth", 3, "--delay", 0, "--connections", 4)
        assert paths(site, tmp_path / "web") == {"", "slow", "quick", "step", "far", "beyond"}


@pytest.mark.parametrize("limit", [1, 3, 7])
def test_the_page_limit_holds_exactly_and_says_what_is_left(tmp_path: Path, limit: int) -> None:
    with Served({"/": links(*(f"p{n}" for n in range(20))), **{f"/p{n}": links("/") for n in range(20)}}) as site:
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


def test_a_raised_limit_goes_on_where_the_crawl_stopped(tmp_path: Path) -> None:
    with Served({"/": links(*(f"p{n}" for n in range(9))), **{f"/p{n}": links("/") for n in range(9)}}) as site:
        crawl(site.url, tmp_path / "web", "--max-pages", 4)
        crawl(site.url, tmp_path / "web", "--max-pages", 6)
        gossamer("crawl", "--store", tmp_path / "web", "--max-pages", "none")
        assert sorted(site.paths()) == ["/", *(f"/p{n}" for n in range(9))], "each page once"


@pytest.mark.parametrize(
    ("order", "expected"),
    [("breadth", ["/", "/a", "/b", "/a/1", "/b/1", "/a/1/x"]), ("depth", ["/", "/a", "/a/1", "/a/1/x", "/b", "/b/1"])],
)
def test_the_order_of_visits(tmp_path: Path, order: str, expected: list[str]) -> None:
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
    with Served(pages) as site:
        crawl(site.url, tmp_path / "web", "--order", order, "--config", config)
        assert site.paths() == expected


def test_best_first_visits_what_many_link_to_first(tmp_path: Path) -> None:
    pages: Pages = {
        "/": links("a", "b", "c", "lonely", "popular"),
        **{f"/{name}": links("popular") for name in ("a", "b", "c")},
        "/lonely": "", "/popular": "",
    }  # fmt: skip
    config = tmp_path / "gossamer.toml"
    config.write_text("[store]\nbatch_visits = 1\n")
    with Served(pages) as site:
        crawl(site.url, tmp_path / "web", "--order", "best", "--config", config)
        assert site.paths().index("/popular") < site.paths().index("/lonely")


def test_a_topic_comes_first(tmp_path: Path) -> None:
    pages: Pages = {
        "/": links("beetles", "silk", "contact", "spider"),
        **{f"/{n}": "" for n in ("beetles", "silk", "contact", "spider")},
    }
    config = tmp_path / "gossamer.toml"
    config.write_text("[store]\nbatch_visits = 1\n")
    with Served(pages) as site:
        crawl(site.url, tmp_path / "web", "--topic", "spider silk", "--config", config)
        assert set(site.paths()[1:3]) == {"/spider", "/silk"}


def test_a_seed_without_a_scheme_is_tried_over_https_and_then_http(tmp_path: Path) -> None:
    with Served({"/": links("a"), "/a": ""}) as site:
        summary = crawl(site.place, tmp_path / "web")
        assert summary["pages"] == 2
        again = gossamer("crawl", "--store", tmp_path / "web", "--revisit", "--all", "--json")
        assert json.loads(again.stdout)["pages"] == 2, again.stderr


def test_the_https_form_of_a_seed_that_answers_over_http_is_no_error(tmp_path: Path) -> None:
    web = tmp_path / "web"
    with Served({"/": ""}) as site:
        assert crawl(site.place, web)["failed"] == 0
        state, reason = query(web, "SELECT state, reason FROM resources WHERE url = ?", f"https://{site.place}/")[0]
        assert (state, "http is tried instead" in reason) == ("known", True)
        gossamer("crawl", "--store", web, "--revisit", "--all")
    assert json.loads(gossamer("errors", "--json", "--store", web).stdout) == {"errors": []}
    assert [host["robots"] for host in hosts(web)] == ["unavailable"]


def test_a_seed_without_a_scheme_that_did_not_answer_is_queued_again_when_it_is_typed_again(tmp_path: Path) -> None:
    with Served({}) as closed:
        pass
    for _ in range(2):
        done = gossamer("crawl", closed.place, "--store", tmp_path / "web")
        assert (done.returncode, "http://" in done.stderr) == (2, True), done.stderr
    assert states(tmp_path / "web") == {f"https://{closed.place}/": "known", closed.url: "queued"}


def test_where_a_seed_redirects_the_targets_host_joins(tmp_path: Path) -> None:
    with Served({"/": links("inner"), "/inner": links("last"), "/last": ""}) as target:
        moved = Answer("", 301, {"Location": target.url})
        with Served({"/": moved}) as site:
            summary = crawl(site.url, tmp_path / "web", "--allow-private", "127.0.0.0/8", "--max-pages", 2)
            assert summary["pages"] == 2
            crawl(site.url, tmp_path / "web", "--allow-private", "127.0.0.0/8", "--max-pages", "none")
        assert outcomes(tmp_path / "web")[f"{target.url}last"] == "fetched", "joined also after a new start"


def test_a_seed_cannot_lead_to_a_private_host_by_redirect_even_after_a_new_start(tmp_path: Path) -> None:
    with Served({"/": "secret"}) as secret:
        with Served({"/": links("in"), "/in": Answer("", 302, {"Location": secret.url})}) as site:
            crawl(site.url, tmp_path / "web")
            gossamer("crawl", f"{site.url}in", "--store", tmp_path / "web")
            gossamer("crawl", "--store", tmp_path / "web", "--revisit", "--all")
        assert secret.requests == []


# -- robots -----------------------------------------------------------------------------------------------------------


def rules(text: str) -> Answer:
    return Answer(text, headers={"Content-Type": "text/plain"})


def test_robots_txt_is_obeyed_and_the_refusal_recorded(tmp_path: Path) -> None:
    pages: Pages = {
        "/": links("open", "closed"),
        "/open": "",
        "/closed": "",
        "/robots.txt": rules("User-agent: *\nDisallow: /closed"),
    }
    with Served(pages) as site:
        summary = crawl(site.url, tmp_path / "web")
        assert "/closed" not in site.paths()
    assert summary["refused"] == 1
    assert reasons(tmp_path / "web")[f"{site.url}closed"] == ("refused by robots.txt", "robots.txt")


@pytest.mark.parametrize("status", [401, 403, 404, 410])
def test_a_robots_txt_that_is_not_to_be_had_allows_everything(tmp_path: Path, status: int) -> None:
    with Served({"/": "<title>x</title>", "/robots.txt": Answer("User-agent: *\nDisallow: /", status)}) as site:
        assert crawl(site.url, tmp_path / "web")["pages"] == 1


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_robots_txt_that_fails_forbids_everything_for_now(tmp_path: Path, status: int) -> None:
    with Served({"/": "<title>x</title>", "/robots.txt": Answer("", status)}) as site:
        done = gossamer("crawl", site.url, "--store", tmp_path / "web")
        assert site.paths() == []
    assert done.returncode == 2
    assert "robots.txt" in done.stderr
    assert states(tmp_path / "web")[site.url] == "queued", "not given up: to be tried later"


def test_robots_directives_in_pages_and_headers(tmp_path: Path) -> None:
    meta = '<meta name="robots" content="noindex, nofollow">'
    header = {"Content-Type": "text/html", "X-Robots-Tag": "nofollow"}
    pages: Pages = {
        "/": links("meta", "header", more='<a rel="nofollow" href="shy">shy</a>'),
        "/meta": links("a", more=meta),
        "/header": Answer(links("b"), headers=header),
    }
    with Served(pages) as site:
        crawl(site.url, tmp_path / "web")
        assert paths(site, tmp_path / "web", "known") == {"a", "b", "shy"}
    assert query(tmp_path / "web", "SELECT url FROM resources WHERE noindex = 1") == [(f"{site.url}meta",)]


def test_a_cookie_that_a_page_sets_is_not_sent_back(tmp_path: Path) -> None:
    """But one of the settings is, so that there is a way past a wall of cookies."""
    set_cookie = {"Content-Type": "text/html", "Set-Cookie": "seen=1; Path=/"}
    pages: Pages = {
        "/": Answer(links("wall", "there", "next"), headers=set_cookie),
        "/wall": Answer("", 302, {"Location": "/wall", **set_cookie}),
        "/there": Answer("", 302, {"Location": "/back", **set_cookie}),
        "/back": Answer("", 302, {"Location": "/there", **set_cookie}),
        "/next": Answer(links("/"), headers=set_cookie),
    }
    with Served(pages) as site:
        crawl(site.url, tmp_path / "web")
        assert {request.headers.get("cookie") for request in site.requests} == {None}
        found = outcomes(tmp_path / "web")
        assert (found[f"{site.url}wall"], found[f"{site.url}next"]) == ("redirect loop", "fetched")
        assert "redirect loop" in {found[f"{site.url}there"], found[f"{site.url}back"]}
        (tmp_path / "some.toml").write_text(f'[hosts."{site.place}"]\ncookies_env = {{ seen = "SEEN" }}\n')
        asked = len(site.requests)
        crawl(site.url, tmp_path / "again", "--config", tmp_path / "some.toml", env={"SEEN": "1"})
        assert {request.headers.get("cookie") for request in site.requests[asked:]} == {"seen=1"}


def test_a_crawl_delay_is_kept_between_requests(tmp_path: Path) -> None:
    pages: Pages = {"/": links("a", "b"), "/a": "", "/b": "", "/robots.txt": rules("User-agent: *\nCrawl-delay: 0.6")}
    with Served(pages) as site:
        crawl(site.url, tmp_path / "web", "--delay", 0, "--connections", 8)
        times = [request.at for request in site.requests]
    assert min(later - sooner for sooner, later in pairwise(times)) >= 0.6


def test_retry_after_is_waited_for_and_the_page_tried_again(tmp_path: Path) -> None:
    with Served({"/": links("busy"), "/busy": Answer("", 503, {"Retry-After": "2"})}) as site:
        crawl(site.url, tmp_path / "web", "--delay", 0)
        busy = [request.at for request in site.requests if request.path == "/busy"]
    assert len(busy) == 3
    assert min(later - sooner for sooner, later in pairwise(busy)) >= 2.0
    assert reasons(tmp_path / "web")[f"{site.url}busy"][0] == "throttled"


def test_a_crawl_does_not_wait_for_a_host_that_asks_for_more_than_its_patience(tmp_path: Path) -> None:
    web = tmp_path / "web"
    busy = Answer("", 503, {"Retry-After": "1000"})
    with Served({"/": links("a", "b", "c"), "/a": busy, "/b": busy, "/c": busy}) as site:
        done = gossamer("crawl", site.url, "--store", web, "--no-index", timeout=30)
        assert done.returncode == 0
        assert "nothing can be visited within 60 s" in done.stderr
        assert "asked to wait (Retry-After)" in done.stderr
        assert site.paths() == ["/", "/a"]
    assert states(web) == {site.url: "visited", **{f"{site.url}{page}": "queued" for page in "abc"}}


# -- sitemaps ---------------------------------------------------------------------------------------------------------


def xml(body: str | bytes, kind: str = "application/xml") -> Answer:
    return Answer(body, headers={"Content-Type": kind})


def urlset(*urls: str) -> str:
    entries = "".join(f"<url><loc>{url}</loc></url>" for url in urls)
    return f'<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{entries}</urlset>'


def test_sitemaps_named_in_robots_txt_are_read_index_gzip_and_text(tmp_path: Path) -> None:
    with Served({"/": "<title>Alone</title>"}) as site:
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
        asked = site.paths()
    assert {"/by-gzip", "/by-text"} <= set(asked)
    assert len([path for path in asked if path.startswith("/deep.xml")]) <= 4, "nesting is bounded"
    assert states(tmp_path / "web")["http://other.invalid/"] == "out of scope"


# -- types, embeds, checks --------------------------------------------------------------------------------------------


EMBEDS = '<img src="/i.png"><script src="/s.js"></script><link rel="stylesheet" href="/c.css"><img src="/gone.png">'


def embedding(external: str) -> Pages:
    return {
        "/": links(external, "file.zip", more=EMBEDS),
        "/i.png": Answer(b"png", headers={"Content-Type": "image/png"}),
        "/s.js": Answer("js", headers={"Content-Type": "text/javascript"}),
        "/c.css": Answer("css", headers={"Content-Type": "text/css"}),
        "/file.zip": Answer(b"PK", headers={"Content-Type": "application/zip"}),
    }


def test_embeds_are_recorded_and_not_fetched(tmp_path: Path) -> None:
    with Served(embedding("http://out.invalid/")) as site:
        crawl(site.url, tmp_path / "web")
        assert set(site.paths()) == {"/", "/file.zip"}
        assert reasons(tmp_path / "web")[f"{site.url}file.zip"] == ("refused type", "application/zip")
        assert paths(site, tmp_path / "web", "known") == {"i.png", "s.js", "c.css", "gone.png"}


def test_link_checks_ask_for_the_status_only(tmp_path: Path) -> None:
    with Served({"/page": links("further")}) as other, Served(embedding(f"{other.url}page")) as site:
        crawl(site.url, tmp_path / "web", "--check", "all", "--allow-private", "127.0.0.0/8")
        found = outcomes(tmp_path / "web")
        assert {url.removeprefix(site.url): outcome for url, outcome in found.items() if url.startswith(site.url)} == {
            "": "fetched", "i.png": "checked", "s.js": "checked", "c.css": "checked", "gone.png": "not found",
            "file.zip": "refused type",
        }  # fmt: skip
        assert found[f"{other.url}page"] == "checked"
        assert f"{other.url}further" not in states(tmp_path / "web")
        assert [request.method for request in site.requests if request.path == "/i.png"] == ["HEAD"]


def test_broken_links_are_shown_with_the_page_and_the_anchor(tmp_path: Path) -> None:
    with Served({"/": links("fine", "broken"), "/fine": ""}) as site:
        crawl(site.url, tmp_path / "web")
    [error] = json.loads(gossamer("errors", "--json", "--store", tmp_path / "web").stdout)["errors"]
    assert (error["url"], error["outcome"]) == (f"{site.url}broken", "not found")
    assert (error["source"], error["anchor"]) == (site.url, "to broken")


def test_a_trap_that_answers_everything_alike_comes_to_an_end(tmp_path: Path) -> None:
    config = tmp_path / "gossamer.toml"
    config.write_text("[crawl]\nmax_copies = 5\n")

    class Maze(dict[str, str | Answer]):
        """Every path answers with the same page, which links to a path that was not there before."""

        def get(self, path: str, default: object = None) -> str | Answer:
            return Answer("", 404) if path == "/robots.txt" else links("?more", "next/")

    with Served({}) as site:
        site.pages = Maze()
        summary = crawl(site.url, tmp_path / "web", "--config", config, "--max-pages", 200)
    assert summary["queued"] == 0
    assert summary["pages"] < 50


def test_session_ids_do_not_make_new_pages(tmp_path: Path) -> None:
    pages: Pages = {
        "/": links("a?sessionid=1", "a?sessionid=2", "a;jsessionid=3"),
        "/a?sessionid=1": "<title>A</title>",
    }
    with Served(pages) as site:
        crawl(site.url, tmp_path / "web")
        assert site.paths() == ["/", "/a?sessionid=1"]


# -- again ------------------------------------------------------------------------------------------------------------


def test_a_complete_web_says_so_and_how_to_go_on(tmp_path: Path) -> None:
    with Served({"/": ""}) as site:
        crawl(site.url, tmp_path / "web")
        done = gossamer("crawl", site.url, "--store", tmp_path / "web")
    assert (done.returncode, len(site.paths())) == (0, 1)
    assert "complete" in done.stderr
    assert "--revisit" in done.stderr


def test_a_new_url_extends_the_web(tmp_path: Path) -> None:
    with Served({"/": ""}) as second, Served({"/": links(second.url)}) as first:
        crawl(first.url, tmp_path / "web")
        assert states(tmp_path / "web")[second.url] == "out of scope"
        crawl(second.url, tmp_path / "web")
        assert states(tmp_path / "web")[second.url] == "visited"
        assert len(first.paths()) == 1


def test_a_revisit_asks_with_conditions_and_keeps_what_is_unchanged(tmp_path: Path) -> None:
    with Served(
        {"/": Answer(links("a"), headers={"Content-Type": "text/html", "ETag": '"1"'}), "/a": "<title>A</title>"}
    ) as site:
        crawl(site.url, tmp_path / "web")
        site.pages["/"] = Answer("", 304, {"ETag": '"1"'})
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


def test_seeds_by_words_from_a_search_service(tmp_path: Path) -> None:
    with Served({"/": "<title>Found</title>"}) as found:
        results = links("/about", found.url)
        with Served({"/find?q=spider+silk": results}) as service:
            config = tmp_path / "gossamer.toml"
            config.write_text(f'[search_service]\nurl = "{service.url}find?q={{query}}"\n')
            done = gossamer(
                "crawl", "--query", "spider silk", "--store", tmp_path / "web", "--config", config, "--json",
                "--allow-private", "127.0.0.0/8",
            )  # fmt: skip
            assert json.loads(done.stdout)["pages"] == 1, done.stderr
        assert found.paths() == ["/"]
        assert "/about" not in service.paths()


def test_what_a_search_service_finds_on_a_private_host_is_refused_even_after_a_new_start(tmp_path: Path) -> None:
    web, config = tmp_path / "web", tmp_path / "gossamer.toml"
    with Served({"/": "secret"}) as secret:
        with Served({"/find?q=silk": links(secret.url)}) as service:
            config.write_text(f'[search_service]\nurl = "{service.url}find?q={{query}}"\n')
            for what in (("--query", "silk"), ("--revisit", "--all"), ("--query", "silk")):
                done = gossamer("crawl", *what, "--store", web, "--config", config)
                assert (done.returncode, "loopback" in done.stderr) == (2, True), done.stderr
        assert secret.requests == []
    assert states(web) == {secret.url: "refused"}


# -- what people are told ----------------------------------------------------------------------------------------------


def test_a_complete_web_counts_its_pages_and_not_its_sitemaps(tmp_path: Path) -> None:
    with Served({"/": ""}) as site:
        site.pages["/robots.txt"] = Answer(f"Sitemap: {site.url}sitemap.txt", headers={"Content-Type": "text/plain"})
        site.pages["/sitemap.txt"] = Answer(f"{site.url}", headers={"Content-Type": "text/plain"})
        crawl(site.url, tmp_path / "web")
        assert states(tmp_path / "web")[f"{site.url}sitemap.txt"] == "visited"
        assert "complete: 1 page visited" in gossamer("crawl", "--store", tmp_path / "web").stderr


def test_a_host_without_robots_txt_is_left_alone_and_people_are_told_until_when(tmp_path: Path) -> None:
    web, config = tmp_path / "web", tmp_path / "gossamer.toml"
    config.write_text("[politeness]\nretries = 1\n")
    with Served({"/": "", "/robots.txt": Answer("", 503)}) as site:
        for _ in range(2):
            done = gossamer("crawl", site.url, "--store", web, "--config", config)
            assert done.returncode == 2
            assert "robots.txt unreachable: 503" in done.stderr
            assert "tried again in " in done.stderr
    assert [host["robots"] for host in hosts(web)] == ["unreachable"]


def test_rules_that_come_while_a_host_is_at_work_are_obeyed_when_the_old_ones_are_too_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(policy, "ROBOTS_MAX_AGE_SECONDS", 0.5)  # seconds
    pages: Pages = {f"/{n}": links(f"/{n + 1}") for n in range(100)}
    with Served(pages) as site:
        for seen, _ in enumerate(Crawler(f"{site.url}0", store=tmp_path / "web", delay=0.05, index=False), start=1):
            if seen == 3:
                site.pages["/robots.txt"] = Answer("User-agent: *\nDisallow: /", headers={"Content-Type": "text/plain"})
    assert len(site.paths()) < 50
    assert [request.path for request in site.requests][-1] == "/robots.txt"
    assert sorted(set(states(tmp_path / "web").values())) == ["refused", "visited"]


def test_a_host_that_goes_away_and_stays_away_is_given_up_in_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(policy, "OUTAGE_SECONDS", 2.5)  # seconds: it is away at the first try, and gone at the second
    home = Answer(links("a", "b"), headers={"Content-Type": "text/html", "Connection": "close"})
    with Served({"/": home}) as site:
        pages = iter(Crawler(site.url, store=tmp_path / "web", delay=1.5, retries=1, index=False))
        assert next(pages).url == site.url
    assert list(pages) == []
    refused = ("connection failure", "Connection refused")
    assert reasons(tmp_path / "web") == {
        site.url: ("fetched", ""), f"{site.url}a": refused, f"{site.url}b": refused
    }  # fmt: skip


def hosts(web: Path) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads(gossamer("hosts", "--json", "--store", web).stdout)["hosts"]
    return found


def test_after_a_page_limit_people_are_told_how_to_lift_it(tmp_path: Path) -> None:
    with Served({"/": links("a", "b"), "/a": "", "/b": ""}) as site:
        done = gossamer("crawl", site.url, "--store", tmp_path / "web", "--max-pages", 1)
    assert "page limit reached. 1 page, " in done.stderr
    assert f"Go on with: gossamer crawl --store {tmp_path / 'web'} --max-pages N (or none)" in done.stderr


def test_a_crawl_without_a_url_says_where_it_goes_on(tmp_path: Path) -> None:
    with Served({"/": ""}) as site:
        crawl(site.url, tmp_path / "web")
        done = gossamer("crawl", "--store", tmp_path / "web")
    assert done.stderr.startswith(f"Going on where the last crawl stopped in {tmp_path / 'web'}/ ...\n")


def test_the_demo_goes_on_with_the_demo_and_what_can_be_done_next_stands_in_columns(tmp_path: Path) -> None:
    done = gossamer("go", "--no-serve", "--store", tmp_path / "web", "--max-pages", 1)
    assert f"Go on with: gossamer go --store {tmp_path / 'web'}" in done.stderr
    told = [line for line in done.stderr.splitlines() if line.startswith("  gossamer ")]
    where = {line.index(what) for line, what in zip(told, NEXT, strict=True)}
    assert len(where) == 1, done.stderr


NEXT = ("find pages", "search, look", "what is there", "broken links", "all that is known", "what is wrong")


def test_a_page_not_modified_is_told_and_exported_as_what_it_is(tmp_path: Path) -> None:
    web, out = tmp_path / "web", tmp_path / "out"
    with Served({"/": links("a"), "/a": Answer("", headers={"Content-Type": "text/html", "ETag": '"1"'})}) as site:
        crawl(site.url, web)
        site.pages["/a"] = Answer("", 304, {"ETag": '"1"'})
        gossamer("crawl", "--revisit", "--all", "--store", web)
        assert query(web, "SELECT status FROM resources WHERE url = ?", f"{site.url}a") == [(304,)]
        assert "visited 304" not in gossamer("page", site.url, "--store", web).stdout
    gossamer("export", "files", "--out", out, "--store", web)
    manifest = (out / "manifest.jsonl").read_text()
    assert '"status":304' not in manifest
    (out / "manifest.jsonl").write_text(manifest.replace('"status":200', '"status":304'))  # as older versions wrote it
    gossamer("import", out, "--store", tmp_path / "copy")
    assert set(query(tmp_path / "copy", "SELECT status FROM resources")) == {(200,)}


def test_a_web_taken_from_files_is_finished_and_says_where_it_came_from(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a.html").write_text("<title>A</title>")
    gossamer("import", tmp_path / "folder", "--base", "https://docs.example/", "--store", tmp_path / "web")
    told = gossamer("status", "--store", tmp_path / "web").stdout
    assert "not finished" not in told
    assert "taken from files" in told
    [crawler] = json.loads(gossamer("crawlers", "--json", "--store", tmp_path / "web").stdout)["crawlers"]
    assert (crawler["pages"], crawler["pages_per_second"], crawler["limit"]) == (1, 0, "")
