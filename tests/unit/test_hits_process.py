"""Hubs and authorities computed in a separate process."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from gossamer.graph.ranking import hits_process
from gossamer.graph.ranking.hits import hits
from gossamer.graph.snapshot import open_graph
from gossamer.model import VisitBatch
from gossamer.store.sqlite import open_sqlite_store
from helpers.store.crawl_steps import Policy, fetched_visit, lease_all, leases, start

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator
    from pathlib import Path

    from gossamer.graph.snapshot import Graph

HOME, A, B = (f"http://a.test/{name}" for name in ("", "a", "b"))


@pytest.fixture
def graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Graph]:
    """Yield a graph of three linked pages; every graph counts as big."""
    monkeypatch.setattr(hits_process, "MIN_PROCESS_LINKS", 0)
    monkeypatch.setattr(hits_process, "available_cores", lambda: 2)
    store = open_sqlite_store(tmp_path / "web", create=True)
    crawler = start(store, HOME)
    for url, targets in ((HOME, (A, A, B)), (A, (B,)), (B, ())):
        lease = leases(lease_all(store, crawler, urls=1))[url]
        store.submit(crawler, VisitBatch(visits=[fetched_visit(lease, *targets)]), Policy(), time.time())
    yield open_graph(store, tmp_path)
    store.close()


@pytest.mark.parametrize("weighted", [False, True])
def test_the_process_computes_the_same_values(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, weighted: bool
) -> None:
    expected = hits(graph.pages, weighted=weighted)
    monkeypatch.setattr(hits_process, "hits", None)  # this process must not compute them
    with hits_process.start_hits(graph, tmp_path, weighted=weighted, on_progress=lambda _: None) as get_result:
        result = get_result()
    assert [values.tolist() for values in result] == [values.tolist() for values in expected]


def test_an_outdated_graph_is_computed_in_this_process(graph: Graph, tmp_path: Path) -> None:
    graph.stamp += 1
    with hits_process.start_hits(graph, tmp_path, weighted=False, on_progress=lambda _: None) as get_result:
        result = get_result()
    assert result.authorities.tolist() == hits(graph.pages).authorities.tolist()


def test_an_interrupted_caller_leaves_no_process(
    graph: Graph, tmp_path: Path, started_processes: list[subprocess.Popen[bytes]]
) -> None:
    with (
        pytest.raises(KeyboardInterrupt),
        hits_process.start_hits(graph, tmp_path, weighted=False, on_progress=lambda _: None),
    ):
        raise KeyboardInterrupt
    assert started_processes[0].returncode is not None
