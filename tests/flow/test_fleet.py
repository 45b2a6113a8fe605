"""Several crawlers on one PostgreSQL share hosts, fetch no page twice, and survive kills and restarts.

The tests read what happened from the sites' own request logs (tests/webs/delayed.py), not from the crawlers.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import time
from collections import Counter
from contextlib import closing, contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING

import psycopg
import pytest

from gossamer.store.postgres import open_postgres_store
from gossamer.store.postgres.location import parse_postgres_location
from helpers.cli.commands import command, environment, query
from helpers.patience import PATIENCE, slowness, until
from helpers.store.cut_connection import CuttingProxy
from helpers.store.postgres_server import DedicatedPostgres
from webs.delayed import DelayedSites, SeenRequest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

CRAWLERS = 4
HOSTS = 40
BATCH_SECONDS = 3.0  # greatest age of a killed crawler's last batch on a quiet core; the setting is half a second


@pytest.fixture
def server(tmp_path: Path) -> Iterator[DedicatedPostgres]:
    with DedicatedPostgres() as server:
        yield server


class Fleet:
    """Crawlers of one web."""

    def __init__(self, location: str, sites: DelayedSites, directory: Path) -> None:
        self.location = location
        self.sites = sites
        self._directory = directory
        self.crawlers: list[subprocess.Popen[bytes]] = []

    def start(self, number: int, max_hosts: int = HOSTS // CRAWLERS) -> None:
        """Start this many crawlers, all with the same arguments."""
        for _ in range(number):
            arguments = command(
                "crawl", *self.sites.seeds, "--store", self.location, "--max-hosts", max_hosts, "--parsers", 1,
                "--no-index", "--quiet",
            )  # fmt: skip
            env = environment({"GOSSAMER_LOCAL": str(self._directory / "local")})
            with (self._directory / f"crawler-{len(self.crawlers)}.txt").open("wb") as log:
                self.crawlers.append(subprocess.Popen(arguments, stdout=log, stderr=log, env=env))

    def wait(self) -> None:
        """Wait until every crawler has ended."""
        for crawler in self.crawlers:
            crawler.wait(PATIENCE)

    def output(self) -> str:
        """Return what the crawlers printed, for the message of a failed test."""
        return "\n".join(file.read_text() for file in sorted(self._directory.glob("crawler-*.txt")))


@contextmanager
def fleet(server: DedicatedPostgres, directory: Path, *, pages: int, delay: float) -> Iterator[Fleet]:
    with DelayedSites(directory, hosts=HOSTS, pages=pages, delay=delay) as sites:
        crawling = Fleet(server.location, sites, directory)
        try:
            yield crawling
        finally:
            for crawler in crawling.crawlers:
                crawler.kill()
                crawler.wait()


def pages_in(seen: list[SeenRequest]) -> list[SeenRequest]:
    return [one for one in seen if one.path != "/robots.txt"]


def too_fast(sites: DelayedSites) -> list[tuple[SeenRequest, SeenRequest]]:
    """Return pairs of requests that are closer together than the site's delay."""
    pairs = [pair for seen in sites.by_host().values() for pair in pairwise(seen)]
    return [(one, two) for one, two in pairs if one.path != "/robots.txt" and two.at - one.at < sites.delay]


def visit_counts(location: str) -> tuple[int, int]:
    """Return the number of visited pages and of visits in the store."""
    with closing(open_postgres_store(parse_postgres_location(location), create=False, read_only=True)) as store:
        return store.counts().resources["visited"], sum(1 for _ in store.every_visit())


def held_by(location: str, pid: int) -> set[str]:
    """Return the sites that a crawler holds."""
    with closing(open_postgres_store(parse_postgres_location(location), create=False, read_only=True)) as store:
        name = next((crawler.name for crawler in store.crawlers() if crawler.pid == pid), "")
        return {host.name.partition(":")[0] for host in store.hosts() if host.holder == name}


def check_fleet_loses_no_page(server: DedicatedPostgres, directory: Path, *, pages: int, delay: float) -> None:
    with fleet(server, directory, pages=pages, delay=delay) as crawling:
        sites = crawling.sites
        crawling.start(CRAWLERS)
        until(lambda: len(pages_in(sites.requests())) >= HOSTS * pages // 4, "a quarter of the pages")
        server.restart()
        half = HOSTS * pages // 2
        until(
            lambda: visit_counts(server.location)[1] >= half, "half of the visits"
        )  # written, so every crawler is connected again
        held = {crawler.pid: held_by(server.location, crawler.pid) for crawler in crawling.crawlers}
        victim, orphans = max(held.items(), key=lambda pair: len(pair[1]))
        slow, killed = slowness(), time.time()
        os.kill(victim, signal.SIGKILL)
        crawling.wait()
        seen = pages_in(sites.requests())
        times = Counter((one.host, one.path) for one in seen)
        assert len(times) == HOSTS * pages, crawling.output()
        assert orphans, "the crawler held hosts when it was killed"
        again = [
            next(one for one in seen if (one.host, one.path) == key) for key, number in times.items() if number > 1
        ]
        late = [one._replace(at=one.at - killed) for one in again if one.host in orphans]
        assert len(late) == len(again)
        assert all(-BATCH_SECONDS * slow < one.at < 0 for one in late), late
        assert not too_fast(sites)
        assert max(one.at for one in seen if one.host in orphans) - killed < 60 * slow
        assert visit_counts(server.location) == (HOSTS * pages, HOSTS * pages)


def test_a_fleet_loses_no_page_when_a_crawler_and_the_database_fail(server: DedicatedPostgres, tmp_path: Path) -> None:
    check_fleet_loses_no_page(server, tmp_path, pages=24, delay=0.3)


def test_a_crawler_that_joins_gets_hosts_of_another_that_holds_all(server: DedicatedPostgres, tmp_path: Path) -> None:
    with fleet(server, tmp_path, pages=20, delay=0.5) as crawling:
        crawling.start(1, max_hosts=HOSTS)
        until(lambda: len(pages_in(crawling.sites.requests())) >= 3 * HOSTS, "pages of all hosts")
        first = crawling.crawlers[0].pid
        assert len(held_by(server.location, first)) == HOSTS
        crawling.start(1, max_hosts=HOSTS)
        second = crawling.crawlers[1].pid
        until(lambda: len(held_by(server.location, second)) >= HOSTS // 4, "hosts of the second crawler")
        assert held_by(server.location, first), "it gets hosts before the first crawler has finished its own"
        crawling.wait()
        seen = pages_in(crawling.sites.requests())
        assert max(Counter((one.host, one.path) for one in seen).values()) == 1
        assert not too_fast(crawling.sites)
        assert visit_counts(server.location) == (HOSTS * 20, HOSTS * 20)


def until_requested(sites: DelayedSites, pages: int) -> None:
    until(lambda: len(pages_in(sites.requests())) >= pages, f"{pages} pages")


def is_declared_lost(server: DedicatedPostgres, pid: int) -> bool:
    """Return whether another crawler took over; `crawlers()` shows "lost" earlier, when a heartbeat is missing."""
    with psycopg.connect(server.uri) as db:
        rows = db.execute("SELECT state FROM web_0.crawlers WHERE pid = %s", (pid,)).fetchall()
    return ("lost",) in rows


def stop_a_holder(crawlers: Sequence[subprocess.Popen[bytes]], location: str) -> subprocess.Popen[bytes]:
    """Stop a crawler that holds hosts. It is stopped first, because a slow look would find hosts given back since."""
    for crawler in crawlers:
        crawler.send_signal(signal.SIGSTOP)
        if held_by(location, crawler.pid):
            return crawler
        crawler.send_signal(signal.SIGCONT)
    raise AssertionError("no crawler holds hosts")


def check_each_visit_is_committed_once(server: DedicatedPostgres, directory: Path, *, pages: int, rounds: int) -> None:
    """Cut connections, kill the server, and stop a crawler for longer than a lease, several times each."""
    with fleet(server, directory, pages=pages, delay=0.5) as crawling, CuttingProxy(server.uri) as proxy:
        crawling.location = proxy.location("web_0")
        crawling.start(CRAWLERS)
        for number in range(rounds):
            until_requested(crawling.sites, HOSTS * pages * (3 * number + 1) // (3 * rounds + 1))
            assert proxy.cut()
            server.kill()
        until(lambda: visit_counts(server.location)[1] >= HOSTS * pages // 2, "half of the visits")
        victim = stop_a_holder(crawling.crawlers, server.location)
        try:
            until(lambda: is_declared_lost(server, victim.pid), "others to take over its hosts")
        finally:
            victim.send_signal(signal.SIGCONT)
        crawling.wait()
        assert victim.returncode == 2, crawling.output()
        assert "other crawlers took over its work" in crawling.output()
        assert [crawler.returncode for crawler in crawling.crawlers if crawler is not victim] == [0] * (CRAWLERS - 1)
    with psycopg.connect(server.uri) as db:
        db.execute("SET search_path = web_0")
        visits = "SELECT resource, round, count(*) FROM visits GROUP BY 1, 2 HAVING count(*) > 1"
        assert db.execute(visits).fetchall() == []
        assert db.execute("SELECT state, count(*) FROM resources GROUP BY 1").fetchall() == [("visited", HOSTS * pages)]
    assert visit_counts(server.location) == (HOSTS * pages, HOSTS * pages)


def test_each_visit_is_committed_once_by_stopped_crawlers_and_a_killed_server(
    server: DedicatedPostgres, tmp_path: Path
) -> None:
    check_each_visit_is_committed_once(server, tmp_path, pages=16, rounds=1)


@pytest.mark.full
def test_the_hosts_of_a_stopped_crawler_are_taken_over_in_a_directory_too(tmp_path: Path) -> None:
    web = tmp_path / "web"
    with DelayedSites(tmp_path, hosts=4, pages=20, delay=0.5) as sites:
        crawling = Fleet(str(web), sites, tmp_path)
        try:
            crawling.start(2, max_hosts=2)
            until(lambda: len({one.host for one in pages_in(sites.requests())}) == 4, "all hosts")
            victim = crawling.crawlers[0]
            stop_outside_transactions(victim, web)
            try:
                state = "SELECT state FROM crawlers WHERE pid = ?"
                until(lambda: query(web, state, victim.pid) == [("lost",)], "the other to take over its hosts")
            finally:
                victim.send_signal(signal.SIGCONT)
            crawling.wait()
        finally:
            for crawler in crawling.crawlers:
                crawler.kill()
                crawler.wait()
        assert [crawler.returncode for crawler in crawling.crawlers] == [2, 0], crawling.output()
    assert query(web, "SELECT state, count(*) FROM resources GROUP BY 1") == [("visited", 80)]
    assert query(web, "SELECT resource FROM visits GROUP BY 1 HAVING count(*) > 1") == []


def stop_outside_transactions(crawler: subprocess.Popen[bytes], web: Path) -> None:
    """Stop a crawler while it does not hold the write lock, which nobody could take from it."""
    while True:
        crawler.send_signal(signal.SIGSTOP)
        with closing(sqlite3.connect(web / "web.db", timeout=5.0, isolation_level=None)) as db:
            try:
                db.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError:
                crawler.send_signal(signal.SIGCONT)
                continue
            db.execute("ROLLBACK")
            return


@pytest.mark.full
def test_each_visit_is_committed_once_after_many_cut_connections_and_killed_servers(
    server: DedicatedPostgres, tmp_path: Path
) -> None:
    check_each_visit_is_committed_once(server, tmp_path, pages=60, rounds=4)


@pytest.mark.full
def test_a_bigger_fleet_loses_no_page_when_a_crawler_and_the_database_fail(
    server: DedicatedPostgres, tmp_path: Path
) -> None:
    check_fleet_loses_no_page(server, tmp_path, pages=40, delay=1.0)


@pytest.mark.full
def test_four_crawlers_are_three_times_as_fast_as_one(server: DedicatedPostgres, tmp_path: Path) -> None:
    took = {}
    for number in (1, CRAWLERS):
        directory = tmp_path / str(number)
        directory.mkdir()
        server.new_web()
        with fleet(server, directory, pages=20, delay=1.0) as crawling:
            crawling.start(number)
            crawling.wait()
            seen = crawling.sites.requests()
            assert Counter((one.host, one.path) for one in pages_in(seen)).most_common(1)[0][1] == 1
            assert not too_fast(crawling.sites)
            took[number] = seen[-1].at - seen[0].at
    print(f"one crawler: {took[1]:.1f} s, {CRAWLERS}: {took[CRAWLERS]:.1f} s")
    assert took[1] >= 3 * took[CRAWLERS]


@pytest.mark.full
def test_ten_crawlers_that_start_at_once_share_one_web(server: DedicatedPostgres, tmp_path: Path) -> None:
    with fleet(server, tmp_path, pages=2, delay=0.1) as crawling:
        crawling.start(10)
        crawling.wait()
        assert [crawler.returncode for crawler in crawling.crawlers] == [0] * 10, crawling.output()
        assert visit_counts(server.location) == (2 * HOSTS, 2 * HOSTS)
    with psycopg.connect(server.uri) as db:
        assert db.execute("SELECT count(DISTINCT name) FROM web_0.crawlers").fetchone() == (10,)
