"""The file web.db: opening, permissions, and faults while working."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import sqlite3
import sys
import threading
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gossamer.errors import (
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreMissing,
    StoreNotWritable,
    StoreTooNew,
)
from gossamer.model import VisitBatch
from gossamer.store.sqlite import open_sqlite_store
from gossamer.store.sqlite.opening import current_schema
from helpers.store.crawl_steps import admit_all, digest, fetched_visit, lease_all, leases, seed, start, state, visit_all
from helpers.store.databases import sqlite_database

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

A, B = "http://a.test/", "http://a.test/b"
NOBODY = 65534


def create(directory: Path) -> None:
    """Create a web with one page, and close it."""
    with closing(open_sqlite_store(directory, create=True)) as store:
        crawler = start(store, A)
        visit_all(store, crawler, {A: [B]})
        store.leave(crawler)


def alter(directory: Path, sql: str) -> None:
    with closing(sqlite3.connect(directory / "web.db")) as db:
        db.executescript(sql)


# -- opening -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("read_only", [False, True])
def test_opening_a_missing_web_does_not_create_it(tmp_path: Path, read_only: bool) -> None:
    directory = tmp_path / "web"
    with pytest.raises(StoreMissing, match=f"gossamer crawl URL --store {directory}"):
        open_sqlite_store(directory, create=False, read_only=read_only)
    assert not directory.exists()


def test_a_directory_without_a_web_is_reported_as_missing(tmp_path: Path) -> None:
    with pytest.raises(StoreMissing):
        open_sqlite_store(tmp_path, create=False)
    assert list(tmp_path.iterdir()) == []


def test_directories_are_created_as_needed(tmp_path: Path) -> None:
    open_sqlite_store(tmp_path / "a" / "b ? #%41 ü", create=True).close()
    assert (tmp_path / "a" / "b ? #%41 ü" / "web.db").exists()


def test_an_empty_web_file_left_by_a_crash_is_created_again(tmp_path: Path) -> None:
    (tmp_path / "web.db").touch()
    with pytest.raises(StoreMissing):
        open_sqlite_store(tmp_path, create=False)
    create(tmp_path)


def test_a_file_in_place_of_the_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "web").write_text("mine")
    with pytest.raises(StoreNotWritable, match="web"):
        open_sqlite_store(tmp_path / "web", create=True)
    assert (tmp_path / "web").read_text() == "mine"


def test_a_file_that_is_no_database_is_refused_and_left_unchanged(tmp_path: Path) -> None:
    (tmp_path / "web.db").write_bytes(b"<html>" * 1000)
    for may_create in (True, False):
        with pytest.raises(StoreCorrupt, match="not a Gossamer web"):
            open_sqlite_store(tmp_path, create=may_create)
    assert (tmp_path / "web.db").read_bytes() == b"<html>" * 1000


def test_a_database_of_another_program_is_refused_and_left_unchanged(tmp_path: Path) -> None:
    alter(tmp_path, "CREATE TABLE bookmarks (url TEXT)")
    before = (tmp_path / "web.db").read_bytes()
    with pytest.raises(StoreCorrupt, match="not a Gossamer web"):
        open_sqlite_store(tmp_path, create=True)
    assert (tmp_path / "web.db").read_bytes() == before


def test_a_web_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    create(tmp_path)
    alter(tmp_path, f"PRAGMA user_version = {current_schema().version + 1}")
    for read_only in (True, False):
        with pytest.raises(StoreTooNew, match="newer version"):
            open_sqlite_store(tmp_path, create=False, read_only=read_only)


def test_a_damaged_file_is_reported(tmp_path: Path) -> None:
    create(tmp_path)
    file = tmp_path / "web.db"
    content = bytearray(file.read_bytes())
    content[8192:] = b"\xff" * (len(content) - 8192)
    file.write_bytes(content)
    with pytest.raises(StoreCorrupt, match="damaged"):
        list(open_sqlite_store(tmp_path, create=False).resources())


def test_a_damaged_stored_text_is_reported(tmp_path: Path) -> None:
    create(tmp_path)
    alter(tmp_path, "UPDATE texts SET body = x'28b52ffd00'; UPDATE sources SET body = x'00'")
    with closing(open_sqlite_store(tmp_path, create=False)) as store:
        with pytest.raises(StoreCorrupt):
            store.text(1)
        with pytest.raises(StoreCorrupt):
            store.source(1)


def _open_at_barrier(directory: Path, barrier: threading.Barrier) -> None:
    barrier.wait()
    open_sqlite_store(directory, create=True).close()


def test_processes_that_create_one_web_at_once_all_succeed(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    for attempt in range(12):
        barrier = context.Barrier(6)
        children = [context.Process(target=_open_at_barrier, args=(tmp_path / f"{attempt}", barrier)) for _ in range(6)]
        for child in children:
            child.start()
        for child in children:
            child.join()
        assert [child.exitcode for child in children] == [0] * 6


# -- permissions -------------------------------------------------------------------------------------------------------


def as_nobody(action: Callable[[], None]) -> None:
    """Run `action` in a child process without root rights, because root ignores permissions."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            if os.getuid() == 0:
                os.setgroups([])
                os.setgid(NOBODY)
                os.setuid(NOBODY)
            action()
            code = 0
        except BaseException as error:  # noqa: BLE001 - the parent must see any failure of the child
            print(repr(error), file=sys.stderr)
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.fixture
def read_only_web() -> Iterator[Path]:
    """A web that everybody can read and nobody can write, in a directory that everybody can reach."""
    directory = Path("/tmp") / f"gossamer-{os.getpid()}-{time.monotonic_ns()}"
    create(directory)
    shutil.rmtree(directory / "crawlers")
    (directory / "web.db").chmod(0o444)
    directory.chmod(0o555)
    yield directory
    directory.chmod(0o755)
    shutil.rmtree(directory)


def test_a_read_only_directory_can_be_read(read_only_web: Path) -> None:
    def read() -> None:
        with closing(open_sqlite_store(read_only_web, create=False, read_only=True)) as store:
            assert store.counts().resources["visited"] == 1
            assert store.source(1) is not None

    as_nobody(read)


def test_a_read_only_directory_is_refused_for_writing(read_only_web: Path) -> None:
    def write() -> None:
        with pytest.raises(StoreNotWritable), closing(open_sqlite_store(read_only_web, create=True)) as store:
            store.add([seed(B)], admit_all)
        with pytest.raises(StoreNotWritable):
            open_sqlite_store(read_only_web / "new", create=True)

    as_nobody(write)


def test_a_read_only_web_of_an_older_version_says_what_to_do(read_only_web: Path) -> None:
    read_only_web.chmod(0o755)
    (read_only_web / "web.db").chmod(0o644)
    alter(read_only_web, "PRAGMA user_version = 1")
    (read_only_web / "web.db").chmod(0o444)
    read_only_web.chmod(0o555)

    def read() -> None:
        with pytest.raises(StoreNotWritable, match="is of an older version of Gossamer: open it once where"):
            open_sqlite_store(read_only_web, create=False, read_only=True)

    as_nobody(read)


def test_a_store_opened_for_reading_refuses_to_write(tmp_path: Path) -> None:
    create(tmp_path)
    with closing(open_sqlite_store(tmp_path, create=False, read_only=True)) as store:
        with pytest.raises(StoreNotWritable):
            store.add([seed(B)], admit_all)
        assert store.resource(digest(A)) is not None


# -- faults while working ----------------------------------------------------------------------------------------------


def test_a_full_disk_discards_the_whole_batch_and_keeps_the_store_usable(tmp_path: Path) -> None:
    """A page limit stands for a full disk, because SQLite reports both with the same error."""
    with closing(open_sqlite_store(tmp_path, create=True)) as store:
        crawler = start(store, A, B)
        leased = leases(lease_all(store, crawler))
        before = (store.counts(), list(store.resources()))
        db = sqlite_database(store)._db
        pages = db.execute("PRAGMA page_count").fetchone()[0]
        big_visit = fetched_visit(leased[A], *(f"http://a.test/{n}" for n in range(5_000)))
        failures = 0
        while store.counts().links == 0:
            db.execute(f"PRAGMA max_page_count = {pages + 10 * failures}")
            with suppress(StoreFull):
                store.submit(crawler, VisitBatch(visits=[big_visit]), admit_all, time.time())
                break
            assert (store.counts(), list(store.resources())) == before
            failures += 1
        assert failures > 5
        assert store.counts().links == 5_000
        assert store.counts().resources["queued"] == 5_000, "ids of failed transactions are not cached"


def test_a_full_disk_is_reported_in_one_sentence(tmp_path: Path) -> None:
    with closing(open_sqlite_store(tmp_path, create=True)) as store:
        sqlite_database(store)._db.execute("PRAGMA max_page_count = 1")
        with pytest.raises(StoreFull, match=f"No disk space is left for {tmp_path}"):
            store.add([seed(f"http://a.test/{n}") for n in range(5_000)], admit_all)


def test_an_endless_writer_is_reported_after_the_busy_timeout(tmp_path: Path) -> None:
    create(tmp_path)
    with (
        closing(open_sqlite_store(tmp_path, create=False, busy_seconds=0.1)) as store,
        closing(sqlite3.connect(tmp_path / "web.db", isolation_level=None)) as other,
    ):
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreBusy, match="Another process"):
            store.add([seed(B)], admit_all)
        assert state(store, A) == "visited", "readers do not wait for the writer"
        other.execute("ROLLBACK")
        assert store.add([seed(B)], admit_all)[0].known


def test_a_closed_store_refuses_questions(tmp_path: Path) -> None:
    store = open_sqlite_store(tmp_path, create=True)
    store.close()
    with pytest.raises(StoreError, match="closed"):
        store.counts()


def test_another_thread_can_use_the_store(tmp_path: Path) -> None:
    with closing(open_sqlite_store(tmp_path, create=True)) as store:
        known: list[bool] = []
        writer = threading.Thread(target=lambda: known.append(store.add([seed(A)], admit_all)[0].known))
        writer.start()
        writer.join()
        assert known == [False]
        assert state(store, A) == "queued"
