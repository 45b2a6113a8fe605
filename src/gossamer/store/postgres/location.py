"""Parsing the URL of a web in PostgreSQL."""

from __future__ import annotations

from typing import NamedTuple

import psycopg
from psycopg.conninfo import make_conninfo

from gossamer.basics.locations import DEFAULT_SCHEMA, UNREADABLE_URL, parse_location
from gossamer.errors import UsageError

SCHEMES = frozenset({"postgresql", "postgres"})
MAX_SCHEMA_BYTES = 63  # PostgreSQL truncates longer names (NAMEDATALEN - 1)


class PostgresLocation(NamedTuple):
    """A database and the schema in it that holds the web."""

    connection: str  # connection string for libpq; may contain a password
    schema: str
    display_name: str  # the URL without a password, for people and logs


def parse_postgres_location(url: str) -> PostgresLocation:
    """Parse `postgresql://user@host:port/database?schema=NAME`."""
    parts = parse_location(url)
    if parts is None:
        raise UsageError(UNREADABLE_URL)
    schema = dict(parts.parameters).get("schema", DEFAULT_SCHEMA)
    if parts.scheme not in SCHEMES:
        raise UsageError(f"Gossamer has no {parts.scheme} store: give a directory or a postgresql:// URL.")
    if not schema or len(schema.encode()) > MAX_SCHEMA_BYTES or "\0" in schema or schema.startswith("pg_"):
        raise UsageError(
            f"{parts.without_password}: `schema` must be a name of 1 to {MAX_SCHEMA_BYTES} bytes"
            " that does not begin with pg_."
        )
    rest = [(name, value) for name, value in parts.parameters if name != "schema"]
    # The password is passed apart from the URL: libpq parses URLs differently and quotes bad ones in its errors.
    try:
        connection = make_conninfo(parts._replace(parameters=rest).without_password, password=parts.password)
    except psycopg.ProgrammingError as error:
        details = "" if parts.password else f" ({str(error).strip()})"
        raise UsageError(f"{parts.without_password} is not the URL of a PostgreSQL database{details}.") from None
    return PostgresLocation(connection, schema, parts.without_password)
