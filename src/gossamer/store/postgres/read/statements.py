"""SQL statements that people type, on PostgreSQL, as a role that can only read.

The server of a web connects as a user who may write, so a statement never runs on that connection. It runs as a role of
its own (`GOSSAMER_SQL_URL`), which this module inspects first: a role that can write anywhere, read the server's files
or become such a role is refused. The statement is the query of a cursor in a read-only transaction, so it cannot end
its transaction. It may lift the time limit of its session (`set_config`), so each fetch sets that again. At the
deadline a second connection cancels what still runs.
"""

from __future__ import annotations

import math
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg import errors

from gossamer.errors import UsageError
from gossamer.store.postgres.database import connect, translate_errors
from gossamer.store.read.statements import (
    ONLY_READS,
    StatementAnswer,
    StatementRefused,
    TableColumns,
    collect_answer,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from psycopg import ServerCursor

    from gossamer.store.postgres.database import Connection
    from gossamer.store.postgres.location import PostgresLocation
    from gossamer.store.read.statements import StatementLimits

FETCHED_ROWS = 200  # from the server at a time; wide rows of one fetch stay below the memory of the process
SELECT_COLUMNS = """
    SELECT table_name, column_name, data_type FROM information_schema.columns
    WHERE table_schema = %s ORDER BY table_name, ordinal_position"""
# Each line is a right that a role for statements must not have, with a row if it has it.
SELECT_DANGERS = """
    SELECT 'is ' || word FROM pg_roles, LATERAL (VALUES
        (rolsuper, 'a superuser'), (rolcreaterole, 'allowed to create roles'),
        (rolcreatedb, 'allowed to create databases'), (rolreplication, 'allowed to replicate'),
        (rolbypassrls, 'allowed to pass row security')) AS rights (has, word)
    WHERE rolname = session_user AND has
    UNION ALL
    SELECT 'is a member of ' || rolname FROM pg_roles
    WHERE rolname NOT IN (session_user, 'pg_read_all_data') AND pg_has_role(session_user, oid, 'MEMBER')
        AND (rolname LIKE 'pg~_%' ESCAPE '~' OR rolsuper OR rolcreaterole)
    UNION ALL
    SELECT 'can write to ' || n.nspname || '.' || c.relname
    FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname <> 'information_schema'
        AND n.nspname NOT LIKE 'pg~_%' ESCAPE '~'
        AND (has_table_privilege(session_user, c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE, TRIGGER')
            OR has_any_column_privilege(session_user, c.oid, 'INSERT, UPDATE')
            OR pg_has_role(session_user, c.relowner, 'MEMBER'))
    UNION ALL
    SELECT 'can create tables in ' || nspname FROM pg_namespace
    WHERE nspname NOT LIKE 'pg~_%' ESCAPE '~' AND has_schema_privilege(session_user, oid, 'CREATE')
    UNION ALL
    SELECT 'can create schemas' WHERE has_database_privilege(session_user, current_database(), 'CREATE')
    LIMIT 1"""


def run_statement(role: PostgresLocation, statement: str, limits: StatementLimits) -> StatementAnswer:
    """Run one reading statement as a role. Raises `StatementRefused` if it has a fault or exceeds a limit."""
    with translate_errors(role), connect(role) as db, _explained(limits):
        require_reading_role(db, role)
        started = time.perf_counter()
        with _cancelled_after(limits.seconds, db):
            db.execute("BEGIN READ ONLY")
            _limit_time(db, started + limits.seconds)
            with db.cursor(name="statement") as cursor:  # DECLARE: only statements that read can have a cursor
                cursor.execute(statement.encode())  # bytes: the type of a text that no program wrote
                columns = tuple(column.name for column in cursor.description or ())
                return collect_answer(columns, _fetch_rows(db, cursor, started + limits.seconds), limits, started)


def _fetch_rows(db: Connection, cursor: ServerCursor[Any], deadline: float) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a cursor; every fetch has only the time that is left."""
    while True:
        _limit_time(db, deadline)
        rows = cursor.fetchmany(FETCHED_ROWS)
        yield from rows
        if len(rows) < FETCHED_ROWS:
            return


def _limit_time(db: Connection, deadline: float) -> None:
    """Limit the next command to the time until a deadline of `time.perf_counter`."""
    left = math.ceil((deadline - time.perf_counter()) * 1000)
    if left <= 0:
        raise errors.QueryCanceled
    db.execute(f"SET statement_timeout = {left:d}".encode())


@contextmanager
def _cancelled_after(seconds: float, db: Connection) -> Iterator[None]:
    """Cancel what runs on a connection after some seconds, however the statement changed its own limits."""
    timer = threading.Timer(seconds, db.cancel_safe)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def list_tables(role: PostgresLocation) -> list[TableColumns]:
    """Return the tables and views of the web's schema that a role can read, with their columns."""
    tables: dict[str, list[tuple[str, str]]] = {}
    with translate_errors(role), connect(role) as db:
        require_reading_role(db, role)
        for table, column, kind in db.execute(SELECT_COLUMNS, (role.schema,)):
            tables.setdefault(table, []).append((column, kind))
    return [TableColumns(name=name, columns=columns) for name, columns in tables.items()]


def require_reading_role(db: Connection, role: PostgresLocation) -> None:
    """Raise `UsageError` if a role can do more than read."""
    danger = db.execute(SELECT_DANGERS.encode()).fetchone()
    if danger is not None:
        raise UsageError(
            f"The role of GOSSAMER_SQL_URL ({role.display_name}) {danger[0]}: name a role that can only read."
        )


@contextmanager
def _explained(limits: StatementLimits) -> Iterator[None]:
    """Turn faults of the statement into sentences; `translate_errors` has the faults of the server."""
    try:
        yield
    except errors.QueryCanceled as error:
        raise StatementRefused(f"This statement takes longer than {limits.seconds:g} s: ask for less.") from error
    except errors.ReadOnlySqlTransaction as error:
        raise StatementRefused(ONLY_READS) from error
    except (errors.SyntaxError, errors.InsufficientPrivilege) as error:
        raise StatementRefused(f"{_first_line(error)} {ONLY_READS}") from error
    except MemoryError as error:
        raise StatementRefused("This statement needs too much memory: ask for fewer or smaller values.") from error
    except (psycopg.DataError, psycopg.ProgrammingError, psycopg.NotSupportedError) as error:
        raise StatementRefused(_first_line(error)) from error


def _first_line(error: Exception) -> str:
    return f"PostgreSQL: {str(error).strip().partition(chr(10))[0]}."
