"""Answer the questions of reports (`gossamer.store.read.questions`) with the SQL in reports.sql.

A statement writes its whole answer to a temporary table, and the reader gets it from there. So the answer shows one
moment, needs no memory, and does not keep SQLite from folding the log into the file. Texts and sources are too big to
copy, so they are read in slices from their tables.
"""

from __future__ import annotations

import secrets
from functools import cache
from typing import TYPE_CHECKING, Any

from gossamer.model import Kind, Position
from gossamer.store.read import questions

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator, Mapping

    from gossamer.store.read.questions import Question, ReportStatements
    from gossamer.store.sqlite.database import Database

ROWS_AT_ONCE = 1_000
PAGES_AT_ONCE = 200  # texts and sources
_WORDS = {"kinds": Kind, "positions": Position}


@cache
def load_statements() -> ReportStatements:
    """Read and split the file."""
    return questions.load_statements(__package__)


def ask(database: Database, question: Question, values: Mapping[str, object]) -> Iterator[tuple[Any, ...]]:
    """Stream the rows of the answer."""
    sql = load_statements().by_question[question.text]
    with database.connection() as db:
        _prepare(db)
    return _read_slices(database, sql, values) if ":slice" in sql else _read_spool(database, sql, values)


def count(database: Database, question: Question, values: Mapping[str, object]) -> int:
    """Return the number of rows of the answer."""
    statements = load_statements()
    sql = statements.counts.get(question.text) or f"SELECT count(*) FROM ({statements.by_question[question.text]})"  # noqa: S608
    with database.connection() as db:
        _prepare(db)
        return int(db.execute(sql, values).fetchone()[0])


def _prepare(db: sqlite3.Connection) -> None:
    """Create the views that questions share, once per connection."""
    if db.execute("SELECT 1 FROM temp.sqlite_schema WHERE name = 'kinds'").fetchone():
        return
    for table, words in _WORDS.items():
        db.execute(f"CREATE TEMP TABLE {table} (number INTEGER PRIMARY KEY, word TEXT NOT NULL)")
        db.executemany(f"INSERT INTO {table} VALUES (?, ?)", [(int(word), word.name.lower()) for word in words])  # noqa: S608
    db.executescript(load_statements().shared)


def _read_spool(database: Database, sql: str, values: Mapping[str, object]) -> Iterator[tuple[Any, ...]]:
    table, last = f"answer_{secrets.token_hex(8)}", 0  # several answers may be read at once
    with database.connection() as db:
        db.execute(f"CREATE TEMP TABLE {table} AS {sql}", values)
    try:
        while True:
            with database.connection() as db:
                rows = db.execute(f"SELECT rowid, * FROM {table} WHERE rowid > ? LIMIT ?", (last, ROWS_AT_ONCE))  # noqa: S608
                chunk = rows.fetchall()
            if not chunk:
                return
            yield from (row[1:] for row in chunk)
            last = chunk[-1][0]
    finally:
        if not database.is_closed:  # closing it drops the table
            with database.connection() as db:
                db.execute(f"DROP TABLE {table}")


def _read_slices(database: Database, sql: str, values: Mapping[str, object]) -> Iterator[tuple[Any, ...]]:
    last = 0
    while True:
        with database.connection() as db:
            chunk = db.execute(sql, {**values, "after": last, "slice": PAGES_AT_ONCE}).fetchall()
        if not chunk:
            return
        yield from chunk
        last = chunk[-1][0]
