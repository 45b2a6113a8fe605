"""Hubs and authorities from a process of its own."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from gossamer.graph.ranking import hits_process
from gossamer.graph.ranking.algorithms import hits
from gossamer.graph.snapshot import open_graph
from gossamer.store.sqlite import SqliteStore
from helpers.store.crawl_steps import Policy, fetched, lease_all, leases, start

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator
    from pathlib import Path

    from gossamer.graph.snapshot import Graph

HOME, A, B = (f"http://a.test/{name}" for name in ("", "a", "b"))


@pytest.fixture
def graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Graph]:
    """Home links to both others, and one of them to the other; every graph counts as big."""
    monkeypatch.setattr(hits_process, "MIN_PROCESS_LINKS", 0)
    monkeypatch.setattr(hits_process, "available_cores", lambda: 2)
    store = SqliteStore.open(tmp_path / "web", create=True)
    crawler = start(store, HOME)
    for url, targets in ((HOME, (A, A, B)), (A, (B,)), (B, ())):
        lease = leases(lease_all(store, crawler, urls=1))[url]
        store.submit(crawler, [fetched(lease, *targets)], Policy(), now=time.time())
    yield open_graph(store, tmp_path)
    store.close()


@pytest.mark.parametrize("weighted", [False, True])
def test_another_process_finds_the_same(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, weighted: bool
) -> None:
    expected = hits(graph.pages, weighted=weighted)
    monkeypatch.setattr(hits_process, "hits", None)  # here it is not called
    with hits_process.start_hits(graph, tmp_path, weighted=weighted, on_progress=lambda _: None) as later:
        found = later()
    assert [values.tolist() for values in found] == [values.tolist() for values in expected]


def test_where_a_newer_graph_is_in_place_they_are_found_here(graph: Graph, tmp_path: Path) -> None:
    graph.stamp += 1
    with hits_process.start_hits(graph, tmp_path, weighted=False, on_progress=lambda _: None) as later:
        found = later()
    assert found.authorities.tolist() == hits(graph.pages).authorities.tolist()


def test_who_does_not_wait_for_them_leaves_no_process(
    graph: Graph, tmp_path: Path, started: list[subprocess.Popen[bytes]]
) -> None:
    with (
        pytest.raises(KeyboardInterrupt),
        hits_process.start_hits(graph, tmp_path, weighted=False, on_progress=lambda _: None),
    ):
        raise KeyboardInterrupt
    assert started[0].returncode is not None
