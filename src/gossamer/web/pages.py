"""The pages people look at. Each works without scripts, and says the same as its twin in the API."""

from __future__ import annotations

import time
from http import HTTPStatus
from itertools import pairwise
from typing import TYPE_CHECKING, Literal
from urllib.parse import quote

import msgspec
from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import RedirectResponse, Response

from gossamer.errors import IndexMissing
from gossamer.model import Outcome
from gossamer.parse.charset import UTF8, by_label
from gossamer.web import answers
from gossamer.web.api import PER_PAGE, PageNumber, Question, Short, Url, Words
from gossamer.web.http.problems import NotKnown
from gossamer.web.http.security import SOURCE_POLICY
from gossamer.web.search.marks import asked_terms, marked_runs

if TYPE_CHECKING:
    from gossamer.web.http.sessions import Desk
    from gossamer.web.search.marks import Terms

router = APIRouter(include_in_schema=False)

RELATED = 8  # pages
LINKS = 50  # shown each way on a page's page
HOSTS = 200
ERRORS = 100
WORD_DOCUMENTS = 20
LONGEST_WORD = 200  # characters
POSITIONS = 30  # shown of each document
SOURCE_BYTES = 1 << 20  # shown as text
TEXTS = ("text/", "application/json", "application/javascript")
Order = Literal["frequency", "document"]
AROUND = 2  # numbers of pages shown on each side of the current one


@router.get("/")
def home(request: Request) -> Response:
    """The search page before anything was asked."""
    with request.app.state.desks.open() as desk:
        counts = desk.store.counts()
        at_work = [crawler for crawler in answers.crawlers(desk.store) if crawler.at_work]
    return _page(request, "home.html", counts=counts, at_work=at_work)


@router.get("/search")
async def search(request: Request, asked: Question) -> Response:
    """Hits, with filters."""
    if not asked.q.strip():
        return await run_in_threadpool(home, request)
    try:
        found = await request.app.state.lane.search(asked, with_facets=True)
    except IndexMissing as missing:
        return _page(request, "no_index.html", status=503, q=asked.q, why=str(missing))
    return await run_in_threadpool(_hits, request, asked, found.answer)


def _hits(request: Request, asked: answers.Question, answer: answers.SearchAnswer) -> Response:
    limit = asked.limit if asked.limit != PER_PAGE else None
    kept = {"q": asked.q, "limit": limit, "explain": asked.explain, **msgspec.structs.asdict(asked.filters)}
    return _page(
        request, "search.html", q=asked.q, answer=answer, asked=asked, kept=kept, numbers=_numbers(answer),
        filters=asked.filters,
    )  # fmt: skip


def _numbers(answer: answers.SearchAnswer) -> list[int | None]:
    """The pages of an answer to offer: the first, those around this one; None where some are left out."""
    last = max(1, -(-answer.total // answer.limit))
    near = range(max(1, answer.page - AROUND), min(last, answer.page + AROUND) + 1)
    shown = sorted({1, *near})
    numbers: list[int | None] = [shown[0]]
    for before, number in pairwise(shown):
        numbers += [None, number] if number > before + 1 else [number]
    return numbers


@router.get("/page")
def page(request: Request, url: Url, q: Words = "") -> Response:
    """All that is known of a URL."""
    with request.app.state.desks.open() as desk:
        told = answers.page(desk, url, LINKS + 1)
        runs = [(field.name.lower(), run) for field, run in desk.store.text(told.id) or []]
        shown = marked_runs(runs, _terms(desk, q)) if runs else []
        related = request.app.state.graphs.related(desk, told.url, RELATED).related
    return _page(request, "page.html", q=q, told=told, runs=shown, most=LINKS, related=related)


def _terms(desk: Desk, q: str) -> Terms:
    """What to mark of a question; nothing where there is no index to ask it of."""
    try:
        return asked_terms(q, desk.index.languages()) if q.strip() else {}
    except IndexMissing:
        return {}


@router.get("/word/{word}")
def word(request: Request, word: str, page: PageNumber = 1, order: Order = "frequency") -> Response:
    """The word table's entry of a word."""
    with request.app.state.desks.open() as desk:
        entry = answers.word(desk, word[:LONGEST_WORD], order, page, WORD_DOCUMENTS)
    return _page(request, "word.html", q=word, entry=entry, page=page, order=order, most=POSITIONS)


@router.get("/word")
def word_form(q: Words = "") -> Response:
    """The same, from a form."""
    return RedirectResponse(f"/word/{quote(q.strip(), safe='')}" if q.strip() else "/", HTTPStatus.SEE_OTHER)


@router.get("/source")
def source(request: Request, url: Url) -> Response:
    """The stored source of a page: as text, and as it looks without scripts and requests."""
    with request.app.state.desks.open() as desk:
        row = answers.resource(desk.store, url)
        body = desk.store.source(row.id)
    if body is None:
        raise NotKnown(f"The source of {row.url} was not kept.")
    kind = row.media_type.lower()
    text = (
        body[:SOURCE_BYTES].decode(_codec(row.charset), "replace") if kind.startswith(TEXTS) or "xml" in kind else None
    )
    return _page(
        request, "source.html", row=row, text=text, size=len(body), cut=len(body) > SOURCE_BYTES, html="html" in kind
    )


@router.get("/source/raw")
def raw_source(request: Request, url: Url) -> Response:
    """The stored source itself. HTML goes into a sandbox: nothing runs, nothing is fetched. The rest is a file."""
    with request.app.state.desks.open() as desk:
        row = answers.resource(desk.store, url)
        body = desk.store.source(row.id)
    if body is None:
        raise NotKnown(f"The source of {row.url} was not kept.")
    if "html" not in row.media_type.lower():
        headers = {"Content-Disposition": "attachment", "Content-Security-Policy": SOURCE_POLICY}
        return Response(body, headers=headers, media_type="application/octet-stream")
    text = body.decode(_codec(row.charset), "replace").encode("utf-8", "replace")
    return Response(text, headers={"Content-Security-Policy": SOURCE_POLICY}, media_type="text/html; charset=utf-8")


def _codec(label: str) -> str:
    return (by_label(label) or UTF8).codec


@router.get("/hosts")
def hosts(request: Request) -> Response:
    """The hosts."""
    with request.app.state.desks.open() as desk:
        told = answers.hosts(desk, HOSTS)
    return _page(request, "hosts.html", told=told, now=time.time())


@router.get("/errors")
def errors(request: Request, outcome: Short = "", page: PageNumber = 1) -> Response:
    """What was not visited as it should have been."""
    with request.app.state.desks.open() as desk:
        told = answers.errors(desk, outcome, ERRORS, page)
    return _page(request, "errors.html", told=told, outcome=outcome, page=page, outcomes=list(Outcome))


@router.get("/api")
def api(request: Request) -> Response:
    """The API, described from its own description."""
    return _page(request, "api.html", document=request.app.openapi())


def _page(request: Request, template: str, *, status: int = 200, **values: object) -> Response:
    answer: Response = request.app.state.look.page(request, template, status=status, **values)
    return answer
