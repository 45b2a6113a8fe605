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
from gossamer.web.api import BAD, NOT_FOUND, Limit, PageNumber, Short
from gossamer.web.http import api_examples
from gossamer.web.http.compression import Told
from gossamer.web.http.openapi import answers as answering
from gossamer.web.http.openapi import sends
from gossamer.web.http.problems import NotKnown

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gossamer.graph.reports.base import MissingData, Report, ReportRow
    from gossamer.store.protocol import Store
    from gossamer.web.http.sessions import Desk

api = APIRouter(prefix="/api", tags=["reports"])
pages = APIRouter(include_in_schema=False)

KEPT_ROWS = 100_000  # of one report; more are told to be there, and are in the CSV
KEPT_REPORTS = 24
PER_PAGE = 100
IN_MEMORY = 1 << 20  # bytes of a CSV before it goes to a file
CHUNK = 1 << 16
BARS = frozenset({"count", "pages", "resources", "copies", "targets", "links"})  # what an overview's bars are made of

About = Annotated[str, Query(max_length=4_096, description="The URL that some reports are about.")]
Since = Annotated[
    float, Query(ge=0, le=1e11, description="Unix time from which changes are told; default: the last round.")
]
Order = Annotated[Literal["asc", "desc"], Query()]


class ColumnTold(msgspec.Struct, frozen=True, kw_only=True):
    """A column of a report."""

    name: str
    type: ColumnType


class ReportTold(msgspec.Struct, frozen=True, kw_only=True):
    """What a report finds."""

    code: str
    report: str
    severity: Severity
    theme: str
    finds: str
    why: str
    fix: str
    columns: list[ColumnTold]
    needs: tuple[str, ...]
    takes: tuple[str, ...]
    unavailable: str  # why it cannot be made of this web; "" when it can
    incomplete: str  # why it may miss something; "" when it does not


class ReportList(msgspec.Struct, frozen=True, kw_only=True):
    """Every report there is."""

    reports: list[ReportTold]


class ReportRows(msgspec.Struct, frozen=True, kw_only=True):
    """What a report found."""

    report: str
    code: str
    severity: Severity
    columns: list[ColumnTold]
    rows: list[dict[str, Any]]
    page: int
    limit: int
    total: int
    more: bool  # there are more rows behind this page


class Found(msgspec.Struct, frozen=True):
    """The rows of a report, all or the first of them."""

    rows: Sequence[ReportRow]
    cut: bool


class Kept:
    """Rows found before, as long as they hold."""

    def __init__(self) -> None:
        self._found: OrderedDict[tuple[object, ...], Found] = OrderedDict()
        self._lock = threading.Lock()

    def rows(self, store: Store, report: Report, options: ReportOptions) -> Found:
        """The rows of a report."""
        key = (report.code, options, store.version())
        with self._lock:
            if key in self._found:
                self._found.move_to_end(key)
                return self._found[key]
        rows = list(islice(report.rows(store, options), KEPT_ROWS + 1))
        found = Found(rows[:KEPT_ROWS], cut=len(rows) > KEPT_ROWS)
        with self._lock:
            self._found[key] = found
            while len(self._found) > KEPT_REPORTS:
                self._found.popitem(last=False)
        return found


# -- what was asked ----------------------------------------------------------------------------------------------------


def _named(name: str) -> Report:
    wanted = name.lower()
    found = next((each for each in REPORTS if wanted in {each.name, each.code.lower()}), None)
    if found is None:
        raise NotKnown(f'There is no report "{name}"; /api/reports lists them.')
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


def _list(store: Store) -> ReportList:
    lacking = find_missing_data(store, REPORTS)
    themes = {report.code: theme for theme, reports in THEMES.items() for report in reports}
    return ReportList(
        reports=[
            ReportTold(
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


def _columns(report: Report) -> list[ColumnTold]:
    return [ColumnTold(name=name, type=column_type(name)) for name in report.columns]


def _in_order(report: Report, rows: Sequence[ReportRow], sort: str, order: str) -> Sequence[ReportRow]:
    """Rows by a column; those without a value last."""
    if not sort:
        return rows
    if sort not in report.columns:
        raise UsageError(f'The report {report.name} has no column "{sort}", only {", ".join(report.columns)}.')
    place = report.columns.index(sort)
    there = [row for row in rows if row[place] is not None]
    text = column_type(sort) == "text"
    there.sort(key=lambda row: str(row[place]).casefold() if text else row[place], reverse=order == "desc")
    return [*there, *(row for row in rows if row[place] is None)]


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """Which rows of a report, and in which order."""

    url: str
    since: float
    page: int
    limit: int
    sort: str
    order: str


def _rows(desk: Desk, kept: Kept, report: Report, wanted: Wanted) -> ReportRows:
    found = kept.rows(desk.store, report, _options(desk.store, report, wanted.url, wanted.since))
    first = (wanted.page - 1) * wanted.limit
    rows = _in_order(report, found.rows, wanted.sort, wanted.order)[first : first + wanted.limit]
    return ReportRows(
        report=report.name,
        code=report.code,
        severity=report.severity,
        columns=_columns(report),
        rows=[_cells(report, row) for row in rows],
        page=wanted.page,
        limit=wanted.limit,
        total=len(found.rows),
        more=found.cut or len(found.rows) > first + wanted.limit,
    )


def _cells(report: Report, row: ReportRow) -> dict[str, Any]:
    pairs = zip(report.columns, row, strict=True)
    return {name: bool(value) if column_type(name) == "flag" else value for name, value in pairs}


# -- the API -----------------------------------------------------------------------------------------------------------


@api.get("/reports", responses=answering(ReportList, api_examples.REPORTS))
def reports(request: Request) -> Response:
    """Every report: what it finds, why that matters, how to mend it."""
    with request.app.state.desks.open() as desk:
        return Told(_list(desk.store))


@api.get("/reports/{name}.csv", responses=sends("text/csv", "All rows.", NOT_FOUND, BAD))
def report_csv(request: Request, name: str, url: About = "", since: Since = 0.0) -> Response:
    """All rows of a report as CSV."""
    report = _named(name)
    # Not sent as it is made, so that a slow reader keeps nobody from a desk.
    spool: IO[bytes] = tempfile.SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115 - closed when it was sent
    with request.app.state.desks.open() as desk:
        rows = report.rows(desk.store, _options(desk.store, report, url, since))
        columns = [tables.Column(column, column_type(column)) for column in report.columns]
        tables.write_csv(tables.Table(columns=columns, rows=rows), spool)
    headers = {"Content-Disposition": f'attachment; filename="{report.name}.csv"'}
    return StreamingResponse(_read(spool), media_type="text/csv; charset=utf-8", headers=headers)


def _read(spool: IO[bytes]) -> Iterator[bytes]:
    with spool:
        spool.seek(0)
        while chunk := spool.read(CHUNK):
            yield chunk


@api.get("/reports/{name}", responses=answering(ReportRows, api_examples.REPORT, NOT_FOUND, BAD))
def report(
    request: Request,
    name: str,
    page: PageNumber = 1,
    limit: Limit = PER_PAGE,
    url: About = "",
    since: Since = 0.0,
    sort: Short = "",
    order: Order = "asc",
) -> Response:
    """What a report found, a page of it."""
    wanted = Wanted(url=url, since=since, page=page, limit=limit, sort=sort, order=order)
    with request.app.state.desks.open() as desk:
        return Told(_rows(desk, request.app.state.reports, _named(name), wanted))


# -- the pages ---------------------------------------------------------------------------------------------------------


@pages.get("/reports")
def reports_page(request: Request) -> Response:
    """Every report."""
    with request.app.state.desks.open() as desk:
        told = _list(desk.store).reports
    themes = {theme: [each for each in told if each.theme == theme] for theme in THEMES}
    answer: Response = request.app.state.look.page(request, "reports.html", themes=themes)
    return answer


@pages.get("/reports/{name}")
def report_page(
    request: Request,
    name: str,
    page: PageNumber = 1,
    url: About = "",
    sort: Short = "",
    order: Order = "asc",
) -> Response:
    """A report as a table, with bars where it is an overview."""
    asked = _named(name)
    wanted = Wanted(url=url, since=0.0, page=page, limit=PER_PAGE, sort=sort, order=order)
    with request.app.state.desks.open() as desk:
        told = next(each for each in _list(desk.store).reports if each.code == asked.code)
        ready = not told.unavailable and (url or "url" not in asked.takes)
        found = _rows(desk, request.app.state.reports, asked, wanted) if ready else None
    kept = {"url": url, "sort": sort, "order": order if sort else ""}
    bar = next((name for name in asked.columns if name in BARS), "") if asked.severity is Severity.INFO else ""
    answer: Response = request.app.state.look.page(
        request, "report.html", told=told, found=found, kept=kept, url=url, sort=sort, order=order, bar=bar
    )
    return answer
