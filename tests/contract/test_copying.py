"""Copying webs between back-ends: all of it, of one moment, and nothing to be seen before it is complete."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from itertools import count, product
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import ANY

import pytest
from psycopg import connect

from gossamer.errors import StoreBusy, StoreCorrupt, StoreError, StoreMissing, UsageError
from gossamer.store.copy import TABLES, CopyTable, TableProgress, _copy_table, copy_store
from gossamer.store.postgres import PostgresStore
from gossamer.store.postgres.location import parse_postgres_location
from gossamer.store.read.questions import Question
from gossamer.store.sqlite import SqliteStore
from helpers.store.copies import LAST, A, B, build, everything, open_web, source, target
from helpers.store.crawl_steps import admit_all, digest, join, recount, seed, visit_all
from helpers.store.postgres_server import new_place

if TYPE_CHECKING:
    from collections.abc import Callable

    from gossamer.store.copy import CopyResult

VALUES: dict[str, Any] = {
    "resource": 1, "most": 3, "least": 2, "longest": 9, "texts": '["home"]', "around": ".", "nothing": b"", "since": 0,
}  # fmt: skip


@pytest.fixture
def new(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[str], str]:
    """The name of a place of a kind where there is no web yet."""
    numbers = count()

    def place(kind: str) -> str:
        if kind == "postgres":
            return new_place(request.getfixturevalue("postgres"))
        return str(tmp_path / f"copy-{next(numbers)}")

    return place


KINDS = ("sqlite", "postgres")
both_ways = pytest.mark.parametrize(("first", "second"), [("sqlite", "postgres"), ("postgres", "sqlite")])


def copied(from_: str, to: str, tell: Callable[[str], None] = lambda _: None) -> CopyResult:
    with closing(source(from_)) as one, closing(target(to)) as other:
        return copy_store(one, other, tell)


class Stopped(Exception):
    """Stands for whatever ends a copy in the middle."""


def stop_at(word: str) -> Callable[[str], None]:
    def tell(text: str) -> None:
        if text.startswith(word):
            raise Stopped

    return tell


@pytest.mark.parametrize(("first", "second"), list(product(KINDS, KINDS)))
def test_a_copy_holds_the_same_rows_in_every_table(first: str, second: str, new: Callable[[str], str]) -> None:
    one, other = new(first), new(second)
    build(one)
    before = everything(one)
    assert [name for name, rows in before.items() if len(rows) < 2] == [], "a table without a row shows nothing"
    done = copied(one, other)
    assert everything(other) == before
    assert {name: note.rows for name, note in done.tables.items()} == {
        name: len(rows) - 1 for name, rows in before.items() if name != "counters"
    }


@both_ways
def test_the_copy_gives_the_same_answers(first: str, second: str, new: Callable[[str], str]) -> None:
    one, other = new(first), new(second)
    build(one)
    copied(one, other)
    with closing(open_web(one)) as store, closing(open_web(other)) as twin:
        for question in Question:
            values = {name: VALUES[name] for name in question.values}
            assert list(twin.ask(question, **values)) == list(store.ask(question, **values)), question
        assert list(twin.resources()) == list(store.resources())
        assert list(twin.history_since(0)) == list(store.history_since(0))
        assert list(twin.every_link()) == list(store.every_link())
        assert twin.current_round() == store.current_round()


@both_ways
def test_work_goes_on_in_the_copy_with_new_ids(first: str, second: str, new: Callable[[str], str]) -> None:
    one, other = new(first), new(second)
    build(one)
    copied(one, other)
    with closing(open_web(other)) as store:
        greatest = max(row.id for row in store.resources())
        crawler = join(store)  # those at work in the other web are not at work here
        visit_all(store, crawler, {A: [B]})
        (added,) = store.add([seed(LAST)], admit_all)
        assert added.resource > greatest + 1, "the id of what was forgotten stays unused"
        assert store.word_ids(["new"]) == {"new": 4}
        assert not [row for row in store.resources() if row.state == "leased"]
        recount(store)


@pytest.mark.parametrize("kind", KINDS)
def test_an_unfinished_copy_is_no_web_and_can_be_gone_on_with(kind: str, new: Callable[[str], str]) -> None:
    one, other = new("sqlite"), new(kind)
    build(one)
    for word in ("hosts", "links", "making", "comparing words"):
        with pytest.raises(Stopped):
            copied(one, other, stop_at(word))
        with pytest.raises(StoreMissing):
            _open_there(other)
    assert copied(one, other).resumed
    assert everything(other) == everything(one)


def _open_there(place: str) -> None:
    if "://" in place:
        PostgresStore.open(place, create=False).close()
    else:
        SqliteStore.open(Path(place), create=False).close()


@pytest.mark.parametrize("kind", KINDS)
def test_a_copy_begins_anew_when_the_web_has_changed(kind: str, new: Callable[[str], str]) -> None:
    one, other = new(kind), new("sqlite" if kind == "postgres" else "postgres")
    build(one)
    with pytest.raises(Stopped):
        copied(one, other, stop_at("links"))
    with closing(open_web(one)) as store:
        store.forget(url_digest=digest(B))
    assert not copied(one, other).resumed
    assert everything(other) == everything(one)


def test_a_copy_that_an_older_version_began_is_begun_anew(new: Callable[[str], str]) -> None:
    one, other = new("sqlite"), new("sqlite")
    build(one)
    with pytest.raises(Stopped):
        copied(one, other, stop_at("links"))
    with closing(sqlite3.connect(Path(other) / "copying" / "web.db")) as db:
        db.executescript("UPDATE copying SET value = substr(value, 3) WHERE key = 'mark'; PRAGMA user_version = 1")
    assert not copied(one, other).resumed
    assert everything(other) == everything(one)
    assert _schema(other) == _schema(one)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_written_meanwhile_is_not_in_the_copy(kind: str, new: Callable[[str], str]) -> None:
    one, other = new(kind), new("sqlite")
    build(one)
    before = everything(one)
    with closing(open_web(one)) as store, closing(source(one)) as moment, closing(target(other)) as place:
        moment.fingerprint()
        store.add([seed("http://new.test/")], admit_all)
        store.requeue(time.time())
        copy_store(moment, place, lambda _: None)
    after = everything(other)
    given = {"last_resource": ANY, "last_host": ANY}  # ids that were given out do not belong to a moment
    assert after == {**before, "counters": {**before["counters"], **given}}


@pytest.mark.parametrize("kind", KINDS)
def test_a_place_that_has_a_web_is_refused(kind: str, new: Callable[[str], str]) -> None:
    one, other = new("sqlite"), new(kind)
    build(one)
    open_web(other).close()
    with pytest.raises(StoreError, match="There is a web"):
        copied(one, other)


@pytest.mark.parametrize("kind", KINDS)
def test_two_copies_to_one_place_are_refused(kind: str, new: Callable[[str], str]) -> None:
    other = new(kind)
    with closing(target(other)), pytest.raises(StoreBusy, match="copying"):
        target(other)


def test_a_copy_of_nothing_leaves_nothing_behind(tmp_path: Path, new: Callable[[str], str]) -> None:
    for kind in KINDS:
        with pytest.raises(StoreMissing):
            source(new(kind))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_copy_that_was_tampered_with_is_found_out(kind: str, new: Callable[[str], str]) -> None:
    one, other = new("sqlite"), new(kind)
    build(one)

    def tell(text: str) -> None:
        if text.startswith("comparing crawlers"):
            _spoil(other, "UPDATE resources SET title = 'another' WHERE id = 2")

    with pytest.raises(StoreCorrupt, match="of resources"):
        copied(one, other, tell)
    with pytest.raises(StoreMissing):
        _open_there(other)


def _spoil(place: str, sql: str) -> None:
    if "://" in place:
        at = parse_postgres_location(place)
        with connect(at.connection) as db:
            db.execute(f'SET search_path = "{at.schema}_copying"'.encode())
            db.execute(sql.encode())
    else:
        with closing(sqlite3.connect(Path(place) / "copying" / "web.db")) as file:
            file.execute(sql)
            file.commit()


def test_the_copy_in_a_directory_has_all_indexes(new: Callable[[str], str]) -> None:
    one, other = new("sqlite"), new("sqlite")
    build(one)
    copied(one, other)
    assert _schema(other) == _schema(one)
    assert sorted(path.name for path in Path(other).iterdir()) == ["web.db"]


def test_in_the_copy_in_a_directory_no_resource_waits_for_the_table_of_digests(new: Callable[[str], str]) -> None:
    one, other = new("sqlite"), new("sqlite")
    build(one)
    copied(one, other)
    with closing(sqlite3.connect(Path(other) / "web.db")) as file:
        resources = file.execute("SELECT digest, id FROM resources ORDER BY id").fetchall()
        assert file.execute("SELECT digest, resource FROM digests ORDER BY resource").fetchall() == resources
        counters = file.execute("SELECT value FROM meta WHERE key IN ('digested', 'last_resource')").fetchall()
    assert counters[0] == counters[1] >= resources[-1][1:]


def _schema(place: str) -> list[Any]:
    with closing(sqlite3.connect(Path(place) / "web.db")) as file:
        return file.execute("SELECT type, name, sql FROM sqlite_schema ORDER BY type, name").fetchall()


INDEXES = "SELECT tablename, indexname, replace(indexdef, schemaname, '') FROM pg_indexes WHERE schemaname = %s"


def test_the_copy_in_a_database_has_all_indexes(new: Callable[[str], str]) -> None:
    one, other = new("postgres"), new("postgres")
    build(one)
    copied(one, other)
    with connect(parse_postgres_location(one).connection) as db:
        indexes = [sorted(db.execute(INDEXES, (parse_postgres_location(place).schema,))) for place in (one, other)]
        schemas = [name for (name,) in db.execute("SELECT nspname FROM pg_namespace WHERE nspname LIKE '%_copying'")]
    assert indexes[0] == indexes[1]
    assert indexes[0]
    assert f"{parse_postgres_location(other).schema}_copying" not in schemas


def test_both_back_ends_have_the_tables_that_are_copied(new: Callable[[str], str]) -> None:
    one, other = new("sqlite"), new("postgres")
    build(one)
    open_web(other).close()
    names = sorted(table.name for table in TABLES)
    assert sorted(name for kind, name, _ in _schema(one) if kind == "table") == sorted([*names, "digests", "meta"])
    with connect(parse_postgres_location(other).connection) as db:
        sql = "SELECT tablename FROM pg_tables WHERE schemaname = %s"
        found = sorted(name for (name,) in db.execute(sql, (parse_postgres_location(other).schema,)))
    assert found == sorted([*names, "meta", "web"])
    with closing(source(one)) as directory, closing(source(other)) as database:
        for name in names:
            assert sorted(directory.columns(name)) == sorted(database.columns(name)), name


def test_a_character_that_postgres_cannot_hold_is_replaced(new: Callable[[str], str]) -> None:
    one, other = new("sqlite"), new("postgres")
    build(one)
    with closing(sqlite3.connect(Path(one) / "web.db")) as file:
        file.execute("UPDATE robots SET text = 'a' || char(0) || 'b'")
        file.commit()
    copied(one, other)
    columns, *rows = everything(other)["robots"]
    assert [row[columns.index("text")] for row in rows] == ["a\ufffdb"]


def test_no_row_is_passed_over_behind_a_key_that_is_replaced(new: Callable[[str], str]) -> None:
    one, other = new("sqlite"), new("postgres")
    build(one)
    with closing(sqlite3.connect(Path(one) / "web.db")) as file:
        file.execute("INSERT INTO words VALUES ('a' || char(0), 98), ('ab', 99)")
        file.commit()
    words = CopyTable("words", ("term",), at_once=1)
    with closing(source(one)) as moment, closing(target(other)) as place:
        place.begin(moment.fingerprint())
        _copy_table(moment, place, words, TableProgress(), lambda _: None)
        terms = [term for (term,) in place.rows(words._replace(at_once=9), ("term",), ("a",))]
    assert {"a\ufffd", "ab"} <= set(terms)


def test_a_web_whose_schema_has_the_name_of_an_unfinished_copy_is_not_touched(new: Callable[[str], str]) -> None:
    one, other = new("sqlite"), new("postgres")
    build(one)
    build(f"{other}_copying")
    before = everything(f"{other}_copying")
    with pytest.raises(StoreError, match="holds a web of its own"):
        copied(one, other)
    assert everything(f"{other}_copying") == before


def test_a_schema_whose_name_leaves_no_room_for_that_of_a_copy_is_refused(new: Callable[[str], str]) -> None:
    other = new("postgres")
    longest = other + "x" * (55 - len(parse_postgres_location(other).schema))
    target(longest).close()
    with pytest.raises(UsageError, match="at most 55 bytes"):
        target(f"{longest}x")
