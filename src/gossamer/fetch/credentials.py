"""Headers that only one host gets: basic authentication, extra headers, cookies.

The fetcher sends them to that exact host and port. It sends secrets (`username`, `headers_env`, `cookies_env`) over
https only, because anybody on the way can read plain http. Two exceptions: loopback, and a host that the user wrote as
`http://example.org`. The fetcher looks the headers up for every request, redirects included, so that none reaches
another origin.

Secrets come from environment variables that the settings name. A missing one is an error at the start, not a 401 later.
"""

from __future__ import annotations

import re
from base64 import b64encode
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from gossamer.errors import SettingsError
from gossamer.urls.canonical import canonicalize, is_loopback, origin

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gossamer.config import HostSettings

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110 §5.6.2
_HEADER_VALUE = re.compile(r"[^\x00-\x08\x0a-\x1f\x7f]*")  # RFC 9110 §5.5: no CR, LF, NUL or other control character
_COOKIE_VALUE = re.compile(r"[^\x00-\x20\x7f\",;\\]*")  # RFC 6265 §4.1.1, plus characters beyond ASCII


def host_headers(hosts: Mapping[str, HostSettings], environment: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Return the extra headers by origin ("https://example.org")."""
    headers_by_origin: dict[str, dict[str, str]] = {}
    for host, settings in hosts.items():
        where = f'hosts."{host}"'
        plain = dict(_check_header(f"{where}.headers", name, value) for name, value in settings.headers.items())
        secret = dict(_secret_headers(where, settings, environment))
        https, http, trusts_http = _origins(host)
        headers_by_origin[https] = plain | secret
        headers_by_origin[http] = plain | secret if trusts_http else plain
    return {origin: headers for origin, headers in headers_by_origin.items() if headers}


def _origins(host: str) -> tuple[str, str, bool]:
    """Return the https and http origins of a host, and whether secrets may go to the latter."""
    scheme, _, authority = host.rpartition("://")
    https, http = canonicalize(f"https://{authority}/"), canonicalize(f"http://{authority}/")
    parts = urlsplit(https or "")
    if (
        https is None
        or http is None
        or scheme not in {"", "http", "https"}
        or parts.path != "/"
        or re.search(r"[@?#]", host)
    ):
        raise SettingsError(f'hosts: "{host}" is not a host such as example.org, localhost:8080 or http://example.org.')
    return origin(https), origin(http), scheme == "http" or is_loopback(parts.hostname or "")


def _secret_headers(where: str, settings: HostSettings, environment: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for name, variable in settings.headers_env.items():
        yield _check_header(f"{where}.headers_env", name, _read_secret(f"{where}.headers_env", variable, environment))
    if settings.cookies_env:
        yield "Cookie", "; ".join(_cookie_pairs(f"{where}.cookies_env", settings.cookies_env, environment))
    if settings.username or settings.password_env:
        yield "Authorization", _basic_authorization(where, settings, environment)


def _check_header(where: str, name: str, value: str) -> tuple[str, str]:
    if not _TOKEN.fullmatch(name):
        raise SettingsError(f'{where}: "{name}" is not the name of a header.')
    if not _HEADER_VALUE.fullmatch(value):
        raise SettingsError(f"{where}: the value of {name} holds a control character, such as a line break.")
    return name, value


def _cookie_pairs(where: str, cookies: Mapping[str, str], environment: Mapping[str, str]) -> Iterator[str]:
    for name, variable in cookies.items():
        value = _read_secret(where, variable, environment)
        if not _TOKEN.fullmatch(name):
            raise SettingsError(f'{where}: "{name}" is not the name of a cookie.')
        if not _COOKIE_VALUE.fullmatch(value):
            raise SettingsError(f"{where}: the value of {name} holds a character that is not allowed in a cookie.")
        yield f"{name}={value}"


def _basic_authorization(where: str, settings: HostSettings, environment: Mapping[str, str]) -> str:
    """Return the header value by RFC 7617: no colon in the name, no control character in either, encoded as UTF-8."""
    if not settings.username or ":" in settings.username:
        raise SettingsError(f'{where}.username: "{settings.username}" must be a name without a colon.')
    password = (
        _read_secret(f"{where}.password_env", settings.password_env, environment) if settings.password_env else ""
    )
    _check_header(f"{where}.username", "Authorization", settings.username)
    _check_header(f"{where}.password_env", "Authorization", password)
    return "Basic " + b64encode(f"{settings.username}:{password}".encode()).decode("ascii")


def _read_secret(where: str, variable: str, environment: Mapping[str, str]) -> str:
    if variable not in environment:
        raise SettingsError(f"{where}: the environment variable {variable} is not set.")
    return environment[variable]
