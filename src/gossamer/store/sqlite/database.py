"""The file web.db: connection, transactions, and faults of SQLite as errors of Gossamer.

This module knows how SQLite behaves as a file: locks, full disks, read-only directories. The other modules only run SQL
inside a `Transaction`; `opening` sets the pragmas.

A committed transaction survives `kill -9` at any instant, because the write-ahead log then belongs to the kernel. With
`synchronous=FULL` it also survives a power cut. On a solid-state disk the flush costs nothing measurable in batches of
256 visits (0.3 ms a visit).
"""

from __future__ import annotations

import errno
import shutil
import sqlite3
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

import msgspec

from gossamer.basics.sqlite_files import open_sqlite_file, open_sqlite_reader
from gossamer.errors import StoreBusy, StoreCorrupt, StoreError, StoreFull, StoreNotWritable
from gossamer.store.sqlite.work.counters import MetaTable, write_host_counters
from gossamer.store.sqlite.work.digests import FreshDigests
from gossamer.store.work.counters import CounterDeltas
from gossamer.store.work.url_cache import UrlCache

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from gossamer.store.sqlite.work.crawlers import NameLock
    from gossamer.store.work.heartbeats import HeartbeatWatch

T = TypeVar("T")

FILE = "web.db"
BUSY_SECONDS = 120.0  # a change of scope over a million resources holds the lock for 30 s
BUSY_POLL_SECONDS = 0.002  # between attempts to begin while another process writes; a batch takes some 50 ms
NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT})
LOW_DISK_SPACE = 1 << 20  # bytes; with less free space, an I/O error is reported as a full disk


def json_array(values: Iterable[int] | Iterable[str]) -> str:
    """Return ids or names as one parameter, for `IN (SELECT value FROM json_each(?))`."""
    return msgspec.json.encode(list(values)).decode()


def connect(directory: Path, *, create: bool, read_only: bool, busy_seconds: float) -> sqlite3.Connection:
    """Open the file, for reading also on a full disk or in a read-only directory."""
    if read_only:
        return open_sqlite_reader(directory / FILE, busy_seconds)
    return open_sqlite_file(directory / FILE, "rwc" if create else "rw", busy_seconds)


def file_identity(directory: Path) -> str:
    """Return device and inode of web.db, "" when there is none."""
    try:
        status = (directory / FILE).stat()
    except FileNotFoundError:
        return ""
    return f"{status.st_dev}:{status.st_ino}"


def _first_round(db: sqlite3.Connection) -> str:
    """Return when the first round began; "" in a new web, and in a damaged one, which the next read reports."""
    try:
        return str(db.execute("SELECT min(started_at) FROM rounds").fetchone()[0])
    except sqlite3.Error:
        return ""


class Transaction:
    """One writing transaction: the connection, the counters it changes, and caches kept between batches."""

    def __init__(self, db: sqlite3.Connection, url_cache: UrlCache, fresh_digests: FreshDigests) -> None:
        self.db = db
        self.meta = MetaTable(db)
        self.counter_deltas = CounterDeltas(self.meta)
        self.url_cache = url_cache
        self.fresh_digests = fresh_digests
        url_cache.set_generation(self.meta["generation"])

    def finish(self) -> None:
        """Write the counters, as the last step before COMMIT."""
        write_host_counters(self.db, self.counter_deltas)
        self.meta.write(self.db)


class Database:
    """A connection to one web.db."""

    def __init__(self, db: sqlite3.Connection, directory: Path, identity: str = "") -> None:
        """`identity` is that of the file before it was opened, so that a replacement meanwhile shows."""
        self._db = db
        self._first_round = _first_round(db)
        self.opened_identity = f"{identity or file_identity(directory)} {self._first_round}"
        self._url_cache = UrlCache()
        self._fresh_digests = FreshDigests()
        self._busy_timeout: int = db.execute("PRAGMA busy_timeout").fetchone()[0]  # milliseconds
        self.directory = directory
        self.is_closed = False
        self.name_locks: dict[int, NameLock] = {}  # by crawler that joined through this connection
        self.watches: dict[int, HeartbeatWatch] = {}  # by the same crawlers

    def identity(self) -> str:
        """Return which web is at the location now. No other file can have its number while this one is open.

        A later file can. So the start of the first round is a part of the identity, which caches keep for longer.
        """
        return f"{file_identity(self.directory)} {self._first_round}"

    def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run a read. Each of its statements sees the last commit."""
        with self.connection() as db:
            return work(db)

    def snapshot(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run a read whose statements all see the same state."""
        with self.connection() as db:
            db.execute("BEGIN")
            try:
                return work(db)
            finally:
                if db.in_transaction:  # SQLite ends it itself after some faults
                    db.execute("COMMIT")

    def write(self, work: Callable[[Transaction], T], *, exclusive: bool = False) -> T:  # noqa: ARG002
        """Run `work` in one transaction. Each one is exclusive, because SQLite has one writer at a time."""
        with self.transaction() as tx:
            return work(tx)

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Open a transaction that commits at the end, or leaves nothing behind."""
        with translate_errors(self.directory):
            self._begin()
            try:
                transaction = Transaction(self._db, self._url_cache, self._fresh_digests)
                yield transaction
                transaction.finish()
                self._db.execute("COMMIT")
            except BaseException:
                self._url_cache.clear()  # the caches may hold ids of the transaction that failed
                self._fresh_digests = FreshDigests()
                if self._db.in_transaction:  # SQLite has rolled back itself after some faults, such as a full disk
                    self._db.execute("ROLLBACK")
                raise

    def _begin(self) -> None:
        """Begin as soon as no other process writes.

        SQLite's own busy handler polls less and less often, in the end ten times a second. Beside a crawl that writes
        batch after batch, the indexer would hardly ever hit the moment between two of them.
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
        """Give the connection for SELECTs."""
        with translate_errors(self.directory):
            yield self._db

    def close(self) -> None:
        """Close the file, then free the names of crawlers. The last process to close it folds the log into it."""
        self.is_closed = True
        try:
            with translate_errors(self.directory):
                self._db.close()
        finally:
            while self.name_locks:
                self.name_locks.popitem()[1].close()


# -- faults ------------------------------------------------------------------------------------------------------------


@contextmanager
def translate_errors(directory: Path) -> Iterator[None]:
    """Raise errors of SQLite and of the file system as errors of Gossamer."""
    try:
        yield
    except sqlite3.Error as error:
        raise _store_error(error, directory) from error
    except UnicodeDecodeError as error:  # the sqlite3 module cannot decode a message that quotes damaged bytes
        raise _damaged_error(directory, "its text is not UTF-8") from error
    except OSError as error:
        if error.errno in NO_SPACE:
            raise _disk_full_error(directory) from error
        raise StoreNotWritable(f"{directory} cannot be used as a web: {error.strerror}.") from error


def _disk_full_error(directory: Path) -> StoreFull:
    return StoreFull(
        f"No disk space is left for {directory}, and the last batch was not written: free some space and try again."
    )


def _damaged_error(directory: Path, reason: str) -> StoreCorrupt:
    return StoreCorrupt(
        f"{directory / FILE} is damaged or not a Gossamer web ({reason}): restore it from a backup, or crawl into"
        " another directory."
    )


def _store_error(error: sqlite3.Error, directory: Path) -> StoreError:
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_MISUSE) & 0xFF  # the primary result code
    if "Could not decode to UTF-8" in str(error):  # of the sqlite3 module, which gives no code
        code = sqlite3.SQLITE_CORRUPT
    match code:
        case sqlite3.SQLITE_FULL:
            return _disk_full_error(directory)
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return StoreBusy(f"Another process keeps writing to {directory}: try again when it is done.")
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM | sqlite3.SQLITE_CANTOPEN:
            return StoreNotWritable(f"{directory} cannot be opened or written to ({error}).")
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            return _damaged_error(directory, str(error))
        case sqlite3.SQLITE_IOERR if shutil.disk_usage(directory).free < LOW_DISK_SPACE:
            return _disk_full_error(directory)
    return StoreError(f"The store in {directory} failed ({error}).")
