"""Lock files: the signs of life that need no waiting."""

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
from gossamer.store.sqlite import SqliteStore
from gossamer.store.sqlite.work.crawlers import NameLock
from gossamer.store.values import CrawlerReport
from gossamer.store.work.crawler_names import crawler_names
from helpers.store.crawl_steps import lease_all, start, state

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

A = "http://a.test/"
AT_WORK = CrawlerReport(state="running", pages=0, pages_per_second=0.0, bytes_per_second=0.0, limit="", waiting_for="")


@pytest.fixture
def web(tmp_path: Path) -> Path:
    return tmp_path / "web"


@pytest.fixture
def two(web: Path) -> Iterator[tuple[SqliteStore, SqliteStore]]:
    """Two processes' views of one web."""
    stores = SqliteStore.open(web, create=True), SqliteStore.open(web, create=True)
    yield stores
    for store in stores:
        store.close()


def test_names_never_end() -> None:
    given = crawler_names()
    many = [next(given) for _ in range(50)]
    assert len(set(many)) == 50
    assert many[28] == "Naiad 3"


def test_a_name_is_held_until_it_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "crawlers" / "Naiad.lock"
    lock = NameLock.acquire(path)
    assert lock is not None
    assert NameLock.acquire(path) is None
    lock.close()
    again = NameLock.acquire(path)
    assert again is not None
    again.close()


def test_deleting_lock_files_does_not_make_the_living_dead(two: tuple[SqliteStore, SqliteStore], web: Path) -> None:
    living, other = two
    lease_all(living, start(living, A))
    shutil.rmtree(web / "crawlers")
    newcomer = other.join("here", 2)
    assert newcomer.name == "Thalassa"
    assert state(other, A) == "leased"


def test_a_lock_file_made_anew_proves_nothing(two: tuple[SqliteStore, SqliteStore], web: Path) -> None:
    living, other = two
    lease_all(living, start(living, A))
    (web / "crawlers" / "Naiad.lock").unlink()
    (web / "crawlers" / "Naiad.lock").touch()
    other.join("here", 2)
    assert state(other, A) == "leased"


def test_a_crawler_puts_its_deleted_lock_file_back(two: tuple[SqliteStore, SqliteStore], web: Path) -> None:
    living, other = two
    crawler = start(living, A)
    lease_all(living, crawler)
    shutil.rmtree(web / "crawlers")
    living.heartbeat(crawler, AT_WORK, time.time())
    assert (web / "crawlers" / "Naiad.lock").exists()
    watcher = other.join("here", 2).id
    other.heartbeat(watcher, AT_WORK, time.time() + 2 * LEASE_SECONDS)
    assert state(other, A) == "leased", "its lock counts again, so no heartbeat is asked"


def test_a_web_copied_while_a_crawler_was_at_work_is_free_after_a_while(web: Path, tmp_path: Path) -> None:
    store = SqliteStore.open(web, create=True)
    lease_all(store, start(store, A))
    shutil.copytree(web, tmp_path / "copy")
    copied = SqliteStore.open(tmp_path / "copy", create=False)
    crawler = copied.join("here", 2)
    copied.heartbeat(crawler.id, AT_WORK, time.time() + LEASE_SECONDS + 1)
    assert state(copied, A) == "queued"
    assert state(store, A) == "leased"
    copied.close()
    store.close()


CHILD = """
import sys, time
from pathlib import Path
from helpers.store.crawl_steps import lease_all, start
from gossamer.store.sqlite import SqliteStore
store = SqliteStore.open(Path(sys.argv[1]), create=True)
lease_all(store, start(store, sys.argv[2]))
print("leased", flush=True)
time.sleep(60)
"""


def test_the_leases_of_a_killed_process_are_free_at_once(web: Path) -> None:
    here = os.pathsep.join(sys.path)
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(web), A], stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": here}
    )
    with child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"leased\n"
        store = SqliteStore.open(web, create=False)
        assert store.join("here", 1).name == "Thalassa"
        assert state(store, A) == "leased"
        child.send_signal(signal.SIGKILL)
        child.wait()
    crawler = store.join("here", 1)
    assert crawler.name == "Naiad"
    assert state(store, A) == "queued"
    store.close()
