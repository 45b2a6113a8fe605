"""A crawl ranks at its end: the last crawler, once, in a process that can fail without it."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import sqlite3
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from gossamer import Crawler, open_web
from helpers.cli.commands import RANKING, command, environment, gossamer, query
from helpers.patience import PATIENCE, PATIENT_CRAWL, until
from webs.served import SiteResponse, SiteServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def chain(pages: int) -> dict[str, str | SiteResponse]:
    return {f"/{n or ''}": f'<title>{n}</title><a href="/{n + 1}">on</a>' for n in range(pages)}


@pytest.fixture
def site() -> Iterator[SiteServer]:
    with SiteServer(chain(4)) as served:
        yield served


def crawl(*arguments: object, **variables: str) -> subprocess.CompletedProcess[str]:
    return gossamer("crawl", *arguments, env={**RANKING, **variables})


def facts(store: Path) -> dict[str, Any] | None:
    rows = query(store, "SELECT facts FROM rankings")
    return json.loads(rows[0][0]) if rows else None


def test_a_crawl_ranks_when_its_summary_is_printed(site: SiteServer, tmp_path: Path) -> None:
    done = crawl(site.url, "--store", tmp_path, "--json")
    assert done.returncode == 0
    assert done.stderr.endswith("Ranked 4 pages by 3 links.\n")
    ranking, seconds = facts(tmp_path), json.loads(done.stdout)["seconds"]
    assert ranking is not None
    (ended,) = query(tmp_path, "SELECT max(finished_at) - min(started_at) FROM rounds")[0]
    assert ranking["pages"] == 4
    assert abs(seconds - ended) < ranking["made_at"], "the time of the crawl has no part of the ranking"
    assert ranking["made_at"] > query(tmp_path, "SELECT max(finished_at) FROM rounds")[0][0]


def test_a_second_crawl_without_changes_ranks_nothing(site: SiteServer, tmp_path: Path) -> None:
    crawl(site.url, "--store", tmp_path)
    first = facts(tmp_path)
    assert "anked" not in crawl("--store", tmp_path).stderr
    assert facts(tmp_path) == first


@pytest.mark.parametrize("switch", [("--no-rank",), ("--no-links",)])
def test_a_crawl_can_leave_ranking_out(switch: tuple[str, ...], site: SiteServer, tmp_path: Path) -> None:
    assert "anked" not in crawl(site.url, "--store", tmp_path, *switch).stderr
    assert facts(tmp_path) is None


def test_the_next_ranking_keeps_the_options_of_the_last(site: SiteServer, tmp_path: Path) -> None:
    crawl(site.url, "--store", tmp_path, "--max-pages", 2)
    assert gossamer("rank", "--only", "hits", "--weighted", "--store", tmp_path).returncode == 0
    crawl("--store", tmp_path, "--max-pages", "none")
    ranking = facts(tmp_path)
    assert ranking is not None
    assert (ranking["pages"], ranking["measures"], ranking["weighted"]) == (4, ["hits"], True)


def test_stale_ranks_say_from_how_many_pages_they_come(site: SiteServer, tmp_path: Path) -> None:
    crawl(site.url, "--store", tmp_path, "--max-pages", 2)
    crawl("--store", tmp_path, "--max-pages", "none", "--no-rank")
    status = gossamer("status", "--store", tmp_path).stdout
    assert "Ranks from 2 of 4 pages, " in status
    assert f"Update them: gossamer rank --store {tmp_path}" in status
    page = gossamer("page", site.url, "--store", tmp_path).stdout
    assert "of 100 (from 2 of 4 pages)" in page
    assert json.loads(gossamer("status", "--json", "--store", tmp_path).stdout)["ranks"]["current"] is False


def test_a_stopped_crawl_does_not_rank(tmp_path: Path) -> None:
    gate = threading.Event()
    with (
        SiteServer({**chain(3), "/2": SiteResponse("", gate=gate)}) as site,
        start("crawl", site.url, "--store", tmp_path) as process,
    ):
        until(lambda: "/2" in site.paths(), "the page that waits")
        process.send_signal(signal.SIGINT)
        gate.set()
        assert "anked" not in process.communicate(timeout=PATIENCE)[1]
    assert facts(tmp_path) is None


def test_only_the_last_crawler_ranks(tmp_path: Path) -> None:
    gate = threading.Event()
    with (
        SiteServer(chain(2)) as quick,
        SiteServer({**chain(3), "/2": SiteResponse("", gate=gate)}) as slow,
        start("crawl", slow.url, "--store", tmp_path) as last,
    ):
        until(lambda: "/2" in slow.paths(), "the page that waits")
        with start("crawl", quick.url, "--store", tmp_path) as first:
            until(lambda: "/2" in quick.paths(), "the last request of the quick site")
            assert gossamer("stop", "Thalassa", "--store", tmp_path).returncode == 0
            said = first.communicate(timeout=PATIENCE)[1]
        assert "anked" not in said
        assert facts(tmp_path) is None
        gate.set()
        assert "Ranked 5 pages" in last.communicate(timeout=PATIENCE)[1]


def test_a_crawl_ends_well_while_another_process_ranks(site: SiteServer, tmp_path: Path) -> None:
    (tmp_path / "graph").mkdir()
    handle = os.open(tmp_path / "graph" / "ranking.lock", os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        done = crawl(site.url, "--store", tmp_path)
    finally:
        os.close(handle)
    assert done.returncode == 0
    assert "Not ranked: another process ranks this web. Rank the web later: gossamer rank --store " in done.stderr
    assert facts(tmp_path) is None


def test_rank_waits_for_another_process_that_ranks(site: SiteServer, tmp_path: Path) -> None:
    crawl(site.url, "--store", tmp_path, "--no-rank")
    with held_ranking(tmp_path):
        process = start("rank", "--store", tmp_path)
        assert process.stderr is not None
        assert process.stderr.readline() == "waiting: another process ranks this web\n"
        assert facts(tmp_path) is None
    said = process.communicate(timeout=PATIENCE)[1]
    assert process.returncode == 0
    assert "Ranked 4 pages" in said


def test_the_library_waits_for_another_process_that_ranks(site: SiteServer, tmp_path: Path) -> None:
    crawl(site.url, "--store", tmp_path, "--no-rank")
    with open_web(tmp_path) as web, ThreadPoolExecutor(1) as thread:
        with held_ranking(tmp_path):
            ranking = thread.submit(web.rank)
            with pytest.raises(TimeoutError):
                ranking.result(1)
        assert ranking.result(PATIENCE).pages == 4


def test_a_killed_ranking_costs_the_crawl_nothing(site: SiteServer, tmp_path: Path) -> None:
    with held_ranking(tmp_path), start("crawl", site.url, "--store", tmp_path) as process:
        until(lambda: ranking_children(process.pid), "the ranking process")
        for child in ranking_children(process.pid):
            child.kill()
        said = process.communicate(timeout=PATIENCE)[1]
        assert process.returncode == 0
    assert "Not ranked: its process was ended by SIGKILL" in said


def test_a_ranking_ends_with_the_crawl_that_started_it(site: SiteServer, tmp_path: Path) -> None:
    with held_ranking(tmp_path), start("crawl", site.url, "--store", tmp_path) as process:
        until(lambda: ranking_children(process.pid), "the ranking process")
        children = ranking_children(process.pid)
        process.kill()
        process.communicate(timeout=PATIENCE)
        _, alive = psutil.wait_procs(children, PATIENCE)
        assert alive == []
    assert facts(tmp_path) is None


def test_the_library_ranks_after_its_loop_and_not_after_a_break(
    site: SiteServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GOSSAMER_CRAWL_RANK", raising=False)
    for _ in Crawler(site.url, store=tmp_path):
        break
    with open_web(tmp_path) as web:
        assert web.ranking() is None
    crawler = Crawler(store=tmp_path)
    list(crawler)
    with open_web(tmp_path) as web:
        ranking = web.ranking()
    assert (crawler.ranking_fault, ranking and ranking.pages) == ("", 4)


def test_watch_ranks_beside_its_crawl_and_at_most_hourly(site: SiteServer, tmp_path: Path) -> None:
    crawl(site.url, "--store", tmp_path, "--max-pages", 2)
    with start("watch", "--store", tmp_path) as process:
        until(lambda: query(tmp_path, "SELECT count(*) FROM resources WHERE state = 'visited'") == [(4,)])
        first = facts(tmp_path)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE)
    assert first is not None
    assert first["pages"] == 2, "the ranks are younger than an hour"
    age_ranks(tmp_path)
    with start("watch", "--store", tmp_path) as process:
        until(lambda: (facts(tmp_path) or first)["pages"] == 4)
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=PATIENCE)[1]
    assert "anked" not in said


def age_ranks(store: Path) -> None:
    with closing(sqlite3.connect(store / "web.db")) as database, database:
        database.execute("UPDATE rankings SET facts = json_set(facts, '$.made_at', 1.0)")


def start(*arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command(*arguments), env=environment({**PATIENT_CRAWL, **RANKING}), stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


@contextmanager
def held_ranking(store: Path) -> Iterator[None]:
    """Keep rankings of a web waiting for their lock."""
    (store / "graph").mkdir(parents=True, exist_ok=True)
    handle = os.open(store / "graph" / "ranking.lock", os.O_RDWR | os.O_CREAT)
    fcntl.flock(handle, fcntl.LOCK_EX)
    try:
        yield
    finally:
        os.close(handle)


def ranking_children(pid: int) -> list[psutil.Process]:
    return [child for child in psutil.Process(pid).children() if is_ranking(child)]


def is_ranking(process: psutil.Process) -> bool:
    try:
        return "gossamer.ranking" in process.cmdline()
    except psutil.Error:  # it ends now
        return False
