"""Routes of search and words: each JSON route of the API beside its HTML page."""

from __future__ import annotations

from http import HTTPStatus
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Literal
from urllib.parse import quote

import msgspec
from fastapi import APIRouter, Path, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import RedirectResponse, Response

from gossamer.errors import IndexMissing
from gossamer.index.word_table import WordEntry
from gossamer.web.crawl.answers import crawlers
from gossamer.web.http import api_examples
from gossamer.web.http.compression import JsonResponse
from gossamer.web.http.openapi import json_responses
from gossamer.web.http.parameters import BAD_REQUEST, PageNumber, Words
from gossamer.web.http.templates import html_page
from gossamer.web.search import answers
from gossamer.web.search.question import PER_PAGE, Question

if TYPE_CHECKING:
    from gossamer.web.search.facets import SearchQuestion

api = APIRouter(prefix="/api", tags=["search"])
pages = APIRouter(include_in_schema=False)

PAGES_AROUND = 2  # page numbers offered on each side of the current one
WORD_DOCUMENTS = 20  # documents on one page of a word
MAX_WORD_CHARACTERS = 200
MAX_POSITIONS = 30  # shown per document of a word
Order = Literal["frequency", "document"]


# -- search ------------------------------------------------------------------------------------------------------------


@pages.get("/")
def home(request: Request) -> Response:
    """Show the search box and the size of the web."""
    with request.app.state.sessions.open() as session:
        counts, totals = session.store.counts(), session.store.visited_totals()
        at_work = [crawler for crawler in crawlers(session.store) if crawler.at_work]
    fault = request.app.state.search_client.fault
    return html_page(request, "home.html", counts=counts, totals=totals, at_work=at_work, fault=fault)


@api.get("/search", responses=json_responses(answers.SearchAnswer, api_examples.SEARCH))
async def search(request: Request, question: Question, facets: bool = False) -> Response:
    """Find pages by their words, in the language of `gossamer search`."""
    cached = await request.app.state.search_queue.search(question, with_facets=facets)
    return Response(cached.body, headers={"ETag": cached.tag}, media_type="application/json")


@pages.get("/search")
async def search_page(request: Request, question: Question) -> Response:
    """Show hits and filters."""
    if not question.q.strip():
        return await run_in_threadpool(home, request)
    try:
        cached = await request.app.state.search_queue.search(question, with_facets=True)
    except IndexMissing as missing:
        return html_page(request, "no_index.html", status=503, q=question.q, why=str(missing))
    return await run_in_threadpool(_hits_page, request, question, cached.answer)


def _hits_page(request: Request, question: SearchQuestion, answer: answers.SearchAnswer) -> Response:
    limit = question.limit if question.limit != PER_PAGE else None
    filters = msgspec.structs.asdict(question.filters)
    return html_page(
        request,
        "search.html",
        q=question.q,
        answer=answer,
        question=question,
        link_parameters={"q": question.q, "limit": limit, "explain": question.explain, **filters},
        numbers=_page_numbers(answer),
        filters=question.filters,
    )


def _page_numbers(answer: answers.SearchAnswer) -> list[int | None]:
    """Return the page numbers to offer: the first and those around the current one. None stands for a gap."""
    last = max(1, -(-answer.total // answer.limit))
    near = range(max(1, answer.page - PAGES_AROUND), min(last, answer.page + PAGES_AROUND) + 1)
    offered = sorted({1, *near})
    numbers: list[int | None] = [offered[0]]
    for before, number in pairwise(offered):
        numbers += [None, number] if number > before + 1 else [number]
    return numbers


@api.get("/complete", responses=json_responses(answers.Completions, api_examples.COMPLETE))
async def complete(
    request: Request, q: Words = "", limit: Annotated[int, Query(ge=1, le=50)] = 8, snippets: bool = False
) -> Response:
    """Complete the last word of a query, and find pages for what is typed so far."""
    completions = await request.app.state.search_client.ask("complete", q, limit, snippets, type=answers.Completions)
    return JsonResponse(completions)


# -- words -------------------------------------------------------------------------------------------------------------


@api.get("/word/{word}", responses=json_responses(WordEntry, api_examples.WORD, BAD_REQUEST))
async def word(
    request: Request,
    word: Annotated[str, Path(max_length=200, description="A word, as a person types it.", examples=["graph"])],
    page: PageNumber = 1,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 20,
    order: Order = "frequency",
) -> Response:
    """Return the word table's entry: the documents that hold a word, and every position in them."""
    entry = await request.app.state.search_client.ask("word", word, order, page, limit, type=WordEntry)
    return await run_in_threadpool(JsonResponse, entry)


@pages.get("/word/{word}")
async def word_page(request: Request, word: str, page: PageNumber = 1, order: Order = "frequency") -> Response:
    """Show the word table's entry for a word."""
    typed = word[:MAX_WORD_CHARACTERS]
    entry = await request.app.state.search_client.ask("word", typed, order, page, WORD_DOCUMENTS, type=WordEntry)
    return await run_in_threadpool(
        html_page, request, "word.html", q=word, entry=entry, page=page, order=order, most=MAX_POSITIONS
    )


@pages.get("/word")
def word_form(q: Words = "") -> Response:
    """Redirect the form of a word to its page."""
    return RedirectResponse(f"/word/{quote(q.strip(), safe='')}" if q.strip() else "/", HTTPStatus.SEE_OTHER)
