"""Webs of older versions: a migration keeps their content and happens completely or not at all.

sqlite_schema_1.sql is the schema of version 1. It never changes, because files of that version exist.
"""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import platform
import shutil
import signal
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gossamer.errors import StoreError
from gossamer.store.migrations import Schema
from gossamer.store.sqlite import open_sqlite_store
from gossamer.store.sqlite.opening import current_schema, migrate
from helpers.store.crawl_steps import admit_all, digest, recount, seed, start, visit_all
from helpers.store.databases import undo_version_3

if TYPE_CHECKING:
    from collections.abc import Callable
    from threading import Barrier

NOWHERE = Path("nowhere")  # the directory of a database without crawlers
FIRST = Schema(Path(__file__).with_name("sqlite_schema_1.sql").read_text("utf-8"), {})

# Digest of the schema of each version. Webs of these versions exist on disks: if a digest differs, raise the version
# instead of changing the digest. A new version needs a migration and a line here.
SHAPES = {
    1: "ab20299df9d78349",
    2: "2470c7d40f91fd85",
    3: "5d7648f8776eb872",
    4: "17e9f9eae4b2911a",
}

A, B, C = "http://a.test/", "http://a.test/b", "http://a.test/c"
LATER = [f"http://b.test/{number}" for number in range(20)]


def shape(db: sqlite3.Connection) -> set[tuple[str, str, str]]:
    """Return the statements of the schema without comments and white space, and the names of the counters."""
    rows = db.execute("SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL")
    statements = {(kind, name, " ".join(strip_comments(sql).split())) for kind, name, sql in rows}
    return statements | {("counter", name, "") for (name,) in db.execute("SELECT key FROM meta")}


def strip_comments(sql: str) -> str:
    return "\n".join(line.partition("--")[0] for line in sql.splitlines())


def without_blanks(statements: set[tuple[str, str, str]]) -> set[tuple[str, str, str]]:
    """Return statements without the blanks that ALTER TABLE leaves before its commas."""
    return {(kind, name, sql.replace(" ", "")) for kind, name, sql in statements}


def version(db: sqlite3.Connection) -> int:
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def connect(directory: Path) -> closing[sqlite3.Connection]:
    return closing(sqlite3.connect(directory / "web.db", isolation_level=None))


def connect_in_memory() -> closing[sqlite3.Connection]:
    return closing(sqlite3.connect(":memory:", isolation_level=None))


def create(directory: Path) -> None:
    """Create a web with one visited page, digests in their table, and pending digests."""
    with closing(open_sqlite_store(directory, create=True)) as store:
        crawler = start(store, A)
        visit_all(store, crawler, {A: [B]})
        store.leave(crawler)
        store.add([seed(url) for url in LATER], admit_all)


def create_version_1(directory: Path) -> None:
    """Create the same web in version 1."""
    create(directory / "now")
    with connect(directory) as db:
        db.execute("PRAGMA journal_mode = WAL")
        migrate(db, FIRST, NOWHERE)
        tables = db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
        db.execute("ATTACH ? AS now", (str(directory / "now" / "web.db"),))
        for (name,) in tables:
            columns = ", ".join(column for (column,) in db.execute("SELECT name FROM pragma_table_info(?)", (name,)))
            db.execute(f"DELETE FROM main.{name}")
            db.execute(f"INSERT INTO main.{name} ({columns}) SELECT {columns} FROM now.{name}")
        db.execute("DELETE FROM meta WHERE key = 'digested'")
    shutil.rmtree(directory / "now")


def mark_as_version_1(directory: Path) -> None:
    """Make the web in a directory one of version 2 that says version 1."""
    with connect(directory) as db:
        undo_version_3(db)
        db.execute("PRAGMA user_version = 1")


def create_version_2_marked_as_1(directory: Path) -> None:
    create(directory)
    mark_as_version_1(directory)


for_each_older_web = pytest.mark.parametrize("make", [create_version_1, create_version_2_marked_as_1])


# -- versions ----------------------------------------------------------------------------------------------------------


def test_the_schema_is_version_1_plus_all_migrations() -> None:
    with connect_in_memory() as old, connect_in_memory() as new:
        migrate(old, FIRST, NOWHERE)
        migrate(old, current_schema(), NOWHERE)
        migrate(new, current_schema(), NOWHERE)
        assert without_blanks(shape(old)) == without_blanks(shape(new))
        assert version(old) == version(new)


def test_a_released_version_never_changes() -> None:
    migrations = current_schema().migrations
    digests = {}
    with connect_in_memory() as db:
        for number in range(1, current_schema().version + 1):
            migrate(
                db, Schema(FIRST.script, {step: sql for step, sql in migrations.items() if step <= number}), NOWHERE
            )
            digests[number] = hashlib.sha256(repr(sorted(shape(db))).encode()).hexdigest()[:16]
    assert digests == SHAPES


# -- existing webs -----------------------------------------------------------------------------------------------------


def assert_up_to_date(directory: Path) -> None:
    with connect(directory) as db, connect_in_memory() as new:
        migrate(new, current_schema(), NOWHERE)
        assert without_blanks(shape(db)) == without_blanks(shape(new))
        assert version(db) == version(new)
        by_digest = db.execute("SELECT digest, resource FROM digests ORDER BY digest").fetchall()
        assert by_digest == db.execute("SELECT digest, id FROM resources ORDER BY digest").fetchall()
        counters = dict(db.execute("SELECT key, value FROM meta"))
        assert counters["digested"] == counters["last_resource"] == len(by_digest) == len([A, B, *LATER])


@for_each_older_web
@pytest.mark.parametrize("read_only", [False, True], ids=["writing", "reading"])
def test_an_older_web_is_migrated_when_it_is_opened(
    tmp_path: Path, make: Callable[[Path], None], read_only: bool
) -> None:
    make(tmp_path)
    with closing(open_sqlite_store(tmp_path, create=False, read_only=read_only)) as store:
        for url in (A, B, *LATER):
            row = store.resource(digest(url))
            assert row is not None
            assert row.url == url
        assert store.resource(digest(C)) is None
    assert_up_to_date(tmp_path)


@for_each_older_web
def test_a_crawl_continues_in_a_migrated_web(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path)
    with closing(open_sqlite_store(tmp_path, create=False)) as store:
        added = store.add([seed(url) for url in (B, C, LATER[-1])], admit_all)
        assert [each.known for each in added] == [True, False, True]
        crawler = start(store, A)
        visit_all(store, crawler, {B: [A, C, LATER[0], "http://c.test/"]})
        store.leave(crawler)
        assert store.forget(digest(LATER[0])) == 1
        urls = [row.url for row in store.resources()]
        assert len(urls) == len(set(urls)), "no URL has two ids"
        assert set(urls) == {A, B, C, *LATER, "http://c.test/"}
        recount(store)


@pytest.mark.parametrize("read_only", [False, True])
def test_a_web_older_than_version_1_is_refused_and_left_unchanged(tmp_path: Path, read_only: bool) -> None:
    create_version_1(tmp_path)
    with connect(tmp_path) as db:
        db.execute("ALTER TABLE crawlers DROP COLUMN wanted_parsers")
        before = shape(db)
    with pytest.raises(StoreError, match="early version of Gossamer"):
        open_sqlite_store(tmp_path, create=not read_only, read_only=read_only)
    with connect(tmp_path) as db:
        assert (shape(db), version(db)) == (before, 1)


@pytest.mark.parametrize("read_only", [False, True], ids=["writing", "reading"])
def test_an_older_web_is_not_migrated_while_a_crawler_works_in_it(tmp_path: Path, read_only: bool) -> None:
    with closing(open_sqlite_store(tmp_path, create=True)) as store:
        store.join(platform.node(), os.getpid())
        mark_as_version_1(tmp_path)
        with pytest.raises(StoreError, match=r"a crawler of that version \(Naiad\) is at work there"):
            open_sqlite_store(tmp_path, create=False, read_only=read_only)
        with connect(tmp_path) as db:
            assert version(db) == 1
    open_sqlite_store(tmp_path, create=False, read_only=read_only).close()  # the crawler is gone: its lock is free
    with connect(tmp_path) as db:
        assert version(db) == current_schema().version


# -- interrupted and concurrent migrations -----------------------------------------------------------------------------


def _migrate_until_killed(directory: Path, statement: int) -> None:
    """Migrate, and kill this process before the statement with this number."""
    db = sqlite3.connect(directory / "web.db", isolation_level=None)
    statements = iter(range(statement))

    def count(_: str) -> None:
        if next(statements, None) is None:
            os.kill(os.getpid(), signal.SIGKILL)

    db.set_trace_callback(count)
    migrate(db, current_schema(), NOWHERE)


@for_each_older_web
def test_a_killed_migration_is_repeated_at_the_next_opening(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / "old")
    context = multiprocessing.get_context("fork")
    killed = 0
    while True:
        directory = tmp_path / str(killed)
        shutil.copytree(tmp_path / "old", directory)
        child = context.Process(target=_migrate_until_killed, args=(directory, killed))
        child.start()
        child.join()
        with connect(directory) as db:
            assert version(db) == (1 if child.exitcode else current_schema().version)
        open_sqlite_store(directory, create=False).close()
        assert_up_to_date(directory)
        if child.exitcode == 0:
            break
        assert child.exitcode == -signal.SIGKILL
        killed += 1
    assert killed > 5, "the migration was killed before each of its statements"


def _open_at_barrier(directory: Path, barrier: Barrier, read_only: bool) -> None:
    barrier.wait()
    with closing(open_sqlite_store(directory, create=False, read_only=read_only)) as store:
        assert store.resource(digest(A)) is not None


@for_each_older_web
def test_processes_that_open_an_older_web_at_once_all_succeed(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / "old")
    context = multiprocessing.get_context("fork")
    for attempt in range(8):
        directory = tmp_path / f"{attempt}"
        shutil.copytree(tmp_path / "old", directory)
        barrier = context.Barrier(6)
        children = [
            context.Process(target=_open_at_barrier, args=(directory, barrier, number % 2 > 0)) for number in range(6)
        ]
        for child in children:
            child.start()
        for child in children:
            child.join()
        assert [child.exitcode for child in children] == [0] * 6
        assert_up_to_date(directory)


def test_a_migration_that_fails_changes_nothing(tmp_path: Path) -> None:
    create(tmp_path)
    with connect(tmp_path) as db:
        before = shape(db)
        script = "ALTER TABLE hosts ADD COLUMN colour TEXT; UPDATE nowhere SET colour = 1;"
        with pytest.raises(sqlite3.OperationalError, match="no such table"):
            migrate(db, Schema("", {current_schema().version + 1: script}), tmp_path)
        assert shape(db) == before
        assert version(db) == current_schema().version
