"""Rows into PostgreSQL by COPY: into the tables themselves, or into temporary tables that one statement reads.

Callers give columns, because zip and join build the rows in C: 1.2 µs for a bond of nine columns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from psycopg import sql

from gossamer.store import columns
from gossamer.store.postgres.columns import POSTGRES_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import psycopg

# Temporary tables of the session, empty after every commit. They have no statistics, so writing transactions forbid
# plans that scan whole tables (`BEGIN_SHARED` in database.py).
NEW_RESOURCES = (
    "id", "digest", "host", "state", "role", "depth", "hops", "asked", "priority", "kind", "follow", "seed", "url",
    "reason", "discovered_at", "discovered_by",
)  # fmt: skip
IMPROVED = (
    "state", "role", "depth", "hops", "asked", "priority", "tries", "kind", "follow", "seed", "reason", "id",
)  # fmt: skip
VISITED = (*columns.OUTCOME, *columns.REVISIT, *columns.RESPONSE, *columns.CONTENT, "priority", "changes", "id")
READMITTED = ("state", "role", "reason", "priority", "asked", "id")
STAGES = "".join(
    f"CREATE TEMP TABLE {table} ({POSTGRES_COLUMNS.stage(names)}) ON COMMIT DELETE ROWS;"
    for table, names in (
        ("new_resources", NEW_RESOURCES), ("improved", IMPROVED), ("visited", VISITED), ("readmitted", READMITTED),
    )
)  # fmt: skip

_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r", "\0": "\ufffd"})
_NULL = "\\N"


def number_column(values: Iterable[object]) -> Iterable[str]:
    """Return a column of numbers; None becomes NULL."""
    return map(_format_number, values)


def _format_number(value: object) -> str:
    return _NULL if value is None else str(value)


def flag_column(values: Iterable[int | None]) -> Iterable[str]:
    """Return a column of small numbers or bools; None becomes NULL."""
    return (_NULL if value is None else str(int(value)) for value in values)


def int_column(values: Iterable[int]) -> Iterable[str]:
    """Return a column of integers without None."""
    return map(str, values)


def text_column(values: Sequence[str]) -> Sequence[str]:
    """Return a column of texts. U+FFFD replaces NUL, which PostgreSQL cannot store; HTML parsers do the same."""
    joined = "".join(values)
    if any(map(joined.__contains__, "\\\t\n\r\0")):
        return [value.translate(_ESCAPES) for value in values]
    return values


def bytes_column(values: Iterable[bytes | None]) -> Iterable[str]:
    """Return a column of short byte strings; None becomes NULL."""
    return (_NULL if value is None else f"\\\\x{value.hex()}" for value in values)


def optional_text_column(values: Sequence[str | None]) -> Sequence[str]:
    """Return a column of texts; None becomes NULL."""
    return [_NULL if value is None else value.translate(_ESCAPES) for value in values]


# How a column of `resources` is written, by its type in `columns.py`; other types are numbers.
COLUMN_ENCODERS: Mapping[str, Callable[[Any], Iterable[str]]] = {
    "text": optional_text_column, "bytes": bytes_column, "small": flag_column,
}  # fmt: skip


def copy_rows(db: psycopg.Connection[Any], table: str, names: Sequence[str], columns: Sequence[Iterable[str]]) -> None:
    """Add rows, given as columns, to a table."""
    lines = "\n".join(map("\t".join, zip(*columns, strict=True)))
    if not lines:
        return
    statement = sql.SQL("COPY {} ({}) FROM STDIN").format(
        sql.Identifier(table), sql.SQL(", ").join(map(sql.Identifier, names))
    )
    with db.cursor() as cursor, cursor.copy(statement) as stream:
        stream.write(f"{lines}\n")


def copy_bodies(db: psycopg.Connection[Any], table: str, bodies: Sequence[tuple[int, bytes]]) -> None:
    """Add (resource, body) rows to a table, in binary form."""
    if not bodies:
        return
    statement = sql.SQL("COPY {} (resource, body) FROM STDIN (FORMAT BINARY)").format(sql.Identifier(table))
    with db.cursor() as cursor, cursor.copy(statement) as stream:
        stream.set_types(["int8", "bytea"])
        for body in bodies:
            stream.write_row(body)
