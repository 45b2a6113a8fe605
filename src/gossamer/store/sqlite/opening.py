"""Open the web in a directory: create it, migrate an older one, refuse other files.

Several processes may open a directory at once. A lock on the directory lets one of them create web.db; one transaction
holds all steps of a migration.
"""

from __future__ import annotations

import fcntl
import os
import platform
import sqlite3
import time
from contextlib import contextmanager
from shlex import quote
from typing import TYPE_CHECKING

from gossamer.basics.durable import make_directory
from gossamer.errors import StoreCorrupt, StoreError, StoreMissing, StoreNotWritable, StoreTooNew
from gossamer.store.migrations import load_schema, refuse_while_crawling
from gossamer.store.sqlite.columns import SQLITE_COLUMNS
from gossamer.store.sqlite.database import BUSY_SECONDS, FILE, Database, connect, file_identity, translate_errors
from gossamer.store.sqlite.work.crawlers import is_dead, working_crawlers

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from gossamer.store.migrations import Schema

APPLICATION_ID = 0x676F7373  # "goss": distinguishes a web from other SQLite files
PAGE_SIZE = 4096  # bytes; with 8192 a submit is up to 6 % faster and the file 14 % bigger
WAL_MIB = 128  # size of the log before a checkpoint; a page that many batches change is copied once
MIGRATION_CACHE_MIB = 8  # small, because a migration reads and writes rows in the order of the file

# True for a web from the first hours of version 1, whose tables have no migration: this column is missing.
IS_EARLY = "SELECT NOT EXISTS (SELECT 1 FROM pragma_table_info('crawlers') WHERE name = 'wanted_parsers')"


def current_schema() -> Schema:
    """Return the schema of this version of Gossamer."""
    return load_schema(__package__, SQLITE_COLUMNS)


def open_database(
    directory: Path, *, create: bool, read_only: bool, cache_mib: int, busy_seconds: float = BUSY_SECONDS
) -> Database:
    """Open the web in a directory; create or migrate it if wanted and needed."""
    with translate_errors(directory):
        if create:
            make_directory(directory)
        elif not (directory / FILE).exists():
            raise _missing_web(directory)
        identity = file_identity(directory)
        db = connect(directory, create=create, read_only=read_only, busy_seconds=busy_seconds)
        try:
            db.execute(f"PRAGMA cache_size = {-1024 * cache_mib:d}")
            _upgrade_schema(db, directory, create=create, read_only=read_only)
        except BaseException:
            db.close()
            raise
        return Database(db, directory, identity)


def _missing_web(directory: Path) -> StoreMissing:
    return StoreMissing(
        f"There is no web in {directory}: `gossamer crawl URL --store {quote(str(directory))}` makes one."
    )


def _upgrade_schema(db: sqlite3.Connection, directory: Path, *, create: bool, read_only: bool) -> None:
    schema = current_schema()
    version = _check_version(db, directory, schema)
    if version == 0 and not create:
        raise _missing_web(directory)
    if read_only:
        if version < schema.version:
            _upgrade_for_reader(directory)
        return
    if version == 0:
        with _lock_directory(directory):
            db.execute(f"PRAGMA page_size = {PAGE_SIZE}")
            db.execute("PRAGMA auto_vacuum = NONE")
            db.execute("PRAGMA journal_mode = WAL")
            migrate(db, schema, directory)
    db.execute("PRAGMA synchronous = FULL")
    db.execute(f"PRAGMA wal_autocheckpoint = {(WAL_MIB << 20) // PAGE_SIZE}")
    db.execute(f"PRAGMA journal_size_limit = {WAL_MIB << 20}")
    # Some builds of SQLite overwrite deleted rows with zeros. Old links of a page are no secret.
    db.execute("PRAGMA secure_delete = OFF")
    db.execute("PRAGMA temp_store = MEMORY")
    if version < schema.version:
        migrate(db, schema, directory)


def _names_at_work(db: sqlite3.Connection, directory: Path) -> list[str]:
    machine, now = platform.node(), time.time()
    return [worker.name for worker in working_crawlers(db) if not is_dead(worker, directory, machine, now)]


def _upgrade_for_reader(directory: Path) -> None:
    """Migrate an older web that is opened for reading; this needs the right to write."""
    try:
        open_database(directory, create=False, read_only=False, cache_mib=MIGRATION_CACHE_MIB).close()
    except StoreNotWritable as error:
        raise StoreNotWritable(
            f"{directory} is of an older version of Gossamer: open it once where it can be written."
        ) from error


def _check_version(db: sqlite3.Connection, directory: Path, schema: Schema) -> int:
    """Return the schema version of the file, 0 when it is empty.

    It changes nothing, because the file may belong to another program.
    """
    db.execute("BEGIN")  # one snapshot, because another process may be creating the web
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
        raise StoreError(
            f"{directory} was made by an early version of Gossamer that this one cannot read: crawl again."
        )
    return int(version)


@contextmanager
def _lock_directory(directory: Path) -> Iterator[None]:
    """Keep out other processes that create the same web; the switch to WAL does not wait for them."""
    lock = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def migrate(db: sqlite3.Connection, schema: Schema, directory: Path) -> None:
    """Bring an empty or older file to the schema, all steps in one transaction."""
    db.execute("BEGIN IMMEDIATE")
    try:
        version = db.execute("PRAGMA user_version").fetchone()[0]  # again: another process may have migrated it
        if 0 < version < schema.version:
            refuse_while_crawling(str(directory), _names_at_work(db, directory))
        for script in schema.scripts_from(version):
            _run_script(db, script)
        db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        db.execute(f"PRAGMA user_version = {schema.version}")
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def _run_script(db: sqlite3.Connection, script: str) -> None:
    """Run the statements of a script inside the transaction; executescript() would commit first."""
    statement = ""
    for part in script.split(";"):
        statement += f"{part};"
        if sqlite3.complete_statement(statement):  # False when the ";" stood in a comment or a string
            db.execute(statement)
            statement = ""
