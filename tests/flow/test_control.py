"""Control of crawlers: stop and continue, two at once, pause, resume and stop by command, a full disk."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from helpers.cli.commands import command, crawl, environment, gossamer, query
from helpers.patience import PATIENCE, PATIENT_CRAWL, until
from helpers.store.small_disk import run_on_a_small_disk
from webs.generated import GeneratedWeb, Shape
from webs.served import EndlessSite, SiteResponse, SiteServer

if TYPE_CHECKING:
    from collections.abc import Iterator

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start() -> Iterator[Start]:
    """Return a function that starts commands; all end with the test."""
    started: list[subprocess.Popen[str]] = []

    def run(*arguments: object) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            command(*arguments), env=environment(PATIENT_CRAWL), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        started.append(process)
        return process

    yield run
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


def visited_count(store: Path) -> int:
    if not (store / "web.db").exists():
        return 0
    rows = query(store, "SELECT value FROM meta WHERE key = 'resources visited'") if _has_tables(store) else []
    return int(rows[0][0]) if rows else 0


def _has_tables(store: Path) -> bool:
    return bool(query(store, "SELECT 1 FROM sqlite_master WHERE name = 'meta'"))


NAMES = [f"p{n}" for n in range(60)]
FREE = 15  # pages of `gated_site` that do not wait for its gate


@pytest.fixture
def gate() -> threading.Event:
    return threading.Event()


@pytest.fixture
def gated_site(gate: threading.Event) -> Iterator[SiteServer]:
    """Serve pages, most of which wait for the gate, so that no crawl can end before."""
    index = "".join(f'<a href="/{name}">{name}</a>' for name in NAMES)
    free = {f"/{name}": SiteResponse("<title>x</title>") for name in NAMES[:FREE]}
    gated = {f"/{name}": SiteResponse("<title>x</title>", gate=gate) for name in NAMES[FREE:]}
    with SiteServer({"/": index, **free, **gated}) as site:
        yield site
    gate.set()


@pytest.fixture
def endless_site() -> Iterator[EndlessSite]:
    with EndlessSite() as site:
        yield site


def read_until(process: subprocess.Popen[str], words: str) -> None:
    """Read stderr up to the line with these words."""
    assert process.stderr is not None
    assert any(words in line for line in process.stderr), f"the process ended without: {words}"


def test_ctrl_c_finishes_requests_in_flight_and_the_same_command_continues(
    gated_site: SiteServer, gate: threading.Event, start: Start, tmp_path: Path
) -> None:
    store = tmp_path / "web"
    process = start("crawl", gated_site.url, "--store", store, "--delay", 0, "--connections", 4, "--json")
    until(lambda: visited_count(store) > 10, "some pages")
    process.send_signal(signal.SIGINT)
    read_until(process, "finishing the transfers in flight")
    gate.set()
    assert process.wait(PATIENCE) == 0
    assert process.stdout is not None
    assert process.stderr is not None
    assert "gossamer crawl --store" in process.stderr.read(), "stderr names the next command"
    assert json.loads(process.stdout.readlines()[-1])["queued"] > 0
    assert len(gated_site.paths()) == visited_count(store), "every fetched page is stored"
    crawl(gated_site.url, store, "--delay", 0, "--connections", 4)
    assert Counter(gated_site.paths()).most_common(1)[0][1] == 1, "no page twice"
    assert visited_count(store) == len(NAMES) + 1


def test_ctrl_c_twice_stops_at_once(gate: threading.Event, start: Start, tmp_path: Path) -> None:
    with SiteServer({"/": '<a href="/slow">x</a>', "/slow": SiteResponse("", gate=gate)}) as site:
        process = start("crawl", site.url, "--store", tmp_path / "web")
        until(lambda: "/slow" in site.paths(), "the slow page")
        process.send_signal(signal.SIGINT)
        read_until(process, "finishing the transfers in flight")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE)
        gate.set()  # the crawl has ended without this page
        assert query(tmp_path / "web", "SELECT state FROM resources WHERE url LIKE '%/slow'") == [("queued",)]


def test_a_second_crawler_names_the_host_it_waits_for_and_takes_over(
    gated_site: SiteServer, gate: threading.Event, start: Start, tmp_path: Path
) -> None:
    store = tmp_path / "web"
    first = start("crawl", gated_site.url, "--store", store)
    until(lambda: visited_count(store) > 3, "the first crawler's first pages")
    second = start("crawl", "--store", store, "--json")
    until(lambda: any("held by" in row["waiting_for"] for row in crawlers(store)), "the second crawler to wait")
    [waiting] = [row for row in crawlers(store) if row["waiting_for"]]
    assert gated_site.authority in waiting["waiting_for"]
    os.kill(first.pid, signal.SIGKILL)
    first.communicate()
    gate.set()
    out, err = second.communicate(timeout=PATIENCE)
    assert second.returncode == 0, err
    assert "held by" in err, "stderr names the holder too"
    assert json.loads(out.splitlines()[-1])["queued"] == 0
    assert visited_count(store) == len(NAMES) + 1
    assert max(Counter(resource for (resource,) in query(store, "SELECT resource FROM visits")).values()) == 1


def crawlers(store: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(gossamer("crawlers", "--json", "--store", store).stdout)["crawlers"]
    return rows


def test_two_crawlers_share_the_hosts_and_no_page_is_fetched_twice(
    gate: threading.Event, start: Start, tmp_path: Path
) -> None:
    links = "".join(f'<a href="/{name}">{name}</a>' for name in NAMES)
    pages: dict[str, str | SiteResponse] = {
        "/": SiteResponse(links, gate=gate),
        **{f"/{name}": SiteResponse("<title>x</title>") for name in NAMES},
    }
    with SiteServer(pages) as one, SiteServer(pages) as two:
        store = tmp_path / "web"
        config = tmp_path / "gossamer.toml"
        config.write_text("[politeness]\nmax_hosts = 1\n")
        both = [start("crawl", one.url, two.url, "--store", store, "--config", config) for _ in range(2)]
        until(lambda: one.paths() and two.paths(), "a request of each crawler")  # each may hold one host
        gate.set()
        for process in both:
            _, err = process.communicate(timeout=PATIENCE)
            assert process.returncode == 0, err
        for site in (one, two):
            assert sorted(site.paths()) == sorted(["/", *(f"/{name}" for name in NAMES)])
        assert len(pages_by_crawler(store)) == 2


def test_a_crawler_that_joins_later_gets_hosts_from_the_first(start: Start, tmp_path: Path) -> None:
    store = tmp_path / "web"
    with ExitStack() as stack:
        sites = [stack.enter_context(EndlessSite()) for _ in range(6)]
        arguments = ("crawl", *(site.url for site in sites), "--store", store, "--delay", 0.2)
        first = start(*arguments)
        until(lambda: visited_count(store) > 6, "pages of all sites")
        second = start(*arguments)
        until(lambda: len(pages_by_crawler(store)) == 2, "the second crawler's first page")
        until(lambda: min(pages_by_crawler(store).values()) > 10, "more of its pages")
        for site in sites:
            site.ended.set()
        for process in (first, second):
            _, err = process.communicate(timeout=PATIENCE)
            assert process.returncode == 0, err
        for site in sites:
            assert Counter(site.paths()).most_common(1)[0][1] == 1, "each page once"


def pages_by_crawler(store: Path) -> Counter[int]:
    return Counter(visitor for (visitor,) in query(store, "SELECT visited_by FROM resources") if visitor is not None)


def test_commands_pause_resume_and_stop_a_crawler(endless_site: EndlessSite, start: Start, tmp_path: Path) -> None:
    store = tmp_path / "web"
    process = start("crawl", endless_site.url, "--store", store, "--delay", 0.5)
    until(lambda: visited_count(store) > 1, "the first pages")
    assert gossamer("pause", "Naiad", "--store", store).returncode == 0
    until(lambda: any(row["state"] == "paused" for row in crawlers(store)), "the pause")
    wait_for_heartbeat(store)  # a request that was in flight has arrived
    seen = len(endless_site.paths())
    wait_for_heartbeat(store)
    assert len(endless_site.paths()) == seen
    assert [row["limit"] for row in crawlers(store)] == [""], "only the pause holds it"
    gossamer("resume", "Naiad", "--store", store)
    until(lambda: len(endless_site.paths()) > seen, "more pages")
    gossamer("stop", "Naiad", "--store", store)
    _, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, "stopped by request" in err) == (0, True)
    assert "Naiad: paused: by request; continue with: gossamer resume Naiad" in err


def wait_for_heartbeat(store: Path) -> None:
    """Wait for the next heartbeat of the only crawler, which its loop sends about every second."""
    before = crawlers(store)[0]["heartbeat_at"]
    until(lambda: crawlers(store)[0]["heartbeat_at"] > before, "another heartbeat")


def test_a_crawler_marked_as_lost_ends_with_an_error(endless_site: EndlessSite, start: Start, tmp_path: Path) -> None:
    store = tmp_path / "web"
    process = start("crawl", endless_site.url, "--store", store, "--delay", 0.5)
    until(lambda: visited_count(store) > 1, "the first pages")
    with closing(sqlite3.connect(store / "web.db", timeout=PATIENCE)) as database, database:
        database.execute(
            "UPDATE crawlers SET state = 'lost'"
        )  # as a crawler on another machine does after half a minute
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 2
    assert err.splitlines()[-1].startswith("gossamer: Naiad sent no heartbeat for so long")


def command_of(process: psutil.Process) -> list[str]:
    try:
        return list(process.cmdline())
    except psutil.NoSuchProcess:
        return []  # it has just ended


def test_a_running_crawler_gets_more_and_fewer_parsers(endless_site: EndlessSite, start: Start, tmp_path: Path) -> None:
    store = tmp_path / "web"
    process = start("crawl", endless_site.url, "--store", store, "--delay", 0.5, "--parsers", 1)
    until(lambda: visited_count(store) > 1, "the first pages")
    children = psutil.Process(process.pid).children

    def parsers() -> int:
        return sum("gossamer.parse.parser_process" in command_of(child) for child in children())

    def has_parsers(number: int) -> bool:
        return parsers() == number == int(crawlers(store)[0]["parsers"])

    assert parsers() == 1
    for number in (2, 1):
        done = gossamer("parsers", number, "Naiad", "--store", store)
        assert (done.returncode, f"Naiad will have {number} parser" in done.stderr) == (0, True)
        until(partial(has_parsers, number), f"{number} parsers, reported by the crawler")
    most = crawlers(store)[0]["most_parsers"]
    assert gossamer("parsers", most + 1, "Naiad", "--store", store).returncode == 2
    seen = visited_count(store)
    until(lambda: visited_count(store) > seen, "more pages")
    gossamer("stop", "Naiad", "--store", store)
    process.communicate(timeout=PATIENCE)


def test_a_short_crawl_is_listed_after_its_end(tmp_path: Path) -> None:
    with SiteServer({"/": '<a href="/a">a</a>', "/a": ""}) as site:
        crawl(site.url, tmp_path / "web")
    [row] = crawlers(tmp_path / "web")
    assert (row["state"], row["pages"]) == ("stopped", 2)
    assert (row["pages_per_second"], row["bytes_per_second"], row["limit"], row["waiting_for"]) == (0, 0, "", "")


def test_a_verbose_crawl_prints_each_visit_with_its_outcome(tmp_path: Path) -> None:
    with SiteServer({"/": '<a href="/a">a</a> <a href="/gone">lost</a>', "/a": ""}) as site:
        done = gossamer("crawl", site.url, "-v", "--store", tmp_path / "verbose")
        plain = gossamer("crawl", site.url, "--store", tmp_path / "plain")
    visits = {f"200 fetched {site.url}", f"200 fetched {site.url}a", f"404 not found {site.url}gone: 404 Not Found"}
    assert visits <= {*done.stderr.splitlines()}
    assert not visits & {*plain.stderr.splitlines()}


# -- a full disk: a small file system that grows once the crawl pauses -------------------------------------------------


def pauses_in_time(disk: Path) -> None:
    with SiteServer({"/": "<title>x</title>"}) as site:
        assert visited_before_disk_grew(site.url, disk, min_free=100) == 0
    assert visited_count(disk / "web") == 1


def fills_up(disk: Path) -> None:
    """Without a reserve the database itself meets ENOSPC during the crawl."""
    with GeneratedWeb(Shape(pages=3_000, size=4_000)) as web:
        assert 0 < visited_before_disk_grew(web.url, disk, min_free=0) < 3_000
    assert visited_count(disk / "web") == 3_000
    assert query(disk / "web", "PRAGMA integrity_check") == [("ok",)]


def visited_before_disk_grew(url: str, disk: Path, *, min_free: int) -> int:
    """Crawl to the end on a disk that grows at the pause; return the number of visits before it."""
    config = disk / "gossamer.toml"
    config.write_text(f"[store]\nmin_free = {min_free}\n")
    with subprocess.Popen(
        command("crawl", url, "--store", disk / "web", "--config", config, "--delay", 0), env=environment(),
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        try:
            assert process.stderr is not None
            line = next(line for line in process.stderr if "disk space" in line)
            assert "paused" in line
            before = visited_count(disk / "web")
            subprocess.run(["mount", "-t", "tmpfs", "-o", "remount,size=400m", "none", disk], check=True)
            process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
    assert process.returncode == 0
    return before


SMALL_DISK = {does.__name__: does for does in (pauses_in_time, fills_up)}


def test_a_crawl_pauses_before_the_disk_is_full_and_continues_by_itself(tmp_path: Path) -> None:
    run_on_a_small_disk(tmp_path, "6m", __file__, "pauses_in_time")


def test_a_full_disk_loses_no_page(tmp_path: Path) -> None:
    run_on_a_small_disk(tmp_path, "6m", __file__, "fills_up")


def test_a_crawl_paused_for_disk_space_reports_it_and_can_be_stopped(start: Start, tmp_path: Path) -> None:
    store = tmp_path / "web"
    config = tmp_path / "gossamer.toml"
    config.write_text(f"[store]\nmin_free = {(shutil.disk_usage(tmp_path).free >> 20) * 2}\n")
    with SiteServer({"/": "<title>x</title>"}) as site:
        process = start("crawl", site.url, "--store", store, "--config", config)
        until(lambda: (store / "web.db").exists() and _has_tables(store), "the web")
        until(lambda: [(row["state"], row["limit"]) for row in crawlers(store)] == [("paused", "disk")], "the pause")
        [shown] = json.loads(gossamer("status", "--json", "--store", store).stdout)["crawlers"]
        assert (shown["state"], shown["limit"]) == ("paused", "disk")
        wait_for_heartbeat(store)
        assert gossamer("stop", "Naiad", "--store", store).returncode == 0
        _, err = process.communicate(timeout=PATIENCE)
        assert (process.returncode, "stopped by request" in err) == (0, True)
        assert [row["state"] for row in crawlers(store)] == ["stopped"]
        assert site.paths() == [], "the crawler requests nothing that it cannot store"


if __name__ == "__main__":
    SMALL_DISK[sys.argv[2]](Path(sys.argv[1]))
