"""Serve pages that a test defines on loopback, and record every request."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import ExitStack, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, NamedTuple, Self

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


class SiteResponse(NamedTuple):
    """The response of a path; a page can also be given as its HTML alone."""

    body: str | bytes = ""
    status: int = 200
    headers: Mapping[str, str] = {"Content-Type": "text/html; charset=utf-8"}
    seconds: float = 0.0  # delay before the response
    gate: threading.Event | None = None  # the response waits until the test sets it


class Request(NamedTuple):
    """A received request."""

    at: float  # time.monotonic()
    method: str
    path: str
    headers: dict[str, str]  # lower-case names
    body: bytes = b""


class SiteServer:
    """A server for the pages, as a context manager. Tests may change `pages` while it runs."""

    def __init__(self, pages: Mapping[str, str | SiteResponse], host: str = "127.0.0.1") -> None:
        self.pages = dict(pages)
        self.requests: list[Request] = []
        handler = type("Handler", (_Handler,), {"site": self})
        self._server = ThreadingHTTPServer((host, 0), handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self.authority = f"{host}:{self._server.server_address[1]}"
        self.url = f"http://{self.authority}/"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @contextmanager
    def unreachable(self) -> Iterator[None]:
        """Let connections wait while the context lasts, because the listen queue is full; refuse them afterwards."""
        self._server.shutdown()
        self._thread.join()
        with ExitStack() as waiting:
            with suppress(TimeoutError):
                while True:
                    waiting.enter_context(socket.create_connection(self._server.socket.getsockname(), timeout=0.2))
            yield
            self._server.server_close()

    def response(self, path: str) -> SiteResponse:
        """Return the response of a path."""
        page = self.pages.get(path, SiteResponse("<title>Not here</title>", 404))
        return SiteResponse(page) if isinstance(page, str) else page

    def paths(self) -> list[str]:
        """Return the requested paths in order, without robots.txt."""
        return [request.path for request in self.requests if request.path != "/robots.txt"]


class EndlessSite(SiteServer):
    """A chain of pages without an end, so that a crawl lasts until the test sets `ended` or stops it."""

    def __init__(self, seconds: float = 0.0) -> None:
        super().__init__({})
        self._seconds = seconds
        self.ended = threading.Event()

    def response(self, path: str) -> SiteResponse:
        """Return a page with a link to the next one."""
        if path == "/robots.txt" or self.ended.is_set():
            return super().response(path)
        return SiteResponse(f'<title>x</title><a href="/{int(path[1:] or 0) + 1}">on</a>', seconds=self._seconds)


class _Handler(BaseHTTPRequestHandler):
    site: SiteServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        received = self.rfile.read(int(headers.get("content-length", 0)))
        self.site.requests.append(Request(time.monotonic(), self.command, self.path, headers, received))
        response = self.site.response(self.path)
        time.sleep(response.seconds)
        if response.gate is not None:
            response.gate.wait()
        body = response.body.encode() if isinstance(response.body, str) else response.body
        is_known = headers.get("if-none-match", "") == response.headers.get("ETag")
        self.send_response(304 if is_known else response.status)
        for name, value in response.headers.items():
            self.send_header(name, value)
        if not is_known:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD" and not is_known:
            with suppress(ConnectionError):  # tests kill crawlers
                self.wfile.write(body)

    do_HEAD = do_POST = do_GET  # noqa: N815 - the naming of http.server

    def log_message(self, *_: object) -> None:
        """Log nothing."""
