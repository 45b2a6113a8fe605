"""What the commands print: text from the web made harmless, tables, JSON, amounts and times.

Everything that comes from the web goes through `printable` (for people) or `json_text` (for programs): a title may hold
escape sequences that rewrite the terminal, or direction marks that make a URL read as another one.

Tables are laid out here and not by rich, whose import takes 0.13 s: too much for commands that shall answer in 0.2 s.
"""

from __future__ import annotations

import functools
import json
import os
import shutil
import sys
from typing import TYPE_CHECKING, Any, Literal, TextIO

import msgspec

from gossamer.basics import display

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

escape_hidden, escape_hidden_lines = display.escape_hidden, display.escape_hidden_lines
pluralize, format_bytes, format_duration, format_age, format_time = (
    display.pluralize,
    display.format_bytes,
    display.format_duration,
    display.format_age,
    display.format_time,
)

ELLIPSIS = "…"
COLUMN_GAP = "  "
MIN_COLUMN_WIDTH = 12  # a column is not made narrower than this (cells)

BOLD = "1"
DIM = "2"
RED = "31"
YELLOW = "33"


def json_text(value: object, *, indent: int | None = None) -> str:
    """A value as JSON that can be shown on a terminal as it is."""
    text = json.dumps(msgspec.to_builtins(value), ensure_ascii=False, indent=indent, allow_nan=False)
    return display.HIDDEN_IN_JSON.sub(lambda match: _json_escape(match[0]), text)


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
    """Whether people look at this stream, on something that can move its cursor."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def with_style(text: str, code: str, stream: TextIO) -> str:
    """A text in bold, dim or a colour where the stream shows that (https://no-color.org)."""
    return f"\x1b[{code}m{text}\x1b[0m" if is_terminal(stream) and not os.environ.get("NO_COLOR") else text


def print_message(text: str) -> None:
    """A message for people: one line on stderr."""
    sys.stderr.write(escape_hidden(text) + "\n")
    sys.stderr.flush()


def print_line(text: str = "") -> None:
    """A line of an answer, on stdout; the caller made it printable."""
    sys.stdout.write(text + "\n")


def print_heading(text: str) -> None:
    """A line above a part of an answer."""
    print_line(with_style(text, BOLD, sys.stdout))


# -- tables ------------------------------------------------------------------------------------------------------------


class TerminalColumn(msgspec.Struct, frozen=True):
    """A column of a table. `cut`: where a value loses characters when the terminal is too narrow."""

    title: str
    align: Literal["left", "right"] = "left"
    cut: Literal["never", "end", "middle"] = "never"


def row_limit(limit: int | None, terminal_limit: int) -> int | None:
    """How many rows to show; None: all."""
    if limit is None:
        return terminal_limit if is_terminal(sys.stdout) else None
    return limit or None


def write_table(columns: Sequence[TerminalColumn], rows: Iterable[Sequence[object]]) -> None:
    """A table on stdout: aligned on a terminal; elsewhere whole values between tabs, for other programs."""
    cells = ([escape_hidden(str(value)) for value in row] for row in rows)
    titles = [column.title for column in columns]
    if not is_terminal(sys.stdout):
        sys.stdout.writelines("\t".join(row) + "\n" for row in (titles, *cells))
        return
    body_rows = list(cells)
    shown_columns = [
        i for i in range(len(columns)) if not body_rows or any(row[i] for row in body_rows)
    ]  # an empty column tells nothing
    table = [[row[i] for i in shown_columns] for row in (titles, *body_rows)]
    head, *body = align_rows([columns[i] for i in shown_columns], table, shutil.get_terminal_size().columns)
    print_line(with_style(head, BOLD, sys.stdout))
    sys.stdout.writelines(line + "\n" for line in body)


def align_rows(columns: Sequence[TerminalColumn], rows: Sequence[Sequence[str]], width: int) -> list[str]:
    """The rows as lines of at most `width` cells, if the columns that may be cut allow it."""
    widths = [max(cell_width(row[i]) for row in rows) for i in range(len(columns))]
    room = width - len(COLUMN_GAP) * (len(columns) - 1)
    cuttable = [i for i, column in enumerate(columns) if column.cut != "never"]
    share = room - sum(size for i, size in enumerate(widths) if i not in cuttable)
    for i, size in zip(cuttable, fair_widths([widths[i] for i in cuttable], share), strict=True):
        widths[i] = size
    return [
        COLUMN_GAP.join(
            _cell(column, text, size) for column, text, size in zip(columns, row, widths, strict=True)
        ).rstrip()
        for row in rows
    ]


def fair_widths(wanted: Sequence[int], room: int) -> list[int]:
    """Widths for columns that want more than the room: narrow ones get what they want, the others share the rest."""
    widths = list(wanted)
    for rank, i in enumerate(sorted(range(len(wanted)), key=wanted.__getitem__)):
        widths[i] = min(wanted[i], max(room // (len(wanted) - rank), MIN_COLUMN_WIDTH))
        room -= widths[i]
    return widths


def _cell(column: TerminalColumn, text: str, width: int) -> str:
    text = shorten(text, width, column.cut) if column.cut != "never" else text
    padding = " " * (width - cell_width(text))
    return padding + text if column.align == "right" else text + padding


def shorten(text: str, width: int, where: Literal["end", "middle"] = "end") -> str:
    """A text of at most `width` cells. URLs lose their middle: host and file name tell most."""
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
    """Cells a text takes on a terminal: two for a wide character, none for a combining one."""
    return len(text) if text.isascii() else _cell_len()(text)


@functools.cache
def _cell_len() -> Any:
    from rich.cells import cell_len  # only where there is something beyond ASCII

    return cell_len
