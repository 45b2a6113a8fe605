"""A TCP proxy before a PostgreSQL server, which a test lets cut all connections."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from typing import Self
from urllib.parse import parse_qs, urlsplit


class CuttingProxy:
    """Forwards connections from a port of loopback to the Unix socket of a server."""

    def __init__(self, uri: str) -> None:
        """`uri` is the server's own, with its socket directory as `host`."""
        parts = urlsplit(uri)
        self._socket = f"{parse_qs(parts.query)['host'][0]}/.s.PGSQL.5432"
        self._user, self._database = parts.username, parts.path
        self._connections: list[socket.socket] = []
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        self._listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()
        self.cut()

    def location(self, schema: str) -> str:
        """Return the location of a web behind the proxy."""
        port = self._listener.getsockname()[1]
        return f"postgresql://{self._user}@127.0.0.1:{port}{self._database}?schema={schema}"

    def cut(self) -> int:
        """Close all connections at both ends, at whatever they do; return how many there were."""
        with self._lock:
            connections, self._connections = self._connections, []
        for connection in connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        return len(connections) // 2

    def _accept(self) -> None:
        with suppress(OSError):  # the listener was closed
            while True:
                client, _ = self._listener.accept()
                server = socket.socket(socket.AF_UNIX)
                try:
                    server.connect(self._socket)
                except OSError:  # the server is down
                    client.close()
                    server.close()
                    continue
                with self._lock:
                    self._connections += [client, server]
                for pair in ((client, server), (server, client)):
                    threading.Thread(target=_forward, args=pair, daemon=True).start()


def _forward(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):  # cut
        while data := source.recv(1 << 16):
            target.sendall(data)
    with suppress(OSError):
        target.shutdown(socket.SHUT_RDWR)  # ends the thread of the other direction
    source.close()
