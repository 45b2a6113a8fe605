"""Copies of webs between back-ends: complete, of one moment, and invisible until they are complete."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from itertools import count, product
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import ANY

import pytest
from psycopg import connect

from gossamer.errors import StoreBusy, StoreCorrupt, StoreError, StoreMissing, UsageError
from gossamer.store import columns
from gossamer.store.columns import ResourceColumn
from gossamer.store.copy import TABLES, CopyTable, TableProgress, _copy_table, copy_store
from gossamer.store.postgres import open_postgres_store
from gossamer.store.postgres.location import parse_postgres_location
from gossamer.store.read.questions import Question
from gossamer.store.sqlite import open_sqlite_store
from helpers.store.copies import LAST, A, B, build, open_web, source, table_contents, target
from helpers.store.crawl_steps import admit_all, digest, join, recount, requeue, seed, visit_all
from helpers.store.databases import undo_version_3
from helpers.store.postgres_server import new_location

if TYPE_CHECKING:
    from collections.abc import Callable

    from gossamer.store.copy import CopyResult

VALUES: dict[str, Any] = {
    "resource": 1, "most": 3, "least": 2, "longest": 9, "texts": '["home"]', "around": ".", "nothing": b"", "since": 0,
}  # fmt: skip


@pytest.fixture
def new(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[str], str]:
    """Return a location of a kind where no web exists yet."""
    numbers = count()

    def location(kind: str) -> str:
        if kind == "postgres":
            return new_location(request.getfixturevalue("postgres"))
        return str(tmp_path / f"copy-{next(numbers)}")

    return location


KINDS = ("sqlite", "postgres")
both_ways = pytest.mark.parametrize(("first", "second"), [("sqlite", "postgres"), ("postgres", "sqlite")])


def copy_web(from_: str, to: str, on_progress: Callable[[str], None] = lambda _: None) -> CopyResult:
    with closing(source(from_)) as one, closing(target(to)) as other:
        return copy_store(one, other, on_progress)


class Stopped(Exception):
    """Stands for anything that ends a copy in the middle."""


def stop_at(word: str) -> Callable[[str], None]:
    def on_progress(text: str) -> None:
        if text.startswith(word):
            raise Stopped

    return on_progress


@pytest.mark.parametrize(("first", "second"), list(product(KINDS, KINDS)))
def test_a_copy_holds_the_same_rows_in_every_table(first: str, second: str, new: Callable[[str], str]) -> None:
    one, other = new(first), new(second)
    build(one)
    before = table_contents(one)
    assert [name for name, rows in before.items() if len(rows) < 2] == [], "every table needs a row"
    result = copy_web(one, other)
    assert table_contents(other) == before
    assert {name: progress.rows for name, progress in result.tables.items()} == {
        name: len(rows) - 1 for name, rows in before.items() if name != "counters"
    }


@both_ways
def test_a_copy_answers_every_question_alike(first: str, second: str, new: Callable[[str], str]) -> None:
    one, other = new(first), new(second)
    build(one)
    copy_web(one, other)
    with closing(open_web(one)) as store, closing(open_web(other)) as twin:
        for question in Question:
            values = {name: VALUES[name] for name in question.values}
            assert list(twin.ask(question, **values)) == list(store.ask(question, **values)), question
        assert list(twin.resources()) == list(store.resources())
        histories = [[web.history(row.id) for row in web.resources()] for web in (twin, store)]
        assert histories[0] == histories[1]
        assert any(histories[0])
        assert list(twin.every_link()) == list(store.every_link())
        assert twin.current_round() == store.current_round()


@both_ways
def test_a_crawl_continues_in_the_copy_with_new_ids(first: str, second: str, new: Callable[[str], str]) -> None:
    one, other = new(first), new(second)
    build(one)
    copy_web(one, other)
    with closing(open_web(other)) as store:
        greatest = max(row.id for row in store.resources())
        crawler = join(store)  # crawlers at work in the original are not at work here
        visit_all(store, crawler, {A: [B]})
        (added,) = store.add([seed(LAST)], admit_all)
        assert added.resource > greatest + 1, "the id of a forgotten resource stays unused"
        assert store.word_ids(["new"]) == {"new": 4}
        assert not [row for row in store.resources() if row.state == "leased"]
        recount(store)


@pytest.mark.parametrize("kind", KINDS)
def test_an_unfinished_copy_is_no_web_and_can_be_resumed(kind: str, new: Callable[[str], str]) -> None:
    one, other = new("sqlite"), new(kind)
    build(one)
    for word in ("hosts", "links", "making", "comparing words"):
        with pytest.raises(Stopped):
            copy_web(one, other, stop_at(word))
        with pytest.raises(StoreMissing):
            _open_existing(other)
    assert copy_web(one, other).resumed
    assert table_contents(other) == table_contents(one)


def _open_existing(location: str) -> None:
    if "://" in location:
        open_postgres_store(parse_postgres_location(location), create=False).close()
    else:
        open_sqlite_store(Path(location), create=False).close()


@pytest.mark.parametrize("kind", KINDS)
def test_a_copy_starts_again_when_the_web_has_changed(kind: str, new: Callable[[str], str]) -> None:
    one, other = new(kind), new("sqlite" if kind == "postgres" else "postgres")
    build(one)
    with pytest.raises(Stopped):
        copy_web(one, other, stop_at("links"))
    with closing(open_web(one)) as store:
        store.forget(url_digest=digest(B))
    assert not copy_web(one, other).resumed
    assert table_contents(other) == table_contents(one)


@pytest.mark.parametrize("kind", KINDS)
def test_a_copy_begun_with_fewer_columns_starts_again(
    kind: str, new: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = new("sqlite"), new(kind)
    build(one)
    with pytest.raises(Stopped):
        copy_web(one, other, stop_at("links"))
    added = ResourceColumn("colour", "text", "red", "discovery", since=90)
    monkeypatch.setattr(columns, "COLUMNS", (*columns.COLUMNS, added))
    assert not copy_web(one, other).resumed
    assert table_contents(other) == table_contents(one)


def test_a_copy_begun_by_an_older_version_starts_again(new: Callable[[str], str]) -> None:
    one, other = new("sqlite"), new("sqlite")
    build(one)
    with pytest.raises(Stopped):
        copy_web(one, other, stop_at("links"))
    with closing(sqlite3.connect(Path(other) / "copying" / "web.db")) as db:
        db.executescript("UPDATE copying SET value = substr(value, 3) WHERE key = 'mark'; PRAGMA user_version = 1")
        undo_version_3(db)
    assert not copy_web(one, other).resumed
    assert table_contents(other) == table_contents(one)
    assert _schema(other) == _schema(one)


@pytest.mark.parametrize("kind", KINDS)
def test_rows_written_during_a_copy_are_not_in_it(kind: str, new: Callable[[str], str]) -> None:
    one, other = new(kind), new("sqlite")
    build(one)
    before = table_contents(one)
    with closing(open_web(one)) as store, closing(source(one)) as original, closing(target(other)) as copy:
        original.fingerprint()
        store.add([seed("http://new.test/")], admit_all)
        requeue(store)
        copy_store(original, copy, lambda _: None)
    after = table_contents(other)
    counters = {"last_resource": ANY, "last_host": ANY}  # ids from the counters do not belong to a moment
    assert after == {**before, "counters": {**before["counters"], **counters}}


@pytest.mark.parametrize("kind", KINDS)
def test_a_copy_to_an_existing_web_is_refused(kind: str, new: Callable[[str], str]) -> None:
    one, other = new("sqlite"), new(kind)
    build(one)
    open_web(other).close()
    with pytest.raises(StoreError, match="There is a web"):
        copy_web(one, other)


@pytest.mark.parametrize("kind", KINDS)
def test_two_copies_to_one_location_are_refused(kind: str, new: Callable[[str], str]) -> None:
    other = new(kind)
    with closing(target(other)), pytest.raises(StoreBusy, match="copying"):
        target(other)


def test_a_copy_of_a_missing_web_creates_no_files(tmp_path: Path, new: Callable[[str], str]) -> None:
    for kind in KINDS:
        with pytest.raises(StoreMissing):
            source(new(kind))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_corrupted_copy_is_detected(kind: str, new: Callable[[str], str]) -> None:
    one, other = new("sqlite"), new(kind)
    build(one)

    def on_progress(text: str) -> None:
        if text.startswith("comparing crawlers"):
            _spoil(other, "UPDATE resources SET title = 'another' WHERE id = 2")

    with pytest.raises(StoreCorrupt, match="in the table resources"):
        copy_web(one, other, on_progress)
    with pytest.raises(StoreMissing):
        _open_existing(other)


def _spoil(location: str, sql: str) -> None:
    if "://" in location:
        database = parse_postgres_location(location)
        with connect(database.connection) as db:
            db.execute(f'SET search_path = "{database.schema}_copying"'.encode())
            db.execute(sql.encode())
    else:
        with closing(sqlite3.connect(Path(location) / "copying" / "web.db")) as file:
            file.execute(sql)
            file.commit()


def test_a_copy_in_a_directory_has_all_indexes(new: Callable[[str], str]) -> None:
    one, other = new("sqlite"), new("sqlite")
    build(one)
    copy_web(one, other)
    assert _schema(other) == _schema(one)
    assert sorted(path.name for path in Path(other).iterdir()) == ["web.db"]


def test_a_copy_in_a_directory_has_a_complete_digest_table(new: Callable[[str], str]) -> None:
    one, other = new("sqlite"), new("sqlite")
    build(one)
    copy_web(one, other)
    with closing(sqlite3.connect(Path(other) / "web.db")) as file:
        resources = file.execute("SELECT digest, id FROM resources ORDER BY id").fetchall()
        assert file.execute("SELECT digest, resource FROM digests ORDER BY resource").fetchall() == resources
        counters = file.execute("SELECT value FROM meta WHERE key IN ('digested', 'last_resource')").fetchall()
    assert counters[0] == counters[1] >= resources[-1][1:]


def _schema(location: str) -> list[Any]:
    with closing(sqlite3.connect(Path(location) / "web.db")) as file:
        return file.execute("SELECT type, name, sql FROM sqlite_schema ORDER BY type, name").fetchall()


INDEXES = "SELECT tablename, indexname, replace(indexdef, schemaname, '') FROM pg_indexes WHERE schemaname = %s"


def test_a_copy_in_a_database_has_all_indexes(new: Callable[[str], str]) -> None:
    one, other = new("postgres"), new("postgres")
    build(one)
    copy_web(one, other)
    with connect(parse_postgres_location(one).connection) as db:
        indexes = [
            sorted(db.execute(INDEXES, (parse_postgres_location(location).schema,))) for location in (one, other)
        ]
        schemas = [name for (name,) in db.execute("SELECT nspname FROM pg_namespace WHERE nspname LIKE '%_copying'")]
    assert indexes[0] == indexes[1]
    assert indexes[0]
    assert f"{parse_postgres_location(other).schema}_copying" not in schemas


def test_both_back_ends_have_the_copied_tables(new: Callable[[str], str]) -> None:
    one, other = new("sqlite"), new("postgres")
    build(one)
    open_web(other).close()
    names = sorted(table.name for table in TABLES)
    assert sorted(name for kind, name, _ in _schema(one) if kind == "table") == sorted([*names, "digests", "meta"])
    with connect(parse_postgres_location(other).connection) as db:
        sql = "SELECT tablename FROM pg_tables WHERE schemaname = %s"
        tables = sorted(name for (name,) in db.execute(sql, (parse_postgres_location(other).schema,)))
    assert tables == sorted([*names, "meta", "web"])
    with closing(source(one)) as directory, closing(source(other)) as database:
        for name in names:
            assert sorted(directory.columns(name)) == sorted(database.columns(name)), name


def test_a_character_that_postgres_rejects_is_replaced(new: Callable[[str], str]) -> None:
    one, other = new("sqlite"), new("postgres")
    build(one)
    with closing(sqlite3.connect(Path(one) / "web.db")) as file:
        file.execute("UPDATE robots SET text = 'a' || char(0) || 'b'")
        file.commit()
    copy_web(one, other)
    columns, *rows = table_contents(other)["robots"]
    assert [row[columns.index("text")] for row in rows] == ["a\ufffdb"]


def test_no_row_is_skipped_after_a_replaced_key(new: Callable[[str], str]) -> None:
    one, other = new("sqlite"), new("postgres")
    build(one)
    with closing(sqlite3.connect(Path(one) / "web.db")) as file:
        file.execute("INSERT INTO words VALUES ('a' || char(0), 98), ('ab', 99)")
        file.commit()
    words = CopyTable("words", ("term",), at_once=1)
    with closing(source(one)) as original, closing(target(other)) as copy:
        copy.begin(original.fingerprint())
        _copy_table(original, copy, words, TableProgress(), lambda _: None)
        terms = [term for (term,) in copy.rows(words._replace(at_once=9), ("term",), ("a",))]
    assert {"a\ufffd", "ab"} <= set(terms)


def test_a_web_in_the_schema_of_an_unfinished_copy_is_not_touched(new: Callable[[str], str]) -> None:
    one, other = new("sqlite"), new("postgres")
    build(one)
    build(f"{other}_copying")
    before = table_contents(f"{other}_copying")
    with pytest.raises(StoreError, match="holds a web of its own"):
        copy_web(one, other)
    assert table_contents(f"{other}_copying") == before


def test_a_schema_name_too_long_for_a_copy_is_refused(new: Callable[[str], str]) -> None:
    other = new("postgres")
    longest = other + "x" * (55 - len(parse_postgres_location(other).schema))
    target(longest).close()
    with pytest.raises(UsageError, match="at most 55 bytes"):
        target(f"{longest}x")
