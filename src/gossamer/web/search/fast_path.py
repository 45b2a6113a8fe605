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
from gossamer.web.answers import Question
from gossamer.web.http.problems import problem_of, problem_response

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from gossamer.web.search.search_cache import Lane

ROUTE = next(route for route in api.router.routes if getattr(route, "path", "") == "/api/search")
JSON = (b"content-type", b"application/json")


class Shortcut:
    """Answers plain searches. Plain ASGI."""

    def __init__(self, app: ASGIApp, lane: Lane) -> None:
        self._app = app
        self._lane = lane

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        asked = plain_question(scope["query_string"]) if is_search(scope) else None
        if asked is None:
            await self._app(scope, receive, send)
            return
        scope["route"] = ROUTE  # as the framework does: requests are counted by it
        try:
            found = await self._lane.search(asked)
        except GossamerError as error:
            await problem_response(problem_of(error))(scope, receive, send)
            return
        body = found.body
        headers = [JSON, (b"content-length", b"%d" % len(body)), (b"etag", found.tag.encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})


def is_search(scope: Scope) -> bool:
    """Whether this asks the API to search."""
    return bool(scope["type"] == "http" and scope["path"] == "/api/search" and scope["method"] == "GET")


def plain_question(query: bytes) -> Question | None:
    """The question, if there are words and at most a page and a limit, each once and as it should be."""
    given = parse_qsl(query.decode("latin-1"), keep_blank_values=True)  # the very way Starlette reads it
    fields = dict(given)
    if len(fields) != len(given) or not fields.keys() <= {"q", "page", "limit"}:
        return None
    q, page, limit = fields.get("q", ""), fields.get("page", "1"), fields.get("limit", str(api.PER_PAGE))
    if len(q) > api.LONGEST or not (_is_number(page, api.MOST_PAGES) and _is_number(limit, api.MOST_HITS)):
        return None
    return Question(q=q, page=int(page), limit=int(limit))


def _is_number(text: str, most: int) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 10 and 1 <= int(text) <= most
