"""The command `report`: an overview of all reports, or the findings of some with what to do about them."""

from __future__ import annotations

import re
import sys
import time
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING

import click
import msgspec
from msgspec.structs import replace

from gossamer.cli.help import HelpCommand
from gossamer.cli.hints import complete_commands, hint
from gossamer.cli.options import limit_option, open_web, store_option
from gossamer.cli.output import (
    ProgressLine,
    is_terminal,
    json_text,
    print_line,
    print_message,
    print_note,
    row_limit,
)
from gossamer.cli.pager import page_output, pager_option, wide_option
from gossamer.cli.report_list import print_explanations, print_list
from gossamer.cli.report_overview import FINDINGS, ReportOverview
from gossamer.cli.report_table import number_found, print_wrapped_heading, write_report_table
from gossamer.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from gossamer.cli.report_list import Form
    from gossamer.graph.reports.base import MissingData, Report, ReportOptions, ReportRow
    from gossamer.store.protocol import Store

TERMINAL_ROWS = 50  # of each report on a terminal without --limit; a pipe gets all rows
UNIT_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}


def _complete_name(_: click.Context, __: click.Parameter, prefix: str) -> list[str]:
    from gossamer.graph.reports.registry import REPORTS, THEMES

    return [name for name in (*(each.name for each in REPORTS), *THEMES, "all") if name.startswith(prefix)]


@click.command(cls=HelpCommand)
@click.argument("names", metavar="[NAME]...", nargs=-1, shell_complete=_complete_name)
@click.option("--list", "listing", is_flag=True, help="List all reports.")
@click.option(
    "--explain", metavar="CODE", multiple=True, help="Explain why a finding matters and how to fix it; also: score."
)
@click.option("--recount", is_flag=True, help="Count all findings again now, also those that take minutes.")
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
@wide_option
@pager_option
@limit_option
@store_option
@click.pass_context
def report(
    ctx: click.Context,
    names: tuple[str, ...],
    listing: bool,
    explain: tuple[str, ...],
    recount: bool,
    url: str | None,
    since: str | None,
    fail_on: str | None,
    form: Form,
    wide: bool,
    pager: bool,
    limit: int | None,
    store: str,
) -> None:
    """Report problems and facts of a site.

    Without a NAME it shows every report with its number of findings, worst first, and the health score. NAME is a
    report (`broken`), its code (`LNK001`), a group of reports (`links`) or `all`; you can give several. A terminal
    shows the first 50 rows of each report; --limit changes that.

    \b
    JSON: {"report", "code", "severity", "rows": [{...}]}
    of several: {"reports": [{"report", ...}], "unavailable": {code: why}}
    without a name: {"score", "complete", "score_change", "pages", "counted_before",
           "reports": [{"report", "code", "severity", "findings", "change", "counted_at", ...}]}
    """
    if explain:
        print_explanations(explain, form)
        return
    if listing:
        print_list(form)
        return
    if not names:
        overview = ReportOverview(store, recount=recount, fail_on=fail_on)
        with page_output(wanted=pager and form == "table"):
            has_findings = overview.show(form, wide=wide)
        ctx.exit(1 if has_findings else 0)
    printing = Printing(location=store, form=form, limit=limit, wide=wide, pager=pager)
    relevant, with_findings, lacking = _print_findings(names, url, since, printing)
    if fail_on:
        relevant = [each for each in relevant if each.severity.rank <= FINDINGS.index(fail_on)]
        _exit_by_findings(ctx, relevant, with_findings, lacking)


class Printing(msgspec.Struct, frozen=True, kw_only=True):
    """Which web to read, and how to print rows."""

    location: str
    form: Form
    limit: int | None
    wide: bool
    pager: bool


def _print_findings(
    names: Sequence[str], url: str | None, since: str | None, printing: Printing
) -> tuple[list[Report], list[Report], dict[str, MissingData]]:
    """Print the rows of reports; return the reports, those with rows, and those that miss data."""
    from gossamer.graph.reports.base import find_missing_data
    from gossamer.graph.reports.registry import select_reports

    reports = select_reports(names)
    if printing.form == "csv" and len(reports) > 1:
        raise UsageError("CSV holds one report: give one name, or use --json.")
    with open_web(printing.location) as web:
        lacking = find_missing_data(web, reports)
        if len(reports) == 1 and (lack := lacking.get(reports[0].code)) and lack.is_total:
            raise UsageError(f"The report {reports[0].name} cannot be made: {lack.reason}.")
        progress_line = ProgressLine()
        options = _options(web, reports, url, since)
        if printing.form == "table" or not is_terminal(sys.stdout):  # else the progress line would mix with the rows
            options = replace(options, on_progress=progress_line.update)
        printer = _ReportPrinter(web, options, printing, progress_line)
        with page_output(wanted=printing.pager and printing.form == "table"):
            with_findings = printer.print_reports(reports, lacking)
            progress_line.close()
    return reports, with_findings, lacking


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


# -- findings ----------------------------------------------------------------------------------------------------------


class _ReportPrinter:
    """Prints reports in one form, and collects those with findings."""

    def __init__(self, web: Store, options: ReportOptions, printing: Printing, progress_line: ProgressLine) -> None:
        self._web = web
        self._options = options
        self._location = printing.location
        self._form = printing.form
        self._limit = printing.limit
        self._wide = printing.wide
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
            write_report_table(each, islice(self._rows(each), self._limit or None))

    def _print_terminal(self, reports: Sequence[Report]) -> None:
        row_count = row_limit(self._limit, TERMINAL_ROWS)
        for each in reports:
            rows = self._rows(each)
            first = list(islice(rows, row_count))
            # The database has the whole answer already. A report that inspects pages stops at the limit.
            stops = each.inspects and self._limit is not None
            more = sum(1 for _ in (islice(rows, 1) if stops else rows))
            known = self._counted_before(each) if stops and more else None
            self._progress_line.close()
            total = known or len(first) + more
            size = number_found(each, total, len(first), at_least=bool(stops and more) and known is None)
            print_wrapped_heading(f"{each.code} {each.name} ({each.severity}): {each.finds}: {size}")
            if first:
                write_report_table(each, first, wide=self._wide)
                print_line()
            if more:
                print_note(f"Only the first {len(first):,} shown; --limit 0 shows all.")
        if len(reports) == 1 and self._with_findings:
            print_note(f"{complete_commands(reports[0].fix)} ({hint(f'report --explain {reports[0].code}')})")

    def _counted_before(self, each: Report) -> int | None:
        """Return the number of findings if it was counted for the present state of the web."""
        from gossamer.graph.reports.audit_file import counts_directory, read_counts, web_state

        directory = counts_directory(self._location)
        stored = read_counts(directory) if directory else None
        if stored is None or stored.find_outdated(web_state(self._web), [each]):
            return None
        return stored.counts[each.code].findings
