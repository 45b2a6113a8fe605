"""Places of webs, as people name them: a directory, or the URL of a database that machines share.

What is derived from a shared web (index, link graph) and what is told of the work on it (logs) stands on each machine
in a directory of its own.
"""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import parse_qsl, quote, unquote, urlencode

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

DEFAULT_SCHEMA = "gossamer"  # of a web in a database whose URL names none
PASSWORD_PARAMETER = "password"  # noqa: S105 - the name of a parameter
DIGEST_BYTES = 4  # tell apart webs whose names look alike as the name of a directory
UNREADABLE_URL = (
    "The URL of the web cannot be taken apart, and is not repeated here, for it may hold a password: in names and"
    " passwords, write `@`, `/`, `?` and `#` as %40, %2F, %3F and %23."
)
# An @ or # further on could be one in a password with a slash, which then would be taken for an address and shown.
_URL_PATTERN = re.compile(
    r"(?P<scheme>[a-z][a-z0-9+.-]*)://(?:(?P<user>[^/?#]*)@)?(?P<address>[^/?#@]*)(?P<path>(?:/[^?#@]*)?)"
    r"(?:\?(?P<query>[^#@]*))?",
    re.IGNORECASE,
)
_ADDRESS_PATTERN = re.compile(r"(.*?)(?::(\d*))?")


class DatabaseUrl(NamedTuple):
    """The URL of a shared web, in parts; all but `password` and `parameters` as they were written."""

    scheme: str
    user: str | None
    password: str | None
    address: str
    path: str
    parameters: list[tuple[str, str]]  # without passwords

    @property
    def without_password(self) -> str:
        """The URL without a password."""
        user = "" if self.user is None else f"{self.user}@"
        return with_parameters(f"{self.scheme}://{user}{self.address}{self.path}", self.parameters)


def is_shared(location: str) -> bool:
    """Whether a place is in a database that several machines may use."""
    return "://" in location


def display_location(location: str) -> str:
    """A place as it is told to people."""
    return location if is_shared(location) else f"{location.rstrip('/')}/"


def parse_location(location: str) -> DatabaseUrl | None:
    """The parts of a shared web's URL; None when it is not certain which of it is the password."""
    match = _URL_PATTERN.fullmatch(location)
    if match is None or not location.isprintable() or "%00" in location:
        return None
    user, _, secret = (match["user"] or "").partition(":")
    parameters = parse_qsl((match["query"] or "").replace("+", "%2B"), keep_blank_values=True)  # + is no space to libpq
    password = dict(parameters).get(PASSWORD_PARAMETER, unquote(secret)) or None
    harmless = [(key, value) for key, value in parameters if PASSWORD_PARAMETER not in key]
    name = None if match["user"] is None else user
    return DatabaseUrl(match["scheme"].lower(), name, password, match["address"], match["path"], harmless)


def with_parameters(url: str, parameters: Sequence[tuple[str, str]]) -> str:
    """A URL with parameters after it."""
    return f"{url}?{urlencode(parameters, quote_via=quote, safe='/')}" if parameters else url


def local_directory(location: str, environ: Mapping[str, str] = os.environ) -> Path:
    """Where this machine keeps what belongs to a web: the web's own directory, or one for each shared web.

    Those are in GOSSAMER_LOCAL, or in gossamer/ in the user's cache.
    """
    if not is_shared(location):
        return Path(location)
    cache = environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    base = Path(environ.get("GOSSAMER_LOCAL") or Path(cache, "gossamer"))
    names = _identity(location, environ)
    digest = hashlib.blake2b("\0".join(names).encode(), digest_size=DIGEST_BYTES).hexdigest()
    return base / "+".join([*(re.sub(r"[^\w.-]+", "_", name).strip("_") for name in names[:3]), digest])


def _identity(location: str, environ: Mapping[str, str]) -> tuple[str, ...]:
    """What tells a shared web from others: server, database, schema, and what else libpq finds them by.

    Who asks counts only where the database is called after them.
    """
    url = parse_location(location)
    if url is None:
        return ()  # nobody opens it
    parameters = dict(url.parameters)
    address = _ADDRESS_PATTERN.fullmatch(url.address)
    assert address is not None, "it matches everything"

    def first_given(name: str, written: str | None, *variables: str) -> str:
        return parameters.get(name) or written or next(filter(None, map(environ.get, variables)), "")

    host, port = first_given("host", address[1], "PGHOST"), first_given("port", address[2], "PGPORT")
    user = first_given("user", url.user, "PGUSER")
    database = first_given("dbname", url.path.strip("/"), "PGDATABASE") or user
    other = (first_given("hostaddr", None, "PGHOSTADDR"), first_given("service", None, "PGSERVICE"))
    return (f"{host}:{port}", database, parameters.get("schema", DEFAULT_SCHEMA), *other)
