"""Compression and ETags of responses, and JSON by msgspec.

The middleware is plain ASGI, because Starlette's `BaseHTTPMiddleware` costs more time than a search.
"""

from __future__ import annotations

import gzip
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import msgspec
import zstandard
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

MIN_COMPRESSED_BYTES = 800  # a smaller body fits into one packet anyway
COMPRESSIBLE = ("text/", "application/json", "application/problem+json", "application/xml", "application/atom+xml",
                "application/openapi+json", "application/opensearchdescription+xml", "image/svg+xml",
                "application/gexf+xml", "application/javascript", "application/x-suggestions+json")  # fmt: skip
MAX_INLINE_BYTES = 262_144  # a larger body takes milliseconds, so a thread compresses it
ZSTD_LEVEL, GZIP_LEVEL = 3, 5  # 15 kB of JSON take 0.06 ms and 0.3 ms


class JsonResponse(JSONResponse):
    """A value as JSON, encoded by msgspec."""

    def render(self, content: Any) -> bytes:
        """Encode the value."""
        return msgspec.json.encode(content)


class CompressionMiddleware:
    """Adds ETags, compresses bodies, and answers HEAD like GET."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        sending = _ResponseSender(scope, send)
        if scope["method"] == "HEAD":
            scope = {**scope, "method": "GET"}
        await self._app(scope, receive, sending)


class _ResponseSender:
    """Sends one response; holds its head back until the first part of the body is known."""

    def __init__(self, scope: Scope, send: Send) -> None:
        headers = Headers(scope=scope)
        self._send = send
        self._method = scope["method"]
        self._client_tags = headers.get("if-none-match", "")
        self._accepted_encodings = headers.get("accept-encoding", "")
        self._start: Message | None = None

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._start = message
            return
        if message["type"] != "http.response.body":
            await self._send(message)
            return
        if self._start is not None:
            whole = not message.get("more_body", False)
            start, self._start = self._start, None
            if whole and len(message.get("body", b"")) > MAX_INLINE_BYTES:
                message = await run_in_threadpool(self._tag_and_compress, start, message)
            elif whole:
                message = self._tag_and_compress(start, message)
            await self._send(start)
        if self._method == "HEAD":
            message = {**message, "body": b""}
        await self._send(message)

    def _tag_and_compress(self, start: Message, message: Message) -> Message:
        """Tag and compress a response whose body came in one part."""
        body, headers = message.get("body", b""), MutableHeaders(raw=start["headers"])
        if start["status"] == 200 and self._method in {"GET", "HEAD"}:
            if "etag" not in headers:
                headers["ETag"] = f'W/"{blake2b(body, digest_size=10).hexdigest()}"'
            if has_matching_tag(headers["ETag"], self._client_tags):
                start["status"] = 304
                del headers["content-length"], headers["content-type"]
                start["headers"] = headers.raw
                return {**message, "body": b""}
        if len(body) >= MIN_COMPRESSED_BYTES and headers.get("content-type", "").startswith(COMPRESSIBLE):
            headers.add_vary_header("Accept-Encoding")
            if encoding := best_encoding(self._accepted_encodings):
                body = ENCODERS[encoding](body)
                headers["Content-Encoding"] = encoding
                headers["Content-Length"] = str(len(body))
        start["headers"] = headers.raw
        return {**message, "body": body}


ENCODERS: dict[str, Callable[[bytes], bytes]] = {
    "zstd": lambda body: zstandard.ZstdCompressor(level=ZSTD_LEVEL).compress(body),
    "gzip": lambda body: gzip.compress(body, GZIP_LEVEL, mtime=0),
}


def best_encoding(accepted: str) -> str | None:
    """Return the first encoding of `ENCODERS` that a client accepts (RFC 9110 section 12.5.3)."""
    offered = {}
    for each in accepted.lower().split(","):
        name, _, parameters = each.partition(";")
        offered[name.strip()] = parameters.replace(" ", "") not in {"q=0", "q=0.0", "q=0.00", "q=0.000"}
    return next((name for name in ENCODERS if offered.get(name)), None)


def has_matching_tag(tag: str, client_tags: str) -> bool:
    """Whether a client holds this version already (weak comparison, RFC 9110 section 13.1.2)."""
    tags = {each.strip().removeprefix("W/") for each in client_tags.split(",")}
    return bool(client_tags) and ("*" in tags or tag.removeprefix("W/") in tags)
