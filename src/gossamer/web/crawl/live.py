"""The crawl as it goes: a page, its history of seconds, and server-sent events for those who watch.

What is sent comes from the store, so crawlers on other machines are seen too. One look a second serves all who watch,
and nobody looks when nobody watches.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

import msgspec
from fastapi import APIRouter, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response, StreamingResponse

from gossamer.errors import GossamerError
from gossamer.web import answers
from gossamer.web.http import api_examples
from gossamer.web.http.compression import JsonResponse
from gossamer.web.http.openapi import json_responses, media_responses
from gossamer.web.http.problems import problem_from_error

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from gossamer.web.http.sessions import SessionPool

router = APIRouter()

POLL_SECONDS = 1.0
PING_SECONDS = 15.0  # proxies close what is silent for long
RETRY_MILLISECONDS = 2_000
MAX_SUBSCRIBERS = 200  # connections


class LiveFeed:
    """Looks at the store once a second, for as long as somebody watches."""

    def __init__(self, sessions: SessionPool) -> None:
        self._sessions = sessions
        self._subscribers: set[asyncio.Queue[bytes]] = set()
        self._task: asyncio.Task[None] | None = None

    @property
    def is_full(self) -> bool:
        """Whether nobody else may watch."""
        return len(self._subscribers) >= MAX_SUBSCRIBERS

    async def events(self) -> AsyncIterator[bytes]:
        """What one of those who watch is sent."""
        queue: asyncio.Queue[bytes] = asyncio.Queue(2)
        self._subscribers.add(queue)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._poll())
        try:
            yield f"retry: {RETRY_MILLISECONDS}\n\n".encode()
            while True:
                try:
                    yield await asyncio.wait_for(queue.get(), PING_SECONDS)
                except TimeoutError:
                    yield b": still here\n\n"
        finally:
            self._subscribers.discard(queue)

    async def close(self) -> None:
        """Stop looking."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def _poll(self) -> None:
        last_comparable = b""
        while self._subscribers:
            started = time.monotonic()
            event, comparable = await run_in_threadpool(self._read_event)
            if comparable != last_comparable:
                last_comparable = comparable
                for each in self._subscribers:
                    with suppress(asyncio.QueueFull):  # who does not read fast enough misses a second
                        each.put_nowait(event)
            await asyncio.sleep(max(0.1, POLL_SECONDS - (time.monotonic() - started)))

    def _read_event(self) -> tuple[bytes, bytes]:
        """An event, and the same without what time alone changes."""
        try:
            with self._sessions.open() as session:
                live_status = answers.live_status(session.store, time.time())
        except GossamerError as error:
            event = _event("problem", problem_from_error(error))
            return event, event
        comparable = msgspec.structs.replace(
            live_status, now=0.0, tick=msgspec.structs.replace(live_status.tick, second=0)
        )
        return _event("live", live_status), msgspec.json.encode(comparable)


def _event(kind: str, value: object) -> bytes:
    return b"event: " + kind.encode() + b"\ndata: " + msgspec.json.encode(value) + b"\n\n"


@router.get(
    "/api/live", responses=media_responses("text/event-stream", "Events `live`, about one a second."), tags=["crawl"]
)
async def live(request: Request) -> Response:
    """What goes on, as server-sent events: the shape `Live`, whenever something changed."""
    feed: LiveFeed = request.app.state.live_feed
    if feed.is_full:
        return Response("Too many watch already.", 503, {"Retry-After": "10"}, "text/plain")
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(feed.events(), media_type="text/event-stream", headers=headers)


@router.get("/api/now", responses=json_responses(answers.LiveStatus, api_examples.LIVE), tags=["crawl"])
def now(request: Request) -> Response:
    """What goes on now: what `/api/live` sends."""
    with request.app.state.sessions.open() as session:
        return JsonResponse(answers.live_status(session.store, time.time()))


@router.get("/api/pace", responses=json_responses(answers.RateHistory, api_examples.PACE), tags=["crawl"])
def pace(request: Request, seconds: Annotated[int, Query(ge=1, le=3_600)] = 300) -> Response:
    """How many visits and bytes there were in each of the last seconds."""
    with request.app.state.sessions.open() as session:
        return JsonResponse(answers.rate_history(session.store, seconds, time.time()))


@router.get("/crawl", include_in_schema=False)
def crawl(request: Request, done: Annotated[str, Query(max_length=500)] = "") -> Response:
    """The dashboard."""
    with request.app.state.sessions.open() as session:
        live_status = answers.live_status(session.store, time.time())
        web_status = answers.status(session)
    most = request.app.state.control.most_parsers
    answer: Response = request.app.state.templates.page(
        request, "crawl.html", live_status=live_status, web_status=web_status, done=done, most_parsers=most
    )
    return answer
