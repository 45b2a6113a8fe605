"""All servers of the hostile web, each on its own loopback port, by name.

URL templates contain `{name}`, which becomes `127.0.0.1:PORT`. All servers except `victim` are seeds of the crawl, so
it may visit them on loopback. It must never reach `victim`.
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

# The behaviour that answers /robots.txt, for servers that test only this.
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
    """A server that sends the same bytes to every client and hangs up."""

    def __init__(self, greeting: bytes) -> None:
        self._greeting = greeting
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._greet, name="greeter", daemon=True)
        self.port: int = self._socket.getsockname()[1]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)  # wakes `accept`
        self._thread.join(10)
        self._socket.close()

    def _greet(self) -> None:
        while True:
            try:
                client, _ = self._socket.accept()
            except OSError:
                return
            with client, contextlib.suppress(ConnectionError):
                client.recv(4096)
                client.sendall(self._greeting)


@contextlib.contextmanager
def deaf() -> Iterator[int]:
    """Yield a port that listens but never accepts a connection, because its queue is full."""
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(3):
            filler = stack.enter_context(socket.socket())
            filler.setblocking(False)
            filler.connect_ex(listener.getsockname())
        yield listener.getsockname()[1]


class World:
    """All servers of the hostile web."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._stack = contextlib.ExitStack()
        self.servers: dict[str, HostileServer] = {}
        self.addresses: dict[str, str] = {}

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
            "tls_good": certificates.signed_context("good"),
            "tls_self_signed": certificates.self_signed_context("nobody"),
            "tls_expired": certificates.signed_context("expired", dates=("20200101000000Z", "20200201000000Z")),
            "tls_early": certificates.signed_context("early", dates=("20900101000000Z", "20910101000000Z")),
            "tls_other_name": certificates.signed_context("other", alternative="DNS:example.org"),
        }.items():
            self._serve(stack, name, HostileServer(tls=context))
        self._serve(stack, "tls_stall", HostileServer())  # waits for a request, but receives a handshake
        for name, greeting in GREETINGS.items():
            self.addresses[name] = f"127.0.0.1:{stack.enter_context(Greeter(greeting)).port}"
        self.addresses["deaf"] = f"127.0.0.1:{stack.enter_context(deaf())}"
        closed = stack.enter_context(socket.socket())  # bound but not listening, so that the port stays ours
        closed.bind(("127.0.0.1", 0))
        self.addresses["closed"] = f"127.0.0.1:{closed.getsockname()[1]}"

    def _serve(self, stack: contextlib.ExitStack, name: str, server: HostileServer) -> None:
        self.servers[name] = stack.enter_context(server)
        self.addresses[name] = f"127.0.0.1:{server.port}"

    def url(self, template: str) -> str:
        """Return a URL of the table with the addresses filled in."""
        return template.format(**self.addresses, victim_port=self.addresses.get("victim", ":").rpartition(":")[2])
