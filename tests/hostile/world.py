"""The hostile web, opened: every server of it on a port of its own on loopback, by name.

A place is named in URLs as `{name}`, which becomes `127.0.0.1:PORT`. All but `victim` are seeds of the crawl, and so
may be asked though they are on loopback; `victim` nobody may reach.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from typing import TYPE_CHECKING, Self

from hostile import pages
from hostile.certificates import Certificates
from hostile.server import HostileServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# What answers /robots.txt at the places that are about nothing else.
ROBOTS = {
    "robots_forbidden": "forbidden",
    "robots_broken": "broken",
    "robots_busy": "busy",
    "robots_stall": "stall",
    "robots_garbage": "garbage",
    "robots_huge": "huge-robots",
    "robots_bomb": "bomb-rules",
    "robots_5_hops": "robots-5-hops",
    "robots_6_hops": "robots-6-hops",
    "robots_loop": "loop",
    "robots_inward": "redirect?to=http://{victim}/robots",
    "robots_stern": "stern-rules",
    "robots_odd": "odd-rules",
    "robots_binary": "binary-rules",
    "robots_html": "page",
    "robots_slow": "slow-rules",
    "robots_patient": "patient-rules",
    "sitemaps": "sitemap-rules?elsewhere=http://{victim}/sitemap",
}
GREETINGS = {
    "ssh": b"SSH-2.0-OpenSSH_9.2\r\n",
    "tls_plain": b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n",
    "tls_cut": b"\x16\x03\x03\x00\x7a\x02\x00\x00",  # the beginning of a ServerHello
}


class Greeter:
    """A server that says the same bytes to everybody and hangs up."""

    def __init__(self, greeting: bytes) -> None:
        self._greeting = greeting
        self._door = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._greet, name="greeter", daemon=True)
        self.port: int = self._door.getsockname()[1]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._door.shutdown(socket.SHUT_RDWR)  # wakes `accept`
        self._thread.join(10)
        self._door.close()

    def _greet(self) -> None:
        while True:
            try:
                guest, _ = self._door.accept()
            except OSError:
                return
            with guest, contextlib.suppress(ConnectionError):
                guest.recv(4096)
                guest.sendall(self._greeting)


@contextlib.contextmanager
def deaf() -> Iterator[int]:
    """A port that listens and never takes a connection: its queue is full."""
    with contextlib.ExitStack() as stack:
        door = stack.enter_context(socket.socket())
        door.bind(("127.0.0.1", 0))
        door.listen(0)
        for _ in range(3):
            filler = stack.enter_context(socket.socket())
            filler.setblocking(False)
            filler.connect_ex(door.getsockname())
        yield door.getsockname()[1]


class World:
    """All servers of the hostile web."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._stack = contextlib.ExitStack()
        self.servers: dict[str, HostileServer] = {}
        self.places: dict[str, str] = {}

    def __enter__(self) -> Self:
        pages.prepare()
        with contextlib.ExitStack() as stack:
            self._open(stack)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _open(self, stack: contextlib.ExitStack) -> None:
        for name in ("victim", "main"):
            self._serve(stack, name, HostileServer())
        for name, robots in ROBOTS.items():
            self._serve(stack, name, HostileServer(robots=self.url(robots)))
        certificates = Certificates(self._home / "certificates")
        self.authority = certificates.authority
        for name, context in {
            "tls_good": certificates.signed("good"),
            "tls_self_signed": certificates.self_signed("nobody"),
            "tls_expired": certificates.signed("expired", dates=("20200101000000Z", "20200201000000Z")),
            "tls_early": certificates.signed("early", dates=("20900101000000Z", "20910101000000Z")),
            "tls_other_name": certificates.signed("other", alternative="DNS:example.org"),
        }.items():
            self._serve(stack, name, HostileServer(tls=context))
        self._serve(stack, "tls_stall", HostileServer())  # waits for a request that never comes: it got a handshake
        for name, greeting in GREETINGS.items():
            self.places[name] = f"127.0.0.1:{stack.enter_context(Greeter(greeting)).port}"
        self.places["deaf"] = f"127.0.0.1:{stack.enter_context(deaf())}"
        nobody = stack.enter_context(socket.socket())  # bound, so that the port stays ours, and not listening
        nobody.bind(("127.0.0.1", 0))
        self.places["closed"] = f"127.0.0.1:{nobody.getsockname()[1]}"

    def _serve(self, stack: contextlib.ExitStack, name: str, server: HostileServer) -> None:
        self.servers[name] = stack.enter_context(server)
        self.places[name] = f"127.0.0.1:{server.port}"

    def url(self, template: str) -> str:
        """A URL of the table with the places put in."""
        return template.format(**self.places, victim_port=self.places.get("victim", ":").rpartition(":")[2])
