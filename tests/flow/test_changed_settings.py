"""A second crawl of a web asks for other settings while the first is at work: they hold for both."""

from __future__ import annotations

import subprocess
import time
from typing import TYPE_CHECKING

import pytest

from gossamer import Crawler
from gossamer.crawl import loop
from helpers.cli.commands import command, environment, query
from webs.served import Answer, Served

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

PAGES = 120
BATCH = 30  # pages that may have been read by the old settings and not been written when it hears of new ones


def site() -> dict[str, str]:
    """A chain of pages; each has a leaf, and links to the menu under a name of its own."""
    chain = {
        f"/{n or ''}": f"<p>{n}<a href='/{n + 1}'>on</a> <a href='/leaf/{n}'>l</a> <a href='/menu?{n}'>m</a>"
        for n in range(PAGES)
    }
    return chain | {f"/leaf/{n}": f"{n}" for n in range(PAGES)} | {f"/menu?{n}": "" for n in range(PAGES)}


def crawl_while_another_does(first: Served, store: Path, *asked: object) -> list[str]:
    """A crawl is at work when another one asks for something else; gives the paths asked for after it heard of that."""
    slowly = ("--delay", "0.03", "--no-index", "--store", store)
    log = store / "logs" / "naiad.jsonl"
    with start("crawl", first.url, *slowly) as earlier:
        while len(first.paths()) < 5:
            time.sleep(0.01)
        with start("crawl", *asked, *slowly) as later:
            while '"settings changed"' not in log.read_text() and earlier.poll() is None:
                time.sleep(0.01)
            heard = time.monotonic()
            said = later.communicate(timeout=100)[1]
        said += earlier.communicate(timeout=100)[1]
    assert (earlier.returncode, later.returncode) == (0, 0), said
    assert query(store, "SELECT count(*) FROM resources WHERE state IN ('queued', 'leased')") == [(0,)]
    late = [request.path for request in first.requests if request.at > heard]
    assert f"/{PAGES - 1}" in late, "it heard of it while it was at work"
    return late


@pytest.mark.parametrize("extends", [True, False], ids=["with a seed", "without"])
def test_what_a_second_crawl_excludes_the_first_visits_no_longer(extends: bool, tmp_path: Path) -> None:
    with Served(site()) as first, Served({"/": "<title>other</title>"}) as other:
        seeds = [other.url] if extends else []
        late = crawl_while_another_does(first, tmp_path, *seeds, "--exclude", "/leaf/")
    assert [path for path in late if path.startswith("/leaf/")] == []
    states = query(tmp_path, "SELECT DISTINCT state FROM resources WHERE url LIKE '%/leaf/%' ORDER BY 1")
    assert states == [("out of scope",), ("visited",)]


def test_what_a_second_crawl_takes_for_the_same_page_the_first_does_too(tmp_path: Path) -> None:
    with Served(site()) as first:
        late = crawl_while_another_does(first, tmp_path, "--url-query", "strip")
    pages = [path for path in late if path[1:].isdecimal()]
    menus = [path for path in late if path.startswith("/menu?")]
    assert len(menus) < BATCH < len(pages)


def test_what_a_crawl_found_that_ends_before_it_hears_of_another_is_judged_by_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "HEARTBEAT_SECONDS", 60.0)
    last = Answer("<a href='/leaf/1'>leaf</a>", seconds=1)
    with Served({"/": "<a href='/last'>last</a>", "/last": last, "/leaf/1": ""}) as site:
        earlier = Crawler(site.url, store=tmp_path, delay=3, index=False)
        pages = iter(earlier)
        next(pages)
        with exclude_leaves(tmp_path) as later:
            while not (tmp_path / "logs" / "thalassa.jsonl").exists() and later.poll() is None:
                time.sleep(0.01)
            assert site.paths() == ["/"], "it has not found the leaf yet"
            while len(site.paths()) < 2:
                time.sleep(0.01)
            earlier.stop()
            assert [page.url for page in pages] == [f"{site.url}last"], "what is in flight is finished"
            assert later.wait(100) == 0
    assert site.paths() == ["/", "/last"]
    assert query(tmp_path, "SELECT state FROM resources WHERE url LIKE '%/leaf/%'") == [("out of scope",)]


def test_what_was_asked_for_in_vain_before_another_crawl_excluded_it_is_not_asked_for_again(tmp_path: Path) -> None:
    """The host answers, goes away while a leaf is asked for, and comes back when both crawls know of the change."""
    log, env = tmp_path / "logs" / "naiad.jsonl", {"GOSSAMER_FETCH_CONNECT_TIMEOUT": "6"}
    home = Answer("<a href='/leaf/1'>leaf</a>", headers={"Content-Type": "text/html", "Connection": "close"})
    with (
        Served({"/": home, "/leaf/1": ""}) as site,
        start("crawl", site.url, "--delay", "1", "--no-index", "--store", tmp_path, env=env) as earlier,
    ):
        while not site.paths():
            time.sleep(0.01)
        with site.away():
            time.sleep(1.5)  # until the leaf is asked for
            later = exclude_leaves(tmp_path)
            while '"host away"' not in log.read_text() and earlier.poll() is None:
                time.sleep(0.01)
        assert earlier.wait(100) == 0
    with later:
        assert later.wait(100) == 0
    told = log.read_text()
    assert told.index('"settings changed"') < told.index('"host away"')
    assert site.paths() == ["/"]


def exclude_leaves(store: Path) -> subprocess.Popen[str]:
    return start("crawl", "--exclude", "/leaf/", "--no-index", "--store", store)


def start(*arguments: object, env: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command(*arguments), env=environment(env), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
