"""Routes of control: the token as a cookie, forms of the dashboard, and their twins in the API.

Every action is one POST and needs the token (`http.security`).
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Annotated, Literal
from urllib.parse import quote

from fastapi import APIRouter, Path, Query, Request
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool
from starlette.responses import RedirectResponse, Response

from gossamer.web.crawl.control import ControlResult
from gossamer.web.http.compression import JsonResponse
from gossamer.web.http.forms import form_fields
from gossamer.web.http.openapi import json_responses
from gossamer.web.http.parameters import BAD_REQUEST, NOT_FOUND
from gossamer.web.http.problems import RequestRefused
from gossamer.web.http.security import has_token, is_token, require_control, set_token_cookie
from gossamer.web.http.templates import html_page

if TYPE_CHECKING:
    from collections.abc import Mapping

router = APIRouter(tags=["control"])

FAULTS = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, NOT_FOUND, BAD_REQUEST, HTTPStatus.CONFLICT)


# -- the token ---------------------------------------------------------------------------------------------------------


@router.get("/control", include_in_schema=False)
def enter(request: Request, token: Annotated[str, Query(max_length=500)] = "") -> Response:
    """Store the token as a cookie that only pages of this server send, or ask for it."""
    rules = request.app.state.access_rules
    if not token and not has_token(request, rules):
        return html_page(request, "control.html")
    if token and not is_token(token, rules):
        raise RequestRefused("That is not the token.", HTTPStatus.UNAUTHORIZED)
    response = RedirectResponse("/crawl", HTTPStatus.SEE_OTHER)
    if token:
        set_token_cookie(request, response, token)
    return response


@router.post("/control/{path:path}", include_in_schema=False)
async def control_form(request: Request, path: str) -> Response:
    """Run the action of a form and return to the dashboard, which shows the result."""
    require_control(request, request.app.state.access_rules)
    fields = form_fields(await request.body())
    done = await run_in_threadpool(request.app.state.control.run_action, path, fields)
    return RedirectResponse(f"/crawl?done={quote(done[:400])}", HTTPStatus.SEE_OTHER)


# -- the API -----------------------------------------------------------------------------------------------------------

Name = Annotated[str, Path(max_length=100, description="The crawler's name.", examples=["Naiad"])]
Url = Annotated[str, Field(max_length=4_096, description="A URL, with or without a scheme.")]


class StartRequest(BaseModel):
    """A crawler to start on the serving machine."""

    url: Url = ""
    parsers: Annotated[int | None, Field(ge=1, le=1_000, description="Parser processes; default: one per core.")] = None
    max_pages: Annotated[int | None, Field(ge=1, le=10**12, description="Most pages to visit in the round.")] = None
    delay: Annotated[float | None, Field(ge=0, le=86_400, description="Seconds between requests to a host.")] = None
    scope: Literal["", "host", "domain", "prefix", "any"] = ""


class ParsersRequest(BaseModel):
    """The number of parser processes of a crawler."""

    parsers: Annotated[int, Field(ge=1, le=1_000, description="At most the crawler's `most_parsers`.")]


class SeedRequest(BaseModel):
    """A URL to add as a seed."""

    url: Url


class ForgetRequest(BaseModel):
    """A page or a host to remove with its text, source, links and visits."""

    url: Url = ""
    host: Annotated[str, Field(max_length=300)] = ""


PAUSE_EXAMPLE = {"done": "Naiad will pause within a few seconds."}


def _run_action(request: Request, path: str, fields: Mapping[str, str]) -> Response:
    require_control(request, request.app.state.access_rules)
    return JsonResponse(ControlResult(done=request.app.state.control.run_action(path, fields)))


@router.post("/api/crawlers/{name}/pause", responses=json_responses(ControlResult, PAUSE_EXAMPLE, *FAULTS))
def pause(request: Request, name: Name) -> Response:
    """Ask a crawler to finish its open requests and start no new ones."""
    return _run_action(request, f"crawlers/{name.replace('/', '')}/pause", {})


@router.post("/api/crawlers/{name}/resume", responses=json_responses(ControlResult, PAUSE_EXAMPLE, *FAULTS))
def resume(request: Request, name: Name) -> Response:
    """Ask a paused crawler to continue."""
    return _run_action(request, f"crawlers/{name.replace('/', '')}/resume", {})


@router.post("/api/crawlers/{name}/stop", responses=json_responses(ControlResult, PAUSE_EXAMPLE, *FAULTS))
def stop(request: Request, name: Name) -> Response:
    """Ask a crawler to finish its open requests and exit."""
    return _run_action(request, f"crawlers/{name.replace('/', '')}/stop", {})


@router.post(
    "/api/crawlers/{name}/parsers",
    responses=json_responses(ControlResult, {"done": "Naiad will have 3 parsers within a few seconds."}, *FAULTS),
)
def parsers(request: Request, name: Name, body: ParsersRequest) -> Response:
    """Ask a crawler to use more or fewer parser processes, within its limit."""
    return _run_action(request, f"crawlers/{name.replace('/', '')}/parsers", {"parsers": str(body.parsers)})


@router.post(
    "/api/crawlers",
    responses=json_responses(ControlResult, {"done": "A crawler was started on this machine."}, *FAULTS),
)
def start(request: Request, body: StartRequest) -> Response:
    """Start a crawler on the serving machine; it continues the web, and adds a URL if one is given."""
    given = {name: "" if value is None else f"{value:g}" if name == "delay" else str(value) for name, value in body}
    return _run_action(request, "crawlers", given)


@router.post(
    "/api/seeds", responses=json_responses(ControlResult, {"done": "A crawler was started on this machine."}, *FAULTS)
)
def add_seed(request: Request, body: SeedRequest) -> Response:
    """Add a seed and start a crawler for it."""
    return _run_action(request, "seeds", {"url": body.url})


@router.post(
    "/api/forget", responses=json_responses(ControlResult, {"done": "Forgot https://example.org/gone."}, *FAULTS)
)
def forget(request: Request, body: ForgetRequest) -> Response:
    """Remove a page or a host with its text, source, links and visits."""
    return _run_action(request, "forget", {"url": body.url, "host": body.host})
