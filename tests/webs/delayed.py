"""Forty small sites on loopback addresses, each with a Crawl-delay, served by separate processes.

The servers log every request with its time, so that a test can check the delays.
"""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple, Self

HOSTS_IN_A_PROCESS = 10


class SeenRequest(NamedTuple):
    """A request that a site received."""

    at: float
    host: str
    path: str


class DelayedSites:
    """Sites at 127.0.1.1, 127.0.1.2 ..., with `pages` pages each, all linked from the first."""

    def __init__(self, directory: Path, *, hosts: int, pages: int, delay: float) -> None:
        self.addresses = [f"127.0.1.{number + 1}" for number in range(hosts)]
        self.pages = pages
        self.delay = delay
        self._port = _free_port(self.addresses[0])
        self._directory = directory
        self._processes: list[subprocess.Popen[bytes]] = []

    @property
    def seeds(self) -> list[str]:
        """Return the first page of every site."""
        return [f"http://{address}:{self._port}/" for address in self.addresses]

    def __enter__(self) -> Self:
        for start in range(0, len(self.addresses), HOSTS_IN_A_PROCESS):
            own = self.addresses[start : start + HOSTS_IN_A_PROCESS]
            log = self._directory / f"seen-{start}"
            arguments = [str(log), str(self.pages), str(self.delay), str(self._port), *own]
            process = subprocess.Popen([sys.executable, __file__, *arguments], stdout=subprocess.PIPE)
            self._processes.append(process)
        try:
            for process in self._processes:
                assert process.stdout is not None
                assert process.stdout.readline() == b"ready\n"
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes:
            process.kill()
            process.communicate()

    def requests(self) -> list[SeenRequest]:
        """Return the requests so far, by time."""
        files = self._directory.glob("seen-*")
        return sorted(SeenRequest(*json.loads(line)) for file in files for line in file.read_text().splitlines())

    def by_host(self) -> dict[str, list[SeenRequest]]:
        """Return the requests of each site."""
        requests: dict[str, list[SeenRequest]] = defaultdict(list)
        for request in self.requests():
            requests[request.host].append(request)
        return requests


def _free_port(address: str) -> int:
    with socket.create_server((address, 0)) as free:
        return int(free.getsockname()[1])


class _Site:
    """The pages that one process serves."""

    def __init__(self, log: Path, pages: int, delay: float) -> None:
        self._log = log.open("a", buffering=1)
        links = "".join(f'<a href="/{number}">page {number}</a> ' for number in range(1, pages))
        self._first = f"<title>first</title>{links}"
        self._robots = f"User-agent: *\nCrawl-delay: {delay}\n"

    async def serve(self, port: int, addresses: list[str]) -> None:
        servers = [await asyncio.start_server(self._serve_connection, address, port) for address in addresses]
        print("ready", flush=True)
        await asyncio.gather(*(server.serve_forever() for server in servers))

    async def _serve_connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        host = writer.get_extra_info("sockname")[0]
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                path = head.split(b" ", 2)[1].decode()
                self._log.write(json.dumps([time.time(), host, path]) + "\n")
                writer.write(self._response(path))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    def _response(self, path: str) -> bytes:
        kind, body = "text/html", f"<title>{path}</title>a page of its own: {path}"
        if path == "/robots.txt":
            kind, body = "text/plain", self._robots
        elif path == "/":
            body = self._first
        return f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()


if __name__ == "__main__":
    site = _Site(Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]))
    asyncio.run(site.serve(int(sys.argv[4]), sys.argv[5:]))
