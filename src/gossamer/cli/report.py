"""The command `report`: the list of reports, and the findings of some with what to do about them."""

from __future__ import annotations

import re
import sys
import time
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from gossamer.basics.display import format_time
from gossamer.cli.options import limit_option, open_web, store_option
from gossamer.cli.output import (
    ProgressLine,
    TerminalColumn,
    is_terminal,
    json_text,
    print_heading,
    print_line,
    print_message,
    row_limit,
    write_table,
)
from gossamer.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from gossamer.graph.reports.base import MissingData, Report, ReportOptions, ReportRow
    from gossamer.store.protocol import Store

TERMINAL_ROWS = 50  # of each report on a terminal without --limit; a pipe gets all rows
FINDINGS = ("error", "warning", "notice")  # severities for --fail-on; an info is an overview, no finding
UNIT_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
MIDDLE_CUT_COLUMNS = frozenset({"url", "source", "target", "final", "canonical", "next", "sitemap", "same_as", "other"})


def _complete_name(_: click.Context, __: click.Parameter, prefix: str) -> list[str]:
    from gossamer.graph.reports.registry import REPORTS, THEMES

    return [name for name in (*(each.name for each in REPORTS), *THEMES, "all") if name.startswith(prefix)]


@click.command()
@click.argument("names", metavar="NAME...", nargs=-1, shell_complete=_complete_name)
@click.option("--list", "listing", is_flag=True, help="List all reports.")
@click.option("--explain", metavar="CODE", multiple=True, help="Explain why a finding matters and how to fix it.")
@click.option("--url", metavar="URL", help="URL for the reports inlinks and outlinks.")
@click.option(
    "--since", metavar="WHEN", help="Report changes since then: 7d, 12h, 2026-11-01 ...  [default: the last round]"
)
@click.option(
    "--fail-on", type=click.Choice(FINDINGS), help="Exit with code 1 if there is such a finding or a worse one."
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
    """Report problems and facts of a site; --list lists the reports.

    NAME is a report (`broken`), its code (`LNK001`), a group of reports (`links`) or `all`; you can give several.
    A terminal shows the first 50 rows of each report; --limit changes that.

    \b
    JSON: {"report", "code", "severity", "rows": [{...}]}
    of several: {"reports": [{"report", ...}], "unavailable": {code: why}}
    """
    from gossamer.graph.reports.base import find_missing_data
    from gossamer.graph.reports.registry import select_reports

    if explain:
        _print_explanations(select_reports(explain), form)
        return
    if listing or not names:
        _print_list(form)
        return
    reports = select_reports(names)
    if form == "csv" and len(reports) > 1:
        raise UsageError("CSV holds one report: give one name, or use --json.")
    with open_web(store) as web:
        lacking = find_missing_data(web, reports)
        if len(reports) == 1 and (lack := lacking.get(reports[0].code)) and lack.is_total:
            raise UsageError(f"The report {reports[0].name} cannot be made: {lack.reason}.")
        progress_line = ProgressLine()
        options = _options(web, reports, url, since)
        if form == "table" or not is_terminal(sys.stdout):  # else the progress line would mix with the rows
            options = replace(options, on_progress=progress_line.update)
        with_findings = _ReportPrinter(web, options, form, limit, progress_line).print_reports(reports, lacking)
        progress_line.close()
    if fail_on:
        _exit_by_findings(
            ctx, [each for each in reports if each.severity.rank <= FINDINGS.index(fail_on)], with_findings, lacking
        )


def _exit_by_findings(
    ctx: click.Context, relevant: Sequence[Report], with_findings: Sequence[Report], lacking: Mapping[str, MissingData]
) -> None:
    """Exit with 1 if a relevant report has findings, and with 2 if one of them could not run."""
    if any(each in with_findings for each in relevant):
        ctx.exit(1)
    for each in relevant:
        if (lack := lacking.get(each.code)) and lack.is_total:
            raise UsageError(f"There are no findings, but the report {each.name} could not run: {lack.reason}.")


def _options(web: Store, reports: Iterable[Report], url: str | None, since: str | None) -> ReportOptions:
    from gossamer.graph.reports.base import ReportOptions
    from gossamer.lookup import find_resource

    needed = {need for each in reports for need in each.takes}
    if "url" in needed and url is None:
        raise UsageError("This report is about one URL: give it with --url.")
    current = web.current_round()
    start = _parse_moment(since, time.time()) if since else current.started_at if current else 0.0
    return ReportOptions(resource=find_resource(web, url).id if url else None, since=start)


def _parse_moment(text: str, now: float) -> float:
    """Parse a span (7d: that long ago) or an ISO date with an optional time, UTC by default; return Unix time."""
    if span := re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([smhdw])\s*", text):
        return now - float(span[1]) * UNIT_SECONDS[span[2]]
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError as error:
        raise UsageError(f'"{text}" is not a time: give 7d, 12h, 2026-11-01 or 2026-11-01T08:30.') from error
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


# -- the list of reports -----------------------------------------------------------------------------------------------


def _print_list(form: str) -> None:
    from gossamer.graph.reports.registry import REPORTS, THEMES

    if form == "json":
        print_line(json_text({"reports": [_report_fields(each) for each in REPORTS]}, indent=2))
        return
    columns = [
        TerminalColumn("code"),
        TerminalColumn("name"),
        TerminalColumn("severity"),
        TerminalColumn("finds", cut="end"),
        TerminalColumn("group"),
    ]
    groups = {each.code: theme for theme, reports in THEMES.items() for each in reports}
    write_table(columns, ((r.code, r.name, r.severity, r.finds, groups[r.code]) for r in REPORTS))


def _print_explanations(reports: Sequence[Report], form: str) -> None:
    if form == "json":
        print_line(json_text({"reports": [_report_fields(each) for each in reports]}, indent=2))
        return
    for position, each in enumerate(reports):
        if position:
            print_line()
        print_heading(f"{each.code} {each.name} ({each.severity})")
        print_line(
            f"{each.finds}.\n\nWhy it matters: {each.why}\nWhat to do: {each.fix}\nColumns: {', '.join(each.columns)}"
        )


def _report_fields(each: Report) -> dict[str, object]:
    return {
        "code": each.code, "report": each.name, "severity": each.severity, "finds": each.finds, "why": each.why,
        "fix": each.fix, "columns": each.columns, "needs": each.needs,
    }  # fmt: skip


# -- findings ----------------------------------------------------------------------------------------------------------


class _ReportPrinter:
    """Prints reports in one form, and collects those with findings."""

    def __init__(
        self, web: Store, options: ReportOptions, form: str, limit: int | None, progress_line: ProgressLine
    ) -> None:
        self._web = web
        self._options = options
        self._form = form
        self._limit = limit
        self._progress_line = progress_line
        self._with_findings: list[Report] = []

    def print_reports(self, reports: Sequence[Report], lacking: Mapping[str, MissingData]) -> list[Report]:
        """Print all reports and return those that have rows."""
        for each in reports:
            if lack := lacking.get(each.code):
                problem = "cannot be made" if lack.is_total else "is not complete"
                print_message(f"{each.code} {each.name} {problem}: {lack.reason}.")
        unavailable = {code: lack.reason for code, lack in lacking.items() if lack.is_total}
        available = [each for each in reports if each.code not in unavailable]
        if self._form == "json":
            self._print_json(available, unavailable, alone=len(reports) == 1)
        elif self._form == "csv":
            self._print_csv(available[0])
        elif is_terminal(sys.stdout):
            self._print_terminal(available)
        else:
            self._print_pipe(available)
        return self._with_findings

    def _rows(self, each: Report) -> Iterator[ReportRow]:
        """Yield the rows of a report; the first one records that it has findings."""
        for row in each.rows(self._web, self._options):
            if not self._with_findings or self._with_findings[-1] is not each:
                self._with_findings.append(each)
            yield row

    def _print_json(self, reports: Sequence[Report], unavailable: dict[str, str], *, alone: bool) -> None:
        from gossamer.graph.reports.run import row_to_dict

        out = sys.stdout
        out.write("" if alone else '{"reports": [\n')
        for position, each in enumerate(reports):
            out.write(",\n" if position else "")
            head = {"report": each.name, "code": each.code, "severity": each.severity}
            out.write(json_text(head)[:-1] + ', "rows": [')
            for number, row in enumerate(islice(self._rows(each), self._limit or None)):
                out.write((",\n" if number else "\n") + json_text(row_to_dict(each, row)))
            out.write("\n]}")
        out.write("\n" if alone else f'\n], "unavailable": {json_text(unavailable)}}}\n')

    def _print_csv(self, each: Report) -> None:
        from gossamer.files import tables
        from gossamer.graph.reports.base import column_type

        columns = [tables.Column(name, column_type(name)) for name in each.columns]
        rows = islice(self._rows(each), self._limit or None)
        sys.stdout.flush()
        tables.write_csv(tables.Table(columns=columns, rows=rows), sys.stdout.buffer)

    def _print_pipe(self, reports: Sequence[Report]) -> None:
        for each in reports:
            if len(reports) > 1:
                print_line(f"# {each.code} {each.name}")
            _print_table(each, islice(self._rows(each), self._limit or None))

    def _print_terminal(self, reports: Sequence[Report]) -> None:
        row_count = row_limit(self._limit, TERMINAL_ROWS)
        for each in reports:
            rows = self._rows(each)
            first = list(islice(rows, row_count))
            # The total costs a full run of the report, so with --limit only look whether there is one more row.
            more = sum(1 for _ in (islice(rows, 1) if self._limit else rows))
            self._progress_line.close()
            total = f"more than {len(first):,}" if more and self._limit else f"{len(first) + more:,}"
            print_heading(f"{each.code} {each.name} ({each.severity}): {each.finds}: {total}")
            if first:
                _print_table(each, first)
                print_line()
            if more:
                print_message(f"Only the first {len(first):,} shown; --limit 0 shows all.")
        if len(reports) == 1 and self._with_findings:
            print_message(f"{reports[0].fix} (gossamer report --explain {reports[0].code})")


def _print_table(each: Report, rows: Iterable[ReportRow]) -> None:
    from gossamer.graph.reports.base import column_type

    kinds = [column_type(name) for name in each.columns]
    columns = [
        TerminalColumn(
            name.replace("_", " "),
            align="right" if kind in {"integer", "number"} else "left",
            cut="middle" if name in MIDDLE_CUT_COLUMNS else "end" if kind == "text" else "never",
        )
        for name, kind in zip(each.columns, kinds, strict=True)
    ]
    write_table(columns, ([_cell_text(kind, value) for kind, value in zip(kinds, row, strict=True)] for row in rows))


def _cell_text(kind: str, value: object) -> str:
    if value is None:
        return ""
    if kind == "time":
        return format_time(float(str(value)))
    if kind == "flag":
        return "yes" if value else "no"
    return str(value)
