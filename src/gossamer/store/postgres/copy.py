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
from gossamer.store.copy import FACTS, TABLES, Note, digest_of, select
from gossamer.store.postgres.database import connect, translated
from gossamer.store.postgres.location import MOST_BYTES
from gossamer.store.postgres.opening import MAKING, has_web, migrate, open_database

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gossamer.store.copy import Table
    from gossamer.store.postgres.database import Connection
    from gossamer.store.postgres.location import PostgresPlace
    from gossamer.store.rows import Row

UNFINISHED = "_copying"  # ends the name of its schema
NUL, IN_ITS_PLACE = "\0", "\ufffd"  # text in PostgreSQL cannot hold the one
NUMBERED = ("crawlers", "rounds", "history", "visits")  # tables whose ids PostgreSQL gives out
PATIENT = "SET idle_in_transaction_session_timeout = 0; SET lock_timeout = 0; SET maintenance_work_mem = '256MB'"
LOCK = "SELECT pg_try_advisory_lock(hashtext('gossamer copy'), hashtext(%s))"
NOTES = "CREATE TABLE IF NOT EXISTS copying (key TEXT PRIMARY KEY, value BYTEA NOT NULL)"
HELD = """
    SELECT count(*) FILTER (WHERE tablename = 'web'), count(*) FILTER (WHERE tablename = 'copying')
    FROM pg_tables WHERE schemaname = %s"""
# Not those of primary keys, which keep rows in order and from coming twice.
INDEXES = """
    SELECT c.relname, pg_get_indexdef(c.oid) FROM pg_class AS c
    JOIN pg_index AS i ON i.indexrelid = c.oid JOIN pg_namespace AS n ON n.oid = c.relnamespace
    WHERE n.nspname = %s AND NOT EXISTS (SELECT 1 FROM pg_constraint WHERE conindid = c.oid)"""
PUT = "INSERT INTO copying VALUES (%s, %s) ON CONFLICT (key) DO UPDATE SET value = excluded.value"
# A sequence that never gave a number says 1, too.
LAST_GIVEN = "SELECT CASE WHEN is_called THEN last_value ELSE last_value - 1 END FROM {}"
SET_LAST = "SELECT setval(%s, greatest(%s, 1), %s > 0)"
SEQUENCES = {"last_resource": "resource_ids", "last_host": "hosts_id_seq"}


def _rows(db: Connection, table: Table, columns: Sequence[str], after: tuple[Any, ...] | None) -> list[Row]:
    return db.execute(select(table, columns, after, "%s").encode(), after, binary=True).fetchall()


def _counters(db: Connection) -> dict[str, int]:
    given = {
        key: db.execute(sql.SQL(LAST_GIVEN).format(sql.Identifier(name))).fetchall()[0][0]
        for key, name in SEQUENCES.items()
    }
    return dict(db.execute("SELECT key, value FROM meta").fetchall()) | given


class PostgresSource:
    """One moment of a web in a database."""

    def __init__(self, place: PostgresPlace) -> None:
        self.shown = place.shown
        self._place = place
        open_database(place, create=False, read_only=True).close()  # says so if there is none
        with translated(place):
            self._db = connect(place)
            self._db.execute(PATIENT)
            self._db.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")

    def mark(self) -> bytes:
        """What tells this moment from every other one."""
        with translated(self._place):
            return digest_of([self._db.execute(fact).fetchall() for fact in FACTS])

    def columns(self, table: str) -> tuple[str, ...]:
        """The columns of a table."""
        with translated(self._place):
            found = self._db.execute(sql.SQL("SELECT * FROM {} LIMIT 0").format(sql.Identifier(table)))
            return tuple(column.name for column in found.description or ())

    def rows(self, table: Table, columns: Sequence[str], after: tuple[Any, ...] | None) -> list[Row]:
        """The rows behind a key."""
        with translated(self._place):
            return _rows(self._db, table, columns, after)

    def counters(self) -> dict[str, int]:
        """The web's counters."""
        with translated(self._place):
            return _counters(self._db)

    def close(self) -> None:
        """End the connection."""
        self._db.close()


class PostgresTarget:
    """A web that is being made in a database."""

    def __init__(self, place: PostgresPlace) -> None:
        self.shown = place.shown
        self._final = place
        self._place = place._replace(schema=place.schema + UNFINISHED)
        if len(self._place.schema.encode()) > MOST_BYTES:
            most = MOST_BYTES - len(UNFINISHED)
            raise UsageError(f"{place.shown}: a schema to copy to must have a name of at most {most} bytes.")
        if has_web(place):
            raise StoreError(f"There is a web at {place.shown} already: a copy needs a place of its own.")
        with translated(place):
            self._db = connect(self._place)
            try:
                self._db.execute(PATIENT)
                self._keep_others_out()
                self._make_ready()
            except BaseException:
                self._db.close()
                raise

    def _keep_others_out(self) -> None:
        if not self._db.execute(LOCK, (self._place.schema,)).fetchall()[0][0]:
            raise StoreBusy(f"Another process is copying a web to {self.shown} just now.")

    def _make_ready(self) -> None:
        """Make the schema and its notes at once, so that one without notes is known for a web of somebody's own."""
        with self._db.transaction():
            self._db.execute(MAKING, (self._place.schema,))
            ((webs, notes),) = self._db.execute(HELD, (self._place.schema,)).fetchall()
            if webs and not notes:
                raise StoreError(
                    f"A copy to {self.shown} would be made in the schema {self._place.schema}, and that holds a web of"
                    " its own: copy to another schema."
                )
            migrate(self._db, self._place)
            self._db.execute(NOTES)

    def begin(self, mark: bytes) -> bool:
        """Make ready; True: a copy of that moment was begun here before."""
        with translated(self._place):
            before = self._db.execute("SELECT value FROM copying WHERE key = 'mark'").fetchone()
            if before is not None and before[0] == mark:
                return True
            with self._db.transaction():
                self._start_anew(mark)
            return False

    def _start_anew(self, mark: bytes) -> None:
        self._db.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(sql.Identifier(self._place.schema)))
        migrate(self._db, self._place)
        self._db.execute(NOTES)
        self._db.execute(PUT, ("mark", mark))
        for name, definition in self._db.execute(INDEXES, (self._place.schema,)).fetchall():
            self._db.execute(PUT, (f"index {name}", definition.encode()))
            self._db.execute(sql.SQL("DROP INDEX {}").format(sql.Identifier(name)))

    def notes(self) -> dict[str, Note]:
        """How far each table is."""
        with translated(self._place):
            found = self._db.execute("SELECT substr(key, 7), value FROM copying WHERE key LIKE 'table %'").fetchall()
        return {name: msgspec.msgpack.decode(value, type=Note) for name, value in found}

    def storable(self, rows: list[Row]) -> list[Row]:
        """Rows without the one character that PostgreSQL cannot hold."""
        if not any(NUL in value for row in rows for value in row if type(value) is str):
            return rows
        return [
            tuple(value.replace(NUL, IN_ITS_PLACE) if isinstance(value, str) else value for value in row)
            for row in rows
        ]

    def write(self, table: Table, columns: Sequence[str], rows: list[Row], note: Note) -> None:
        """Add rows, and the note."""
        names = sql.SQL(", ").join(map(sql.Identifier, columns))
        load = sql.SQL("COPY {} ({}) FROM STDIN (FORMAT BINARY)").format(sql.Identifier(table.name), names)
        empty = sql.SQL("SELECT {} FROM {} LIMIT 0").format(names, sql.Identifier(table.name))
        with translated(self._place), self._db.transaction(), self._db.cursor() as cursor:
            types = [column.type_code for column in cursor.execute(empty).description or ()]
            with cursor.copy(load) as stream:
                stream.set_types(types)
                for row in rows:
                    stream.write_row(row)
            cursor.execute(PUT, (f"table {table.name}", msgspec.msgpack.encode(note)))

    def rows(self, table: Table, columns: Sequence[str], after: tuple[Any, ...] | None) -> list[Row]:
        """The rows behind a key, as they are stored."""
        with translated(self._place):
            return _rows(self._db, table, columns, after)

    def complete(self, counters: Mapping[str, int]) -> None:
        """Set the counters and what gives out ids, and make the indexes."""
        with translated(self._place), self._db.transaction():
            for key, value in counters.items():
                if key in SEQUENCES:
                    self._db.execute(SET_LAST, (SEQUENCES[key], value, value))
                else:
                    self._db.execute("UPDATE meta SET value = %s WHERE key = %s", (value, key))
            for table in NUMBERED:
                greatest = sql.SQL("SELECT coalesce(max(id), 0) FROM {}").format(sql.Identifier(table))
                last = self._db.execute(greatest).fetchall()[0][0]
                self._db.execute(SET_LAST, (f"{table}_id_seq", last, last))
            left = self._db.execute("SELECT key, value FROM copying WHERE key LIKE 'index %'").fetchall()
            for key, definition in left:
                self._db.execute(definition)
                self._db.execute("DELETE FROM copying WHERE key = %s", (key,))
        with translated(self._place):
            for copied in TABLES:
                self._db.execute(sql.SQL("ANALYZE {}").format(sql.Identifier(copied.name)))

    def counters(self) -> dict[str, int]:
        """The web's counters."""
        with translated(self._place):
            return _counters(self._db)

    def appear(self) -> None:
        """Take the notes away, and give the schema its name."""
        old, new = sql.Identifier(self._place.schema), sql.Identifier(self._final.schema)
        with translated(self._place), self._db.transaction():
            self._db.execute("DROP TABLE copying")
            self._db.execute(sql.SQL("DROP SCHEMA IF EXISTS {}").format(new))  # if it is there, it is empty
            self._db.execute(sql.SQL("ALTER SCHEMA {} RENAME TO {}").format(old, new))

    def close(self) -> None:
        """Let go of it."""
        self._db.close()
