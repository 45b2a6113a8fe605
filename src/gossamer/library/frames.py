"""Tables as Arrow, pandas and polars. Each of these libraries is an extra, loaded when a program asks for it."""

from __future__ import annotations

import html
from itertools import islice
from typing import TYPE_CHECKING, Any

from gossamer.basics.display import escape_hidden
from gossamer.errors import UsageError
from gossamer.files.tables import Table, arrow_batches, format_time

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from gossamer.files.tables import Column

ROWS_SHOWN = 10  # of a table in a notebook
CELL_CHARACTERS = 120  # of a cell there


def to_arrow(table: Table) -> pa.Table:
    """Return a table of Arrow: texts, whole numbers, numbers, flags, and times in UTC."""
    try:
        import pyarrow as pa  # noqa: PLC0415
    except ImportError as error:
        raise _missing("pyarrow", "parquet") from error
    schema, batches = arrow_batches(table)
    return pa.Table.from_batches(batches, schema)


def to_pandas(table: Table) -> pd.DataFrame:
    """Return a data frame of pandas; an empty cell of a column of whole numbers makes it a column of numbers."""
    try:
        import pandas  # noqa: F401, ICN001, PLC0415 - `Table.to_pandas` needs it
    except ImportError as error:
        raise _missing("pandas", "pandas") from error
    return to_arrow(table).to_pandas()


def to_polars(table: Table) -> pl.DataFrame:
    """Return a data frame of polars."""
    try:
        import polars  # noqa: ICN001, PLC0415
    except ImportError as error:
        raise _missing("polars", "polars") from error
    frame = polars.from_arrow(to_arrow(table))
    assert isinstance(frame, polars.DataFrame)
    return frame


def _missing(library: str, extra: str) -> UsageError:
    return UsageError(f"This needs {library}: pip install 'gossamer[{extra}]'.")


def to_html(table: Table) -> str:
    """Return the first rows of a table for a notebook. Every text comes from the web, so all of it is escaped."""
    rows = list(islice(table.rows, ROWS_SHOWN + 1))
    used = [i for i in range(len(table.columns)) if any(row[i] not in {None, "", 0} for row in rows)]
    head = "".join(f"<th>{_escape(table.columns[i].name)}</th>" for i in used)
    body = "".join(f"<tr>{_html_cells(table.columns, row, used)}</tr>" for row in rows[:ROWS_SHOWN])
    more = f"<p>The first {ROWS_SHOWN} rows.</p>" if len(rows) > ROWS_SHOWN else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _html_cells(columns: Sequence[Column], row: Sequence[Any], used: Sequence[int]) -> str:
    return "".join(f"<td>{_escape(_cell_text(columns[i], row[i]))}</td>" for i in used)


def _cell_text(column: Column, value: object) -> str:
    if value is None:
        return ""
    if column.type == "time" and isinstance(value, float):
        return format_time(value) or ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _escape(text: str) -> str:
    return html.escape(escape_hidden(text if len(text) <= CELL_CHARACTERS else text[: CELL_CHARACTERS - 1] + "…"))
