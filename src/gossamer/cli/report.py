"""The command `report`: what is wrong with a site, or worth knowing, and what to do about it."""

from __future__ import annotations

import re
import sys
import time
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from gossamer.cli.open_web import opened
from gossamer.cli.options import limit_option, store_option
from gossamer.cli.output import (
    Column,
    at,
    heading,
    is_terminal,
    json_text,
    rows_wanted,
    say,
    show,
    write_table,
)
from gossamer.cli.progress import Ticker
from gossamer.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from gossamer.graph.reports.base import MissingData, Report, ReportOptions, ReportRow
    from gossamer.store.protocol import Store

ROWS_ON_A_TERMINAL = 50  # of each report, when --limit is not given; a pipe gets all of them
FINDINGS = ("error", "warning", "notice")  # severities to fail on; overviews are no findings
SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
CUT_IN_THE_MIDDLE = frozenset({"url", "source", "target", "final", "canonical", "next", "sitemap", "same_as", "other"})


def _completed(_: click.Context, __: click.Parameter, begun: str) -> list[str]:
    from gossamer.graph.reports.registry import REPORTS, THEMES

    return [name for name in (*(each.name for each in REPORTS), *THEMES, "all") if name.startswith(begun)]


@click.command()
@click.argument("names", metavar="NAME...", nargs=-1, shell_complete=_completed)
@click.option("--list", "listing", is_flag=True, help="List all reports.")
@click.option("--explain", metavar="CODE", multiple=True, help="Tell why a finding matters and how to mend it.")
@click.option("--url", metavar="URL", help="The URL that inlinks and outlinks are about.")
@click.option(
    "--since", metavar="WHEN", help="What changes are told from: 7d, 12h, 2026-11-01 ...  [default: the last round]"
)
@click.option(
    "--fail-on", type=click.Choice(FINDINGS), help="End with exit code 1 when such a finding, or a worse one, is there."
)
@click.option("--json", "form", flag_value="json", help="Print JSON.")
@click.option("--csv", "form", flag_value="csv", help="Print CSV (of one report).")
@click.option("--table", "form", flag_value="table", default=True, help="Print a table.  [default]")
@limit_option
@store_option
@click.pass_context
def report(
    ctx: click.Context,
    names: tuple[str, ...],
    listing: bool,
    explain: tuple[str, ...],
    url: str | None,
    since: str | None,
    fail_on: str | None,
    form: str,
    limit: int | None,
    store: str,
) -> None:
    """Report what is wrong with a site, or worth knowing.

    NAME is a report (`broken`), its code (`LNK001`), a group of them (`links`) or `all`; several can be given.
    On a terminal the first 50 rows of each are shown; --limit says how many.

    \b
    JSON: {"report", "code", "severity", "rows": [{...}]}
    of several: {"reports": [{"report", ...}], "unavailable": {code: why}}
    """
    from gossamer.graph.reports.base import find_missing_data
    from gossamer.graph.reports.registry import select_reports

    if explain:
        _explain(select_reports(explain), form)
        return
    if listing or not names:
        _list(form)
        return
    reports = select_reports(names)
    if form == "csv" and len(reports) > 1:
        raise UsageError("CSV holds one report: give one name, or use --json.")
    with opened(store) as web:
        lacking = find_missing_data(web, reports)
        if len(reports) == 1 and (lack := lacking.get(reports[0].code)) and lack.is_total:
            raise UsageError(f"The report {reports[0].name} cannot be made: {lack.reason}.")
        ticker = Ticker()
        options = _options(web, reports, url, since)
        if form == "table" or not is_terminal(sys.stdout):  # else it would stand between the rows
            options = replace(options, on_progress=ticker.tell)
        found = _Printing(web, options, form, limit, ticker).print(reports, lacking)
        ticker.close()
    if fail_on:
        _judge(ctx, [each for each in reports if each.severity.rank <= FINDINGS.index(fail_on)], found, lacking)


def _judge(
    ctx: click.Context, asked: Sequence[Report], found: Sequence[Report], lacking: Mapping[str, MissingData]
) -> None:
    """End with 1 when there is something to fail on, and with 2 when nobody can tell."""
    if any(each in found for each in asked):
        ctx.exit(1)
    for each in asked:
        if (lack := lacking.get(each.code)) and lack.is_total:
            raise UsageError(f"Nothing was found, but {each.name} could not be looked for: {lack.reason}.")


def _options(web: Store, reports: Iterable[Report], url: str | None, since: str | None) -> ReportOptions:
    from gossamer.graph.reports.base import ReportOptions
    from gossamer.lookup import find

    taken = {need for each in reports for need in each.takes}
    if "url" in taken and url is None:
        raise UsageError("Which URL? Give it with --url.")
    current = web.current_round()
    start = _moment(since, time.time()) if since else current.started_at if current else 0.0
    return ReportOptions(resource=find(web, url).id if url else None, since=start)


def _moment(text: str, now: float) -> float:
    """A moment that a person wrote: so long ago, or a date, perhaps with a time (UTC where nothing else is said)."""
    if span := re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([smhdw])\s*", text):
        return now - float(span[1]) * SECONDS[span[2]]
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError as error:
        raise UsageError(f'"{text}" is no moment: give 7d, 12h, 2026-11-01 or 2026-11-01T08:30.') from error
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


# -- what there is -----------------------------------------------------------------------------------------------------


def _list(form: str) -> None:
    from gossamer.graph.reports.registry import REPORTS, THEMES

    if form == "json":
        show(json_text({"reports": [_told(each) for each in REPORTS]}, indent=2))
        return
    columns = [Column("code"), Column("name"), Column("severity"), Column("finds", cut="end"), Column("group")]
    groups = {each.code: theme for theme, reports in THEMES.items() for each in reports}
    write_table(columns, ((r.code, r.name, r.severity, r.finds, groups[r.code]) for r in REPORTS))


def _explain(reports: Sequence[Report], form: str) -> None:
    if form == "json":
        show(json_text({"reports": [_told(each) for each in reports]}, indent=2))
        return
    for place, each in enumerate(reports):
        if place:
            show()
        heading(f"{each.code} {each.name} ({each.severity})")
        show(f"{each.finds}.\n\nWhy it matters: {each.why}\nWhat to do: {each.fix}\nColumns: {', '.join(each.columns)}")


def _told(each: Report) -> dict[str, object]:
    return {
        "code": each.code, "report": each.name, "severity": each.severity, "finds": each.finds, "why": each.why,
        "fix": each.fix, "columns": each.columns, "needs": each.needs,
    }  # fmt: skip


# -- what was found ----------------------------------------------------------------------------------------------------


class _Printing:
    """Prints reports in one form, and remembers which of them found something."""

    def __init__(self, web: Store, options: ReportOptions, form: str, limit: int | None, ticker: Ticker) -> None:
        self._web = web
        self._options = options
        self._form = form
        self._limit = limit
        self._ticker = ticker
        self._found: list[Report] = []

    def print(self, reports: Sequence[Report], lacking: Mapping[str, MissingData]) -> list[Report]:
        """Print them all; gives those that have rows."""
        for each in reports:
            if lack := lacking.get(each.code):
                said = "cannot be made" if lack.is_total else "is not complete"
                say(f"{each.code} {each.name} {said}: {lack.reason}.")
        unavailable = {code: lack.reason for code, lack in lacking.items() if lack.is_total}
        made = [each for each in reports if each.code not in unavailable]
        if self._form == "json":
            self._json(made, unavailable, alone=len(reports) == 1)
        elif self._form == "csv":
            self._csv(made[0])
        elif is_terminal(sys.stdout):
            self._people(made)
        else:
            self._pipe(made)
        return self._found

    def _rows(self, each: Report) -> Iterator[ReportRow]:
        """Its rows; the first one marks the report."""
        for row in each.rows(self._web, self._options):
            if not self._found or self._found[-1] is not each:
                self._found.append(each)
            yield row

    def _json(self, reports: Sequence[Report], unavailable: dict[str, str], *, alone: bool) -> None:
        from gossamer.graph.reports.run import row_to_dict

        out = sys.stdout
        out.write("" if alone else '{"reports": [\n')
        for place, each in enumerate(reports):
            out.write(",\n" if place else "")
            head = {"report": each.name, "code": each.code, "severity": each.severity}
            out.write(json_text(head)[:-1] + ', "rows": [')
            for number, row in enumerate(islice(self._rows(each), self._limit or None)):
                out.write((",\n" if number else "\n") + json_text(row_to_dict(each, row)))
            out.write("\n]}")
        out.write("\n" if alone else f'\n], "unavailable": {json_text(unavailable)}}}\n')

    def _csv(self, each: Report) -> None:
        from gossamer.files import tables
        from gossamer.graph.reports.base import column_type

        columns = [tables.Column(name, column_type(name)) for name in each.columns]
        rows = islice(self._rows(each), self._limit or None)
        sys.stdout.flush()
        tables.write_csv(tables.Table(columns=columns, rows=rows), sys.stdout.buffer)

    def _pipe(self, reports: Sequence[Report]) -> None:
        for each in reports:
            if len(reports) > 1:
                show(f"# {each.code} {each.name}")
            _table(each, islice(self._rows(each), self._limit or None))

    def _people(self, reports: Sequence[Report]) -> None:
        wanted = rows_wanted(self._limit, ROWS_ON_A_TERMINAL)
        for each in reports:
            rows = self._rows(each)
            first = list(islice(rows, wanted))
            # How many there are in all takes a long report as long as all of it: not when some were asked for.
            more = sum(1 for _ in (islice(rows, 1) if self._limit else rows))
            self._ticker.close()
            total = f"more than {len(first):,}" if more and self._limit else f"{len(first) + more:,}"
            heading(f"{each.code} {each.name} ({each.severity}): {each.finds}: {total}")
            if first:
                _table(each, first)
                show()
            if more:
                say(f"Only the first {len(first):,} shown; --limit 0 shows all.")
        if len(reports) == 1 and self._found:
            say(f"{reports[0].fix} (gossamer report --explain {reports[0].code})")


def _table(each: Report, rows: Iterable[ReportRow]) -> None:
    from gossamer.graph.reports.base import column_type

    kinds = [column_type(name) for name in each.columns]
    columns = [
        Column(
            name.replace("_", " "),
            align="right" if kind in {"integer", "number"} else "left",
            cut="middle" if name in CUT_IN_THE_MIDDLE else "end" if kind == "text" else "never",
        )
        for name, kind in zip(each.columns, kinds, strict=True)
    ]
    write_table(columns, ([_cell(kind, value) for kind, value in zip(kinds, row, strict=True)] for row in rows))


def _cell(kind: str, value: object) -> str:
    if value is None:
        return ""
    if kind == "time":
        return at(float(str(value)))
    if kind == "flag":
        return "yes" if value else "no"
    return str(value)
