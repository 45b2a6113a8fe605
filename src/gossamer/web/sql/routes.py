"""Routes of SQL: the page with schema, examples and form; the statement as JSON and CSV.

Running a statement always needs the token, also on loopback, where a reverse proxy makes everyone look like this
machine (`http.security`).
"""

from __future__ import annotations

import csv
import io
from http import HTTPStatus
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from gossamer.basics.locations import is_shared
from gossamer.errors import GossamerError, UsageError
from gossamer.files.tables import safe_cell
from gossamer.web.http import api_examples
from gossamer.web.http.compression import JsonResponse
from gossamer.web.http.forms import form_fields
from gossamer.web.http.openapi import json_responses
from gossamer.web.http.parameters import BAD_REQUEST
from gossamer.web.http.security import has_token, require_control
from gossamer.web.http.sessions import TooBusy
from gossamer.web.http.templates import html_page
from gossamer.web.sql.examples import EXAMPLES

if TYPE_CHECKING:
    from gossamer.store.read.statements import StatementAnswer, TableColumns
    from gossamer.web.sql.runner import StatementRunner

api = APIRouter(prefix="/api", tags=["sql"])
pages = APIRouter(include_in_schema=False)

OFF = "SQL is off on this server. This page says why to readers with its token."
MAX_STATEMENT_CHARACTERS = 20_000
PAGE_ROWS = 200  # rows of a table on the page
MAX_ROWS = 10_000  # rows of JSON and CSV
REFUSALS = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, BAD_REQUEST)

Statement = Annotated[str, Query(max_length=MAX_STATEMENT_CHARACTERS)]


class StatementTable(msgspec.Struct, frozen=True, kw_only=True):
    """A table that statements can read."""

    name: str
    columns: dict[str, str]  # name -> type


class StatementSchema(msgspec.Struct, frozen=True, kw_only=True):
    """The tables that statements can read, and examples."""

    tables: list[StatementTable]
    examples: dict[str, str]  # what it asks -> statement


class StatementRows(msgspec.Struct, frozen=True, kw_only=True):
    """The rows of a statement. Bytes are hexadecimal digits."""

    columns: list[str]
    rows: list[list[Any]]
    more: bool  # whether the statement has more rows than `limit`
    took_ms: float


class StatementRequest(BaseModel):
    """A statement to run."""

    sql: Annotated[str, Field(max_length=MAX_STATEMENT_CHARACTERS, description="One SELECT, WITH or VALUES.")]
    limit: Annotated[int, Field(ge=1, le=MAX_ROWS, description="The largest number of rows to return.")] = 1_000


# -- the page ----------------------------------------------------------------------------------------------------------


@pages.get("/sql")
def sql_page(request: Request, q: Statement = "") -> Response:
    """Show the schema, examples and a form, which may already hold a statement; run nothing."""
    return _page(request, q)


@pages.post("/sql")
async def run_form(request: Request) -> Response:
    """Run the statement of the form, and return its rows as a page, CSV or JSON."""
    require_control(request, request.app.state.access_rules)
    fields = form_fields(await request.body())
    return await run_in_threadpool(_run_form, request, fields.get("sql", ""), fields.get("format", "table"))


def _run_form(request: Request, statement: str, shape: str) -> Response:
    if len(statement) > MAX_STATEMENT_CHARACTERS:
        raise UsageError(f"A statement has at most {MAX_STATEMENT_CHARACTERS:,} characters.")
    runner: StatementRunner = request.app.state.statement_runner
    try:
        answer = runner.run(statement, PAGE_ROWS if shape == "table" else MAX_ROWS)
    except UsageError as error:
        return _page(request, statement, fault=str(error), status=HTTPStatus.BAD_REQUEST)
    if shape == "csv":
        headers = {"Content-Disposition": 'attachment; filename="answer.csv"'}
        return Response(_csv(answer), headers=headers, media_type="text/csv; charset=utf-8")
    if shape == "json":
        return JsonResponse(_rows(answer))
    return _page(request, statement, answer=answer)


def _page(
    request: Request,
    statement: str,
    *,
    answer: StatementAnswer | None = None,
    fault: str = "",
    status: HTTPStatus = HTTPStatus.OK,
) -> Response:
    runner: StatementRunner = request.app.state.statement_runner
    off_reason = runner.off_reason
    tables: list[TableColumns] = []
    if not off_reason:
        try:
            tables = runner.tables()
        except GossamerError as error:
            off_reason = str(error)
    off_reason = _reason_for(request, off_reason) if off_reason else ""
    return html_page(
        request, "sql.html", status=status, statement=statement, answer=answer, fault=fault, tables=tables,
        examples=EXAMPLES, off_reason=off_reason, most=MAX_STATEMENT_CHARACTERS, most_rows=MAX_ROWS,
        limits=runner.limits, has_own_memory=is_shared(runner.location),
    )  # fmt: skip


def _reason_for(request: Request, reason: str) -> str:
    """Return why SQL is off. Names of roles, hosts and databases are for readers with the token only."""
    return reason if has_token(request, request.app.state.access_rules) else OFF


def _csv(answer: StatementAnswer) -> str:
    lines = io.StringIO(newline="")
    writer = csv.writer(lines)
    for row in (answer.columns, *answer.rows):
        writer.writerow(safe_cell(value) if isinstance(value, str) else value for value in row)
    return lines.getvalue()


# -- the API -----------------------------------------------------------------------------------------------------------


@api.get("/sql", responses=json_responses(StatementSchema, api_examples.SQL_SCHEMA, BAD_REQUEST))
def sql_schema(request: Request) -> Response:
    """Return the tables and columns that statements can read, and examples of statements."""
    runner: StatementRunner = request.app.state.statement_runner
    try:
        known = runner.tables()
    except TooBusy:
        raise
    except GossamerError as error:
        kind = UsageError if isinstance(error, UsageError) else GossamerError
        raise kind(_reason_for(request, str(error))) from error
    tables = [StatementTable(name=table.name, columns=dict(table.columns)) for table in known]
    return JsonResponse(StatementSchema(tables=tables, examples=EXAMPLES))


@api.post("/sql", responses=json_responses(StatementRows, api_examples.SQL_ROWS, *REFUSALS))
def run_sql(request: Request, body: StatementRequest) -> Response:
    """Run one statement that reads, for 10 seconds at most, and return its rows. It needs the token."""
    require_control(request, request.app.state.access_rules)
    return JsonResponse(_rows(request.app.state.statement_runner.run(body.sql, body.limit)))


def _rows(answer: StatementAnswer) -> StatementRows:
    return StatementRows(
        columns=list(answer.columns),
        rows=[list(row) for row in answer.rows],
        more=answer.more,
        took_ms=round(answer.milliseconds, 1),
    )
