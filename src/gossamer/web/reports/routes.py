"""Routes of reports: JSON and CSV in the API, beside the HTML tables."""

from __future__ import annotations

import tempfile
from typing import IO, TYPE_CHECKING, Annotated, Literal

from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import Response, StreamingResponse

from gossamer.files import tables
from gossamer.graph.reports.audit import SCORE_TEXT
from gossamer.graph.reports.base import Severity
from gossamer.web.http import api_examples
from gossamer.web.http.compression import JsonResponse
from gossamer.web.http.openapi import json_responses, media_responses
from gossamer.web.http.parameters import BAD_REQUEST, NOT_FOUND, Limit, PageNumber, ShortText
from gossamer.web.http.templates import html_page
from gossamer.web.reports.answers import (
    ReportList,
    ReportRequest,
    ReportRows,
    csv_table,
    find_report,
    report_list,
    report_rows,
    report_summary,
)
from gossamer.web.reports.table_links import TableLinks
from gossamer.web.reports.table_view import TableFilter

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
FilterText = Annotated[str, Query(max_length=300, description="A text that a row must have in some column.")]
FacetValues = Annotated[
    tuple[str, ...],
    Query(max_length=8, description="A column and its value, `status:404`; can be given again for other columns."),
]
GroupColumn = Annotated[str, Query(max_length=40, description="Group the rows by this column: one row for each value.")]
GroupMember = Annotated[
    str | None, Query(max_length=4_096, description="Show the rows of the group with this value instead of all groups.")
]


# -- all reports -------------------------------------------------------------------------------------------------------


@api.get("/reports", responses=json_responses(ReportList, api_examples.REPORTS))
def reports(request: Request) -> Response:
    """Return the health score and all reports, worst first: their findings, why these matter, how to fix them."""
    with request.app.state.sessions.open() as session:
        return JsonResponse(report_list(session, request.app.state.audits))


@pages.get("/reports")
def reports_page(request: Request) -> Response:
    """Show the health score and the findings of all reports."""
    with request.app.state.sessions.open() as session:
        answer = report_list(session, request.app.state.audits)
    return html_page(request, "reports.html", answer=answer, score_text=SCORE_TEXT)


# -- one report --------------------------------------------------------------------------------------------------------


def table_request(  # noqa: PLR0913, PLR0917 - FastAPI reads the query parameters of three routes from this signature
    page: PageNumber = 1,
    limit: Limit = PER_PAGE,
    url: AboutUrl = "",
    since: Since = 0.0,
    filter: FilterText = "",  # noqa: A002 - the name in the URL
    facet: FacetValues = (),
    group: GroupColumn = "",
    member: GroupMember = None,
    sort: ShortText = "",
    order: Order = "asc",
) -> ReportRequest:
    """Return which rows of a report a request wants."""
    facets = tuple((name, value) for name, _, value in (each.partition(":") for each in facet) if value)
    table_filter = TableFilter(text=filter, facets=facets, group=group, member=member, sort=sort, order=order)
    return ReportRequest(url=url, since=since, page=page, limit=limit, filter=table_filter)


Wanted = Annotated[ReportRequest, Depends(table_request)]


# Before `/reports/{name}`, which would match it too.
@api.get("/reports/{name}.csv", responses=media_responses("text/csv", "All rows that fit.", NOT_FOUND, BAD_REQUEST))
def report_csv(request: Request, name: str, wanted: Wanted) -> Response:
    """Return the rows of a report as CSV: those that fit the filter, in its order, of all pages."""
    report = find_report(name)
    # The rows go to a spool first, so that a slow client does not hold a session.
    spool: IO[bytes] = tempfile.SpooledTemporaryFile(SPOOL_BYTES)  # noqa: SIM115 - `_read_spool` closes it
    with request.app.state.sessions.open() as session:
        tables.write_csv(csv_table(session, request.app.state.report_cache, report, wanted), spool)
    headers = {"Content-Disposition": f'attachment; filename="{report.name}.csv"'}
    return StreamingResponse(_read_spool(spool), media_type="text/csv; charset=utf-8", headers=headers)


def _read_spool(spool: IO[bytes]) -> Iterator[bytes]:
    with spool:
        spool.seek(0)
        while chunk := spool.read(CHUNK_BYTES):
            yield chunk


@api.get("/reports/{name}", responses=json_responses(ReportRows, api_examples.REPORT, NOT_FOUND, BAD_REQUEST))
def report(request: Request, name: str, wanted: Wanted) -> Response:
    """Return one page of the rows of a report: filtered, by facet, grouped and sorted as asked for."""
    with request.app.state.sessions.open() as session:
        return JsonResponse(report_rows(session, request.app.state.report_cache, find_report(name), wanted))


@pages.get("/reports/{name}")
def report_page(request: Request, name: str, wanted: Wanted) -> Response:
    """Show a report as a table, with bars if it is an overview."""
    report = find_report(name, list_path="/reports")
    with request.app.state.sessions.open() as session:
        summary = report_summary(session.store, report)
        ready = not summary.unavailable and (wanted.url or "url" not in report.takes)
        table = report_rows(session, request.app.state.report_cache, report, wanted) if ready else None
    links = TableLinks(report.name, wanted)
    is_plain = report.severity is Severity.INFO and not wanted.filter.is_grouped
    bar = next((name for name in report.columns if name in BAR_COLUMNS), "") if is_plain else ""
    return html_page(request, "report.html", summary=summary, table=table, wanted=wanted, links=links, bar=bar)
