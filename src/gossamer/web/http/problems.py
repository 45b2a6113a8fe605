"""Errors of requests: problem+json (RFC 9457) for programs, an HTML page for people."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

import msgspec
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from gossamer.errors import GossamerError, UsageError

if TYPE_CHECKING:
    from fastapi import FastAPI
    from starlette.requests import Request

    from gossamer.web.http.templates import Templates

RETRY_SECONDS = "2"  # Retry-After of responses 429 and 503
API_PREFIXES = ("/api", "/healthz", "/metrics", "/openapi.json")


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """An error as RFC 9457 describes it."""

    type: str = "about:blank"
    title: str  # of the status
    status: int
    detail: str  # a sentence for people


class NotFound(GossamerError):
    """The web does not hold what the request names."""


class RequestRefused(GossamerError):
    """The request lacks the right to do this, or conflicts with the state of the web."""

    def __init__(self, detail: str, status: HTTPStatus = HTTPStatus.FORBIDDEN) -> None:
        super().__init__(detail)
        self.status = status


def problem_from_error(error: Exception) -> Problem:
    """Return an exception as a problem; raise it again if it is unexpected."""
    match error:
        case RequestRefused():
            status = error.status
        case NotFound():
            status = HTTPStatus.NOT_FOUND
        case UsageError():
            status = HTTPStatus.BAD_REQUEST
        case GossamerError():  # store or index are missing, busy, damaged or too old
            status = HTTPStatus.SERVICE_UNAVAILABLE
        case RequestValidationError():
            return make_problem(HTTPStatus.UNPROCESSABLE_ENTITY, _validation_message(error))
        case HTTPException():
            status = HTTPStatus(error.status_code)
            return make_problem(status, error.detail if error.detail != status.phrase else _describe_status(status))
        case _:
            raise error
    return make_problem(status, str(error))


def make_problem(status: HTTPStatus, detail: str) -> Problem:
    """Return a problem with a status."""
    return Problem(title=status.phrase, status=status, detail=detail)


def _describe_status(status: HTTPStatus) -> str:
    if status == HTTPStatus.NOT_FOUND:
        return "This server has no page at this address."
    return f"{status.description or status.phrase}."


def _validation_message(error: RequestValidationError) -> str:
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"][1:])
    return f"{where or 'The request'}: {first['msg']}."


def problem_response(problem: Problem) -> Response:
    """Return a problem as problem+json."""
    headers = {"Retry-After": RETRY_SECONDS} if problem.status in {429, 503} else {}
    if problem.status == HTTPStatus.UNAUTHORIZED:
        headers["WWW-Authenticate"] = 'Bearer realm="gossamer"'
    return Response(msgspec.json.encode(problem), problem.status, headers, "application/problem+json")


def install_error_handlers(app: FastAPI, templates: Templates) -> None:
    """Answer every expected error with a problem: JSON under `API_PREFIXES`, else a page."""

    def handle(request: Request, error: Exception) -> Response:
        problem = problem_from_error(error)
        if request.url.path.startswith(API_PREFIXES):
            response = problem_response(problem)
        else:
            response = templates.page(request, "error.html", status=problem.status, problem=problem)
        if isinstance(error, HTTPException) and error.headers:
            response.headers.update(error.headers)
        return response

    for kind in (GossamerError, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, handle)
