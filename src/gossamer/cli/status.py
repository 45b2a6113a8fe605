"""The commands `status`, `hosts` and `errors`, which show the state of a web."""

from __future__ import annotations

import difflib
import sys
from collections import Counter
from itertools import chain, islice
from typing import TYPE_CHECKING

import click
import msgspec

from gossamer.basics.display import escape_hidden, format_age, format_duration, pluralize
from gossamer.cli.crawlers import is_at_work
from gossamer.cli.freshness import freshness, print_freshness
from gossamer.cli.options import json_option, limit_option, open_web, store_option
from gossamer.cli.output import (
    TerminalColumn,
    is_terminal,
    json_text,
    print_heading,
    print_line,
    print_message,
    row_limit,
    write_json_rows,
    write_table,
)
from gossamer.errors import UsageError
from gossamer.kernels import native

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gossamer.store.values import Counts, CrawlerRow, ErrorRow, Round

TERMINAL_ROWS = 50  # on a terminal without --limit; a pipe gets all rows


# -- status ----------------------------------------------------------------------------------------------------------


@click.command()
@store_option
@json_option
def status(store: str, as_json: bool) -> None:
    """Show counts, the current round, freshness and the crawlers at work.

    \b
    JSON: {"resources": {state: count}, "hosts", "links", "documents", "cut",
           "crawlers": [...], "rate", "round", "version", "native",
           "freshness": {"pages", "ages": {percentile: seconds}, "out_of_date", "due", "next_at"}}
    """
    with open_web(store) as web:
        counts, current, version, fresh = web.counts(), web.current_round(), web.version(), freshness(web, store)
        crawlers = [crawler for crawler in web.crawlers() if is_at_work(crawler)]
    rate = sum(crawler.pages_per_second for crawler in crawlers)
    if as_json:
        fields = {
            "crawlers": crawlers, "rate": rate, "round": _round_fields(current), "version": version,
            "native": native is not None, "freshness": fresh,
        }  # fmt: skip
        print_line(json_text(msgspec.to_builtins(counts) | fields, indent=2))
        return
    _print_counts(counts)
    _print_round(current)
    print_freshness(fresh)
    print_line()
    _print_crawlers(crawlers, rate)


def _round_fields(current: Round | None) -> dict[str, object] | None:
    if current is None:
        return None
    fields: dict[str, object] = msgspec.to_builtins(current)
    return fields | {"settings": msgspec.json.decode(current.settings)}


def _print_counts(counts: Counts) -> None:
    print_heading(
        f"{pluralize(sum(counts.resources.values()), 'resource')} on {pluralize(counts.hosts, 'host')}, "
        f"{pluralize(counts.links, 'link')}, {pluralize(counts.documents, 'document')}"
    )
    states = [(state, f"{count:,}") for state, count in counts.resources.items() if count]
    width = max((len(count) for _, count in states), default=0)
    for state, count in states:
        print_line(f"  {count:>{width}} {state}")
    if counts.cut:
        print_line(f"{pluralize(counts.cut, 'page')} cut at the page budget: `gossamer report cut-pages` lists them.")


def _print_round(current: Round | None) -> None:
    if current is None:
        print_line("\nNo crawl has started yet. Start one: gossamer crawl URL")
        return
    ended = f"finished {format_age(current.finished_at)}" if current.finished_at else "not finished"
    print_line(
        f"\nRound {current.id}: started {format_age(current.started_at)}, {ended}, "
        f"{pluralize(current.pages, 'page')} visited."
    )
    starts = current.seeds or current.joined
    if not starts:
        print_line("Seeds: none, its pages were imported. Crawl from a URL: gossamer crawl URL")
        return
    seeds = ", ".join(escape_hidden(seed) for seed in starts[:3])
    more = f" and {len(starts) - 3} more" if len(starts) > 3 else ""
    print_line(f"Seeds: {seeds}{more}")


def _print_crawlers(crawlers: Sequence[CrawlerRow], rate: float) -> None:
    if not crawlers:
        print_line("No crawler is at work.")
        return
    for crawler in crawlers:
        limit = f", limited by {crawler.limit}" if crawler.limit else ""
        waits = f", waits for {crawler.waiting_for}" if crawler.waiting_for else ""
        print_line(
            escape_hidden(f"{crawler.name} is {crawler.state}: {crawler.pages_per_second:.1f} pages/s{limit}{waits}")
        )
    if len(crawlers) > 1:
        print_line(f"Together {rate:.1f} pages/s.")


# -- hosts -----------------------------------------------------------------------------------------------------------


@click.command()
@limit_option
@store_option
@json_option
def hosts(limit: int | None, store: str, as_json: bool) -> None:
    """List the hosts, with their progress and what they wait for.

    A terminal shows the first 50; --limit changes that.

    \b
    JSON: {"hosts": [{"name", "known", "queued", "pages", "failed", "delay", ...}]}
    """
    with open_web(store) as web:
        row_count = (limit or None) if as_json else row_limit(limit, TERMINAL_ROWS)
        host_rows = web.hosts(row_count)
        total = web.counts().hosts
    if as_json:
        write_json_rows("hosts", host_rows, sys.stdout)
        return
    columns = [
        TerminalColumn("host", cut="middle"), TerminalColumn("pages", align="right"),
        TerminalColumn("queued", align="right"), TerminalColumn("known", align="right"),
        TerminalColumn("failed", align="right"), TerminalColumn("delay", align="right"),
        TerminalColumn("robots.txt"), TerminalColumn("held by"), TerminalColumn("waits", cut="end"),
    ]  # fmt: skip
    rows = (
        (
            host.name, f"{host.pages:,}", f"{host.queued:,}", f"{host.known:,}", f"{host.failed:,}",
            format_duration(host.delay) if host.delay else "", host.robots, host.holder, host.reason,
        )
        for host in host_rows
    )  # fmt: skip
    write_table(columns, rows)
    if len(host_rows) < total:
        print_message(f"{len(host_rows):,} of {total:,} hosts shown; --limit 0 shows all.")


# -- errors ----------------------------------------------------------------------------------------------------------


@click.command()
@click.option("--outcome", metavar="OUTCOME", help='List only this outcome, such as "not found" or timeout.')
@click.option("--fail", is_flag=True, help="Exit with code 1 if there are any, for use in scripts.")
@limit_option
@store_option
@json_option
@click.pass_context
def errors(ctx: click.Context, outcome: str | None, fail: bool, limit: int | None, store: str, as_json: bool) -> None:
    """List failed and refused URLs, each with its reason.

    Each row has the URL, the reason, a page that links to it and the anchor of that link. A terminal shows the first 50
    rows and the number of each kind; --limit changes that.

    \b
    JSON: {"errors": [{"url", "outcome", "reason", "source", "anchor",
                       "state", "status", "inlinks"}]}
    """
    wanted_outcome = _parse_outcome(outcome) if outcome else None
    with open_web(store) as web:
        matching = (row for row in web.errors() if wanted_outcome in {None, row.outcome})
        first = list(islice(matching, 1))
        rows = chain(first, matching)
        if as_json:
            write_json_rows("errors", islice(rows, limit or None), sys.stdout)
        elif is_terminal(sys.stdout):
            _print_error_groups(rows, row_limit(limit, TERMINAL_ROWS))
        else:
            _print_error_table(islice(rows, limit or None), with_outcome=True)
    if fail and first:
        ctx.exit(1)


def _parse_outcome(text: str) -> str:
    from gossamer.model import Outcome

    name = text.strip().lower().replace("-", " ")
    known = [outcome.value for outcome in Outcome]
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
        hint = f'did you mean "{near[0]}"?' if near else f"there are: {', '.join(known)}."
        raise UsageError(f'There is no outcome "{text}"; {hint}')
    return name


def _print_error_groups(rows: Iterator[ErrorRow], limit: int | None) -> None:
    counts: Counter[str] = Counter()
    shown_rows: list[ErrorRow] = []
    for row in rows:
        counts[row.outcome or row.state] += 1
        if limit is None or len(shown_rows) < limit:
            shown_rows.append(row)
    if not counts:
        print_line("No errors.")
        return
    for name, count in counts.most_common():
        group = [row for row in shown_rows if (row.outcome or row.state) == name]
        print_heading(f"{escape_hidden(name)}: {count:,}")
        if group:
            _print_error_table(group, with_outcome=False)
            print_line()
    if len(shown_rows) < counts.total():
        print_message(f"{len(shown_rows):,} of {counts.total():,} shown; --limit 0 shows all, --outcome one kind.")


def _print_error_table(rows: Iterable[ErrorRow], *, with_outcome: bool) -> None:
    columns = [
        TerminalColumn("outcome"), TerminalColumn("url", cut="middle"), TerminalColumn("reason", cut="end"),
        TerminalColumn("linked from", cut="middle"), TerminalColumn("anchor", cut="end"),
    ]  # fmt: skip
    cells = ((row.outcome or row.state, row.url, row.reason, row.source, row.anchor) for row in rows)
    first = 0 if with_outcome else 1
    write_table(columns[first:], (row[first:] for row in cells))
