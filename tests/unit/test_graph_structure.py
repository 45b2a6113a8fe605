"""The shape of graphs: equal to what other people's code says, on any graph."""

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
    found: dict[int, set[int]] = defaultdict(set)
    for node, label in enumerate(labels):
        found[label].add(node)
    return {frozenset(nodes) for nodes in found.values()}


# -- components --------------------------------------------------------------------------------------------------------


@any_graph
@given(random_links())
def test_strong_components_are_those_of_networkx(graph: LinkMatrix) -> None:
    expected = {frozenset(each) for each in nx.strongly_connected_components(to_networkx(graph))}
    found = components(graph)
    assert groups(found.labels.tolist()) == expected
    assert found.total == len(expected)


def test_groups_are_numbered_by_size_then_by_their_first_member() -> None:
    assert relabel_by_size(np.array([5, 3, 3, 9, 7, 9, 3])).tolist() == [2, 0, 0, 1, 3, 1, 0]


def test_the_parts_of_a_bow_tie() -> None:
    # 0-1-2 the core; 3 leads to it, 4 is led to; 5 a tube from 3 to 4; 6 hangs on 3, 7 leads to 4; 8 and 9 are apart
    pairs = [(0, 1), (1, 2), (2, 0), (3, 0), (2, 4), (3, 5), (5, 4), (3, 6), (7, 4), (8, 9)]
    graph = links(10, pairs)
    found = [BOWTIE[part] for part in bow_tie(graph, components(graph).labels)]
    assert found == ["core", "core", "core", "in", "out", "tube", "tendril", "tendril", "apart", "apart"]


def test_nothing_has_no_shape() -> None:
    empty = links(0, [])
    assert components(empty).total == 0
    assert len(bow_tie(empty, components(empty).labels)) == 0
    assert len(harmonic_centrality(empty).values) == 0
    assert UndirectedGraph(empty).communities().total == 0


# -- distances ---------------------------------------------------------------------------------------------------------


@any_graph
@given(random_links())
def test_depth_is_the_shortest_way_from_a_seed(graph: LinkMatrix) -> None:
    seeds = sorted({0, graph.nodes - 1})
    expected = nx.multi_source_dijkstra_path_length(to_networkx(graph), set(seeds), weight=None)
    found = click_depths(graph, np.array(seeds))
    assert {node: depth for node, depth in enumerate(found.tolist()) if depth >= 0} == expected


@any_graph
@given(random_links())
def test_harmonic_centrality_is_exact_on_small_graphs(graph: LinkMatrix) -> None:
    expected = nx.harmonic_centrality(to_networkx(graph))
    found = harmonic_centrality(graph)
    assert found.method == "exact"
    assert found.values == pytest.approx([expected[node] for node in range(graph.nodes)])


def test_more_pages_than_fit_into_a_word_are_walked_from_in_turns() -> None:
    ring = links(700, [(node, (node + 1) % 700) for node in range(700)])
    assert harmonic_centrality(ring).values == pytest.approx([sum(1 / d for d in range(1, 700))] * 700)


def test_harmonic_centrality_is_estimated_on_big_graphs_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    chance = np.random.default_rng(5)
    source, target = chance.integers(0, 3_000, 30_000), (3_000 * chance.random(30_000) ** 3).astype(int)
    graph = links(3_000, np.column_stack([source, target]).tolist())
    exact = harmonic_centrality(graph)
    assert exact.method == "exact"
    monkeypatch.setattr(distances, "EXACT_WORK", 0)
    found = harmonic_centrality(graph)
    assert found.method == "estimated from 256 pages"
    reached = exact.values > 0
    errors = np.abs(found.values[reached] / exact.values[reached] - 1)
    assert np.median(errors) < 0.05
    assert harmonic_centrality(graph).values.tolist() == found.values.tolist(), "the same every time"


# -- communities and cores ---------------------------------------------------------------------------------------------


def cliques(*sizes: int) -> list[tuple[int, int]]:
    """Groups in which everybody links to everybody, each joined to the next by one link."""
    pairs, first = [], 0
    for size in sizes:
        members = range(first, first + size)
        pairs += [(a, b) for a in members for b in members if a != b]
        pairs.append((first + size - 1, first + size))
        first += size
    return pairs[:-1]


def test_groups_that_link_among_themselves_are_communities() -> None:
    found = UndirectedGraph(links(12, cliques(3, 5, 4))).communities()
    assert found.labels.tolist() == [2] * 3 + [0] * 5 + [1] * 4
    assert found.total == 3
    assert found.modularity > 0.5


def test_communities_are_about_as_good_as_those_of_igraph_and_the_same_every_time() -> None:
    chance = np.random.default_rng(3)
    group = chance.integers(0, 20, 2_000)
    source, target = chance.integers(0, 2_000, 60_000), chance.integers(0, 2_000, 60_000)
    kept = (group[source] == group[target]) | (chance.random(60_000) < 0.05)
    graph = links(2_000, np.column_stack([source[kept], target[kept]]).tolist())
    found = UndirectedGraph(graph).communities()
    assert UndirectedGraph(graph).communities().labels.tolist() == found.labels.tolist()
    edges = symmetric_edges(graph)
    other = igraph.Graph(n=2_000, edges=list(zip(edges.row.tolist(), edges.col.tolist(), strict=True)))
    weights = edges.data.tolist()
    random.seed(1)  # igraph asks Python for its random numbers
    best = other.community_leiden(objective_function="modularity", weights=weights, n_iterations=-1)
    assert other.modularity(found.labels.tolist(), weights=weights) == pytest.approx(found.modularity, abs=1e-9)
    assert found.modularity >= 0.98 * other.modularity(best.membership, weights=weights)


@any_graph
@given(random_links())
def test_cores_are_those_of_networkx(graph: LinkMatrix) -> None:
    expected = nx.core_number(to_networkx(graph).to_undirected())
    assert UndirectedGraph(graph).cores().tolist() == [expected[node] for node in range(graph.nodes)]


# -- related pages -----------------------------------------------------------------------------------------------------


def test_pages_linked_together_are_related_and_what_everybody_links_to_is_not() -> None:
    # 0..3 list the twins 4 and 5; everybody (0..9) links to 10; 11 is listed with 4 once
    pairs = [(page, twin) for page in range(4) for twin in (4, 5)] + [(page, 10) for page in range(10)] + [(0, 11)]
    found = related_pages(links(12, pairs), 4)
    assert [one.page for one in found] == [5, 10, 11]
    assert [one.together for one in found] == [4, 4, 1]
    assert [one.similarity for one in found] == pytest.approx([1.0, 4 / 40**0.5, 0.5])


def test_a_page_without_links_is_related_to_nothing() -> None:
    assert related_pages(links(2, [(0, 1)]), 0) == []
