"""Products with a graph's matrix, cut into blocks of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.graph.ranking.matrix import row_sums
from helpers.graph.random_graphs import any_graph, random_links

if TYPE_CHECKING:
    from gossamer.graph.snapshot import LinkMatrix


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@any_graph
@given(graph=random_links(), at_once=st.integers(1, 5), weighted=st.booleans())
def test_a_product_is_what_the_whole_matrix_makes_of_it(
    dtype: type[np.floating], graph: LinkMatrix, at_once: int, weighted: bool
) -> None:
    """However few links are taken at a time, also fewer than a row has."""
    whole = np.zeros((graph.nodes, graph.nodes))
    source = np.repeat(np.arange(graph.nodes), np.diff(graph.starts))
    whole[graph.targets, source] = graph.weights if weighted else 1
    vector = np.arange(1, graph.nodes + 1).astype(dtype)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gossamer.graph.ranking.matrix.LINKS_AT_ONCE", at_once)
        matrix = graph.inlink_matrix(weighted=weighted)
        gets, gives, both = matrix @ vector, matrix.transposed_product(vector), matrix.gram_product(vector)
    assert gets.dtype == gives.dtype == both.dtype == dtype
    assert gets.tolist() == (whole @ vector).tolist()
    assert gives.tolist() == (whole.T @ vector).tolist()
    assert both.tolist() == (whole @ (whole.T @ vector)).tolist()


def test_sums_of_rows_know_empty_ones() -> None:
    sums = row_sums(np.array([0, 0, 2, 2, 3, 3]), np.array([1, 2, 4], np.int32))
    assert sums.tolist() == [0, 3, 0, 4, 0]
