"""A handful of pages written in the test itself, served for real on loopback, with every request remembered."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import ExitStack, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, NamedTuple, Self

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


class Answer(NamedTuple):
    """What a path answers with; a page may also be given as its HTML alone."""

    body: str | bytes = ""
    status: int = 200
    headers: Mapping[str, str] = {"Content-Type": "text/html; charset=utf-8"}
    seconds: float = 0.0  # before it comes


class Request(NamedTuple):
    """A request that came."""

    at: float  # time.monotonic()
    method: str
    path: str
    headers: dict[str, str]  # lower-case names


class Served:
    """The pages, as long as the context lasts. `pages` may be changed while it runs."""

    def __init__(self, pages: Mapping[str, str | Answer], host: str = "127.0.0.1") -> None:
        self.pages = dict(pages)
        self.requests: list[Request] = []
        handler = type("Handler", (_Handler,), {"site": self})
        self._server = ThreadingHTTPServer((host, 0), handler)
        self._thread = self._serving()
        self.place = f"{host}:{self._server.server_address[1]}"
        self.url = f"http://{self.place}/"

    def _serving(self) -> threading.Thread:
        return threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @contextmanager
    def away(self) -> Iterator[None]:
        """Nobody can connect for as long as the context lasts: a new connection waits for room."""
        self._server.shutdown()
        self._thread.join()
        with ExitStack() as waiting:
            with suppress(TimeoutError):
                while True:
                    waiting.enter_context(socket.create_connection(self._server.socket.getsockname(), timeout=0.2))
            yield
        self._thread = self._serving()
        self._thread.start()

    def paths(self) -> list[str]:
        """The paths asked for, robots.txt aside, in order."""
        return [request.path for request in self.requests if request.path != "/robots.txt"]


class _Handler(BaseHTTPRequestHandler):
    site: Served
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.site.requests.append(Request(time.monotonic(), self.command, self.path, headers))
        page = self.site.pages.get(self.path, Answer("<title>Not here</title>", 404))
        answer = Answer(page) if isinstance(page, str) else page
        time.sleep(answer.seconds)
        body = answer.body.encode() if isinstance(answer.body, str) else answer.body
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_HEAD = do_GET  # noqa: N815 - http.server's own naming

    def log_message(self, *_: object) -> None:
        """Nobody reads it."""
