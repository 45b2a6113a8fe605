"""Rows into PostgreSQL by COPY: into the tables themselves, or into temporary tables that one statement reads.

Callers give columns, because zip and join build the rows in C: 1.2 µs for a bond of nine columns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from psycopg import sql

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import psycopg

# Temporary tables of the session, empty after every commit. They have no statistics, so writing transactions forbid
# plans that scan whole tables (`BEGIN_SHARED` in database.py).
STAGES = """
    CREATE TEMP TABLE new_resources (
        id bigint, digest bytea, host bigint, state text, role text, depth integer, hops integer, asked integer,
        priority double precision, kind smallint, follow smallint, seed smallint, url text, reason text,
        discovered_at double precision, discovered_by bigint) ON COMMIT DELETE ROWS;
    CREATE TEMP TABLE improved (
        state text, role text, depth integer, hops integer, asked integer, priority double precision, tries integer,
        kind smallint, follow smallint, seed smallint, reason text, id bigint) ON COMMIT DELETE ROWS;
    CREATE TEMP TABLE visited (
        state text, outcome text, reason text, status integer, tries integer, visited_at double precision,
        visited_by bigint, dated double precision, found double precision, gap double precision, quiet double precision,
        misled integer, pace integer, priority double precision, etag text, last_modified text, bytes bigint,
        media_type text, charset text, language text, title text, description text, canonical text, noindex smallint,
        nofollow smallint, content_digest bytea, text_digest bytea, topic double precision, outlinks integer,
        changes integer, id bigint) ON COMMIT DELETE ROWS;
    CREATE TEMP TABLE readmitted (
        state text, role text, reason text, priority double precision, asked integer, id bigint)
        ON COMMIT DELETE ROWS"""

_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r", "\0": "\ufffd"})
_NULL = "\\N"


def number_column(values: Iterable[object]) -> Iterable[str]:
    """Return a column of numbers; None becomes NULL."""
    return map(_format_number, values)


def _format_number(value: object) -> str:
    return _NULL if value is None else str(value)


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
