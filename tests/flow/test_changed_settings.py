"""A second crawl of a web asks for other settings while the first is at work: they hold for both."""

from __future__ import annotations

import subprocess
import time
from typing import TYPE_CHECKING

import pytest

from crawling import command, environment, query
from webs.served import Served

if TYPE_CHECKING:
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


def start(*arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command(*arguments), env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
