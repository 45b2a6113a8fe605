"""Opening a web in PostgreSQL: made where it is wanted and there is none, brought up to date, refused if it is no web.

Any number of crawlers may start at once: an advisory lock on the schema's name lets one of them make it.
"""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING

import psycopg
from psycopg import errors, sql

from gossamer.errors import StoreCorrupt, StoreError, StoreNotWritable, StoreTooNew
from gossamer.store.postgres.database import Database, connect, missing, translated

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gossamer.store.postgres.database import Connection
    from gossamer.store.postgres.location import PostgresPlace

LAYOUT = 1  # the version of the tables that schema.sql makes
OLDEST_SERVER = 14

# The file that leads from one layout to the next, by the layout it leads to. Empty before the first change.
MIGRATIONS: Mapping[int, str] = {}

MAKING = "SELECT pg_advisory_xact_lock(hashtext('gossamer'), hashtext(%s))"
TABLES = "SELECT count(*), count(*) FILTER (WHERE tablename = 'web') FROM pg_tables WHERE schemaname = %s"


def open_database(place: PostgresPlace, *, create: bool, read_only: bool) -> Database:
    """Open the web at a place, making or migrating it where that is wanted and needed."""
    with translated(place):
        db = connect(place)
        try:
            _check_server(db, place)
            _bring_up_to_date(db, place, create=create, read_only=read_only)
        except BaseException:
            db.close()
            raise
        database = Database(place, read_only=read_only)
        database.use(db)
        return database


def _bring_up_to_date(db: Connection, place: PostgresPlace, *, create: bool, read_only: bool) -> None:
    layout = _layout(db, place)
    if layout == 0 and not create:
        raise missing(place)
    if layout < LAYOUT:
        if read_only and layout:
            raise StoreNotWritable(f"{place.shown} is of an older version: open it once for writing.")
        migrate(db, place)


def has_web(place: PostgresPlace) -> bool:
    """Whether there is a web at a place."""
    with translated(place), connect(place) as db:
        return _layout(db, place) > 0


def migrate(db: Connection, place: PostgresPlace) -> None:
    """Bring an empty schema, or none, or an older web to the layout of this version, in one transaction."""
    with db.transaction():
        db.execute(MAKING, (place.schema,))
        layout = _layout(db, place)  # again: another process may have been first
        if layout == 0:
            _make_schema(db, place)
            db.execute(_script("schema.sql"))
        for step in range(layout + 1, LAYOUT + 1) if layout else ():
            db.execute(_script(MIGRATIONS[step]))
            db.execute("UPDATE web SET layout = %s", (step,))


def _script(name: str) -> bytes:
    return resources.files(__package__).joinpath(name).read_bytes()


def _make_schema(db: Connection, place: PostgresPlace) -> None:
    """Make the schema, unless it is there: who may use one need not have the right to make one."""
    if not db.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", (place.schema,)).fetchone():
        db.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(place.schema)))


def _layout(db: Connection, place: PostgresPlace) -> int:
    """The layout of the web; 0 when there is nothing yet. Changes nothing: it may be anybody's schema."""
    row = db.execute(TABLES, (place.schema,)).fetchone()
    assert row is not None
    tables, webs = row
    if not tables:
        return 0
    try:
        found = db.execute("SELECT layout FROM web").fetchone() if webs else None
    except errors.UndefinedColumn:
        found = None
    if found is None:
        raise StoreCorrupt(f"{place.shown}: the schema {place.schema} holds tables that are no Gossamer web.")
    if found[0] > LAYOUT:
        raise StoreTooNew(
            f"{place.shown} was written by a newer version of Gossamer (store version {found[0]}, this one knows"
            f" {LAYOUT}): upgrade Gossamer to use it."
        )
    return int(found[0])


def _check_server(db: psycopg.Connection[tuple[object, ...]], place: PostgresPlace) -> None:
    if db.info.server_version < OLDEST_SERVER * 10_000:
        raise StoreError(f"{place.shown}: Gossamer needs PostgreSQL {OLDEST_SERVER} or newer.")
    encoding = db.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise StoreError(f"{place.shown}: the database must be made with the encoding UTF8; it is {encoding}.")
