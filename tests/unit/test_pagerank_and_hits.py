"""PageRank, HITS and scores: equal to independent implementations on any graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

import networkx as nx
import numpy as np
import pytest
from hypothesis import given

from gossamer.graph.ranking.hits import hits
from gossamer.graph.ranking.pagerank import load_pagerank, pagerank, save_pagerank, score
from helpers.graph.random_graphs import any_graph, links, power_iteration, random_links, to_networkx

if TYPE_CHECKING:
    from pathlib import Path

    from gossamer.graph.snapshot import LinkMatrix


@any_graph
@given(random_links())
def test_pagerank_equals_plain_power_iteration(graph: LinkMatrix) -> None:
    assert pagerank(graph).values == pytest.approx(power_iteration(graph, rounds=150), abs=1e-7)


@any_graph
@given(random_links())
def test_weighted_pagerank_equals_networkx(graph: LinkMatrix) -> None:
    expected = nx.pagerank(to_networkx(graph), tol=1e-12, max_iter=1000)
    assert pagerank(graph, weighted=True).values == pytest.approx(list(expected.values()), abs=1e-7)


@any_graph
@given(random_links())
def test_personalised_pagerank_equals_networkx(graph: LinkMatrix) -> None:
    start = np.zeros(graph.nodes)
    start[0] = 2.0
    expected = nx.pagerank(
        to_networkx(graph), personalization={0: 1}, weight=None, tol=1e-12, max_iter=1000
    )  # fmt: skip
    assert pagerank(graph, start=start).values == pytest.approx(list(expected.values()), abs=1e-7)


def test_pagerank_stops_when_an_iteration_changes_almost_nothing() -> None:
    ring = links(3, [(0, 1), (1, 2), (2, 0)])
    result = pagerank(ring)
    assert result.iterations == 1
    assert result.values == pytest.approx([1 / 3] * 3)


def test_an_empty_graph_has_no_ranks() -> None:
    empty = links(0, [])
    assert len(pagerank(empty).values) == 0
    assert len(hits(empty).hubs) == 0
    assert len(score(np.empty(0))) == 0


def test_pages_without_links_have_equal_ranks() -> None:
    isolated = links(4, [])
    assert pagerank(isolated).values == pytest.approx([0.25] * 4)
    assert not hits(isolated).authorities.any()


def test_weights_count_only_in_weighted_ranks() -> None:
    fork = links(3, [(0, 1), (0, 2), (1, 0), (2, 0)], [9, 1, 1, 1])
    plain, weighted = pagerank(fork).values, pagerank(fork, weighted=True).values
    assert plain[1] == pytest.approx(plain[2])
    assert weighted[1] > 2 * weighted[2]
    assert hits(fork, weighted=True).authorities[1] > 2 * hits(fork).authorities[1]


# -- hubs and authorities ----------------------------------------------------------------------------------------------


def test_hubs_and_authorities_reinforce_each_other() -> None:
    # 0 and 1 link to 2, 3 and 4; 5 links to 4 alone
    result = hits(links(6, [(0, 2), (0, 3), (0, 4), (1, 2), (1, 3), (1, 4), (5, 4)]))
    assert result.authorities[4] > result.authorities[2] > 0
    assert result.authorities[2] == pytest.approx(result.authorities[3])
    assert result.hubs[0] == pytest.approx(result.hubs[1])
    assert result.hubs[0] > result.hubs[5] > 0
    assert result.hubs.sum() == pytest.approx(1)
    assert result.authorities.sum() == pytest.approx(1)
    assert result.authorities[0] == result.hubs[4] == 0


def test_hits_separates_two_almost_equal_groups() -> None:
    """Power iteration alone would need thousands of iterations: the eigenvalues differ by 0.4 %."""
    size = 500
    one = [(0, target) for target in range(2, 2 + size)]
    other = [(1, target) for target in range(2 + size, 2 + 2 * size - 2)]
    result = hits(links(2 + 2 * size, one + other))
    assert result.authorities[2] == pytest.approx(1 / size, rel=1e-6)
    assert result.authorities[2 + size] == pytest.approx(0, abs=1e-6)


def test_hits_converges_where_eigenvalues_are_close() -> None:
    """Each hub links to two neighbours in a long row; the authorities form half a sine wave."""
    row = 60
    pairs = [(row + hub, offset + hub) for hub in range(row - 1) for offset in (0, 1)]
    pairs += [(2 * row, 0), (2 * row + 1, row - 1)]
    authorities = hits(links(2 * row + 2, pairs)).authorities[:row]
    wave = np.sin(np.pi * np.arange(1, row + 1) / (row + 1))
    assert authorities == pytest.approx(wave / wave.sum(), abs=1e-6)


@any_graph
@given(random_links())
def test_authorities_are_the_dominant_eigenvector(graph: LinkMatrix) -> None:
    """Check the equation itself, because networkx may mix other eigenvectors into its result."""
    result = hits(graph)
    if not graph.edges:
        return
    matrix = np.column_stack([graph.inlink_matrix(weighted=False) @ column for column in np.eye(graph.nodes)])
    square = matrix @ matrix.T
    values = np.linalg.eigvalsh(square)
    image = square @ result.authorities
    assert image.sum() == pytest.approx(values[-1], rel=1e-4)


# -- scores ------------------------------------------------------------------------------------------------------------


def test_scores_run_from_0_to_100_on_a_logarithmic_scale() -> None:
    assert score(np.array([0.001, 0.01, 0.1])) == pytest.approx([0, 50, 100])
    assert score(np.array([0.0, 0.01, 0.1])) == pytest.approx([0, 0, 100])


def test_equal_pages_all_get_the_best_score() -> None:
    assert score(np.array([0.25, 0.25])).tolist() == [100, 100]


# -- stored scores -----------------------------------------------------------------------------------------------------


def test_stored_scores_are_indexed_by_docid(tmp_path: Path) -> None:
    assert load_pagerank(tmp_path) is None
    save_pagerank(tmp_path, np.array([7, 2], np.int32), np.array([100.0, 40.0]), version=3)
    scores = load_pagerank(tmp_path)
    assert scores is not None
    assert scores.tolist() == pytest.approx([0, 0, 0.4, 0, 0, 0, 0, 1])
    save_pagerank(tmp_path, np.array([1], np.int32), np.array([50.0]), version=4)
    newer = load_pagerank(tmp_path)
    assert newer is not None
    assert newer.tolist() == [0, 0.5]
    assert scores[7] == 1, "a reader keeps the old file"
