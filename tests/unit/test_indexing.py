"""What the process that indexes beside a crawl does while the crawl runs."""

from __future__ import annotations

from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING

from gossamer import indexing
from gossamer.graph.arrays import load_manifest
from gossamer.graph.bonds import open_bonds
from gossamer.index.build import Builder
from gossamer.index.tantivy import IndexPlace, TantivyWriter
from gossamer.store.sqlite import SqliteStore
from storing import start, visit_all

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

HOME, NEXT = "http://a.test/", "http://a.test/next"


def test_the_links_of_a_graph_that_is_used_follow_before_the_crawl_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexing, "ANCHORS_SECONDS", 0.0)
    with closing(SqliteStore.open(tmp_path / "web", create=True)) as store:
        visit_all(store, start(store, HOME), {HOME: []})
        open_bonds(store, tmp_path / "web" / "graph")
        visit_all(store, start(store, NEXT), {NEXT: [HOME]})
        looks = iter([False, True])
        with closing(Builder(store, partial(TantivyWriter, IndexPlace(tmp_path / "index")))) as builder:
            keep = partial(indexing._keep_graph, str(tmp_path / "web"), store)
            indexing.follow(builder, lambda _: next(looks), keep)
        kept = load_manifest(tmp_path / "web" / "graph" / "bonds.json")
        assert kept is not None
        assert kept.version == store.version()
