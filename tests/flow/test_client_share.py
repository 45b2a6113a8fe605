"""One client cannot take the server from the others: limits on connections, requests and answers, on loopback too."""

from __future__ import annotations

import http.client
import socket
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING
from urllib.parse import quote

import psutil
import pytest

from gossamer.web.http.client_limits import (
    MAX_BODY_BYTES,
    MAX_CLIENT_CONNECTIONS,
    MAX_CLIENT_STREAMS,
    MAX_HEAD_BYTES,
    MAX_HEADERS,
    MAX_TARGET_BYTES,
)
from helpers.patience import PATIENCE, slowness, until
from helpers.web import attack
from helpers.web.served_app import App, page, served_app, site

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webs.served import SiteResponse

OTHER = "127.0.0.2"  # an address of another client
MAX_MEMORY = 400 << 20  # bytes of the server and its processes
MAX_P99 = 1.0  # seconds on a quiet machine
LARGEST = "word " * 2_000_000  # more text than the app keeps of a page


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    pages: dict[str, str | SiteResponse] = site()
    pages |= {"/": page("Webs", "gossamer", ("/silk", "silk"), ("/largest", "largest"))}
    pages |= {"/largest": page("Largest", LARGEST)}
    with served_app(tmp_path_factory.mktemp("shared"), pages) as served:
        yield served


@contextmanager
def connection(app: App, start: bytes, address: str = "127.0.0.1") -> Iterator[socket.socket]:
    """Connect from an address and send the start of a request."""
    server = ("127.0.0.1", app.serving.port)
    with socket.create_connection(server, PATIENCE, source_address=(address, 0)) as opened:
        opened.sendall(start)
        yield opened


def received(opened: socket.socket) -> bytes:
    """Return everything that the server sends until it closes."""
    data = b""
    while part := opened.recv(65_536):
        data += part
    return data


def received_until(opened: socket.socket, part: bytes) -> bytes:
    """Return what the server sends up to this part."""
    data = b""
    while part not in data:
        received_now = opened.recv(65_536)
        assert received_now, data
        data += received_now
    return data


def status(answer: bytes) -> int:
    return int(answer.split()[1])


def get(app: App, path: str, address: str = OTHER) -> tuple[int, float]:
    """Send a request on a connection of its own; return its status and its seconds."""
    started = time.monotonic()
    client = http.client.HTTPConnection("127.0.0.1", app.serving.port, PATIENCE, source_address=(address, 0))
    client.request("GET", path)
    response = client.getresponse()
    response.read()
    client.close()
    return response.status, time.monotonic() - started


# -- one request -------------------------------------------------------------------------------------------------------

HOST = b"Host: 127.0.0.1\r\n"
GET = b"GET / HTTP/1.1\r\n" + HOST
NEIGHBOURS = b"POST /api/graph/neighbours HTTP/1.1\r\nContent-Type: application/json\r\n" + HOST
POST = b"POST /control/seeds HTTP/1.1\r\n" + HOST


@pytest.mark.parametrize(
    ("request_bytes", "expected"),
    [
        (GET + b"\r\n", 200),
        (GET + b"X: y\r\n" * (MAX_HEADERS - 2) + b"\r\n", 200),
        (b"GET /" + b"a" * MAX_TARGET_BYTES, 414),
        (b"GET /?q=" + b"a" * (MAX_TARGET_BYTES // 2 + 1) + b" HTTP/1.1\r\n" + HOST + b"\r\n", 414),
        (GET + b"X: y\r\n" * MAX_HEADERS + b"\r\n", 431),
        (GET + b"X: " + b"a" * MAX_HEAD_BYTES, 431),
        (GET + b"X: y\r\n" * (MAX_HEAD_BYTES // 6), 431),
        (POST + b"Content-Length: %d\r\n\r\n" % (MAX_BODY_BYTES + 1), 413),
        (POST + b"Content-Length: 99999999999999999999\r\n\r\n", 400),
        (POST + b"Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n", 413),
        (b"\x16\x03\x01 no HTTP at all\r\n\r\n", 400),
    ],
    ids=lambda value: str(value) if isinstance(value, int) else value[:30].decode("latin-1"),
)
def test_a_request_over_a_limit_is_refused_by_its_status(app: App, request_bytes: bytes, expected: int) -> None:
    with connection(app, request_bytes.replace(HOST, HOST + b"Connection: close\r\n")) as opened:
        assert status(received(opened)) == expected


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        (b"", b""),
        (GET, b"HTTP/1.1 408"),
        (NEIGHBOURS + b"Content-Length: 9\r\n\r\n{", b"HTTP/1.1 408"),
        (POST + b"Content-Length: 9\r\n\r\nurl", b"HTTP/1.1 401"),  # answered before its body came, then closed
    ],
    ids=["silent", "head", "body", "answered"],
)
def test_an_incomplete_request_ends_with_408_or_by_closing(app: App, start: bytes, expected: bytes) -> None:
    with connection(app, start) as opened:
        assert received(opened)[: len(b"HTTP/1.1 408")] == expected


def test_a_refused_client_that_goes_on_sending_is_disconnected(app: App) -> None:
    def send_on() -> None:
        while True:
            opened.sendall(b"a" * 65_536)

    disconnected = pytest.raises((ConnectionResetError, BrokenPipeError))
    with connection(app, b"GET /" + b"a" * MAX_TARGET_BYTES) as opened, disconnected:
        send_on()


# -- connections -------------------------------------------------------------------------------------------------------


def open_connections(app: App) -> int:
    return sum(
        each.status == psutil.CONN_ESTABLISHED and each.laddr.port == app.serving.port
        for each in psutil.Process(app.serving.pid).net_connections("tcp")
    )


def test_half_open_connections_of_one_client_make_room_for_its_new_ones(app: App) -> None:
    with ExitStack() as stack:
        first, *_ = [stack.enter_context(connection(app, GET)) for _ in range(3 * MAX_CLIENT_CONNECTIONS)]
        until(lambda: open_connections(app) <= MAX_CLIENT_CONNECTIONS, "the oldest connections to be closed")
        assert received(first)[:12] in {b"", b"HTTP/1.1 408"}  # 408 on a machine that is slow now
        assert get(app, "/", "127.0.0.1")[0] == 200
        assert get(app, "/", OTHER)[0] == 200


def test_one_client_gets_only_its_share_of_event_streams(app: App) -> None:
    ask = b"GET /api/live HTTP/1.1\r\n" + HOST + b"\r\n"
    with ExitStack() as stack:
        for _ in range(MAX_CLIENT_STREAMS):
            assert status(received_until(stack.enter_context(connection(app, ask)), b"retry:")) == 200
        assert status(stack.enter_context(connection(app, ask)).recv(4096)) == 503
        assert status(stack.enter_context(connection(app, ask, OTHER)).recv(4096)) == 200


# -- everything at once ------------------------------------------------------------------------------------------------


@contextmanager
def attacked(app: App, half_open: int, header_bytes: int, paths: list[str]) -> Iterator[subprocess.Popen[str]]:
    arguments = [app.serving.port, half_open, header_bytes, *paths]
    process = subprocess.Popen(
        [sys.executable, attack.__file__, *map(str, arguments)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def output_lines(process: subprocess.Popen[str]) -> list[str]:
    """Return a list that a thread fills with the output."""
    lines: list[str] = []
    assert process.stdout is not None
    threading.Thread(target=lines.extend, args=(process.stdout,), daemon=True).start()
    return lines


def memory(pid: int) -> int:
    """Return the resident memory of a process and its children."""
    server = psutil.Process(pid)
    return sum(each.memory_info().rss for each in (server, *server.children(recursive=True)))


@pytest.mark.parametrize(
    ("half_open", "header_bytes", "views"),
    [
        pytest.param(500, 20_000_000, 0, id="half-open and headers"),
        pytest.param(500, 20_000_000, 4, id="with page views"),
        pytest.param(4_000, 200_000_000, 0, id="many half-open and headers", marks=pytest.mark.full),
        pytest.param(4_000, 200_000_000, 4, id="many with page views", marks=pytest.mark.full),
    ],
)
def test_another_client_is_served_while_one_attacks(app: App, half_open: int, header_bytes: int, views: int) -> None:
    paths = [f"/page?url={quote(app.web + 'largest', safe='')}&q=word"] * views
    get(app, "/page?url=" + quote(app.web, safe=""))  # opens the first session
    times: list[float] = []
    peak = 0
    slow = slowness()
    with attacked(app, half_open, header_bytes, paths) as attacker:
        lines = output_lines(attacker)
        while not lines or len(times) < 200:
            assert attacker.poll() is None
            answer, seconds = get(app, "/api/search?q=gossamer" if len(times) % 2 else "/")
            assert answer == 200
            times.append(seconds)
            peak = max(peak, memory(app.serving.pid))
    slow = max(slow, slowness())
    p99 = sorted(times)[int(len(times) * 0.99)]
    print(f"{len(times)} requests, p99 {p99:.3f} s, slowness {slow:.1f}, memory {peak >> 20} MiB")
    assert p99 <= MAX_P99 * slow
    assert peak <= MAX_MEMORY
