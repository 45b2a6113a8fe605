"""Access rules of the server: host names, request sizes, rates, and the token for control.

Every client that reaches the port may read. Any page in a browser can also send requests to loopback, so:

- `Host` must be a name of this server. This refuses DNS rebinding: a foreign name that resolves to this machine.
- Control needs the token and, in a browser, a page of this server as `Origin`. The token comes as a cookie that only
  pages of this server send (SameSite=Strict; set by the link printed at start) or as `Authorization: Bearer`.
- A server that listens beyond loopback allows control only with a token that its operator chose.
"""

from __future__ import annotations

import hmac
import ipaddress
import secrets
import socket
import time
from collections import OrderedDict
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from starlette.datastructures import Headers, MutableHeaders

from gossamer.errors import UsageError
from gossamer.model import Value
from gossamer.urls.canonical import is_loopback
from gossamer.web.http.client_limits import (
    BODY_TOO_LARGE,
    MAX_BODY_BYTES,
    MAX_QUERY_BYTES,
    TrustedProxies,
    client_of,
)
from gossamer.web.http.problems import RequestRefused, make_problem, problem_response

if TYPE_CHECKING:
    from collections.abc import Iterable

    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from gossamer.web.http.problems import Problem

MAX_CLIENTS = 10_000  # addresses with a rate bucket; the oldest one is dropped
BURST_SECONDS = 5.0  # a client may spend the requests of this many seconds at once

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "font-src 'self'; worker-src 'self'; manifest-src 'self'; form-action 'self'; frame-src 'self'; "
    "frame-ancestors 'none'; base-uri 'none'"
)
# A stored page keeps its own styles, but has no scripts, no requests, no forms, and no access to our origin.
SOURCE_POLICY = (
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; form-action 'none'; "
    "base-uri 'none'; frame-ancestors 'self'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",  # other sites learn nothing, and our forms tell their origin
    "X-DNS-Prefetch-Control": "off",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}


class AccessRules(Value, frozen=True, kw_only=True):
    """The access rules of one server."""

    host: str = "127.0.0.1"  # the address to listen on
    token: str = ""  # "" switches control off
    names: frozenset[str] = frozenset()  # further host names of this server
    rate: float = 20.0  # mean requests per second of one client beyond loopback; 0: no limit
    proxies: tuple[str, ...] = ()  # addresses and networks of trusted reverse proxies
    origins: tuple[str, ...] = ()  # whose pages may search from the browser


def access_rules(
    host: str,
    token: str | None,
    names: Iterable[str],
    rate: float,
    proxies: tuple[str, ...] = (),
    origins: tuple[str, ...] = (),
) -> AccessRules:
    """Return the rules for a server that listens on `host`; without `token`, loopback gets a random one."""
    effective_token = token or (secrets.token_urlsafe(18) if is_loopback(host) else "")
    if effective_token != effective_token.encode("utf-8", "replace").decode():
        raise UsageError("GOSSAMER_TOKEN is not valid UTF-8; choose another token.")
    TrustedProxies(proxies)  # raises UsageError for a malformed address
    own_names = frozenset(name.lower() for name in names)
    return AccessRules(host=host, token=effective_token, names=own_names, rate=rate, proxies=proxies, origins=origins)


# -- every request -----------------------------------------------------------------------------------------------------


class SecurityMiddleware:
    """Refuses foreign hosts, large requests and high rates; adds security headers to all responses. Plain ASGI."""

    def __init__(self, app: ASGIApp, rules: AccessRules) -> None:
        self._app = app
        self._rules = rules
        self._rate_limiter = RateLimiter(rules.rate)
        self._proxies = TrustedProxies(rules.proxies)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(raw=message["headers"])
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                message["headers"] = headers.raw
            await send(message)

        self._believe_proxy(scope)
        problem = self._find_problem(scope)
        await (problem_response(problem) if problem else self._app)(scope, receive, send_with_headers)

    def _believe_proxy(self, scope: Scope) -> None:
        """Take the client's address and the scheme from the headers of a trusted proxy."""
        peer, port = scope["client"] or ("", 0)
        forwarded = {name: value for name, value in scope["headers"] if name.startswith(b"x-forwarded-")}
        if not forwarded or not peer:
            return
        if peer in self._proxies:
            scope["client"] = self._proxies.sender(peer, Headers(scope=scope).getlist("x-forwarded-for")), port
        scheme = forwarded.get(b"x-forwarded-proto", b"").strip().decode("latin-1")
        if scheme in {"http", "https"} and self._proxies.may_name_scheme(peer):
            scope["scheme"] = scheme

    def _find_problem(self, scope: Scope) -> Problem | None:
        headers = Headers(scope=scope)
        if not is_own_name(headers.get("host", ""), self._rules):
            return make_problem(
                HTTPStatus.MISDIRECTED_REQUEST, "This server does not answer to that name: `--name` adds one."
            )
        if len(scope["query_string"]) > MAX_QUERY_BYTES:
            return make_problem(HTTPStatus.REQUEST_URI_TOO_LONG, f"The query is longer than {MAX_QUERY_BYTES:,} bytes.")
        length = headers.get("content-length", "0")
        if "transfer-encoding" in headers or not length.isdecimal() or int(length) > MAX_BODY_BYTES:
            return make_problem(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, BODY_TOO_LARGE)
        client = scope["client"][0] if scope["client"] else ""
        if not self._rate_limiter.allow(client_of(client), time.monotonic()):
            return make_problem(HTTPStatus.TOO_MANY_REQUESTS, "Too many requests: slow down, please.")
        return None


def is_own_name(authority: str, rules: AccessRules) -> bool:
    """Whether a Host header names this server. Any IP address does: DNS rebinding needs a name."""
    name = authority.rpartition(":")[0] if authority.rpartition(":")[2].isdecimal() else authority
    name = name.lower().rstrip(".")
    if name in rules.names or name in {"localhost", rules.host}:
        return True
    if is_loopback(rules.host):
        return is_loopback(name)
    if name == socket.gethostname().lower():
        return True
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True


class RateLimiter:
    """A token bucket per client. Loopback has no limit."""

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()  # address -> requests left, monotonic time

    def allow(self, address: str, now: float) -> bool:
        """Count a request; return False if the client exceeds its rate."""
        if not self._rate or not address or is_loopback(address):
            return True
        most = self._rate * BURST_SECONDS
        left, then = self._buckets.pop(address, (most, now))
        left = min(most, left + (now - then) * self._rate)
        allowed = left >= 1
        self._buckets[address] = (left - 1 if allowed else left, now)
        if len(self._buckets) > MAX_CLIENTS:
            self._buckets.popitem(last=False)
        return allowed


# -- control -----------------------------------------------------------------------------------------------------------


def has_token(request: Request, rules: AccessRules) -> bool:
    """Whether a request carries the token."""
    kind, _, given = request.headers.get("authorization", "").partition(" ")
    if kind.lower() != "bearer":
        return is_token(unquote(request.cookies.get(cookie_name(request), "")), rules)
    sent_bytes = given.strip().encode("latin-1")  # Starlette decodes headers as Latin-1; programs send UTF-8
    return is_token(sent_bytes.decode("utf-8", "replace"), rules)


def is_token(given: str, rules: AccessRules) -> bool:
    """Whether a string is the token, compared in constant time."""
    return bool(rules.token) and hmac.compare_digest(given.encode("utf-8", "replace"), rules.token.encode())


def set_token_cookie(request: Request, response: Response, token: str) -> None:
    """Store the token in a cookie that only pages of this server send; percent-encoded, because cookies are ASCII."""
    secure = request.url.scheme == "https"
    response.set_cookie(cookie_name(request), quote(token, safe=""), httponly=True, samesite="strict", secure=secure)


def cookie_name(request: Request) -> str:
    """Return the name of the token's cookie. It holds the port, because browsers share cookies between ports."""
    return f"gossamer_token_{request.url.port or 0}"


def require_control(request: Request, rules: AccessRules) -> None:
    """Raise `RequestRefused` unless the request may change the web."""
    if not rules.token:
        raise RequestRefused(
            "Control is off: this server listens beyond loopback and has no token. "
            "Set GOSSAMER_TOKEN and start it again."
        )
    if not is_own_page(request):
        raise RequestRefused("Only a page of this server may send this request.")
    if not has_token(request, rules):
        raise RequestRefused("This needs the token that the server printed when it started.", HTTPStatus.UNAUTHORIZED)


def is_own_page(request: Request) -> bool:
    """Whether a request comes from a page of this server, or from a program instead of a page."""
    if request.headers.get("sec-fetch-site", "same-origin") not in {"same-origin", "none"}:
        return False
    origin = request.headers.get("origin")
    return origin is None or origin == f"{request.url.scheme}://{request.headers.get('host', '')}"
