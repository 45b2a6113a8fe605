"""Clients and their shares: addresses, trusted proxies, running requests, slow answers and slow readers."""

from __future__ import annotations

import asyncio
import socket
import threading
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
import uvicorn

from gossamer.errors import UsageError
from gossamer.web.http import protocol, shares
from gossamer.web.http.client_limits import (
    MAX_CLIENT_RUNNING,
    MAX_CLIENT_WAITING,
    PART_BYTES,
    TrustedProxies,
    client_of,
)
from gossamer.web.http.protocol import ConnectionRegister, LimitedProtocol
from gossamer.web.http.security import AccessRules, SecurityMiddleware, access_rules
from gossamer.web.http.shares import ShareMiddleware
from helpers.patience import PATIENCE, until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.types import ASGIApp, Message, Receive, Scope, Send


@pytest.mark.parametrize(
    ("address", "client"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("127.0.0.1", "127.0.0.1"),
        ("::1", "::1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2001:db8::1", "2001:db8::/64"),
        ("2001:db8::ffff:1", "2001:db8::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("no address", "no address"),
    ],
)
def test_a_client_is_an_address_or_a_network_of_ipv6(address: str, client: str) -> None:
    assert client_of(address) == client


@pytest.mark.parametrize(
    ("peer", "forwarded", "sender"),
    [
        ("192.0.2.9", ["198.51.100.1"], "192.0.2.9"),  # not a proxy of ours
        ("127.0.0.1", [], "127.0.0.1"),
        ("127.0.0.1", ["198.51.100.1"], "198.51.100.1"),
        ("127.0.0.1", ["203.0.113.7, 198.51.100.1"], "198.51.100.1"),  # the client wrote the first one itself
        ("127.0.0.1", ["203.0.113.7", "198.51.100.1, 10.1.2.3"], "198.51.100.1"),
        ("127.0.0.1", ["198.51.100.1:4711"], "198.51.100.1"),
        ("127.0.0.1", ["[2001:db8::1]:4711"], "2001:db8::1"),
        ("::ffff:127.0.0.1", ["198.51.100.1"], "198.51.100.1"),
    ],
)
def test_a_trusted_proxy_names_its_client(peer: str, forwarded: list[str], sender: str) -> None:
    assert TrustedProxies(["127.0.0.1", "10.0.0.0/8"]).sender(peer, forwarded) == sender


def test_a_malformed_proxy_is_refused_at_the_start() -> None:
    with pytest.raises(UsageError, match="--trusted-proxy"):
        access_rules("127.0.0.1", "x", (), 0, ("proxy.example",))


def test_a_token_that_is_not_utf_8_is_refused_at_the_start() -> None:
    with pytest.raises(UsageError, match="GOSSAMER_TOKEN"):
        access_rules("127.0.0.1", "\udcff", (), 0)


# -- requests in one process -------------------------------------------------------------------------------------------


def scope(client: str = "192.0.2.1", path: str = "/page", **headers: str) -> dict[str, Any]:
    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return {
        "type": "http", "method": "GET", "path": path, "query_string": b"", "scheme": "http",
        "headers": [(b"host", b"127.0.0.1"), *raw], "client": (client, 1),
    }  # fmt: skip


async def ask(app: ASGIApp, scope: Scope) -> list[Message]:
    """Send a request; return the messages of the answer."""
    messages: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        messages.append(message)

    await app(scope, receive, send)
    return messages


class HeldApp:
    """An app whose answers wait until the test opens the gate."""

    def __init__(self, size: int = 2) -> None:
        self.gate = asyncio.Event()
        self.scopes: list[Scope] = []
        self._body = b"x" * size

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.scopes.append(scope)
        await self.gate.wait()
        length = str(len(self._body)).encode()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", length)]})
        await send({"type": "http.response.body", "body": self._body})


async def spin() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def test_requests_over_the_share_wait_and_other_clients_run_at_once() -> None:
    async def run() -> None:
        held = HeldApp()
        app = ShareMiddleware(held)
        own = [asyncio.create_task(ask(app, scope())) for _ in range(MAX_CLIENT_RUNNING + 3)]
        await spin()
        assert len(held.scopes) == MAX_CLIENT_RUNNING
        other = asyncio.create_task(ask(app, scope("192.0.2.2")))
        await spin()
        assert len(held.scopes) == MAX_CLIENT_RUNNING + 1
        held.gate.set()
        answers = await asyncio.gather(*own, other)
        assert [answer[0]["status"] for answer in answers] == [200] * len(answers)
        assert app._shares == {}

    asyncio.run(run())


def test_a_full_queue_and_a_long_wait_end_with_503(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shares, "WAIT_SECONDS", 0.2)

    async def run() -> None:
        held = HeldApp()
        app = ShareMiddleware(held)
        count = MAX_CLIENT_RUNNING + MAX_CLIENT_WAITING + 1
        tasks = [asyncio.create_task(ask(app, scope())) for _ in range(count)]
        refused = await asyncio.gather(*tasks[MAX_CLIENT_RUNNING:])
        assert {answer[0]["status"] for answer in refused} == {503}
        held.gate.set()
        ran = await asyncio.gather(*tasks[:MAX_CLIENT_RUNNING])
        assert {answer[0]["status"] for answer in ran} == {200}
        assert app._shares == {}

    asyncio.run(run())


def test_an_answer_that_does_not_begin_in_time_is_a_503_and_keeps_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shares, "ANSWER_SECONDS", 0.1)

    async def run() -> None:
        held = HeldApp()
        app = ShareMiddleware(held)
        messages: list[Message] = []
        refused = asyncio.Event()

        async def send(message: Message) -> None:
            messages.append(message)
            if message["type"] == "http.response.body":
                refused.set()

        async def receive() -> Message:
            raise AssertionError

        task = asyncio.create_task(app(scope(), receive, send))
        await refused.wait()
        assert messages[0]["status"] == 503
        assert app._shares
        held.gate.set()
        await task
        assert len(messages) == 2  # the late answer is dropped
        assert app._shares == {}

    asyncio.run(run())


def test_a_large_answer_goes_out_in_parts() -> None:
    async def run() -> None:
        held = HeldApp(2 * PART_BYTES + 1)
        held.gate.set()
        _, *parts = await ask(ShareMiddleware(held), scope())
        assert [len(part["body"]) for part in parts] == [PART_BYTES, PART_BYTES, 1]
        assert [part["more_body"] for part in parts] == [True, True, False]

    asyncio.run(run())


@pytest.mark.parametrize(
    ("proxies", "client", "scheme"), [((), "127.0.0.1", "https"), (("127.0.0.1",), "198.51.100.1", "https")]
)
def test_headers_of_proxies_count_as_configured(proxies: tuple[str, ...], client: str, scheme: str) -> None:
    async def run() -> None:
        held = HeldApp()
        held.gate.set()
        app = SecurityMiddleware(held, AccessRules(proxies=proxies))
        await ask(app, scope("127.0.0.1", x_forwarded_for="198.51.100.1", x_forwarded_proto="https"))
        await ask(app, scope("192.0.2.3", x_forwarded_for="198.51.100.1", x_forwarded_proto="https"))
        assert [(each["client"][0], each["scheme"]) for each in held.scopes] == [
            (client, scheme),
            ("192.0.2.3", "http"),
        ]

    asyncio.run(run())


# -- connections -------------------------------------------------------------------------------------------------------


@contextmanager
def running_server(app: ASGIApp, most: int = 10) -> Iterator[tuple[int, set[Any]]]:
    """Run a server with limits in a thread; yield its port and its open connections."""
    register = ConnectionRegister(most, TrustedProxies())
    http: Any = partial(LimitedProtocol, register=register)
    server = uvicorn.Server(uvicorn.Config(app, http=http, lifespan="off", log_level="error"))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        until(lambda: server.started, "the server to start")
        yield listener.getsockname()[1], server.server_state.connections
        server.should_exit = True
        thread.join(PATIENCE)


def connect(port: int, address: str = "127.0.0.1") -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), PATIENCE, source_address=(address, 0))


async def large_answer(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"100000000")]})
    for left in range(99, -1, -1):
        await send({"type": "http.response.body", "body": bytes(1_000_000), "more_body": left > 0})


def test_a_client_that_does_not_read_its_answer_loses_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "WRITE_SECONDS", 0.3)
    with running_server(large_answer) as (port, open_connections), connect(port) as client:
        client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert client.recv(12) == b"HTTP/1.1 200"
        until(lambda: not open_connections, "the connection to close")


def test_beyond_all_places_the_client_with_most_connections_loses_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "MAX_CLIENT_CONNECTIONS", 6)
    with running_server(large_answer, most=8) as (port, open_connections):
        crowd = [connect(port) for _ in range(6)]
        others = [connect(port, f"127.0.0.{n}") for n in range(2, 6)]
        until(lambda: len(open_connections) == 8, "eight connections to remain")
        assert [client.recv(1) for client in crowd[:2]] == [b"", b""]
        assert {each.client_name for each in list(open_connections)} >= {f"127.0.0.{n}" for n in range(2, 6)}
        for client in (*crowd, *others):
            client.close()


def test_a_client_whose_connections_are_all_busy_gets_503(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "MAX_CLIENT_CONNECTIONS", 2)
    with running_server(large_answer) as (port, _):
        busy = [connect(port) for _ in range(2)]
        for client in busy:
            client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            assert client.recv(12) == b"HTTP/1.1 200"
        with connect(port) as third:
            assert third.recv(12) == b"HTTP/1.1 503"
        for client in busy:
            client.close()
