"""A web in a directory as source or target of a copy (`gossamer.store.copy`).

An unfinished copy is a web.db in the subdirectory `copying` of the target. Its extra table `copying` notes the web and
the moment, the progress of each table, and the indexes to create at the end. A table fills faster without them.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from typing import TYPE_CHECKING, Any

import msgspec

from gossamer.basics.durable import make_directory, sync_directory
from gossamer.errors import StoreBusy, StoreError
from gossamer.store.copy import FINGERPRINT_QUERIES, TableProgress, compute_fingerprint, next_rows_sql
from gossamer.store.sqlite.database import FILE, Database, translate_errors
from gossamer.store.sqlite.opening import current_schema, open_database
from gossamer.store.sqlite.work.digests import index_fresh_digests

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from gossamer.store.copy import CopyTable
    from gossamer.store.rows import Row

UNFINISHED = "copying"
LOCK = "lock"
CACHE_MIB = 64
NOTES = "CREATE TABLE copying (key TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT"
INDEXES = "SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL"
PUT = "INSERT INTO copying VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value"


def _rows(database: Database, table: CopyTable, columns: Sequence[str], after: tuple[Any, ...] | None) -> list[Row]:
    with database.connection() as db:
        return db.execute(next_rows_sql(table, columns, after, "?"), after or ()).fetchall()


def _counters(database: Database) -> dict[str, int]:
    with database.connection() as db:
        return dict(
            db.execute("SELECT key, value FROM meta WHERE key <> 'digested'")
        )  # `digested` describes the file, not the web


class SqliteSource:
    """One snapshot of a web in a directory."""

    def __init__(self, directory: Path) -> None:
        self.display_name = str(directory)
        self._database = open_database(directory, create=False, read_only=True, cache_mib=CACHE_MIB)
        with self._database.connection() as db:
            db.execute("BEGIN")  # the first read starts the snapshot

    def fingerprint(self) -> bytes:
        """Return a digest that identifies this moment of this web."""
        with self._database.connection() as db:
            return compute_fingerprint([db.execute(sql).fetchall() for sql in FINGERPRINT_QUERIES])

    def columns(self, table: str) -> tuple[str, ...]:
        """Return the columns of a table."""
        with self._database.connection() as db:
            return tuple(name for (name,) in db.execute("SELECT name FROM pragma_table_info(?)", (table,)))

    def rows(self, table: CopyTable, columns: Sequence[str], after: tuple[Any, ...] | None) -> list[Row]:
        """Return the rows after a key."""
        return _rows(self._database, table, columns, after)

    def counters(self) -> dict[str, int]:
        """Return the counters of the web."""
        return _counters(self._database)

    def close(self) -> None:
        """Close the file."""
        self._database.close()


class SqliteTarget:
    """A web under construction in a directory."""

    def __init__(self, directory: Path) -> None:
        self.display_name = str(directory)
        self._directory = directory
        if (directory / FILE).exists():
            raise StoreError(f"There is a web in {directory} already: copy to another directory.")
        with translate_errors(directory):
            make_directory(directory / UNFINISHED)
            self._lock = os.open(directory / UNFINISHED / LOCK, os.O_RDWR | os.O_CREAT, 0o666)
        self._database: Database | None = None
        try:
            self._take_lock()
            self._database = self._open()
        except BaseException:
            os.close(self._lock)
            raise

    def _take_lock(self) -> None:
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StoreBusy(
                f"Another process is copying a web to {self.display_name}: try again when it is done."
            ) from None

    def _open(self) -> Database:
        return open_database(self._directory / UNFINISHED, create=True, read_only=False, cache_mib=CACHE_MIB)

    @property
    def _open_database(self) -> Database:
        assert self._database is not None, "closed"
        return self._database

    def begin(self, fingerprint: bytes) -> bool:
        """Prepare; return True to resume a copy of that moment in the schema of this version."""
        fingerprint = b"%d %b" % (current_schema().version, fingerprint)
        with self._open_database.connection() as db:
            has_notes = db.execute("SELECT 1 FROM sqlite_schema WHERE name = 'copying'").fetchone()
            before = db.execute("SELECT value FROM copying WHERE key = 'mark'").fetchone() if has_notes else None
        if before is not None and before[0] == fingerprint:
            return True
        self._restart(fingerprint)
        return False

    def _restart(self, fingerprint: bytes) -> None:
        self._open_database.close()
        with translate_errors(self._directory):
            for file in (self._directory / UNFINISHED).glob(f"{FILE}*"):
                file.unlink()
        self._database = self._open()
        with self._database.connection() as db:
            db.execute("BEGIN IMMEDIATE")
            db.execute(NOTES)
            db.execute(PUT, ("mark", fingerprint))
            for name, sql in db.execute(INDEXES).fetchall():
                db.execute(PUT, (f"index {name}", sql.encode()))
                db.execute(f"DROP INDEX {name}")
            db.execute("COMMIT")

    def table_progress(self) -> dict[str, TableProgress]:
        """Return how far each table is."""
        with self._open_database.connection() as db:
            rows = db.execute("SELECT substr(key, 7), value FROM copying WHERE key LIKE 'table %'").fetchall()
        return {name: msgspec.msgpack.decode(value, type=TableProgress) for name, value in rows}

    def convert_rows(self, rows: list[Row]) -> list[Row]:
        """Return the rows as they are: SQLite can store them all."""
        return rows

    def write(self, table: CopyTable, columns: Sequence[str], rows: list[Row], progress: TableProgress) -> None:
        """Write rows and progress in one transaction."""
        placeholders = ", ".join("?" * len(columns))
        insert = f"INSERT INTO {table.name} ({', '.join(columns)}) VALUES ({placeholders})"  # noqa: S608
        with self._open_database.connection() as db:
            db.execute("BEGIN IMMEDIATE")
            db.executemany(insert, rows)
            db.execute(PUT, (f"table {table.name}", msgspec.msgpack.encode(progress)))
            db.execute("COMMIT")

    def rows(self, table: CopyTable, columns: Sequence[str], after: tuple[Any, ...] | None) -> list[Row]:
        """Return the stored rows after a key."""
        return _rows(self._open_database, table, columns, after)

    def complete(self, counters: Mapping[str, int]) -> None:
        """Set the counters, and create the indexes and the table of digests."""
        with self._open_database.connection() as db:
            db.execute("BEGIN IMMEDIATE")
            db.executemany("UPDATE meta SET value = ? WHERE key = ?", ((value, key) for key, value in counters.items()))
            for key, sql in db.execute("SELECT key, value FROM copying WHERE key LIKE 'index %'").fetchall():
                db.execute(sql.decode())
                db.execute("DELETE FROM copying WHERE key = ?", (key,))
            db.execute("COMMIT")
        with self._open_database.transaction() as tx:
            index_fresh_digests(tx)

    def counters(self) -> dict[str, int]:
        """Return the counters of the web."""
        return _counters(self._open_database)

    def publish(self) -> None:
        """Drop the notes and move the file to its directory."""
        with self._open_database.connection() as db:
            db.execute("DROP TABLE copying")
        self._open_database.close()  # folds the log into the file
        self._database = None
        with translate_errors(self._directory):
            (self._directory / UNFINISHED / FILE).rename(self._directory / FILE)
            shutil.rmtree(self._directory / UNFINISHED)
            sync_directory(self._directory)

    def close(self) -> None:
        """Close the file; a later copy can resume it."""
        if self._database is not None:
            self._database.close()
            self._database = None
        os.close(self._lock)
