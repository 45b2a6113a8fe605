"""The command `copy`: a web to another directory or database."""

from __future__ import annotations

import shlex
import time
from typing import TYPE_CHECKING

import click

from gossamer.basics.display import format_duration, pluralize
from gossamer.cli.help import HelpCommand
from gossamer.cli.options import check_location, json_option
from gossamer.cli.output import ProgressLine, json_text, print_line, print_message

if TYPE_CHECKING:
    from gossamer.store.copy import CopyResult


# `check_location` keeps the passwords in the URLs: FROM and TO may have different ones.
@click.command(cls=HelpCommand)
@click.argument("from_", metavar="FROM", callback=check_location)
@click.argument("to", metavar="TO", callback=check_location)
@json_option
def copy(from_: str, to: str, as_json: bool) -> None:
    """Copy a web to a directory or database that holds none yet.

    FROM and TO are directories or PostgreSQL URLs (postgresql://host/database?schema=NAME). The copy has all rows of
    the store, with the same DocIDs and WordIDs. It has no index and no graph: run `gossamer index` and `gossamer rank`
    there.

    Crawlers may be at work on FROM; the copy has the state at its start. To resume an interrupted copy, run the same
    command again; if FROM has changed, the copy starts over. At the end, the command reads all of TO again and compares
    counts and digests. Only then TO is a web that opens.

    \b
    JSON: {"from", "to", "resumed", "rows", "tables": {NAME: {"rows", "digest"}}, "seconds"}
    """
    from gossamer.wiring import copy_web

    started, progress_line = time.monotonic(), ProgressLine()
    done = copy_web(from_, to, progress_line.update)
    progress_line.close()
    seconds = time.monotonic() - started
    if as_json:
        print_line(
            json_text({"from": done.origin, "to": done.destination, **_json_fields(done), "seconds": round(seconds, 3)})
        )
    resumed_note = ", resuming an earlier copy" if done.resumed else ""
    print_message(f"Copied {done.origin} to {done.destination} in {format_duration(seconds)}{resumed_note}.")
    print_message(
        f"Read again and compared: {pluralize(done.rows, 'row')} of {len(done.tables)} tables; "
        "counts and digests agree."
    )
    print_message(f"The copy has no index; build it with: gossamer index --store {shlex.quote(done.destination)}")


def _json_fields(done: CopyResult) -> dict[str, object]:
    tables = {name: {"rows": note.rows, "digest": note.digest.hex()} for name, note in done.tables.items()}
    return {"resumed": done.resumed, "rows": done.rows, "tables": tables}
