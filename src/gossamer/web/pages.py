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
from gossamer.parse.charset import UTF8, charset_by_label
from gossamer.web import answers
from gossamer.web.api import PER_PAGE, PageNumber, Question, ShortText, Url, Words
from gossamer.web.http.problems import NotFound
from gossamer.web.http.security import SOURCE_POLICY
from gossamer.web.search.marks import mark_runs, question_terms

if TYPE_CHECKING:
    from gossamer.web.http.sessions import ReadSession
    from gossamer.web.search.marks import Terms

router = APIRouter(include_in_schema=False)

RELATED = 8  # pages
LINKS = 50  # shown each way on a page's page
HOSTS = 200
ERRORS = 100
WORD_DOCUMENTS = 20
MAX_WORD_CHARACTERS = 200  # characters
POSITIONS = 30  # shown of each document
SOURCE_BYTES = 1 << 20  # shown as text
TEXTS = ("text/", "application/json", "application/javascript")
Order = Literal["frequency", "document"]
PAGES_AROUND = 2  # numbers of pages shown on each side of the current one


@router.get("/")
def home(request: Request) -> Response:
    """The search page before anything was asked."""
    with request.app.state.sessions.open() as session:
        counts = session.store.counts()
        at_work = [crawler for crawler in answers.crawlers(session.store) if crawler.at_work]
    return _page(request, "home.html", counts=counts, at_work=at_work)


@router.get("/search")
async def search(request: Request, question: Question) -> Response:
    """Hits, with filters."""
    if not question.q.strip():
        return await run_in_threadpool(home, request)
    try:
        cached = await request.app.state.search_queue.search(question, with_facets=True)
    except IndexMissing as missing:
        return _page(request, "no_index.html", status=503, q=question.q, why=str(missing))
    return await run_in_threadpool(_hits_page, request, question, cached.answer)


def _hits_page(request: Request, question: answers.SearchQuestion, answer: answers.SearchAnswer) -> Response:
    limit = question.limit if question.limit != PER_PAGE else None
    link_parameters = {
        "q": question.q,
        "limit": limit,
        "explain": question.explain,
        **msgspec.structs.asdict(question.filters),
    }
    return _page(
        request, "search.html", q=question.q, answer=answer, question=question, link_parameters=link_parameters, numbers=_page_numbers(answer),
        filters=question.filters,
    )  # fmt: skip


def _page_numbers(answer: answers.SearchAnswer) -> list[int | None]:
    """The pages of an answer to offer: the first, those around this one; None where some are left out."""
    last = max(1, -(-answer.total // answer.limit))
    near = range(max(1, answer.page - PAGES_AROUND), min(last, answer.page + PAGES_AROUND) + 1)
    offered = sorted({1, *near})
    numbers: list[int | None] = [offered[0]]
    for before, number in pairwise(offered):
        numbers += [None, number] if number > before + 1 else [number]
    return numbers


@router.get("/page")
def page(request: Request, url: Url, q: Words = "") -> Response:
    """All that is known of a URL."""
    with request.app.state.sessions.open() as session:
        resource = answers.page(session, url, LINKS + 1)
        runs = [(field.name.lower(), run) for field, run in session.store.text(resource.id) or []]
        marked_text = mark_runs(runs, _query_terms(session, q)) if runs else []
        related = request.app.state.graph_cache.related_pages(session, resource.url, RELATED).related
    return _page(request, "page.html", q=q, resource=resource, runs=marked_text, most=LINKS, related=related)


def _query_terms(session: ReadSession, q: str) -> Terms:
    """What to mark of a question; nothing where there is no index to ask it of."""
    try:
        return question_terms(q, session.index.languages()) if q.strip() else {}
    except IndexMissing:
        return {}


@router.get("/word/{word}")
def word(request: Request, word: str, page: PageNumber = 1, order: Order = "frequency") -> Response:
    """The word table's entry of a word."""
    with request.app.state.sessions.open() as session:
        entry = answers.word(session, word[:MAX_WORD_CHARACTERS], order, page, WORD_DOCUMENTS)
    return _page(request, "word.html", q=word, entry=entry, page=page, order=order, most=POSITIONS)


@router.get("/word")
def word_form(q: Words = "") -> Response:
    """The same, from a form."""
    return RedirectResponse(f"/word/{quote(q.strip(), safe='')}" if q.strip() else "/", HTTPStatus.SEE_OTHER)


@router.get("/source")
def source(request: Request, url: Url) -> Response:
    """The stored source of a page: as text, and as it looks without scripts and requests."""
    with request.app.state.sessions.open() as session:
        row = answers.resource(session.store, url)
        body = session.store.source(row.id)
    if body is None:
        raise NotFound(f"The source of {row.url} was not kept.")
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
    with request.app.state.sessions.open() as session:
        row = answers.resource(session.store, url)
        body = session.store.source(row.id)
    if body is None:
        raise NotFound(f"The source of {row.url} was not kept.")
    if "html" not in row.media_type.lower():
        headers = {"Content-Disposition": "attachment", "Content-Security-Policy": SOURCE_POLICY}
        return Response(body, headers=headers, media_type="application/octet-stream")
    text = body.decode(_codec(row.charset), "replace").encode("utf-8", "replace")
    return Response(text, headers={"Content-Security-Policy": SOURCE_POLICY}, media_type="text/html; charset=utf-8")


def _codec(label: str) -> str:
    return (charset_by_label(label) or UTF8).codec


@router.get("/hosts")
def hosts(request: Request) -> Response:
    """The hosts."""
    with request.app.state.sessions.open() as session:
        answer = answers.hosts(session, HOSTS)
    return _page(request, "hosts.html", answer=answer, now=time.time())


@router.get("/errors")
def errors(request: Request, outcome: ShortText = "", page: PageNumber = 1) -> Response:
    """What was not visited as it should have been."""
    with request.app.state.sessions.open() as session:
        answer = answers.errors(session, outcome, ERRORS, page)
    return _page(request, "errors.html", answer=answer, outcome=outcome, page=page, outcomes=list(Outcome))


@router.get("/api")
def api(request: Request) -> Response:
    """The API, described from its own description."""
    return _page(request, "api.html", document=request.app.openapi())


def _page(request: Request, template: str, *, status: int = 200, **values: object) -> Response:
    answer: Response = request.app.state.templates.page(request, template, status=status, **values)
    return answer
