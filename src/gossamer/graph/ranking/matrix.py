"""Products of a graph's matrix with vectors: most of the work of ranking.

scipy needs a value for every link, even if all are 1. That costs half a gigabyte for 40,000,000 links, and the time of
a few products. So `BlockMatrix` multiplies blocks of rows that share one array of ones.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse._sparsetools import csc_matvec  # public functions allocate a full vector per block

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from gossamer.graph.arrays import Array

LINKS_AT_ONCE = 1 << 18  # links per block; its ones stay in the processor cache
MAX_FILLED_SHARE = 0.75  # below this share of filled columns, empty ones are left out to save cache


class _Block(NamedTuple):
    rows: slice
    links: slice
    starts: npt.NDArray[np.int32]
    columns: npt.NDArray[np.int32]


class BlockMatrix:
    """A sparse matrix in blocks of rows: ones or weights in the columns of a node's neighbours.

    `filled`: the columns that are not empty.
    """

    def __init__(self, starts: Array, columns: Array, weights: Array | None, filled: Array) -> None:
        self._nodes = len(starts) - 1
        self._weights = weights
        self._filled = filled if len(filled) < MAX_FILLED_SHARE * self._nodes else None
        self._width = self._nodes if self._filled is None else len(filled)
        self._blocks = list(_build_blocks(starts, columns, self._filled))
        self._matrices: dict[np.dtype[np.generic], list[sparse.csr_array]] = {}

    def __matmul__(self, vector: Array) -> Array:
        """Multiply by a vector, in its precision."""
        return self._row_products(vector if self._filled is None else vector[self._filled])

    def transposed_product(self, vector: Array) -> Array:
        """Multiply the transposed matrix by a vector, in its precision."""
        sums = self._column_sums(vector)
        if self._filled is None:
            return sums
        product = np.zeros_like(vector)
        product[self._filled] = sums
        return product

    def gram_product(self, vector: Array) -> Array:
        """Multiply the transposed matrix by a vector, then the matrix by the result."""
        return self._row_products(self._column_sums(vector))

    def _row_products(self, compact: Array) -> Array:
        product = np.empty(self._nodes, compact.dtype)
        for block, matrix in self._block_matrices(compact.dtype):
            product[block.rows] = matrix @ compact
        return product

    def _column_sums(self, vector: Array) -> Array:
        """Multiply the transposed matrix by a vector, without the empty columns.

        Goes row by row too: rows of well-linked pages are long and sorted. That takes half the time of going through
        the short rows of the transposed matrix.
        """
        sums = np.zeros(self._width, vector.dtype)
        for block, matrix in self._block_matrices(vector.dtype):
            rows, columns = matrix.shape
            csc_matvec(columns, rows, matrix.indptr, matrix.indices, matrix.data, vector[block.rows], sums)
        return sums

    def _block_matrices(self, dtype: np.dtype[np.generic]) -> Iterator[tuple[_Block, sparse.csr_array]]:
        if dtype not in self._matrices:
            self._matrices[dtype] = list(self._convert_blocks(dtype))
        return zip(self._blocks, self._matrices[dtype], strict=True)

    def _convert_blocks(self, dtype: np.dtype[np.generic]) -> Iterator[sparse.csr_array]:
        ones = np.ones(max((len(block.columns) for block in self._blocks), default=0), dtype)
        for block in self._blocks:
            data = ones[: len(block.columns)] if self._weights is None else self._weights[block.links].astype(dtype)
            shape = (len(block.starts) - 1, self._width)
            yield sparse.csr_array((data, block.columns, block.starts), shape=shape)


def _build_blocks(starts: Array, columns: Array, filled: Array | None) -> Iterator[_Block]:
    """Yield blocks of about `LINKS_AT_ONCE` links, with columns renumbered among the filled ones."""
    nodes = len(starts) - 1
    number = np.zeros(nodes, np.int32)
    if filled is not None:
        number[filled] = np.arange(len(filled))
    for rows, links in _row_ranges(starts):
        block_starts = (starts[rows.start : rows.stop + 1] - links.start).astype(np.int32)
        yield _Block(rows, links, block_starts, columns[links] if filled is None else number[columns[links]])


def _row_ranges(starts: Array) -> Iterator[tuple[slice, slice]]:
    """Yield ranges of rows with about `LINKS_AT_ONCE` links, and the ranges of those links."""
    boundaries = np.searchsorted(starts, np.arange(LINKS_AT_ONCE, starts[-1], LINKS_AT_ONCE))
    for first, end in pairwise([0, *boundaries.tolist(), len(starts) - 1]):
        if first < end:
            yield slice(first, end), slice(int(starts[first]), int(starts[end]))


def row_sums(starts: Array, weights: Array) -> Array:
    """Return the sum of each row, from differences of a cumulative sum.

    numpy's `reduceat` takes five times as long for short rows and cannot handle empty ones.
    """
    sums = np.zeros(len(starts) - 1, np.int64)
    for rows, links in _row_ranges(starts):
        cumulative = np.zeros(links.stop - links.start + 1, np.int64)
        np.cumsum(weights[links], out=cumulative[1:])
        sums[rows] = np.diff(cumulative[starts[rows.start : rows.stop + 1] - links.start])
    return sums
