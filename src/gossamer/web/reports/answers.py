"""Answers about reports, for the HTML table and for the API alike.

A report may read every page of a web. So `ReportCache` keeps its rows until the store changes, and other pages and
orders of the same report come from the cache.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from itertools import islice
from typing import TYPE_CHECKING, Any

import msgspec

from gossamer.errors import UsageError
from gossamer.graph.reports.base import ColumnType, ReportOptions, Severity, column_type, find_missing_data
from gossamer.graph.reports.registry import REPORTS, THEMES
from gossamer.web.http.problems import NotFound
from gossamer.web.pages.answers import require_resource

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gossamer.graph.reports.base import MissingData, Report, ReportRow
    from gossamer.store.protocol import Store
    from gossamer.web.http.sessions import ReadSession

MAX_CACHED_ROWS = 100_000  # of one report; the CSV has all rows
MAX_CACHED_REPORTS = 24


class ReportColumn(msgspec.Struct, frozen=True, kw_only=True):
    """A column of a report."""

    name: str
    type: ColumnType


class ReportSummary(msgspec.Struct, frozen=True, kw_only=True):
    """A report: what it finds, why that matters, how to fix it."""

    code: str
    report: str
    severity: Severity
    theme: str
    finds: str
    why: str
    fix: str
    columns: list[ReportColumn]
    needs: tuple[str, ...]
    takes: tuple[str, ...]
    unavailable: str  # why this web does not allow the report; "" when it does
    incomplete: str  # why the report may miss rows; "" when it is complete


class ReportList(msgspec.Struct, frozen=True, kw_only=True):
    """All reports."""

    reports: list[ReportSummary]


class ReportRows(msgspec.Struct, frozen=True, kw_only=True):
    """One page of the rows of a report."""

    report: str
    code: str
    severity: Severity
    columns: list[ReportColumn]
    rows: list[dict[str, Any]]
    page: int
    limit: int
    total: int
    more: bool  # whether rows follow after this page


class ReportRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Which rows of a report to return, and in which order."""

    url: str
    since: float
    page: int
    limit: int
    sort: str
    order: str


class ReportTable(msgspec.Struct, frozen=True):
    """The rows of a report, at most `MAX_CACHED_ROWS`."""

    rows: Sequence[ReportRow]
    cut: bool


class ReportCache:
    """Rows of recent reports, valid for one version of the store."""

    def __init__(self) -> None:
        self._tables: OrderedDict[tuple[object, ...], ReportTable] = OrderedDict()
        self._lock = threading.Lock()

    def rows(self, store: Store, report: Report, options: ReportOptions) -> ReportTable:
        """Return the rows of a report. Two threads may compute the same report at once; the lock guards the dict."""
        key = (report.code, options, store.identity, store.version())
        with self._lock:
            if key in self._tables:
                self._tables.move_to_end(key)
                return self._tables[key]
        rows = list(islice(report.rows(store, options), MAX_CACHED_ROWS + 1))
        table = ReportTable(rows[:MAX_CACHED_ROWS], cut=len(rows) > MAX_CACHED_ROWS)
        with self._lock:
            self._tables[key] = table
            while len(self._tables) > MAX_CACHED_REPORTS:
                self._tables.popitem(last=False)
        return table


# -- one report --------------------------------------------------------------------------------------------------------


def find_report(name: str, list_path: str = "/api/reports") -> Report:
    """Return the report with a name or a code, in any case; the error points to `list_path`."""
    key = name.lower()
    report = next((each for each in REPORTS if key in {each.name, each.code.lower()}), None)
    if report is None:
        raise NotFound(f'There is no report "{name}"; {list_path} lists them.')
    return report


def report_options(store: Store, report: Report, url: str, since: float) -> ReportOptions:
    """Return the options of a report, or raise `UsageError` if it needs a URL or data that this web lacks."""
    if "url" in report.takes and not url:
        raise UsageError(f"The report {report.name} is about one URL: give it as url=...")
    lack = find_missing_data(store, [report]).get(report.code)
    if lack and lack.is_total:
        raise UsageError(f"The report {report.name} cannot be made: {lack.reason}.")
    current = store.current_round()
    start = since or (current.started_at if current else 0.0)
    about = require_resource(store, url).id if "url" in report.takes else None
    return ReportOptions(resource=about, since=start if "since" in report.takes else 0.0)


def report_rows(session: ReadSession, cache: ReportCache, report: Report, report_request: ReportRequest) -> ReportRows:
    """Return one page of the rows of a report."""
    options = report_options(session.store, report, report_request.url, report_request.since)
    table = cache.rows(session.store, report, options)
    first = (report_request.page - 1) * report_request.limit
    end = first + report_request.limit
    rows = _sort_rows(report, table.rows, report_request.sort, report_request.order)[first:end]
    return ReportRows(
        report=report.name,
        code=report.code,
        severity=report.severity,
        columns=_columns(report),
        rows=[_cells(report, row) for row in rows],
        page=report_request.page,
        limit=report_request.limit,
        total=len(table.rows),
        more=table.cut or len(table.rows) > end,
    )


def _sort_rows(report: Report, rows: Sequence[ReportRow], sort: str, order: str) -> Sequence[ReportRow]:
    """Sort rows by a column; rows without a value come last in both orders."""
    if not sort:
        return rows
    if sort not in report.columns:
        raise UsageError(f'The report {report.name} has no column "{sort}", only {", ".join(report.columns)}.')
    column = report.columns.index(sort)
    present = [row for row in rows if row[column] is not None]
    text = column_type(sort) == "text"
    present.sort(key=lambda row: str(row[column]).casefold() if text else row[column], reverse=order == "desc")
    return [*present, *(row for row in rows if row[column] is None)]


def _cells(report: Report, row: ReportRow) -> dict[str, Any]:
    pairs = zip(report.columns, row, strict=True)
    return {name: bool(value) if column_type(name) == "flag" else value for name, value in pairs}


def _columns(report: Report) -> list[ReportColumn]:
    return [ReportColumn(name=name, type=column_type(name)) for name in report.columns]


# -- all reports -------------------------------------------------------------------------------------------------------


def report_list(store: Store) -> ReportList:
    """Return all reports, each with the reason if this web does not allow it."""
    lacking = find_missing_data(store, REPORTS)
    themes = {report.code: theme for theme, reports in THEMES.items() for report in reports}
    return ReportList(
        reports=[
            ReportSummary(
                code=each.code, report=each.name, severity=each.severity, theme=themes[each.code], finds=each.finds,
                why=each.why, fix=each.fix, columns=_columns(each), needs=each.needs, takes=each.takes,
                unavailable=_reason(lacking.get(each.code), is_total=True),
                incomplete=_reason(lacking.get(each.code), is_total=False),
            )
            for each in REPORTS
        ]
    )  # fmt: skip


def _reason(lack: MissingData | None, *, is_total: bool) -> str:
    return lack.reason if lack and lack.is_total == is_total else ""
