"""Lets only some requests of one client run at once; the others wait, and are refused after `WAIT_SECONDS`.

Routes share four read sessions, and all searches share one queue. Without shares, four slow requests of one client
would make all others wait. The middleware also ends the wait for an answer that does not begin in time, and passes
large answers on in parts. So a client that reads slowly keeps its own places.
"""

from __future__ import annotations

import asyncio
from collections import deque
from http import HTTPStatus
from typing import TYPE_CHECKING

from starlette.requests import ClientDisconnect

from gossamer.web.http.client_limits import (
    ANSWER_SECONDS,
    MAX_CLIENT_RUNNING,
    MAX_CLIENT_SEARCHES,
    MAX_CLIENT_WAITING,
    PART_BYTES,
    WAIT_SECONDS,
    client_of,
)
from gossamer.web.http.problems import make_problem, problem_response

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

UNSHARED_PATHS = ("/static/", "/widget.js", "/api/live")  # files, and event streams, which have their own limit
SEARCH_PATHS = frozenset({"/api/search", "/search", "/search.atom", "/api/complete", "/api/suggest"})
BUSY = make_problem(
    HTTPStatus.SERVICE_UNAVAILABLE, "Your other requests are still running. Wait for their answers, then try again."
)
LATE = make_problem(
    HTTPStatus.SERVICE_UNAVAILABLE, f"The answer was not ready after {ANSWER_SECONDS:.0f} seconds. Ask for less."
)


class ClientShare:
    """The running and waiting requests of one client for one kind of work."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._running = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def is_idle(self) -> bool:
        """Whether no request runs or waits."""
        return not self._running

    async def enter(self) -> bool:
        """Wait for a place; return False if there is none in time. Each True needs a `leave`."""
        if self._running < self._most:
            self._running += 1
            return True
        if len(self._waiting) >= MAX_CLIENT_WAITING:
            return False
        place = asyncio.get_running_loop().create_future()
        self._waiting.append(place)
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                await place
        except TimeoutError:
            return self._give_up(place)
        except asyncio.CancelledError:
            if self._give_up(place):
                self.leave()
            raise
        return True

    def _give_up(self, place: asyncio.Future[None]) -> bool:
        """Stop waiting; return whether the place came at the same moment."""
        if place.done() and not place.cancelled():
            return True
        if place in self._waiting:
            self._waiting.remove(place)
        return False

    def leave(self) -> None:
        """Give the place to the request that waits longest."""
        while self._waiting:
            place = self._waiting.popleft()
            if not place.done():
                place.set_result(None)
                return
        self._running -= 1


class ShareMiddleware:
    """Gives each client its share of running requests. Plain ASGI."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._shares: dict[tuple[str, bool], ClientShare] = {}  # by client, and whether it is for searches

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http" or scope["path"].startswith(UNSHARED_PATHS):
            await self._app(scope, receive, send)
            return
        is_search = scope["path"] in SEARCH_PATHS
        key = (client_of(scope["client"][0] if scope["client"] else ""), is_search)
        share = self._shares.get(key)
        if share is None:
            share = self._shares[key] = ClientShare(MAX_CLIENT_SEARCHES if is_search else MAX_CLIENT_RUNNING)
        if not await share.enter():
            await problem_response(BUSY)(scope, receive, send)
            return
        answer = TimedAnswer(scope, receive, send)
        try:
            await self._app(scope, receive, answer)
        except ClientDisconnect:
            pass  # the client left before its body was complete; nobody waits for an answer
        finally:
            answer.end()
            share.leave()
            if share.is_idle:
                self._shares.pop(key, None)


class TimedAnswer:
    """Sends one answer in parts; sends a refusal instead if the answer has not begun in time.

    A thread cannot be stopped. So the request keeps its client's place until its work ends.
    """

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._scope, self._receive, self._send = scope, receive, send
        self._timer = asyncio.get_running_loop().call_later(ANSWER_SECONDS, self._refuse)
        self._refusal: asyncio.Task[None] | None = None

    async def __call__(self, message: Message) -> None:
        """Send a message of the app."""
        self._timer.cancel()
        if self._refusal is not None:
            return
        body = message.get("body", b"")
        if len(body) <= PART_BYTES:
            await self._send(message)
            return
        view, last = memoryview(body), len(body) - 1
        for start in range(0, len(body), PART_BYTES):
            more = message.get("more_body", False) or start + PART_BYTES <= last
            await self._send({**message, "body": bytes(view[start : start + PART_BYTES]), "more_body": more})

    def end(self) -> None:
        """Stop the timer."""
        self._timer.cancel()

    def _refuse(self) -> None:
        respond = problem_response(LATE)(self._scope, self._receive, self._send)
        self._refusal = asyncio.ensure_future(respond)
