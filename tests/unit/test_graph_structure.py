"""Graph structure: equal to networkx and igraph on any graph."""

from __future__ import annotations

import random
from collections import defaultdict
from typing import TYPE_CHECKING

import igraph
import networkx as nx
import numpy as np
import pytest
from hypothesis import given

from gossamer.graph.ranking import distances
from gossamer.graph.ranking.distances import click_depths, harmonic_centrality
from gossamer.graph.structure import (
    BOWTIE,
    UndirectedGraph,
    bow_tie,
    components,
    relabel_by_size,
    related_pages,
    symmetric_edges,
)
from helpers.graph.random_graphs import any_graph, links, random_links, to_networkx

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gossamer.graph.snapshot import LinkMatrix


def groups(labels: Iterable[int]) -> set[frozenset[int]]:
    members: dict[int, set[int]] = defaultdict(set)
    for node, label in enumerate(labels):
        members[label].add(node)
    return {frozenset(nodes) for nodes in members.values()}


# -- components --------------------------------------------------------------------------------------------------------


@any_graph
@given(random_links())
def test_strong_components_equal_networkx(graph: LinkMatrix) -> None:
    expected = {frozenset(each) for each in nx.strongly_connected_components(to_networkx(graph))}
    result = components(graph)
    assert groups(result.labels.tolist()) == expected
    assert result.total == len(expected)


def test_groups_are_numbered_by_size_then_by_their_first_member() -> None:
    assert relabel_by_size(np.array([5, 3, 3, 9, 7, 9, 3])).tolist() == [2, 0, 0, 1, 3, 1, 0]


def test_bow_tie_names_the_part_of_each_page() -> None:
    # 0-1-2 are the core; 3 links into it, and it links to 4; 5 is a tube from 3 to 4.
    # 6 is a tendril from 3, 7 one to 4; 8 and 9 are apart.
    pairs = [(0, 1), (1, 2), (2, 0), (3, 0), (2, 4), (3, 5), (5, 4), (3, 6), (7, 4), (8, 9)]
    graph = links(10, pairs)
    parts = [BOWTIE[part] for part in bow_tie(graph, components(graph).labels)]
    assert parts == ["core", "core", "core", "in", "out", "tube", "tendril", "tendril", "apart", "apart"]


def test_an_empty_graph_has_no_structure() -> None:
    empty = links(0, [])
    assert components(empty).total == 0
    assert len(bow_tie(empty, components(empty).labels)) == 0
    assert len(harmonic_centrality(empty).values) == 0
    assert UndirectedGraph(empty).communities().total == 0


# -- distances ---------------------------------------------------------------------------------------------------------


@any_graph
@given(random_links())
def test_depth_is_the_shortest_path_from_a_seed(graph: LinkMatrix) -> None:
    seeds = sorted({0, graph.nodes - 1})
    expected = nx.multi_source_dijkstra_path_length(to_networkx(graph), set(seeds), weight=None)
    depths = click_depths(graph, np.array(seeds))
    assert {node: depth for node, depth in enumerate(depths.tolist()) if depth >= 0} == expected


@any_graph
@given(random_links())
def test_harmonic_centrality_is_exact_on_small_graphs(graph: LinkMatrix) -> None:
    expected = nx.harmonic_centrality(to_networkx(graph))
    result = harmonic_centrality(graph)
    assert result.method == "exact"
    assert result.values == pytest.approx([expected[node] for node in range(graph.nodes)])


def test_harmonic_centrality_walks_from_many_pages_in_batches() -> None:
    ring = links(700, [(node, (node + 1) % 700) for node in range(700)])
    assert harmonic_centrality(ring).values == pytest.approx([sum(1 / d for d in range(1, 700))] * 700)


def test_harmonic_centrality_is_estimated_and_labelled_on_big_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    source, target = rng.integers(0, 3_000, 30_000), (3_000 * rng.random(30_000) ** 3).astype(int)
    graph = links(3_000, np.column_stack([source, target]).tolist())
    exact = harmonic_centrality(graph)
    assert exact.method == "exact"
    monkeypatch.setattr(distances, "EXACT_WORK", 0)
    result = harmonic_centrality(graph)
    assert result.method == "estimated from 256 pages"
    reached = exact.values > 0
    errors = np.abs(result.values[reached] / exact.values[reached] - 1)
    assert np.median(errors) < 0.05
    assert harmonic_centrality(graph).values.tolist() == result.values.tolist(), "the same every time"


# -- communities and cores ---------------------------------------------------------------------------------------------


def cliques(*sizes: int) -> list[tuple[int, int]]:
    """Return the links of cliques of these sizes, each joined to the next by one link."""
    pairs, first = [], 0
    for size in sizes:
        members = range(first, first + size)
        pairs += [(a, b) for a in members for b in members if a != b]
        pairs.append((first + size - 1, first + size))
        first += size
    return pairs[:-1]


def test_cliques_become_communities() -> None:
    result = UndirectedGraph(links(12, cliques(3, 5, 4))).communities()
    assert result.labels.tolist() == [2] * 3 + [0] * 5 + [1] * 4
    assert result.total == 3
    assert result.modularity > 0.5


def test_communities_are_deterministic_and_about_as_good_as_igraph() -> None:
    rng = np.random.default_rng(3)
    group = rng.integers(0, 20, 2_000)
    source, target = rng.integers(0, 2_000, 60_000), rng.integers(0, 2_000, 60_000)
    selected = (group[source] == group[target]) | (rng.random(60_000) < 0.05)
    graph = links(2_000, np.column_stack([source[selected], target[selected]]).tolist())
    result = UndirectedGraph(graph).communities()
    assert UndirectedGraph(graph).communities().labels.tolist() == result.labels.tolist()
    edges = symmetric_edges(graph)
    other = igraph.Graph(n=2_000, edges=list(zip(edges.row.tolist(), edges.col.tolist(), strict=True)))
    weights = edges.data.tolist()
    random.seed(1)  # igraph uses the random numbers of Python
    best = other.community_leiden(objective_function="modularity", weights=weights, n_iterations=-1)
    assert other.modularity(result.labels.tolist(), weights=weights) == pytest.approx(result.modularity, abs=1e-9)
    assert result.modularity >= 0.98 * other.modularity(best.membership, weights=weights)


@any_graph
@given(random_links())
def test_cores_equal_networkx(graph: LinkMatrix) -> None:
    expected = nx.core_number(to_networkx(graph).to_undirected())
    assert UndirectedGraph(graph).cores().tolist() == [expected[node] for node in range(graph.nodes)]


# -- related pages -----------------------------------------------------------------------------------------------------


def test_pages_linked_together_are_more_related_than_popular_pages() -> None:
    # 0..3 link to the twins 4 and 5; all of 0..9 link to 10; only 0 links to 11
    pairs = [(page, twin) for page in range(4) for twin in (4, 5)] + [(page, 10) for page in range(10)] + [(0, 11)]
    related = related_pages(links(12, pairs), 4)
    assert [each.page for each in related] == [5, 10, 11]
    assert [each.together for each in related] == [4, 4, 1]
    assert [each.similarity for each in related] == pytest.approx([1.0, 4 / 40**0.5, 0.5])


def test_a_page_without_inlinks_has_no_related_pages() -> None:
    assert related_pages(links(2, [(0, 1)]), 0) == []
