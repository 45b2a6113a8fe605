"""Opening a web in PostgreSQL: create it if wanted, migrate it if it is older, refuse a schema that is no web.

Any number of crawlers may start at once. An advisory lock on the schema's name lets one of them create the tables.
"""

from __future__ import annotations

import platform
import time
from typing import TYPE_CHECKING

import psycopg
from psycopg import errors, sql

from gossamer.errors import StoreCorrupt, StoreError, StoreNotWritable, StoreTooNew
from gossamer.store.migrations import load_schema, refuse_while_crawling
from gossamer.store.postgres.columns import POSTGRES_COLUMNS
from gossamer.store.postgres.database import (
    LOCK_EXCLUSIVE,
    WEB_LOCK,
    Database,
    connect,
    missing_web,
    translate_errors,
    web_lock_number,
)
from gossamer.store.postgres.work.crawlers import names_at_work, wait_for_reconnections

if TYPE_CHECKING:
    from gossamer.store.migrations import Schema
    from gossamer.store.postgres.database import Connection
    from gossamer.store.postgres.location import PostgresLocation

OLDEST_SERVER = 14

LOCK_SCHEMA = "SELECT pg_advisory_xact_lock(hashtext('gossamer'), hashtext(%s))"
# A waiting ALTER TABLE makes all readers wait, so it gives up soon.
MIGRATION_PATIENCE = "SET LOCAL lock_timeout = '10s'"
COUNT_TABLES = "SELECT count(*), count(*) FILTER (WHERE tablename = 'web') FROM pg_tables WHERE schemaname = %s"


def open_database(location: PostgresLocation, *, create: bool, read_only: bool) -> Database:
    """Open the web at a location; create it if `create` says so, migrate it if it is older."""
    with translate_errors(location):
        db = connect(location)
        try:
            _check_server(db, location)
            _upgrade_schema(db, location, create=create)
        except BaseException:
            db.close()
            raise
        database = Database(location, read_only=read_only)
        database.use_connection(db)
        database.opened_identity = database.identity()
        return database


def current_schema() -> Schema:
    """Return the schema of this version of Gossamer."""
    return load_schema(__package__, POSTGRES_COLUMNS)


def _upgrade_schema(db: Connection, location: PostgresLocation, *, create: bool) -> None:
    schema = current_schema()
    layout = _read_layout(db, location, schema)
    if layout == 0 and not create:
        raise missing_web(location)
    if layout < schema.version:
        try:
            migrate(db, location, schema)
        except (errors.InsufficientPrivilege, errors.ReadOnlySqlTransaction) as error:
            if layout == 0:
                raise
            raise StoreNotWritable(
                f"{location.display_name} is of an older version of Gossamer: open it once as a user who may change"
                " its tables."
            ) from error


def has_web(location: PostgresLocation) -> bool:
    """Return whether there is a web at a location."""
    with translate_errors(location), connect(location) as db:
        return _read_layout(db, location, current_schema()) > 0


def migrate(db: Connection, location: PostgresLocation, schema: Schema) -> None:
    """Bring a missing or empty schema or an older web to the newest version, in one transaction."""
    with db.transaction():
        db.execute(LOCK_SCHEMA, (location.schema,))
        layout = _read_layout(db, location, schema)  # read under the lock: another process may have migrated it
        if layout == 0:
            _create_schema(db, location)
        elif layout < schema.version:
            wait_for_reconnections(db, platform.node())
            db.execute(MIGRATION_PATIENCE)
            db.execute(LOCK_EXCLUSIVE, (web_lock_number(db, location), WEB_LOCK))  # no crawler joins meanwhile
            refuse_while_crawling(location.display_name, names_at_work(db, platform.node(), time.time()))
        for script in schema.scripts_from(layout):
            db.execute(script.encode())
        db.execute("UPDATE web SET layout = %s", (schema.version,))


def _create_schema(db: Connection, location: PostgresLocation) -> None:
    """Create the schema unless it exists. A user may have the right to use one without the right to create one."""
    if not db.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", (location.schema,)).fetchone():
        db.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(location.schema)))


def _read_layout(db: Connection, location: PostgresLocation, schema: Schema) -> int:
    """Return the schema version of the web; 0 without tables. Change nothing: the schema may be another's."""
    row = db.execute(COUNT_TABLES, (location.schema,)).fetchone()
    assert row is not None
    tables, webs = row
    if not tables:
        return 0
    try:
        layout_row = db.execute("SELECT layout FROM web").fetchone() if webs else None
    except errors.UndefinedColumn:
        layout_row = None
    if layout_row is None:
        raise StoreCorrupt(
            f"{location.display_name}: the schema {location.schema} holds tables that are not a Gossamer web:"
            " name another one with ?schema=NAME."
        )
    if layout_row[0] > schema.version:
        raise StoreTooNew(
            f"{location.display_name} was written by a newer version of Gossamer (store version {layout_row[0]},"
            f" this one knows {schema.version}): upgrade Gossamer to use it."
        )
    return int(layout_row[0])


def _check_server(db: psycopg.Connection[tuple[object, ...]], location: PostgresLocation) -> None:
    if db.info.server_version < OLDEST_SERVER * 10_000:
        raise StoreError(f"{location.display_name}: Gossamer needs PostgreSQL {OLDEST_SERVER} or newer.")
    encoding = db.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise StoreError(
            f"{location.display_name}: the database has the encoding {encoding}, and Gossamer needs UTF8:"
            " create one with `createdb --encoding=UTF8 --template=template0 NAME`."
        )
