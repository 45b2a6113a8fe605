"""Both back-ends migrate a web of an older store version by the same mechanism."""

from __future__ import annotations

import os
import platform
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from gossamer.errors import StoreError
from gossamer.store import columns
from gossamer.store.columns import ResourceColumn
from gossamer.store.sql_store import SqlStore
from gossamer.store.sqlite.database import Database as SqliteDatabase
from helpers.store.crawl_steps import recount, start, visit_all

if TYPE_CHECKING:
    from collections.abc import Callable

    from gossamer.store.protocol import Store
    from helpers.store.crawl_steps import Open

A, B = "http://a.test/", "http://a.test/b"
COLOUR = ResourceColumn("colour", "text", "red", "discovery", "a column of a later version", since=90)
SHADE = ResourceColumn("shade", "bytes", b"", "discovery", since=91)


def crawl(store: Store) -> None:
    crawler = start(store, A)
    visit_all(store, crawler, {A: [B], B: [A]})
    store.leave(crawler)


def add_columns(monkeypatch: pytest.MonkeyPatch, *added: ResourceColumn) -> None:
    """Make this process a later version of Gossamer."""
    monkeypatch.setattr(columns, "COLUMNS", (*columns.COLUMNS, *added))


def read(store: Store, sql: str) -> list[tuple[object, ...]]:
    assert isinstance(store, SqlStore)
    return store._database.read(lambda db: [tuple(row) for row in db.execute(sql).fetchall()])


def test_an_older_web_gets_the_columns_of_later_versions(open_store: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    old = open_store()
    crawl(old)
    before = list(old.resources())
    old.close()
    add_columns(monkeypatch, COLOUR, SHADE)
    store = open_store()
    assert read(store, "SELECT url, colour, shade FROM resources ORDER BY id") == [(A, "red", b""), (B, "red", b"")]
    assert list(store.resources()) == before
    crawl(store)
    recount(store)
    store.close()
    assert read(open_store(), "SELECT DISTINCT colour FROM resources") == [("red",)], "a migrated web opens again"


def table_columns(store: Store) -> list[tuple[object, ...]]:
    """Return name, type, default and NOT NULL of each column of `resources`, in order."""
    assert isinstance(store, SqlStore)
    if isinstance(store._database, SqliteDatabase):
        return read(store, """SELECT name, type, dflt_value, "notnull" FROM pragma_table_info('resources')""")
    return read(
        store,
        "SELECT column_name, data_type, collation_name, column_default, is_nullable FROM information_schema.columns"
        " WHERE table_name = 'resources' AND table_schema = current_schema() ORDER BY ordinal_position",
    )


def test_a_migrated_web_has_the_columns_of_a_new_one(
    new_web: Callable[[], Open], monkeypatch: pytest.MonkeyPatch
) -> None:
    open_older, open_newer = new_web(), new_web()
    open_older().close()
    add_columns(monkeypatch, COLOUR, SHADE)
    with closing(open_older()) as migrated, closing(open_newer()) as new:
        assert table_columns(migrated) == table_columns(new)
        assert len(table_columns(new)) == len(columns.COLUMNS)


def test_a_new_web_has_the_columns_that_migrations_add(open_store: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    add_columns(monkeypatch, COLOUR, SHADE)
    store = open_store()
    crawl(store)
    assert read(store, "SELECT DISTINCT colour, shade FROM resources") == [("red", b"")]


def test_an_older_web_is_not_migrated_while_a_crawler_works(open_store: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    old = open_store()
    crawler = old.join(platform.node(), os.getpid())
    add_columns(monkeypatch, COLOUR)
    with pytest.raises(StoreError, match=rf"a crawler of that version \({crawler.name}\) is at work there"):
        open_store()
    assert "colour" not in str(read(old, "SELECT * FROM resources"))
    old.leave(crawler.id)
    assert read(open_store(), "SELECT colour FROM resources") == []


def test_an_older_version_refuses_a_migrated_web(open_store: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as later:
        add_columns(later, COLOUR)
        open_store().close()
    with pytest.raises(StoreError, match="newer version of Gossamer"):
        open_store()
