"""The dominant eigenvector of a big symmetric matrix, which is given only as a function: its product with a vector.

Lanczos' method needs 11 to 16 products, power iteration 23 to 68, and thousands if two eigenvalues are nearly equal.
ARPACK takes three times as long: its BLAS keeps a second core busy, and it orthogonalizes all vectors repeatedly.
That is unnecessary here: they stay orthogonal until an eigenvector converges (Paige 1980), and then the search ends.
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
    MatrixProduct = Callable[[Array], Array]  # multiplies the matrix by a vector, in its precision

MAX_VECTORS = 16  # of a Krylov space; bounds memory
MAX_RESTARTS = 10  # each starts from the best vector so far


def dominant_eigenvector(multiply: MatrixProduct, vector: Array, tolerance: float) -> Array:
    """Return the eigenvector of the greatest eigenvalue, searched from a start vector."""
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
    """Return an approximate eigenvector plus its correction (the correction equation of Jacobi and Davidson).

    The correction is small, so products in 32 bits compute it well enough for a result in 64 bits.
    `image` is the product with `vector` in 64 bits.
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
        # Least squares: the equation is singular if another eigenvector is as dominant.
        coefficients = np.linalg.lstsq(identity - small, identity[0], rcond=tolerance)[0]
        if space.residual_norm * abs(coefficients[-1]) <= tolerance * value or space.is_full:
            return vector + space.combine(size * coefficients)


class _KrylovSpace:
    """Orthogonal vectors, each made from the previous one. In their basis the matrix is small and tridiagonal."""

    def __init__(self, multiply: MatrixProduct, vector: Array) -> None:
        self._multiply = multiply
        self._next = vector / _norm(vector)
        self._vectors: list[Array] = []
        self._diagonal: list[float] = []
        self._off_diagonal: list[float] = []
        self.residual_norm = 0.0  # length of the last product's part outside the space

    @property
    def is_full(self) -> bool:
        """Whether the space has `MAX_VECTORS` vectors."""
        return len(self._vectors) == MAX_VECTORS

    def grow(self) -> Floats:
        """Add a vector; return the small matrix."""
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
        """Return the linear combination with these coefficients."""
        total = np.zeros_like(self._next)
        for coefficient, vector in zip(coefficients.tolist(), self._vectors, strict=True):
            total += coefficient * vector
        return total


def _dot(one: Array, other: Array) -> float:
    return float(np.einsum("i,i", one, other))  # einsum does not use BLAS, whose threads would compete


def _norm(vector: Array) -> float:
    return math.sqrt(_dot(vector, vector))
