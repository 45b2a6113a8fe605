"""The indexing process beside a crawl, while the crawl runs."""

from __future__ import annotations

import time
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING

import pytest

from gossamer import indexing
from gossamer.graph.arrays import load_manifest
from gossamer.graph.bonds import open_bonds
from gossamer.index.build import IndexBuilder
from gossamer.index.protocol import IndexProgress
from gossamer.index.tantivy import TantivyLocation, TantivyWriter
from gossamer.store.sqlite import open_sqlite_store
from helpers.store.crawl_steps import start, visit_all

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

HOME, NEXT = "http://a.test/", "http://a.test/next"


def test_the_links_of_an_existing_graph_are_updated_during_the_crawl(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexing, "ANCHORS_DELAY_SECONDS", 0.0)
    with closing(open_sqlite_store(tmp_path / "web", create=True)) as store:
        visit_all(store, start(store, HOME), {HOME: []})
        open_bonds(store, tmp_path / "web" / "graph")
        visit_all(store, start(store, NEXT), {NEXT: [HOME]})
        stop_replies = iter([False, True])
        with closing(IndexBuilder(store, partial(TantivyWriter, TantivyLocation(tmp_path / "index")))) as builder:
            update_graph = partial(indexing._update_graph, str(tmp_path / "web"), store)
            indexing.follow_changes(builder, lambda _: next(stop_replies), update_graph)
        manifest = load_manifest(tmp_path / "web" / "graph" / "bonds.json")
        assert manifest is not None
        assert manifest.version == store.version()


class ScriptedBuilder:
    """A builder with scripted changes: each second a number of documents, or None for no change."""

    def __init__(self, changes: Callable[[int], int | None]) -> None:
        self._changes = changes
        self.second = 0
        self.progress = IndexProgress()
        self.idle_seconds: list[int] = []

    def step(self) -> bool:
        self.second += 1
        put = self._changes(self.second)
        if put is not None:
            before = self.progress
            self.progress = IndexProgress(version=before.version + 1, put=before.put + put)
        return True

    def go_idle(self) -> None:
        self.idle_seconds.append(self.second)

    def catch_up_anchors(self) -> None:
        pass


@pytest.mark.parametrize(
    ("changes", "idle_seconds"),
    [
        pytest.param(lambda _: None, [], id="no change at all"),
        pytest.param(lambda second: 400 if second <= 20 else None, [25], id="a crawl that ends"),
        pytest.param(lambda second: 7 if second % 2 else 0, [61, 122, 183], id="a few pages every other second"),
        pytest.param(lambda _: 200, [], id="a crawl at full speed"),
        pytest.param(lambda second: 200 if second <= 90 else 7, [181], id="a crawl that slows down"),
    ],
)
def test_a_builder_with_few_changes_goes_idle_to_release_memory(
    changes: Callable[[int], int | None], idle_seconds: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    builder = ScriptedBuilder(changes)
    monkeypatch.setattr(time, "monotonic", lambda: float(builder.second))
    indexing.follow_changes(builder, lambda _: builder.second >= 200)  # type: ignore[arg-type] # has the methods in use
    assert builder.idle_seconds == idle_seconds
