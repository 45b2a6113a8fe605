"""History rows of changes: no more than needed, and old sources within their size limit."""

from __future__ import annotations

import random
import sqlite3
import string
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from gossamer.model import VisitBatch
from gossamer.store.sqlite import open_sqlite_store
from gossamer.store.sqlite.work.revisits import OLDEST_SOURCES
from helpers.store.crawl_steps import (
    Bond,
    Policy,
    candidate,
    digest,
    fetched_visit,
    gone_visit,
    lease_all,
    leases,
    start,
    visit_all,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from gossamer.model import Lease
    from gossamer.store.sql_store import SqlStore

A, B, C = "http://a.test/", "http://a.test/b", "http://a.test/c"
NOISE = "".join(random.Random(1).choices(string.printable, k=200_000))  # compresses badly


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqlStore]:
    with closing(open_sqlite_store(tmp_path, create=True, old_sources_mib=1)) as opened:
        yield opened


def rows(path: Path, sql: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path / "web.db")) as db:
        return db.execute(sql).fetchall()


def lease_again(store: SqlStore, crawler: int, url: str) -> Lease:
    (lease,) = store.lease_urls(crawler, [candidate(url)], 1.0)
    assert lease is not None
    return lease


def test_first_visits_write_no_history(store: SqlStore, tmp_path: Path) -> None:
    visit_all(store, start(store, A), {A: [B, C], B: [A], C: []})
    assert rows(tmp_path, "SELECT * FROM relinked") == rows(tmp_path, "SELECT * FROM history") == []


def test_only_targets_with_changed_bonds_are_relinked(store: SqlStore, tmp_path: Path) -> None:
    crawler = start(store, A)
    visit_all(store, crawler, {A: [Bond(B, anchor="b"), Bond(C, anchor="c")], B: [], C: []})
    store.submit(
        crawler,
        VisitBatch(visits=[fetched_visit(lease_again(store, crawler, A), Bond(C, anchor="c"), Bond(B, anchor="B"))]),
        Policy(),
        1.0,
    )
    relinked = rows(tmp_path, "SELECT url FROM relinked JOIN resources ON id = target")
    assert relinked == [(B,)], "C only moved on the page"


def test_old_sources_are_kept_and_the_oldest_are_removed_first(store: SqlStore, tmp_path: Path) -> None:
    crawler = start(store, A)
    store.submit(
        crawler,
        VisitBatch(visits=[fetched_visit(leases(lease_all(store, crawler))[A], body=f"0 {NOISE}")]),
        Policy(),
        1.0,
    )
    for number in range(1, 10):
        store.submit(
            crawler,
            VisitBatch(visits=[fetched_visit(lease_again(store, crawler, A), body=f"{number} {NOISE[number:]}")]),
            Policy(),
            1.0,
        )
    page = store.resource(digest(A))
    assert page is not None
    changes = store.history(page.id)
    have_source = [change.has_source for change in changes]
    assert have_source == sorted(have_source)
    assert 1 <= sum(have_source) < 9
    assert (store.old_source(changes[-1].id) or b"").startswith(b"8 ")
    assert store.old_source(changes[0].id) is None
    [(stored_bytes,)] = rows(tmp_path, "SELECT value FROM meta WHERE key = 'old_sources'")
    assert [(stored_bytes,)] == rows(tmp_path, "SELECT sum(length(source)) FROM history")
    assert stored_bytes <= 1 << 20


def test_old_sources_are_found_by_their_own_index(tmp_path: Path) -> None:
    open_sqlite_store(tmp_path, create=True).close()
    plan = " ".join(str(row) for row in rows(tmp_path, f"EXPLAIN QUERY PLAN {OLDEST_SOURCES}"))
    assert "history_sources" in plan


def test_forgetting_a_page_forgets_its_history(store: SqlStore, tmp_path: Path) -> None:
    crawler = start(store, A)
    visit_all(store, crawler, {A: [B], B: []})
    store.submit(crawler, VisitBatch(visits=[fetched_visit(lease_again(store, crawler, A), body="new")]), Policy(), 1.0)
    store.forget(digest(A))
    assert rows(tmp_path, "SELECT * FROM history") == []
    assert rows(tmp_path, "SELECT value FROM meta WHERE key = 'old_sources'") == [(0,)]


def test_a_gone_page_keeps_its_last_source(store: SqlStore) -> None:
    crawler = start(store, A)
    visit_all(store, crawler, {A: []})
    for _ in range(2):
        store.submit(crawler, VisitBatch(visits=[gone_visit(lease_again(store, crawler, A))]), Policy(), 1.0)
    page = store.resource(digest(A))
    assert page is not None
    (change,) = store.history(page.id)
    assert store.old_source(change.id) == f"the body of {A}".encode()
    assert store.source(page.id) is None
