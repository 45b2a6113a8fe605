"""A proxy between Gossamer and a node that can refuse requests, lose responses, and speak TLS."""

from __future__ import annotations

import http.client
import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Self
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


class Proxy:
    """A proxy in front of one node, as a context manager."""

    def __init__(
        self, node: str, *, refuse: Callable[[str, int], int] = lambda path, number: 0,
        lose: Callable[[str, int], bool] = lambda path, number: False, certificate: Path | None = None,
    ) -> None:  # fmt: skip
        """`refuse` returns the status to refuse a request with, or 0; `lose` decides whose response is lost."""
        self._node = urlsplit(node).netloc
        self._refuse, self._lose = refuse, lose
        self.requests: list[str] = []  # paths
        self.authorizations: set[str] = set()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_one_request(self) -> None:
                try:
                    super().handle_one_request()
                except (ConnectionError, ssl.SSLError):
                    self.close_connection = True

            def log_message(self, *_: object) -> None:
                return

            def do_GET(self) -> None:
                outer.forward(self)

            do_POST = do_PUT = do_DELETE = do_GET  # noqa: N815 - the naming of http.server

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._scheme = "https" if certificate else "http"
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self._server.socket = context.wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )

    @property
    def node(self) -> str:
        return f"{self._scheme}://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def forward(self, request: BaseHTTPRequestHandler) -> None:
        """Forward a request, refuse it, or lose its response."""
        path = request.path.partition("?")[0]
        self.requests.append(path)
        number = self.requests.count(path)
        self.authorizations.add(request.headers.get("Authorization", ""))
        body = request.rfile.read(int(request.headers.get("Content-Length", 0)))
        status, content = self._refuse(path, number), b"{}"
        if not status:
            node = http.client.HTTPConnection(self._node)
            node.request(request.command, request.path, body, {"Content-Type": "application/json"})
            response = node.getresponse()
            status, content = response.status, response.read()
            node.close()
        if self._lose(path, number):
            request.close_connection = True
            return
        request.send_response(status)
        request.send_header("Content-Type", "application/json")
        request.send_header("Content-Length", str(len(content)))
        request.end_headers()
        request.wfile.write(content)
