"""The database below a store, for tests of what only one back-end has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gossamer.store.sqlite.database import Database as SqliteDatabase

if TYPE_CHECKING:
    import sqlite3

    from gossamer.store.postgres.database import Database as PostgresDatabase
    from gossamer.store.sql_store import SqlStore


def sqlite_database(store: SqlStore) -> SqliteDatabase:
    database = store._database
    assert isinstance(database, SqliteDatabase)
    return database


def postgres_database(store: SqlStore) -> PostgresDatabase:
    from gossamer.store.postgres.database import Database

    database = store._database
    assert isinstance(database, Database)
    return database


def undo_version_4(db: sqlite3.Connection) -> None:
    """Make the tables of version 3 from those of version 4."""
    for index in ("resources_rendered", "resources_unrendered"):
        db.execute(f"DROP INDEX IF EXISTS {index}")
    for column in ("script_sign", "rendered"):
        db.execute(f"ALTER TABLE resources DROP COLUMN {column}")
    for table in ("renderings", "shapes"):
        db.execute(f"DROP TABLE {table}")


def undo_version_3(db: sqlite3.Connection) -> None:
    """Make the tables of version 2 from those of the newest version."""
    undo_version_4(db)
    db.execute("ALTER TABLE hosts DROP COLUMN round_sitemaps")
    db.execute("DROP INDEX IF EXISTS resources_cut")
    db.execute("ALTER TABLE resources DROP COLUMN cut")
