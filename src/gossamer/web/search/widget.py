"""The search box for other sites: its script, and cross-origin requests (CORS) of the origins that may use it.

Any page may load the script. Only pages of the origins in `AccessRules` can read the answers. Requests of all origins
count towards the rate and the share of their client.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

from fastapi import APIRouter, Request
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response

from gossamer.web.http.problems import NotFound, RequestRefused
from gossamer.web.http.templates import NO_FRONTEND, STATIC

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from gossamer.web.http.security import AccessRules

router = APIRouter(include_in_schema=False)

SCRIPT = STATIC / "dist/widget.js"
SHARED_PATHS = frozenset({"/api/complete", "/api/search"})  # what pages of other origins may read
PREFLIGHT_SECONDS = 7_200  # that a browser keeps the answer to a preflight; Chromium's limit
# The name of the script never changes, so a browser asks for a newer one after an hour, and by its ETag. Meanwhile, and
# while the server is away, it uses the old one.
SCRIPT_HEADERS = {
    "Cache-Control": "public, max-age=3600, stale-while-revalidate=86400, stale-if-error=86400",
    "Cross-Origin-Resource-Policy": "cross-origin",
    "Access-Control-Allow-Origin": "*",  # so that a page can check its `integrity`
}


class CrossOriginMiddleware:
    """Lets pages of the allowed origins read the answers of `SHARED_PATHS`. Plain ASGI."""

    def __init__(self, app: ASGIApp, rules: AccessRules) -> None:
        self._app = app
        self._origins = frozenset(rules.origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http" or not self._origins or scope["path"] not in SHARED_PATHS:
            await self._app(scope, receive, send)
            return
        origin = Headers(scope=scope).get("origin", "")

        async def send_with_origin(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(raw=message["headers"])
                headers.add_vary_header("Origin")  # a cache must not give the answer for one origin to another
                if origin in self._origins:
                    headers["Access-Control-Allow-Origin"] = origin
                message["headers"] = headers.raw
            await send(message)

        await self._app(scope, receive, send_with_origin)


@router.options("/api/complete")
@router.options("/api/search")
def preflight(request: Request) -> Response:
    """Answer a preflight, which asks whether a page of another origin may send a request."""
    if request.headers.get("origin", "") not in request.app.state.access_rules.origins:
        raise RequestRefused("Pages of this origin may not search here: `--origin` and serve.origins allow one.")
    return Response(
        status_code=HTTPStatus.NO_CONTENT,
        headers={
            "Access-Control-Allow-Methods": "GET, HEAD",
            "Access-Control-Allow-Headers": "Accept, Content-Type, If-None-Match",
            "Access-Control-Max-Age": str(PREFLIGHT_SECONDS),
        },
    )


@router.get("/widget.js")
def script() -> Response:
    """Return the script of the search box."""
    try:
        return Response(SCRIPT.read_bytes(), media_type="text/javascript; charset=utf-8", headers=SCRIPT_HEADERS)
    except FileNotFoundError as error:
        raise NotFound(NO_FRONTEND) from error
