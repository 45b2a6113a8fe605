"""Where the fetcher connects, what it sends (guard, credentials, proxies, TLS), and what it leaves open."""

from __future__ import annotations

import json
import os
import re
import selectors
import socket
import ssl
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gossamer.config import FetchSettings, HostSettings
from gossamer.errors import SettingsError
from gossamer.model import Outcome, Request, Role
from helpers.fetch.fetch_loop import FetchLoop
from helpers.patience import until
from hostile import PAGE, HostileServer

if TYPE_CHECKING:
    from collections.abc import Iterator


# -- the address guard -----------------------------------------------------------------------------------------------


@pytest.fixture
def guarded_loop() -> Iterator[FetchLoop]:
    """A loop that may connect to no private address."""
    loop = FetchLoop()
    yield loop
    loop.close()


@pytest.mark.parametrize(
    ("host", "reason"),
    [
        ("127.0.0.1", "127.0.0.1 is a loopback address"),
        ("localhost", " is a loopback address"),
        ("intranet.localhost", " is a loopback address"),  # a name that resolves to a private address
        ("[::1]", "::1 is a loopback address"),
        ("[::ffff:127.0.0.1]", "::ffff:127.0.0.1 is a loopback address"),
        ("0.0.0.0", "0.0.0.0 is an unspecified address"),
        ("169.254.169.254", "169.254.169.254 is a link-local address"),
        ("[fe80::1]", "fe80::1 is a link-local address"),
        ("2130706433", "127.0.0.1 is a loopback address"),
        ("0x7f.1", "127.0.0.1 is a loopback address"),
    ],
)
def test_private_addresses_are_refused(guarded_loop: FetchLoop, server: HostileServer, host: str, reason: str) -> None:
    fetched = guarded_loop.fetch(f"http://{host}:{server.port}/page")
    assert fetched.outcome is Outcome.ADDRESS
    assert fetched.reason.endswith(reason)
    assert (fetched.status, fetched.address, server.connections) == (0, "", 0)


def test_a_private_permission_covers_one_port(loop: FetchLoop) -> None:
    with HostileServer() as other:
        assert loop.fetch(other.url("page")).outcome is Outcome.ADDRESS
        assert other.connections == 0


def test_a_private_permission_covers_one_name_even_over_an_open_connection(
    loop: FetchLoop, server: HostileServer
) -> None:
    assert loop.fetch(server.url("page")).outcome is Outcome.FETCHED
    assert loop.fetch(f"http://localhost:{server.port}/page").outcome is Outcome.ADDRESS
    assert loop.fetch(f"http://127.0.0.2:{server.port}/page").outcome is Outcome.ADDRESS
    assert server.connections == 1


def test_a_private_permission_covers_one_scheme(loop: FetchLoop, server: HostileServer) -> None:
    assert loop.fetch(server.url("page").replace("http:", "https:")).outcome is Outcome.ADDRESS


def test_a_redirect_to_another_loopback_port_is_refused(loop: FetchLoop, server: HostileServer) -> None:
    with HostileServer() as other:
        redirected = loop.fetch(server.url(f"redirect?to={other.url('page')}"))
        assert (redirected.outcome, redirected.location) == (Outcome.REDIRECTED, other.url("page"))
        assert loop.fetch(redirected.location).outcome is Outcome.ADDRESS
        assert other.connections == 0


def test_an_allowed_address_range_is_visited(server: HostileServer) -> None:
    loop = FetchLoop(FetchSettings(allow_private=("127.0.0.0/8",)))
    outcomes = [loop.fetch(f"http://{host}:{server.port}/page").outcome for host in ("127.0.0.1", "localhost", "[::1]")]
    loop.close()
    # "localhost" is also ::1, which is refused: the fetcher uses the allowed address.
    assert outcomes == [Outcome.FETCHED, Outcome.FETCHED, Outcome.ADDRESS]


def test_an_invalid_address_range_is_a_settings_error() -> None:
    with pytest.raises(SettingsError, match="allow_private"):
        FetchLoop(FetchSettings(allow_private=("everything",)))


# -- credentials -----------------------------------------------------------------------------------------------------


@pytest.fixture
def loop_with_credentials(server: HostileServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[FetchLoop]:
    """A loop with credentials for the server."""
    monkeypatch.setenv("TEST_PASSWORD", "sesame")
    monkeypatch.setenv("TEST_KEY", "k-1")
    monkeypatch.setenv("TEST_SESSION", "s-1")
    host = HostSettings(
        username="ada",
        password_env="TEST_PASSWORD",
        headers={"X-Team": "crawl", "accept": "text/special"},
        headers_env={"X-Key": "TEST_KEY"},
        cookies_env={"session": "TEST_SESSION"},
    )
    loop = FetchLoop(hosts={f"127.0.0.1:{server.port}": host})
    loop.fetcher.allow_private(server.url())
    yield loop
    loop.close()


def test_a_host_gets_its_credentials_headers_and_cookies(
    loop_with_credentials: FetchLoop, server: HostileServer
) -> None:
    headers = json.loads(loop_with_credentials.fetch(server.url("echo")).body)
    assert headers["authorization"] == "Basic YWRhOnNlc2FtZQ=="
    assert (headers["x-team"], headers["x-key"], headers["cookie"]) == ("crawl", "k-1", "session=s-1")
    assert headers["accept"] == "text/special"
    assert headers["accept-encoding"] == "gzip, deflate, br, zstd"


def test_a_redirect_to_another_origin_carries_no_credentials(
    loop_with_credentials: FetchLoop, server: HostileServer
) -> None:
    with HostileServer() as other:
        loop_with_credentials.fetcher.allow_private(other.url())
        fetched = loop_with_credentials.fetch(server.url(f"redirect?to={other.url('echo')}"), Role.ROBOTS)
        assert "authorization" in server.requests[0].headers
        assert not {"authorization", "cookie", "x-key", "x-team"} & json.loads(fetched.body).keys()


def test_a_reused_handle_sends_no_credentials_to_another_host(
    loop_with_credentials: FetchLoop, server: HostileServer
) -> None:
    loop_with_credentials.fetch(server.url("echo"))
    loop_with_credentials.fetcher.allow_private(f"http://localhost:{server.port}/")
    headers = json.loads(loop_with_credentials.fetch(f"http://localhost:{server.port}/echo").body)
    assert not {"authorization", "cookie", "x-key", "x-team"} & headers.keys()


def test_a_missing_password_variable_is_a_settings_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TEST_PASSWORD", raising=False)
    with pytest.raises(SettingsError, match="TEST_PASSWORD is not set"):
        FetchLoop(hosts={"example.org": HostSettings(username="ada", password_env="TEST_PASSWORD")})


def test_a_401_explains_that_credentials_are_sent_over_https_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_KEY", "k-1")
    with HostileServer("0.0.0.0") as server:  # an address of this machine that is not loopback
        loop = FetchLoop(
            FetchSettings(allow_private=("0.0.0.0/8",)),
            {f"0.0.0.0:{server.port}": HostSettings(headers_env={"X-Key": "TEST_KEY"})},
        )
        fetched = loop.fetch(server.url("status?of=401%20Who"))
        loop.close()
        assert "x-key" not in server.requests[0].headers
    assert fetched.reason == "401 Unauthorized; the credentials of this host are sent over https only"


# -- proxies ---------------------------------------------------------------------------------------------------------

PUBLIC = "http://93.184.216.34"  # needs no resolver; the proxy answers in its place


def proxied_loop(server: HostileServer, *, trust: bool = False, ca_file: str = "") -> FetchLoop:
    return FetchLoop(FetchSettings(proxy=server.url(), trust_proxy=trust, ca_file=ca_file))


def test_proxies_of_the_environment_are_not_used(
    loop: FetchLoop, server: HostileServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9/")
    assert loop.fetch(server.url("page")).outcome is Outcome.FETCHED


def test_a_proxy_is_used_for_public_addresses(server: HostileServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "*")
    loop = proxied_loop(server)
    fetched = loop.fetch(f"{PUBLIC}/page")
    loop.close()
    assert (fetched.outcome, fetched.body) == (Outcome.FETCHED, PAGE)
    assert server.paths() == [f"GET {PUBLIC}/page"]


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "169.254.169.254", "[::1]"])
def test_a_proxy_is_not_used_for_private_addresses(server: HostileServer, host: str) -> None:
    loop = proxied_loop(server)
    fetched = loop.fetch(f"http://{host}:{server.port}/page")
    loop.close()
    assert fetched.outcome is Outcome.ADDRESS
    assert server.connections == 0


def test_a_proxy_is_not_used_for_private_redirects_of_robots(server: HostileServer) -> None:
    loop = proxied_loop(server)
    fetched = loop.fetch(f"{PUBLIC}/redirect?to=http://127.0.0.1:1/", Role.ROBOTS)
    loop.close()
    assert (fetched.outcome, fetched.reason) == (Outcome.ADDRESS, "127.0.0.1 is a loopback address")
    assert len(server.requests) == 1


def test_names_must_resolve_before_a_proxy_is_used(server: HostileServer) -> None:
    loop = proxied_loop(server)
    fetched = loop.fetch("http://nothing.invalid/page")
    loop.close()
    assert fetched.outcome is Outcome.DNS
    assert fetched.reason.endswith("names are looked up before the proxy is asked, unless it is trusted (trust_proxy)")
    assert server.connections == 0


def test_a_trusted_proxy_resolves_names_itself(server: HostileServer) -> None:
    loop = proxied_loop(server, trust=True)
    fetched = loop.fetch("http://nothing.invalid/page")
    loop.close()
    assert fetched.outcome is Outcome.FETCHED
    assert server.paths() == ["GET http://nothing.invalid/page"]


def test_an_unresolvable_seed_is_fetched_through_the_proxy(server: HostileServer) -> None:
    loop = proxied_loop(server)
    loop.fetcher.allow_private("http://nothing.invalid/")
    assert loop.fetch("http://nothing.invalid/page").outcome is Outcome.FETCHED
    loop.close()


def test_a_proxy_that_does_not_answer_is_a_connection_failure() -> None:
    loop = FetchLoop(FetchSettings(proxy="http://127.0.0.1:9/"))
    fetched = loop.fetch(f"{PUBLIC}/page")
    loop.close()
    assert (fetched.outcome, fetched.reason) == (Outcome.CONNECT, "Connection refused")


# -- TLS -------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create a self-signed certificate of 127.0.0.1 and its key, in one file."""
    home = tmp_path_factory.mktemp("tls")
    command = (
        "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1"
    )
    subprocess.run(
        [*command.split(), "-keyout", home / "key.pem", "-out", home / "cert.pem"], check=True, capture_output=True
    )
    (home / "both.pem").write_bytes((home / "key.pem").read_bytes() + (home / "cert.pem").read_bytes())
    return home / "both.pem"


@pytest.fixture
def secure_server(certificate: Path) -> Iterator[HostileServer]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with HostileServer(tls=context) as server:
        yield server


def test_an_untrusted_certificate_is_refused(secure_server: HostileServer) -> None:
    loop = FetchLoop()
    loop.fetcher.allow_private(secure_server.url())
    fetched = loop.fetch(secure_server.url("page"))
    loop.close()
    assert fetched.outcome is Outcome.TLS
    assert "self-signed certificate" in fetched.reason
    assert (fetched.status, secure_server.requests) == (0, [])


def test_a_certificate_that_the_user_trusts_is_accepted(secure_server: HostileServer, certificate: Path) -> None:
    loop = FetchLoop(FetchSettings(ca_file=str(certificate)))
    loop.fetcher.allow_private(secure_server.url())
    fetched = loop.fetch(secure_server.url("page"))
    loop.close()
    assert (fetched.outcome, fetched.body) == (Outcome.FETCHED, PAGE)


def test_a_certificate_of_another_host_is_refused(secure_server: HostileServer, certificate: Path) -> None:
    loop = FetchLoop(FetchSettings(ca_file=str(certificate)))
    url = f"https://localhost:{secure_server.port}/page"
    loop.fetcher.allow_private(url)
    fetched = loop.fetch(url)
    loop.close()
    assert fetched.outcome is Outcome.TLS
    assert "localhost" in fetched.reason


def test_a_server_that_does_not_speak_tls_is_a_tls_failure() -> None:
    with socket.create_server(("127.0.0.1", 0)) as plain:
        url = f"https://127.0.0.1:{plain.getsockname()[1]}/"
        loop = FetchLoop()
        loop.fetcher.allow_private(url)
        loop.fetcher.start(Request(id=1, url=url, role=Role.PAGE))
        loop.run_once()
        connection, _ = plain.accept()
        connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        [fetched] = loop.fetch_all()
        connection.close()
        loop.close()
    assert fetched.outcome is Outcome.TLS
    assert "wrong version number" in fetched.reason


def test_a_missing_ca_file_is_a_settings_error() -> None:
    with pytest.raises(SettingsError, match="there is no file"):
        FetchLoop(FetchSettings(ca_file="/nowhere/ca.pem"))


def test_https_is_tunnelled_through_a_proxy_that_sees_no_secrets(
    secure_server: HostileServer, server: HostileServer, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_KEY", "k-1")
    loop = FetchLoop(
        FetchSettings(proxy=server.url(), ca_file=str(certificate)),
        {f"127.0.0.1:{secure_server.port}": HostSettings(headers_env={"X-Key": "TEST_KEY"})},
    )
    loop.fetcher.allow_private(secure_server.url())
    results = [loop.fetch(secure_server.url("echo")) for _ in range(2)]  # the second through the same tunnel
    loop.close()
    for fetched in results:
        assert (
            fetched.outcome is Outcome.FETCHED
        )  # judged by the server's type; the proxy's own response says image/png
        assert json.loads(fetched.body)["x-key"] == "k-1"
    assert server.paths() == [f"CONNECT 127.0.0.1:{secure_server.port}"]
    assert "x-key" not in server.requests[0].headers


def test_a_proxy_that_refuses_a_tunnel_is_a_connection_failure(server: HostileServer, certificate: Path) -> None:
    loop = proxied_loop(server, ca_file=str(certificate))
    loop.fetcher.allow_private("https://127.0.0.1:9/")
    fetched = loop.fetch("https://127.0.0.1:9/page")
    loop.close()
    assert (fetched.outcome, fetched.status) == (Outcome.CONNECT, 0)
    assert fetched.reason == "CONNECT tunnel failed, response 502"


# -- resources after use ---------------------------------------------------------------------------------------------


def open_descriptors() -> set[str]:
    return {path.name for path in Path("/proc/self/fd").iterdir()}


def test_closing_leaves_no_descriptor_open(server: HostileServer) -> None:
    loop = FetchLoop()  # opens what the process keeps (a resolver's socket, the certificates) before the count
    loop.fetcher.allow_private(server.url())
    loop.fetch("http://nothing.invalid/")
    loop.close()
    before = open_descriptors()
    loop = FetchLoop()
    loop.fetcher.allow_private(server.url())
    loop.fetch_all(*(Request(id=number, url=server.url(f"slow/{number}"), role=Role.PAGE) for number in range(20)))
    for path in ("stall", "endless", "stall-in-header", "stall-in-body"):
        loop.fetcher.start(Request(id=1, url=server.url(path), role=Role.PAGE))
    loop.run_once()
    loop.close()
    until(lambda: open_descriptors() <= before, "the server, in this process, to close its connections too")


def test_a_cancelled_request_returns_no_result(loop: FetchLoop, server: HostileServer) -> None:
    for path in ("stall", "steady", "slow", "page"):
        loop.fetcher.start(Request(id=1, url=server.url(path), role=Role.PAGE))
    for _ in range(10):
        loop.run_once()
    loop.fetcher.cancel_all()
    loop.fetcher.take_results()
    assert loop.fetcher.active_count == 0
    assert not loop.selector.get_map()
    fetched = loop.fetch_all(Request(id=2, url=server.url("page"), role=Role.PAGE))
    assert [(result.request.id, result.outcome) for result in fetched] == [(2, Outcome.FETCHED)]


def test_child_processes_inherit_no_connection(loop: FetchLoop, server: HostileServer) -> None:
    loop.fetcher.start(Request(id=1, url=server.url("stall"), role=Role.PAGE))
    while not loop.selector.get_map():
        loop.run_once()
    child = subprocess.run(
        ["ls", "-l", "/proc/self/fd"], close_fds=False, check=True, capture_output=True, text=True, timeout=30
    )
    loop.fetcher.cancel_all()
    assert "pipe:" in child.stdout
    assert not re.search("socket:|eventfd|eventpoll", child.stdout)


def test_a_stale_descriptor_in_the_selector_does_no_harm(loop: FetchLoop, server: HostileServer) -> None:
    stale = [socket.socket() for _ in range(8)]
    for each in stale:
        loop.selector.register(each, selectors.EVENT_READ, None)
    for each in stale:
        os.close(each.detach())
    assert loop.fetch(server.url("page")).outcome is Outcome.FETCHED
    for descriptor in list(loop.selector.get_map()):
        loop.selector.unregister(descriptor)
