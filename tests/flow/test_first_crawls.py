"""Two people start a web at the same moment, each with a seed of their own: nothing of either is lost."""

from __future__ import annotations

import subprocess
import time
from typing import TYPE_CHECKING

from helpers.cli.commands import command, environment, query
from webs.served import Served

if TYPE_CHECKING:
    from pathlib import Path

PAGES = 12
LONG = 60
TIMES = 3  # the two do not always meet at the same point


def site(other: str, pages: int = PAGES) -> dict[str, str]:
    """A chain of pages; each links to its twin on the other site too."""
    return {
        f"/{n or ''}": f"<title>{n}</title><a href='/{n + 1}'>next</a> <a href='{other}{n or ''}'>twin</a>"
        for n in range(pages)
    }


def crawl_both(first: Served, second: Served, store: Path) -> list[str]:
    """Start both at once; what each says."""
    processes = [start("crawl", served.url, "--store", store, "--no-index") for served in (first, second)]
    said = [process.communicate(timeout=100)[1] for process in processes]
    assert [process.returncode for process in processes] == [0, 0], said
    return said


def test_two_first_crawls_at_once_visit_all_that_either_asks_for(tmp_path: Path) -> None:
    for number in range(TIMES):
        store = tmp_path / str(number)
        with Served({}) as first, Served({}) as second:
            first.pages, second.pages = dict(site(second.url)), dict(site(first.url))
            crawl_both(first, second, store)
            states = query(store, "SELECT state, count(*) FROM resources GROUP BY 1 ORDER BY 1")
            assert states == [("gone", 2), ("visited", 2 * PAGES)]
            (round_,) = query(store, "SELECT max(id) FROM rounds")[0]
            seeds = {url for (url,) in query(store, "SELECT url FROM seeds WHERE round = ?", round_)}
            assert seeds == {first.url, second.url}


def test_what_a_running_crawl_judged_before_it_heard_of_another_ones_seed_is_judged_anew(tmp_path: Path) -> None:
    """Its pages link to the other site, which is out of scope until the other crawl says otherwise."""
    slowly = ("--delay", "0.05", "--no-index", "--store", tmp_path)
    with Served({}) as first, Served({}) as second:
        first.pages, second.pages = dict(site(second.url, LONG)), dict(site(first.url, LONG))
        with start("crawl", first.url, *slowly) as earlier:
            while len(first.paths()) < 5:
                time.sleep(0.01)
            with start("crawl", second.url, *slowly) as later:
                said = later.communicate(timeout=100)[1]
            said += earlier.communicate(timeout=100)[1]
    assert (earlier.returncode, later.returncode) == (0, 0), said
    states = query(tmp_path, "SELECT state, count(*) FROM resources GROUP BY 1 ORDER BY 1")
    assert states == [("gone", 2), ("visited", 2 * LONG)]


def start(*arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command(*arguments), env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
