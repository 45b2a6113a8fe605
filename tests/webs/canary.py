"""A canary: listeners that nothing may reach, and pages that try every way out of a browser to reach them.

Each way (`Vector`) has a loopback address of its own, with one port for TCP and UDP, and a name below `canary.test`
that a DNS server here resolves. So a hit names its vector, even if the browser sends nothing but a SYN or a question.
"""

from __future__ import annotations

import errno
import selectors
import socket
import struct
import threading
from contextlib import ExitStack, suppress
from string import Template
from typing import TYPE_CHECKING, NamedTuple, Self

from helpers.patience import until
from webs.canary_vectors import VECTORS
from webs.served import SiteResponse

if TYPE_CHECKING:
    from collections.abc import Mapping

DOMAIN = "canary.test"
NETWORK = "127.0.60"
NAME_SERVER = f"{NETWORK}.253"  # port 53, which only root may open
READ_BYTES = 4096
POLL_SECONDS = 0.1
START = "open"  # the page that opens the others, each in a window of its own
OPENING = """<script>window.open("/{path}", "_blank", "noopener,popup")</script>"""


class Hit(NamedTuple):
    """Something that reached the canary."""

    vector: str  # empty: a DNS question that belongs to none
    protocol: str  # tcp, udp, dns
    received: bytes


class Canary:
    """The listeners, as a context manager, and the pages for a site at an origin."""

    def __init__(self) -> None:
        self.hits: list[Hit] = []
        self.has_dns = True
        self._addresses = {vector.name: f"{NETWORK}.{number}" for number, vector in enumerate(VECTORS, start=1)}
        self._names = {address: name for name, address in self._addresses.items()}
        self._selector = selectors.DefaultSelector()
        self._stack = ExitStack()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        with ExitStack() as opened:
            self._port = self._open(opened)
            self._open_dns(opened)
            self._stack = opened.pop_all()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End all listeners; further calls do nothing."""
        if self._ended.is_set():
            return
        self._ended.set()
        self._thread.join()
        for key in list(self._selector.get_map().values()):
            key.fileobj.close()  # type: ignore[union-attr]  # only sockets are registered
        self._selector.close()

    def vectors_hit(self) -> set[str]:
        """Return the names of the vectors that reached the canary."""
        return {hit.vector for hit in self.hits}

    def pages(self, origin: str) -> dict[str, SiteResponse]:
        """Return the pages that try the vectors, and the files they need, for a site at an origin."""
        bodies: dict[str, list[str]] = {}
        headers: dict[str, dict[str, str]] = {}
        files: dict[str, SiteResponse] = {}
        for vector in VECTORS:
            values = self._values(vector.name, origin)
            bodies.setdefault(vector.page, []).append(Template(vector.html).substitute(values))
            headers.setdefault(vector.page, {"Content-Type": "text/html"}).update(_filled(vector.headers, values))
            for path, text in _filled(vector.files, values).items():
                kind = "text/javascript" if path.endswith(".js") else "text/html"
                files[path] = SiteResponse(text, headers={"Content-Type": kind})
        others = [page for page in bodies if page != START]
        bodies[START] += [OPENING.format(path=page) for page in others]
        pages = {
            f"/{page}": SiteResponse(
                f"<!doctype html><title>{page}</title><body>{''.join(parts)}", headers=headers[page]
            )
            for page, parts in bodies.items()
        }
        return {**pages, **files}

    def _values(self, name: str, origin: str) -> dict[str, str]:
        address, label = self._addresses[name], name.replace(" ", "-")
        return {
            "url": f"http://{address}:{self._port}/{label}",
            "host": f"{address}:{self._port}",
            "address": address,
            "port": str(self._port),
            "name": f"{label}.{DOMAIN}:{self._port}",
            "origin": origin,
        }

    # -- listeners ---------------------------------------------------------------------------------------------------

    def _open(self, opened: ExitStack) -> int:
        """Listen on every vector's address at the same port, for TCP and UDP."""
        port = 0
        for address in self._addresses.values():
            stream = opened.enter_context(socket.create_server((address, port)))
            port = stream.getsockname()[1]
            datagram = opened.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
            datagram.bind((address, port))
            self._selector.register(stream, selectors.EVENT_READ, self._accept)
            self._selector.register(datagram, selectors.EVENT_READ, self._datagram)
        return port

    def _open_dns(self, opened: ExitStack) -> None:
        """Take the port of the name server; another run of the tests on this machine may have it for a while."""
        datagram = opened.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        try:
            until(lambda: _is_bound(datagram, (NAME_SERVER, 53)), "the name server of another canary to end")
        except PermissionError:
            self.has_dns = False
            return
        stream = opened.enter_context(socket.create_server((NAME_SERVER, 53)))
        self._selector.register(datagram, selectors.EVENT_READ, self._question)
        self._selector.register(stream, selectors.EVENT_READ, self._accept)

    def _run(self) -> None:
        while not self._ended.is_set():
            for key, _ in self._selector.select(POLL_SECONDS):
                with suppress(ConnectionError):  # the browser may reset what it opened
                    key.data(key.fileobj)

    def _accept(self, listener: socket.socket) -> None:
        connection, _ = listener.accept()
        self._hit(connection, "tcp", b"")
        self._selector.register(connection, selectors.EVENT_READ, self._answer)

    def _answer(self, connection: socket.socket) -> None:
        """Answer any HTTP request with an empty file that every origin may read."""
        self._selector.unregister(connection)
        with connection:
            request = connection.recv(READ_BYTES)
            self._hit(connection, "tcp", request)
            head = "HTTP/1.1 200 OK\r\nAccess-Control-Allow-Origin: *\r\nContent-Type: {}\r\nContent-Length: 0\r\n\r\n"
            kind = "text/javascript" if b".js " in request else "text/html"
            connection.sendall(head.format(kind).encode())

    def _datagram(self, listener: socket.socket) -> None:
        self._hit(listener, "udp", listener.recv(READ_BYTES))

    def _question(self, listener: socket.socket) -> None:
        question, sender = listener.recvfrom(READ_BYTES)
        name, kind = _asked(question)
        label = name.removesuffix(f".{DOMAIN}").replace("-", " ")
        vector = next((vector.name for vector in VECTORS if vector.name.replace("-", " ") == label), "")
        self.hits.append(Hit(vector, "dns", name.encode()))
        address = self._addresses[vector] if vector and kind == 1 else ""
        listener.sendto(_dns_answer(question, address, exists=bool(vector)), sender)

    def _hit(self, reached: socket.socket, protocol: str, received: bytes) -> None:
        self.hits.append(Hit(self._names.get(reached.getsockname()[0], ""), protocol, received))


def _is_bound(datagram: socket.socket, address: tuple[str, int]) -> bool:
    """Bind a socket; return False if another has the address."""
    try:
        datagram.bind(address)
    except OSError as fault:
        if fault.errno != errno.EADDRINUSE:
            raise
        return False
    return True


def _filled(texts: Mapping[str, str], values: dict[str, str]) -> dict[str, str]:
    return {key: Template(text).substitute(values) for key, text in texts.items()}


def _asked(question: bytes) -> tuple[str, int]:
    """Return name and type that a DNS question asks for (RFC 1035 §4.1.2)."""
    labels, at = [], 12
    while size := question[at]:
        labels.append(question[at + 1 : at + 1 + size].decode("ascii", "replace"))
        at += size + 1
    return ".".join(labels).lower(), struct.unpack_from("!H", question, at + 1)[0]


def _dns_answer(question: bytes, address: str, *, exists: bool) -> bytes:
    """Return an answer with one address, with none, or that the name does not exist."""
    at = question.index(b"\0", 12) + 5  # the end of the question: name, type, class
    flags, answers = 0x8180 if exists else 0x8183, 1 if address else 0
    head = question[:2] + struct.pack("!HHHHH", flags, 1, answers, 0, 0) + question[12:at]
    record = b"\xc0\x0c" + struct.pack("!HHIH", 1, 1, 1, 4) + socket.inet_aton(address) if address else b""
    return head + record
