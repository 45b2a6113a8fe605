"""The rows of a report as a table for a terminal: short paths, and no column that repeats another.

A pipe gets every column with whole values instead.
"""

from __future__ import annotations

import shutil
import sys
import textwrap
from typing import TYPE_CHECKING

from gossamer.basics.display import common_site, escape_hidden, format_time
from gossamer.cli.output import DIM, TerminalColumn, is_terminal, print_heading, print_line, with_style, write_table
from gossamer.cli.pager import print_table_notes

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from gossamer.graph.reports.base import Report, ReportRow

URL_COLUMNS = frozenset(
    {"url", "source", "target", "final", "canonical", "next", "sitemap", "same_as", "other", "similar_to",
     "linked from"}
)  # fmt: skip
URL_LIST_COLUMNS = frozenset({"chain", "named"})  # several URLs in one text
# Left out on a narrow terminal, first to last.
DROPPED_FIRST = (
    "weight", "title_before", "bytes_before", "visited_before", "status_before", "rel", "media_type", "kind", "bytes",
    "position", "follow", "visited_at", "depth", "state", "final_outcome", "chain", "parts", "title", "description",
    "links_out", "nofollow", "external",
)  # fmt: skip
MIN_CONSTANT_ROWS = 3  # in a shorter table a column with one value stays, because it takes no more room than its note
MAX_FACT_LENGTH = 60  # characters of a value that is named above the table
INFO = "info"  # the severity of an overview, whose rows are no findings
Table = tuple[list[str], list[list[str]]]  # names of columns, and cells


def write_report_table(each: Report, rows: Iterable[ReportRow], *, wide: bool = False) -> None:
    """Write the rows of a report to stdout."""
    from gossamer.graph.reports.base import column_type

    kinds = [column_type(name) for name in each.columns]
    texts = ([_cell_text(kind, value) for kind, value in zip(kinds, row, strict=True)] for row in rows)
    if not is_terminal(sys.stdout):
        write_table([TerminalColumn(name.replace("_", " ")) for name in each.columns], texts)
        return
    table = (list(each.columns), list(texts))
    if not wide:
        table = _with_common_facts(with_short_paths(_without_repeats(table)))
    names, cells = table
    columns = [_column(name, kinds[each.columns.index(name)]) for name in names]
    print_table_notes(write_table(columns, cells, wide=wide))


def _column(name: str, kind: str) -> TerminalColumn:
    return TerminalColumn(
        name.replace("_", " "),
        align="right" if kind in {"integer", "number"} else "left",
        cut="middle" if name in URL_COLUMNS else "end" if kind == "text" else "never",
        drop=len(DROPPED_FIRST) - DROPPED_FIRST.index(name) if name in DROPPED_FIRST else 0,
    )


def _cell_text(kind: str, value: object) -> str:
    if value is None:
        return ""
    if kind == "time":
        return format_time(float(str(value)))
    if kind == "flag":
        return "yes" if value else "no"
    return str(value)


# -- for terminals -----------------------------------------------------------------------------------------------------


def _without_repeats(table: Table) -> Table:
    """Leave out status and outcome where the reason says the same: "404", "not found", "404 Not Found"."""
    names, cells = table
    if not {"status", "outcome", "reason"} <= set(names):
        return table
    status, outcome, reason = (names.index(name) for name in ("status", "outcome", "reason"))
    for row in cells:
        row[reason] = row[reason] or f"{row[status]} {row[outcome]}".removeprefix("0 ")
        if row[status] not in {"", "0"} and row[status] not in row[reason]:
            row[reason] = f"{row[status]} {row[reason]}"
    return _without_columns(table, {"status", "outcome"})


def write_url_table(
    columns: Sequence[TerminalColumn],
    rows: Iterable[Sequence[object]],
    *,
    wide: bool,
    url_columns: Collection[str] = URL_COLUMNS,
) -> None:
    """Write a table; on a terminal with short paths and notes about what it cuts, unless `wide` shows all."""
    cells = [[str(value) for value in row] for row in rows]
    if is_terminal(sys.stdout) and not wide:
        with_short_paths(([column.title for column in columns], cells), url_columns)
    print_table_notes(write_table(columns, cells, wide=wide))


def with_short_paths(table: Table, url_columns: Collection[str] = URL_COLUMNS) -> Table:
    """Write URLs of the most frequent site as paths, and name the site above the table."""
    names, cells = table
    columns = [i for i, name in enumerate(names) if name in url_columns]
    site = common_site(row[i] for row in cells for i in columns)
    if not site:
        return table
    print_line(with_style(escape_hidden(f"Paths are on {site}"), DIM, sys.stdout))
    for row in cells:
        for i in columns:
            if row[i].startswith(f"{site}/"):
                row[i] = row[i].removeprefix(site)
        for i, name in enumerate(names):
            if name in URL_LIST_COLUMNS:
                row[i] = row[i].replace(f"{site}/", "/")
    return table


def _with_common_facts(table: Table) -> Table:
    """Print facts that all rows share once, above the table."""
    names, cells = table
    if len(cells) < MIN_CONSTANT_ROWS:
        return table
    common = {
        name: cells[0][i]
        for i, name in enumerate(names)
        if len({row[i] for row in cells}) == 1 and 0 < len(cells[0][i]) <= MAX_FACT_LENGTH
    }
    if not common or len(common) == len(names):
        return table
    facts = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in common.items())
    for line in textwrap.wrap(escape_hidden(f"In all rows: {facts}"), shutil.get_terminal_size().columns):
        print_line(with_style(line, DIM, sys.stdout))
    return _without_columns(table, set(common))


def _without_columns(table: Table, left_out: set[str]) -> Table:
    names, cells = table
    kept: Sequence[int] = [i for i, name in enumerate(names) if name not in left_out]
    return [names[i] for i in kept], [[row[i] for i in kept] for row in cells]


def print_wrapped_heading(text: str) -> None:
    """Print a line above a table, in as many lines as the terminal needs."""
    for line in textwrap.wrap(text, shutil.get_terminal_size().columns):
        print_heading(line)


def number_found(each: Report, total: int, shown: int, *, at_least: bool = False) -> str:
    """Return the size of a report in words: "427 found, 6 shown"."""
    noun = "found" if each.severity != INFO else "row" if total == 1 else "rows"
    found = f"{'at least ' if at_least else ''}{total:,} {noun}"
    return f"{found}, {shown:,} shown" if shown < total else found
