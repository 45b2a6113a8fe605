"""Locations of webs: display without passwords, and local directories."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import pytest
from psycopg.conninfo import conninfo_to_dict

from gossamer.basics.locations import UNREADABLE_URL, is_shared, local_directory, parse_location
from gossamer.cli.main import run
from gossamer.errors import UsageError
from gossamer.store.postgres.location import parse_postgres_location

UNREADABLE_LOCATIONS = (
    "postgresql://ann:s3/s3cret@h/db",
    "postgresql://ann:s3#s3cret@h/db",
    "postgresql://ann:s3?s3cret@h/db",
    "postgresql://ann:s3%00s3cret@h/db",
)


@pytest.mark.parametrize(
    ("location", "displayed", "password"),
    [
        ("postgresql://ann@db/webs", "postgresql://ann@db/webs", None),
        ("postgresql://ann:s3cr%40t@db:5433/webs", "postgresql://ann@db:5433/webs", "s3cr@t"),
        ("postgresql://ann:p@ss@db/webs", "postgresql://ann@db/webs", "p@ss"),
        ("postgresql://ann:[x@db/webs", "postgresql://ann@db/webs", "[x"),
        ("postgresql://ann:se%zzcret@db/webs", "postgresql://ann@db/webs", "se%zzcret"),
        ("postgresql://ann@[::1]:5433/webs?password=a+b", "postgresql://ann@[::1]:5433/webs", "a+b"),
        ("postgresql://ann:@db/webs", "postgresql://ann@db/webs", None),
        ("postgresql:///webs?host=/run/pg&password=s3cret", "postgresql:///webs?host=/run/pg", "s3cret"),
        ("postgresql://db/webs?schema=a&sslpassword=x", "postgresql://db/webs?schema=a", None),
    ],
)
def test_a_location_is_shown_without_its_password(location: str, displayed: str, password: str | None) -> None:
    parsed = parse_location(location)
    assert parsed is not None
    assert (parsed.without_password, parsed.password) == (displayed, password)


def test_a_directory_location_holds_everything_of_its_web() -> None:
    assert not is_shared("some/web")
    assert local_directory("some/web", {}) == Path("some/web")


def test_every_shared_web_has_its_own_local_directory() -> None:
    environ = {"XDG_CACHE_HOME": "/cache"}
    locations = [
        "postgresql://ann:one@db/webs",
        "postgresql://db/webs?schema=other",
        "postgresql://db:5433/webs",
        "postgresql://db/others",
        "postgresql:///webs?host=/run/pg",
    ]
    directories = [local_directory(location, environ) for location in locations]
    assert len(set(directories)) == len(locations)
    assert directories[0].parent == Path("/cache/gossamer")
    assert directories[0].name.startswith("db+webs+gossamer+")
    assert local_directory("postgresql://bob:two@db/webs", environ) == directories[0], (
        "users share the directory of a web"
    )


def test_the_directory_of_shared_webs_can_be_chosen() -> None:
    assert local_directory("postgresql://db/webs", {"GOSSAMER_LOCAL": "/data"}).parent == Path("/data")


def test_webs_with_similar_names_have_separate_directories() -> None:
    locations = [
        "postgresql://db/webs?schema=a_b",
        "postgresql://db/webs?schema=a%20b",
        "postgresql://db/webs?schema=a/b",
    ]
    assert len({local_directory(location, {}) for location in locations}) == len(locations)


@pytest.mark.parametrize(
    ("location", "variable", "counts"),
    [
        ("postgresql:///webs", "PGHOST", True),
        ("postgresql://db/webs", "PGHOST", False),
        ("postgresql://db/webs", "PGPORT", True),
        ("postgresql://db:5433/webs", "PGPORT", False),
        ("postgresql:///webs?host=/run/pg", "PGHOST", False),
        ("postgresql://db", "PGDATABASE", True),
        ("postgresql://db/webs", "PGDATABASE", False),
        ("postgresql://db", "PGUSER", True),
        ("postgresql://db/webs", "PGUSER", False),
        ("postgresql:///webs", "PGSERVICE", True),
    ],
)
def test_libpq_variables_count_where_the_url_says_nothing(location: str, variable: str, counts: bool) -> None:
    one, other = (local_directory(location, {"GOSSAMER_LOCAL": "/d", variable: value}) for value in ("1", "2"))
    assert (one != other) == counts


def test_no_name_escapes_the_local_directory() -> None:
    assert local_directory("postgresql://../../x?schema=../../etc", {"GOSSAMER_LOCAL": "/d"}).parent == Path("/d")


def test_the_schema_parameter_is_not_sent_to_the_database() -> None:
    location = parse_postgres_location("postgresql://ann:x@db/webs?schema=mine&sslmode=require")
    assert location.schema == "mine"
    assert conninfo_to_dict(location.connection) == {
        "user": "ann", "password": "x", "host": "db", "dbname": "webs", "sslmode": "require",
    }  # fmt: skip
    assert location.display_name == "postgresql://ann@db/webs?schema=mine&sslmode=require"


@pytest.mark.parametrize(
    "url",
    [
        "mysql://ann:s3cret@db/webs",
        "postgresql://ann:s3cret@db/webs?schema=pg_x",
        "postgresql://ann:s3cret@db/webs?schema=",
        "postgresql://ann:s3cret@db/?no=1",
        "postgresql://ann%zz:s3cret@db/",
        "postgresql://ann:s3cret@[db/",
        "postgresql://ann:s3/s3cret@db/webs",
        "postgresql://ann:5432/s3cret@db/webs",
        "postgresql://ann:s3#s3cret@db/webs",
        "postgresql://ann:s3?x=s3cret@db/webs",
        "postgresql://ann:s3cret%00@db/webs",
        "postgresql://ann:s3cret\udcff@db/webs",
    ],
)
def test_invalid_locations_are_refused_without_showing_the_password(url: str) -> None:
    with pytest.raises(UsageError) as error:
        parse_postgres_location(url)
    assert "s3cret" not in str(error.value)


@pytest.mark.parametrize("password", ["p@ss", "[x", "se%zzcret", "a b'c\\", "ü"])
def test_a_password_reaches_the_database_unchanged(password: str) -> None:
    for url in (f"postgresql://ann:{password}@db/webs", f"postgresql://ann:{quote(password, safe='')}@db/webs"):
        assert conninfo_to_dict(parse_postgres_location(url).connection)["password"] == password


@pytest.mark.parametrize(
    "arguments",
    [
        *(["copy", location, "there"] for location in UNREADABLE_LOCATIONS),
        *(["copy", "here", location] for location in UNREADABLE_LOCATIONS),
        *(["status", "--store", location] for location in UNREADABLE_LOCATIONS),
    ],
)
def test_no_command_prints_a_password(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exited:
        run(arguments)
    captured = capsys.readouterr()
    assert (exited.value.code, captured.out, captured.err) == (2, "", f"gossamer: {UNREADABLE_URL}\n")
