"""A web in a database as source or target of a copy (`gossamer.store.copy`).

An unfinished copy is a schema of its own, named after the schema that it will become. Its additional table `copying`
holds notes: the progress of each table, the fingerprint of the source, and the definitions of dropped indexes. Tables
fill faster without indexes; `complete` creates them again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from psycopg import sql

from gossamer.errors import StoreBusy, StoreError, UsageError
from gossamer.store.copy import FINGERPRINT_QUERIES, TABLES, TableProgress, compute_fingerprint, next_rows_sql
from gossamer.store.postgres.database import connect, translate_errors
from gossamer.store.postgres.location import MAX_SCHEMA_BYTES
from gossamer.store.postgres.opening import LOCK_SCHEMA, current_schema, has_web, migrate, open_database

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gossamer.store.copy import CopyTable
    from gossamer.store.postgres.database import Connection
    from gossamer.store.postgres.location import PostgresLocation
    from gossamer.store.rows import Row

UNFINISHED = "_copying"  # suffix of the schema of an unfinished copy
NUL, NUL_REPLACEMENT = "\0", "\ufffd"  # PostgreSQL text cannot contain NUL
TABLES_WITH_SEQUENCE = ("crawlers", "rounds", "history", "visits")  # tables whose ids come from a sequence
# A copy may hold its snapshot for hours, and indexes are built faster with more memory.
LONG_SESSION = "SET idle_in_transaction_session_timeout = 0; SET lock_timeout = 0; SET maintenance_work_mem = '256MB'"
TRY_LOCK = "SELECT pg_try_advisory_lock(hashtext('gossamer copy'), hashtext(%s))"
NOTES = "CREATE TABLE IF NOT EXISTS copying (key TEXT PRIMARY KEY, value BYTEA NOT NULL)"
COUNT_TABLES = """
    SELECT count(*) FILTER (WHERE tablename = 'web'), count(*) FILTER (WHERE tablename = 'copying')
    FROM pg_tables WHERE schemaname = %s"""
# All indexes but those of primary keys, which keep rows in order and unique.
INDEXES = """
    SELECT c.relname, pg_get_indexdef(c.oid) FROM pg_class AS c
    JOIN pg_index AS i ON i.indexrelid = c.oid JOIN pg_namespace AS n ON n.oid = c.relnamespace
    WHERE n.nspname = %s AND NOT EXISTS (SELECT 1 FROM pg_constraint WHERE conindid = c.oid)"""
PUT = "INSERT INTO copying VALUES (%s, %s) ON CONFLICT (key) DO UPDATE SET value = excluded.value"
# `is_called` tells a sequence that gave out 1 from an unused one: `last_value` is 1 in both.
LAST_SEQUENCE_VALUE = "SELECT CASE WHEN is_called THEN last_value ELSE last_value - 1 END FROM {}"
SET_LAST = "SELECT setval(%s, greatest(%s, 1), %s > 0)"
SEQUENCES = {"last_resource": "resource_ids", "last_host": "hosts_id_seq"}


def _rows(db: Connection, table: CopyTable, columns: Sequence[str], after: tuple[Any, ...] | None) -> list[Row]:
    return db.execute(next_rows_sql(table, columns, after, "%s").encode(), after, binary=True).fetchall()


def _counters(db: Connection) -> dict[str, int]:
    sequence_values = {
        key: db.execute(sql.SQL(LAST_SEQUENCE_VALUE).format(sql.Identifier(name))).fetchall()[0][0]
        for key, name in SEQUENCES.items()
    }
    return dict(db.execute("SELECT key, value FROM meta").fetchall()) | sequence_values


class PostgresSource:
    """A snapshot of a web in a database."""

    def __init__(self, location: PostgresLocation) -> None:
        self.display_name = location.display_name
        self._location = location
        open_database(location, create=False, read_only=True).close()  # raises an error if there is no web
        with translate_errors(location):
            self._db = connect(location)
            self._db.execute(LONG_SESSION)
            self._db.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")

    def fingerprint(self) -> bytes:
        """Return a digest that differs between any two states of the web."""
        with translate_errors(self._location):
            return compute_fingerprint([self._db.execute(fact).fetchall() for fact in FINGERPRINT_QUERIES])

    def columns(self, table: str) -> tuple[str, ...]:
        """Return the columns of a table."""
        with translate_errors(self._location):
            cursor = self._db.execute(sql.SQL("SELECT * FROM {} LIMIT 0").format(sql.Identifier(table)))
            return tuple(column.name for column in cursor.description or ())

    def rows(self, table: CopyTable, columns: Sequence[str], after: tuple[Any, ...] | None) -> list[Row]:
        """Return the next rows after a key."""
        with translate_errors(self._location):
            return _rows(self._db, table, columns, after)

    def counters(self) -> dict[str, int]:
        """Return the web's counters and the last ids given out."""
        with translate_errors(self._location):
            return _counters(self._db)

    def close(self) -> None:
        """Close the connection, and with it the snapshot."""
        self._db.close()


class PostgresTarget:
    """An unfinished copy in a database; readers see it only after `publish`."""

    def __init__(self, location: PostgresLocation) -> None:
        self.display_name = location.display_name
        self._final_location = location
        self._location = location._replace(schema=location.schema + UNFINISHED)
        if len(self._location.schema.encode()) > MAX_SCHEMA_BYTES:
            max_bytes = MAX_SCHEMA_BYTES - len(UNFINISHED)
            raise UsageError(
                f"{location.display_name}: a schema to copy to must have a name of at most {max_bytes} bytes."
            )
        if has_web(location):
            raise StoreError(
                f"There is a web at {location.display_name} already: copy to another schema with ?schema=NAME."
            )
        with translate_errors(location):
            self._db = connect(self._location)
            try:
                self._db.execute(LONG_SESSION)
                self._take_lock()
                self._create_schema()
            except BaseException:
                self._db.close()
                raise

    def _take_lock(self) -> None:
        if not self._db.execute(TRY_LOCK, (self._location.schema,)).fetchall()[0][0]:
            raise StoreBusy(f"Another process is copying a web to {self.display_name}: wait until it is done.")

    def _create_schema(self) -> None:
        """Create the schema and its notes in one transaction: a schema without notes belongs to another web."""
        with self._db.transaction():
            self._db.execute(LOCK_SCHEMA, (self._location.schema,))
            ((webs, notes),) = self._db.execute(COUNT_TABLES, (self._location.schema,)).fetchall()
            if webs and not notes:
                raise StoreError(
                    f"A copy to {self.display_name} is made in the schema {self._location.schema} first, and that"
                    " holds a web of its own: copy to another schema."
                )
            migrate(self._db, self._location, current_schema())
            self._db.execute(NOTES)

    def begin(self, fingerprint: bytes) -> bool:
        """Prepare; return True to resume a copy of that moment in the schema of this version."""
        fingerprint = b"%d %b" % (current_schema().version, fingerprint)
        with translate_errors(self._location):
            before = self._db.execute("SELECT value FROM copying WHERE key = 'mark'").fetchone()
            if before is not None and before[0] == fingerprint:
                return True
            with self._db.transaction():
                self._restart(fingerprint)
            return False

    def _restart(self, fingerprint: bytes) -> None:
        self._db.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(sql.Identifier(self._location.schema)))
        migrate(self._db, self._location, current_schema())
        self._db.execute(NOTES)
        self._db.execute(PUT, ("mark", fingerprint))
        for name, definition in self._db.execute(INDEXES, (self._location.schema,)).fetchall():
            self._db.execute(PUT, (f"index {name}", definition.encode()))
            self._db.execute(sql.SQL("DROP INDEX {}").format(sql.Identifier(name)))

    def table_progress(self) -> dict[str, TableProgress]:
        """Return the progress of each table."""
        with translate_errors(self._location):
            rows = self._db.execute("SELECT substr(key, 7), value FROM copying WHERE key LIKE 'table %'").fetchall()
        return {name: msgspec.msgpack.decode(value, type=TableProgress) for name, value in rows}

    def convert_rows(self, rows: list[Row]) -> list[Row]:
        """Return rows with U+FFFD instead of NUL, which PostgreSQL cannot store."""
        if not any(NUL in value for row in rows for value in row if type(value) is str):
            return rows
        return [
            tuple(value.replace(NUL, NUL_REPLACEMENT) if isinstance(value, str) else value for value in row)
            for row in rows
        ]

    def write(self, table: CopyTable, columns: Sequence[str], rows: list[Row], progress: TableProgress) -> None:
        """Add rows and the progress in one transaction."""
        names = sql.SQL(", ").join(map(sql.Identifier, columns))
        load = sql.SQL("COPY {} ({}) FROM STDIN (FORMAT BINARY)").format(sql.Identifier(table.name), names)
        empty = sql.SQL("SELECT {} FROM {} LIMIT 0").format(names, sql.Identifier(table.name))
        with translate_errors(self._location), self._db.transaction(), self._db.cursor() as cursor:
            types = [column.type_code for column in cursor.execute(empty).description or ()]
            with cursor.copy(load) as stream:
                stream.set_types(types)
                for row in rows:
                    stream.write_row(row)
            cursor.execute(PUT, (f"table {table.name}", msgspec.msgpack.encode(progress)))

    def rows(self, table: CopyTable, columns: Sequence[str], after: tuple[Any, ...] | None) -> list[Row]:
        """Return the next stored rows after a key."""
        with translate_errors(self._location):
            return _rows(self._db, table, columns, after)

    def complete(self, counters: Mapping[str, int]) -> None:
        """Set the counters and the sequences of ids, and create the indexes."""
        with translate_errors(self._location), self._db.transaction():
            for key, value in counters.items():
                if key in SEQUENCES:
                    self._db.execute(SET_LAST, (SEQUENCES[key], value, value))
                else:
                    self._db.execute("UPDATE meta SET value = %s WHERE key = %s", (value, key))
            for table in TABLES_WITH_SEQUENCE:
                greatest = sql.SQL("SELECT coalesce(max(id), 0) FROM {}").format(sql.Identifier(table))
                last = self._db.execute(greatest).fetchall()[0][0]
                self._db.execute(SET_LAST, (f"{table}_id_seq", last, last))
            missing_indexes = self._db.execute("SELECT key, value FROM copying WHERE key LIKE 'index %'").fetchall()
            for key, definition in missing_indexes:
                self._db.execute(definition)
                self._db.execute("DELETE FROM copying WHERE key = %s", (key,))
        with translate_errors(self._location):
            for copied in TABLES:
                self._db.execute(sql.SQL("ANALYZE {}").format(sql.Identifier(copied.name)))

    def counters(self) -> dict[str, int]:
        """Return the web's counters and the last ids given out."""
        with translate_errors(self._location):
            return _counters(self._db)

    def publish(self) -> None:
        """Drop the notes and give the schema its final name."""
        old, new = sql.Identifier(self._location.schema), sql.Identifier(self._final_location.schema)
        with translate_errors(self._location), self._db.transaction():
            self._db.execute("DROP TABLE copying")
            self._db.execute(
                sql.SQL("DROP SCHEMA IF EXISTS {}").format(new)
            )  # an existing one is empty: `has_web` checked
            self._db.execute(sql.SQL("ALTER SCHEMA {} RENAME TO {}").format(old, new))

    def close(self) -> None:
        """Close the connection; the next copy resumes an unfinished one."""
        self._db.close()
