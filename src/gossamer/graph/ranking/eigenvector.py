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
    MatrixProduct = Callable[[Array], Array]  # the product with the matrix, in the precision of the vector

MAX_VECTORS = 16  # kept at a time
MAX_RESTARTS = 10


def dominant_eigenvector(multiply: MatrixProduct, vector: Array, tolerance: float) -> Array:
    """The eigenvector of the greatest eigenvalue, found from a vector."""
    for _ in range(MAX_RESTARTS):
        space = _KrylovSpace(multiply, vector)
        while True:
            eigenvalues, eigenvectors = np.linalg.eigh(space.grow())
            converged = space.residual_norm * abs(eigenvectors[-1, -1]) <= tolerance * eigenvalues[-1]
            if converged or space.is_full:
                break
        vector = space.combine(eigenvectors[:, -1])
        if converged:
            break
    return vector


def correct_eigenvector(multiply: MatrixProduct, vector: Floats, image: Floats, tolerance: float) -> Floats:
    """A vector that is nearly the eigenvector, with what it lacks (the correction equation of Jacobi and Davidson).

    What it lacks is small, so that products in 32 bits are good enough to find it to 64; `image` is one in 64.
    """
    length = _norm(vector)
    unit = (vector / length).astype(np.float32)
    value = _dot(vector, image) / length**2
    residual = image / value - vector
    size = _norm(residual)

    def multiply_orthogonally(direction: Array) -> Array:
        product = multiply(direction)
        product -= _dot(product, unit) * unit
        return product

    space = _KrylovSpace(multiply_orthogonally, (residual / size).astype(np.float32))
    while True:
        small = space.grow() / value
        identity = np.eye(len(small))
        # Least squares: where another vector is as dominant, nothing can be said of its share.
        coefficients = np.linalg.lstsq(identity - small, identity[0], rcond=tolerance)[0]
        if space.residual_norm * abs(coefficients[-1]) <= tolerance * value or space.is_full:
            return vector + space.combine(size * coefficients)


class _KrylovSpace:
    """Orthogonal vectors, each made from the one before: seen among them the matrix is small and tridiagonal."""

    def __init__(self, multiply: MatrixProduct, vector: Array) -> None:
        self._multiply = multiply
        self._next = vector / _norm(vector)
        self._vectors: list[Array] = []
        self._diagonal: list[float] = []
        self._off_diagonal: list[float] = []
        self.residual_norm = 0.0  # length of what the matrix makes of the last vector and is not among them

    @property
    def is_full(self) -> bool:
        """Whether there are as many as are kept at a time."""
        return len(self._vectors) == MAX_VECTORS

    def grow(self) -> Floats:
        """Add a vector; returns the small matrix."""
        if self._vectors:
            self._off_diagonal.append(self.residual_norm)
        self._vectors.append(self._next)
        image = self._multiply(self._next)
        self._diagonal.append(_dot(image, self._next))
        image -= self._diagonal[-1] * self._next
        if self._off_diagonal:
            image -= self._off_diagonal[-1] * self._vectors[-2]
        self.residual_norm = _norm(image)
        self._next = image / self.residual_norm if self.residual_norm else image
        return np.diag(self._diagonal) + np.diag(self._off_diagonal, 1) + np.diag(self._off_diagonal, -1)

    def combine(self, coefficients: Floats) -> Array:
        """The vector that has these shares of them."""
        total = np.zeros_like(self._next)
        for coefficient, vector in zip(coefficients.tolist(), self._vectors, strict=True):
            total += coefficient * vector
        return total


def _dot(one: Array, other: Array) -> float:
    return float(np.einsum("i,i", one, other))  # without BLAS


def _norm(vector: Array) -> float:
    return math.sqrt(_dot(vector, vector))
