"""Credentials: which hosts receive them, and over which scheme."""

from base64 import b64encode

import pytest

from gossamer.config import HostSettings
from gossamer.errors import SettingsError
from gossamer.fetch.credentials import host_headers

BASIC = "Basic " + b64encode("ada:p:wörd".encode()).decode()


def test_secrets_go_to_the_exact_host_over_https_only() -> None:
    host = HostSettings(username="ada", password_env="PASSWORD")
    assert host_headers({"example.org": host}, {"PASSWORD": "p:wörd"}) == {
        "https://example.org": {"Authorization": BASIC}
    }


def test_plain_headers_also_go_over_http() -> None:
    host = HostSettings(headers={"X-Team": "crawl"}, headers_env={"X-Key": "KEY"})
    assert host_headers({"example.org:8443": host}, {"KEY": "k"}) == {
        "https://example.org:8443": {"X-Team": "crawl", "X-Key": "k"},
        "http://example.org:8443": {"X-Team": "crawl"},
    }


def test_secrets_go_over_http_if_the_user_writes_that_scheme() -> None:
    sent = host_headers({"http://Example.org": HostSettings(headers_env={"X-Key": "KEY"})}, {"KEY": "k"})
    assert sent == {"https://example.org": {"X-Key": "k"}, "http://example.org": {"X-Key": "k"}}


@pytest.mark.parametrize("host", ["localhost:8080", "127.0.0.1:8080", "[::1]:8080"])
def test_secrets_go_over_http_to_loopback(host: str) -> None:
    sent = host_headers({host: HostSettings(headers_env={"X-Key": "KEY"})}, {"KEY": "k"})
    assert sent[f"http://{host}"] == sent[f"https://{host}"] == {"X-Key": "k"}


@pytest.mark.parametrize("host", ["localhost.example.org", "127.0.0.1.example.org", "192.168.0.1"])
def test_hosts_resembling_loopback_get_no_secrets_over_http(host: str) -> None:
    assert f"http://{host}" not in host_headers({host: HostSettings(headers_env={"X-Key": "KEY"})}, {"KEY": "k"})


def test_cookies_go_in_one_header() -> None:
    host = HostSettings(cookies_env={"session": "A", "consent": "B"})
    sent = host_headers({"example.org": host}, {"A": "1", "B": "yes"})
    assert sent["https://example.org"] == {"Cookie": "session=1; consent=yes"}


def test_a_host_without_headers_has_no_entry() -> None:
    assert host_headers({"example.org": HostSettings(delay=1.0)}, {}) == {}


@pytest.mark.parametrize(
    "host",
    [
        HostSettings(username="ada", password_env="MISSING"),
        HostSettings(headers_env={"X-Key": "MISSING"}),
        HostSettings(cookies_env={"session": "MISSING"}),
    ],
)
def test_a_missing_variable_is_named(host: HostSettings) -> None:
    with pytest.raises(SettingsError, match=r'hosts\."example\.org".*environment variable MISSING is not set'):
        host_headers({"example.org": host}, {})


@pytest.mark.parametrize("value", ["a\r\nX-Evil: 1", "a\nb", "a\rb", "a\0b", "\x1b[2J"])
@pytest.mark.parametrize(
    "host",
    [
        HostSettings(username="ada", password_env="SECRET"),
        HostSettings(headers_env={"X-Key": "SECRET"}),
        HostSettings(cookies_env={"session": "SECRET"}),
    ],
)
def test_a_secret_with_control_characters_is_refused_and_not_shown(host: HostSettings, value: str) -> None:
    with pytest.raises(SettingsError) as caught:
        host_headers({"example.org": host}, {"SECRET": value})
    assert value not in str(caught.value)


@pytest.mark.parametrize("value", ["a\r\nX-Evil: 1", "a\0b"])
def test_a_plain_header_with_control_characters_is_refused(value: str) -> None:
    with pytest.raises(SettingsError, match="control character"):
        host_headers({"example.org": HostSettings(headers={"X-Team": value})}, {})


@pytest.mark.parametrize("value", ["a; other=1", "a,b", 'a"b', "a b", "a\\b"])
def test_a_cookie_value_with_separators_is_refused(value: str) -> None:
    with pytest.raises(SettingsError, match="not allowed in a cookie"):
        host_headers({"example.org": HostSettings(cookies_env={"session": "COOKIE"})}, {"COOKIE": value})


@pytest.mark.parametrize("name", ["", "X Y", "X:Y", "X\r\nY", "Ü"])
def test_an_invalid_header_or_cookie_name_is_refused(name: str) -> None:
    with pytest.raises(SettingsError, match="is not the name of a header"):
        host_headers({"example.org": HostSettings(headers={name: "v"})}, {})
    with pytest.raises(SettingsError, match="is not the name of a cookie"):
        host_headers({"example.org": HostSettings(cookies_env={name: "V"})}, {"V": "v"})


@pytest.mark.parametrize("host", [HostSettings(username="a:b"), HostSettings(password_env="P")])
def test_a_missing_or_invalid_user_name_is_refused(host: HostSettings) -> None:
    with pytest.raises(SettingsError, match="must be a name without a colon"):
        host_headers({"example.org": host}, {"P": "p"})


@pytest.mark.parametrize("host", ["", "exa mple", "user@example.org", "example.org/path", "ftp://example.org", "a?b"])
def test_an_invalid_host_is_refused(host: str) -> None:
    with pytest.raises(SettingsError, match="is not a host such as"):
        host_headers({host: HostSettings(headers={"X-Team": "crawl"})}, {})
