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
from gossamer.files.tables import Column, Table
from gossamer.graph.reports.base import ColumnType, ReportOptions, Severity, column_type, find_missing_data
from gossamer.graph.reports.registry import REPORTS, THEMES
from gossamer.web.http.problems import NotFound
from gossamer.web.pages.answers import require_resource
from gossamer.web.reports.table_view import (
    TableFacet,
    TableFilter,
    make_view,
    matching_rows,
    row_cells,
    table_groups,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gossamer.graph.reports.audit import AuditedReport
    from gossamer.graph.reports.base import MissingData, Report, ReportRow
    from gossamer.store.protocol import Store
    from gossamer.web.http.sessions import ReadSession
    from gossamer.web.reports.audits import AuditCache
    from gossamer.web.reports.table_view import TableView

THEME_OF = {report.code: theme for theme, reports in THEMES.items() for report in reports}
MAX_CACHED_ROWS = 100_000  # of one report; the CSV has all rows
MAX_CACHED_REPORTS = 24
MAX_CACHED_VIEWS = 32  # filtered or sorted rows; a view shares its rows with the report


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
    inspects: bool  # whether it reads stored pages one by one, so that it is counted in the background
    findings: int | None  # null: not counted yet, not possible, or about one URL
    change: int | None  # since the round before; null: not counted then
    counted_at: float | None  # Unix time
    current: bool  # whether the number belongs to the web as it is now


class ReportList(msgspec.Struct, frozen=True, kw_only=True):
    """All reports, worst first, and the health score."""

    score: int | None  # null: no page, or nothing counted yet
    complete: bool  # whether the score has all reports; before, it is the score so far
    score_change: int | None  # since the round before
    pages: int
    counted_before: float | None  # when the round before was counted
    crawling: bool  # whether a crawler is at work: the numbers are those of the last count
    counting: bool  # whether reports are being counted
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
    total: int  # rows that fit the filter; groups if they are grouped
    more: bool  # whether rows follow after this page
    found: int  # rows that fit the filter, before grouping
    all_rows: int  # of the report, without a filter; at most `MAX_CACHED_ROWS`
    cut: bool  # whether the report has more rows than these; the CSV of all rows has them
    facets: list[TableFacet]
    groups: list[str]  # columns to group by


class ReportRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Which rows of a report to return, and in which order."""

    url: str
    since: float
    page: int
    limit: int
    filter: TableFilter


class ReportTable(msgspec.Struct, frozen=True):
    """The rows of a report, at most `MAX_CACHED_ROWS`."""

    rows: Sequence[ReportRow]
    cut: bool


class ReportCache:
    """Rows of recent reports, valid for one version of the store."""

    def __init__(self) -> None:
        self._tables: OrderedDict[tuple[object, ...], ReportTable] = OrderedDict()
        self._views: OrderedDict[tuple[object, ...], TableView] = OrderedDict()
        self._lock = threading.Lock()

    def view(self, store: Store, report: Report, options: ReportOptions, wanted: TableFilter) -> TableView:
        """Return a view of the rows of a report; recent ones are kept for further pages."""
        key = (report.code, options, store.identity, store.version(), wanted)
        with self._lock:
            if key in self._views:
                self._views.move_to_end(key)
                return self._views[key]
        view = make_view(report, self.rows(store, report, options).rows, wanted)
        with self._lock:
            self._views[key] = view
            while len(self._views) > MAX_CACHED_VIEWS:
                self._views.popitem(last=False)
        return view

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
    view = cache.view(session.store, report, options, report_request.filter)
    first = (report_request.page - 1) * report_request.limit
    end = first + report_request.limit
    return ReportRows(
        report=report.name,
        code=report.code,
        severity=report.severity,
        columns=[ReportColumn(name=name, type=kind) for name, kind in view.columns],
        rows=[dict(row_cells(view.columns, row)) for row in view.rows[first:end]],
        page=report_request.page,
        limit=report_request.limit,
        total=len(view.rows),
        more=len(view.rows) > end,
        found=view.found,
        all_rows=len(table.rows),
        cut=table.cut,
        facets=view.facets,
        groups=table_groups(report),
    )


def csv_table(session: ReadSession, cache: ReportCache, report: Report, report_request: ReportRequest) -> Table:
    """Return the rows that a filter leaves, in its order, as a table to write; all pages of them.

    Without order and groups the rows stream from the report, also those beyond `MAX_CACHED_ROWS`.
    """
    options = report_options(session.store, report, report_request.url, report_request.since)
    wanted = report_request.filter
    if wanted.is_grouped or wanted.sort:
        view = cache.view(session.store, report, options, wanted)
        return Table(columns=[Column(name, kind) for name, kind in view.columns], rows=iter(view.rows))
    rows = matching_rows(report, report.rows(session.store, options), wanted)
    return Table(columns=[Column(name, column_type(name)) for name in report.columns], rows=rows)


def _columns(report: Report) -> list[ReportColumn]:
    return [ReportColumn(name=name, type=column_type(name)) for name in report.columns]


# -- all reports -------------------------------------------------------------------------------------------------------


def report_list(session: ReadSession, audits: AuditCache) -> ReportList:
    """Return all reports, worst first, each with its findings, or the reason if this web does not allow it."""
    lacking = audits.missing_data(session)
    answer = audits.audit(session, lacking)
    counted = [_summary(each.report, lacking, each) for each in answer.audit.reports]
    about_one_url = [_summary(each, lacking, None) for each in REPORTS if "url" in each.takes]
    return ReportList(
        score=answer.audit.score,
        complete=answer.audit.is_complete,
        score_change=answer.audit.change,
        pages=answer.audit.pages,
        counted_before=answer.audit.since,
        crawling=answer.is_crawled,
        counting=answer.is_counting,
        reports=[*counted, *about_one_url],
    )


def report_summary(store: Store, report: Report) -> ReportSummary:
    """Return one report, without its number of findings."""
    return _summary(report, find_missing_data(store, [report]), None)


def _summary(each: Report, lacking: Mapping[str, MissingData], audited: AuditedReport | None) -> ReportSummary:
    return ReportSummary(
        code=each.code, report=each.name, severity=each.severity, theme=THEME_OF[each.code], finds=each.finds,
        why=each.why, fix=each.fix, columns=_columns(each), needs=each.needs, takes=each.takes,
        unavailable=_reason(lacking.get(each.code), is_total=True),
        incomplete=_reason(lacking.get(each.code), is_total=False),
        inspects=each.inspects, findings=audited.findings if audited else None,
        change=audited.change if audited else None, counted_at=audited.counted_at if audited else None,
        current=audited.is_current if audited else False,
    )  # fmt: skip


def _reason(lack: MissingData | None, *, is_total: bool) -> str:
    return lack.reason if lack and lack.is_total == is_total else ""
