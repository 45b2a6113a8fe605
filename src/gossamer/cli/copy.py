"""The command `copy`: a web from one place to another, between directories and databases."""

from __future__ import annotations

import shlex
import time
from typing import TYPE_CHECKING

import click

from gossamer.cli.options import check_place, json_option
from gossamer.cli.output import human_duration, json_text, many, say, show
from gossamer.cli.progress import Ticker

if TYPE_CHECKING:
    from gossamer.store.copy import Copied


@click.command()
@click.argument("from_", metavar="FROM", callback=check_place)  # passwords stay in: there may be two
@click.argument("to", metavar="TO", callback=check_place)
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

    started, ticker = time.monotonic(), Ticker()
    done = copy_web(from_, to, ticker.tell)
    ticker.close()
    seconds = time.monotonic() - started
    if as_json:
        show(json_text({"from": done.origin, "to": done.place, **_told(done), "seconds": round(seconds, 3)}))
    gone_on = ", going on with a copy that was begun before" if done.resumed else ""
    say(f"Copied {done.origin} to {done.place} in {human_duration(seconds)}{gone_on}.")
    say(f"Read again and compared: {many(done.rows, 'row')} of {len(done.tables)} tables; counts and digests agree.")
    say(f"The index is not copied; make it with: gossamer index --store {shlex.quote(done.place)}")


def _told(done: Copied) -> dict[str, object]:
    tables = {name: {"rows": note.rows, "digest": note.digest.hex()} for name, note in done.tables.items()}
    return {"resumed": done.resumed, "rows": done.rows, "tables": tables}
