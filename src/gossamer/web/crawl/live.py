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
from gossamer.web.http.compression import Told
from gossamer.web.http.openapi import answers as answering
from gossamer.web.http.openapi import sends
from gossamer.web.http.problems import problem_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from gossamer.web.http.sessions import Desks

router = APIRouter()

EVERY_SECONDS = 1.0
PING_SECONDS = 15.0  # proxies close what is silent for long
RETRY_MILLISECONDS = 2_000
MOST_WATCHING = 200  # connections


class Watch:
    """Looks at the store once a second, for as long as somebody watches."""

    def __init__(self, desks: Desks) -> None:
        self._desks = desks
        self._watching: set[asyncio.Queue[bytes]] = set()
        self._task: asyncio.Task[None] | None = None

    @property
    def full(self) -> bool:
        """Whether nobody else may watch."""
        return len(self._watching) >= MOST_WATCHING

    async def events(self) -> AsyncIterator[bytes]:
        """What one of those who watch is sent."""
        mine: asyncio.Queue[bytes] = asyncio.Queue(2)
        self._watching.add(mine)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._look())
        try:
            yield f"retry: {RETRY_MILLISECONDS}\n\n".encode()
            while True:
                try:
                    yield await asyncio.wait_for(mine.get(), PING_SECONDS)
                except TimeoutError:
                    yield b": still here\n\n"
        finally:
            self._watching.discard(mine)

    async def close(self) -> None:
        """Stop looking."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def _look(self) -> None:
        seen = b""
        while self._watching:
            started = time.monotonic()
            sent, same = await run_in_threadpool(self._told)
            if same != seen:
                seen = same
                for each in self._watching:
                    with suppress(asyncio.QueueFull):  # who does not read fast enough misses a second
                        each.put_nowait(sent)
            await asyncio.sleep(max(0.1, EVERY_SECONDS - (time.monotonic() - started)))

    def _told(self) -> tuple[bytes, bytes]:
        """An event, and the same without what time alone changes."""
        try:
            with self._desks.open() as desk:
                told = answers.live(desk.store, time.time())
        except GossamerError as error:
            event = _event("problem", problem_of(error))
            return event, event
        rest = msgspec.structs.replace(told, now=0.0, tick=msgspec.structs.replace(told.tick, second=0))
        return _event("live", told), msgspec.json.encode(rest)


def _event(kind: str, value: object) -> bytes:
    return b"event: " + kind.encode() + b"\ndata: " + msgspec.json.encode(value) + b"\n\n"


@router.get("/api/live", responses=sends("text/event-stream", "Events `live`, about one a second."), tags=["crawl"])
async def live(request: Request) -> Response:
    """What goes on, as server-sent events: the shape `Live`, whenever something changed."""
    watch: Watch = request.app.state.watch
    if watch.full:
        return Response("Too many watch already.", 503, {"Retry-After": "10"}, "text/plain")
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(watch.events(), media_type="text/event-stream", headers=headers)


@router.get("/api/now", responses=answering(answers.Live, api_examples.LIVE), tags=["crawl"])
def now(request: Request) -> Response:
    """What goes on now: what `/api/live` sends."""
    with request.app.state.desks.open() as desk:
        return Told(answers.live(desk.store, time.time()))


@router.get("/api/pace", responses=answering(answers.Pace, api_examples.PACE), tags=["crawl"])
def pace(request: Request, seconds: Annotated[int, Query(ge=1, le=3_600)] = 300) -> Response:
    """How many visits and bytes there were in each of the last seconds."""
    with request.app.state.desks.open() as desk:
        return Told(answers.pace(desk.store, seconds, time.time()))


@router.get("/crawl", include_in_schema=False)
def crawl(request: Request, done: Annotated[str, Query(max_length=500)] = "") -> Response:
    """The dashboard."""
    with request.app.state.desks.open() as desk:
        told = answers.live(desk.store, time.time())
        asked = answers.status(desk)
    most = request.app.state.control.most_parsers
    answer: Response = request.app.state.look.page(
        request, "crawl.html", told=told, asked=asked, done=done, most_parsers=most
    )
    return answer
