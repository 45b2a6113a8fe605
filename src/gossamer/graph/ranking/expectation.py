"""How important pages will be that nobody visited yet, for crawls in the order `best`.

The order counts backlinks as they are found. Once there are ranks it can do better: a link counts as much as the rank
it hands over, PageRank of its page divided by the number of its links, with 1 for the average link. So the units stay
the same, and backlinks found later are added as before (`crawl.policy`).
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
    """What is linked to and has no rank."""

    docs: npt.NDArray[np.int64]
    backlinks: npt.NDArray[np.float64]  # weighed


def expected_backlinks(bonds: BondTable, docs: Array, pagerank: Array) -> ExpectedBacklinks:
    """Weighed backlinks of all resources that are not among the ranked ones (`docs`)."""
    rows, final = bonds.rows, resolve_redirects(bonds)
    rank = np.zeros(len(final))
    rank[docs] = pagerank
    counts = np.diff(rows.starts)
    passed_rank = np.repeat(rank[rows.ids] / np.maximum(counts, 1), counts)  # 0 for redirects, which have no rank
    total = np.zeros(len(final))
    for start in range(0, len(passed_rank), EDGES_AT_ONCE):
        block = slice(start, start + EDGES_AT_ONCE)
        total += np.bincount(final[rows.targets[block]], passed_rank[block], minlength=len(final))
    links = np.count_nonzero(passed_rank)
    total[docs] = 0
    waiting = np.flatnonzero(total)
    return ExpectedBacklinks(waiting, total[waiting] * (links / passed_rank.sum() if links else 0.0))
