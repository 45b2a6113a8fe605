"""`kill -9` at any instant: nothing committed is lost, at most one batch is fetched again, the result is the same."""

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

from gossamer.config import StoreSettings
from helpers.cli.commands import FAST, command, crawl, environment, query, web_as_known
from webs import debian
from webs.nginx import Nginx, Site

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

BATCH = StoreSettings().batch_visits
MOST = 0.8  # of the pages are asked for up to the last kill, however fast the machine is: each kill meets work
LOOK_SECONDS = 0.2  # between looks into the server's log, which take up to 0.1


@pytest.mark.parametrize(
    ("site", "start", "kills"),
    [
        pytest.param("openjdk-17-doc", "/index.html", 5, id="five kills"),
        pytest.param("openjdk-17-doc", "/index.html", 20, id="twenty kills", marks=pytest.mark.full),
    ],
)
def test_a_crawl_killed_again_and_again_ends_like_one_that_was_not(
    nginx_binary: Path, tmp_path: Path, site: str, start: str, kills: int
) -> None:
    root = debian.find(site)
    assert root is not None
    with Nginx(nginx_binary, {"calm": Site(root), "killed": Site(root)}) as nginx:
        calm = crawl(nginx.url("calm", start), tmp_path / "calm", *FAST)
        span, pages = calm["seconds"], len(set(asked(nginx, "calm")))
        chance = random.Random(kills)
        ends = []  # requests made up to each kill
        for left in range(kills, 0, -1):
            done = len(set(asked(nginx, "killed")))
            has_its_share = partial(has_asked, nginx, done + (MOST * pages - done) / left)
            seconds = chance.uniform(0.3, 0.3 + 1.5 * span / kills)
            kill_after(seconds, has_its_share, nginx.url("killed", start), tmp_path / "killed")
            ends.append(len(asked(nginx, "killed")))
        crawl(nginx.url("killed", start), tmp_path / "killed", *FAST)
        requests = asked(nginx, "killed")
    lost = lost_by_kill(requests, ends)
    print(f"{kills} kills, {len(set(requests))} pages, fetched again: {sum(lost)}, after one kill {max(lost)} at most")
    assert max(lost) <= BATCH, f"after the kills {lost} pages were fetched again"
    at_most = Counter(row[0] for row in query(tmp_path / "killed", "SELECT resource FROM visits"))
    assert max(at_most.values()) == 1, "a page was committed twice"
    assert same_but_for_the_port(tmp_path / "calm") == same_but_for_the_port(tmp_path / "killed")


def asked(nginx: Nginx, site: str) -> list[str]:
    """The paths asked for on a site, in order."""
    return [each.path for each in nginx.asked() if each.site == site and each.path != "/robots.txt"]


def has_asked(nginx: Nginx, pages: float) -> bool:
    """Whether the crawlers that are killed have asked for so many pages by now."""
    return len(set(asked(nginx, "killed"))) >= pages


def lost_by_kill(requests: list[str], ends: list[int]) -> list[int]:
    """How many requests of each life of the crawler had to be made once more in a later one."""
    lost = [0] * (len(ends) + 1)
    life: dict[str, int] = {}  # in which a path was last asked for
    for number, path in enumerate(requests):
        if path in life:
            lost[life[path]] += 1
        life[path] = bisect_right(ends, number)
    return lost


def kill_after(seconds: float, is_enough: Callable[[], bool], url: str, store: Path) -> None:
    """Start a crawl and kill its coordinator, which has parsers and an index process that must notice by themselves."""
    process = subprocess.Popen(
        command("crawl", url, "--store", store, "--quiet", *FAST), env=environment(), start_new_session=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    deadline = time.monotonic() + seconds
    while process.poll() is None and (left := deadline - time.monotonic()) > 0 and not is_enough():
        time.sleep(min(left, LOOK_SECONDS))
    process.kill()
    assert process.wait() == -signal.SIGKILL, "the crawl was over before it was killed"


def same_but_for_the_port(store: Path) -> tuple[set[tuple[object, ...]], set[tuple[object, ...]]]:
    """What is known, with the port of the site taken out of the URLs, and digests of URLs left out."""
    [(seed,)] = query(store, "SELECT url FROM seeds ORDER BY round, seq LIMIT 1")
    place = seed.split("/")[2]

    def plain(row: tuple[object, ...]) -> tuple[object, ...]:
        return tuple(value.replace(place, "site") if isinstance(value, str) else value for value in row)

    resources, links = web_as_known(store)
    return {plain((row[0], *row[2:])) for row in resources}, {plain(row) for row in links}
