"""Server-sent events of a running crawl, for browsers that watch it.

Events come from the store, so they also cover crawlers on other machines. One read per second serves all subscribers,
and nothing reads the store while there are none.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec
from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response, StreamingResponse

from gossamer.errors import GossamerError
from gossamer.web.crawl import answers
from gossamer.web.http.client_limits import MAX_CLIENT_STREAMS, client_of
from gossamer.web.http.openapi import media_responses
from gossamer.web.http.problems import problem_from_error

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from gossamer.web.http.sessions import SessionPool

router = APIRouter()

POLL_SECONDS = 1.0
PING_SECONDS = 15.0  # proxies close connections that stay silent
RETRY_MILLISECONDS = 2_000  # after which a browser connects again
MAX_SUBSCRIBERS = 200  # open connections


class LiveFeed:
    """Reads the store once per second while there are subscribers."""

    def __init__(self, sessions: SessionPool) -> None:
        self._sessions = sessions
        self._subscribers: dict[asyncio.Queue[bytes], str] = {}  # with their clients
        self._task: asyncio.Task[None] | None = None

    def is_full(self, client: str) -> bool:
        """Whether the feed accepts no further subscriber, or none of this client."""
        own = sum(each == client for each in self._subscribers.values())
        return own >= MAX_CLIENT_STREAMS or len(self._subscribers) >= MAX_SUBSCRIBERS

    async def events(self, client: str) -> AsyncIterator[bytes]:
        """Yield the events of one subscriber until it disconnects."""
        queue: asyncio.Queue[bytes] = asyncio.Queue(2)
        self._subscribers[queue] = client
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
            self._subscribers.pop(queue)

    async def close(self) -> None:
        """Stop reading the store."""
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
                    with suppress(asyncio.QueueFull):  # a slow subscriber misses this event
                        each.put_nowait(event)
            await asyncio.sleep(max(0.1, POLL_SECONDS - (time.monotonic() - started)))

    def _read_event(self) -> tuple[bytes, bytes]:
        """Return an event, and the same without its times: an event that differs only in time is not sent."""
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
    """Send the state of the crawl as server-sent events, in the shape `LiveStatus`, whenever it changes."""
    feed: LiveFeed = request.app.state.live_feed
    client = client_of(request.client.host if request.client else "")
    if feed.is_full(client):
        return Response(
            "Too many browsers watch this crawl. Try again later.", 503, {"Retry-After": "10"}, "text/plain"
        )
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(feed.events(client), media_type="text/event-stream", headers=headers)
