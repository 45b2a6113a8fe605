"""The command `copy`: a web from one place to another, between directories and databases."""

from __future__ import annotations

import shlex
import time
from typing import TYPE_CHECKING

import click

from gossamer.cli.options import check_location, json_option
from gossamer.cli.output import format_duration, json_text, pluralize, print_line, print_message
from gossamer.cli.progress import ProgressLine

if TYPE_CHECKING:
    from gossamer.store.copy import CopyResult


@click.command()
@click.argument("from_", metavar="FROM", callback=check_location)  # passwords stay in: there may be two
@click.argument("to", metavar="TO", callback=check_location)
@json_option
def copy(from_: str, to: str, as_json: bool) -> None:
    """Copy a web to another place, where there is none yet.

    FROM and TO are directories or PostgreSQL URLs (postgresql://host/database?schema=NAME). All that the store knows
    comes along, with the same DocIDs and WordIDs; index and graph are made anew there (`gossamer index`, `gossamer
    rank`).

    Crawlers may be at work on FROM: it is copied as it is at the moment of the start. A copy that was ended in the
    middle goes on when the same command is given again, or begins anew if FROM has changed. In the end all of TO is
    read again and compared by counts and digests; before that, there is no web at TO.

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
    resumed_note = ", going on with a copy that was begun before" if done.resumed else ""
    print_message(f"Copied {done.origin} to {done.destination} in {format_duration(seconds)}{resumed_note}.")
    print_message(
        f"Read again and compared: {pluralize(done.rows, 'row')} of {len(done.tables)} tables; counts and digests agree."
    )
    print_message(f"The index is not copied; make it with: gossamer index --store {shlex.quote(done.destination)}")


def _json_fields(done: CopyResult) -> dict[str, object]:
    tables = {name: {"rows": note.rows, "digest": note.digest.hex()} for name, note in done.tables.items()}
    return {"resumed": done.resumed, "rows": done.rows, "tables": tables}
