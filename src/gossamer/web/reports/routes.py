"""Routes of reports: JSON and CSV in the API, beside the HTML tables."""

from __future__ import annotations

import tempfile
from typing import IO, TYPE_CHECKING, Annotated, Literal

from fastapi import APIRouter, Query, Request
from starlette.responses import Response, StreamingResponse

from gossamer.files import tables
from gossamer.graph.reports.base import Severity, column_type
from gossamer.graph.reports.registry import THEMES
from gossamer.web.http import api_examples
from gossamer.web.http.compression import JsonResponse
from gossamer.web.http.openapi import json_responses, media_responses
from gossamer.web.http.parameters import BAD_REQUEST, NOT_FOUND, Limit, PageNumber, ShortText
from gossamer.web.http.templates import html_page
from gossamer.web.reports.answers import (
    ReportList,
    ReportRequest,
    ReportRows,
    find_report,
    report_list,
    report_options,
    report_rows,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

api = APIRouter(prefix="/api", tags=["reports"])
pages = APIRouter(include_in_schema=False)

PER_PAGE = 100  # rows
SPOOL_BYTES = 1 << 20  # of a CSV in memory; a longer one goes to a temporary file
CHUNK_BYTES = 1 << 16
BAR_COLUMNS = frozenset({"count", "pages", "resources", "copies", "targets", "links"})  # drawn as bars in overviews

AboutUrl = Annotated[str, Query(max_length=4_096, description="The URL that some reports are about.")]
Since = Annotated[
    float, Query(ge=0, le=1e11, description="Report changes since this Unix time; default: start of the last round.")
]
Order = Annotated[Literal["asc", "desc"], Query()]


# -- all reports -------------------------------------------------------------------------------------------------------


@api.get("/reports", responses=json_responses(ReportList, api_examples.REPORTS))
def reports(request: Request) -> Response:
    """List all reports: what each finds, why that matters, how to fix it."""
    with request.app.state.sessions.open() as session:
        return JsonResponse(report_list(session.store))


@pages.get("/reports")
def reports_page(request: Request) -> Response:
    """Show all reports by theme."""
    with request.app.state.sessions.open() as session:
        summaries = report_list(session.store).reports
    themes = {theme: [each for each in summaries if each.theme == theme] for theme in THEMES}
    return html_page(request, "reports.html", themes=themes)


# -- one report --------------------------------------------------------------------------------------------------------


# Before `/reports/{name}`, which would match it too.
@api.get("/reports/{name}.csv", responses=media_responses("text/csv", "All rows.", NOT_FOUND, BAD_REQUEST))
def report_csv(request: Request, name: str, url: AboutUrl = "", since: Since = 0.0) -> Response:
    """Return all rows of a report as CSV."""
    report = find_report(name)
    # The rows go to a spool first, so that a slow client does not hold a session.
    spool: IO[bytes] = tempfile.SpooledTemporaryFile(SPOOL_BYTES)  # noqa: SIM115 - `_read_spool` closes it
    with request.app.state.sessions.open() as session:
        rows = report.rows(session.store, report_options(session.store, report, url, since))
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
    """Return one page of the rows of a report."""
    report_request = ReportRequest(url=url, since=since, page=page, limit=limit, sort=sort, order=order)
    with request.app.state.sessions.open() as session:
        return JsonResponse(report_rows(session, request.app.state.report_cache, find_report(name), report_request))


@pages.get("/reports/{name}")
def report_page(
    request: Request,
    name: str,
    page: PageNumber = 1,
    url: AboutUrl = "",
    sort: ShortText = "",
    order: Order = "asc",
) -> Response:
    """Show a report as a table, with bars if it is an overview."""
    report = find_report(name, list_path="/reports")
    report_request = ReportRequest(url=url, since=0.0, page=page, limit=PER_PAGE, sort=sort, order=order)
    with request.app.state.sessions.open() as session:
        summary = next(each for each in report_list(session.store).reports if each.code == report.code)
        ready = not summary.unavailable and (url or "url" not in report.takes)
        table = report_rows(session, request.app.state.report_cache, report, report_request) if ready else None
    link_parameters = {"url": url, "sort": sort, "order": order if sort else ""}
    bar = next((name for name in report.columns if name in BAR_COLUMNS), "") if report.severity is Severity.INFO else ""
    return html_page(
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
