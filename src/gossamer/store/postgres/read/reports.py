"""Answers to the questions of reports (`gossamer.store.read.questions`); their SQL is in reports.sql.

The server computes an answer at once and keeps it (`spool`), so all its rows show the same moment. Texts and sources
are too big to keep twice: they are read in slices from their tables.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from gossamer.model import Kind, Position
from gossamer.store.postgres.read.resources import fetch_rows
from gossamer.store.postgres.read.spool import spool_rows
from gossamer.store.read import questions
from gossamer.store.rows import read_chunks

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from enum import IntEnum

    from gossamer.store.postgres.database import Database
    from gossamer.store.read.questions import Question, ReportStatements
    from gossamer.store.rows import Row

ROWS_AT_ONCE = 1_000
PAGES_AT_ONCE = 200  # texts or sources per slice; few, because a row carries a whole body


@cache
def load_statements() -> ReportStatements:
    """Return all statements, each after the WITH list that all share."""
    loaded = questions.load_statements(__package__)
    head = f"WITH RECURSIVE {_words('kinds', Kind)}, {_words('positions', Position)},\n{loaded.shared.strip()}\n"

    def with_head(statements: Mapping[str, str]) -> dict[str, str]:
        # A statement with a WITH list of its own continues the shared one.
        return {text: head + (f", {sql[5:]}" if sql.startswith("WITH ") else sql) for text, sql in statements.items()}

    return loaded._replace(by_question=with_head(loaded.by_question), counts=with_head(loaded.counts))


def _words(name: str, words: type[IntEnum]) -> str:
    values = ", ".join(f"({int(word)}, '{word.name.lower()}')" for word in words)
    return f"{name} (number, word) AS (VALUES {values})"


def ask(database: Database, question: Question, values: Mapping[str, object]) -> Iterator[Row]:
    """Yield the rows of the answer."""
    sql = load_statements().by_question[question.text]
    return _read_slices(database, sql, values) if "%(slice)s" in sql else _read_spool(database, sql, values)


def count(database: Database, question: Question, values: Mapping[str, object]) -> int:
    """Return the number of rows of the answer."""
    statements = load_statements()
    whole = statements.by_question[question.text]
    sql = statements.counts.get(question.text) or f"SELECT count(*) FROM ({whole}) AS answer"  # noqa: S608
    return int(fetch_rows(database, sql, values)[0][0])


def _read_spool(database: Database, sql: str, values: Mapping[str, object]) -> Iterator[Row]:
    for chunk in spool_rows(database, sql, values, ROWS_AT_ONCE):
        yield from chunk


def _read_slices(database: Database, sql: str, values: Mapping[str, object]) -> Iterator[Row]:
    def read(cursor: Row, max_rows: int) -> list[Row]:
        return fetch_rows(database, sql, {**values, "after": cursor[0], "slice": max_rows})

    for chunk in read_chunks(read, (0,), PAGES_AT_ONCE):
        yield from chunk
