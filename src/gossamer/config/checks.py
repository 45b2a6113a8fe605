"""Checks of values beyond their type: invalid patterns, invalid address ranges, secrets in the wrong place.

Each check returns the problem as a sentence without its full stop, or "" if there is none.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

SECRET_HEADERS = {
    "authorization": "headers_env",
    "proxy-authorization": "headers_env",
    "cookie": "cookies_env (or headers_env)",
}
PROXY_SCHEMES = ("http", "https", "socks5", "socks5h")
HTTP_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110 §5.6.2
ORIGIN = re.compile(r"https?://[a-z0-9.-]+(:[0-9]+)?|https?://\[[0-9a-f:]+\](:[0-9]+)?")  # as browsers send it
CONTROL_CHARACTER = re.compile(r"[\x00-\x1f\x7f]")


def find_problem(key: str, value: object, *, in_file: bool) -> str:
    """Return what is wrong with the value of a setting, or "". `in_file`: the value stands in the settings file."""
    for text in _iterate_texts(value):
        if CONTROL_CHARACTER.search(text):  # it would reach a request header, a command or a terminal
            return f"{text!r} contains a control character"
    check = CHECKS.get(key)
    message = check(value) if check and value else ""
    if key == "fetch.proxy" and in_file and not message and urlsplit(str(value)).password is not None:
        return "a password does not belong in a file: set the variable GOSSAMER_FETCH_PROXY instead"
    return message


def mask_credentials(text: str) -> str:
    """Return a text with the user names and passwords of its URLs masked."""
    return re.sub(r"//[^/?#]*@", "//***@", text)


def _iterate_texts(value: object) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for pair in value.items():
            yield from pair
    elif isinstance(value, tuple):
        yield from value


def _check_patterns(patterns: Iterable[str]) -> str:
    for pattern in patterns:
        try:
            re.compile(pattern)
        except re.error as error:
            return f'"{pattern}" is not a regular expression: {error}'
    return ""


def _check_networks(ranges: Iterable[str]) -> str:
    import ipaddress  # noqa: PLC0415 - takes 4 ms, and few commands need it

    for text in ranges:
        try:
            ipaddress.ip_network(text, strict=False)
        except ValueError:
            return f'"{text}" is not an address range such as 10.0.0.0/8 or fd00::/8'
    return ""


def _check_domains(domains: Iterable[str]) -> str:
    wrong = next((text for text in domains if not text or re.search(r"[/:@*\s]", text)), None)
    return f'"{wrong}" is not a domain such as example.org' if wrong is not None else ""


def _check_media_types(types: Iterable[str]) -> str:
    wrong = next((text for text in types if not re.fullmatch(r"[\w.+-]+/[\w.+-]+", text)), None)
    return f'"{wrong}" is not a media type such as text/html' if wrong is not None else ""


def _check_product(name: str) -> str:
    # RFC 9309 §2.2.1 allows letters, hyphen and underscore; real product names have digits too.
    return "" if re.fullmatch(r"[A-Za-z0-9_-]+", name) else f'"{name}" is not a product name such as Gossamer'


def _check_proxy(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in PROXY_SCHEMES or not parts.hostname:
        schemes = ", ".join(PROXY_SCHEMES)
        return f'"{mask_credentials(url)}" is not a proxy such as http://proxy.example:3128; schemes: {schemes}'
    return ""


def _check_url_template(url: str) -> str:
    if urlsplit(url).scheme not in {"http", "https"} or "{query}" not in url:
        return f'"{mask_credentials(url)}" is not a URL template such as https://search.example/?q={{query}}'
    return ""


def _check_index_url(urls: str) -> str:
    if "@" in urls:
        return "a user name and a password do not belong here: set GOSSAMER_INDEX_USER and GOSSAMER_INDEX_PASSWORD"
    wrong = next((url for url in urls.split(",") if urlsplit(url).scheme not in {"http", "https"}), None)
    return f'"{wrong}" is not a URL such as https://search.example:9200/name' if wrong is not None else ""


def _check_origins(origins: Iterable[str]) -> str:
    wrong = next((text for text in origins if not ORIGIN.fullmatch(text)), None)
    return (
        f'"{wrong}" is not an origin such as https://docs.example or http://localhost:4000' if wrong is not None else ""
    )


def _check_ca_file(path: str) -> str:
    return "" if Path(path).is_file() else f'there is no file "{path}"'


def _check_program(path: str) -> str:
    return "" if shutil.which(path) else f'there is no program "{path}"'


def _check_methods(methods: Iterable[str]) -> str:
    wrong = next((name for name in methods if not re.fullmatch(r"[A-Z]{3,20}", name)), None)
    return f'"{wrong}" is not an HTTP method such as POST' if wrong is not None else ""


def _check_headers(headers: Mapping[str, str]) -> str:
    for name in headers:
        if name.lower() in SECRET_HEADERS:
            proper_setting = SECRET_HEADERS[name.lower()]
            return f"{name} is a secret: use {proper_setting}, which names the environment variable that holds it"
    return _check_names(headers)


def _check_names(table: Mapping[str, str]) -> str:
    wrong = next((name for name in table if not HTTP_TOKEN.fullmatch(name)), None)
    return f'"{wrong}" is not a name of a header or a cookie' if wrong is not None else ""


def _check_variables(table: Mapping[str, str]) -> str:
    return _check_names(table) or next(filter(None, map(_check_variable, table.values())), "")


def _check_variable(name: str) -> str:
    """Check the name of an environment variable. The message never repeats the value, which may be a secret."""
    return "" if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) else "this is not the name of an environment variable"


CHECKS: dict[str, Callable[[Any], str]] = {
    "crawl.include": _check_patterns,
    "crawl.exclude": _check_patterns,
    "crawl.domains": _check_domains,
    "crawl.accept": _check_media_types,
    "fetch.allow_private": _check_networks,
    "fetch.product": _check_product,
    "fetch.proxy": _check_proxy,
    "fetch.ca_file": _check_ca_file,
    "index.ca_file": _check_ca_file,
    "index.url": _check_index_url,
    "render.browser": _check_program,
    "search_service.url": _check_url_template,
    "serve.origins": _check_origins,
    "hosts.headers": _check_headers,
    "hosts.headers_env": _check_variables,
    "hosts.cookies_env": _check_variables,
    "hosts.password_env": _check_variable,
    "hosts.render_methods": _check_methods,
}
