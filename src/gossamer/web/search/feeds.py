"""OpenSearch description and suggestions, so that a browser can add this search, and hits as an Atom feed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from gossamer.web.http.compression import JsonResponse
from gossamer.web.http.openapi import media_responses
from gossamer.web.http.parameters import Words
from gossamer.web.http.templates import link
from gossamer.web.search import answers
from gossamer.web.search.question import Question

if TYPE_CHECKING:
    from gossamer.web.search.facets import SearchQuestion

router = APIRouter(tags=["search"])


@router.get("/opensearch.xml", include_in_schema=False)
def opensearch(request: Request) -> Response:
    """Return the OpenSearch 1.1 description."""
    text = request.app.state.templates.text("opensearch.xml", base=_base_url(request))
    return Response(text, media_type="application/opensearchdescription+xml")


@router.get(
    "/api/suggest", responses=media_responses("application/x-suggestions+json", "OpenSearch suggestions.", kind="array")
)
async def suggest(request: Request, q: Words = "") -> Response:
    """Return completions in the shape that browsers expect: `["typed", ["completion", ...]]`."""
    completions = await request.app.state.search_client.ask("suggest", q, 8, type=list[str])
    return JsonResponse([q, completions], media_type="application/x-suggestions+json")


@router.get("/search.atom", responses=media_responses("application/atom+xml", "Hits as a feed."))
async def feed(request: Request, question: Question) -> Response:
    """Return hits as an Atom feed (RFC 4287), so that a feed reader shows new hits of a query."""
    cached = await request.app.state.search_queue.search(question)
    return await run_in_threadpool(_render_feed, request, question, cached.answer)


def _render_feed(request: Request, question: SearchQuestion, answer: answers.SearchAnswer) -> Response:
    link_parameters = {"q": question.q, **msgspec.structs.asdict(question.filters)}
    base = _base_url(request)
    text = request.app.state.templates.text(
        "search.atom",
        answer=answer,
        base=base,
        here=base + link("/search.atom", **link_parameters),
        page=base + link("/search", **link_parameters),
        updated=max((hit.visited_at or 0.0 for hit in answer.hits), default=0.0),
    )
    return Response(text, media_type="application/atom+xml; charset=utf-8")


def _base_url(request: Request) -> str:
    return f"{request.url.scheme}://{request.headers.get('host', '')}"
