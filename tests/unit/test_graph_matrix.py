"""Products with the matrix of a graph, computed in blocks of rows."""

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
def test_products_in_blocks_equal_products_with_the_dense_matrix(
    dtype: type[np.floating], graph: LinkMatrix, at_once: int, weighted: bool
) -> None:
    """This holds for any block size, even one smaller than a row."""
    dense = np.zeros((graph.nodes, graph.nodes))
    source = np.repeat(np.arange(graph.nodes), np.diff(graph.starts))
    dense[graph.targets, source] = graph.weights if weighted else 1
    vector = np.arange(1, graph.nodes + 1).astype(dtype)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gossamer.graph.ranking.matrix.LINKS_AT_ONCE", at_once)
        matrix = graph.inlink_matrix(weighted=weighted)
        product, transposed, gram = matrix @ vector, matrix.transposed_product(vector), matrix.gram_product(vector)
    assert product.dtype == transposed.dtype == gram.dtype == dtype
    assert product.tolist() == (dense @ vector).tolist()
    assert transposed.tolist() == (dense.T @ vector).tolist()
    assert gram.tolist() == (dense @ (dense.T @ vector)).tolist()


def test_row_sums_handle_empty_rows() -> None:
    sums = row_sums(np.array([0, 0, 2, 2, 3, 3]), np.array([1, 2, 4], np.int32))
    assert sums.tolist() == [0, 3, 0, 4, 0]
