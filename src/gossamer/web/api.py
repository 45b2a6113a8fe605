"""The API: what pages show, as JSON. Every route is thin: it takes a desk and hands on what was asked."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Path, Query, Request
from starlette.responses import Response

from gossamer.index.word_table import WordEntry
from gossamer.web import answers
from gossamer.web.http import api_examples
from gossamer.web.http.compression import Told
from gossamer.web.http.openapi import answers as answering
from gossamer.web.search.facets import Filters

router = APIRouter(prefix="/api", default_response_class=Told)

PER_PAGE = 10  # hits, when nothing else is said
MOST_HITS = 100  # on a page
MOST_PAGES = 10_000
LONGEST = 2_000  # characters of a question
NOT_FOUND, BAD = HTTPStatus.NOT_FOUND, HTTPStatus.BAD_REQUEST

Words = Annotated[str, Query(max_length=LONGEST, description="What is searched for.", examples=["link graph"])]
Url = Annotated[str, Query(max_length=4_096, description="A URL of this web.", examples=["https://example.org/"])]
PageNumber = Annotated[int, Query(ge=1, le=MOST_PAGES, description="The page of the answer, from 1 on.")]
Limit = Annotated[int, Query(ge=1, le=1_000, description="At most so many.")]
Short = Annotated[str, Query(max_length=300)]
Date = Annotated[str, Query(max_length=10, pattern=r"^(\d{4}(-\d{2}(-\d{2})?)?)?$", description="YYYY[-MM[-DD]]")]


async def filters(
    host: Short = "",
    language: Short = "",
    type: Short = "",  # noqa: A002 - the name of the parameter
    since: Date = "",
    until: Date = "",
) -> Filters:
    """The filters that a query names. Not in a thread of its own, as FastAPI would do without `async`."""
    return Filters(host=host, language=language, type=type, since=since, until=until)


async def question(
    by: Annotated[Filters, Depends(filters)],
    q: Words = "",
    page: PageNumber = 1,
    limit: Annotated[int, Query(ge=1, le=MOST_HITS)] = PER_PAGE,
    explain: bool = False,
) -> answers.Question:
    """The question that a query asks."""
    return answers.Question(q=q, page=page, limit=limit, explain=explain, filters=by)


Question = Annotated[answers.Question, Depends(question)]


@router.get("/search", responses=answering(answers.SearchAnswer, api_examples.SEARCH), tags=["search"])
async def search(request: Request, asked: Question, facets: bool = False) -> Response:
    """Find pages by their words, in the language of `gossamer search`."""
    found = await request.app.state.lane.search(asked, with_facets=facets)
    return Response(found.body, headers={"ETag": found.tag}, media_type="application/json")


@router.get("/complete", responses=answering(answers.Completions, api_examples.COMPLETE), tags=["search"])
def complete(request: Request, q: Words = "", limit: Annotated[int, Query(ge=1, le=50)] = 8) -> Response:
    """How the last word of what was typed may go on."""
    with request.app.state.desks.open() as desk:
        return Told(answers.complete(desk, q, limit))


@router.get("/page", responses=answering(answers.PageAnswer, api_examples.PAGE, NOT_FOUND, BAD), tags=["pages"])
def page(request: Request, url: Url, limit: Limit = 50) -> Response:
    """All that is known of a URL, with its links in and out."""
    with request.app.state.desks.open() as desk:
        return Told(answers.page(desk, url, limit))


@router.get("/text", responses=answering(answers.TextAnswer, api_examples.TEXT, NOT_FOUND, BAD), tags=["pages"])
def text(request: Request, url: Url) -> Response:
    """The text of a page by field, in reading order."""
    with request.app.state.desks.open() as desk:
        return Told(answers.text(desk, url))


@router.get("/word/{word}", responses=answering(WordEntry, api_examples.WORD, BAD), tags=["search"])
def word(
    request: Request,
    word: Annotated[str, Path(max_length=200, description="A word, as a person types it.", examples=["graph"])],
    page: PageNumber = 1,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 20,
    order: Literal["frequency", "document"] = "frequency",
) -> Response:
    """The word table's entry: the documents that hold a word, and every position in them."""
    with request.app.state.desks.open() as desk:
        return Told(answers.word(desk, word, order, page, limit))


@router.get("/status", responses=answering(answers.Status, api_examples.STATUS), tags=["crawl"])
def status(request: Request) -> Response:
    """What is there, and what is going on now."""
    with request.app.state.desks.open() as desk:
        return Told(answers.status(desk))


@router.get("/hosts", responses=answering(answers.Hosts, api_examples.HOSTS), tags=["crawl"])
def hosts(request: Request, limit: Limit = 50) -> Response:
    """The hosts, those with most pages first, and what each waits for."""
    with request.app.state.desks.open() as desk:
        return Told(answers.hosts(desk, limit))


@router.get("/errors", responses=answering(answers.Errors, api_examples.ERRORS), tags=["crawl"])
def errors(request: Request, outcome: Short = "", limit: Limit = 50, page: PageNumber = 1) -> Response:
    """What was not visited as it should have been, and why."""
    with request.app.state.desks.open() as desk:
        return Told(answers.errors(desk, outcome, limit, page))
