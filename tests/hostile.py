"""A web server on loopback that misbehaves on demand: the first segment of the path names the behaviour.

    with HostileServer() as server:
        server.url("endless")            # a body that never ends
        server.url("redirect?to=file:///etc/passwd")
        server.seen                      # every request, as it came

`BEHAVIOURS` is the list; `/` is a page that links to all of them, for crawls. It speaks bytes, not HTTP by a library: a
library would not let it lie. Used as a proxy, it answers in the place of whatever http server it is asked for, and
tunnels to where CONNECT wants.
"""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
import socket
import struct
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self
from urllib.parse import parse_qs, urlsplit

if TYPE_CHECKING:
    import ssl
    from collections.abc import Awaitable, Callable

PAGE = b"<!doctype html><title>A page</title><p>Words on a page.\n"
CHUNK = b"x" * 65536
BEHAVIOURS: dict[str, Callable[[Exchange], Awaitable[None]]] = {}


@dataclass
class Seen:
    """A request as it arrived."""

    method: str
    target: str
    headers: dict[str, str]  # lower-case names
    connection: int  # which connection it came over, counted from 0


@dataclass
class Exchange:
    """One request, and the way to answer it."""

    seen: Seen
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    keep: bool = True  # use the connection for another request
    query: dict[str, str] = field(default_factory=dict)

    async def raw(self, data: bytes) -> None:
        """Send bytes and, when all is said, hang up."""
        self.keep = False
        self.writer.write(data)
        await self.writer.drain()

    async def until_hung_up(self) -> None:
        """Say nothing more, and wait for the client to lose its patience."""
        self.keep = False
        await self.reader.read()

    async def answer(
        self, body: bytes = PAGE, *, status: str = "200 OK", kind: str = "text/html", more: str = ""
    ) -> None:
        """Answer properly."""
        kind = f"Content-Type: {kind}\r\n" if kind else ""
        head = f"HTTP/1.1 {status}\r\n{kind}Content-Length: {len(body)}\r\n{more}\r\n".encode("latin-1")
        self.writer.write(head if self.seen.method == "HEAD" else head + body)
        await self.writer.drain()


def behaviour(function: Callable[[Exchange], Awaitable[None]]) -> Callable[[Exchange], Awaitable[None]]:
    """Register a behaviour under its name, with hyphens."""
    BEHAVIOURS[function.__name__.replace("_", "-")] = function
    return function


class HostileServer:
    """The server, in a thread of its own."""

    def __init__(self, host: str = "127.0.0.1", tls: ssl.SSLContext | None = None, robots: str = "missing") -> None:
        self.host = host
        self.seen: list[Seen] = []
        self.connections = 0
        self.robots = robots  # the behaviour that answers /robots.txt
        self._tls = tls
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="hostile", daemon=True)
        self._ready = threading.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self.port = 0

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._ready.wait(10), "the server did not start"
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    def url(self, path: str = "") -> str:
        """The URL of a behaviour on this server."""
        name = f"[{self.host}]" if ":" in self.host else self.host
        return f"http{'s' if self._tls else ''}://{name}:{self.port}/{path}"

    def paths(self) -> list[str]:
        """Method and target of every request, in order."""
        return [f"{seen.method} {seen.target}" for seen in self.seen]

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(asyncio.start_server(self._connected, self.host, 0, ssl=self._tls))
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        self._loop.run_forever()
        server.close()
        for task in self._tasks:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*self._tasks, return_exceptions=True))
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.close()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        number, self.connections = self.connections, self.connections + 1
        try:
            # The client hung up, or the server is being closed: both are their right.
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                while await self._exchange(reader, writer, number):
                    pass
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int) -> bool:
        lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, target, _ = lines[0].split(" ", 2)
        headers = {
            name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:] if line)
        }
        seen = Seen(method, target, headers, number)
        self.seen.append(seen)
        if method == "CONNECT":
            await _tunnel(target, reader, writer)
            return False
        parts = urlsplit(target)
        exchange = Exchange(
            seen, reader, writer, query={name: values[0] for name, values in parse_qs(parts.query).items()}
        )
        name = parts.path.lstrip("/").partition("/")[0]
        name = self.robots if name == "robots.txt" else name or "index"
        await BEHAVIOURS.get(name, missing)(exchange)
        return exchange.keep


async def _tunnel(target: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    host, _, port = target.rpartition(":")
    try:
        far_reader, far_writer = await asyncio.open_connection(host, int(port))
    except OSError:
        writer.write(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
        return
    writer.write(b"HTTP/1.1 200 Connection Established\r\nContent-Type: image/png\r\n\r\n")
    await asyncio.gather(_pipe(reader, far_writer), _pipe(far_reader, writer))


async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    finally:
        writer.close()


# -- honest answers --------------------------------------------------------------------------------------------------


@behaviour
async def index(exchange: Exchange) -> None:
    links = "".join(f'<li><a href="/{name}">{name}</a>\n' for name in sorted(BEHAVIOURS))
    await exchange.answer(f"<!doctype html><title>All behaviours</title><ul>{links}</ul>".encode())


@behaviour
async def page(exchange: Exchange) -> None:
    await exchange.answer()


@behaviour
async def missing(exchange: Exchange) -> None:
    await exchange.answer(b"<title>No such page</title>", status="404 Not Found")


@behaviour
async def status(exchange: Exchange) -> None:
    """`of`: the status line's rest; `retry`: Retry-After; `bytes`: size of the body."""
    retry = f"Retry-After: {exchange.query['retry']}\r\n" if "retry" in exchange.query else ""
    body = b"e" * int(exchange.query.get("bytes", "10"))
    await exchange.answer(body, status=exchange.query.get("of", "500 Internal Server Error"), more=retry)


@behaviour
async def no_content(exchange: Exchange) -> None:
    exchange.writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")


@behaviour
async def typed(exchange: Exchange) -> None:
    """`of`: the content type ("" for none), `bytes`: the size."""
    await exchange.answer(b"t" * int(exchange.query.get("bytes", "10")), kind=exchange.query.get("of", ""))


@behaviour
async def zipped(exchange: Exchange) -> None:
    await exchange.answer(gzip.compress(PAGE), more="Content-Encoding: gzip\r\n")


@behaviour
async def echo(exchange: Exchange) -> None:
    await exchange.answer(json.dumps(exchange.seen.headers).encode(), kind="text/plain")


@behaviour
async def conditional(exchange: Exchange) -> None:
    if exchange.seen.headers.get("if-none-match") == '"v1"':
        exchange.writer.write(b'HTTP/1.1 304 Not Modified\r\nETag: "v1"\r\n\r\n')
    else:
        await exchange.answer(more='ETag: "v1"\r\n')


@behaviour
async def slow(exchange: Exchange) -> None:
    """A page after `seconds`."""
    await asyncio.sleep(float(exchange.query.get("seconds", "0.3")))
    await exchange.answer()


@behaviour
async def interim(exchange: Exchange) -> None:
    """A page after answers that announce it."""
    exchange.writer.write(b"HTTP/1.1 103 Early Hints\r\nContent-Type: image/png\r\n\r\n")
    await exchange.answer()


# -- sizes -----------------------------------------------------------------------------------------------------------


async def _forever(exchange: Exchange, data: bytes) -> None:
    while True:
        await exchange.raw(data)


@behaviour
async def endless(exchange: Exchange) -> None:
    await exchange.raw(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n")
    await _forever(exchange, CHUNK)


@behaviour
async def endless_chunked(exchange: Exchange) -> None:
    await exchange.raw(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n")
    await _forever(exchange, b"%x\r\n%b\r\n" % (len(CHUNK), CHUNK))


@behaviour
async def endless_missing(exchange: Exchange) -> None:
    await exchange.raw(b"HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\n\r\n")
    await _forever(exchange, CHUNK)


@behaviour
async def sized(exchange: Exchange) -> None:
    """A body of `bytes` (default 100 MB), with its Content-Length."""
    size = int(exchange.query.get("bytes", "100000000"))
    await exchange.raw(f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {size}\r\n\r\n".encode())
    for start in range(0, size, len(CHUNK)):
        await exchange.raw(CHUNK[: size - start])


@behaviour
async def huge_robots(exchange: Exchange) -> None:
    """100 MB of robots.txt; the rule that counts comes first."""
    await exchange.raw(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 100000000\r\n\r\n")
    line = b"Disallow: /private\n"
    await exchange.raw(b"User-agent: *\n" + line * 3000)
    for _ in range(100000000 // len(CHUNK)):
        await exchange.raw(line * (len(CHUNK) // len(line)))


@behaviour
async def long_header(exchange: Exchange) -> None:
    """One header of 10 MB."""
    await exchange.raw(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nX-Long: ")
    for _ in range(160):
        await exchange.raw(CHUNK)
    await exchange.raw(b"\r\n\r\n" + PAGE)


@behaviour
async def many_headers(exchange: Exchange) -> None:
    """`count` headers (default 100,000) of about 20 bytes."""
    lines = "".join(f"X-Header-{number}: value\r\n" for number in range(int(exchange.query.get("count", "100000"))))
    await exchange.raw(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n" + lines.encode() + b"\r\n" + PAGE)


@behaviour
async def big_headers(exchange: Exchange) -> None:
    """`count` headers of 1 kB, within what libcurl bears."""
    lines = b"".join(b"X-Big-%d: %b\r\n" % (number, b"v" * 1000) for number in range(int(exchange.query["count"])))
    await exchange.raw(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n" + lines + b"\r\n" + PAGE)


@behaviour
async def endless_interim(exchange: Exchange) -> None:
    await _forever(exchange, b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>\r\n\r\n" * 1000)


@behaviour
async def endless_trailers(exchange: Exchange) -> None:
    await exchange.raw(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n")
    await exchange.raw(b"3\r\nabc\r\n0\r\n")
    await _forever(exchange, b"X-Trailer: " + b"t" * 1000 + b"\r\n")


# -- time ------------------------------------------------------------------------------------------------------------


@behaviour
async def drip(exchange: Exchange) -> None:
    """One byte a second."""
    await exchange.raw(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 100000\r\n\r\n")
    while True:
        await exchange.raw(b".")
        await asyncio.sleep(1)


@behaviour
async def drip_header(exchange: Exchange) -> None:
    """A header, one byte a second."""
    await exchange.raw(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nX-Slow: ")
    while True:
        await exchange.raw(b".")
        await asyncio.sleep(1)


@behaviour
async def stall(exchange: Exchange) -> None:
    """Not a word."""
    await exchange.until_hung_up()


@behaviour
async def stall_in_header(exchange: Exchange) -> None:
    await exchange.raw(b"HTTP/1.1 200 OK\r\nContent-Ty")
    await exchange.until_hung_up()


@behaviour
async def stall_in_body(exchange: Exchange) -> None:
    """Half a body of type `of`."""
    kind = exchange.query.get("of", "text/html")
    await exchange.raw(f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: 1000\r\n\r\n".encode() + PAGE)
    await exchange.until_hung_up()


@behaviour
async def steady(exchange: Exchange) -> None:
    """Fast enough for any minimum rate, but without end."""
    await exchange.raw(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n")
    while True:
        await exchange.raw(b"s" * 1000)
        await asyncio.sleep(0.1)


# -- broken HTTP -----------------------------------------------------------------------------------------------------


@behaviour
async def cut_short(exchange: Exchange) -> None:
    await exchange.raw(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 1000\r\n\r\n" + PAGE)


@behaviour
async def cut_chunks(exchange: Exchange) -> None:
    await exchange.raw(
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n"
    )


@behaviour
async def broken_chunks(exchange: Exchange) -> None:
    await exchange.raw(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n")


@behaviour
async def cut_header(exchange: Exchange) -> None:
    await exchange.raw(b"HTTP/1.1 200 OK\r\nContent-Type: text/h")


@behaviour
async def garbage(exchange: Exchange) -> None:
    await exchange.raw(bytes(range(256)) * 16)


@behaviour
async def bare_words(exchange: Exchange) -> None:
    """HTTP/0.9: a body and nothing else."""
    await exchange.raw(PAGE)


@behaviour
async def switching(exchange: Exchange) -> None:
    await exchange.raw(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: other\r\n\r\nother words")


@behaviour
async def coded_transfer(exchange: Exchange) -> None:
    """Compressed hop by hop, which nobody asked for."""
    await exchange.raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n" + gzip.compress(PAGE))


@behaviour
async def two_lengths(exchange: Exchange) -> None:
    await exchange.raw(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 50\r\n\r\n" + b"5" * 50)


@behaviour
async def unasked_304(exchange: Exchange) -> None:
    exchange.writer.write(b"HTTP/1.1 304 Not Modified\r\n\r\n")


@behaviour
async def escapes(exchange: Exchange) -> None:
    """A status line that a terminal would obey."""
    await exchange.answer(status="599 \x1b[2J\x1b]0;owned\x07 " + "long " * 100)


@behaviour
async def false_trailer(exchange: Exchange) -> None:
    """A trailer that looks like another answer."""
    await exchange.raw(b"HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nHTTP/1.1 200 OK: yes\r\n\r\n")


@behaviour
async def reset(exchange: Exchange) -> None:
    """Connection reset instead of an answer."""
    exchange.keep = False
    _linger_not(exchange)


@behaviour
async def reset_in_body(exchange: Exchange) -> None:
    await exchange.raw(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 1000\r\n\r\n" + PAGE)
    await asyncio.sleep(0.1)
    _linger_not(exchange)


def _linger_not(exchange: Exchange) -> None:
    connection: socket.socket = exchange.writer.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    exchange.writer.transport.abort()


@behaviour
async def hang_up(exchange: Exchange) -> None:
    exchange.keep = False


# -- redirects -------------------------------------------------------------------------------------------------------


@behaviour
async def redirect(exchange: Exchange) -> None:
    """To `to`, with a body as servers send it."""
    to = f"Location: {exchange.query['to']}\r\n" if "to" in exchange.query else ""
    await exchange.answer(b"<p>Moved.", status=exchange.query.get("status", "302 Found"), more=to)


@behaviour
async def loop(exchange: Exchange) -> None:
    await exchange.answer(status="301 Moved Permanently", more=f"Location: {exchange.seen.target}\r\n")


@behaviour
async def hops(exchange: Exchange) -> None:
    """`left` redirects, then `then` (default: a page)."""
    left = int(exchange.query.get("left", "1"))
    then = exchange.query.get("then", "page")
    to = f"/hops?left={left - 1}&then={then}" if left > 1 else f"/{then}"
    await exchange.answer(b"", status="301 Moved Permanently", more=f"Location: {to}\r\n")


@behaviour
async def robots_5_hops(exchange: Exchange) -> None:
    exchange.query["left"], exchange.query["then"] = "5", "rules"
    await hops(exchange)


@behaviour
async def robots_6_hops(exchange: Exchange) -> None:
    exchange.query["left"], exchange.query["then"] = "6", "rules"
    await hops(exchange)


@behaviour
async def rules(exchange: Exchange) -> None:
    await exchange.answer(b"User-agent: *\nDisallow: /private\n", kind="text/plain")


# -- HEAD ------------------------------------------------------------------------------------------------------------


@behaviour
async def no_head(exchange: Exchange) -> None:
    """HEAD is not allowed; GET brings 100 kB."""
    if exchange.seen.method == "HEAD":
        await exchange.answer(status="405 Method Not Allowed")
    else:
        await exchange.answer(b"x" * 100_000, kind="image/png")


@behaviour
async def hang_up_head(exchange: Exchange) -> None:
    """HEAD gets no answer at all; GET does."""
    if exchange.seen.method == "HEAD":
        exchange.keep = False
    else:
        await exchange.answer()
