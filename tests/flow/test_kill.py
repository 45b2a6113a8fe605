"""`kill -9` at any instant loses nothing committed, repeats at most one batch, and leads to the same web."""

from __future__ import annotations

import random
import signal
import subprocess
import time
from bisect import bisect_right
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING

import pytest

from conftest import package
from gossamer.config import StoreSettings
from helpers.cli.commands import FAST, command, crawl, environment, query, resources_and_links
from webs import debian
from webs.nginx import Nginx, Site

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

BATCH = StoreSettings().batch_visits
KILL_SHARE = 0.6  # of the pages are requested before the last kill, so that every kill hits a running crawl ...
# ... and its last pages take seconds, which the test has to notice that the share is reached.
SLOW_ENOUGH = ("--delay", "0.003", "--connections", "16")
START = "/index.html"
POLL_SECONDS = 0.2  # between reads of the server's log, which take up to 0.1 s


@pytest.mark.parametrize(
    ("site", "kills"),
    [
        pytest.param(debian.JAVA_MODULE, 3, id="three kills"),
        pytest.param(debian.JAVA, 20, id="twenty kills", marks=pytest.mark.full),
    ],
)
def test_a_crawl_killed_repeatedly_ends_like_an_undisturbed_one(
    nginx_binary: Path, java_module: Path, tmp_path: Path, site: str, kills: int
) -> None:
    root = java_module if site == debian.JAVA_MODULE else package(site)
    with Nginx(nginx_binary, {"calm": Site(root), "killed": Site(root)}) as nginx:
        calm = crawl(nginx.url("calm", START), tmp_path / "calm", *FAST)
        span, pages = calm["seconds"], len(set(requested_paths(nginx, "calm")))
        chance = random.Random(kills)
        ends = []  # requests made up to each kill
        for left in range(kills, 0, -1):
            done = len(set(requested_paths(nginx, "killed")))
            has_its_share = partial(has_requested, nginx, done + (KILL_SHARE * pages - done) / left)
            seconds = chance.uniform(0.3, 0.3 + 1.5 * span / kills)
            kill_after(seconds, has_its_share, nginx.url("killed", START), tmp_path / "killed")
            ends.append(len(requested_paths(nginx, "killed")))
        crawl(nginx.url("killed", START), tmp_path / "killed", *FAST)
        requests = requested_paths(nginx, "killed")
    repeated = repeated_by_run(requests, ends)
    print(
        f"{kills} kills, {len(set(requests))} pages, repeated: {sum(repeated)}, {max(repeated)} at most after one kill"
    )
    assert max(repeated) <= BATCH, f"after the kills {repeated} pages were fetched again"
    at_most = Counter(row[0] for row in query(tmp_path / "killed", "SELECT resource FROM visits"))
    assert max(at_most.values()) == 1, "a page was committed twice"
    assert web_without_port(tmp_path / "calm") == web_without_port(tmp_path / "killed")


def requested_paths(nginx: Nginx, site: str) -> list[str]:
    """Return the paths requested from a site, in order."""
    return [each.path for each in nginx.requests() if each.site == site and each.path != "/robots.txt"]


def has_requested(nginx: Nginx, pages: float) -> bool:
    """Return whether the killed crawlers have requested this many pages."""
    return len(set(requested_paths(nginx, "killed"))) >= pages


def repeated_by_run(requests: list[str], ends: list[int]) -> list[int]:
    """Return, for each run of the crawler, how many of its requests a later run repeated."""
    repeated = [0] * (len(ends) + 1)
    run: dict[str, int] = {}  # that last requested a path
    for number, path in enumerate(requests):
        if path in run:
            repeated[run[path]] += 1
        run[path] = bisect_right(ends, number)
    return repeated


def kill_after(seconds: float, is_enough: Callable[[], bool], url: str, store: Path) -> None:
    """Start a crawl and kill its coordinator; its parsers and its index process must notice by themselves."""
    process = subprocess.Popen(
        command("crawl", url, "--store", store, "--quiet", *SLOW_ENOUGH), env=environment(), start_new_session=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    deadline = time.monotonic() + seconds
    while process.poll() is None and (left := deadline - time.monotonic()) > 0 and not is_enough():
        time.sleep(min(left, POLL_SECONDS))
    process.kill()
    assert process.wait() == -signal.SIGKILL, "the crawl ended before the kill"


def web_without_port(store: Path) -> tuple[set[tuple[object, ...]], set[tuple[object, ...]]]:
    """Return resources and links without the port of the site and without digests of URLs."""
    [(seed,)] = query(store, "SELECT url FROM seeds ORDER BY round, seq LIMIT 1")
    authority = seed.split("/")[2]

    def plain(row: tuple[object, ...]) -> tuple[object, ...]:
        return tuple(value.replace(authority, "site") if isinstance(value, str) else value for value in row)

    resources, links = resources_and_links(store)
    return {plain((row[0], *row[2:])) for row in resources}, {plain(row) for row in links}
