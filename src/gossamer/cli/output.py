"""Output of the commands: tables, JSON, messages, and the progress line of long commands.

A title from the web may hold escape sequences that rewrite the terminal, or direction marks that disguise a URL.
Every text from the web therefore goes through `escape_hidden` (for people) or `json_text` (for programs).

This module lays out tables itself: importing rich takes 0.13 s, and the first output must come within 0.2 s.
"""

from __future__ import annotations

import functools
import json
import os
import shutil
import sys
import textwrap
import time
from typing import TYPE_CHECKING, Any, Literal, TextIO

import msgspec

from gossamer.basics.display import HIDDEN_IN_JSON, escape_hidden
from gossamer.kernels import is_mismatch, why_not

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

ELLIPSIS = "…"
COLUMN_GAP = "  "
MIN_COLUMN_WIDTH = 12  # cells; a narrower column shows too little of a URL or title

BOLD = "1"
DIM = "2"
RED = "31"
YELLOW = "33"


def json_text(value: object, *, indent: int | None = None) -> str:
    """Return a value as JSON in which hidden characters are escaped, safe to show on a terminal."""
    text = json.dumps(msgspec.to_builtins(value), ensure_ascii=False, indent=indent, allow_nan=False)
    return HIDDEN_IN_JSON.sub(lambda match: _json_escape(match[0]), text)


def _json_escape(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))


def write_json_rows(head: str, rows: Iterable[object], out: TextIO) -> None:
    """Write `{"head": [...]}` row by row, so that a million rows need no memory."""
    out.write(f'{{"{head}": [')
    separator = "\n"
    for row in rows:
        out.write(separator + json_text(row))
        separator = ",\n"
    out.write("\n]}\n")


# -- terminals ---------------------------------------------------------------------------------------------------------


def is_terminal(stream: TextIO) -> bool:
    """Return whether a stream is a terminal that can move its cursor."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def with_style(text: str, code: str, stream: TextIO) -> str:
    """Return a text in bold, dim or a colour if the stream shows styles and NO_COLOR is unset (no-color.org)."""
    return f"\x1b[{code}m{text}\x1b[0m" if is_terminal(stream) and not os.environ.get("NO_COLOR") else text


def print_message(text: str) -> None:
    """Print a message for people: one line on stderr."""
    sys.stderr.write(escape_hidden(text) + "\n")
    sys.stderr.flush()


def print_kernel_mismatch() -> None:
    """Print a message if the installed native kernels are of another version, so that Python does their work."""
    if is_mismatch:
        print_message(f"The native kernels are not used: {why_not}.")


def print_note(text: str) -> None:
    """Print a line about a table: dim below it on a terminal, so that a pager shows it too; else on stderr."""
    if is_terminal(sys.stdout):
        for line in textwrap.wrap(escape_hidden(text), shutil.get_terminal_size().columns):
            print_line(with_style(line, DIM, sys.stdout))
    else:
        print_message(text)


def print_line(text: str = "") -> None:
    """Print a line of the answer on stdout; the caller has escaped it."""
    sys.stdout.write(text + "\n")


def print_heading(text: str) -> None:
    """Print a line above a part of the answer, in bold."""
    print_line(with_style(text, BOLD, sys.stdout))


class ProgressLine:
    """Show how far a long command is, on stderr: a line in place on a terminal, a line every 5 seconds elsewhere."""

    def __init__(self) -> None:
        self._live = is_terminal(sys.stderr)
        self._interval = 0.1 if self._live else 5.0  # seconds
        self._next_at = time.monotonic() + self._interval

    def update(self, text: str) -> None:
        """Show a text if the last one was long enough ago; call as often as you like."""
        if time.monotonic() < self._next_at:
            return
        self._next_at = time.monotonic() + self._interval
        sys.stderr.write(f"\r{shorten(escape_hidden(text), 79)}\x1b[K" if self._live else f"{escape_hidden(text)}\n")
        sys.stderr.flush()

    def close(self) -> None:
        """Remove the line from the terminal."""
        if self._live:
            sys.stderr.write("\r\x1b[K")


# -- tables ------------------------------------------------------------------------------------------------------------


class TerminalColumn(msgspec.Struct, frozen=True):
    """A column of a table; `cut` says where a value loses characters on a narrow terminal."""

    title: str
    align: Literal["left", "right"] = "left"
    cut: Literal["never", "end", "middle"] = "never"
    room: int = 20  # cells that it needs, where it is cut; columns with `drop` make room for it
    drop: int = 0  # on a narrow terminal the columns with the highest numbers are left out first; 0: never


class TableNotes(msgspec.Struct, frozen=True, kw_only=True):
    """What a table on a terminal does not show."""

    left_out: list[str] = []  # titles of columns without room
    has_cut: bool = False  # whether a value lost characters


def row_limit(limit: int | None, terminal_limit: int) -> int | None:
    """Return how many rows to show, None for all: by default `terminal_limit` on a terminal, all in a pipe."""
    if limit is None:
        return terminal_limit if is_terminal(sys.stdout) else None
    return limit or None


def write_table(
    columns: Sequence[TerminalColumn],
    rows: Iterable[Sequence[object]],
    *,
    wide: bool = False,
    row_styles: Sequence[str] = (),
) -> TableNotes:
    """Write a table to stdout: aligned on a terminal, elsewhere whole values separated by tabs.

    `wide` shows every column and value whole, in lines as long as they need. A row style is that of `with_style`.
    """
    cells = ([escape_hidden(str(value)) for value in row] for row in rows)
    titles = [column.title for column in columns]
    if not is_terminal(sys.stdout):
        sys.stdout.writelines("\t".join(row) + "\n" for row in (titles, *cells))
        return TableNotes()
    body_rows = list(cells)
    # Leave out columns without a value.
    filled = [i for i in range(len(columns)) if not body_rows or any(row[i] for row in body_rows)]
    widths = [max(cell_width(row[i]) for row in (titles, *body_rows)) for i in range(len(columns))]
    width = sum(widths) + len(COLUMN_GAP) * len(columns) if wide else shutil.get_terminal_size().columns
    shown = fitting_columns(columns, widths, filled, width)
    table = [[row[i] for i in shown] for row in (titles, *body_rows)]
    head, *body = align_rows([columns[i] for i in shown], table, width)
    print_line(with_style(head, BOLD, sys.stdout))
    styles = row_styles or [""] * len(body)
    sys.stdout.writelines(
        (with_style(line, style, sys.stdout) if style else line) + "\n"
        for line, style in zip(body, styles, strict=True)
    )
    needed = sum(widths[i] for i in shown) + len(COLUMN_GAP) * (len(shown) - 1)
    return TableNotes(left_out=[columns[i].title for i in filled if i not in shown], has_cut=needed > width)


def fitting_columns(
    columns: Sequence[TerminalColumn], widths: Sequence[int], filled: Sequence[int], width: int
) -> list[int]:
    """Return the columns that fit into `width` cells; `TerminalColumn.drop` says which ones go first."""
    shown = list(filled)

    def needed_width() -> int:
        sizes = (widths[i] if columns[i].cut == "never" else min(widths[i], columns[i].room) for i in shown)
        return sum(sizes) + len(COLUMN_GAP) * (len(shown) - 1)

    while needed_width() > width and (droppable := [i for i in shown if columns[i].drop]):
        shown.remove(max(droppable, key=lambda i: (columns[i].drop, i)))
    return shown


def align_rows(columns: Sequence[TerminalColumn], rows: Sequence[Sequence[str]], width: int) -> list[str]:
    """Return the rows as lines of at most `width` cells, as far as the columns may be cut."""
    widths = [max(cell_width(row[i]) for row in rows) for i in range(len(columns))]
    available = width - len(COLUMN_GAP) * (len(columns) - 1)
    cuttable = [i for i, column in enumerate(columns) if column.cut != "never"]
    share = available - sum(size for i, size in enumerate(widths) if i not in cuttable)
    for i, size in zip(cuttable, fair_widths([widths[i] for i in cuttable], share), strict=True):
        widths[i] = size
    return [
        COLUMN_GAP.join(
            _cell(column, text, size) for column, text, size in zip(columns, row, widths, strict=True)
        ).rstrip()
        for row in rows
    ]


def fair_widths(wanted: Sequence[int], available: int) -> list[int]:
    """Return column widths that fit: narrow columns get their full width, the others share the rest."""
    widths = list(wanted)
    for rank, i in enumerate(sorted(range(len(wanted)), key=wanted.__getitem__)):
        widths[i] = min(wanted[i], max(available // (len(wanted) - rank), MIN_COLUMN_WIDTH))
        available -= widths[i]
    return widths


def _cell(column: TerminalColumn, text: str, width: int) -> str:
    text = shorten(text, width, column.cut) if column.cut != "never" else text
    padding = " " * (width - cell_width(text))
    return padding + text if column.align == "right" else text + padding


def shorten(text: str, width: int, where: Literal["end", "middle"] = "end") -> str:
    """Cut a text to at most `width` cells. Cut URLs in the middle: host and file name matter most."""
    if cell_width(text) <= width:
        return text
    tail_width = (width - 1) // 2 if where == "middle" else 0
    tail = _take_cells(text[::-1], tail_width)[::-1]
    return _take_cells(text, width - 1 - cell_width(tail)) + ELLIPSIS + tail


def _take_cells(text: str, width: int) -> str:
    used = 0
    for i, character in enumerate(text):
        used += cell_width(character)
        if used > width:
            return text[:i]
    return text


def cell_width(text: str) -> int:
    """Return the cells of a text on a terminal: two for a wide character, none for a combining one."""
    return len(text) if text.isascii() else _cell_len()(text)


@functools.cache
def _cell_len() -> Any:
    from rich.cells import cell_len  # imported only for text beyond ASCII

    return cell_len
