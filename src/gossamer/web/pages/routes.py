"""Routes of one resource: the page view beside its JSON, its text, and its stored source."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import APIRouter, Request
from starlette.responses import Response

from gossamer.errors import IndexMissing
from gossamer.parse.charset import UTF8, charset_by_label
from gossamer.web.http import api_examples
from gossamer.web.http.compression import JsonResponse
from gossamer.web.http.inert_html import inert_html
from gossamer.web.http.openapi import json_responses
from gossamer.web.http.parameters import BAD_REQUEST, NOT_FOUND, Limit, Url, Words
from gossamer.web.http.problems import NotFound
from gossamer.web.http.security import SOURCE_POLICY
from gossamer.web.http.templates import html_page
from gossamer.web.pages import answers
from gossamer.web.search.marks import mark_runs, question_terms

if TYPE_CHECKING:
    from gossamer.store.values import ResourceRow
    from gossamer.web.http.sessions import ReadSession
    from gossamer.web.search.marks import QueryTerms

api = APIRouter(prefix="/api", tags=["pages"])
pages = APIRouter(include_in_schema=False)

MAX_RELATED = 8  # related pages shown
MAX_LINKS = 50  # links shown in each direction
MAX_SOURCE_BYTES = 1 << 20  # of a stored source shown as text
TEXT_TYPES = ("text/", "application/json", "application/javascript")


# -- the page view -----------------------------------------------------------------------------------------------------


@api.get("/page", responses=json_responses(answers.PageAnswer, api_examples.PAGE, NOT_FOUND, BAD_REQUEST))
def page(request: Request, url: Url, limit: Limit = 50) -> Response:
    """Return all that the web knows of a URL, with its links in and out."""
    with request.app.state.sessions.open() as session:
        return JsonResponse(answers.page(session, url, limit))


@pages.get("/page")
def page_view(request: Request, url: Url, q: Words = "") -> Response:
    """Show all that the web knows of a URL, with the words of a query marked in its text."""
    with request.app.state.sessions.open() as session:
        resource = answers.page(session, url, MAX_LINKS + 1)  # one more shows whether there are more
        runs = [(field.name.lower(), run) for field, run in session.store.text(resource.id) or []]
        marked_text = mark_runs(runs, _query_terms(session, q)) if runs else []
        related = request.app.state.graph_cache.related_pages(session, resource.url, MAX_RELATED).related
    return html_page(request, "page.html", q=q, resource=resource, runs=marked_text, most=MAX_LINKS, related=related)


def _query_terms(session: ReadSession, q: str) -> QueryTerms:
    """Return the terms to mark; none where the web has no index."""
    try:
        return question_terms(q, session.index.languages()) if q.strip() else {}
    except IndexMissing:
        return {}


@api.get("/text", responses=json_responses(answers.TextAnswer, api_examples.TEXT, NOT_FOUND, BAD_REQUEST))
def text(request: Request, url: Url) -> Response:
    """Return the text of a page by field, in reading order."""
    with request.app.state.sessions.open() as session:
        return JsonResponse(answers.text(session, url))


# -- the stored source -------------------------------------------------------------------------------------------------


@pages.get("/source")
def source(request: Request, url: Url) -> Response:
    """Show the stored source of a page as text, and rendered without scripts and requests."""
    row, body = _stored_source(request, url)
    kind = row.media_type.lower()
    is_text = kind.startswith(TEXT_TYPES) or "xml" in kind
    text = body[:MAX_SOURCE_BYTES].decode(_codec(row.charset), "replace") if is_text else None
    return html_page(
        request,
        "source.html",
        row=row,
        text=text,
        size=len(body),
        cut=len(body) > MAX_SOURCE_BYTES,
        html="html" in kind,
    )


@pages.get("/source/raw")
def raw_source(request: Request, url: Url) -> Response:
    """Send the stored source. HTML becomes inert and goes into a sandbox; other types are downloads."""
    row, body = _stored_source(request, url)
    if "html" not in row.media_type.lower():
        headers = {"Content-Disposition": "attachment", "Content-Security-Policy": SOURCE_POLICY}
        return Response(body, headers=headers, media_type="application/octet-stream")
    text = inert_html(body[:MAX_SOURCE_BYTES].decode(_codec(row.charset), "replace")).encode("utf-8", "replace")
    return Response(text, headers={"Content-Security-Policy": SOURCE_POLICY}, media_type="text/html; charset=utf-8")


def _stored_source(request: Request, url: str) -> tuple[ResourceRow, bytes]:
    with request.app.state.sessions.open() as session:
        row = answers.require_resource(session.store, url)
        body = session.store.source(row.id)
    if body is None:
        raise NotFound(f"The source of {row.url} was not kept.")
    return row, body


def _codec(label: str) -> str:
    return (charset_by_label(label) or UTF8).codec
