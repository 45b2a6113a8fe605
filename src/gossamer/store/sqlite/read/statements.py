"""SQL statements that people type, on web.db.

Four walls keep a statement from changing or taking anything. The file is open for reading. An authorizer refuses every
action except reading: no ATTACH, no PRAGMA that sets something, no extension. A progress handler ends it at its
deadline. SQLite's heap has a hard limit, which holds for the whole process, so the caller is a process of its own.
"""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from gossamer.basics.sqlite_files import open_sqlite_reader
from gossamer.store.read.statements import (
    MAX_ANSWER_BYTES,
    ONLY_READS,
    StatementAnswer,
    StatementRefused,
    TableColumns,
    collect_answer,
)
from gossamer.store.sqlite.database import FILE, translate_errors

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from gossamer.store.read.statements import StatementLimits

BUSY_SECONDS = 5.0
STEPS = 10_000  # of SQLite's machine between two looks at the clock; about a millisecond
READING_ACTIONS = frozenset(
    {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
)
# Functions that load code, or that change how SQLite calls it.
REFUSED_FUNCTIONS = frozenset({"load_extension", "fts3_tokenizer"})
READING_PRAGMAS = frozenset({"table_info", "table_xinfo", "table_list", "index_list", "index_info", "index_xinfo"})
SELECT_COLUMNS = """
    SELECT t.name, c.name, c.type FROM sqlite_schema AS t, pragma_table_info(t.name) AS c
    WHERE t.type IN ('table', 'view') AND t.name NOT LIKE 'sqlite~_%' ESCAPE '~' ORDER BY t.name, c.cid"""


def run_statement(directory: Path, statement: str, limits: StatementLimits) -> StatementAnswer:
    """Run one reading statement. Raises `StatementRefused` if it has a fault or exceeds a limit."""
    started = time.perf_counter()
    with translate_errors(directory), _open(directory, limits) as db, _explained(limits):
        cursor = db.execute(statement)
        if cursor.description is None:
            raise StatementRefused(ONLY_READS)
        columns = tuple(column[0] for column in cursor.description)
        return collect_answer(columns, cursor, limits, started)


def list_tables(directory: Path) -> list[TableColumns]:
    """Return the tables and views with their columns."""
    tables: dict[str, list[tuple[str, str]]] = {}
    with translate_errors(directory), closing(open_sqlite_reader(directory / FILE, BUSY_SECONDS)) as db:
        for table, column, kind in db.execute(SELECT_COLUMNS):
            tables.setdefault(table, []).append((column, kind.lower()))
    return [TableColumns(name=name, columns=columns) for name, columns in tables.items()]


@contextmanager
def _open(directory: Path, limits: StatementLimits) -> Iterator[sqlite3.Connection]:
    with closing(open_sqlite_reader(directory / FILE, BUSY_SECONDS)) as db:
        db.execute("PRAGMA query_only = on")
        db.execute("PRAGMA temp_store = memory")  # so that the limit of the heap holds for sorted rows too
        db.execute(f"PRAGMA hard_heap_limit = {limits.heap_mib << 20:d}")
        db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_ANSWER_BYTES)
        db.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        deadline = time.monotonic() + limits.seconds
        db.set_progress_handler(lambda: time.monotonic() > deadline, STEPS)
        db.set_authorizer(_authorize)
        yield db


def _authorize(action: int, first: str | None, second: str | None, _database: str | None, _trigger: str | None) -> int:
    is_reading = action in READING_ACTIONS and (second or "").lower() not in REFUSED_FUNCTIONS
    # A pragma with an argument names a table here; the table-valued functions `pragma_table_info` ... come as one too.
    is_reading_pragma = action == sqlite3.SQLITE_PRAGMA and (first or "").lower() in READING_PRAGMAS
    return sqlite3.SQLITE_OK if is_reading or is_reading_pragma else sqlite3.SQLITE_DENY


@contextmanager
def _explained(limits: StatementLimits) -> Iterator[None]:
    """Turn faults of the statement into sentences; `translate_errors` has the faults of the file."""
    try:
        yield
    except sqlite3.ProgrammingError as error:  # several statements, or missing parameters
        raise StatementRefused(f"{str(error).rstrip('.')}.") from error
    except (sqlite3.DataError, MemoryError) as error:
        raise StatementRefused("This statement needs too much memory: ask for fewer or smaller values.") from error
    except sqlite3.DatabaseError as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code == sqlite3.SQLITE_INTERRUPT:
            raise StatementRefused(
                f"This statement takes longer than {limits.seconds:g} s: ask for less, or run it with `sqlite3"
                " -readonly` on web.db."
            ) from error
        if code == sqlite3.SQLITE_AUTH:
            raise StatementRefused(f"{ONLY_READS} ({error})") from error
        if code == sqlite3.SQLITE_NOMEM:
            raise StatementRefused("This statement needs too much memory: ask for fewer or smaller values.") from error
        if code in {sqlite3.SQLITE_ERROR, sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_RANGE}:
            raise StatementRefused(f"SQLite: {error}.") from error
        raise
