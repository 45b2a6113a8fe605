"""Tables too long or too wide for a terminal: a pager (`$PAGER`, or less), and `--wide`."""

from __future__ import annotations

import io
import os
import shlex
import shutil
import subprocess
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import click

from gossamer.cli.output import is_terminal, print_note

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gossamer.cli.output import TableNotes

# Of less, unless LESS is set: quit if all fits, show styles, leave the text on the screen, do not wrap long lines.
LESS_FLAGS = "FRXS"

pager_option = click.option("--pager/--no-pager", default=True, help="Show long tables in a pager ($PAGER).  [default]")
wide_option = click.option("--wide", is_flag=True, help="Show all columns and values whole, in long lines.")


def print_table_notes(notes: TableNotes) -> None:
    """Print how to see what a table leaves out."""
    if notes.left_out:
        print_note(f"No room for {', '.join(notes.left_out)}: --wide shows all columns.")
    if notes.has_cut:
        print_note("Values with … are cut: --wide shows them whole.")


class _Screen(io.StringIO):
    """Output that is collected for a terminal."""

    def isatty(self) -> bool:
        return True


@contextmanager
def page_output(*, wanted: bool) -> Iterator[None]:
    """Collect what the block prints on stdout; show it in the pager if it is longer than the terminal."""
    terminal = sys.stdout
    if not wanted or not is_terminal(terminal) or not (command := _pager_command()):
        yield
        return
    screen = _Screen()
    sys.stdout = screen
    try:
        yield
    finally:
        sys.stdout = terminal
        text = screen.getvalue()
        # The shell needs a line for its prompt.
        if text.count("\n") < shutil.get_terminal_size().lines - 1 or not _show(command, text):
            terminal.write(text)
            terminal.flush()


def _pager_command() -> list[str]:
    """Return the pager as arguments; empty for none."""
    given = os.environ.get("PAGER")
    command = shlex.split("less" if given is None else given)
    return command if command and command != ["cat"] and shutil.which(command[0]) else []


def _show(command: list[str], text: str) -> bool:
    """Show a text in the pager until the reader leaves it; return False if the pager does not start."""
    environment = {"LESS": LESS_FLAGS, **os.environ}
    try:
        pager = subprocess.Popen(command, stdin=subprocess.PIPE, env=environment)  # noqa: S603 - the user's own pager
    except OSError:
        return False
    while True:
        with suppress(KeyboardInterrupt):  # less handles Ctrl-C itself
            pager.communicate(text.encode("utf-8", "backslashreplace"))
            return True
