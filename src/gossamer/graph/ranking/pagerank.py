"""PageRank, a score from 0 to 100, and the score array by DocID that search maps into memory.

`pagerank` and `score` are pure functions.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gossamer.graph.arrays import ArrayWriter, directory_lock, load_bundle
from gossamer.graph.ranking.matrix import row_sums

if TYPE_CHECKING:
    from pathlib import Path

    import numpy.typing as npt

    from gossamer.graph import OnProgress
    from gossamer.graph.ranking.matrix import BlockMatrix
    from gossamer.graph.snapshot import LinkMatrix

    Floats = npt.NDArray[np.float64]
    ShortFloats = npt.NDArray[np.float32]

ALPHA = 0.85  # probability that the random reader follows a link instead of jumping to a start page
TOLERANCE = 1e-8  # sum of all changes in a round that ends the iteration
# On a big web a matrix product waits for numbers that are not in the processor cache. In 32 bits twice as many fit, so
# a product takes half the time. Its results have a relative error of 1e-6; rounds in 64 bits correct them.
QUICK_TOLERANCE = 1e-5  # relative, for rounds in 32 bits
QUICK_SUM = 1e20  # scale of vectors in 32 bits: denormal numbers near zero would be slow
PAGERANK = "pagerank"  # name of the bundle that search reads


class PageRank(NamedTuple):
    """The share of a random reader's time that each node gets."""

    values: Floats  # their sum is 1
    iterations: int


def pagerank(
    links: LinkMatrix,
    *,
    alpha: float = ALPHA,
    weighted: bool = False,
    start: Floats | None = None,
    dangling: Floats | None = None,
    on_progress: OnProgress = lambda _: None,
) -> PageRank:
    """Compute PageRank by power iteration.

    A round in 64 bits gives a change; rounds in 32 bits propagate it; this repeats until the change is small.
    `start`: weights of the start nodes; default: all equal. `dangling`: weights of the nodes that the reader jumps to
    from a node without links; default: `start`.
    """
    nodes = links.nodes
    if not nodes:
        return PageRank(np.empty(0), 0)
    start = _normalize_shares(start, nodes)
    dangling = start if dangling is None else _normalize_shares(dangling, nodes)
    matrix = links.inlink_matrix(weighted=weighted)
    strength = row_sums(links.starts, links.weights) if weighted else np.diff(links.starts)
    share_per_link = alpha / np.where(strength == 0, 1, strength)
    # Every round shrinks the change at least by the factor alpha.
    max_rounds = math.ceil(math.log(TOLERANCE / 2) / math.log(alpha))
    single_precision = _SinglePrecision(
        matrix, share_per_link.astype(np.float32), np.asarray(dangling, np.float32), max_rounds
    )
    values = np.broadcast_to(start, nodes).copy()
    iterations = 0
    for _ in range(max_rounds):
        change = matrix @ (values * share_per_link)
        change += (alpha - change.sum()) * dangling  # the share of nodes without links
        change += (1 - alpha) * start
        change -= values
        values += change
        iterations += 1
        size = float(np.abs(change).sum())
        on_progress(f"PageRank: iteration {iterations}, change {size:.1e}")
        if size < TOLERANCE:
            break
        rounds, propagated = single_precision.propagate_change(change, size)
        values += propagated
        np.maximum(values, 0, out=values)
        iterations += rounds
    return PageRank(values / values.sum(), iterations)


class _SinglePrecision(NamedTuple):
    """PageRank rounds in 32 bits."""

    matrix: BlockMatrix
    share_per_link: ShortFloats
    dangling: ShortFloats  # a scalar if all nodes have the same
    max_rounds: int

    def propagate_change(self, change: Floats, size: float) -> tuple[int, ShortFloats]:
        """Return the number of rounds and the sum of all changes that follow from a change."""
        scale = QUICK_SUM / size
        least = max(QUICK_TOLERANCE * size, TOLERANCE * 0.8) * scale
        part = (change * scale).astype(np.float32)
        total = np.zeros_like(part)
        rounds = 0
        while rounds < self.max_rounds and np.abs(part).sum() > least:
            part = self.matrix @ (part * self.share_per_link)
            part -= part.sum() * self.dangling  # keeps the sum at 0 despite rounding
            total += part
            rounds += 1
        return rounds, total / np.float32(scale)


def _normalize_shares(weights: Floats | None, nodes: int) -> Floats:
    """Return weights with the sum 1; a scalar if all nodes have the same, which saves an array."""
    return np.asarray(1 / nodes) if weights is None else weights / weights.sum()


def score(values: Floats) -> Floats:
    """Map values to a logarithmic scale from 0 (the least) to 100 (the greatest)."""
    positive = values[values > 0]
    if not len(positive):
        return np.zeros(len(values))
    least, most = positive.min(), positive.max()
    if most / least < 1 + 1e-9:
        return np.where(values > 0, 100.0, 0.0)
    scaled: Floats = np.log(np.maximum(values, least) / least) / math.log(most / least)
    return np.clip(100 * scaled, 0, 100).round(2)


# -- for search --------------------------------------------------------------------------------------------------------


def load_pagerank(directory: Path) -> npt.NDArray[np.float32] | None:
    """Return PageRank scores (0..1) by DocID, 0 for unranked resources; None before the first ranking.

    DocIDs discovered after the ranking may lie beyond the end of the array.
    """
    bundle = load_bundle(directory, PAGERANK)
    return bundle["scores"] if bundle is not None else None


def save_pagerank(directory: Path, docs: npt.NDArray[np.int32], scores: Floats, version: int) -> None:
    """Replace the score array by a new one."""
    by_doc = np.zeros(int(docs.max()) + 1 if len(docs) else 1, np.float32)
    by_doc[docs] = scores / 100
    with directory_lock(directory), ArrayWriter(directory, PAGERANK) as writer:
        writer.append("scores", by_doc)
        writer.publish(version)
