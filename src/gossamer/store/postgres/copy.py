"""A web in a database as one end of a copy (`gossamer.store.copy`).

An unfinished copy is a schema of its own, named after the one that it will become. It holds one table more, of notes:
how far each table is, which moment of which web it is a copy of, and the indexes to be made in the end, for a table is
filled faster without.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from psycopg import sql

from gossamer.errors import StoreBusy, StoreError, UsageError
from gossamer.store.copy import FINGERPRINT_QUERIES, TABLES, TableProgress, compute_fingerprint, next_rows_sql
from gossamer.store.postgres.database import connect, translate_errors
from gossamer.store.postgres.location import MAX_SCHEMA_BYTES
from gossamer.store.postgres.opening import LOCK_SCHEMA, has_web, migrate, open_database

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gossamer.store.copy import CopyTable
    from gossamer.store.postgres.database import Connection
    from gossamer.store.postgres.location import PostgresLocation
    from gossamer.store.rows import Row

UNFINISHED = "_copying"  # ends the name of its schema
NUL, NUL_REPLACEMENT = "\0", "\ufffd"  # text in PostgreSQL cannot hold the one
TABLES_WITH_SEQUENCE = ("crawlers", "rounds", "history", "visits")  # tables whose ids PostgreSQL gives out
LONG_SESSION = "SET idle_in_transaction_session_timeout = 0; SET lock_timeout = 0; SET maintenance_work_mem = '256MB'"
TRY_LOCK = "SELECT pg_try_advisory_lock(hashtext('gossamer copy'), hashtext(%s))"
NOTES = "CREATE TABLE IF NOT EXISTS copying (key TEXT PRIMARY KEY, value BYTEA NOT NULL)"
COUNT_TABLES = """
    SELECT count(*) FILTER (WHERE tablename = 'web'), count(*) FILTER (WHERE tablename = 'copying')
    FROM pg_tables WHERE schemaname = %s"""
# Not those of primary keys, which keep rows in order and from coming twice.
INDEXES = """
    SELECT c.relname, pg_get_indexdef(c.oid) FROM pg_class AS c
    JOIN pg_index AS i ON i.indexrelid = c.oid JOIN pg_namespace AS n ON n.oid = c.relnamespace
    WHERE n.nspname = %s AND NOT EXISTS (SELECT 1 FROM pg_constraint WHERE conindid = c.oid)"""
PUT = "INSERT INTO copying VALUES (%s, %s) ON CONFLICT (key) DO UPDATE SET value = excluded.value"
# A sequence that never gave a number says 1, too.
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
    """One moment of a web in a database."""

    def __init__(self, location: PostgresLocation) -> None:
        self.display_name = location.display_name
        self._location = location
        open_database(location, create=False, read_only=True).close()  # says so if there is none
        with translate_errors(location):
            self._db = connect(location)
            self._db.execute(LONG_SESSION)
            self._db.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")

    def fingerprint(self) -> bytes:
        """What tells this moment from every other one."""
        with translate_errors(self._location):
            return compute_fingerprint([self._db.execute(fact).fetchall() for fact in FINGERPRINT_QUERIES])

    def columns(self, table: str) -> tuple[str, ...]:
        """The columns of a table."""
        with translate_errors(self._location):
            cursor = self._db.execute(sql.SQL("SELECT * FROM {} LIMIT 0").format(sql.Identifier(table)))
            return tuple(column.name for column in cursor.description or ())

    def rows(self, table: CopyTable, columns: Sequence[str], after: tuple[Any, ...] | None) -> list[Row]:
        """The rows behind a key."""
        with translate_errors(self._location):
            return _rows(self._db, table, columns, after)

    def counters(self) -> dict[str, int]:
        """The web's counters."""
        with translate_errors(self._location):
            return _counters(self._db)

    def close(self) -> None:
        """End the connection."""
        self._db.close()


class PostgresTarget:
    """A web that is being made in a database."""

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
            raise StoreError(f"There is a web at {location.display_name} already: a copy needs a place of its own.")
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
            raise StoreBusy(f"Another process is copying a web to {self.display_name} just now.")

    def _create_schema(self) -> None:
        """Make the schema and its notes at once, so that one without notes is known for a web of somebody's own."""
        with self._db.transaction():
            self._db.execute(LOCK_SCHEMA, (self._location.schema,))
            ((webs, notes),) = self._db.execute(COUNT_TABLES, (self._location.schema,)).fetchall()
            if webs and not notes:
                raise StoreError(
                    f"A copy to {self.display_name} would be made in the schema {self._location.schema}, and that holds a web of"
                    " its own: copy to another schema."
                )
            migrate(self._db, self._location)
            self._db.execute(NOTES)

    def begin(self, fingerprint: bytes) -> bool:
        """Make ready; True: a copy of that moment was begun here before."""
        with translate_errors(self._location):
            before = self._db.execute("SELECT value FROM copying WHERE key = 'mark'").fetchone()
            if before is not None and before[0] == fingerprint:
                return True
            with self._db.transaction():
                self._restart(fingerprint)
            return False

    def _restart(self, fingerprint: bytes) -> None:
        self._db.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(sql.Identifier(self._location.schema)))
        migrate(self._db, self._location)
        self._db.execute(NOTES)
        self._db.execute(PUT, ("mark", fingerprint))
        for name, definition in self._db.execute(INDEXES, (self._location.schema,)).fetchall():
            self._db.execute(PUT, (f"index {name}", definition.encode()))
            self._db.execute(sql.SQL("DROP INDEX {}").format(sql.Identifier(name)))

    def table_progress(self) -> dict[str, TableProgress]:
        """How far each table is."""
        with translate_errors(self._location):
            rows = self._db.execute("SELECT substr(key, 7), value FROM copying WHERE key LIKE 'table %'").fetchall()
        return {name: msgspec.msgpack.decode(value, type=TableProgress) for name, value in rows}

    def convert_rows(self, rows: list[Row]) -> list[Row]:
        """Rows without the one character that PostgreSQL cannot hold."""
        if not any(NUL in value for row in rows for value in row if type(value) is str):
            return rows
        return [
            tuple(value.replace(NUL, NUL_REPLACEMENT) if isinstance(value, str) else value for value in row)
            for row in rows
        ]

    def write(self, table: CopyTable, columns: Sequence[str], rows: list[Row], progress: TableProgress) -> None:
        """Add rows, and the note."""
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
        """The rows behind a key, as they are stored."""
        with translate_errors(self._location):
            return _rows(self._db, table, columns, after)

    def complete(self, counters: Mapping[str, int]) -> None:
        """Set the counters and what gives out ids, and make the indexes."""
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
        """The web's counters."""
        with translate_errors(self._location):
            return _counters(self._db)

    def publish(self) -> None:
        """Take the notes away, and give the schema its name."""
        old, new = sql.Identifier(self._location.schema), sql.Identifier(self._final_location.schema)
        with translate_errors(self._location), self._db.transaction():
            self._db.execute("DROP TABLE copying")
            self._db.execute(sql.SQL("DROP SCHEMA IF EXISTS {}").format(new))  # if it is there, it is empty
            self._db.execute(sql.SQL("ALTER SCHEMA {} RENAME TO {}").format(old, new))

    def close(self) -> None:
        """Let go of it."""
        self._db.close()
