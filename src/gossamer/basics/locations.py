"""Locations of webs, as people write them: a directory, or the URL of a database that machines share.

Each machine keeps the index, link graph and logs of a shared web in a local directory.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import parse_qsl, quote, unquote, urlencode

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

DEFAULT_LOCATION = "web"  # without --store and GOSSAMER_STORE
DEFAULT_SCHEMA = "gossamer"  # of the database, when the URL names none
PASSWORD_PARAMETER = "password"  # noqa: S105 - the name of a parameter
DIGEST_BYTES = 4  # distinguish webs whose names give the same directory name
UNREADABLE_URL = (
    "The URL of the web cannot be parsed; it is not shown here, because it may hold a password. In names and"
    " passwords, write `@`, `/`, `?` and `#` as %40, %2F, %3F and %23."
)
# No @ or # behind the address: it could belong to a password with a slash, part of which would be shown as the address.
_URL_PATTERN = re.compile(
    r"(?P<scheme>[a-z][a-z0-9+.-]*)://(?:(?P<user>[^/?#]*)@)?(?P<address>[^/?#@]*)(?P<path>(?:/[^?#@]*)?)"
    r"(?:\?(?P<query>[^#@]*))?",
    re.IGNORECASE,
)
_ADDRESS_PATTERN = re.compile(r"(.*?)(?::(\d*))?")


class DatabaseUrl(NamedTuple):
    """The parts of the URL of a shared web, as written, except that `password` and `parameters` are decoded."""

    scheme: str
    user: str | None
    password: str | None
    address: str
    path: str
    parameters: list[tuple[str, str]]  # without passwords

    @property
    def without_password(self) -> str:
        """The URL without its password."""
        user = "" if self.user is None else f"{self.user}@"
        return with_parameters(f"{self.scheme}://{user}{self.address}{self.path}", self.parameters)


def is_shared(location: str) -> bool:
    """Return whether a location is in a database that several machines may use."""
    return "://" in location


def display_location(location: str) -> str:
    """Return a location as shown to people."""
    return location if is_shared(location) else f"{location.rstrip('/')}/"


def store_flag(location: str) -> str:
    """Return ` --store WEB` as a command in a message needs it, without a password; "" for the default web."""
    if location == DEFAULT_LOCATION:
        return ""
    url = parse_location(location) if is_shared(location) else None
    return f" --store {shlex.quote(url.without_password if url else location)}"


def parse_location(location: str) -> DatabaseUrl | None:
    """Return the parts of a shared web's URL; None when it is uncertain which part is the password."""
    match = _URL_PATTERN.fullmatch(location)
    if match is None or not location.isprintable() or "%00" in location:
        return None
    user, _, secret = (match["user"] or "").partition(":")
    query = (match["query"] or "").replace("+", "%2B")  # libpq does not read + as a space
    parameters = parse_qsl(query, keep_blank_values=True)
    password = dict(parameters).get(PASSWORD_PARAMETER, unquote(secret)) or None
    harmless = [(key, value) for key, value in parameters if PASSWORD_PARAMETER not in key]
    name = None if match["user"] is None else user
    return DatabaseUrl(match["scheme"].lower(), name, password, match["address"], match["path"], harmless)


def with_parameters(url: str, parameters: Sequence[tuple[str, str]]) -> str:
    """Return a URL with query parameters."""
    return f"{url}?{urlencode(parameters, quote_via=quote, safe='/')}" if parameters else url


def local_directory(location: str, environ: Mapping[str, str] = os.environ) -> Path:
    """Return the directory for the local files of a web: the web itself, or one directory per shared web.

    The directories of shared webs are in GOSSAMER_LOCAL, or in gossamer/ in the user's cache.
    """
    if not is_shared(location):
        return Path(location)
    cache = environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    base = Path(environ.get("GOSSAMER_LOCAL") or Path(cache, "gossamer"))
    names = _identity(location, environ)
    digest = hashlib.blake2b("\0".join(names).encode(), digest_size=DIGEST_BYTES).hexdigest()
    return base / "+".join([*(re.sub(r"[^\w.-]+", "_", name).strip("_") for name in names[:3]), digest])


def _identity(location: str, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return what identifies a shared web: server, database, schema, and what else libpq uses to find them.

    The user counts only as the default name of the database.
    """
    url = parse_location(location)
    if url is None:
        return ()  # such a web cannot be opened
    parameters = dict(url.parameters)
    address = _ADDRESS_PATTERN.fullmatch(url.address)
    assert address is not None, "the pattern matches everything"

    def first_given(name: str, written: str | None, *variables: str) -> str:
        return parameters.get(name) or written or next(filter(None, map(environ.get, variables)), "")

    host, port = first_given("host", address[1], "PGHOST"), first_given("port", address[2], "PGPORT")
    user = first_given("user", url.user, "PGUSER")
    database = first_given("dbname", url.path.strip("/"), "PGDATABASE") or user
    other = (first_given("hostaddr", None, "PGHOSTADDR"), first_given("service", None, "PGSERVICE"))
    return (f"{host}:{port}", database, parameters.get("schema", DEFAULT_SCHEMA), *other)
