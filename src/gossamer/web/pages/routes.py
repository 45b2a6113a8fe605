"""Routes of one resource: the page view beside its JSON, its text, and its stored source."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from gossamer.basics.page_budget import MAX_VIEW_CHARACTERS
from gossamer.errors import GossamerError
from gossamer.model import Value
from gossamer.parse.charset import UTF8, charset_by_label
from gossamer.store.content import TextStart, iterate_source, read_text_start
from gossamer.web.http import api_examples
from gossamer.web.http.bodies import body_response
from gossamer.web.http.compression import JsonResponse
from gossamer.web.http.inert_html import inert_html
from gossamer.web.http.openapi import json_responses, media_responses
from gossamer.web.http.parameters import BAD_REQUEST, NOT_FOUND, Limit, Url, Words
from gossamer.web.http.problems import NotFound
from gossamer.web.http.security import SOURCE_POLICY
from gossamer.web.http.templates import html_page
from gossamer.web.pages import answers
from gossamer.web.search.marks import mark_runs, question_terms

if TYPE_CHECKING:
    from gossamer.store.values import ResourceRow
    from gossamer.web.search.marks import QueryTerms

api = APIRouter(prefix="/api", tags=["pages"])
pages = APIRouter(include_in_schema=False)

TABS = {"about": "About", "text": "Text", "links": "Links", "visits": "Visits", "source": "Stored source"}
Tab = Annotated[Literal["", "about", "text", "links", "visits", "source"], Query()]

MAX_RELATED = 8  # related pages shown
MAX_LINKS = 50  # links shown in each direction
RUN_CHARACTERS = 50  # that one paragraph counts as: the HTML around it
NO_TEXT = TextStart([], is_cut=False)
MAX_SOURCE_BYTES = 1 << 20  # of a stored source shown as text
TEXT_TYPES = ("text/", "application/json", "application/javascript")


# -- the page view -----------------------------------------------------------------------------------------------------


@api.get("/page", responses=json_responses(answers.PageAnswer, api_examples.PAGE, NOT_FOUND, BAD_REQUEST))
def page(request: Request, url: Url, limit: Limit = 50) -> Response:
    """Return all that the web knows of a URL, with its links in and out."""
    with request.app.state.sessions.open() as session:
        return JsonResponse(answers.page(session, url, limit))


@pages.get("/page")
def page_view(request: Request, url: Url, q: Words = "", tab: Tab = "") -> Response:
    """Show one part of what the web knows of a URL; with a query the text, with its words marked."""
    shown_tab = tab or ("text" if q.strip() else "about")
    with request.app.state.sessions.open() as session:
        resource = answers.page(session, url, MAX_LINKS + 1)  # one more shows whether there are more
        has_source = tab == "source" and resource.visits
        packed_text = session.store.packed_text(resource.id) if shown_tab == "text" else None
        packed_source = session.store.packed_source(resource.id) if has_source else None
        has_related = shown_tab == "about"
        related = (
            request.app.state.graph_cache.related_pages(session, resource.url, MAX_RELATED).related
            if has_related
            else ()
        )
        number = resource.ranks.community if has_related and resource.ranks else None
        community = request.app.state.graph_cache.community(session, number) if number is not None else None
    text = read_text_start(packed_text, MAX_VIEW_CHARACTERS, RUN_CHARACTERS) if packed_text is not None else NO_TEXT
    terms = _query_terms(request, q) if shown_tab == "text" else {}
    runs = mark_runs([(field.name.lower(), run) for field, run in text.runs], terms)
    source_view = _source_view(resource, packed_source) if packed_source is not None else None
    rank_note = resource.rank_state.note if resource.rank_state else ""
    return html_page(
        request, "page.html", q=q, tab=shown_tab, tabs=TABS, resource=resource, runs=runs, is_cut=text.is_cut,
        most=MAX_LINKS, related=related, source=source_view, rank_note=rank_note,
        community=community,
    )  # fmt: skip


def _query_terms(request: Request, q: str) -> QueryTerms:
    """Return the terms to mark; none where the index cannot be read, because the page has more to show."""
    if not q.strip():
        return {}
    try:
        languages = request.app.state.search_client.ask_from_thread("languages", type=dict[str, int])
    except GossamerError:
        return {}
    return question_terms(q, languages)


@api.get("/text", responses=json_responses(answers.TextAnswer, api_examples.TEXT, NOT_FOUND, BAD_REQUEST))
def text(request: Request, url: Url) -> Response:
    """Return the text of a page by field, in reading order. A text over 16 MiB of JSON is cut and says so: `cut`."""
    with request.app.state.sessions.open() as session:
        row, packed = answers.packed_text(session.store, url)
    return body_response(answers.text_chunks(row.url, packed), "application/json")


@api.get("/screenshot", responses=media_responses("image/webp", "The picture.", NOT_FOUND, BAD_REQUEST))
def screenshot(request: Request, url: Url) -> Response:
    """Return the picture that a browser took of a page, as WebP or PNG."""
    with request.app.state.sessions.open() as session:
        picture = answers.screenshot(session.store, url)
    kind = "image/png" if picture.startswith(b"\x89PNG") else "image/webp"
    return Response(picture, media_type=kind, headers={"Content-Security-Policy": SOURCE_POLICY})


# -- the stored source -------------------------------------------------------------------------------------------------


class SourceView(Value, frozen=True, kw_only=True):
    """The beginning of a stored source, for people."""

    text: str | None  # None: it is not text
    size: int  # bytes of the whole source
    cut: bool
    html: bool


@pages.get("/source")
def source(request: Request, url: Url, rendered: bool = False) -> Response:
    """Show the beginning of the stored source of a page as text, and rendered without scripts and requests.

    With `rendered`: what a browser made of it instead.
    """
    row, packed = _packed_source(request, url, rendered=rendered)
    view = _source_view(row, packed)
    return html_page(
        request, "source.html", row=row, text=view.text, size=view.size, cut=view.cut, html=view.html, rendered=rendered
    )


def _source_view(row: ResourceRow, packed: bytes) -> SourceView:
    kind = row.media_type.lower()
    is_text = kind.startswith(TEXT_TYPES) or "xml" in kind
    start, size = _read_start(packed)
    return SourceView(
        text=start.decode(_codec(row.charset), "replace") if is_text else None,
        size=size,
        cut=size > MAX_SOURCE_BYTES,
        html="html" in kind,
    )


@pages.get("/source/raw")
def raw_source(request: Request, url: Url, rendered: bool = False) -> Response:
    """Send the stored source. HTML becomes inert and goes into a sandbox; other types are downloads."""
    row, packed = _packed_source(request, url, rendered=rendered)
    if "html" not in row.media_type.lower():
        headers = {"Content-Disposition": "attachment", "Content-Security-Policy": SOURCE_POLICY}
        return body_response(iterate_source(packed), "application/octet-stream", headers)
    start, _ = _read_start(packed)
    text = inert_html(start.decode(_codec(row.charset), "replace")).encode("utf-8", "replace")
    return Response(text, headers={"Content-Security-Policy": SOURCE_POLICY}, media_type="text/html; charset=utf-8")


def _read_start(packed: bytes) -> tuple[bytes, int]:
    """Return the beginning of a source, at most `MAX_SOURCE_BYTES`, and the size of all of it."""
    start, size = bytearray(), 0
    for chunk in iterate_source(packed):
        start += chunk[: MAX_SOURCE_BYTES - len(start)]
        size += len(chunk)
    return bytes(start), size


def _packed_source(request: Request, url: str, *, rendered: bool) -> tuple[ResourceRow, bytes]:
    with request.app.state.sessions.open() as session:
        row = answers.require_resource(session.store, url)
        rendering = session.store.rendering(row.id) if rendered else None
        packed = session.store.packed_source(row.id) if not rendered else None
    if rendering is not None and rendering.dom:
        return msgspec.structs.replace(row, charset=UTF8.codec), rendering.dom
    if packed is None:
        raise NotFound(f"{'What a browser made' if rendered else 'The source'} of {row.url} was not kept.")
    return row, packed


def _codec(label: str) -> str:
    return (charset_by_label(label) or UTF8).codec
