"""Run an app without a server: start it before the first request, and end it after the last."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.types import ASGIApp, Message


@asynccontextmanager
async def started(app: ASGIApp) -> AsyncIterator[ASGIApp]:
    """Send the events of ASGI's lifespan protocol around a block."""
    events: asyncio.Queue[Message] = asyncio.Queue()
    replies: asyncio.Queue[Message] = asyncio.Queue()

    async def run() -> None:
        await app({"type": "lifespan", "asgi": {"version": "3.0"}}, events.get, replies.put)

    running = asyncio.create_task(run())
    try:
        await events.put({"type": "lifespan.startup"})
        assert (await replies.get())["type"] == "lifespan.startup.complete"
        yield app
    finally:
        await events.put({"type": "lifespan.shutdown"})
        await running
