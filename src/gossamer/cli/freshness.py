"""What `status` and `page` tell about freshness: how old, what is due, what changed."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from gossamer.cli.options import load_settings
from gossamer.cli.output import Column, at, heading, human_duration, many, show, write_table
from gossamer.revisit.pace import schedule_from_settings

if TYPE_CHECKING:
    from gossamer.revisit.pace import Schedule
    from gossamer.store.protocol import Store
    from gossamer.store.values import ChangeRow, Freshness, ResourceRow


MINUTE = 60.0  # ages are known to the minute


def _schedule(web: Store, place: str) -> Schedule:
    return schedule_from_settings(load_settings(place, None, {}).settings.freshness, web.paces())


def freshness(web: Store, place: str) -> Freshness:
    """How fresh a web is, by its own settings."""
    return web.freshness(_schedule(web, place), time.time())


def next_visit(web: Store, place: str, row: ResourceRow) -> float | None:
    """When a resource is due; None when it is not to be visited, or waits for its visit just now."""
    pace = web.pace(row.id)
    if pace is None or row.visited_at is None or row.state in {"queued", "leased"}:
        return None
    return row.visited_at + _schedule(web, place).interval(pace)


def next_visit_shown(next_at: float | None) -> str:
    """The same for people."""
    if next_at is None:
        return ""
    wait = next_at - time.time()
    return f"in {human_duration(wait)}" if wait > 0 else "due"


def show_freshness(fresh: Freshness) -> None:
    """Two lines for `status`."""
    if not fresh.pages:
        return
    ages = ", ".join(f"{percent} % within {human_duration(max(age, MINUTE))}" for percent, age in fresh.ages.items())
    show(f"\n{many(fresh.pages, 'page')}, visited lately: {ages}.")
    due = f"{fresh.due:,} due" if fresh.due else "none due"
    soon = f", the next in {human_duration(max(0.0, fresh.next_at - time.time()))}" if fresh.next_at else ""
    show(f"Expected to be out of date: {fresh.out_of_date:.1%}; {due}{soon}.")


def show_history(web: Store, row: ResourceRow) -> None:
    """What changed, and how it was before."""
    changes = web.history(row.id)
    if not changes:
        return
    heading(f"\nChanges ({len(changes):,})")
    columns = [Column("when"), Column("what"), Column("title before", cut="end"), Column("links", align="right")]
    write_table(columns, ((at(change.found_at), _what(change), change.title, _links(change)) for change in changes))


def _what(change: ChangeRow) -> str:
    return f"{change.event}: {', '.join(change.parts)}" if change.event == "changed" else change.event


def _links(change: ChangeRow) -> str:
    return " ".join(f"{sign}{len(bonds)}" for sign, bonds in (("-", change.lost), ("+", change.gained)) if bonds)
