"""A damaged web.db: search and other readings give the same answer as before, or fail with a sentence."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
from contextlib import closing, suppress
from typing import TYPE_CHECKING

import pytest

from gossamer.errors import StoreCorrupt
from gossamer.wiring import open_searcher, open_store
from helpers.cli.commands import FAST, crawl, gossamer
from webs.generated import GeneratedWeb, Shape

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from gossamer.search.service import Hit
    from gossamer.store.protocol import Store

PAGES = 40
PAGE_BYTES = 4096  # of the file
SEARCH = "page"  # in the title of every page


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    store = tmp_path_factory.mktemp("sound") / "web"
    with GeneratedWeb(Shape(pages=PAGES)) as site:
        crawl(site.url, store, *FAST)
    return store


@pytest.fixture
def web(sound: Path, tmp_path: Path) -> Path:
    return shutil.copytree(sound, tmp_path / "web")


def hits(store: Path) -> tuple[Hit, ...]:
    with closing(open_store(str(store), read_only=True)) as web, closing(open_searcher(web, str(store))) as searcher:
        return searcher.search(SEARCH, limit=PAGES).hits


def change(store: Path, sql: str) -> None:
    with closing(sqlite3.connect(store / "web.db")) as db, db:
        db.execute(sql)


def read_pages(store: Store) -> object:
    return [(row, store.text(row.id), store.source(row.id), store.outlinks(row.id)) for row in store.resources()]


READINGS: tuple[Callable[[Store], object], ...] = (
    lambda store: (store.version(), store.counts()),
    lambda store: store.hosts(),
    lambda store: list(store.errors()),
    read_pages,
    lambda store: list(store.every_visit()),
)


@pytest.mark.parametrize("damage", ["zeros", "random bytes", "another page of the file"])
def test_a_search_finds_every_hit_or_fails_loudly_for_each_damaged_page(web: Path, damage: str) -> None:
    data, chosen = (web / "web.db").read_bytes(), random.Random(1)
    numbers, expected, loud = range(1, len(data) // PAGE_BYTES), hits(web), 0
    assert len(expected) == PAGES
    for number in numbers:
        start, other = number * PAGE_BYTES, chosen.choice(numbers) * PAGE_BYTES
        page = {
            "zeros": bytes(PAGE_BYTES),
            "random bytes": chosen.randbytes(PAGE_BYTES),
            "another page of the file": data[other : other + PAGE_BYTES],
        }[damage]
        (web / "web.db").write_bytes(data[:start] + page + data[start + PAGE_BYTES :])
        try:
            found = hits(web)
            # A page of the same kind in its place can change a time or a score, and no reader can know.
            assert len(found) == PAGES if damage == "another page of the file" else found == expected, number
        except StoreCorrupt:
            loud += 1
        for reading in READINGS:
            with suppress(StoreCorrupt), closing(open_store(str(web), read_only=True)) as store:
                reading(store)
    assert loud > len(numbers) // 10


@pytest.mark.parametrize("table", ["texts", "resources", "hosts"])
def test_a_search_fails_loudly_when_rows_of_its_hits_are_lost(web: Path, table: str) -> None:
    change(web, f"DELETE FROM {table} WHERE rowid % 3 = 1")
    done = gossamer("search", SEARCH, "--json", "--limit", PAGES, "--store", web)
    assert done.returncode == 2
    assert not done.stdout
    assert done.stderr.startswith("gossamer: The index has ")
    assert "gossamer index --rebuild" in done.stderr


def test_a_search_with_the_index_of_another_web_fails_loudly(web: Path, tmp_path: Path) -> None:
    with GeneratedWeb(Shape(pages=3)) as site:
        crawl(site.url, tmp_path / "small", "--no-index", *FAST)
    shutil.copytree(web / "index", tmp_path / "small" / "index")
    done = gossamer("search", SEARCH, "--limit", PAGES, "--store", tmp_path / "small")
    assert done.returncode == 2
    assert "the index belongs to another web" in done.stderr


def test_hits_that_the_store_has_removed_since_the_last_index_are_left_out(web: Path) -> None:
    with closing(open_store(str(web))) as store:
        rows = list(store.resources())
        (forgotten, linked) = rows[-1], rows[1]
        for row in (forgotten, linked):
            store.forget(url_digest=row_digest(web, row.id))
    done = gossamer("search", SEARCH, "--json", "--limit", PAGES, "--store", web)
    assert done.returncode == 0, done.stderr
    urls = {hit["url"] for hit in json.loads(done.stdout)["hits"]}
    assert urls == {row.url for row in rows} - {forgotten.url, linked.url}


def row_digest(store: Path, resource: int) -> bytes:
    with closing(sqlite3.connect(store / "web.db")) as db:
        (digest,) = db.execute("SELECT digest FROM resources WHERE id = ?", (resource,)).fetchone()
        return bytes(digest)
