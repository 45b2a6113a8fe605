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

SCHEMA = "gossamer"  # of a web in a database whose URL names none
PASSWORD = "password"  # noqa: S105 - the name of a parameter
DIGEST_BYTES = 4  # tell apart webs whose names look alike as the name of a directory
UNREADABLE = (
    "The URL of the web cannot be taken apart, and is not repeated here, for it may hold a password: in names and"
    " passwords, write `@`, `/`, `?` and `#` as %40, %2F, %3F and %23."
)
# An @ or # further on could be one in a password with a slash, which then would be taken for an address and shown.
_URL = re.compile(
    r"(?P<scheme>[a-z][a-z0-9+.-]*)://(?:(?P<user>[^/?#]*)@)?(?P<address>[^/?#@]*)(?P<path>(?:/[^?#@]*)?)"
    r"(?:\?(?P<query>[^#@]*))?",
    re.IGNORECASE,
)
_ADDRESS = re.compile(r"(.*?)(?::(\d*))?")


class Url(NamedTuple):
    """The URL of a shared web, in parts; all but `password` and `parameters` as they were written."""

    scheme: str
    user: str | None
    password: str | None
    address: str
    path: str
    parameters: list[tuple[str, str]]  # without passwords

    @property
    def shown(self) -> str:
        """The URL without a password."""
        user = "" if self.user is None else f"{self.user}@"
        return with_parameters(f"{self.scheme}://{user}{self.address}{self.path}", self.parameters)


def is_shared(place: str) -> bool:
    """Whether a place is in a database that several machines may use."""
    return "://" in place


def named(place: str) -> str:
    """A place as it is told to people."""
    return place if is_shared(place) else f"{place.rstrip('/')}/"


def taken_apart(place: str) -> Url | None:
    """The parts of a shared web's URL; None when it is not certain which of it is the password."""
    found = _URL.fullmatch(place)
    if found is None or not place.isprintable() or "%00" in place:
        return None
    user, _, secret = (found["user"] or "").partition(":")
    asked = parse_qsl((found["query"] or "").replace("+", "%2B"), keep_blank_values=True)  # + is no space to libpq
    password = dict(asked).get(PASSWORD, unquote(secret)) or None
    rest = [(key, value) for key, value in asked if PASSWORD not in key]
    name = None if found["user"] is None else user
    return Url(found["scheme"].lower(), name, password, found["address"], found["path"], rest)


def with_parameters(url: str, parameters: Sequence[tuple[str, str]]) -> str:
    """A URL with parameters after it."""
    return f"{url}?{urlencode(parameters, quote_via=quote, safe='/')}" if parameters else url


def local_directory(place: str, environ: Mapping[str, str] = os.environ) -> Path:
    """Where this machine keeps what belongs to a web: the web's own directory, or one for each shared web.

    Those are in GOSSAMER_LOCAL, or in gossamer/ in the user's cache.
    """
    if not is_shared(place):
        return Path(place)
    cache = environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    base = Path(environ.get("GOSSAMER_LOCAL") or Path(cache, "gossamer"))
    names = _identity(place, environ)
    digest = hashlib.blake2b("\0".join(names).encode(), digest_size=DIGEST_BYTES).hexdigest()
    return base / "+".join([*(re.sub(r"[^\w.-]+", "_", name).strip("_") for name in names[:3]), digest])


def _identity(place: str, environ: Mapping[str, str]) -> tuple[str, ...]:
    """What tells a shared web from others: server, database, schema, and what else libpq finds them by.

    Who asks counts only where the database is called after them.
    """
    url = taken_apart(place)
    if url is None:
        return ()  # nobody opens it
    asked = dict(url.parameters)
    address = _ADDRESS.fullmatch(url.address)
    assert address is not None, "it matches everything"

    def first(name: str, written: str | None, *variables: str) -> str:
        return asked.get(name) or written or next(filter(None, map(environ.get, variables)), "")

    host, port = first("host", address[1], "PGHOST"), first("port", address[2], "PGPORT")
    user = first("user", url.user, "PGUSER")
    database = first("dbname", url.path.strip("/"), "PGDATABASE") or user
    other = (first("hostaddr", None, "PGHOSTADDR"), first("service", None, "PGSERVICE"))
    return (f"{host}:{port}", database, asked.get("schema", SCHEMA), *other)
