"""Two processes read the links of a big web, with the same result as one process."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest

from gossamer.store.sqlite import open_sqlite_store
from gossamer.store.sqlite.follow import link_changes
from helpers.store.crawl_steps import digest, start, visit_all

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from gossamer.store.follow.graph import LinkChanges
    from gossamer.store.sql_store import SqlStore
    from gossamer.store.sqlite.database import Database

URLS = [f"http://a.test/{number}" for number in range(7)]


@pytest.fixture(params=[6, 7])
def store(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SqlStore]:
    """A ring of pages, one of them forgotten. Readers take one page at a time; every web counts as big."""
    monkeypatch.setattr(link_changes, "SOURCES_AT_ONCE", 1)
    monkeypatch.setattr(link_changes, "MIN_PARALLEL_PAGES", 0)
    monkeypatch.setattr(link_changes, "available_cores", lambda: 2)
    store = open_sqlite_store(tmp_path / "wéb", create=True)
    pages = URLS[: request.param]
    links = dict(zip(pages, ([following] for following in (*pages[1:], pages[0])), strict=True))
    visit_all(store, start(store, pages[0]), links)
    assert store.forget(url_digest=digest(pages[3])) == 1
    yield store
    store.close()


def read_by_one_process(store: SqlStore) -> list[LinkChanges]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(link_changes, "available_cores", lambda: 1)
        return list(store.link_changes(0))


def test_two_processes_read_the_same_as_one(
    store: SqlStore, started_processes: list[subprocess.Popen[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The helper process reads half of the pieces."""
    expected = read_by_one_process(store)
    assert sum(len(piece.ids) for piece in expected) == len(expected) - 1
    pieces_read_here: list[Sequence[int]] = []
    read_changes = link_changes._read_changes

    def record_piece(database: Database, piece: Sequence[int]) -> LinkChanges:
        pieces_read_here.append(piece)
        return read_changes(database, piece)

    monkeypatch.setattr(link_changes, "_read_changes", record_piece)
    assert list(store.link_changes(0)) == expected
    assert len(pieces_read_here) == len(expected) - len(expected) // 2
    (process,) = started_processes
    assert process.returncode is not None, "the helper has exited"


def test_a_reader_continues_alone_after_its_helper_is_killed(
    store: SqlStore, started_processes: list[subprocess.Popen[bytes]]
) -> None:
    expected, changes = read_by_one_process(store), store.link_changes(0)
    first_pieces = [next(changes), next(changes)]
    os.kill(started_processes[0].pid, 9)
    assert [*first_pieces, *changes] == expected


def test_one_process_reads_everything_when_no_helper_can_start(
    store: SqlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = read_by_one_process(store)
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    assert list(store.link_changes(0)) == expected


def test_a_reader_that_stops_early_leaves_no_process(
    store: SqlStore, started_processes: list[subprocess.Popen[bytes]]
) -> None:
    changes = store.link_changes(0)
    next(changes)
    del changes
    assert started_processes[0].returncode is not None
