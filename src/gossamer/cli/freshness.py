"""Freshness for the commands `status` and `page`: ages, due visits, changes."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from gossamer.basics.display import format_duration, format_time, pluralize
from gossamer.cli.options import load_settings
from gossamer.cli.output import TerminalColumn, print_heading, print_line, write_table
from gossamer.revisit.pace import schedule_from_settings

if TYPE_CHECKING:
    from gossamer.revisit.pace import Schedule
    from gossamer.store.protocol import StoreReader
    from gossamer.store.values import ChangeRow, Freshness, ResourceRow


MINUTE_SECONDS = 60.0  # ages are exact to the minute only


def _schedule(web: StoreReader, location: str) -> Schedule:
    return schedule_from_settings(load_settings(location, None, {}).settings.freshness, web.pace_counts())


def freshness(web: StoreReader, location: str) -> Freshness:
    """Return how fresh a web is by its own settings."""
    return web.freshness(_schedule(web, location), time.time())


def next_visit(web: StoreReader, location: str, row: ResourceRow) -> float | None:
    """Return when a resource is due (Unix time); None if it is queued, leased or not to be visited."""
    pace = web.pace(row.id)
    if pace is None or row.visited_at is None or row.state in {"queued", "leased"}:
        return None
    return row.visited_at + _schedule(web, location).interval(pace)


def next_visit_text(next_at: float | None) -> str:
    """Return a due time as text for people."""
    if next_at is None:
        return ""
    wait = next_at - time.time()
    return f"in {format_duration(wait)}" if wait > 0 else "due"


def print_freshness(fresh: Freshness) -> None:
    """Print the two lines of `status` about freshness."""
    if not fresh.pages:
        return
    ages = ", ".join(
        f"{percent} % in {format_duration(max(age, MINUTE_SECONDS)).removesuffix(' 00 s')}"
        for percent, age in fresh.ages.items()
    )
    print_line(f"\nLast visits of {pluralize(fresh.pages, 'page')}:")
    print_line(f"  {ages}")
    due = f"{fresh.due:,} due" if fresh.due else "none due"
    soon = f", the next in {format_duration(max(0.0, fresh.next_at - time.time()))}" if fresh.next_at else ""
    print_line(f"Expected to be out of date: {100 * fresh.out_of_date:.1f} %; {due}{soon}.")


def print_history(web: StoreReader, row: ResourceRow) -> None:
    """Print the changes of a page, each with the title before it."""
    changes = web.history(row.id)
    if not changes:
        return
    print_heading(f"\nChanges ({len(changes):,})")
    columns = [
        TerminalColumn("when"),
        TerminalColumn("what"),
        TerminalColumn("title before", cut="end"),
        TerminalColumn("links", align="right"),
    ]
    write_table(
        columns,
        (
            (format_time(change.found_at), _change_text(change), change.title, _link_counts(change))
            for change in changes
        ),
    )


def _change_text(change: ChangeRow) -> str:
    return f"{change.event}: {', '.join(change.parts)}" if change.event == "changed" else change.event


def _link_counts(change: ChangeRow) -> str:
    return " ".join(f"{sign}{len(bonds)}" for sign, bonds in (("-", change.lost), ("+", change.gained)) if bonds)
