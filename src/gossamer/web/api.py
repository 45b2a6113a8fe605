"""The API: what pages show, as JSON. Every route is thin: it takes a desk and hands on what was asked."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Path, Query, Request
from starlette.responses import Response

from gossamer.index.word_table import WordEntry
from gossamer.web import answers
from gossamer.web.http import api_examples
from gossamer.web.http.compression import JsonResponse
from gossamer.web.http.openapi import json_responses
from gossamer.web.search.facets import Filters

router = APIRouter(prefix="/api", default_response_class=JsonResponse)

PER_PAGE = 10  # hits, when nothing else is said
MAX_HITS = 100  # on a page
MAX_PAGES = 10_000
MAX_QUERY_CHARACTERS = 2_000  # characters of a question
NOT_FOUND, BAD_REQUEST = HTTPStatus.NOT_FOUND, HTTPStatus.BAD_REQUEST

Words = Annotated[
    str, Query(max_length=MAX_QUERY_CHARACTERS, description="What is searched for.", examples=["link graph"])
]
Url = Annotated[str, Query(max_length=4_096, description="A URL of this web.", examples=["https://example.org/"])]
PageNumber = Annotated[int, Query(ge=1, le=MAX_PAGES, description="The page of the answer, from 1 on.")]
Limit = Annotated[int, Query(ge=1, le=1_000, description="At most so many.")]
ShortText = Annotated[str, Query(max_length=300)]
Date = Annotated[str, Query(max_length=10, pattern=r"^(\d{4}(-\d{2}(-\d{2})?)?)?$", description="YYYY[-MM[-DD]]")]


async def search_filters(
    host: ShortText = "",
    language: ShortText = "",
    type: ShortText = "",  # noqa: A002 - the name of the parameter
    since: Date = "",
    until: Date = "",
) -> Filters:
    """The filters that a query names. Not in a thread of its own, as FastAPI would do without `async`."""
    return Filters(host=host, language=language, type=type, since=since, until=until)


async def search_question(
    filters: Annotated[Filters, Depends(search_filters)],
    q: Words = "",
    page: PageNumber = 1,
    limit: Annotated[int, Query(ge=1, le=MAX_HITS)] = PER_PAGE,
    explain: bool = False,
) -> answers.SearchQuestion:
    """The question that a query asks."""
    return answers.SearchQuestion(q=q, page=page, limit=limit, explain=explain, filters=filters)


Question = Annotated[answers.SearchQuestion, Depends(search_question)]


@router.get("/search", responses=json_responses(answers.SearchAnswer, api_examples.SEARCH), tags=["search"])
async def search(request: Request, question: Question, facets: bool = False) -> Response:
    """Find pages by their words, in the language of `gossamer search`."""
    cached = await request.app.state.search_queue.search(question, with_facets=facets)
    return Response(cached.body, headers={"ETag": cached.tag}, media_type="application/json")


@router.get("/complete", responses=json_responses(answers.Completions, api_examples.COMPLETE), tags=["search"])
def complete(request: Request, q: Words = "", limit: Annotated[int, Query(ge=1, le=50)] = 8) -> Response:
    """How the last word of what was typed may go on."""
    with request.app.state.sessions.open() as session:
        return JsonResponse(answers.complete(session, q, limit))


@router.get(
    "/page", responses=json_responses(answers.PageAnswer, api_examples.PAGE, NOT_FOUND, BAD_REQUEST), tags=["pages"]
)
def page(request: Request, url: Url, limit: Limit = 50) -> Response:
    """All that is known of a URL, with its links in and out."""
    with request.app.state.sessions.open() as session:
        return JsonResponse(answers.page(session, url, limit))


@router.get(
    "/text", responses=json_responses(answers.TextAnswer, api_examples.TEXT, NOT_FOUND, BAD_REQUEST), tags=["pages"]
)
def text(request: Request, url: Url) -> Response:
    """The text of a page by field, in reading order."""
    with request.app.state.sessions.open() as session:
        return JsonResponse(answers.text(session, url))


@router.get("/word/{word}", responses=json_responses(WordEntry, api_examples.WORD, BAD_REQUEST), tags=["search"])
def word(
    request: Request,
    word: Annotated[str, Path(max_length=200, description="A word, as a person types it.", examples=["graph"])],
    page: PageNumber = 1,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 20,
    order: Literal["frequency", "document"] = "frequency",
) -> Response:
    """The word table's entry: the documents that hold a word, and every position in them."""
    with request.app.state.sessions.open() as session:
        return JsonResponse(answers.word(session, word, order, page, limit))


@router.get("/status", responses=json_responses(answers.Status, api_examples.STATUS), tags=["crawl"])
def status(request: Request) -> Response:
    """What is there, and what is going on now."""
    with request.app.state.sessions.open() as session:
        return JsonResponse(answers.status(session))


@router.get("/hosts", responses=json_responses(answers.HostList, api_examples.HOSTS), tags=["crawl"])
def hosts(request: Request, limit: Limit = 50) -> Response:
    """The hosts, those with most pages first, and what each waits for."""
    with request.app.state.sessions.open() as session:
        return JsonResponse(answers.hosts(session, limit))


@router.get("/errors", responses=json_responses(answers.ErrorList, api_examples.ERRORS), tags=["crawl"])
def errors(request: Request, outcome: ShortText = "", limit: Limit = 50, page: PageNumber = 1) -> Response:
    """What was not visited as it should have been, and why."""
    with request.app.state.sessions.open() as session:
        return JsonResponse(answers.errors(session, outcome, limit, page))
