"""A web of any size, generated from page numbers: page n is the same in every run.

Page n links to `links` new pages (n·links+1 ... n·links+links, so breadth-first order is the order of discovery) and to
`back` earlier ones. With 10 new links per page, 100,000 visits make 1,000,000 URLs known. The last `depth` pages form a
chain that starts at page 0, so the web is that many clicks deep.

As a script it is the server: `GeneratedWeb` starts it as a process. The bare asyncio protocol serves 30,000 pages (1.5
kB, 12 links) per CPU second, so it barely disturbs a measurement.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import random
import subprocess
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Self

WORDS = (
    "amber basin cedar delta ember field grove haven inlet jetty knoll ledge marsh north orbit plain quarry ridge stone"
    " tidal upland vale water xenial yonder zephyr anchor beacon canal drift eddy fjord glade heath island jungle"
)
BLOCKS = 64  # number of different texts; page n has text n mod BLOCKS


@dataclass(frozen=True, kw_only=True)
class Shape:
    """The shape of the web."""

    pages: int = 1_000_001
    links: int = 10  # to new pages
    back: int = 2  # to earlier pages
    depth: int = 0  # pages in a chain, each linking only to the next
    size: int = 1_000  # characters of text on a page
    latency: float = 0.0  # seconds before a response
    errors: float = 0.0  # share of the pages that respond with 500


class GeneratedWeb:
    """The generated web, served by its own process, as a context manager."""

    def __init__(self, shape: Shape) -> None:
        self._shape = shape
        self.url = ""  # URL of page 0, set by __enter__

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, Path(__file__), json.dumps(dataclasses.asdict(self._shape))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().decode().strip()
        assert self.url, "the generated web did not start"
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()


class Pages:
    """Every page of a shape, by number."""

    def __init__(self, shape: Shape) -> None:
        self._shape = shape
        chance = random.Random(0)
        self._blocks = [_text(chance, shape.size) for _ in range(BLOCKS)]

    def targets(self, number: int) -> list[int]:
        """Return the pages that page `number` links to."""
        back = [_mix(number, step) % max(number, 1) for step in range(self._shape.back)]
        chain = self._shape.pages - self._shape.depth  # its first page
        if number >= chain:
            return [*range(number + 1, min(number + 2, self._shape.pages)), *back]
        first = number * self._shape.links + 1
        new = range(first, min(first + self._shape.links, chain))
        return [*new, *([chain] if self._shape.depth and not number else []), *back]

    def fails(self, number: int) -> bool:
        """Return whether page `number` responds with 500; page 0 never does."""
        return number > 0 and _mix(number, 1_000) % 10_000 < self._shape.errors * 10_000

    def respond(self, path: str) -> bytes:
        """Return the whole HTTP response for a path."""
        number = _number(path)
        if number is None or number >= self._shape.pages:
            return _http("404 Not Found", b"not found")
        if self.fails(number):
            return _http("500 Internal Server Error", b"failed")
        anchors = "\n".join(f'<a href="/{target}">page {target}</a>' for target in self.targets(number))
        page = (
            f'<!DOCTYPE html>\n<html lang="en"><head><title>Page {number}</title></head>\n'
            f"<body><h1>Page {number}</h1>\n<p>{self._blocks[number % BLOCKS]}</p>\n{anchors}\n</body></html>\n"
        )
        return _http("200 OK", page.encode())


def _text(chance: random.Random, size: int) -> str:
    words = chance.choices(WORDS.split(), k=size // 4)
    return " ".join(words)[:size]


def _mix(number: int, step: int) -> int:
    """Return a pseudo-random number that is the same in every run (Knuth's multiplicative hash)."""
    return (number * 2_654_435_761 + step * 40_503) % 2**32 >> 8


def _number(path: str) -> int | None:
    bare = path.removeprefix("/") or "0"
    return int(bare) if bare.isascii() and bare.isdecimal() and len(bare) < 12 else None


def _http(status: str, body: bytes) -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


class Connection(asyncio.Protocol):
    """One keep-alive connection; requests have no body."""

    def __init__(self, pages: Pages, latency: float) -> None:
        self._pages = pages
        self._latency = latency
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        while b"\r\n\r\n" in self._received:
            request, _, self._received = self._received.partition(b"\r\n\r\n")
            method, path, *_ = request.split(b" ", 2)
            response = self._pages.respond(path.decode("latin-1"))
            if method == b"HEAD":
                response = response.partition(b"\r\n\r\n")[0] + b"\r\n\r\n"
            self._send(response)

    def _send(self, response: bytes) -> None:
        if self._latency:
            asyncio.get_running_loop().call_later(self._latency, self._transport.write, response)
        else:
            self._transport.write(response)


async def serve(shape: Shape) -> None:
    """Serve on a free loopback port until standard input ends; print the URL on standard output."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(partial(Connection, Pages(shape), shape.latency), "127.0.0.1", 0, backlog=512)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/0", flush=True)
    await loop.run_in_executor(None, sys.stdin.buffer.read)


if __name__ == "__main__":
    asyncio.run(serve(Shape(**json.loads(sys.argv[1]))))
