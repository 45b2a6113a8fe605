"""A second crawl changes the settings of a web while the first runs: the new settings hold for both."""

from __future__ import annotations

import subprocess
import threading
from typing import TYPE_CHECKING

import psutil
import pytest

from gossamer import Crawler
from gossamer.crawl import loop
from helpers.cli.commands import command, environment, query
from helpers.patience import PATIENCE, PATIENT_CRAWL, until
from webs.served import SiteResponse, SiteServer

if TYPE_CHECKING:
    from pathlib import Path

PAGES = 80
GATE = 5  # page of the chain that the first crawl gets after it knows the new settings
BATCH = 30  # pages that the first crawl may have parsed by the old settings and not written yet


def site(gate: threading.Event) -> dict[str, str | SiteResponse]:
    """Return a chain of pages; each links to a leaf and to the menu with its own query string."""
    chain: dict[str, str | SiteResponse] = {
        f"/{n or ''}": f"<p>{n}<a href='/{n + 1}'>on</a> <a href='/leaf/{n}'>l</a> <a href='/menu?{n}'>m</a>"
        for n in range(PAGES)
    }
    chain[f"/{GATE}"] = SiteResponse(str(chain[f"/{GATE}"]), gate=gate)
    return chain | {f"/leaf/{n}": f"{n}" for n in range(PAGES)} | {f"/menu?{n}": "" for n in range(PAGES)}


def change_settings_during_crawl(
    first: SiteServer, gate: threading.Event, store: Path, *arguments: object
) -> list[str]:
    """Run a second crawl with other settings beside the first; return the paths requested after the change."""
    options = ("--delay", "0.03", "--no-index", "--store", store)
    log = store / "logs" / "naiad.jsonl"
    with start("crawl", first.url, *options) as earlier:
        until(lambda: f"/{GATE}" in first.paths(), "the page that waits")
        with start("crawl", *arguments, *options) as later:
            until(lambda: '"settings changed"' in log.read_text(), "the first crawl to read the settings")
            early = len(first.paths())
            gate.set()
            stderr = later.communicate(timeout=PATIENCE)[1]
        stderr += earlier.communicate(timeout=PATIENCE)[1]
    assert (earlier.returncode, later.returncode) == (0, 0), stderr
    assert query(store, "SELECT count(*) FROM resources WHERE state IN ('queued', 'leased')") == [(0,)]
    late = first.paths()[early:]
    assert f"/{PAGES - 1}" in late, "the first crawl reads the new settings while it runs"
    return late


@pytest.mark.parametrize("extends", [True, False], ids=["with a seed", "without a seed"])
def test_a_running_crawl_skips_urls_that_a_second_crawl_excludes(extends: bool, tmp_path: Path) -> None:
    gate = threading.Event()
    with SiteServer(site(gate)) as first, SiteServer({"/": "<title>other</title>"}) as other:
        seeds = [other.url] if extends else []
        late = change_settings_during_crawl(first, gate, tmp_path, *seeds, "--exclude", "/leaf/")
    assert [path for path in late if path.startswith("/leaf/")] == []
    states = query(tmp_path, "SELECT DISTINCT state FROM resources WHERE url LIKE '%/leaf/%' ORDER BY 1")
    assert states == [("out of scope",), ("visited",)]


def test_a_running_crawl_merges_urls_by_the_settings_of_a_second_crawl(tmp_path: Path) -> None:
    gate = threading.Event()
    with SiteServer(site(gate)) as first:
        late = change_settings_during_crawl(first, gate, tmp_path, "--url-query", "strip")
    pages = [path for path in late if path[1:].isdecimal()]
    menus = [path for path in late if path.startswith("/menu?")]
    assert len(menus) < BATCH < len(pages)


def test_links_found_by_an_ending_crawl_are_judged_by_newer_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "HEARTBEAT_SECONDS", PATIENCE)
    gate = threading.Event()
    last = SiteResponse("<a href='/leaf/1'>leaf</a>", gate=gate)
    with SiteServer({"/": "<a href='/last'>last</a>", "/last": last, "/leaf/1": ""}) as site:
        earlier = Crawler(site.url, store=tmp_path, index=False, timeout=PATIENCE, min_rate_seconds=int(PATIENCE))
        pages = iter(earlier)
        next(pages)
        with exclude_leaves(tmp_path) as later:
            until((tmp_path / "logs" / "thalassa.jsonl").exists, "the second crawl")
            until(lambda: "/last" in site.paths(), "the request of the last page")
            earlier.stop()
            gate.set()
            assert [page.url for page in pages] == [f"{site.url}last"], "the request in flight is finished"
            assert later.wait(PATIENCE) == 0
    assert site.paths() == ["/", "/last"]
    assert query(tmp_path, "SELECT state FROM resources WHERE url LIKE '%/leaf/%'") == [("out of scope",)]


def test_a_failed_url_is_not_retried_after_another_crawl_excluded_it(tmp_path: Path) -> None:
    """The host goes away before the connection for a leaf, and refuses it when the crawl knows the new settings."""
    log, gate = tmp_path / "logs" / "naiad.jsonl", threading.Event()
    headers = {"Content-Type": "text/html", "Connection": "close"}
    with (
        SiteServer({"/": SiteResponse("<a href='/leaf/1'>leaf</a>", headers=headers, gate=gate)}) as site,
        start("crawl", site.url, "--no-index", "--store", tmp_path) as earlier,
    ):
        until(site.paths, "the first request")
        with site.unreachable():
            gate.set()
            until(lambda: is_connecting(earlier.pid), "the connection for the leaf")
            later = exclude_leaves(tmp_path)
            until(lambda: '"settings changed"' in log.read_text(), "the first crawl to read the settings")
        with later:
            assert (earlier.wait(PATIENCE), later.wait(PATIENCE)) == (0, 0)
    assert log.read_text().count('"host away"') == 1
    assert query(tmp_path, "SELECT state FROM resources WHERE url LIKE '%/leaf/%'") == [("out of scope",)]


def is_connecting(pid: int) -> bool:
    """Return whether a process waits for a connection."""
    return any(one.status == psutil.CONN_SYN_SENT for one in psutil.Process(pid).net_connections("tcp"))


def exclude_leaves(store: Path) -> subprocess.Popen[str]:
    return start("crawl", "--exclude", "/leaf/", "--no-index", "--store", store)


def start(*arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command(*arguments), env=environment(PATIENT_CRAWL), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
