"""Reports, as tables to look at and as JSON and CSV.

A report may look at every page of a web. So its rows are kept until the store changes, and other pages and orders of
them are answered from there.
"""

from __future__ import annotations

import tempfile
import threading
from collections import OrderedDict
from itertools import islice
from typing import IO, TYPE_CHECKING, Annotated, Any, Literal

import msgspec
from fastapi import APIRouter, Query, Request
from starlette.responses import Response, StreamingResponse

from gossamer.errors import UsageError
from gossamer.files import tables
from gossamer.graph.reports.base import ColumnType, ReportOptions, Severity, column_type, find_missing_data
from gossamer.graph.reports.registry import REPORTS, THEMES
from gossamer.web import answers
from gossamer.web.api import BAD_REQUEST, NOT_FOUND, Limit, PageNumber, ShortText
from gossamer.web.http import api_examples
from gossamer.web.http.compression import JsonResponse
from gossamer.web.http.openapi import json_responses, media_responses
from gossamer.web.http.problems import NotFound

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gossamer.graph.reports.base import MissingData, Report, ReportRow
    from gossamer.store.protocol import Store
    from gossamer.web.http.sessions import ReadSession

api = APIRouter(prefix="/api", tags=["reports"])
pages = APIRouter(include_in_schema=False)

MAX_CACHED_ROWS = 100_000  # of one report; more are told to be there, and are in the CSV
MAX_CACHED_REPORTS = 24
PER_PAGE = 100
SPOOL_BYTES = 1 << 20  # bytes of a CSV before it goes to a file
CHUNK_BYTES = 1 << 16
BAR_COLUMNS = frozenset(
    {"count", "pages", "resources", "copies", "targets", "links"}
)  # what an overview's bars are made of

AboutUrl = Annotated[str, Query(max_length=4_096, description="The URL that some reports are about.")]
Since = Annotated[
    float, Query(ge=0, le=1e11, description="Unix time from which changes are told; default: the last round.")
]
Order = Annotated[Literal["asc", "desc"], Query()]


class ReportColumn(msgspec.Struct, frozen=True, kw_only=True):
    """A column of a report."""

    name: str
    type: ColumnType


class ReportSummary(msgspec.Struct, frozen=True, kw_only=True):
    """What a report finds."""

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
    unavailable: str  # why it cannot be made of this web; "" when it can
    incomplete: str  # why it may miss something; "" when it does not


class ReportList(msgspec.Struct, frozen=True, kw_only=True):
    """Every report there is."""

    reports: list[ReportSummary]


class ReportRows(msgspec.Struct, frozen=True, kw_only=True):
    """What a report found."""

    report: str
    code: str
    severity: Severity
    columns: list[ReportColumn]
    rows: list[dict[str, Any]]
    page: int
    limit: int
    total: int
    more: bool  # there are more rows behind this page


class ReportTable(msgspec.Struct, frozen=True):
    """The rows of a report, all or the first of them."""

    rows: Sequence[ReportRow]
    cut: bool


class ReportCache:
    """Rows found before, as long as they hold."""

    def __init__(self) -> None:
        self._tables: OrderedDict[tuple[object, ...], ReportTable] = OrderedDict()
        self._lock = threading.Lock()

    def rows(self, store: Store, report: Report, options: ReportOptions) -> ReportTable:
        """The rows of a report."""
        key = (report.code, options, store.version())
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


# -- what was asked ----------------------------------------------------------------------------------------------------


def _find_report(name: str) -> Report:
    key = name.lower()
    found = next((each for each in REPORTS if key in {each.name, each.code.lower()}), None)
    if found is None:
        raise NotFound(f'There is no report "{name}"; /api/reports lists them.')
    return found


def _options(store: Store, report: Report, url: str, since: float) -> ReportOptions:
    if "url" in report.takes and not url:
        raise UsageError(f"The report {report.name} is about one URL: give it as url=...")
    lack = find_missing_data(store, [report]).get(report.code)
    if lack and lack.is_total:
        raise UsageError(f"The report {report.name} cannot be made: {lack.reason}.")
    current = store.current_round()
    start = since or (current.started_at if current else 0.0)
    about = answers.resource(store, url).id if "url" in report.takes else None
    return ReportOptions(resource=about, since=start if "since" in report.takes else 0.0)


def _report_list(store: Store) -> ReportList:
    lacking = find_missing_data(store, REPORTS)
    themes = {report.code: theme for theme, reports in THEMES.items() for report in reports}
    return ReportList(
        reports=[
            ReportSummary(
                code=each.code, report=each.name, severity=each.severity, theme=themes[each.code], finds=each.finds,
                why=each.why, fix=each.fix, columns=_columns(each), needs=each.needs, takes=each.takes,
                unavailable=_reason(lacking.get(each.code), wholly=True),
                incomplete=_reason(lacking.get(each.code), wholly=False),
            )
            for each in REPORTS
        ]
    )  # fmt: skip


def _reason(lack: MissingData | None, *, wholly: bool) -> str:
    return lack.reason if lack and lack.is_total == wholly else ""


def _columns(report: Report) -> list[ReportColumn]:
    return [ReportColumn(name=name, type=column_type(name)) for name in report.columns]


def _sort_rows(report: Report, rows: Sequence[ReportRow], sort: str, order: str) -> Sequence[ReportRow]:
    """Rows by a column; those without a value last."""
    if not sort:
        return rows
    if sort not in report.columns:
        raise UsageError(f'The report {report.name} has no column "{sort}", only {", ".join(report.columns)}.')
    column = report.columns.index(sort)
    present = [row for row in rows if row[column] is not None]
    text = column_type(sort) == "text"
    present.sort(key=lambda row: str(row[column]).casefold() if text else row[column], reverse=order == "desc")
    return [*present, *(row for row in rows if row[column] is None)]


class ReportRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Which rows of a report, and in which order."""

    url: str
    since: float
    page: int
    limit: int
    sort: str
    order: str


def _report_rows(session: ReadSession, cache: ReportCache, report: Report, report_request: ReportRequest) -> ReportRows:
    table = cache.rows(session.store, report, _options(session.store, report, report_request.url, report_request.since))
    first = (report_request.page - 1) * report_request.limit
    rows = _sort_rows(report, table.rows, report_request.sort, report_request.order)[
        first : first + report_request.limit
    ]
    return ReportRows(
        report=report.name,
        code=report.code,
        severity=report.severity,
        columns=_columns(report),
        rows=[_cells(report, row) for row in rows],
        page=report_request.page,
        limit=report_request.limit,
        total=len(table.rows),
        more=table.cut or len(table.rows) > first + report_request.limit,
    )


def _cells(report: Report, row: ReportRow) -> dict[str, Any]:
    pairs = zip(report.columns, row, strict=True)
    return {name: bool(value) if column_type(name) == "flag" else value for name, value in pairs}


# -- the API -----------------------------------------------------------------------------------------------------------


@api.get("/reports", responses=json_responses(ReportList, api_examples.REPORTS))
def reports(request: Request) -> Response:
    """Every report: what it finds, why that matters, how to mend it."""
    with request.app.state.sessions.open() as session:
        return JsonResponse(_report_list(session.store))


@api.get("/reports/{name}.csv", responses=media_responses("text/csv", "All rows.", NOT_FOUND, BAD_REQUEST))
def report_csv(request: Request, name: str, url: AboutUrl = "", since: Since = 0.0) -> Response:
    """All rows of a report as CSV."""
    report = _find_report(name)
    # Not sent as it is made, so that a slow reader keeps nobody from a desk.
    spool: IO[bytes] = tempfile.SpooledTemporaryFile(SPOOL_BYTES)  # noqa: SIM115 - closed when it was sent
    with request.app.state.sessions.open() as session:
        rows = report.rows(session.store, _options(session.store, report, url, since))
        columns = [tables.Column(column, column_type(column)) for column in report.columns]
        tables.write_csv(tables.Table(columns=columns, rows=rows), spool)
    headers = {"Content-Disposition": f'attachment; filename="{report.name}.csv"'}
    return StreamingResponse(_read_spool(spool), media_type="text/csv; charset=utf-8", headers=headers)


def _read_spool(spool: IO[bytes]) -> Iterator[bytes]:
    with spool:
        spool.seek(0)
        while chunk := spool.read(CHUNK_BYTES):
            yield chunk


@api.get("/reports/{name}", responses=json_responses(ReportRows, api_examples.REPORT, NOT_FOUND, BAD_REQUEST))
def report(
    request: Request,
    name: str,
    page: PageNumber = 1,
    limit: Limit = PER_PAGE,
    url: AboutUrl = "",
    since: Since = 0.0,
    sort: ShortText = "",
    order: Order = "asc",
) -> Response:
    """What a report found, a page of it."""
    report_request = ReportRequest(url=url, since=since, page=page, limit=limit, sort=sort, order=order)
    with request.app.state.sessions.open() as session:
        return JsonResponse(_report_rows(session, request.app.state.report_cache, _find_report(name), report_request))


# -- the pages ---------------------------------------------------------------------------------------------------------


@pages.get("/reports")
def reports_page(request: Request) -> Response:
    """Every report."""
    with request.app.state.sessions.open() as session:
        summaries = _report_list(session.store).reports
    themes = {theme: [each for each in summaries if each.theme == theme] for theme in THEMES}
    answer: Response = request.app.state.templates.page(request, "reports.html", themes=themes)
    return answer


@pages.get("/reports/{name}")
def report_page(
    request: Request,
    name: str,
    page: PageNumber = 1,
    url: AboutUrl = "",
    sort: ShortText = "",
    order: Order = "asc",
) -> Response:
    """A report as a table, with bars where it is an overview."""
    report = _find_report(name)
    report_request = ReportRequest(url=url, since=0.0, page=page, limit=PER_PAGE, sort=sort, order=order)
    with request.app.state.sessions.open() as session:
        summary = next(each for each in _report_list(session.store).reports if each.code == report.code)
        ready = not summary.unavailable and (url or "url" not in report.takes)
        table = _report_rows(session, request.app.state.report_cache, report, report_request) if ready else None
    link_parameters = {"url": url, "sort": sort, "order": order if sort else ""}
    bar = next((name for name in report.columns if name in BAR_COLUMNS), "") if report.severity is Severity.INFO else ""
    answer: Response = request.app.state.templates.page(
        request,
        "report.html",
        summary=summary,
        table=table,
        link_parameters=link_parameters,
        url=url,
        sort=sort,
        order=order,
        bar=bar,
    )
    return answer
