"""Distances in clicks: click depth from the seeds, and harmonic centrality.

`shortest_distances` is a breadth-first search, level by level over arrays. `harmonic_centrality` runs 64 searches per
machine word, one bit each. A page's searches are the union of its neighbours' searches, and a union is one `or`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import sparse

from gossamer.graph.bonds import gather_rows

if TYPE_CHECKING:
    import numpy.typing as npt

    from gossamer.graph import OnProgress
    from gossamer.graph.arrays import Array
    from gossamer.graph.snapshot import LinkMatrix

UNREACHED = -1
DENSE_DIVISOR = 16  # a level with more than 1/16 of all links is faster as a product with the whole matrix
WALK_WORDS = 4  # 64-bit words of searches per page: half a cache line
SAMPLE_PAGES = 256  # start pages of the estimate; its median error is 2 to 3 %
EXACT_WORK = 10_000_000_000  # pages times links up to which all pages are start pages: 3 to 4 seconds


class HarmonicCentrality(NamedTuple):
    """Harmonic centrality: for each page, the sum of 1 / clicks over all pages that reach it."""

    values: npt.NDArray[np.float64]
    method: str  # "exact" or "estimated from N pages"


def shortest_distances(starts: Array, neighbours: Array, sources: Array) -> npt.NDArray[np.int32]:
    """Return the distance of every node from the nearest source; -1: unreachable."""
    distance = np.full(len(starts) - 1, UNREACHED, np.int32)
    distance[sources] = 0
    frontier, level, matrix = np.flatnonzero(distance == 0), 0, None
    while len(frontier):
        level += 1
        if (starts[frontier + 1] - starts[frontier]).sum() * DENSE_DIVISOR > len(neighbours):
            matrix = _neighbour_matrix(starts, neighbours) if matrix is None else matrix
            reached = np.flatnonzero((matrix @ (distance == level - 1)) & (distance == UNREACHED))
        else:
            reached = neighbours[gather_rows(starts, frontier)[1]]
            reached = sorted_unique(reached[distance[reached] == UNREACHED])
        distance[reached] = level
        frontier = reached
    return distance


def sorted_unique(numbers: Array) -> Array:
    """Return each number once, sorted. Sorting is five times as fast as the hash table of `np.unique`."""
    ordered = np.sort(numbers)
    return ordered[np.flatnonzero(np.diff(ordered, prepend=-1))]


def _neighbour_matrix(starts: Array, neighbours: Array) -> sparse.csc_array:
    """Return the matrix whose product with a set of nodes is the set of their neighbours."""
    nodes = len(starts) - 1
    index = np.int32 if len(neighbours) < 2**31 else np.int64
    rows = sparse.csr_array((np.ones(len(neighbours), bool), neighbours, starts.astype(index)), shape=(nodes, nodes))
    return rows.T


def click_depths(links: LinkMatrix, seeds: Array) -> npt.NDArray[np.int32]:
    """Return the clicks from the nearest seed to each page; -1: unreachable."""
    return shortest_distances(links.starts, links.targets, seeds)


def harmonic_centrality(links: LinkMatrix, on_progress: OnProgress = lambda _: None) -> HarmonicCentrality:
    """Compute harmonic centrality: exactly if that takes seconds, else estimated from random start pages."""
    nodes = links.nodes
    exact = nodes <= SAMPLE_PAGES or nodes * links.edges <= EXACT_WORK
    # A fixed seed: ranking twice gives the same numbers.
    sources = np.arange(nodes) if exact else np.random.default_rng(nodes).choice(nodes, SAMPLE_PAGES, replace=False)
    total = np.zeros(nodes)
    for begin in range(0, len(sources), 64 * WALK_WORDS):
        on_progress(f"harmonic centrality: from {begin:,} of {len(sources):,} pages")
        _add_inverse_distances(links, sources[begin : begin + 64 * WALK_WORDS], total)
    if exact:
        return HarmonicCentrality(total, "exact")
    return HarmonicCentrality(total * (nodes / len(sources)), f"estimated from {len(sources)} pages")


def _add_inverse_distances(links: LinkMatrix, sources: Array, total: Array) -> None:
    """Search from up to 64 * WALK_WORDS pages at once; add 1 / clicks to every reached page."""
    linked = np.flatnonzero(np.diff(links.in_starts))  # reduceat cannot handle empty rows
    first = links.in_starts[linked]
    walk = np.arange(len(sources))
    seen = np.zeros((links.nodes, WALK_WORDS), np.uint64)
    np.bitwise_or.at(seen, (sources, walk // 64), np.uint64(1) << (walk % 64).astype(np.uint64))
    fresh = seen.copy()
    level = 0
    while fresh.any():
        level += 1
        arrived = np.bitwise_or.reduceat(fresh[links.sources], first, axis=0)
        arrived &= ~seen[linked]
        seen[linked] |= arrived
        fresh[:] = 0
        fresh[linked] = arrived
        total[linked] += np.bitwise_count(arrived).sum(axis=1) / level
