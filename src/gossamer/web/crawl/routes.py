"""Routes of the crawl: dashboard, status, hosts and errors, each JSON route of the API beside its HTML page."""

from __future__ import annotations

import time
from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from gossamer.model import Outcome
from gossamer.web.crawl import answers
from gossamer.web.http import api_examples
from gossamer.web.http.compression import JsonResponse
from gossamer.web.http.openapi import json_responses
from gossamer.web.http.parameters import Limit, PageNumber, ShortText
from gossamer.web.http.templates import html_page

api = APIRouter(prefix="/api", tags=["crawl"])
pages = APIRouter(include_in_schema=False)

HOSTS_SHOWN = 200
ERRORS_PER_PAGE = 100


# -- status and dashboard ----------------------------------------------------------------------------------------------


@api.get("/status", responses=json_responses(answers.Status, api_examples.STATUS))
def status(request: Request) -> Response:
    """Return the size of the web, its crawlers at work, its round and its freshness."""
    with request.app.state.sessions.open() as session:
        return JsonResponse(answers.status(session))


@pages.get("/crawl")
def dashboard(request: Request, done: Annotated[str, Query(max_length=500)] = "") -> Response:
    """Show the dashboard; `done` is the message of the last control action."""
    with request.app.state.sessions.open() as session:
        live_status = answers.live_status(session.store, time.time())
        web_status = answers.status(session)
    most = request.app.state.control.most_parsers
    return html_page(
        request, "crawl.html", live_status=live_status, web_status=web_status, done=done, most_parsers=most
    )


@api.get("/now", responses=json_responses(answers.LiveStatus, api_examples.LIVE))
def now(request: Request) -> Response:
    """Return the state of the crawl now, in the shape that `/api/live` sends."""
    with request.app.state.sessions.open() as session:
        return JsonResponse(answers.live_status(session.store, time.time()))


@api.get("/pace", responses=json_responses(answers.RateHistory, api_examples.PACE))
def pace(
    request: Request,
    seconds: Annotated[int, Query(ge=1, le=3_600)] = 300,
    whole: Annotated[bool, Query(description="The whole current round instead, in at most 600 steps.")] = False,
) -> Response:
    """Return the visits and bytes of each of the last seconds, or of the whole current round."""
    with request.app.state.sessions.open() as session:
        if whole:
            return JsonResponse(answers.crawl_history(session.store, time.time()))
        return JsonResponse(answers.rate_history(session.store, seconds, time.time()))


# -- hosts and errors --------------------------------------------------------------------------------------------------


@api.get("/hosts", responses=json_responses(answers.HostList, api_examples.HOSTS))
def hosts(request: Request, limit: Limit = 50) -> Response:
    """Return the hosts, those with most pages first, and what each waits for."""
    with request.app.state.sessions.open() as session:
        return JsonResponse(answers.hosts(session, limit))


@pages.get("/hosts")
def hosts_page(request: Request) -> Response:
    """Show the hosts with most pages."""
    with request.app.state.sessions.open() as session:
        answer = answers.hosts(session, HOSTS_SHOWN)
    return html_page(request, "hosts.html", answer=answer, now=time.time())


@api.get("/errors", responses=json_responses(answers.ErrorList, api_examples.ERRORS))
def errors(request: Request, outcome: ShortText = "", limit: Limit = 50, page: PageNumber = 1) -> Response:
    """Return the URLs that Gossamer could not visit, each with its reason."""
    with request.app.state.sessions.open() as session:
        return JsonResponse(answers.errors(session, outcome, limit, page))


@pages.get("/errors")
def errors_page(request: Request, outcome: ShortText = "", page: PageNumber = 1) -> Response:
    """Show the URLs that Gossamer could not visit."""
    with request.app.state.sessions.open() as session:
        answer = answers.errors(session, outcome, ERRORS_PER_PAGE, page)
    return html_page(request, "errors.html", answer=answer, outcome=outcome, page=page, outcomes=list(Outcome))
