"""HITS: hubs and authorities of a graph. A pure function."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gossamer.graph.ranking.eigenvector import correct_eigenvector, dominant_eigenvector
from gossamer.graph.ranking.pagerank import QUICK_TOLERANCE, TOLERANCE

if TYPE_CHECKING:
    import numpy.typing as npt

    from gossamer.graph import OnProgress
    from gossamer.graph.snapshot import LinkMatrix

    Floats = npt.NDArray[np.float64]

HITS_ROUNDS = 1000  # at most
HITS_CORRECTIONS = 3  # rounds with a correction; one suffices unless two eigenvalues are nearly equal


class Hits(NamedTuple):
    """Kleinberg's hubs (they link to authorities) and authorities (hubs link to them). Each sums to 1."""

    hubs: Floats
    authorities: Floats


def hits(links: LinkMatrix, *, weighted: bool = False, on_progress: OnProgress = lambda _: None) -> Hits:
    """Compute hubs and authorities: the dominant eigenvector by Lanczos' method in 32 bits, corrected in 64."""
    nodes = links.nodes
    if not links.edges:
        return Hits(np.zeros(nodes), np.zeros(nodes))
    matrix = links.inlink_matrix(weighted=weighted)
    multiply = matrix.gram_product
    on_progress("hubs and authorities")
    linked = np.diff(links.in_starts).astype(np.float32)  # the authorities if all nodes are equal hubs
    authorities = dominant_eigenvector(multiply, linked, QUICK_TOLERANCE)
    for iteration in range(1, HITS_ROUNDS):
        before = np.abs(authorities).astype(np.float64)
        before /= before.sum()
        hubs = matrix.transposed_product(before)
        image = matrix @ hubs
        authorities = image / image.sum()
        change = np.abs(authorities - before).sum()
        on_progress(f"hubs and authorities: iteration {iteration}, change {change:.1e}")
        if change < TOLERANCE:
            break
        if iteration <= HITS_CORRECTIONS:
            authorities = correct_eigenvector(multiply, before, image, max(QUICK_TOLERANCE, TOLERANCE / change / 3))
        elif iteration == HITS_CORRECTIONS + 1:
            authorities = dominant_eigenvector(multiply, authorities, TOLERANCE)
    return Hits(hubs / hubs.sum(), authorities)
