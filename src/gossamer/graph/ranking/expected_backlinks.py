"""Expected importance of unvisited pages, for crawls in the order `best`.

Without ranks, that order counts backlinks. With ranks, a link counts by the rank that it passes on: its page's PageRank
divided by the page's links. The average link counts as 1. So the unit stays the same, and `crawl.policy` adds later
backlinks as usual.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gossamer.graph.snapshot import EDGES_AT_ONCE, resolve_redirects

if TYPE_CHECKING:
    import numpy.typing as npt

    from gossamer.graph.arrays import Array
    from gossamer.graph.bonds import BondTable


class ExpectedBacklinks(NamedTuple):
    """Linked resources without a rank, and their weighted backlinks."""

    docs: npt.NDArray[np.int64]
    backlinks: npt.NDArray[np.float64]  # weighted by rank


def expected_backlinks(bonds: BondTable, docs: Array, pagerank: Array) -> ExpectedBacklinks:
    """Return weighted backlinks of all resources that are not ranked (not in `docs`)."""
    rows, final = bonds.rows, resolve_redirects(bonds)
    rank = np.zeros(len(final))
    rank[docs] = pagerank
    counts = np.diff(rows.starts)
    passed_rank = np.repeat(rank[rows.ids] / np.maximum(counts, 1), counts)  # 0 for redirects: they have no rank
    total = np.zeros(len(final))
    for start in range(0, len(passed_rank), EDGES_AT_ONCE):
        block = slice(start, start + EDGES_AT_ONCE)
        total += np.bincount(final[rows.targets[block]], passed_rank[block], minlength=len(final))
    links = np.count_nonzero(passed_rank)
    total[docs] = 0
    waiting = np.flatnonzero(total)
    return ExpectedBacklinks(waiting, total[waiting] * (links / passed_rank.sum() if links else 0.0))
