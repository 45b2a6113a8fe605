"""Several crawlers on one PostgreSQL: hosts shared out, no page fetched twice, deaths and restarts survived.

What happened is read from the sites' own records (tests/webs/delayed.py), not from what crawlers say of themselves.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections import Counter
from contextlib import closing, contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING

import psycopg
import pytest

from gossamer.store.postgres import PostgresStore
from helpers.cli.commands import command, environment
from helpers.store.postgres_server import PostgresOfItsOwn
from webs.delayed import DelayedSites, Seen

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CRAWLERS = 4
HOSTS = 40
BATCH_SECONDS = 3.0  # a killed crawler's last batch began at most so long before; the setting says half a second


@pytest.fixture
def server(tmp_path: Path) -> Iterator[PostgresOfItsOwn]:
    with PostgresOfItsOwn() as server:
        yield server


class Fleet:
    """Crawlers on one web."""

    def __init__(self, place: str, sites: DelayedSites, directory: Path) -> None:
        self.place = place
        self.sites = sites
        self._directory = directory
        self.crawlers: list[subprocess.Popen[bytes]] = []

    def start(self, number: int, max_hosts: int = HOSTS // CRAWLERS) -> None:
        """So many crawlers, all given the same words."""
        for _ in range(number):
            ask = command(
                "crawl", *self.sites.seeds, "--store", self.place, "--max-hosts", max_hosts, "--parsers", 1,
                "--no-index", "--quiet",
            )  # fmt: skip
            env = environment({"GOSSAMER_LOCAL": str(self._directory / "local")})
            with (self._directory / f"crawler-{len(self.crawlers)}.txt").open("wb") as said:
                self.crawlers.append(subprocess.Popen(ask, stdout=said, stderr=said, env=env))

    def wait(self, seconds: float) -> None:
        """Let them come to their end."""
        for crawler in self.crawlers:
            crawler.wait(seconds)

    def said(self) -> str:
        """What they said, for a test that fails."""
        return "\n".join(file.read_text() for file in sorted(self._directory.glob("crawler-*.txt")))


@contextmanager
def fleet(server: PostgresOfItsOwn, directory: Path, *, pages: int, delay: float) -> Iterator[Fleet]:
    with DelayedSites(directory, hosts=HOSTS, pages=pages, delay=delay) as sites:
        crawling = Fleet(server.place, sites, directory)
        try:
            yield crawling
        finally:
            for crawler in crawling.crawlers:
                crawler.kill()
                crawler.wait()


def wait_for_pages(sites: DelayedSites, number: int, seconds: float = 60) -> None:
    until = time.monotonic() + seconds
    while len(pages_in(sites.seen())) < number:
        assert time.monotonic() < until, f"{len(pages_in(sites.seen()))} of {number} pages after {seconds} s"
        time.sleep(0.1)


def wait_for_visits(place: str, number: int, seconds: float = 60) -> None:
    until = time.monotonic() + seconds
    while visited(place)[1] < number:
        assert time.monotonic() < until
        time.sleep(0.1)


def pages_in(seen: list[Seen]) -> list[Seen]:
    return [one for one in seen if one.path != "/robots.txt"]


def too_fast(sites: DelayedSites) -> list[tuple[Seen, Seen]]:
    """Requests that came sooner after the one before than the site asks for."""
    pairs = [pair for seen in sites.by_host().values() for pair in pairwise(seen)]
    return [(one, two) for one, two in pairs if one.path != "/robots.txt" and two.at - one.at < sites.delay]


def visited(place: str) -> tuple[int, int]:
    """Pages that the store has, and visits."""
    with closing(PostgresStore.open(place, create=False, read_only=True)) as store:
        return store.counts().resources["visited"], sum(1 for _ in store.every_visit())


def held_by(place: str, pid: int) -> set[str]:
    """The sites that a crawler holds."""
    with closing(PostgresStore.open(place, create=False, read_only=True)) as store:
        name = next((crawler.name for crawler in store.crawlers() if crawler.pid == pid), "")
        return {host.name.partition(":")[0] for host in store.hosts() if host.holder == name}


def check_a_fleet_that_loses_a_crawler_and_its_database(
    server: PostgresOfItsOwn, directory: Path, *, pages: int, delay: float
) -> None:
    with fleet(server, directory, pages=pages, delay=delay) as crawling:
        sites = crawling.sites
        crawling.start(CRAWLERS)
        wait_for_pages(sites, HOSTS * pages // 4)
        server.restart()
        wait_for_visits(server.place, HOSTS * pages // 2)  # written, so all are back
        held = {crawler.pid: held_by(server.place, crawler.pid) for crawler in crawling.crawlers}
        victim, orphans = max(held.items(), key=lambda pair: len(pair[1]))
        killed = time.time()
        os.kill(victim, signal.SIGKILL)
        crawling.wait(180)
        seen = pages_in(sites.seen())
        times = Counter((one.host, one.path) for one in seen)
        assert len(times) == HOSTS * pages, crawling.said()
        assert orphans, "it held hosts when it was killed"
        again = [
            next(one for one in seen if (one.host, one.path) == key) for key, number in times.items() if number > 1
        ]
        late = [one._replace(at=one.at - killed) for one in again if one.host in orphans]
        assert len(late) == len(again)
        assert all(-BATCH_SECONDS < one.at < 0 for one in late), late
        assert not too_fast(sites)
        assert max(one.at for one in seen if one.host in orphans) - killed < 60
        assert visited(server.place) == (HOSTS * pages, HOSTS * pages)


def test_a_fleet_loses_a_crawler_and_its_database_and_no_page(server: PostgresOfItsOwn, tmp_path: Path) -> None:
    check_a_fleet_that_loses_a_crawler_and_its_database(server, tmp_path, pages=24, delay=0.3)


def test_a_crawler_that_joins_gets_work_within_seconds_though_all_hosts_are_held(
    server: PostgresOfItsOwn, tmp_path: Path
) -> None:
    with fleet(server, tmp_path, pages=20, delay=0.5) as crawling:
        crawling.start(1, max_hosts=HOSTS)
        wait_for_pages(crawling.sites, 3 * HOSTS)
        first = crawling.crawlers[0].pid
        assert len(held_by(server.place, first)) == HOSTS
        crawling.start(1, max_hosts=HOSTS)
        joined = time.monotonic()
        while not (mine := held_by(server.place, crawling.crawlers[1].pid)):
            assert time.monotonic() - joined < 10
            time.sleep(0.1)
        print(f"{len(mine)} hosts after {time.monotonic() - joined:.1f} s", end="")
        time.sleep(2)
        mine = held_by(server.place, crawling.crawlers[1].pid)
        print(f", {len(mine)} after {time.monotonic() - joined:.1f} s")
        assert len(mine) >= HOSTS // 4
        crawling.wait(60)
        seen = pages_in(crawling.sites.seen())
        assert max(Counter((one.host, one.path) for one in seen).values()) == 1
        assert not too_fast(crawling.sites)
        assert visited(server.place) == (HOSTS * 20, HOSTS * 20)


@pytest.mark.full
def test_a_bigger_fleet_loses_a_crawler_and_its_database_and_no_page(server: PostgresOfItsOwn, tmp_path: Path) -> None:
    check_a_fleet_that_loses_a_crawler_and_its_database(server, tmp_path, pages=40, delay=1.0)


@pytest.mark.full
def test_four_crawlers_are_three_times_as_fast_as_one(server: PostgresOfItsOwn, tmp_path: Path) -> None:
    took = {}
    for number in (1, CRAWLERS):
        directory = tmp_path / str(number)
        directory.mkdir()
        server.new_web()
        with fleet(server, directory, pages=20, delay=1.0) as crawling:
            crawling.start(number)
            crawling.wait(300)
            seen = crawling.sites.seen()
            assert Counter((one.host, one.path) for one in pages_in(seen)).most_common(1)[0][1] == 1
            assert not too_fast(crawling.sites)
            took[number] = seen[-1].at - seen[0].at
    print(f"one crawler: {took[1]:.1f} s, {CRAWLERS}: {took[CRAWLERS]:.1f} s")
    assert took[1] >= 3 * took[CRAWLERS]


@pytest.mark.full
def test_ten_crawlers_that_start_at_once_make_one_web(server: PostgresOfItsOwn, tmp_path: Path) -> None:
    with fleet(server, tmp_path, pages=2, delay=0.1) as crawling:
        crawling.start(10)
        crawling.wait(120)
        assert [crawler.returncode for crawler in crawling.crawlers] == [0] * 10, crawling.said()
        assert visited(server.place) == (2 * HOSTS, 2 * HOSTS)
    with psycopg.connect(server.uri) as db:
        assert db.execute("SELECT count(DISTINCT name) FROM web_0.crawlers").fetchone() == (10,)
