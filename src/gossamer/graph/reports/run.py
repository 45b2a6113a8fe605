"""Run one report for programs: rows as dictionaries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gossamer.errors import UsageError
from gossamer.graph.reports.base import ReportOptions, column_type, find_missing_data
from gossamer.graph.reports.registry import select_reports

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gossamer.graph.reports.base import Report, ReportRow
    from gossamer.store.protocol import ReportSource


def run_report(
    store: ReportSource, name: str, *, resource: int | None = None, since: float = 0.0
) -> Iterator[dict[str, object]]:
    """Yield the rows of one report as dictionaries by column name."""
    reports = select_reports([name])
    if len(reports) > 1:
        raise UsageError(f"{name} is a group of reports. Run its reports one by one, {reports[0].name} first.")
    report = reports[0]
    if "url" in report.takes and resource is None:
        raise UsageError(f"The report {report.name} needs a URL. Give one.")
    missing = find_missing_data(store, reports).get(report.code)
    if missing and missing.is_total:
        raise UsageError(f"The report {report.name} cannot be made: {missing.reason}.")
    return (row_to_dict(report, row) for row in report.rows(store, ReportOptions(resource=resource, since=since)))


def row_to_dict(report: Report, row: ReportRow) -> dict[str, object]:
    """Return a row as a dictionary by column name."""
    cells = zip(report.columns, row, strict=True)
    return {name: bool(value) if column_type(name) == "flag" else value for name, value in cells}
