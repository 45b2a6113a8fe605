"""The commands `status`, `hosts` and `errors`, which show the state of a web."""

from __future__ import annotations

import difflib
import shutil
import sys
import textwrap
from collections import Counter
from itertools import chain, islice
from typing import TYPE_CHECKING

import click
import msgspec

from gossamer.basics.display import escape_hidden, format_age, format_duration, pluralize
from gossamer.cli.crawlers import is_at_work
from gossamer.cli.freshness import freshness, print_freshness
from gossamer.cli.help import HelpCommand
from gossamer.cli.hints import hint
from gossamer.cli.options import json_option, limit_option, open_web, store_option
from gossamer.cli.output import (
    TableNotes,
    TerminalColumn,
    cell_width,
    is_terminal,
    json_text,
    print_heading,
    print_line,
    print_note,
    row_limit,
    shorten,
    write_json_rows,
    write_table,
)
from gossamer.cli.pager import page_output, pager_option, print_table_notes, wide_option
from gossamer.cli.report_table import with_short_paths
from gossamer.errors import UsageError
from gossamer.kernels import native
from gossamer.store.read.questions import read_rendered_reasons
from gossamer.store.read.rank_state import read_rank_state

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from gossamer.store.read.rank_state import RankState
    from gossamer.store.values import Counts, CrawlerRow, ErrorRow, HostRow, Round, VisitedTotals

STATE_WORDS = {"known": "known only: links name them, and the crawl does not visit them"}  # others need no words
SEEDS_SHOWN = 3
LINE_WIDTH = 80  # cells that a line should not exceed
SEEDS_INDENT = " " * len("Seeds: ")
TERMINAL_ROWS = 50  # on a terminal without --limit; a pipe gets all rows


# -- status ----------------------------------------------------------------------------------------------------------


@click.command(cls=HelpCommand)
@store_option
@json_option
def status(store: str, as_json: bool) -> None:
    """Show counts, the current round, freshness and the crawlers at work.

    \b
    JSON: {"resources": {state: count}, "hosts", "links", "documents", "cut",
           "rendered", "rendered_reasons": {reason: count}, "unrendered", "crawlers": [...],
           "rate", "round", "version", "native",
           "visited": {"pages", "hosts", "linked_hosts"},
           "ranks": {"made_at", "pages", "web_pages", "current"},
           "freshness": {"pages", "ages": {percentile: seconds}, "out_of_date", "due", "next_at"}}
    """
    with open_web(store) as web:
        counts, current, version, fresh = web.counts(), web.current_round(), web.version(), freshness(web, store)
        crawlers = [crawler for crawler in web.crawlers() if is_at_work(crawler)]
        totals, ranks = web.visited_totals(), read_rank_state(web)
        reasons = read_rendered_reasons(web, counts)
    rate = sum(crawler.pages_per_second for crawler in crawlers)
    if as_json:
        fields = {
            "crawlers": crawlers, "rate": rate, "round": _round_fields(current), "version": version,
            "native": native is not None, "freshness": fresh, "visited": totals, "ranks": ranks,
            "rendered_reasons": reasons,
        }  # fmt: skip
        print_line(json_text(msgspec.to_builtins(counts) | fields, indent=2))
        return
    _print_counts(counts, totals)
    _print_renderings(counts, reasons)
    if counts.links:
        _print_rank_state(ranks)
    _print_round(current)
    print_freshness(fresh)
    print_line()
    _print_crawlers(crawlers, rate)


def _round_fields(current: Round | None) -> dict[str, object] | None:
    if current is None:
        return None
    fields: dict[str, object] = msgspec.to_builtins(current)
    return fields | {"settings": msgspec.json.decode(current.settings)}


def _print_counts(counts: Counts, totals: VisitedTotals) -> None:
    print_heading(totals.describe())
    print_line(f"{pluralize(counts.links, 'link')}, {pluralize(counts.documents, 'document')}")
    print_line(f"{pluralize(sum(counts.resources.values()), 'URL')} known:")
    states = [(STATE_WORDS.get(state, state), f"{count:,}") for state, count in counts.resources.items() if count]
    width = max((len(count) for _, count in states), default=0)
    for state, count in states:
        print_line(f"  {count:>{width}} {state}")
    if counts.cut:
        print_line(f"{pluralize(counts.cut, 'page')} cut at the page budget, listed by: {hint('report cut-pages')}")


def _print_renderings(counts: Counts, reasons: Mapping[str, int]) -> None:
    """Print how many pages a browser rendered for which reasons, and how many would need one."""
    if counts.rendered:
        print_line(
            f"{pluralize(counts.rendered, 'page')} rendered by a browser, listed by: {hint('report script-pages')}"
        )
        width = max((len(f"{count:,}") for count in reasons.values()), default=0)
        for reason, count in reasons.items():
            print_line(f"  {count:>{width},} {reason}")
    if counts.unrendered:
        need = f"{pluralize(counts.unrendered, 'page')} would need a browser"
        print_line(f"{need}, listed by: {hint('report script-pages')}")


def _print_rank_state(state: RankState | None) -> None:
    if state is None:
        print_line(f"\nNo ranks. Compute them: {hint('rank')}")
    elif state.note:
        print_line(f"\nRanks {state.note}, {format_age(state.made_at)}.")
        print_line(f"Update them: {hint('rank')}")
    else:
        print_line(f"\nRanks from all {pluralize(state.pages, 'page')}, {format_age(state.made_at)}.")


def _print_round(current: Round | None) -> None:
    if current is None:
        print_line(f"\nNo crawl has started yet. Start one: {hint('crawl URL')}")
        return
    ended = f"finished {format_age(current.finished_at)}" if current.finished_at else "not finished"
    print_line(
        f"\nRound {current.id}: started {format_age(current.started_at)}, {ended}, "
        f"{pluralize(current.pages, 'page')} visited."
    )
    starts = current.seeds or current.joined
    if not starts:
        print_line(f"Seeds: none, its pages were imported. Crawl from a URL: {hint('crawl URL')}")
        return
    shown = [escape_hidden(seed) for seed in starts[:SEEDS_SHOWN]]
    if len(starts) > SEEDS_SHOWN:
        shown.append(f"and {len(starts) - SEEDS_SHOWN} more")
    line = f"Seeds: {', '.join(shown)}"
    if cell_width(line) <= LINE_WIDTH:
        print_line(line)
        return
    room = shutil.get_terminal_size().columns - len(SEEDS_INDENT) - 1 if is_terminal(sys.stdout) else sys.maxsize
    fitting = [shorten(each, room, "middle") for each in shown]
    print_line("Seeds: " + f",\n{SEEDS_INDENT}".join(fitting))
    if fitting != shown:
        print_note(f"Values with … are cut: {hint('status --json')} has them whole.")


def _print_crawlers(crawlers: Sequence[CrawlerRow], rate: float) -> None:
    if not crawlers:
        print_line("No crawler is at work.")
        return
    for crawler in crawlers:
        limit = f", limited by {crawler.limit}" if crawler.limit else ""
        print_line(escape_hidden(f"{crawler.name} is {crawler.state}: {crawler.pages_per_second:.1f} pages/s{limit}"))
        if crawler.waiting_for:
            waits = escape_hidden(f"waits for {crawler.waiting_for}")
            print_line(textwrap.fill(waits, LINE_WIDTH, initial_indent="  ", subsequent_indent="  "))
    if len(crawlers) > 1:
        print_line(f"Together {rate:.1f} pages/s.")


# -- hosts -----------------------------------------------------------------------------------------------------------


@click.command(cls=HelpCommand)
@click.option("--all", "with_unvisited", is_flag=True, help="Show unvisited hosts on a terminal too.")
@wide_option
@pager_option
@limit_option
@store_option
@json_option
def hosts(with_unvisited: bool, wide: bool, pager: bool, limit: int | None, store: str, as_json: bool) -> None:
    """List the hosts, with their progress and what they wait for.

    A terminal shows the first 50 without those that are only linked to; --limit and --all change that. A pipe gets
    all hosts.

    \b
    JSON: {"hosts": [{"name", "known", "queued", "pages", "failed", "delay", ...}]}
    """
    with open_web(store) as web:
        row_count = (limit or None) if as_json else row_limit(limit, TERMINAL_ROWS)
        hides = is_terminal(sys.stdout) and not with_unvisited and not as_json
        host_rows = web.hosts(None if hides else row_count)
        total = web.counts().hosts
    if as_json:
        write_json_rows("hosts", host_rows, sys.stdout)
        return
    shown = [host for host in host_rows if not hides or _is_visited(host)]
    with page_output(wanted=pager):
        _print_hosts(shown[:row_count], wide=wide)
        if row_count is not None and len(shown) > row_count:
            print_note(f"{len(shown):,} hosts found, {row_count:,} shown; --limit 0 shows all.")
        elif not hides and len(shown) < total:
            print_note(f"{len(shown):,} of {total:,} hosts shown; --limit 0 shows all.")
        if hides and (hidden := len(host_rows) - len(shown)):
            them = "it" if hidden == 1 else "them"
            print_note(f"{pluralize(hidden, 'more host')} linked to, not visited: --all shows {them} too.")


def _is_visited(host: HostRow) -> bool:
    """Return whether a host was visited, or is to be."""
    return bool(host.pages or host.queued or host.failed or host.holder)


def _print_hosts(host_rows: Sequence[HostRow], *, wide: bool) -> None:
    failed = "failed or gone" if is_terminal(sys.stdout) else "failed"  # programs know the column by its old name
    columns = [
        TerminalColumn("host", cut="middle"), TerminalColumn("pages", align="right"),
        TerminalColumn("queued", align="right", drop=2), TerminalColumn("known", align="right", drop=3),
        TerminalColumn(failed, align="right"), TerminalColumn("delay", align="right", drop=4),
        TerminalColumn("robots.txt", drop=1), TerminalColumn("held by", drop=5), TerminalColumn("waits", cut="end"),
    ]  # fmt: skip
    rows = (
        (
            host.name, f"{host.pages:,}", f"{host.queued:,}", f"{host.known:,}", f"{host.failed:,}",
            format_duration(host.delay) if host.delay else "", host.robots, host.holder, host.reason,
        )
        for host in host_rows
    )  # fmt: skip
    print_table_notes(write_table(columns, rows, wide=wide))


# -- errors ----------------------------------------------------------------------------------------------------------


@click.command(cls=HelpCommand)
@click.option("--outcome", metavar="OUTCOME", help='List only this outcome, such as "not found" or timeout.')
@click.option("--fail", is_flag=True, help="Exit with code 1 if there are any, for use in scripts.")
@wide_option
@pager_option
@limit_option
@store_option
@json_option
@click.pass_context
def errors(
    ctx: click.Context,
    outcome: str | None,
    fail: bool,
    wide: bool,
    pager: bool,
    limit: int | None,
    store: str,
    as_json: bool,
) -> None:
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
            with page_output(wanted=pager):
                _print_error_groups(rows, row_limit(limit, TERMINAL_ROWS), wide=wide)
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


def _print_error_groups(rows: Iterator[ErrorRow], limit: int | None, *, wide: bool) -> None:
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
            print_table_notes(_print_error_table(group, with_outcome=False, wide=wide))
            print_line()
    if len(shown_rows) < counts.total():
        print_note(f"{counts.total():,} found, {len(shown_rows):,} shown; --limit 0 shows all, --outcome one kind.")


def _print_error_table(rows: Iterable[ErrorRow], *, with_outcome: bool, wide: bool = False) -> TableNotes:
    columns = [
        TerminalColumn("outcome"), TerminalColumn("url", cut="middle"), TerminalColumn("reason", cut="end", drop=1),
        TerminalColumn("linked from", cut="middle"), TerminalColumn("anchor", cut="end", drop=2),
    ]  # fmt: skip
    cells = [[row.outcome or row.state, row.url, row.reason, row.source, row.anchor] for row in rows]
    if not with_outcome and not wide:
        with_short_paths(([column.title for column in columns], cells))
    first = 0 if with_outcome else 1
    return write_table(columns[first:], (row[first:] for row in cells), wide=wide)
