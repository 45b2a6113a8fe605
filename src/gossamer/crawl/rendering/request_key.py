"""Pure decisions about one request of a rendered page: what is sent, what comes back, and for how long it is cached."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from gossamer.fetch.response import SUBRESOURCE_BYTES
from gossamer.model import Kind, Outcome, PageResponse
from gossamer.parse.content_encoding import decode_body
from gossamer.urls.canonical import canonicalize
from gossamer.urls.scope import is_same_site

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gossamer.model import FetchResult, PageRequest

CACHE_SECONDS = 3600.0  # age of a cached answer, for crawls that never end
ACCEPTED_METHODS = frozenset({"GET", "HEAD"})

# The fetcher sets these, or the connection does. A page must not set them for it.
_OWN_HEADERS = frozenset(
    {"accept-encoding", "connection", "content-length", "cookie", "expect", "host", "keep-alive", "referer", "te",
     "trailer", "transfer-encoding", "upgrade", "user-agent", "via"}
)  # fmt: skip
# The body is decoded, and the browser has no connection. It gets no cookies: those of a crawl come from its settings.
_DROPPED_HEADERS = frozenset(
    {"connection", "content-encoding", "content-length", "keep-alive", "set-cookie", "transfer-encoding"}
)
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110 §5.6.2
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")  # RFC 9110 §5.5
_MAX_AGE = re.compile(r"\bmax-age\s*=\s*\"?(\d+)", re.IGNORECASE)


class RequestKey(NamedTuple):
    """A request as it is sent. Equal ones have the same answer."""

    url: str
    method: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    has_credentials: bool  # it carries what the user set for its host

    @property
    def is_read(self) -> bool:
        """Whether it changes nothing on the server, so that equal ones may share a transfer."""
        return self.method in ACCEPTED_METHODS


def is_of_same_site(asked: PageRequest, url: str, page_url: str) -> bool:
    """Return whether a page and the frame of it that asks belong to the site that they ask.

    Chromium names the origin of a frame in each request that is not a plain GET ("null" for a sandboxed frame).
    """
    frame_origin = asked.headers.get("origin")
    if frame_origin is not None:
        frame_url = canonicalize(f"{frame_origin}/")
        if frame_url is None or not is_same_site(frame_url, url):
            return False
    return is_same_site(page_url, url)


def sendable_headers(headers: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return the headers that a page may set: well-formed ones, and none of those that the crawler sets itself."""
    return tuple(
        sorted(
            (name, value)
            for name, value in headers.items()
            if name.lower() not in _OWN_HEADERS
            and not name.lower().startswith(("sec-", "proxy-"))
            and _TOKEN.fullmatch(name)
            and _VALUE.fullmatch(value)
        )
    )


def page_response(fetched: FetchResult) -> PageResponse:
    """Return a result as a browser wants it: decoded, or status 0 with the reason.

    A body of at most 8 MiB is decompressed here. That takes some 10 ms at worst, and its limit holds while it grows.
    """
    if not fetched.status or fetched.outcome in {Outcome.TOO_BIG, Outcome.BAD_HTTP, Outcome.TIMEOUT, Outcome.TOO_SLOW}:
        return PageResponse(0, 0, {}, b"", fetched.reason or str(fetched.outcome))
    headers = {name: value for name, value in fetched.headers.items() if name not in _DROPPED_HEADERS}
    if fetched.outcome is Outcome.REDIRECTED:
        headers["location"] = fetched.location  # the browser asks for it next
    decoded = decode_body(fetched.body, fetched.headers.get("content-encoding", ""), SUBRESOURCE_BYTES)
    if decoded.outcome is not Outcome.FETCHED:
        return PageResponse(0, 0, {}, b"", decoded.reason)
    return PageResponse(0, fetched.status, headers, decoded.body)


def cacheable_seconds(key: RequestKey, kind: Kind, fetched: FetchResult) -> float:
    """Return for how long an answer may serve other pages of this crawl; 0: not at all."""
    names = {name.lower() for name, _ in key.headers}
    control = fetched.headers.get("cache-control", "").lower()
    if key.method != "GET" or fetched.status != 200 or "authorization" in names or "no-store" in control:
        return 0.0
    if fetched.headers.get("vary", "").strip() == "*":
        return 0.0
    if kind is Kind.DATA and ("no-cache" in control or "private" in control):
        return 0.0
    age = _MAX_AGE.search(control)
    if age is None or (kind is not Kind.DATA and int(age[1][:9]) < CACHE_SECONDS):
        return CACHE_SECONDS  # the pages of one crawl count as one visit of the site
    return min(float(age[1][:9]), CACHE_SECONDS)
