"""Answers plain searches of the API before FastAPI sees them.

FastAPI's routing, parameter checks and error handlers take as long as the rest of a cached answer. Requests with
filters or with invalid parameters go on to `routes.search`, which returns the same answers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

from gossamer.errors import GossamerError
from gossamer.web.http.parameters import MAX_PAGES, MAX_QUERY_CHARACTERS
from gossamer.web.http.problems import problem_from_error, problem_response
from gossamer.web.search import routes
from gossamer.web.search.facets import SearchQuestion
from gossamer.web.search.question import MAX_HITS, PER_PAGE

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from gossamer.web.search.search_cache import SearchQueue

ROUTE = next(route for route in routes.api.routes if getattr(route, "path", "") == "/api/search")
JSON_TYPE = (b"content-type", b"application/json")


class SearchFastPath:
    """Answers plain searches, passes on all other requests. Plain ASGI."""

    def __init__(self, app: ASGIApp, queue: SearchQueue) -> None:
        self._app = app
        self._queue = queue

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        question = plain_question(scope["query_string"]) if is_search_request(scope) else None
        if question is None:
            await self._app(scope, receive, send)
            return
        scope["route"] = ROUTE  # as FastAPI does; `RequestMetrics` counts by it
        try:
            cached = await self._queue.search(question)
        except GossamerError as error:
            await problem_response(problem_from_error(error))(scope, receive, send)
            return
        body = cached.body
        headers = [JSON_TYPE, (b"content-length", b"%d" % len(body)), (b"etag", cached.tag.encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})


def is_search_request(scope: Scope) -> bool:
    """Whether this is a GET of `/api/search`."""
    return bool(scope["type"] == "http" and scope["path"] == "/api/search" and scope["method"] == "GET")


def plain_question(query: bytes) -> SearchQuestion | None:
    """Return the question if it has only `q`, `page` and `limit`, each at most once and valid, else None."""
    given = parse_qsl(query.decode("latin-1"), keep_blank_values=True)  # as Starlette does
    fields = dict(given)
    if len(fields) != len(given) or not fields.keys() <= {"q", "page", "limit"}:
        return None
    q, page, limit = fields.get("q", ""), fields.get("page", "1"), fields.get("limit", str(PER_PAGE))
    if len(q) > MAX_QUERY_CHARACTERS or not (_is_number(page, MAX_PAGES) and _is_number(limit, MAX_HITS)):
        return None
    return SearchQuestion(q=q, page=int(page), limit=int(limit))


def _is_number(text: str, most: int) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 10 and 1 <= int(text) <= most
