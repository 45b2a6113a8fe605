"""What happens to each request of a page: the crawl answers it, the renderer process does, or nobody."""

from __future__ import annotations

import base64
from enum import Enum
from typing import Any
from urllib.parse import urlsplit

import msgspec

from gossamer.model import Kind

# Chromium's resource types (Network.ResourceType). Fonts and manifests are no text and lead nowhere.
_KINDS = {
    "Document": Kind.FRAME,
    "Stylesheet": Kind.STYLE,
    "Script": Kind.SCRIPT,
    "Image": Kind.IMAGE,
    "Media": Kind.MEDIA,
    "TextTrack": Kind.MEDIA,
    "XHR": Kind.DATA,
    "Fetch": Kind.DATA,
    "EventSource": Kind.DATA,
}
_ANSWERED_EMPTY = frozenset({"Image", "Media", "TextTrack", "Font", "Manifest"})
# Types that only report, or never end.
_REFUSED = frozenset({"Ping", "CSPViolationReport", "EventSource", "Prefetch", "SignedExchange", "FedCM"})
# The browser's own, which the fetcher sets or nobody needs; all others come from scripts and are sent on. Conditions
# stay here too: the browser adds them for files that an earlier page loaded, and takes a 304 that it did not get from
# its own cache for an empty file.
_KEPT_HEADERS = frozenset({
    "accept-encoding", "accept-language", "cache-control", "connection", "content-length", "cookie", "dnt", "host",
    "pragma", "priority", "purpose", "referer", "save-data", "upgrade-insecure-requests", "user-agent",
})  # fmt: skip
_KEPT_PREFIXES = ("if-", "proxy-", "sec-")
# Images of no content: an empty body would run the `onerror` of a page, which may replace or remove elements.
_EMPTY_IMAGE = base64.b64decode("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7")
_SAFE_METHODS = frozenset({"GET", "HEAD"})


class Treatment(Enum):
    """How a request of a page is handled."""

    ASK = "the crawl answers"
    EMPTY = "answered without content"
    REFUSE = "failed"
    PREFLIGHT = "answered for the crawl, which asks no server for leave"
    METHOD = "answered 405"


class PausedRequest(msgspec.Struct):
    """A request of a page (`Fetch.requestPaused`), which waits for its answer."""

    id: str  # of the browser
    url: str
    method: str
    type: str
    frame: str
    network_id: str  # by which the browser reports the end of the transfer; "" where it does not
    headers: dict[str, str]  # lower-case names
    body: bytes

    @classmethod
    def from_event(cls, event: dict[str, Any]) -> PausedRequest:
        """Read the event of a browser. Raises KeyError and TypeError for one that makes no sense."""
        request = event["request"]
        return cls(
            event["requestId"],
            request["url"],
            request["method"],
            event.get("resourceType", "Other"),
            event.get("frameId", ""),
            event.get("networkId", ""),
            {name.lower(): value for name, value in request.get("headers", {}).items()},
            b"".join(base64.b64decode(part.get("bytes", "")) for part in request.get("postDataEntries", ())),
        )

    @property
    def kind(self) -> Kind:
        """The kind of the link from the page to this request."""
        if self.type == "Other" and self.headers.get("sec-fetch-dest", "").endswith("worker"):
            return Kind.SCRIPT
        return _KINDS.get(self.type, Kind.OTHER)

    @property
    def reports_its_end(self) -> bool:
        """Whether the browser reports the end of its transfer. It does not for scripts of workers."""
        return bool(self.network_id) and self.type != "Other"

    @property
    def is_web(self) -> bool:
        """Whether it is for http or https."""
        return self.url.startswith(("http://", "https://"))

    def passed_headers(self) -> dict[str, str]:
        """Return the headers that the crawl's fetcher gets to see."""
        return {
            name: value
            for name, value in self.headers.items()
            if name not in _KEPT_HEADERS and not name.startswith(_KEPT_PREFIXES)
        }


def treatment(request: PausedRequest, write_hosts: frozenset[str]) -> Treatment:
    """Decide about a request, by its type, method and URL."""
    if not request.is_web or request.type in _REFUSED or "service-worker" in request.headers:
        return Treatment.REFUSE
    if request.method == "OPTIONS":
        return Treatment.PREFLIGHT
    host = urlsplit(request.url).netloc.rpartition("@")[2].lower()
    if request.method not in _SAFE_METHODS and host not in write_hosts:
        return Treatment.METHOD
    if request.type in _ANSWERED_EMPTY:
        return Treatment.EMPTY
    return Treatment.ASK


def empty_answer(request: PausedRequest) -> tuple[int, dict[str, str], bytes]:
    """Return status, headers and body of the answer to a request without content."""
    headers = {"access-control-allow-origin": request.headers.get("origin", "*")}
    headers["access-control-allow-credentials"] = "true"
    if request.type == "Image":
        return 200, {**headers, "content-type": "image/gif"}, _EMPTY_IMAGE
    return 204, headers, b""


def preflight_answer(request: PausedRequest) -> tuple[int, dict[str, str], bytes]:
    """Return the answer to a CORS preflight: the request itself shows what the server allows."""
    asked = request.headers
    return 204, {
        "access-control-allow-origin": asked.get("origin", "*"),
        "access-control-allow-credentials": "true",
        "access-control-allow-methods": asked.get("access-control-request-method", "GET"),
        "access-control-allow-headers": asked.get("access-control-request-headers", ""),
    }, b""  # fmt: skip
