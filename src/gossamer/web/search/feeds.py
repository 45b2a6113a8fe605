"""For browsers and readers: OpenSearch, so that a browser can add this search, and results as an Atom feed."""

from __future__ import annotations

import msgspec
from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from gossamer.web import answers
from gossamer.web.api import Question, Words
from gossamer.web.http.compression import Told
from gossamer.web.http.openapi import sends
from gossamer.web.http.templates import link

router = APIRouter(tags=["search"])


@router.get("/opensearch.xml", include_in_schema=False)
def opensearch(request: Request) -> Response:
    """OpenSearch 1.1."""
    text = request.app.state.look.text("opensearch.xml", base=_base(request))
    return Response(text, media_type="application/opensearchdescription+xml")


@router.get("/api/suggest", responses=sends("application/x-suggestions+json", "OpenSearch suggestions.", kind="array"))
def suggest(request: Request, q: Words = "") -> Response:
    """Completions in the shape browsers expect: `["typed", ["completion", ...]]`."""
    with request.app.state.desks.open() as desk:
        told = answers.complete(desk, q, 8)
    return Told([told.query, told.completions], media_type="application/x-suggestions+json")


@router.get("/search.atom", responses=sends("application/atom+xml", "Hits as a feed."))
async def feed(request: Request, asked: Question) -> Response:
    """Hits as an Atom feed (RFC 4287): a reader shows what is new for a question."""
    found = await request.app.state.lane.search(asked)
    return await run_in_threadpool(_feed, request, asked, found.answer)


def _feed(request: Request, asked: answers.Question, answer: answers.SearchAnswer) -> Response:
    kept = {"q": asked.q, **msgspec.structs.asdict(asked.filters)}
    base = _base(request)
    text = request.app.state.look.text(
        "search.atom",
        answer=answer,
        base=base,
        here=base + link("/search.atom", **kept),
        page=base + link("/search", **kept),
        updated=max((hit.visited_at or 0.0 for hit in answer.hits), default=0.0),
    )
    return Response(text, media_type="application/atom+xml; charset=utf-8")


def _base(request: Request) -> str:
    return f"{request.url.scheme}://{request.headers.get('host', '')}"
