"""The graph built from a store: its contents, and that an update equals a new build."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING

import numpy as np
import pytest

from gossamer.graph import bonds as bonds_module
from gossamer.graph import snapshot as snapshot_module
from gossamer.graph.bonds import open_bonds
from gossamer.graph.snapshot import open_graph
from gossamer.model import Kind, VisitBatch
from helpers.store.crawl_steps import (
    Bond,
    Policy,
    Site,
    admit_all,
    candidate,
    digest,
    fetched_visit,
    gone_visit,
    lease_all,
    leases,
    redirected_visit,
    start,
    visit_all,
)

if TYPE_CHECKING:
    from pathlib import Path

    from gossamer.graph.snapshot import Graph
    from gossamer.store.protocol import Store

A, B, C, D = "http://a.test/", "http://a.test/b", "http://a.test/c", "http://a.test/d"
ELSEWHERE = "http://x.test/"


def edges(graph: Graph) -> dict[tuple[str, str], int]:
    """Return weights by the URLs of both ends; check that both directions agree."""
    links, urls = graph.pages, list(graph.urls())
    outgoing = {
        (urls[source], urls[target]): int(weight)
        for source in range(links.nodes)
        for target, weight in zip(*map(np.ndarray.tolist, links.out_of(source)), strict=True)
    }
    incoming = {
        (urls[source], urls[target]): int(weight)
        for target in range(links.nodes)
        for source, weight in zip(*map(np.ndarray.tolist, links.into(target)), strict=True)
    }
    assert outgoing == incoming
    return outgoing


def host_edges(graph: Graph) -> dict[tuple[str, str], int]:
    names = list(graph.host_names())
    return {
        (names[source], names[target]): int(weight)
        for source in range(graph.hosts.nodes)
        for target, weight in zip(*map(np.ndarray.tolist, graph.hosts.out_of(source)), strict=True)
    }


def test_an_edge_is_a_followed_hyperlink_between_different_visited_pages(store: Store, tmp_path: Path) -> None:
    site: Site = {
        A: [Bond(B, weight=2), Bond(B, anchor="again"), A, ELSEWHERE, Bond(C, follow=False), Bond(D, kind=Kind.IMAGE)],
        B: [A, "http://a.test/missing"],
        C: [Bond(A, kind=Kind.FRAME)],
    }
    visit_all(store, start(store, A, C), site, admit=Policy(host="a.test"))
    graph = open_graph(store, tmp_path / "graph")
    assert list(graph.urls()) == [A, B, C]
    assert edges(graph) == {(A, B): 3, (B, A): 1}


def test_unvisited_pages_are_included_on_request(store: Store, tmp_path: Path) -> None:
    visit_all(store, start(store, A), {A: [B, ELSEWHERE], B: [ELSEWHERE]}, admit=Policy(host="a.test"))
    graph = open_graph(store, tmp_path / "graph", include_unvisited=True)
    assert list(graph.urls()) == [A, B, ELSEWHERE]
    assert edges(graph) == {(A, B): 1, (A, ELSEWHERE): 1, (B, ELSEWHERE): 1}
    assert host_edges(graph) == {("a.test", "x.test"): 2}
    assert (graph.visited, graph.known) == (2, 3)
    visited = open_graph(store, tmp_path / "graph")
    assert list(visited.urls()) == [A, B]
    assert (visited.visited, visited.known) == (2, 3)


def test_a_redirect_passes_its_links_to_its_target(store: Store, tmp_path: Path) -> None:
    crawler = start(store, A)
    store.submit(
        crawler, VisitBatch(visits=[fetched_visit(leases(lease_all(store, crawler))[A], B, C)]), admit_all, time.time()
    )
    leased = leases(lease_all(store, crawler))
    store.submit(
        crawler,
        VisitBatch(visits=[redirected_visit(leased[B], C), redirected_visit(leased[C], D)]),
        admit_all,
        time.time(),
    )
    store.submit(
        crawler, VisitBatch(visits=[fetched_visit(leases(lease_all(store, crawler))[D], B)]), admit_all, time.time()
    )
    graph = open_graph(store, tmp_path / "graph")
    assert edges(graph) == {(A, D): 2}
    b = store.resource(digest(B))
    assert b is not None
    assert [graph.url(page) for page in graph.pages_of([b.id])] == [D]


def test_pages_are_ordered_by_reversed_host_and_path(store: Store, tmp_path: Path) -> None:
    urls = [
        "http://b.example/", "https://a.b.example/", "http://a.example/z", "http://a.example/a?q=1", "http://a.example/a",
        "https://a.example/a", "http://a.example:8080/", "http://10.0.0.2/", "http://[::1]:80/x",
    ]  # fmt: skip
    visit_all(store, start(store, *urls), {key: ["http://b.example/"] for key in urls})
    graph = open_graph(store, tmp_path / "graph")
    assert list(graph.urls()) == [
        "http://10.0.0.2/", "http://[::1]:80/x", "http://a.example/a", "https://a.example/a", "http://a.example/a?q=1",
        "http://a.example/z", "http://a.example:8080/", "http://b.example/", "https://a.b.example/",
    ]  # fmt: skip
    names = list(graph.host_names())
    assert len(set(names)) == len(names) == 6
    assert [names[host] for host in graph.host_of] == [url.split("/")[2] for url in graph.urls()]


def test_weights_between_hosts_are_summed(store: Store, tmp_path: Path) -> None:
    site: Site = {A: [Bond(ELSEWHERE, weight=3), B], B: [ELSEWHERE, A], ELSEWHERE: [B, Bond(A, weight=2)]}
    visit_all(store, start(store, A), site)
    graph = open_graph(store, tmp_path / "graph")
    assert host_edges(graph) == {("a.test", "x.test"): 4, ("x.test", "a.test"): 3}


def test_an_empty_web_has_an_empty_graph(store: Store, tmp_path: Path) -> None:
    graph = open_graph(store, tmp_path / "graph")
    assert (graph.pages.nodes, graph.pages.edges, graph.hosts.nodes) == (0, 0, 0)
    assert len(graph.pages_of([1, 2])) == 0


def test_an_unchanged_graph_is_not_written_again(store: Store, tmp_path: Path) -> None:
    visit_all(store, start(store, A), {A: [B], B: []})
    open_graph(store, tmp_path / "graph")
    files = {path: path.stat().st_mtime_ns for path in (tmp_path / "graph").rglob("*") if path.is_file()}
    open_graph(store, tmp_path / "graph")
    assert {path: path.stat().st_mtime_ns for path in files} == files


@pytest.mark.parametrize("seed", range(6))
def test_an_updated_graph_equals_a_new_one(
    store: Store, tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pages come, change, redirect, vanish and are forgotten at random; small blocks exercise all boundaries."""
    monkeypatch.setattr(bonds_module, "BLOCK_ROWS", 7)
    monkeypatch.setattr(snapshot_module, "EDGES_AT_ONCE", 11)
    monkeypatch.setattr(snapshot_module, "LINKS_AT_ONCE", 11)
    chance = random.Random(seed)
    urls = [f"http://{host}.test/{n}" for host in "abc" for n in range(20)]
    crawler = start(store, urls[0])
    for _ in range(8):
        for url in chance.sample(urls, 12):
            (lease,) = store.lease_urls(crawler, [candidate(url)], time.time())
            assert lease is not None
            match chance.choice(["page", "page", "page", "redirect", "gone"]):
                case "page":
                    targets = [Bond(to, weight=chance.randint(1, 3)) for to in chance.choices(urls, k=5)]
                    visit = fetched_visit(lease, *targets, body=str(chance.random()))
                case "redirect":
                    visit = redirected_visit(
                        lease, chance.choice([other for other in urls if other > url] or ["http://z.test/"])
                    )
                case _:
                    visit = gone_visit(lease)
            store.submit(crawler, VisitBatch(visits=[visit]), admit_all, time.time())
            if chance.random() < 0.1:
                store.forget(digest(chance.choice(urls)))
        updated = open_graph(store, tmp_path / "updated")
        rebuilt = open_graph(store, tmp_path / f"rebuilt-{store.version()}")
        assert list(updated.urls()) == list(rebuilt.urls())
        assert edges(updated) == edges(rebuilt)
        assert host_edges(updated) == host_edges(rebuilt)
        assert updated.docs.tolist() == rebuilt.docs.tolist()
        assert (updated.visited, updated.known, updated.version) == (rebuilt.visited, rebuilt.known, store.version())
    assert edges(updated)


def test_damaged_files_are_rebuilt(store: Store, tmp_path: Path) -> None:
    visit_all(store, start(store, A), {A: [B], B: [A]})
    directory = tmp_path / "graph"
    open_graph(store, directory)
    for targets in directory.glob("*/targets"):
        targets.write_bytes(b"")
    (directory / "visited.json").write_bytes(b"{")
    assert edges(open_graph(store, directory)) == {(A, B): 1, (B, A): 1}


def test_bonds_are_stored_by_doc_id(store: Store, tmp_path: Path) -> None:
    visit_all(store, start(store, A), {A: [ELSEWHERE, B], B: []}, admit=Policy(host="a.test"))
    bonds = open_bonds(store, tmp_path / "graph")
    assert [bonds.rows.url(row) for row in range(len(bonds.rows.ids))] == [A, B]
    assert len(bonds.rows.targets) == 2
    hosts = {host.id for host in store.hosts()}
    assert set(bonds.hosts[bonds.rows.targets].tolist()) == hosts
