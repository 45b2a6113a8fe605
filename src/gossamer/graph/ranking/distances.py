"""Distances in clicks: from the seeds, from everywhere, and to everywhere.

`reach` walks level by level over arrays. `harmonic` walks from 64 pages at once, a bit of a word for each: the walks
that arrive at a page are the union of those that were at its neighbours, and a union is one instruction.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import sparse

from gossamer.graph.bonds import gather_rows

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from gossamer.graph.arrays import Array
    from gossamer.graph.snapshot import LinkMatrix

UNREACHED = -1
DENSE_DIVISOR = (
    16  # a level with more than this part of all links is quicker looked at as a product with the whole matrix
)
WALK_WORDS = 4  # of 64 bits: as many walks at once as fit into half a cache line
SAMPLE_PAGES = 256  # pages that the estimate walks from: 2 to 3 % off in the median
EXACT_WORK = 10_000_000_000  # pages times links up to which it walks from all pages: 3 to 4 seconds


class HarmonicCentrality(NamedTuple):
    """Harmonic centrality: for each page the sum of 1 / clicks over all pages that lead to it."""

    values: npt.NDArray[np.float64]
    method: str  # "exact", or from how many pages it was estimated


def shortest_distances(starts: Array, neighbours: Array, sources: Array) -> npt.NDArray[np.int32]:
    """The distance of every node from the nearest source along rows of neighbours; -1: there is no way."""
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
    """Every number once, in order. By sorting: the hash table of `np.unique` takes five times as long."""
    ordered = np.sort(numbers)
    return ordered[np.flatnonzero(np.diff(ordered, prepend=-1))]


def _neighbour_matrix(starts: Array, neighbours: Array) -> sparse.csc_array:
    """The matrix whose product with a set of nodes is the set of all their neighbours."""
    nodes = len(starts) - 1
    index = np.int32 if len(neighbours) < 2**31 else np.int64
    rows = sparse.csr_array((np.ones(len(neighbours), bool), neighbours, starts.astype(index)), shape=(nodes, nodes))
    return rows.T


def click_depths(links: LinkMatrix, seeds: Array) -> npt.NDArray[np.int32]:
    """Clicks from the seeds; -1: no way leads there."""
    return shortest_distances(links.starts, links.targets, seeds)


def harmonic_centrality(links: LinkMatrix, on_progress: Callable[[str], None] = lambda _: None) -> HarmonicCentrality:
    """Harmonic centrality of all pages: exact where that takes seconds, otherwise estimated from random pages."""
    nodes = links.nodes
    exact = nodes <= SAMPLE_PAGES or nodes * links.edges <= EXACT_WORK
    # The same pages every time: who ranks twice wants the same numbers.
    sources = np.arange(nodes) if exact else np.random.default_rng(nodes).choice(nodes, SAMPLE_PAGES, replace=False)
    total = np.zeros(nodes)
    for begin in range(0, len(sources), 64 * WALK_WORDS):
        on_progress(f"harmonic centrality: from {begin:,} of {len(sources):,} pages")
        _add_inverse_distances(links, sources[begin : begin + 64 * WALK_WORDS], total)
    if exact:
        return HarmonicCentrality(total, "exact")
    return HarmonicCentrality(total * (nodes / len(sources)), f"estimated from {len(sources)} pages")


def _add_inverse_distances(links: LinkMatrix, sources: Array, total: Array) -> None:
    """Walk from up to 64 * WORDS pages at once and add 1 / clicks to what is reached."""
    linked = np.flatnonzero(np.diff(links.in_starts))  # reduceat knows no empty rows
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
