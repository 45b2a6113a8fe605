"""Monitoring: `/healthz` and `/metrics` (Prometheus text format, version 0.0.4).

The names of metrics are stable; docs/reference/metrics.md lists them.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from importlib.metadata import version
from typing import TYPE_CHECKING

import msgspec
from fastapi import APIRouter, Request
from starlette.responses import Response

from gossamer.errors import IndexFault
from gossamer.web.crawl import answers
from gossamer.web.http.compression import JsonResponse
from gossamer.web.http.openapi import json_responses, media_responses

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

router = APIRouter(tags=["health"])

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)  # upper edges of the histogram, in seconds
ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the server can read the web."""

    status: str
    version: str  # of Gossamer
    store_version: int


@router.get("/healthz", responses=json_responses(Health, {"status": "ok", "version": "0.1.0", "store_version": 28}))
def healthz(request: Request) -> Response:
    """Return 200 if the server can read the web and its index, else 503. A web need not have an index."""
    if fault := request.app.state.search_client.fault:
        raise IndexFault(fault)
    with request.app.state.sessions.open() as session:
        return JsonResponse(Health(status="ok", version=version("gossamer"), store_version=session.store.version()))


class RequestMetrics:
    """Counts requests by route and status, and measures their time. Plain ASGI."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._lock = threading.Lock()
        self.counts: Counter[tuple[str, int]] = Counter()
        self.buckets = [0] * (len(BUCKETS) + 1)
        self.seconds = 0.0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = time.perf_counter()

        async def count_and_send(message: Message) -> None:
            if message["type"] == "http.response.start":
                route = scope.get("route")  # its pattern, because paths would make too many labels
                self._count(getattr(route, "path", "other"), message["status"], time.perf_counter() - started)
            await send(message)

        await self._app(scope, receive, count_and_send)

    def _count(self, route: str, status: int, seconds: float) -> None:
        with self._lock:
            self.counts[route, status] += 1
            self.buckets[sum(seconds > edge for edge in BUCKETS)] += 1
            self.seconds += seconds


@router.get("/metrics", responses=media_responses("text/plain", "Prometheus text format."))
def metrics(request: Request) -> Response:
    """Return measures of the web, its crawlers and this server."""
    with request.app.state.sessions.open() as session:
        live_status = answers.live_status(session.store, time.time())
    lines = [*_web_metrics(live_status), *_request_metrics(request.app.state.request_metrics)]
    return Response("\n".join(lines) + "\n", media_type="text/plain; version=0.0.4; charset=utf-8")


def _web_metrics(live_status: answers.LiveStatus) -> Iterator[str]:
    yield from _metric_header("gossamer_resources", "gauge", "Resources by state.")
    yield from (
        _metric_line("gossamer_resources", count, {"state": state}) for state, count in live_status.resources.items()
    )
    for name, value, what in (
        ("gossamer_hosts", live_status.hosts, "Hosts known."),
        ("gossamer_links", live_status.links, "Bonds stored."),
        ("gossamer_documents", live_status.documents, "Resources with text."),
        ("gossamer_pages_per_second", live_status.rate, "Pages a second, all crawlers together."),
        ("gossamer_bytes_per_second", live_status.bytes_rate, "Bytes a second, all crawlers together."),
    ):
        yield from (*_metric_header(name, "gauge", what), _metric_line(name, value))
    yield from _metric_header("gossamer_crawler_pages", "counter", "Pages a crawler visited in its life.")
    at_work = [crawler for crawler in live_status.crawlers if crawler.at_work]
    yield from (
        _metric_line("gossamer_crawler_pages", one.pages, {"crawler": one.name, "state": one.state}) for one in at_work
    )


def _request_metrics(requests: RequestMetrics) -> Iterator[str]:
    name = "gossamer_http_requests_total"
    yield from _metric_header(name, "counter", "Requests answered, by route and status.")
    for (route, status), count in sorted(requests.counts.items()):
        yield _metric_line(name, count, {"route": route, "status": str(status)})
    name = "gossamer_http_request_seconds"
    yield from _metric_header(name, "histogram", "Seconds until an answer began.")
    total = 0
    for edge, count in zip([*map(str, BUCKETS), "+Inf"], requests.buckets, strict=True):
        total += count
        yield _metric_line(f"{name}_bucket", total, {"le": edge})
    yield _metric_line(f"{name}_sum", round(requests.seconds, 6))
    yield _metric_line(f"{name}_count", total)


def _metric_header(name: str, kind: str, what: str) -> tuple[str, str]:
    return f"# HELP {name} {what}", f"# TYPE {name} {kind}"


def _metric_line(name: str, value: float, labels: Mapping[str, str] | None = None) -> str:
    label_text = ",".join(f'{label}="{text.translate(ESCAPES)}"' for label, text in (labels or {}).items())
    return f"{name}{{{label_text}}} {value}" if label_text else f"{name} {value}"
