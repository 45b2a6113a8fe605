"""A web server on loopback that misbehaves on demand: the first segment of the path names the behaviour.

    with HostileServer() as server:
        server.url("endless")            # a body that never ends
        server.url("redirect?to=file:///etc/passwd")
        server.requests                  # every request, as it came

It writes bytes, because an HTTP library would not let it lie. Used as a proxy, it answers in place of any http server,
and tunnels to the target of CONNECT.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self
from urllib.parse import parse_qs, urlsplit

from helpers.patience import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

PAGE = b"<!doctype html><title>A page</title><p>Words on a page.\n"
CHUNK = b"x" * 65536
BEHAVIOURS: dict[str, Callable[[Exchange], Awaitable[None]]] = {}


@dataclass
class SeenRequest:
    """A request as it arrived."""

    method: str
    target: str
    headers: dict[str, str]  # lower-case names
    connection: int  # number of its connection, counted from 0


@dataclass
class Exchange:
    """One request, and the way to answer it."""

    request: SeenRequest
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    keep: bool = True  # reuse the connection for another request
    query: dict[str, str] = field(default_factory=dict)

    async def raw(self, data: bytes) -> None:
        """Send bytes; the server hangs up at the end."""
        self.keep = False
        self.writer.write(data)
        await self.writer.drain()

    async def until_hung_up(self) -> None:
        """Send nothing more and wait until the client hangs up."""
        self.keep = False
        await self.reader.read()

    async def answer(
        self, body: bytes = PAGE, *, status: str = "200 OK", kind: str = "text/html", more: str = ""
    ) -> None:
        """Send a valid response."""
        kind = f"Content-Type: {kind}\r\n" if kind else ""
        head = f"HTTP/1.1 {status}\r\n{kind}Content-Length: {len(body)}\r\n{more}\r\n".encode("latin-1")
        self.writer.write(head if self.request.method == "HEAD" else head + body)
        await self.writer.drain()


def behaviour(function: Callable[[Exchange], Awaitable[None]]) -> Callable[[Exchange], Awaitable[None]]:
    """Register a behaviour under its name, with hyphens."""
    BEHAVIOURS[function.__name__.replace("_", "-")] = function
    return function


class HostileServer:
    """The server, in its own thread."""

    def __init__(
        self, host: str = "127.0.0.1", tls: ssl.SSLContext | None = None, robots: str = "missing", port: int = 0
    ) -> None:
        self.host = host
        self.requests: list[SeenRequest] = []
        self.connections = 0
        self.robots = robots  # behaviour that answers /robots.txt, with its parameters
        self.pages: dict[str, bytes] = {}  # pages by path, checked before behaviours
        self.closes_after_pages = False  # whether each of `pages` ends its connection
        self._tls = tls
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="hostile", daemon=True)
        self._ready = threading.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._writers: set[asyncio.StreamWriter] = set()
        self.port = port  # 0: any free port

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._ready.wait(PATIENCE), "the server did not start"
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENCE)

    def url(self, path: str = "") -> str:
        """Return the URL of a behaviour on this server."""
        name = f"[{self.host}]" if ":" in self.host else self.host
        return f"http{'s' if self._tls else ''}://{name}:{self.port}/{path}"

    def paths(self) -> list[str]:
        """Return method and target of every request, in order."""
        return [f"{request.method} {request.target}" for request in self.requests]

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(
            asyncio.start_server(self._serve_connection, self.host, self.port, ssl=self._tls)
        )
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        self._loop.run_forever()
        server.close()
        for task in self._tasks:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*self._tasks, return_exceptions=True))
        for writer in self._writers:
            # asyncio fails to abort a transport that has closed by itself after its last byte.
            with contextlib.suppress(AttributeError):
                writer.transport.abort()
        self._loop.run_until_complete(asyncio.sleep(0.01))  # callbacks close the sockets
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.close()

    async def _serve_connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self._writers.add(writer)
        number, self.connections = self.connections, self.connections + 1
        try:
            # The client may hang up, and the server may be closing.
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                while await self._exchange(reader, writer, number):
                    pass
        finally:
            self._tasks.discard(task)
            writer.close()
            await self._wait_closed(writer)

    async def _wait_closed(self, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, TimeoutError, asyncio.CancelledError, ssl.SSLError):
            await asyncio.wait_for(writer.wait_closed(), 1)
            self._writers.discard(writer)

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int) -> bool:
        lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, target, _ = lines[0].split(" ", 2)
        headers = {
            name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:] if line)
        }
        request = SeenRequest(method, target, headers, number)
        self.requests.append(request)
        if method == "CONNECT":
            await _tunnel(target, reader, writer)
            return False
        parts = urlsplit(f"/{self.robots}" if target == "/robots.txt" else target)
        exchange = Exchange(
            request, reader, writer, query={name: values[0] for name, values in parse_qs(parts.query).items()}
        )
        name = parts.path.lstrip("/").partition("/")[0].partition(";")[0] or "page"
        if target in self.pages:
            exchange.keep = not self.closes_after_pages
            await exchange.answer(self.pages[target], more="" if exchange.keep else "Connection: close\r\n")
        else:
            await BEHAVIOURS.get(name, BEHAVIOURS["missing"])(exchange)
        return exchange.keep


async def _tunnel(target: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    host, _, port = target.rpartition(":")
    try:
        target_reader, target_writer = await asyncio.open_connection(host, int(port))
    except OSError:
        writer.write(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
        return
    writer.write(b"HTTP/1.1 200 Connection Established\r\nContent-Type: image/png\r\n\r\n")
    await asyncio.gather(_pipe(reader, target_writer), _pipe(target_reader, writer))


async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    finally:
        writer.close()
