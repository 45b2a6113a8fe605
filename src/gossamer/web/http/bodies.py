"""Responses with long bodies: sent in pieces, a few at a time."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from starlette.responses import Response, StreamingResponse

from gossamer.web.http.sessions import TooBusy

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from starlette.types import Receive, Scope, Send

WHOLE_BYTES = 1 << 20  # a shorter body is sent as a whole, with an ETag and compressed
MAX_STREAMS = 4  # long bodies at once; each holds its packed source, up to `fetch.max_bytes`
_PLACES = threading.BoundedSemaphore(MAX_STREAMS)


def body_response(chunks: Iterator[bytes], media_type: str, headers: Mapping[str, str] | None = None) -> Response:
    """Return a response with these chunks. Raises `TooBusy` for a long body while `MAX_STREAMS` others are sent."""
    start = bytearray()
    for chunk in chunks:
        start += chunk
        if len(start) > WHOLE_BYTES:
            break
    else:
        return Response(bytes(start), headers=dict(headers or {}), media_type=media_type)
    if not _PLACES.acquire(blocking=False):
        raise TooBusy("The server is busy with other long answers. Try again in a moment.")
    return _LongResponse(_joined(bytes(start), chunks), headers=dict(headers or {}), media_type=media_type)


def _joined(start: bytes, chunks: Iterator[bytes]) -> Iterator[bytes]:
    yield start
    yield from chunks


class _LongResponse(StreamingResponse):
    """Gives its place back at the end, also when the client is gone."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            _PLACES.release()
