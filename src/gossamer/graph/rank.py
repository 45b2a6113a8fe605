"""How important pages are by their links: PageRank, hubs and authorities, and a score for people.

Pure functions over `Links`, and the file in which search finds the result: an array by DocID, mapped into memory.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gossamer.graph.arrays import Writer, alone_in, load_part

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import numpy.typing as npt

    from gossamer.graph.snapshot import Links

    Floats = npt.NDArray[np.float64]
    Tell = Callable[[str], None]

ALPHA = 0.85  # how often the random reader follows a link rather than starting anew
TOLERANCE = 1e-8  # change of a round, summed over all pages, that ends the iteration
# Lanczos' method takes 11 to 16 products with the matrix where power iteration takes 23 to 68, and no more where two
# communities are about as strong and power iteration takes thousands.
LANCZOS_VECTORS = 16  # kept at a time
LANCZOS_TRIES = 10
HITS_ROUNDS = 1000
PAGERANK = "pagerank"  # the part that search reads


class PageRank(NamedTuple):
    """The share of a random reader's time that each node gets."""

    values: Floats  # together 1
    iterations: int


class Hits(NamedTuple):
    """Kleinberg's hubs (they link to authorities) and authorities (hubs link to them), each together 1."""

    hubs: Floats
    authorities: Floats


def pagerank(
    links: Links,
    *,
    alpha: float = ALPHA,
    weighted: bool = False,
    start: Floats | None = None,
    dangling: Floats | None = None,
    tell: Tell = lambda _: None,
) -> PageRank:
    """PageRank by power iteration.

    `start`: how often the reader starts anew at which node; evenly if not given. `dangling`: where the reader goes from
    a node without links; if not given, as when starting anew.
    """
    nodes = links.nodes
    if not nodes:
        return PageRank(np.empty(0), 0)
    start = _shares(start, nodes)
    dangling = start if dangling is None else _shares(dangling, nodes)
    matrix = links.matrix(weighted=weighted)
    strength = matrix.sum(axis=0) if weighted else np.diff(links.starts).astype(np.float64)
    lost = np.flatnonzero(strength == 0)
    given = alpha / np.where(strength == 0, 1, strength)
    values = start.copy()
    most = math.ceil(math.log(TOLERANCE / 2) / math.log(alpha))  # every round shrinks the change at least by alpha
    for iteration in range(1, most + 1):
        before = values
        values = matrix @ (before * given)
        values += (alpha * before[lost].sum()) * dangling
        values += (1 - alpha) * start
        change = np.abs(values - before).sum()
        tell(f"PageRank: round {iteration}, change {change:.1e}")
        if change < TOLERANCE:
            break
    return PageRank(values / values.sum(), iteration)


def _shares(given: Floats | None, nodes: int) -> Floats:
    return np.full(nodes, 1 / nodes) if given is None else given / given.sum()


def hits(links: Links, *, weighted: bool = False, tell: Tell = lambda _: None) -> Hits:
    """Hubs and authorities: the dominant vector by Lanczos' method, polished by power iteration."""
    nodes = links.nodes
    if not links.edges:
        return Hits(np.zeros(nodes), np.zeros(nodes))
    forth, back = links.matrices(weighted=weighted)
    tell("hubs and authorities")
    authorities = np.abs(_dominant(lambda vector: forth @ (back @ vector), np.ones(nodes)))
    for iteration in range(1, HITS_ROUNDS):
        before = authorities / authorities.sum()
        authorities = forth @ (back @ before)
        authorities /= authorities.sum()
        change = np.abs(authorities - before).sum()
        tell(f"hubs and authorities: round {iteration}, change {change:.1e}")
        if change < TOLERANCE:
            break
    hubs = back @ authorities
    return Hits(hubs / hubs.sum(), authorities)


def _dominant(times: Callable[[Floats], Floats], vector: Floats) -> Floats:
    """The eigenvector of the greatest eigenvalue of a symmetric matrix, found from a vector by Lanczos' method.

    ARPACK does the same in three times the time: its BLAS keeps a second core busy waiting, and the vectors need not be
    made orthogonal again and again: they are until the eigenvector is found (Paige 1980), which is when this ends.
    """
    for _ in range(LANCZOS_TRIES):
        vectors = [vector / _length(vector)]
        middle: list[float] = []  # of the small matrix with the same great eigenvalues
        beside: list[float] = []
        while True:
            image = times(vectors[-1])
            middle.append(_dot(image, vectors[-1]))
            image -= middle[-1] * vectors[-1]
            if beside:
                image -= beside[-1] * vectors[-2]
            left = _length(image)
            values, parts = np.linalg.eigh(np.diag(middle) + np.diag(beside, 1) + np.diag(beside, -1))
            found = left * abs(parts[-1, -1]) <= TOLERANCE * values[-1]
            if found or len(vectors) == LANCZOS_VECTORS:
                break
            beside.append(left)
            vectors.append(image / left)
        vector = sum((part * each for part, each in zip(parts[:, -1], vectors, strict=True)), np.zeros(len(vector)))
        if found:
            break
    return vector


def _dot(one: Floats, other: Floats) -> float:
    return float(np.einsum("i,i", one, other))  # without BLAS


def _length(vector: Floats) -> float:
    return math.sqrt(_dot(vector, vector))


def score(values: Floats) -> Floats:
    """Values on a logarithmic scale from 0 (the least of them) to 100 (the greatest)."""
    positive = values[values > 0]
    if not len(positive):
        return np.zeros(len(values))
    least, most = positive.min(), positive.max()
    if most / least < 1 + 1e-9:
        return np.where(values > 0, 100.0, 0.0)
    spread: Floats = np.log(np.maximum(values, least) / least) / math.log(most / least)
    return np.clip(100 * spread, 0, 100).round(2)


# -- for search --------------------------------------------------------------------------------------------------------


def load_pagerank(directory: Path) -> npt.NDArray[np.float32] | None:
    """The PageRank score of every page by its DocID, 0..1 (0 too for what has none); None when it was not computed.

    DocIDs found since may lie beyond its end.
    """
    part = load_part(directory, PAGERANK)
    return part["scores"] if part is not None else None


def save_pagerank(directory: Path, docs: npt.NDArray[np.int32], scores: Floats, version: int) -> None:
    """Put a new array by DocID in place of the old one."""
    by_doc = np.zeros(int(docs.max()) + 1 if len(docs) else 1, np.float32)
    by_doc[docs] = scores / 100
    with alone_in(directory), Writer(directory, PAGERANK) as writer:
        writer.append("scores", by_doc)
        writer.publish(version)
