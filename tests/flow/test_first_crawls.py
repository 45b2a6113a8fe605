"""Two crawls start one web at the same moment, each with its own seed: no page of either is lost."""

from __future__ import annotations

import subprocess
import threading
from typing import TYPE_CHECKING

from helpers.cli.commands import command, environment, query
from helpers.patience import PATIENCE, PATIENT_CRAWL, until
from webs.served import SiteResponse, SiteServer

if TYPE_CHECKING:
    from pathlib import Path

PAGES = 12
LONG = 60
ATTEMPTS = 3  # because the two crawls do not always meet at the same point


def site(other: str, pages: int = PAGES) -> dict[str, str]:
    """Return a chain of pages; each also links to its twin on the other site."""
    return {
        f"/{n or ''}": f"<title>{n}</title><a href='/{n + 1}'>next</a> <a href='{other}{n or ''}'>twin</a>"
        for n in range(pages)
    }


def crawl_both(first: SiteServer, second: SiteServer, store: Path) -> list[str]:
    """Start both crawls at once; return the stderr of each."""
    processes = [start("crawl", served.url, "--store", store, "--no-index") for served in (first, second)]
    stderr = [process.communicate(timeout=PATIENCE)[1] for process in processes]
    assert [process.returncode for process in processes] == [0, 0], stderr
    return stderr


def test_two_simultaneous_first_crawls_visit_the_sites_of_both(tmp_path: Path) -> None:
    for number in range(ATTEMPTS):
        store = tmp_path / str(number)
        with SiteServer({}) as first, SiteServer({}) as second:
            first.pages, second.pages = dict(site(second.url)), dict(site(first.url))
            crawl_both(first, second, store)
            states = query(store, "SELECT state, count(*) FROM resources GROUP BY 1 ORDER BY 1")
            assert states == [("gone", 2), ("visited", 2 * PAGES)]
            (round_,) = query(store, "SELECT max(id) FROM rounds")[0]
            seeds = {url for (url,) in query(store, "SELECT url FROM seeds WHERE round = ?", round_)}
            assert seeds == {first.url, second.url}


def test_a_running_crawl_admits_links_again_after_another_adds_a_seed(tmp_path: Path) -> None:
    """The pages link to the other site, which is out of scope until the second crawl adds its seed."""
    options = ("--delay", "0.05", "--no-index", "--store", tmp_path)
    with SiteServer({}) as first, SiteServer({}) as second:
        gate = threading.Event()  # so that the first crawl does not end before the second begins
        first.pages, second.pages = {**site(second.url, LONG)}, {**site(first.url, LONG)}
        first.pages["/5"] = SiteResponse(site(second.url, LONG)["/5"], gate=gate)
        with start("crawl", first.url, *options) as earlier:
            until(lambda: "/5" in first.paths(), "the page that waits")
            with start("crawl", second.url, *options) as later:
                until(second.paths, "the first request of the second crawl")
                gate.set()
                stderr = later.communicate(timeout=PATIENCE)[1]
            stderr += earlier.communicate(timeout=PATIENCE)[1]
    assert (earlier.returncode, later.returncode) == (0, 0), stderr
    states = query(tmp_path, "SELECT state, count(*) FROM resources GROUP BY 1 ORDER BY 1")
    assert states == [("gone", 2), ("visited", 2 * LONG)]


def start(*arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command(*arguments), env=environment(PATIENT_CRAWL), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
