"""A digest leads to one resource, whether it is in the digest table or still pending."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from gossamer.store.sqlite import open_sqlite_store
from gossamer.store.sqlite.work import digests, lease
from gossamer.store.work.claims import Discovery
from helpers.store.crawl_steps import admit_all, candidate, digest, start, visit_all
from helpers.store.databases import sqlite_database

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from gossamer.store.sql_store import SqlStore

URLS = [f"http://a.test/{number}" for number in range(40)]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqlStore]:
    with closing(open_sqlite_store(tmp_path, create=True)) as opened:
        yield opened


@pytest.fixture
def other(store: SqlStore, tmp_path: Path) -> Iterator[SqlStore]:
    """The same web, opened as another process does."""
    with closing(open_sqlite_store(tmp_path, create=False)) as opened:
        yield opened


@pytest.fixture
def small_buffer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(digests, "MAX_FRESH", 3)


def rows(path: Path, sql: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path / "web.db")) as db:
        return db.execute(sql).fetchall()


def pending_urls(path: Path) -> list[str]:
    """Return the URLs whose digests are not in the table."""
    return [url for (url,) in rows(path, "SELECT url FROM resources WHERE id NOT IN (SELECT resource FROM digests)")]


def add(store: SqlStore, *urls: str) -> None:
    store.add([candidate(url) for url in urls], admit_all)


def id_of(store: SqlStore, url: str) -> int | None:
    row = store.resource(digest(url))
    return row.id if row else None


@pytest.mark.usefixtures("small_buffer")
def test_a_url_is_found_before_and_after_its_digest_is_inserted(store: SqlStore, tmp_path: Path) -> None:
    add(store, *URLS[:3])
    add(store, *URLS[3:5])
    assert pending_urls(tmp_path) == URLS[3:5]
    assert [id_of(store, url) for url in URLS[:6]] == [1, 2, 3, 4, 5, None]


def test_a_new_url_writes_nothing_to_the_digest_table(store: SqlStore, tmp_path: Path) -> None:
    add(store, *URLS)
    assert rows(tmp_path, "SELECT * FROM digests") == []


def test_no_digest_is_pending_after_the_crawler_leaves(store: SqlStore, tmp_path: Path) -> None:
    crawler = start(store, URLS[0])
    visit_all(store, crawler, {URLS[0]: URLS[1:]})
    assert pending_urls(tmp_path) == URLS
    store.leave(crawler)
    assert pending_urls(tmp_path) == []
    assert rows(tmp_path, "SELECT digest, id FROM resources ORDER BY digest") == rows(
        tmp_path, "SELECT digest, resource FROM digests ORDER BY digest"
    )


@pytest.mark.usefixtures("small_buffer")
def test_pending_digests_survive_the_process_that_added_them(store: SqlStore, other: SqlStore) -> None:
    add(store, *URLS[:4])
    store.close()
    add(other, URLS[1], URLS[5], URLS[3])
    assert [id_of(other, url) for url in (URLS[1], URLS[3], URLS[5])] == [2, 4, 5]


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.usefixtures("small_buffer")
def test_processes_that_add_and_forget_agree_on_one_id_per_url(
    store: SqlStore, other: SqlStore, tmp_path: Path, seed: int
) -> None:
    rng = random.Random(seed)
    known: set[str] = set()
    for _ in range(60):
        urls = rng.sample(URLS, rng.randint(1, 6))
        if rng.random() < 0.2:
            rng.choice((store, other)).forget(digest(urls[0]))
            known.discard(urls[0])
        else:
            results = rng.choice((store, other)).add([candidate(url) for url in urls], admit_all)
            assert [result.url for result in results if result.known] == [url for url in urls if url in known]
            known.update(urls)
    assert sorted(url for (url,) in rows(tmp_path, "SELECT url FROM resources")) == sorted(known)
    assert {each: id_of(store, each) for each in known} == dict(rows(tmp_path, "SELECT url, id FROM resources"))
    assert rows(tmp_path, "SELECT * FROM digests WHERE resource NOT IN (SELECT id FROM resources)") == []
    assert pending_urls(tmp_path) == [
        url for (url,) in rows(tmp_path, "SELECT url FROM resources, meta WHERE key = 'digested' AND id > value")
    ]


@pytest.mark.usefixtures("small_buffer")
def test_ids_of_a_failed_transaction_are_not_cached(store: SqlStore) -> None:
    add(store, URLS[0])

    def fail() -> None:
        with sqlite_database(store).transaction() as tx:
            lease.add(tx, [candidate(url) for url in URLS[1:8]], Discovery(admit_all, 1.0, None))
            raise ArithmeticError

    with pytest.raises(ArithmeticError):
        fail()
    add(store, URLS[9], URLS[1])
    assert [id_of(store, url) for url in (URLS[0], URLS[9], URLS[1], URLS[2])] == [1, 2, 3, None]
