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

printable, printable_lines = display.escape_hidden, display.escape_hidden_lines
many, human_bytes, human_duration, ago, at = (
    display.pluralize,
    display.format_bytes,
    display.format_duration,
    display.format_age,
    display.format_time,
)

ELLIPSIS = "…"
GAP = "  "
LEAST_WIDTH = 12  # a column is not made narrower than this (cells)

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


def json_rows(head: str, rows: Iterable[object], out: TextIO) -> None:
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


def styled(text: str, code: str, stream: TextIO) -> str:
    """A text in bold, dim or a colour where the stream shows that (https://no-color.org)."""
    return f"\x1b[{code}m{text}\x1b[0m" if is_terminal(stream) and not os.environ.get("NO_COLOR") else text


def say(text: str) -> None:
    """A message for people: one line on stderr."""
    sys.stderr.write(printable(text) + "\n")
    sys.stderr.flush()


def show(text: str = "") -> None:
    """A line of an answer, on stdout; the caller made it printable."""
    sys.stdout.write(text + "\n")


def heading(text: str) -> None:
    """A line above a part of an answer."""
    show(styled(text, BOLD, sys.stdout))


# -- tables ------------------------------------------------------------------------------------------------------------


class Column(msgspec.Struct, frozen=True):
    """A column of a table. `cut`: where a value loses characters when the terminal is too narrow."""

    title: str
    align: Literal["left", "right"] = "left"
    cut: Literal["never", "end", "middle"] = "never"


def rows_wanted(limit: int | None, on_a_terminal: int) -> int | None:
    """How many rows to show; None: all."""
    if limit is None:
        return on_a_terminal if is_terminal(sys.stdout) else None
    return limit or None


def write_table(columns: Sequence[Column], rows: Iterable[Sequence[object]]) -> None:
    """A table on stdout: aligned on a terminal; elsewhere whole values between tabs, for other programs."""
    cells = ([printable(str(value)) for value in row] for row in rows)
    titles = [column.title for column in columns]
    if not is_terminal(sys.stdout):
        sys.stdout.writelines("\t".join(row) + "\n" for row in (titles, *cells))
        return
    found = list(cells)
    told = [
        i for i in range(len(columns)) if not found or any(row[i] for row in found)
    ]  # an empty column tells nothing
    table = [[row[i] for i in told] for row in (titles, *found)]
    head, *body = aligned([columns[i] for i in told], table, shutil.get_terminal_size().columns)
    show(styled(head, BOLD, sys.stdout))
    sys.stdout.writelines(line + "\n" for line in body)


def aligned(columns: Sequence[Column], rows: Sequence[Sequence[str]], width: int) -> list[str]:
    """The rows as lines of at most `width` cells, if the columns that may be cut allow it."""
    widths = [max(cells_of(row[i]) for row in rows) for i in range(len(columns))]
    room = width - len(GAP) * (len(columns) - 1)
    cuttable = [i for i, column in enumerate(columns) if column.cut != "never"]
    share = room - sum(size for i, size in enumerate(widths) if i not in cuttable)
    for i, size in zip(cuttable, fair_widths([widths[i] for i in cuttable], share), strict=True):
        widths[i] = size
    return [
        GAP.join(_cell(column, text, size) for column, text, size in zip(columns, row, widths, strict=True)).rstrip()
        for row in rows
    ]


def fair_widths(wanted: Sequence[int], room: int) -> list[int]:
    """Widths for columns that want more than the room: narrow ones get what they want, the others share the rest."""
    given = list(wanted)
    for rank, i in enumerate(sorted(range(len(wanted)), key=wanted.__getitem__)):
        given[i] = min(wanted[i], max(room // (len(wanted) - rank), LEAST_WIDTH))
        room -= given[i]
    return given


def _cell(column: Column, text: str, width: int) -> str:
    text = shortened(text, width, column.cut) if column.cut != "never" else text
    padding = " " * (width - cells_of(text))
    return padding + text if column.align == "right" else text + padding


def shortened(text: str, width: int, where: Literal["end", "middle"] = "end") -> str:
    """A text of at most `width` cells. URLs lose their middle: host and file name tell most."""
    if cells_of(text) <= width:
        return text
    tail_width = (width - 1) // 2 if where == "middle" else 0
    tail = _leading(text[::-1], tail_width)[::-1]
    return _leading(text, width - 1 - cells_of(tail)) + ELLIPSIS + tail


def _leading(text: str, width: int) -> str:
    used = 0
    for i, character in enumerate(text):
        used += cells_of(character)
        if used > width:
            return text[:i]
    return text


def cells_of(text: str) -> int:
    """Cells a text takes on a terminal: two for a wide character, none for a combining one."""
    return len(text) if text.isascii() else _cell_len()(text)


@functools.cache
def _cell_len() -> Any:
    from rich.cells import cell_len  # only where there is something beyond ASCII

    return cell_len
