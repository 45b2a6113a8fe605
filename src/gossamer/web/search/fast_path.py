"""A short way for what is asked most: plain questions of the API are answered before the framework sees them.

Finding the route, checking eleven parameters and the layers for faults take as long as everything else that a
remembered answer needs. A question with filters, or with anything that is not as it should be, goes on to the route in
`api`, which says the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

from gossamer.errors import GossamerError
from gossamer.web import api
from gossamer.web.answers import SearchQuestion
from gossamer.web.http.problems import problem_from_error, problem_response

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from gossamer.web.search.search_cache import SearchQueue

ROUTE = next(route for route in api.router.routes if getattr(route, "path", "") == "/api/search")
JSON_TYPE = (b"content-type", b"application/json")


class SearchFastPath:
    """Answers plain searches. Plain ASGI."""

    def __init__(self, app: ASGIApp, queue: SearchQueue) -> None:
        self._app = app
        self._queue = queue

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        question = plain_question(scope["query_string"]) if is_search_request(scope) else None
        if question is None:
            await self._app(scope, receive, send)
            return
        scope["route"] = ROUTE  # as the framework does: requests are counted by it
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
    """Whether this asks the API to search."""
    return bool(scope["type"] == "http" and scope["path"] == "/api/search" and scope["method"] == "GET")


def plain_question(query: bytes) -> SearchQuestion | None:
    """The question, if there are words and at most a page and a limit, each once and as it should be."""
    given = parse_qsl(query.decode("latin-1"), keep_blank_values=True)  # the very way Starlette reads it
    fields = dict(given)
    if len(fields) != len(given) or not fields.keys() <= {"q", "page", "limit"}:
        return None
    q, page, limit = fields.get("q", ""), fields.get("page", "1"), fields.get("limit", str(api.PER_PAGE))
    if len(q) > api.MAX_QUERY_CHARACTERS or not (_is_number(page, api.MAX_PAGES) and _is_number(limit, api.MAX_HITS)):
        return None
    return SearchQuestion(q=q, page=int(page), limit=int(limit))


def _is_number(text: str, most: int) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 10 and 1 <= int(text) <= most
