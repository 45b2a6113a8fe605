"""Places of webs: what is shown of them, and where a machine keeps what belongs to them."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import pytest
from psycopg.conninfo import conninfo_to_dict

from gossamer.basics.locations import UNREADABLE_URL, is_shared, local_directory, parse_location
from gossamer.cli.main import run
from gossamer.errors import UsageError
from gossamer.store.postgres.location import parse_postgres_location

UNCLEAR = (
    "postgresql://ann:s3/s3cret@h/db",
    "postgresql://ann:s3#s3cret@h/db",
    "postgresql://ann:s3?s3cret@h/db",
    "postgresql://ann:s3%00s3cret@h/db",
)


@pytest.mark.parametrize(
    ("place", "shown", "password"),
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
def test_a_place_is_shown_without_its_password(place: str, shown: str, password: str | None) -> None:
    url = parse_location(place)
    assert url is not None
    assert (url.without_password, url.password) == (shown, password)


def test_a_directory_is_where_everything_of_its_web_is() -> None:
    assert not is_shared("some/web")
    assert local_directory("some/web", {}) == Path("some/web")


def test_every_shared_web_has_a_directory_of_its_own_on_a_machine() -> None:
    environ = {"XDG_CACHE_HOME": "/cache"}
    places = [
        "postgresql://ann:one@db/webs",
        "postgresql://db/webs?schema=other",
        "postgresql://db:5433/webs",
        "postgresql://db/others",
        "postgresql:///webs?host=/run/pg",
    ]
    found = [local_directory(place, environ) for place in places]
    assert len(set(found)) == len(places)
    assert found[0].parent == Path("/cache/gossamer")
    assert found[0].name.startswith("db+webs+gossamer+")
    assert local_directory("postgresql://bob:two@db/webs", environ) == found[0], "the same web for whoever asks"


def test_the_directory_of_shared_webs_can_be_chosen() -> None:
    assert local_directory("postgresql://db/webs", {"GOSSAMER_LOCAL": "/data"}).parent == Path("/data")


def test_webs_whose_names_look_alike_as_a_file_have_directories_of_their_own() -> None:
    places = ["postgresql://db/webs?schema=a_b", "postgresql://db/webs?schema=a%20b", "postgresql://db/webs?schema=a/b"]
    assert len({local_directory(place, {}) for place in places}) == len(places)


@pytest.mark.parametrize(
    ("place", "variable", "counts"),
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
def test_variables_of_libpq_count_where_the_url_is_silent(place: str, variable: str, counts: bool) -> None:
    one, other = (local_directory(place, {"GOSSAMER_LOCAL": "/d", variable: value}) for value in ("1", "2"))
    assert (one != other) == counts


def test_no_name_leads_out_of_the_directory() -> None:
    assert local_directory("postgresql://../../x?schema=../../etc", {"GOSSAMER_LOCAL": "/d"}).parent == Path("/d")


def test_the_schema_is_not_told_to_the_database() -> None:
    place = parse_postgres_location("postgresql://ann:x@db/webs?schema=mine&sslmode=require")
    assert place.schema == "mine"
    assert conninfo_to_dict(place.connection) == {
        "user": "ann", "password": "x", "host": "db", "dbname": "webs", "sslmode": "require",
    }  # fmt: skip
    assert place.display_name == "postgresql://ann@db/webs?schema=mine&sslmode=require"


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
def test_what_is_no_place_is_refused_without_showing_a_password(url: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_postgres_location(url)
    assert "s3cret" not in str(refused.value)


@pytest.mark.parametrize("password", ["p@ss", "[x", "se%zzcret", "a b'c\\", "ü"])
def test_a_password_reaches_the_database_as_it_is(password: str) -> None:
    for url in (f"postgresql://ann:{password}@db/webs", f"postgresql://ann:{quote(password, safe='')}@db/webs"):
        assert conninfo_to_dict(parse_postgres_location(url).connection)["password"] == password


@pytest.mark.parametrize(
    "arguments",
    [
        *(["copy", place, "there"] for place in UNCLEAR),
        *(["copy", "here", place] for place in UNCLEAR),
        *(["status", "--store", place] for place in UNCLEAR),
    ],
)
def test_no_command_repeats_a_password(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        run(arguments)
    said = capsys.readouterr()
    assert (ended.value.code, said.out, said.err) == (2, "", f"gossamer: {UNREADABLE_URL}\n")
