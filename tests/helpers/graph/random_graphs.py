"""Random graphs for tests of the graph package, also in the form of other libraries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from gossamer.graph.snapshot import LinkMatrix

if TYPE_CHECKING:
    from collections.abc import Sequence

# Generating graphs is slow.
any_graph = settings(max_examples=60)


def links(nodes: int, pairs: Sequence[tuple[int, int]], weights: Sequence[int] | None = None) -> LinkMatrix:
    """Build a graph from pairs of nodes."""
    source, target = np.array(pairs, np.int64).reshape(-1, 2).T
    return LinkMatrix.from_edges(nodes, source, target, None if weights is None else np.array(weights))


def to_networkx(graph: LinkMatrix) -> nx.DiGraph:
    """Return the same graph for networkx."""
    other: Any = nx.DiGraph()
    other.add_nodes_from(range(graph.nodes))
    source = np.repeat(np.arange(graph.nodes), np.diff(graph.starts))
    rows = zip(source.tolist(), graph.targets.tolist(), graph.weights.tolist(), strict=True)
    other.add_weighted_edges_from(rows)
    return other


@st.composite
def random_links(draw: st.DrawFn, most: int = 12) -> LinkMatrix:
    """Draw any small graph: dangling nodes, isolated nodes, cycles and parallel links."""
    nodes = draw(st.integers(1, most))
    node = st.integers(0, nodes - 1)
    pairs = draw(st.lists(st.tuples(node, node), max_size=40))
    weights = draw(st.lists(st.integers(1, 5), min_size=len(pairs), max_size=len(pairs)))
    return links(nodes, pairs, weights)


def power_iteration(graph: LinkMatrix, alpha: float = 0.85, rounds: int = 300) -> list[float]:
    """Compute PageRank as in a textbook: a loop over pages and links."""
    nodes = graph.nodes
    values = [1 / nodes] * nodes
    for _ in range(rounds):
        new = [(1 - alpha) / nodes] * nodes
        for page in range(nodes):
            targets = graph.out_of(page)[0].tolist()
            if not targets:
                new = [value + alpha * values[page] / nodes for value in new]
            for target in targets:
                new[target] += alpha * values[page] / len(targets)
        values = new
    return values
