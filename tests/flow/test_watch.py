"""`watch` and `crawl --revisit` on small real sites, and the freshness that commands show."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from helpers.cli.commands import command, crawl, environment, gossamer, query
from helpers.patience import PATIENCE, until
from webs.served import SiteResponse, SiteServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

QUICK = {"GOSSAMER_FRESHNESS_SITEMAP_WAIT": "1", "GOSSAMER_FRESHNESS_SHORTEST_WAIT": "0"}
XML = {"Content-Type": "application/xml"}


def sitemap(site: SiteServer, **ages: float) -> SiteResponse:
    """Return a sitemap; `ages` maps a path to the days since its last change."""
    now = datetime.now(UTC)
    entries = "".join(
        f"<url><loc>{site.url}{path}</loc><lastmod>{(now - timedelta(days=age)).isoformat()}</lastmod></url>"
        for path, age in ages.items()
    )
    return SiteResponse(f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{entries}</urlset>', headers=XML)


def site_with_sitemap() -> SiteServer:
    site = SiteServer({"/": '<title>Home</title><a href="a">a</a> <a href="b">b</a>', "/a": "<title>A</title>First.",
                   "/b": "<title>B</title>Second."})  # fmt: skip
    site.pages["/robots.txt"] = SiteResponse(f"Sitemap: {site.url}sitemap.xml", headers={"Content-Type": "text/plain"})
    site.pages["/sitemap.xml"] = sitemap(site, a=100, b=50)
    return site


@contextmanager
def watching(web: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        command("watch", "--store", web, *arguments), env=environment(QUICK), text=True, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def test_watch_visits_a_page_changed_by_sitemap_and_stops_on_ctrl_c(tmp_path: Path) -> None:
    web = tmp_path / "web"
    with site_with_sitemap() as site:
        crawl(site.url, web)
        time.sleep(1.1)  # because the dates must be later than the visits
        requests_before = len(site.requests)
        site.pages["/a"] = "<title>New A</title>First, and more."
        site.pages["/sitemap.xml"] = sitemap(site, a=0, b=50)
        with watching(web, "--json") as process:
            until(lambda: query(web, "SELECT title FROM resources WHERE url = ?", f"{site.url}a") == [("New A",)])
            until(lambda: site.paths()[requests_before:].count("/sitemap.xml") >= 2)
            process.send_signal(signal.SIGINT)
            stdout, stderr = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, stderr
        assert "stopped" in stderr
        assert json.loads(stdout.splitlines()[-1])["pages"] == 1
        assert {*site.paths()[requests_before:]} == {"/sitemap.xml", "/a"}, (
            "by the sitemap, the other pages have not changed"
        )
    [(event, title)] = query(web, "SELECT event, title FROM history WHERE event <> 'x' AND title = 'A'")
    assert (event, title) == ("changed", "A")


def test_watch_obeys_pages_per_hour_and_a_crawl_does_not(tmp_path: Path) -> None:
    web = tmp_path / "web"
    pages = {"/": "".join(f'<a href="{n}">{n}</a>' for n in range(30))} | {f"/{n}": str(n) for n in range(30)}
    with SiteServer(pages) as site:
        crawl(site.url, web, "--max-pages", 5)
        requests_before = len(site.paths())
        gossamer("crawl", "--store", web, "--max-pages", "6")
        with watching(web, "--pages-per-hour", "8", "--max-pages", "none") as process:
            until(lambda: len(site.paths()) - requests_before >= 9)
            time.sleep(2.5)
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=PATIENCE)
        assert len(site.paths()) - requests_before <= 6 + 8
        done = gossamer("crawl", "--store", web, "--json", "--max-pages", "none")
        assert json.loads(done.stdout)["queued"] == 0, done.stderr
        assert {*site.paths()} == {*pages}


def test_a_revisit_skips_pages_that_are_not_due(tmp_path: Path) -> None:
    web = tmp_path / "web"
    with SiteServer({"/": '<a href="a">a</a>', "/a": "A"}) as site:
        crawl(site.url, web)
        requests_before = len(site.requests)
        done = gossamer("crawl", "--store", web, "--revisit", "--json")
        assert done.returncode == 0
        assert "Nothing is due; the next visit is due in " in done.stderr
        assert json.loads(done.stdout)["pages"] == 0
        assert len(site.requests) == requests_before
        assert gossamer("crawl", "--store", web, "--all").returncode == 2


def test_a_revisit_requests_a_missing_page_twice_and_removes_it(tmp_path: Path) -> None:
    web = tmp_path / "web"
    with SiteServer({"/": '<a href="a">a</a> <a href="b">b</a>', "/a": '<a href="b">b</a>', "/b": "B"}) as site:
        crawl(site.url, web)
        requests_before = len(site.requests)
        del site.pages["/a"]
        gossamer("crawl", "--store", web, "--revisit", "--all")
        assert site.paths()[requests_before - 1 :] == ["/", "/a", "/b", "/a"]
    assert query(web, "SELECT state, content_digest, outlinks FROM resources WHERE url = ?", f"{site.url}a") == [
        ("gone", b"", 0)
    ]
    assert query(web, "SELECT event FROM history") == [("gone",)]


def test_a_host_that_is_down_keeps_its_stored_pages(tmp_path: Path) -> None:
    web = tmp_path / "web"
    with SiteServer({"/": '<title>Home</title><a href="a">a</a>', "/a": "<title>A</title>"}) as site:
        crawl(site.url, web)
        before = query(web, "SELECT url, title, version, content_digest FROM resources ORDER BY id")
        links = query(web, "SELECT * FROM links")
    once = {"GOSSAMER_POLITENESS_RETRIES": "1"}
    gossamer("crawl", "--store", web, "--revisit", "--all", "--patience", "0", env=once)
    assert query(web, "SELECT state, count(*) FROM resources GROUP BY 1") == [("failed", 2)]
    assert query(web, "SELECT url, title, version, content_digest FROM resources ORDER BY id") == before
    assert query(web, "SELECT * FROM links") == links
    assert query(web, "SELECT count(*) FROM texts") == [(2,)]


def test_status_and_page_show_freshness(tmp_path: Path) -> None:
    web = tmp_path / "web"
    with SiteServer({"/": '<title>Old</title><a href="a">a</a>', "/a": "A"}) as site:
        crawl(site.url, web)
        site.pages["/"] = "<title>New</title>"
        gossamer("crawl", "--store", web, "--revisit", "--all")
        fresh = json.loads(gossamer("status", "--store", web, "--json").stdout)["freshness"]
        assert (fresh["pages"], fresh["due"]) == (2, 0)
        assert fresh["out_of_date"] < 0.01
        assert "Expected to be out of date: 0.0 %; none due" in gossamer("status", "--store", web).stdout
        page = json.loads(gossamer("page", site.url, "--store", web, "--json").stdout)
        (change,) = page["history"]
        assert (change["title"], change["now_title"], [bond["url"] for bond in change["lost"]]) == (
            "Old", "New", [f"{site.url}a"],
        )  # fmt: skip
        assert page["next_visit_at"] > time.time()
        shown = gossamer("page", site.url, "--store", web).stdout
        assert "changed: text, title, links" in shown
        assert "next visit" in shown
