"""A second crawl changes the settings of a web while the first runs: the new settings hold for both."""

from __future__ import annotations

import subprocess
import time
from typing import TYPE_CHECKING

import pytest

from gossamer import Crawler
from gossamer.crawl import loop
from helpers.cli.commands import command, environment, query
from webs.served import SiteResponse, SiteServer

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

PAGES = 120
BATCH = 30  # pages that the first crawl may have parsed by the old settings and not written yet


def site() -> dict[str, str]:
    """Return a chain of pages; each links to a leaf and to the menu with its own query string."""
    chain = {
        f"/{n or ''}": f"<p>{n}<a href='/{n + 1}'>on</a> <a href='/leaf/{n}'>l</a> <a href='/menu?{n}'>m</a>"
        for n in range(PAGES)
    }
    return chain | {f"/leaf/{n}": f"{n}" for n in range(PAGES)} | {f"/menu?{n}": "" for n in range(PAGES)}


def change_settings_during_crawl(first: SiteServer, store: Path, *arguments: object) -> list[str]:
    """Run a second crawl with other settings beside the first; return the paths requested after the change."""
    options = ("--delay", "0.03", "--no-index", "--store", store)
    log = store / "logs" / "naiad.jsonl"
    with start("crawl", first.url, *options) as earlier:
        while len(first.paths()) < 5:
            time.sleep(0.01)
        with start("crawl", *arguments, *options) as later:
            while '"settings changed"' not in log.read_text() and earlier.poll() is None:
                time.sleep(0.01)
            changed_at = time.monotonic()
            stderr = later.communicate(timeout=100)[1]
        stderr += earlier.communicate(timeout=100)[1]
    assert (earlier.returncode, later.returncode) == (0, 0), stderr
    assert query(store, "SELECT count(*) FROM resources WHERE state IN ('queued', 'leased')") == [(0,)]
    late = [request.path for request in first.requests if request.at > changed_at]
    assert f"/{PAGES - 1}" in late, "the first crawl reads the new settings while it runs"
    return late


@pytest.mark.parametrize("extends", [True, False], ids=["with a seed", "without a seed"])
def test_a_running_crawl_skips_urls_that_a_second_crawl_excludes(extends: bool, tmp_path: Path) -> None:
    with SiteServer(site()) as first, SiteServer({"/": "<title>other</title>"}) as other:
        seeds = [other.url] if extends else []
        late = change_settings_during_crawl(first, tmp_path, *seeds, "--exclude", "/leaf/")
    assert [path for path in late if path.startswith("/leaf/")] == []
    states = query(tmp_path, "SELECT DISTINCT state FROM resources WHERE url LIKE '%/leaf/%' ORDER BY 1")
    assert states == [("out of scope",), ("visited",)]


def test_a_running_crawl_merges_urls_by_the_settings_of_a_second_crawl(tmp_path: Path) -> None:
    with SiteServer(site()) as first:
        late = change_settings_during_crawl(first, tmp_path, "--url-query", "strip")
    pages = [path for path in late if path[1:].isdecimal()]
    menus = [path for path in late if path.startswith("/menu?")]
    assert len(menus) < BATCH < len(pages)


def test_links_found_by_an_ending_crawl_are_judged_by_newer_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "HEARTBEAT_SECONDS", 60.0)
    last = SiteResponse("<a href='/leaf/1'>leaf</a>", seconds=1)
    with SiteServer({"/": "<a href='/last'>last</a>", "/last": last, "/leaf/1": ""}) as site:
        earlier = Crawler(site.url, store=tmp_path, delay=3, index=False)
        pages = iter(earlier)
        next(pages)
        with exclude_leaves(tmp_path) as later:
            while not (tmp_path / "logs" / "thalassa.jsonl").exists() and later.poll() is None:
                time.sleep(0.01)
            assert site.paths() == ["/"], "the crawl has not found the leaf yet"
            while len(site.paths()) < 2:
                time.sleep(0.01)
            earlier.stop()
            assert [page.url for page in pages] == [f"{site.url}last"], "the request in flight is finished"
            assert later.wait(100) == 0
    assert site.paths() == ["/", "/last"]
    assert query(tmp_path, "SELECT state FROM resources WHERE url LIKE '%/leaf/%'") == [("out of scope",)]


def test_a_failed_url_is_not_retried_after_another_crawl_excluded_it(tmp_path: Path) -> None:
    """The host goes away during the request of a leaf, and returns when both crawls know the new settings."""
    log, env = tmp_path / "logs" / "naiad.jsonl", {"GOSSAMER_FETCH_CONNECT_TIMEOUT": "6"}
    home = SiteResponse("<a href='/leaf/1'>leaf</a>", headers={"Content-Type": "text/html", "Connection": "close"})
    with (
        SiteServer({"/": home, "/leaf/1": ""}) as site,
        start("crawl", site.url, "--delay", "1", "--no-index", "--store", tmp_path, env=env) as earlier,
    ):
        while not site.paths():
            time.sleep(0.01)
        with site.unreachable():
            time.sleep(1.5)  # until the crawl requests the leaf
            later = exclude_leaves(tmp_path)
            while '"host away"' not in log.read_text() and earlier.poll() is None:
                time.sleep(0.01)
        assert earlier.wait(100) == 0
    with later:
        assert later.wait(100) == 0
    events = log.read_text()
    assert events.index('"settings changed"') < events.index('"host away"')
    assert site.paths() == ["/"]


def exclude_leaves(store: Path) -> subprocess.Popen[str]:
    return start("crawl", "--exclude", "/leaf/", "--no-index", "--store", store)


def start(*arguments: object, env: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command(*arguments), env=environment(env), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
