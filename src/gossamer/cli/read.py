"""Commands that list what is in a web: `status`, `hosts`, `errors`."""

from __future__ import annotations

import difflib
import sys
from collections import Counter
from itertools import chain, islice
from typing import TYPE_CHECKING

import click
import msgspec

from gossamer.cli.freshness import freshness, show_freshness
from gossamer.cli.open_web import is_at_work, opened
from gossamer.cli.options import json_option, limit_option, store_option
from gossamer.cli.output import (
    Column,
    ago,
    heading,
    human_duration,
    is_terminal,
    json_rows,
    json_text,
    many,
    printable,
    rows_wanted,
    say,
    show,
    write_table,
)
from gossamer.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gossamer.store.values import Counts, Crawler, ErrorRow, Round

ROWS_ON_A_TERMINAL = 50  # when --limit is not given; a pipe gets all of them


# -- status ----------------------------------------------------------------------------------------------------------


@click.command()
@store_option
@json_option
def status(store: str, as_json: bool) -> None:
    """What is there, and what is going on now.

    \b
    JSON: {"resources": {state: count}, "hosts", "links", "documents",
           "crawlers": [...], "rate", "round", "version",
           "freshness": {"pages", "ages": {percentile: seconds}, "out_of_date", "due", "next_at"}}
    """
    with opened(store) as web:
        counts, current, version, fresh = web.counts(), web.current_round(), web.version(), freshness(web, store)
        crawlers = [crawler for crawler in web.crawlers() if is_at_work(crawler)]
    rate = sum(crawler.pages_per_second for crawler in crawlers)
    if as_json:
        told = {
            "crawlers": crawlers, "rate": rate, "round": _round(current), "version": version, "freshness": fresh,
        }  # fmt: skip
        show(json_text(msgspec.to_builtins(counts) | told, indent=2))
        return
    _show_counts(counts)
    _show_round(current)
    show_freshness(fresh)
    show()
    _show_crawlers(crawlers, rate)


def _round(current: Round | None) -> dict[str, object] | None:
    if current is None:
        return None
    told: dict[str, object] = msgspec.to_builtins(current)
    return told | {"settings": msgspec.json.decode(current.settings)}


def _show_counts(counts: Counts) -> None:
    heading(
        f"{many(sum(counts.resources.values()), 'resource')} on {many(counts.hosts, 'host')}, "
        f"{many(counts.links, 'link')}, {many(counts.documents, 'document')}"
    )
    there = [(state, f"{count:,}") for state, count in counts.resources.items() if count]
    width = max((len(count) for _, count in there), default=0)
    for state, count in there:
        show(f"  {count:>{width}} {state}")


def _show_round(current: Round | None) -> None:
    if current is None:
        show("\nNothing was asked of this web yet.")
        return
    ended = f"finished {ago(current.finished_at)}" if current.finished_at else "not finished"
    show(f"\nRound {current.id}: started {ago(current.started_at)}, {ended}, {many(current.pages, 'page')} visited.")
    starts = current.seeds or current.joined
    if not starts:
        show("Seeds: none, its pages were taken from files. Crawl on from a URL: gossamer crawl URL")
        return
    seeds = ", ".join(printable(seed) for seed in starts[:3])
    more = f" and {len(starts) - 3} more" if len(starts) > 3 else ""
    show(f"Seeds: {seeds}{more}")


def _show_crawlers(crawlers: Sequence[Crawler], rate: float) -> None:
    if not crawlers:
        show("No crawler is at work.")
        return
    for crawler in crawlers:
        limit = f", limited by {crawler.limit}" if crawler.limit else ""
        waits = f", waits for {crawler.waiting_for}" if crawler.waiting_for else ""
        show(printable(f"{crawler.name} is {crawler.state}: {crawler.pages_per_second:.1f} pages/s{limit}{waits}"))
    if len(crawlers) > 1:
        show(f"Together {rate:.1f} pages/s.")


# -- hosts -----------------------------------------------------------------------------------------------------------


@click.command()
@limit_option
@store_option
@json_option
def hosts(limit: int | None, store: str, as_json: bool) -> None:
    """The hosts, how far each of them is, and what it waits for.

    On a terminal the first 50 are shown; --limit says how many.

    \b
    JSON: {"hosts": [{"name", "known", "queued", "pages", "failed", "delay", ...}]}
    """
    with opened(store) as web:
        wanted = (limit or None) if as_json else rows_wanted(limit, ROWS_ON_A_TERMINAL)
        found = web.hosts(wanted)
        total = web.counts().hosts
    if as_json:
        json_rows("hosts", found, sys.stdout)
        return
    columns = [
        Column("host", cut="middle"), Column("pages", align="right"), Column("queued", align="right"),
        Column("known", align="right"), Column("failed", align="right"), Column("delay", align="right"),
        Column("robots.txt"), Column("held by"), Column("waits", cut="end"),
    ]  # fmt: skip
    rows = (
        (
            host.name, f"{host.pages:,}", f"{host.queued:,}", f"{host.known:,}", f"{host.failed:,}",
            human_duration(host.delay) if host.delay else "", host.robots, host.holder, host.reason,
        )
        for host in found
    )  # fmt: skip
    write_table(columns, rows)
    if len(found) < total:
        say(f"{len(found):,} of {total:,} hosts shown; --limit 0 shows all.")


# -- errors ----------------------------------------------------------------------------------------------------------


@click.command()
@click.option("--outcome", metavar="OUTCOME", help='Only these, such as "not found" or timeout.')
@click.option("--fail", is_flag=True, help="End with exit code 1 when there are any, for use in scripts.")
@limit_option
@store_option
@json_option
@click.pass_context
def errors(ctx: click.Context, outcome: str | None, fail: bool, limit: int | None, store: str, as_json: bool) -> None:
    """What was not visited as it should have been, and why.

    Broken links, refused pages and every other failure: each with its reason, a page that links to it and the link's
    anchor. On a terminal the first 50 are shown, with how many there are of each kind; --limit says how many.

    \b
    JSON: {"errors": [{"url", "outcome", "reason", "source", "anchor",
                       "state", "status", "inlinks"}]}
    """
    wanted = _outcome(outcome) if outcome else None
    with opened(store) as web:
        found = (row for row in web.errors() if wanted in {None, row.outcome})
        first = list(islice(found, 1))
        rows = chain(first, found)
        if as_json:
            json_rows("errors", islice(rows, limit or None), sys.stdout)
        elif is_terminal(sys.stdout):
            _errors_for_people(rows, rows_wanted(limit, ROWS_ON_A_TERMINAL))
        else:
            _error_table(islice(rows, limit or None), with_outcome=True)
    if fail and first:
        ctx.exit(1)


def _outcome(text: str) -> str:
    from gossamer.model import Outcome

    name = text.strip().lower().replace("-", " ")
    known = [outcome.value for outcome in Outcome]
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
        hint = f'did you mean "{near[0]}"?' if near else f"there are: {', '.join(known)}."
        raise UsageError(f'There is no outcome "{text}"; {hint}')
    return name


def _errors_for_people(rows: Iterator[ErrorRow], limit: int | None) -> None:
    counts: Counter[str] = Counter()
    kept: list[ErrorRow] = []
    for row in rows:
        counts[row.outcome or row.state] += 1
        if limit is None or len(kept) < limit:
            kept.append(row)
    if not counts:
        show("No errors.")
        return
    for name, count in counts.most_common():
        group = [row for row in kept if (row.outcome or row.state) == name]
        heading(f"{printable(name)}: {count:,}")
        if group:
            _error_table(group, with_outcome=False)
            show()
    if len(kept) < counts.total():
        say(f"{len(kept):,} of {counts.total():,} shown; --limit 0 shows all, --outcome one kind.")


def _error_table(rows: Iterable[ErrorRow], *, with_outcome: bool) -> None:
    columns = [
        Column("outcome"), Column("url", cut="middle"), Column("reason", cut="end"),
        Column("linked from", cut="middle"), Column("anchor", cut="end"),
    ]  # fmt: skip
    cells = ((row.outcome or row.state, row.url, row.reason, row.source, row.anchor) for row in rows)
    first = 0 if with_outcome else 1
    write_table(columns[first:], (row[first:] for row in cells))
