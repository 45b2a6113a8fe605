"""Tables as files: CSV, JSON lines or Parquet, written in chunks, so that memory does not grow with the rows.

Text from the web is hostile. A spreadsheet takes a CSV cell that begins with `=`, `+`, `-` or `@` for a formula, and
many programs take a line for a row. So the CSV writer puts an apostrophe before such cells. It replaces control
characters by blanks and removes characters that change the writing direction. JSON lines and Parquet keep every text
unchanged.
"""

from __future__ import annotations

import csv
import io
import re
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, get_args

import msgspec

from gossamer.basics.times import accepted_time, utc_time
from gossamer.errors import UsageError
from gossamer.model import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import IO

CHUNK_ROWS = 8_192  # rows in memory at a time
CHUNKS_IN_GROUP = 16  # chunks per Parquet row group: it compresses well and can be read alone
# First characters of a formula in a spreadsheet (OWASP, CSV injection), with their full-width forms.
FORMULA_STARTS = frozenset("=+-@\uff1d\uff0b\uff0d\uff20")
SUSPECT_STARTS = FORMULA_STARTS | {" "}  # first characters of cells that `safe_cell` must check
CONTROL_CHARACTERS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
BIDI_CONTROLS = re.compile(r"[\u202a-\u202e\u2066-\u2069]+")  # they can make a cell look like another text


ColumnType = Literal["text", "integer", "number", "flag", "time"]
FIELD_TYPES: dict[type, ColumnType] = {str: "text", int: "integer", float: "number", bool: "flag"}


class Column(Value, frozen=True):
    """A column of a table and the type of its values. None is an empty cell.

    text: str; integer: int; number: float; flag: bool; time: Unix time (float), 0 is an empty cell too
    """

    name: str
    type: ColumnType = "text"


def field_columns(struct: type[Value]) -> tuple[Column, ...]:
    """Return a column for each field of a struct. A field whose name ends with `_at` is a Unix time."""
    return tuple(Column(field.name, _column_type(field)) for field in msgspec.structs.fields(struct))


def _column_type(field: msgspec.structs.FieldInfo) -> ColumnType:
    if field.name.endswith("_at"):
        return "time"
    (type_,) = {*(get_args(field.type) or (field.type,))} - {type(None)}  # `int | None` is a column of integers
    return FIELD_TYPES[type_]


class Table(Value, frozen=True, kw_only=True):
    """Columns and rows to write. Each row is a sequence in the order of the columns."""

    columns: Sequence[Column]
    rows: Iterable[Sequence[Any]]


def safe_cell(text: str) -> str:
    """Return a text as a CSV cell that is no formula and has no line breaks."""
    if not text.isprintable():
        text = BIDI_CONTROLS.sub("", CONTROL_CHARACTERS.sub(" ", text))
    first = text.lstrip()[:1]
    return f"'{text}" if first in FORMULA_STARTS else text


def format_time(
    moment: float | None, precision: Literal["milliseconds", "microseconds"] = "milliseconds"
) -> str | None:
    """Return a Unix time as `2026-11-15T06:55:11.250Z`; None if there is none, or no format can write it."""
    date = utc_time(moment)
    return None if date is None else date.isoformat(timespec=precision).replace("+00:00", "Z")


# -- formats -----------------------------------------------------------------------------------------------------------


def write_csv(table: Table, out: IO[bytes]) -> int:
    """Write a table as CSV (RFC 4180, UTF-8, with a header); return the number of rows."""
    lines = io.TextIOWrapper(out, encoding="utf-8", errors="replace", newline="", write_through=False)
    try:
        writer = csv.writer(lines)
        writer.writerow(column.name for column in table.columns)
        count = 0
        for size, columns in _chunks(table, _CSV):
            writer.writerows(zip(*columns, strict=True))
            count += size
        return count
    finally:
        lines.detach()  # flushes, and leaves the stream open


def write_jsonl(table: Table, out: IO[bytes]) -> int:
    """Write a table as JSON lines, one object with all columns per row; return the number of rows."""
    names = [column.name for column in table.columns]
    encode = msgspec.json.Encoder().encode_lines
    count = 0
    for size, columns in _chunks(table, _JSON):
        out.write(encode([dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]))
        count += size
    return count


def arrow_batches(table: Table) -> tuple[Any, Iterator[Any]]:
    """Return the schema of a table in Arrow, and its rows as batches of typed columns."""
    import pyarrow as pa  # noqa: PLC0415 - a heavy, optional dependency

    types = {
        "text": pa.string(), "integer": pa.int64(), "number": pa.float64(), "flag": pa.bool_(),
        "time": pa.timestamp("ms", tz="UTC"),
    }  # fmt: skip
    schema = pa.schema([pa.field(column.name, types[column.type]) for column in table.columns])
    batches = (
        pa.record_batch(
            [pa.array(values, type=field.type) for values, field in zip(columns, schema, strict=True)], schema
        )
        for _, columns in _chunks(table, _PARQUET)
    )
    return schema, batches


def write_parquet(table: Table, out: IO[bytes]) -> int:
    """Write a table as Parquet (zstd, typed columns); return the number of rows."""
    try:
        import pyarrow as pa  # noqa: PLC0415 - a heavy, optional dependency
        import pyarrow.parquet as pq  # noqa: PLC0415
    except ImportError as error:
        raise UsageError("Parquet needs pyarrow: pip install 'gossamer[parquet]'.") from error
    schema, batches = arrow_batches(table)
    count = 0
    with pq.ParquetWriter(out, schema, compression="zstd") as writer:
        while group := list(islice(batches, CHUNKS_IN_GROUP)):  # Arrow batches are compact
            rows = pa.Table.from_batches(group)
            writer.write_table(rows, row_group_size=len(rows))
            count += len(rows)
    return count


WRITERS: dict[str, Callable[[Table, IO[bytes]], int]] = {
    "csv": write_csv,
    "jsonl": write_jsonl,
    "parquet": write_parquet,
}

# -- values ------------------------------------------------------------------------------------------------------------

# Converters by column type; a type without a converter is written unchanged. They convert whole columns, because a
# call per cell would take most of the time.


def _csv_cells(texts: Sequence[str | None]) -> list[str | None]:
    return [
        text if text is None or (text[:1] not in SUSPECT_STARTS and text.isprintable()) else safe_cell(text)
        for text in texts
    ]


def _flag_words(flags: Sequence[bool | None]) -> list[str | None]:
    return [None if flag is None else "true" if flag else "false" for flag in flags]


def _time_texts(moments: Sequence[float | None]) -> list[str | None]:
    return [format_time(moment) for moment in moments]


def _milliseconds(moments: Sequence[float | None]) -> list[int | None]:
    return [round(moment * 1000) if moment and accepted_time(moment) else None for moment in moments]


Converters = dict[str, "Callable[[Sequence[Any]], Sequence[Any]]"]
_CSV: Converters = {"text": _csv_cells, "flag": _flag_words, "time": _time_texts}
_JSON: Converters = {"time": _time_texts}
_PARQUET: Converters = {"time": _milliseconds}


def _chunks(table: Table, converters: Converters) -> Iterator[tuple[int, list[Sequence[Any]]]]:
    """Yield chunks of rows as converted columns, each with its number of rows."""
    rows = iter(table.rows)
    while chunk := list(islice(rows, CHUNK_ROWS)):
        columns = zip(table.columns, zip(*chunk, strict=True), strict=True)
        yield (
            len(chunk),
            [converters[column.type](values) if column.type in converters else values for column, values in columns],
        )
