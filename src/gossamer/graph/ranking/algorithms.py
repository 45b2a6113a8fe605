"""How important pages are by their links: PageRank, hubs and authorities, and a score for people.

Pure functions over `Links`, and the file in which search finds the result: an array by DocID, mapped into memory.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gossamer.graph.arrays import ArrayWriter, directory_lock, load_bundle
from gossamer.graph.ranking.eigenvector import correct_eigenvector, dominant_eigenvector
from gossamer.graph.ranking.matrix import row_sums

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import numpy.typing as npt

    from gossamer.graph.ranking.matrix import BlockMatrix
    from gossamer.graph.snapshot import LinkMatrix

    Floats = npt.NDArray[np.float64]
    ShortFloats = npt.NDArray[np.float32]
    OnProgress = Callable[[str], None]

ALPHA = 0.85  # how often the random reader follows a link rather than starting anew
TOLERANCE = 1e-8  # change of a round, summed over all pages, that ends the iteration
# What a big web's products with the matrix wait for are numbers that are not in the processor's cache. Of those with 32
# bits twice as many fit: such a product takes half the time. They are right to a millionth, so whatever they find is
# put right with numbers of 64 bits.
QUICK_TOLERANCE = 1e-5  # of what they are to find
QUICK_SUM = 1e20  # what they are made to sum up to: near zero they would be slow
HITS_ROUNDS = 1000
HITS_CORRECTIONS = 3  # of them: one is enough, unless there are vectors that are about as dominant
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
    links: LinkMatrix,
    *,
    alpha: float = ALPHA,
    weighted: bool = False,
    start: Floats | None = None,
    dangling: Floats | None = None,
    on_progress: OnProgress = lambda _: None,
) -> PageRank:
    """PageRank by power iteration: a round in 64 bits, then what its change brings about, in 32, and so on.

    `start`: how often the reader starts anew at which node; evenly if not given. `dangling`: where the reader goes from
    a node without links; if not given, as when starting anew.
    """
    nodes = links.nodes
    if not nodes:
        return PageRank(np.empty(0), 0)
    start = _normalize_shares(start, nodes)
    dangling = start if dangling is None else _normalize_shares(dangling, nodes)
    matrix = links.inlink_matrix(weighted=weighted)
    strength = row_sums(links.starts, links.weights) if weighted else np.diff(links.starts)
    share_per_link = alpha / np.where(strength == 0, 1, strength)
    max_rounds = math.ceil(
        math.log(TOLERANCE / 2) / math.log(alpha)
    )  # every round shrinks the change at least by alpha
    single_precision = _SinglePrecision(
        matrix, share_per_link.astype(np.float32), np.asarray(dangling, np.float32), max_rounds
    )
    values = np.broadcast_to(start, nodes).copy()
    iterations = 0
    for _ in range(max_rounds):
        change = matrix @ (values * share_per_link)
        change += (alpha - change.sum()) * dangling  # what came to nodes without links
        change += (1 - alpha) * start
        change -= values
        values += change
        iterations += 1
        size = float(np.abs(change).sum())
        on_progress(f"PageRank: round {iterations}, change {size:.1e}")
        if size < TOLERANCE:
            break
        rounds, propagated = single_precision.propagate_change(change, size)
        values += propagated
        np.maximum(values, 0, out=values)
        iterations += rounds
    return PageRank(values / values.sum(), iterations)


class _SinglePrecision(NamedTuple):
    """Rounds of PageRank with numbers of 32 bits."""

    matrix: BlockMatrix
    share_per_link: ShortFloats
    dangling: ShortFloats  # one number when it is the same for all
    max_rounds: int

    def propagate_change(self, change: Floats, size: float) -> tuple[int, ShortFloats]:
        """What a change brings about in the rounds to come, and in how many."""
        scale = QUICK_SUM / size
        least = max(QUICK_TOLERANCE * size, TOLERANCE * 0.8) * scale
        part = (change * scale).astype(np.float32)
        total = np.zeros_like(part)
        rounds = 0
        while rounds < self.max_rounds and np.abs(part).sum() > least:
            part = self.matrix @ (part * self.share_per_link)
            part -= part.sum() * self.dangling  # the sum stays 0, also where rounding is in the way
            total += part
            rounds += 1
        return rounds, total / np.float32(scale)


def _normalize_shares(weights: Floats | None, nodes: int) -> Floats:
    """What each node gets; one number when it is the same for all, which spares an array."""
    return np.asarray(1 / nodes) if weights is None else weights / weights.sum()


def hits(links: LinkMatrix, *, weighted: bool = False, on_progress: OnProgress = lambda _: None) -> Hits:
    """Hubs and authorities: the dominant vector by Lanczos' method in 32 bits, put right in 64."""
    nodes = links.nodes
    if not links.edges:
        return Hits(np.zeros(nodes), np.zeros(nodes))
    matrix = links.inlink_matrix(weighted=weighted)
    multiply = matrix.gram_product
    on_progress("hubs and authorities")
    linked = np.diff(links.in_starts).astype(np.float32)  # what authorities are when all are hubs
    authorities = dominant_eigenvector(multiply, linked, QUICK_TOLERANCE)
    for iteration in range(1, HITS_ROUNDS):
        before = np.abs(authorities).astype(np.float64)
        before /= before.sum()
        hubs = matrix.transposed_product(before)
        image = matrix @ hubs
        authorities = image / image.sum()
        change = np.abs(authorities - before).sum()
        on_progress(f"hubs and authorities: round {iteration}, change {change:.1e}")
        if change < TOLERANCE:
            break
        if iteration <= HITS_CORRECTIONS:
            authorities = correct_eigenvector(multiply, before, image, max(QUICK_TOLERANCE, TOLERANCE / change / 3))
        elif iteration == HITS_CORRECTIONS + 1:
            authorities = dominant_eigenvector(multiply, authorities, TOLERANCE)
    return Hits(hubs / hubs.sum(), authorities)


def score(values: Floats) -> Floats:
    """Values on a logarithmic scale from 0 (the least of them) to 100 (the greatest)."""
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
    """The PageRank score of every page by its DocID, 0..1 (0 too for what has none); None when it was not computed.

    DocIDs found since may lie beyond its end.
    """
    bundle = load_bundle(directory, PAGERANK)
    return bundle["scores"] if bundle is not None else None


def save_pagerank(directory: Path, docs: npt.NDArray[np.int32], scores: Floats, version: int) -> None:
    """Put a new array by DocID in place of the old one."""
    by_doc = np.zeros(int(docs.max()) + 1 if len(docs) else 1, np.float32)
    by_doc[docs] = scores / 100
    with directory_lock(directory), ArrayWriter(directory, PAGERANK) as writer:
        writer.append("scores", by_doc)
        writer.publish(version)
