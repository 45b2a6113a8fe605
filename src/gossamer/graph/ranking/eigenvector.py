"""The dominant eigenvector of a big symmetric matrix, of which nothing is known but what it makes of a vector.

Lanczos' method takes 11 to 16 products with the matrix where power iteration takes 23 to 68, and no more where two
communities are about as strong and power iteration takes thousands. ARPACK does the same in three times the time: its
BLAS keeps a second core busy waiting, and the vectors need not be made orthogonal again and again: they are until an
eigenvector is found (Paige 1980), which is when this ends.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from gossamer.graph.arrays import Array

    Floats = npt.NDArray[np.float64]
    Times = Callable[[Array], Array]  # the product with the matrix, in the precision of the vector

VECTORS = 16  # kept at a time
TRIES = 10


def dominant(times: Times, vector: Array, tolerance: float) -> Array:
    """The eigenvector of the greatest eigenvalue, found from a vector."""
    for _ in range(TRIES):
        space = _Space(times, vector)
        while True:
            values, parts = np.linalg.eigh(space.grow())
            found = space.left * abs(parts[-1, -1]) <= tolerance * values[-1]
            if found or space.full:
                break
        vector = space.combined(parts[:, -1])
        if found:
            break
    return vector


def corrected(times: Times, vector: Floats, image: Floats, tolerance: float) -> Floats:
    """A vector that is nearly the eigenvector, with what it lacks (the correction equation of Jacobi and Davidson).

    What it lacks is small, so that products in 32 bits are good enough to find it to 64; `image` is one in 64.
    """
    length = _length(vector)
    unit = (vector / length).astype(np.float32)
    value = _dot(vector, image) / length**2
    left_over = image / value - vector
    size = _length(left_over)

    def beside(part: Array) -> Array:
        turned = times(part)
        turned -= _dot(turned, unit) * unit
        return turned

    space = _Space(beside, (left_over / size).astype(np.float32))
    while True:
        small = space.grow() / value
        one = np.eye(len(small))
        # Least squares: where another vector is as dominant, nothing can be said of its share.
        shares = np.linalg.lstsq(one - small, one[0], rcond=tolerance)[0]
        if space.left * abs(shares[-1]) <= tolerance * value or space.full:
            return vector + space.combined(size * shares)


class _Space:
    """Orthogonal vectors, each made from the one before: seen among them the matrix is small and tridiagonal."""

    def __init__(self, times: Times, vector: Array) -> None:
        self._times = times
        self._next = vector / _length(vector)
        self._vectors: list[Array] = []
        self._middle: list[float] = []
        self._beside: list[float] = []
        self.left = 0.0  # length of what the matrix makes of the last vector and is not among them

    @property
    def full(self) -> bool:
        """Whether there are as many as are kept at a time."""
        return len(self._vectors) == VECTORS

    def grow(self) -> Floats:
        """Add a vector; returns the small matrix."""
        if self._vectors:
            self._beside.append(self.left)
        self._vectors.append(self._next)
        image = self._times(self._next)
        self._middle.append(_dot(image, self._next))
        image -= self._middle[-1] * self._next
        if self._beside:
            image -= self._beside[-1] * self._vectors[-2]
        self.left = _length(image)
        self._next = image / self.left if self.left else image
        return np.diag(self._middle) + np.diag(self._beside, 1) + np.diag(self._beside, -1)

    def combined(self, shares: Floats) -> Array:
        """The vector that has these shares of them."""
        total = np.zeros_like(self._next)
        for share, vector in zip(shares.tolist(), self._vectors, strict=True):
            total += share * vector
        return total


def _dot(one: Array, other: Array) -> float:
    return float(np.einsum("i,i", one, other))  # without BLAS


def _length(vector: Array) -> float:
    return math.sqrt(_dot(vector, vector))
