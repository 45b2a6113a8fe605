"""What the process that indexes beside a crawl does while the crawl runs."""

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
from gossamer.index.progress import IndexProgress
from gossamer.index.tantivy import TantivyLocation, TantivyWriter
from gossamer.store.sqlite import SqliteStore
from helpers.store.crawl_steps import start, visit_all

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

HOME, NEXT = "http://a.test/", "http://a.test/next"


def test_the_links_of_a_graph_that_is_used_follow_before_the_crawl_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexing, "ANCHORS_DELAY_SECONDS", 0.0)
    with closing(SqliteStore.open(tmp_path / "web", create=True)) as store:
        visit_all(store, start(store, HOME), {HOME: []})
        open_bonds(store, tmp_path / "web" / "graph")
        visit_all(store, start(store, NEXT), {NEXT: [HOME]})
        looks = iter([False, True])
        with closing(IndexBuilder(store, partial(TantivyWriter, TantivyLocation(tmp_path / "index")))) as builder:
            keep = partial(indexing._update_graph, str(tmp_path / "web"), store)
            indexing.follow_changes(builder, lambda _: next(looks), keep)
        kept = load_manifest(tmp_path / "web" / "graph" / "bonds.json")
        assert kept is not None
        assert kept.version == store.version()


class Scripted:
    """A builder whose news come as a script says: in every second a number of documents, or None for no news at all."""

    def __init__(self, news: Callable[[int], int | None]) -> None:
        self._news = news
        self.second = 0
        self.progress = IndexProgress()
        self.rested: list[int] = []  # in which seconds

    def step(self) -> bool:
        self.second += 1
        put = self._news(self.second)
        if put is not None:
            before = self.progress
            self.progress = IndexProgress(version=before.version + 1, put=before.put + put)
        return True

    def go_idle(self) -> None:
        self.rested.append(self.second)

    def catch_up_anchors(self) -> None:
        pass


@pytest.mark.parametrize(
    ("news", "rested"),
    [
        pytest.param(lambda _: None, [], id="nothing was ever remembered"),
        pytest.param(lambda second: 400 if second <= 20 else None, [25], id="a crawl that ended"),
        pytest.param(lambda second: 7 if second % 2 else 0, [61, 122, 183], id="a few pages again and again"),
        pytest.param(lambda _: 200, [], id="a crawl at full speed"),
        pytest.param(lambda second: 200 if second <= 90 else 7, [181], id="a crawl that becomes slow"),
    ],
)
def test_an_index_with_little_to_do_gives_its_memory_back(
    news: Callable[[int], int | None], rested: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    builder = Scripted(news)
    monkeypatch.setattr(time, "monotonic", lambda: float(builder.second))
    indexing.follow_changes(builder, lambda _: builder.second >= 200)  # type: ignore[arg-type] # what it needs of one
    assert builder.rested == rested
