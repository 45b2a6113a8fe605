"""Importance by links: equal to what other people's code says, on any graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

import networkx as nx
import numpy as np
import pytest
from hypothesis import given

from gossamer.graph.ranking.algorithms import hits, load_pagerank, pagerank, save_pagerank, score
from helpers.graph.random_graphs import any_graph, links, power_iteration, random_links, to_networkx

if TYPE_CHECKING:
    from pathlib import Path

    from gossamer.graph.snapshot import LinkMatrix


@any_graph
@given(random_links())
def test_pagerank_is_what_the_textbook_says(graph: LinkMatrix) -> None:
    assert pagerank(graph).values == pytest.approx(power_iteration(graph, rounds=150), abs=1e-7)


@any_graph
@given(random_links())
def test_weighted_pagerank_is_what_networkx_says(graph: LinkMatrix) -> None:
    expected = nx.pagerank(to_networkx(graph), tol=1e-12, max_iter=1000)
    assert pagerank(graph, weighted=True).values == pytest.approx(list(expected.values()), abs=1e-7)


@any_graph
@given(random_links())
def test_personalised_pagerank_is_what_networkx_says(graph: LinkMatrix) -> None:
    start = np.zeros(graph.nodes)
    start[0] = 2.0
    expected = nx.pagerank(
        to_networkx(graph), personalization={0: 1}, weight=None, tol=1e-12, max_iter=1000
    )  # fmt: skip
    assert pagerank(graph, start=start).values == pytest.approx(list(expected.values()), abs=1e-7)


def test_pagerank_ends_once_a_round_changes_next_to_nothing() -> None:
    ring = links(3, [(0, 1), (1, 2), (2, 0)])
    found = pagerank(ring)
    assert found.iterations == 1
    assert found.values == pytest.approx([1 / 3] * 3)


def test_no_pages_have_no_ranks() -> None:
    empty = links(0, [])
    assert len(pagerank(empty).values) == 0
    assert len(hits(empty).hubs) == 0
    assert len(score(np.empty(0))) == 0


def test_without_links_all_pages_are_alike() -> None:
    apart = links(4, [])
    assert pagerank(apart).values == pytest.approx([0.25] * 4)
    assert not hits(apart).authorities.any()


def test_weights_count_only_when_wanted() -> None:
    fork = links(3, [(0, 1), (0, 2), (1, 0), (2, 0)], [9, 1, 1, 1])
    plain, weighted = pagerank(fork).values, pagerank(fork, weighted=True).values
    assert plain[1] == pytest.approx(plain[2])
    assert weighted[1] > 2 * weighted[2]
    assert hits(fork, weighted=True).authorities[1] > 2 * hits(fork).authorities[1]


# -- hubs and authorities ----------------------------------------------------------------------------------------------


def test_hubs_link_to_what_hubs_link_to() -> None:
    # 0 and 1 list 2, 3 and 4; 5 lists 4 alone
    found = hits(links(6, [(0, 2), (0, 3), (0, 4), (1, 2), (1, 3), (1, 4), (5, 4)]))
    assert found.authorities[4] > found.authorities[2] > 0
    assert found.authorities[2] == pytest.approx(found.authorities[3])
    assert found.hubs[0] == pytest.approx(found.hubs[1])
    assert found.hubs[0] > found.hubs[5] > 0
    assert found.hubs.sum() == pytest.approx(1)
    assert found.authorities.sum() == pytest.approx(1)
    assert found.authorities[0] == found.hubs[4] == 0


def test_two_groups_that_are_almost_alike_are_told_apart() -> None:
    """Power iteration alone would take thousands of rounds: the strengths of the groups differ by 4 in a thousand."""
    size = 500
    one = [(0, target) for target in range(2, 2 + size)]
    other = [(1, target) for target in range(2 + size, 2 + 2 * size - 2)]
    found = hits(links(2 + 2 * size, one + other))
    assert found.authorities[2] == pytest.approx(1 / size, rel=1e-6)
    assert found.authorities[2 + size] == pytest.approx(0, abs=1e-6)


def test_authorities_are_found_where_that_takes_many_products() -> None:
    """Each hub lists two neighbours of a long row; the authorities are half a wave (strengths differ by one in 500)."""
    row = 60
    pairs = [(row + hub, row_ + hub) for hub in range(row - 1) for row_ in (0, 1)]
    pairs += [(2 * row, 0), (2 * row + 1, row - 1)]
    found = hits(links(2 * row + 2, pairs)).authorities[:row]
    wave = np.sin(np.pi * np.arange(1, row + 1) / (row + 1))
    assert found == pytest.approx(wave / wave.sum(), abs=1e-6)


@any_graph
@given(random_links())
def test_authorities_solve_their_equation(graph: LinkMatrix) -> None:
    """They are an eigenvector of A^T A (its dominant one, which networkx may give with parts of others mixed in)."""
    found = hits(graph)
    if not graph.edges:
        return
    matrix = np.column_stack([graph.inlink_matrix(weighted=False) @ column for column in np.eye(graph.nodes)])
    square = matrix @ matrix.T
    values = np.linalg.eigvalsh(square)
    image = square @ found.authorities
    assert image.sum() == pytest.approx(values[-1], rel=1e-4)


# -- scores ------------------------------------------------------------------------------------------------------------


def test_scores_run_from_0_to_100_on_a_logarithmic_scale() -> None:
    assert score(np.array([0.001, 0.01, 0.1])) == pytest.approx([0, 50, 100])
    assert score(np.array([0.0, 0.01, 0.1])) == pytest.approx([0, 0, 100])


def test_pages_that_are_alike_all_have_the_best_score() -> None:
    assert score(np.array([0.25, 0.25])).tolist() == [100, 100]


# -- for search --------------------------------------------------------------------------------------------------------


def test_search_finds_scores_by_docid(tmp_path: Path) -> None:
    assert load_pagerank(tmp_path) is None
    save_pagerank(tmp_path, np.array([7, 2], np.int32), np.array([100.0, 40.0]), version=3)
    found = load_pagerank(tmp_path)
    assert found is not None
    assert found.tolist() == pytest.approx([0, 0, 0.4, 0, 0, 0, 0, 1])
    save_pagerank(tmp_path, np.array([1], np.int32), np.array([50.0]), version=4)
    again = load_pagerank(tmp_path)
    assert again is not None
    assert again.tolist() == [0, 0.5]
    assert found[7] == 1, "who has the old one open keeps it"
