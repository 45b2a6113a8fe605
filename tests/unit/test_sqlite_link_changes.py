"""Links of a big web are read by two processes, and come as if one had read them."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest

from gossamer.store.sqlite import SqliteStore
from gossamer.store.sqlite.follow import link_changes
from helpers.store.crawl_steps import digest, start, visit_all

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from gossamer.store.follow.graph import LinkChanges
    from gossamer.store.sqlite.database import Database

URLS = [f"http://a.test/{number}" for number in range(7)]


@pytest.fixture(params=[6, 7])
def store(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SqliteStore]:
    """A ring of pages, one of them forgotten; read one page at a time, and every web counts as big."""
    monkeypatch.setattr(link_changes, "SOURCES_AT_ONCE", 1)
    monkeypatch.setattr(link_changes, "MIN_PARALLEL_PAGES", 0)
    monkeypatch.setattr(link_changes, "available_cores", lambda: 2)
    store = SqliteStore.open(tmp_path / "wéb", create=True)
    pages = URLS[: request.param]
    links = dict(zip(pages, ([following] for following in (*pages[1:], pages[0])), strict=True))
    visit_all(store, start(store, pages[0]), links)
    assert store.forget(url_digest=digest(pages[3])) == 1
    yield store
    store.close()


def by_one(store: SqliteStore) -> list[LinkChanges]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(link_changes, "available_cores", lambda: 1)
        return list(store.link_changes(0))


def test_two_processes_tell_what_one_does(
    store: SqliteStore, started: list[subprocess.Popen[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other one answers for half of the pieces."""
    expected = by_one(store)
    assert sum(len(piece.ids) for piece in expected) == len(expected) - 1
    read_here: list[Sequence[int]] = []
    here = link_changes._read_changes

    def noted(database: Database, piece: Sequence[int]) -> LinkChanges:
        read_here.append(piece)
        return here(database, piece)

    monkeypatch.setattr(link_changes, "_read_changes", noted)
    assert list(store.link_changes(0)) == expected
    assert len(read_here) == len(expected) - len(expected) // 2
    (process,) = started
    assert process.returncode is not None, "nobody waits for it any more"


def test_one_that_ends_before_its_time_is_done_without(
    store: SqliteStore, started: list[subprocess.Popen[bytes]]
) -> None:
    expected, changes = by_one(store), store.link_changes(0)
    told = [next(changes), next(changes)]
    os.kill(started[0].pid, 9)
    assert [*told, *changes] == expected


def test_where_none_can_be_started_one_does_it_all(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = by_one(store)
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    assert list(store.link_changes(0)) == expected


def test_who_stops_reading_leaves_no_process(store: SqliteStore, started: list[subprocess.Popen[bytes]]) -> None:
    changes = store.link_changes(0)
    next(changes)
    del changes
    assert started[0].returncode is not None
