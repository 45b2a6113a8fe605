"""The file web.db: opened with care, brought up to date, written in transactions, its faults put into words.

Everything that knows how SQLite behaves as a file stands here: pragmas, locks, full disks, versions. The other modules
of this package only speak SQL inside a `Transaction`.

What survives what: a committed transaction survives `kill -9` at any instant, for it is in the write-ahead log, which
belongs to the kernel by then. With `synchronous=FULL` it survives a power cut too. On a solid-state disk that flush
cannot be told from noise in batches of 256 visits (0.30 to 0.32 ms a visit with NORMAL, 0.30 to 0.34 with FULL).
"""

from __future__ import annotations

import errno
import fcntl
import os
import platform
import shutil
import sqlite3
import time
from contextlib import contextmanager
from importlib import resources
from typing import TYPE_CHECKING, NamedTuple

from gossamer.errors import StoreBusy, StoreCorrupt, StoreError, StoreFull, StoreMissing, StoreNotWritable, StoreTooNew
from gossamer.store.sqlite.work.counters import MetaTable, write_host_counters
from gossamer.store.sqlite.work.crawlers import is_dead, working_crawlers
from gossamer.store.sqlite.work.digests import FreshDigests
from gossamer.store.work.counters import CounterDeltas
from gossamer.store.work.url_cache import UrlCache

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

FILE = "web.db"
APPLICATION_ID = 0x676F7373  # "goss": tells a web from other people's SQLite files
PAGE_SIZE = 4096  # bytes; 8192 made a submit up to 6 % faster and the file 14 % bigger
WAL_MIB = 128  # the log is copied into the file at this size: a page that many batches change is copied once
MIGRATION_CACHE_MIB = 8  # rows are read and written in the order in which they lie
BUSY_SECONDS = 120.0  # a change of scope over a million resources holds the lock for half a minute
BUSY_POLL_SECONDS = (
    0.002  # between looks whether another process has done writing; a batch takes it some fifty milliseconds
)
NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT})
LOW_DISK_SPACE = 1 << 20  # bytes; an I/O error on a disk with less free space is put down to that

# The file that leads from one version to the next, by the version it leads to.
MIGRATIONS: Mapping[int, str] = {2: "migration_2.sql"}

# The tables of version 1 changed a few times in its first hours. This column came last; a web without it is older.
IS_EARLY = "SELECT NOT EXISTS (SELECT 1 FROM pragma_table_info('crawlers') WHERE name = 'wanted_parsers')"


class Schema(NamedTuple):
    """What a web.db should look like."""

    script: str  # makes a new one
    migrations: Mapping[int, str]  # version it leads to -> SQL

    @property
    def version(self) -> int:
        """The version that the script makes."""
        return max((1, *self.migrations))


def current_schema() -> Schema:
    """The schema of this version of Gossamer."""
    here = resources.files(__package__)
    return Schema(
        script=here.joinpath("schema.sql").read_text("utf-8"),
        migrations={version: here.joinpath(name).read_text("utf-8") for version, name in MIGRATIONS.items()},
    )


class Transaction:
    """One writing transaction: the connection, the counters it changes, and what is remembered between batches."""

    def __init__(self, db: sqlite3.Connection, url_cache: UrlCache, fresh_digests: FreshDigests) -> None:
        self.db = db
        self.meta = MetaTable(db)
        self.counter_deltas = CounterDeltas(self.meta)
        self.url_cache = url_cache
        self.fresh_digests = fresh_digests
        url_cache.set_generation(self.meta["generation"])

    def finish(self) -> None:
        """Write the counters; the last thing before COMMIT."""
        write_host_counters(self.db, self.counter_deltas)
        self.meta.write(self.db)


class Database:
    """A connection to one web.db."""

    def __init__(self, db: sqlite3.Connection, directory: Path) -> None:
        self._db = db
        self._url_cache = UrlCache()
        self._fresh_digests = FreshDigests()
        self._busy_timeout: int = db.execute("PRAGMA busy_timeout").fetchone()[0]  # milliseconds
        self.directory = directory

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """A transaction that is committed at the end, or leaves nothing behind."""
        with translate_errors(self.directory):
            self._begin()
            try:
                transaction = Transaction(self._db, self._url_cache, self._fresh_digests)
                yield transaction
                transaction.finish()
                self._db.execute("COMMIT")
            except BaseException:
                self._url_cache.clear()  # they may hold ids that now were never given out
                self._fresh_digests = FreshDigests()
                if self._db.in_transaction:  # SQLite itself rolls back on some faults, a full disk among them
                    self._db.execute("ROLLBACK")
                raise

    def _begin(self) -> None:
        """Begin as soon as no other process writes.

        SQLite itself looks less and less often, in the end ten times a second. Where another process writes one batch
        after the other, as a crawl does, its index would hardly ever find the moment between.
        """
        deadline = time.monotonic() + self._busy_timeout / 1000
        self._db.execute("PRAGMA busy_timeout = 0")
        try:
            while True:
                try:
                    self._db.execute("BEGIN IMMEDIATE")
                except sqlite3.OperationalError as error:
                    if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                        raise
                    time.sleep(BUSY_POLL_SECONDS)
                else:
                    return
        finally:
            self._db.execute(f"PRAGMA busy_timeout = {self._busy_timeout:d}")

    @contextmanager
    def connection(self) -> Iterator[sqlite3.Connection]:
        """The connection for SELECTs."""
        with translate_errors(self.directory):
            yield self._db

    def close(self) -> None:
        """Close the file; the last one to do so folds the log into it."""
        with translate_errors(self.directory):
            self._db.close()


# -- opening -----------------------------------------------------------------------------------------------------------


def open_database(
    directory: Path, *, create: bool, read_only: bool, cache_mib: int, busy_seconds: float = BUSY_SECONDS
) -> Database:
    """Open the web in a directory, making or migrating it where that is wanted and needed."""
    with translate_errors(directory):
        if create:
            directory.mkdir(parents=True, exist_ok=True)
        elif not (directory / FILE).exists():
            raise _missing_web(directory)
        db = _connect(directory, create=create, read_only=read_only, busy_seconds=busy_seconds)
        try:
            db.execute(f"PRAGMA cache_size = {-1024 * cache_mib:d}")
            _upgrade_schema(db, directory, create=create, read_only=read_only)
        except BaseException:
            db.close()
            raise
        return Database(db, directory)


def _missing_web(directory: Path) -> StoreMissing:
    return StoreMissing(f"There is no web in {directory}: `gossamer crawl URL --store {directory}` makes one.")


def _connect(directory: Path, *, create: bool, read_only: bool, busy_seconds: float) -> sqlite3.Connection:
    uri = (directory / FILE).absolute().as_uri()
    mode = "ro" if read_only else "rwc" if create else "rw"
    if read_only and not os.access(directory, os.W_OK) and _has_empty_log(directory):
        # In a directory that cannot be written SQLite cannot make the shared memory of the log. Without a log there is
        # nothing to share, and the file is complete in itself.
        mode = "ro&immutable=1"
    # isolation_level=None: transactions begin where the code says so. The thread rule is the caller's: one at a time.
    return sqlite3.connect(
        f"{uri}?mode={mode}", uri=True, timeout=busy_seconds, isolation_level=None, check_same_thread=False
    )


def _has_empty_log(directory: Path) -> bool:
    log = directory / f"{FILE}-wal"
    return not log.exists() or log.stat().st_size == 0


def _upgrade_schema(db: sqlite3.Connection, directory: Path, *, create: bool, read_only: bool) -> None:
    schema = current_schema()
    version = _check_version(db, directory, schema)
    if version == 0 and not create:
        raise _missing_web(directory)
    if 0 < version < schema.version:
        _refuse_while_crawling(db, directory)
    if read_only:
        if version < schema.version:
            _upgrade_for_reader(directory)
        return
    if version == 0:
        with _lock_directory(directory):
            db.execute(f"PRAGMA page_size = {PAGE_SIZE}")
            db.execute("PRAGMA auto_vacuum = NONE")
            db.execute("PRAGMA journal_mode = WAL")
            migrate(db, schema)
    db.execute("PRAGMA synchronous = FULL")
    db.execute(f"PRAGMA wal_autocheckpoint = {(WAL_MIB << 20) // PAGE_SIZE}")
    db.execute(f"PRAGMA journal_size_limit = {WAL_MIB << 20}")
    # Some builds overwrite what is deleted with zeros; a page's old links are no secret.
    db.execute("PRAGMA secure_delete = OFF")
    db.execute("PRAGMA temp_store = MEMORY")
    if version < schema.version:
        migrate(db, schema)


def _refuse_while_crawling(db: sqlite3.Connection, directory: Path) -> None:
    """A crawler of the older version would find other tables than it knows."""
    machine, now = platform.node(), time.time()
    alive = [worker.name for worker in working_crawlers(db) if not is_dead(worker, directory, machine, now)]
    if alive:
        raise StoreError(
            f"{directory} is of an older version of Gossamer, of which {' and '.join(alive)} is at work there: try"
            " again when it has ended."
        )


def _upgrade_for_reader(directory: Path) -> None:
    """The first to open an older web may be one who only reads; it needs the right to write just then."""
    try:
        open_database(directory, create=False, read_only=False, cache_mib=MIGRATION_CACHE_MIB).close()
    except StoreNotWritable as error:
        raise StoreNotWritable(
            f"{directory} is of an older version of Gossamer: open it once where it can be written."
        ) from error


def _check_version(db: sqlite3.Connection, directory: Path, schema: Schema) -> int:
    """The schema version of the file; 0 when there is nothing in it yet. Changes nothing: it may be anybody's file."""
    db.execute("BEGIN")  # one look at all, for another process may be making the web just now
    tables, application, version, is_early = (
        db.execute(sql).fetchone()[0]
        for sql in ("SELECT count(*) FROM sqlite_schema", "PRAGMA application_id", "PRAGMA user_version", IS_EARLY)
    )
    db.execute("COMMIT")
    if application == version == tables == 0:
        return 0
    if application != APPLICATION_ID or version == 0:
        raise StoreCorrupt(f"{directory / FILE} is not a Gossamer web.")
    if version > schema.version:
        raise StoreTooNew(
            f"{directory} was written by a newer version of Gossamer (store version {version}, this one knows"
            f" {schema.version}): upgrade Gossamer to use it."
        )
    if version == 1 and is_early:
        raise StoreError(f"{directory} was made by an early version of Gossamer that this one cannot read: crawl anew.")
    return int(version)


@contextmanager
def _lock_directory(directory: Path) -> Iterator[None]:
    """Keep out other processes that make the same web: going over to a log does not wait for them."""
    lock = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def migrate(db: sqlite3.Connection, schema: Schema) -> None:
    """Bring an empty or older file to the schema, all steps in one transaction."""
    db.execute("BEGIN IMMEDIATE")
    try:
        version = db.execute("PRAGMA user_version").fetchone()[0]  # again: another process may have been first
        if version == 0:
            _run_script(db, schema.script)
        else:
            for step in range(version + 1, schema.version + 1):
                _run_script(db, schema.migrations[step])
        db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        db.execute(f"PRAGMA user_version = {schema.version}")
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def _run_script(db: sqlite3.Connection, script: str) -> None:
    """Run the statements of a script inside the transaction, which executescript() would commit first."""
    statement = ""
    for part in script.split(";"):
        statement += f"{part};"
        if sqlite3.complete_statement(statement):  # it is not when the ";" stood in a comment or a string
            db.execute(statement)
            statement = ""


# -- faults ------------------------------------------------------------------------------------------------------------


@contextmanager
def translate_errors(directory: Path) -> Iterator[None]:
    """The border: faults of SQLite and of the file system leave as our own."""
    try:
        yield
    except sqlite3.Error as error:
        raise _store_error(error, directory) from error
    except OSError as error:
        if error.errno in NO_SPACE:
            raise _disk_full_error(directory) from error
        raise StoreNotWritable(f"{directory} cannot be used as a web: {error.strerror}.") from error


def _disk_full_error(directory: Path) -> StoreFull:
    return StoreFull(f"No disk space is left for {directory}; nothing of the last batch was written.")


def _store_error(error: sqlite3.Error, directory: Path) -> StoreError:
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_MISUSE) & 0xFF  # the low byte names the family
    match code:
        case sqlite3.SQLITE_FULL:
            return _disk_full_error(directory)
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return StoreBusy(f"Another process keeps writing to {directory}: try again when it is done.")
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM | sqlite3.SQLITE_CANTOPEN:
            return StoreNotWritable(f"{directory} cannot be opened or written to ({error}).")
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            return StoreCorrupt(f"{directory / FILE} is damaged or not a Gossamer web ({error}).")
        case sqlite3.SQLITE_IOERR if shutil.disk_usage(directory).free < LOW_DISK_SPACE:
            return _disk_full_error(directory)
    return StoreError(f"The store in {directory} failed ({error}).")
