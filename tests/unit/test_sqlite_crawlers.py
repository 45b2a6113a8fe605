"""Crawler lock files show at once which crawlers are alive."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from gossamer.store.protocol import LEASE_SECONDS
from gossamer.store.sqlite import open_sqlite_store
from gossamer.store.sqlite.work.crawlers import NameLock
from gossamer.store.values import CrawlerReport
from gossamer.store.work.crawler_names import crawler_names
from helpers.store.crawl_steps import lease_all, start, state

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from gossamer.store.sql_store import SqlStore

A = "http://a.test/"
RUNNING = CrawlerReport(state="running", pages=0, pages_per_second=0.0, bytes_per_second=0.0, limit="", waiting_for="")


@pytest.fixture
def web(tmp_path: Path) -> Path:
    return tmp_path / "web"


@pytest.fixture
def two_stores(web: Path) -> Iterator[tuple[SqlStore, SqlStore]]:
    """One web, opened as two processes do."""
    stores = open_sqlite_store(web, create=True), open_sqlite_store(web, create=True)
    yield stores
    for store in stores:
        store.close()


def test_crawler_names_never_run_out() -> None:
    names = crawler_names()
    many = [next(names) for _ in range(50)]
    assert len(set(many)) == 50
    assert many[28] == "Naiad 3"


def test_a_name_lock_is_held_until_it_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "crawlers" / "Naiad.lock"
    lock = NameLock.acquire(path)
    assert lock is not None
    assert NameLock.acquire(path) is None
    lock.close()
    next_lock = NameLock.acquire(path)
    assert next_lock is not None
    next_lock.close()


def test_deleting_lock_files_does_not_free_leases_of_active_crawlers(
    two_stores: tuple[SqlStore, SqlStore], web: Path
) -> None:
    active, other = two_stores
    lease_all(active, start(active, A))
    shutil.rmtree(web / "crawlers")
    newcomer = other.join("here", 2)
    assert newcomer.name == "Thalassa"
    assert state(other, A) == "leased"


def test_a_recreated_lock_file_does_not_free_leases(two_stores: tuple[SqlStore, SqlStore], web: Path) -> None:
    active, other = two_stores
    lease_all(active, start(active, A))
    (web / "crawlers" / "Naiad.lock").unlink()
    (web / "crawlers" / "Naiad.lock").touch()
    other.join("here", 2)
    assert state(other, A) == "leased"


def test_a_crawler_restores_its_deleted_lock_file(two_stores: tuple[SqlStore, SqlStore], web: Path) -> None:
    active, other = two_stores
    crawler = start(active, A)
    lease_all(active, crawler)
    shutil.rmtree(web / "crawlers")
    active.heartbeat(crawler, RUNNING, time.time())
    assert (web / "crawlers" / "Naiad.lock").exists()
    watcher = other.join("here", 2).id
    active.heartbeat(crawler, RUNNING, time.time() - 2 * LEASE_SECONDS)
    assert other.join("here", 3).name == "Despina", "its lock counts again, so an old heartbeat does not matter"
    other.heartbeat(watcher, RUNNING, time.time())
    assert state(other, A) == "leased"


def test_leases_in_a_copied_web_expire(web: Path, tmp_path: Path) -> None:
    store = open_sqlite_store(web, create=True)
    lease_all(store, start(store, A))
    shutil.copytree(web, tmp_path / "copy")
    copy = open_sqlite_store(tmp_path / "copy", create=False)
    crawler = copy.join("here", 2)
    for after in range(0, int(LEASE_SECONDS) + 10, 5):
        copy.heartbeat(crawler.id, RUNNING, crawler.started_at + after)
    assert state(copy, A) == "queued"
    assert state(store, A) == "leased"
    copy.close()
    store.close()


CHILD = """
import sys, time
from pathlib import Path
from helpers.store.crawl_steps import lease_all, start
from gossamer.store.sqlite import open_sqlite_store
store = open_sqlite_store(Path(sys.argv[1]), create=True)
lease_all(store, start(store, sys.argv[2]))
print("leased", flush=True)
time.sleep(600)
"""


def test_the_leases_of_a_killed_process_are_free_at_once(web: Path) -> None:
    python_path = os.pathsep.join(sys.path)
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(web), A],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": python_path},
    )
    with child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"leased\n"
        store = open_sqlite_store(web, create=False)
        assert store.join("here", 1).name == "Thalassa"
        assert state(store, A) == "leased"
        child.send_signal(signal.SIGKILL)
        child.wait()
    crawler = store.join("here", 1)
    assert crawler.name == "Naiad"
    assert state(store, A) == "queued"
    store.close()
