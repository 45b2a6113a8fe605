"""`gossamer report` without a name: every report with its number of findings, and the health score."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from gossamer.basics.display import format_age, pluralize
from gossamer.cli.crawlers import is_at_work
from gossamer.cli.hints import hint
from gossamer.cli.options import open_web
from gossamer.cli.output import (
    DIM,
    RED,
    YELLOW,
    ProgressLine,
    TerminalColumn,
    is_terminal,
    json_text,
    print_line,
    print_note,
    with_style,
    write_table,
)
from gossamer.cli.pager import print_table_notes
from gossamer.cli.report_list import report_fields
from gossamer.errors import UsageError

if TYPE_CHECKING:
    from gossamer.cli.report_list import Form
    from gossamer.graph.reports.audit import Audit, AuditedReport, StoredCounts
    from gossamer.graph.reports.base import Report, Severity
    from gossamer.store.protocol import Store

MAX_PAGES_AT_ONCE = 1_000  # pages of a web whose slow reports are counted at once too: they take two seconds then
FINDINGS = ("error", "warning", "notice")  # severities for --fail-on; an info is an overview, no finding
STYLES = {"error": RED, "warning": YELLOW}


class ReportOverview:
    """The overview of one web."""

    def __init__(self, location: str, *, recount: bool, fail_on: str | None) -> None:
        self._location = location
        self._recount = recount
        self._fail_on = fail_on

    def show(self, form: Form, *, wide: bool = False) -> bool:
        """Print the overview; return whether there are findings that `--fail-on` names."""
        from gossamer.graph.reports.audit import COUNTED_REPORTS, make_audit
        from gossamer.graph.reports.audit_file import web_state
        from gossamer.graph.reports.base import find_missing_data

        if form == "csv":
            raise UsageError("CSV holds one report: give its name, or use --json.")
        with open_web(self._location) as web:
            lacking = find_missing_data(web, COUNTED_REPORTS)
            possible = [each for each in COUNTED_REPORTS if not (each.code in lacking and lacking[each.code].is_total)]
            stored, is_crawled = self._current_counts(web, possible), any(map(is_at_work, web.crawlers()))
            audit = make_audit(stored, web_state(web), lacking)
        if form == "json":
            print_line(json_text(audit_fields(audit), indent=2))
        else:
            _print_audit(audit, is_crawled=is_crawled, wide=wide)
        return self._has_findings(audit)

    def _current_counts(self, web: Store, reports: list[Report]) -> StoredCounts:
        """Return the counts; count first what is out of date, as far as it is quick or `--fail-on` needs it."""
        from gossamer.auditing import count_reports, start_background_count
        from gossamer.graph.reports.audit import StoredCounts
        from gossamer.graph.reports.audit_file import counts_directory, read_counts, web_state

        directory, state = counts_directory(self._location), web_state(web)
        stored = read_counts(directory) if directory else StoredCounts()
        outdated = reports if self._recount else stored.find_outdated(state, reports)
        is_crawled = any(map(is_at_work, web.crawlers())) and stored.identity == state.identity
        at_once = self._recount or web.counts().documents <= MAX_PAGES_AT_ONCE
        now = [
            each for each in outdated if self._is_awaited(each) or (not is_crawled and (at_once or not each.inspects))
        ]
        if now:
            progress_line = ProgressLine()
            stored = count_reports(self._location, web, now, directory, progress_line.update)
            progress_line.close()
        if directory and not is_crawled and stored.find_outdated(web_state(web), reports):
            start_background_count(self._location, directory)
        return stored

    def _is_awaited(self, each: Report) -> bool:
        return self._recount or self._is_relevant(each)

    def _is_relevant(self, each: Report) -> bool:
        """Return whether findings of a report decide the exit code."""
        return self._fail_on is not None and each.severity.rank <= FINDINGS.index(self._fail_on)

    def _has_findings(self, audit: Audit) -> bool:
        relevant = [each for each in audit.reports if self._is_relevant(each.report)]
        if any(each.findings for each in relevant):
            return True
        for each in relevant:
            if each.unavailable:
                raise UsageError(
                    f"There are no findings, but the report {each.report.name} could not run: {each.unavailable}."
                )
        return False


def audit_fields(audit: Audit) -> dict[str, object]:
    """Return an audit as JSON has it."""
    return {
        "score": audit.score,
        "complete": audit.is_complete,
        "score_change": audit.change,
        "pages": audit.pages,
        "counted_before": audit.since,
        "reports": [_audited_fields(each) for each in audit.reports],
    }


def _audited_fields(each: AuditedReport) -> dict[str, object]:
    return report_fields(each.report) | {
        "findings": each.findings, "change": each.change, "counted_at": each.counted_at, "current": each.is_current,
        "unavailable": each.unavailable,
    }  # fmt: skip


# -- for people --------------------------------------------------------------------------------------------------------


def _print_audit(audit: Audit, *, is_crawled: bool, wide: bool) -> None:
    if is_terminal(sys.stdout):
        _print_score(audit)
    columns = [
        TerminalColumn("findings", align="right"), TerminalColumn("change", align="right"),
        TerminalColumn("severity"), TerminalColumn("report"), TerminalColumn("code", drop=1),
        TerminalColumn("counted", drop=2), TerminalColumn("finds", cut="end", room=60),
    ]  # fmt: skip
    rows = [_row(each, with_age=is_crawled or each.report.inspects) for each in audit.reports]
    styles = [_row_style(each) for each in audit.reports]
    print_table_notes(write_table(columns, rows, wide=wide, row_styles=styles))
    _print_notes(audit, is_crawled=is_crawled)


def _print_score(audit: Audit) -> None:
    if audit.score is None:
        print_line("No page was visited, so there is no health score yet.\n")
        return
    change = f" ({audit.change:+d} since {format_age(audit.since)})" if audit.change is not None and audit.since else ""
    so_far = "" if audit.is_complete else " so far"
    print_line(
        with_style(f"Health score {audit.score} of 100{so_far}{change}", "1", sys.stdout)
        + f", {pluralize(audit.pages, 'page')}\n"
    )


def _row(each: AuditedReport, *, with_age: bool) -> tuple[str, ...]:
    not_counted = "-" if each.unavailable else "..."
    number = not_counted if each.findings is None else f"{each.findings:,}"
    change = f"{each.change:+,d}" if each.change else ""
    age = format_age(each.counted_at) if each.counted_at and (with_age or not each.is_current) else ""
    return number, change, each.report.severity, each.report.name, each.report.code, age, each.report.finds


def _row_style(each: AuditedReport) -> str:
    severity: Severity = each.report.severity
    return STYLES.get(severity, "") if each.findings else DIM if each.findings == 0 or each.unavailable else ""


def _print_notes(audit: Audit, *, is_crawled: bool) -> None:
    if is_crawled and audit.outdated_reports:
        print_note("A crawl is running: these are the last counts. --recount counts again now.")
    if audit.uncounted_reports:
        waiting = ", ".join(each.report.name for each in audit.uncounted_reports)
        print_note(f"... counts in the background: {waiting}. Ask again in a moment, or wait with --recount.")
    inspected = [each.counted_at for each in audit.reports if each.report.inspects and each.counted_at]
    if inspected:
        print_note(f"Reports that inspect stored pages: counted {format_age(min(inspected))}.")
    for each in audit.reports:
        if each.unavailable:
            print_note(f"- {each.report.name} cannot be made: {each.unavailable}.")
    if worst := next((each for each in audit.reports if each.findings and not each.is_overview), None):
        print_note(f"What is behind a number: {hint(f'report {worst.report.name}')}")
    if audit.score is not None:
        print_note(f"How the score is computed: {hint('report --explain score')}")
