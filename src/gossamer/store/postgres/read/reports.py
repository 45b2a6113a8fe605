"""Answers to the questions of reports (`gossamer.store.read.questions`); their SQL is in reports.sql.

An answer is worked out at once and kept by the server (`spool`): it is of one moment. Only texts and sources, which
would be copied as a whole, are read in slices from where they are.
"""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

from gossamer.model import Kind, Position
from gossamer.store.postgres.read.resources import fetch_rows
from gossamer.store.postgres.read.spool import spool_rows
from gossamer.store.read.questions import parse_statements
from gossamer.store.rows import read_chunks

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from enum import IntEnum

    from gossamer.store.postgres.database import Database
    from gossamer.store.read.questions import Question
    from gossamer.store.rows import Row

ROWS_AT_ONCE = 1_000
PAGES_AT_ONCE = 200  # texts and sources


@cache
def load_statements() -> Mapping[str, str]:
    """The statement for each question, behind what they share."""
    shared, questions = parse_statements(resources.files(__package__).joinpath("reports.sql").read_text("utf-8"))
    head = f"WITH RECURSIVE {_words('kinds', Kind)}, {_words('positions', Position)},\n{shared.strip()}\n"
    # A question with a list of its own goes on with the one that is there.
    return {text: head + (f", {sql[5:]}" if sql.startswith("WITH ") else sql) for text, sql in questions.items()}


def _words(name: str, words: type[IntEnum]) -> str:
    values = ", ".join(f"({int(word)}, '{word.name.lower()}')" for word in words)
    return f"{name} (number, word) AS (VALUES {values})"


def ask(database: Database, question: Question, values: Mapping[str, object]) -> Iterator[Row]:
    """The rows of the answer."""
    sql = load_statements()[question.text]
    return _read_slices(database, sql, values) if "%(slice)s" in sql else _read_spool(database, sql, values)


def _read_spool(database: Database, sql: str, values: Mapping[str, object]) -> Iterator[Row]:
    for chunk in spool_rows(database, sql, values, ROWS_AT_ONCE):
        yield from chunk


def _read_slices(database: Database, sql: str, values: Mapping[str, object]) -> Iterator[Row]:
    def read(cursor: Row, max_rows: int) -> list[Row]:
        return fetch_rows(database, sql, {**values, "after": cursor[0], "slice": max_rows})

    for chunk in read_chunks(read, (0,), PAGES_AT_ONCE):
        yield from chunk
