"""Structure of a graph: components, bow-tie, communities, cores, related pages.

Pure functions over `LinkMatrix`. Communities and cores come from NetworKit, which only they load.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from gossamer.graph.bonds import gather_rows
from gossamer.graph.networkit_loader import load_networkit
from gossamer.graph.ranking.distances import UNREACHED, shortest_distances

if TYPE_CHECKING:
    import numpy.typing as npt

    from gossamer.graph.arrays import Array
    from gossamer.graph.snapshot import LinkMatrix

    Numbers = npt.NDArray[np.int32]

# The parts of a bow-tie (Broder et al., Graph structure in the web, 2000), by number.
BOWTIE = ("core", "in", "out", "tube", "tendril", "apart")
CORE, IN, OUT, TUBE, TENDRIL, APART = range(6)

LEIDEN_ROUNDS = (5, 50)  # at least, at most; the method stops earlier once no node moves
LEIDEN_WORK = 20_000_000  # links times rounds: half a minute if nodes keep moving
LEIDEN_SEED = 1  # fixed, so that the same graph gives the same communities
MAX_CITING_PAGES = 10_000  # citing pages that `related_pages` reads; a home page can have more


class Components(NamedTuple):
    """Strong components: groups of pages that all reach each other."""

    labels: Numbers  # component number of each node; 0 is the biggest component
    total: int


class Communities(NamedTuple):
    """Groups of pages that link to each other more than chance predicts."""

    labels: Numbers  # community number of each node; 0 is the biggest
    total: int
    modularity: float


class CocitedPage(NamedTuple):
    """A page that the same pages link to as another one."""

    page: int
    together: int  # pages that link to both
    similarity: float  # cosine of their inlinks, 0..1


def components(links: LinkMatrix) -> Components:
    """Return the strong components.

    Most webs have one component with most pages. Two breadth-first searches from a well-linked page find it,
    so only the remaining nodes need the slower search by scipy.
    """
    if not links.nodes:
        return Components(np.empty(0, np.int32), 0)
    links_out, links_in = np.diff(links.starts), np.diff(links.in_starts)
    middle = np.argmax(links_out * links_in, keepdims=True)
    core = (shortest_distances(links.starts, links.targets, middle) != UNREACHED) & (
        shortest_distances(links.in_starts, links.sources, middle) != UNREACHED
    )
    labels = np.arange(links.nodes)  # a node without links in or out is a component
    labels[core] = middle
    remaining = np.flatnonzero(~core & (links_out > 0) & (links_in > 0))
    labels[remaining] = (
        links.nodes + csgraph.connected_components(_subgraph_matrix(links, remaining), connection="strong")[1]
    )
    component_labels = relabel_by_size(labels)
    return Components(component_labels, int(component_labels.max()) + 1)


def _subgraph_matrix(links: LinkMatrix, nodes: Array) -> sparse.csr_array:
    """Return the links between the given nodes, renumbered in their order."""
    number = np.full(links.nodes, -1, np.int32)
    number[nodes] = np.arange(len(nodes))
    ends, at = gather_rows(links.starts, nodes)
    column = number[links.targets[at]]
    kept = column >= 0
    row = np.repeat(np.arange(len(nodes)), np.diff(ends))[kept]
    return sparse.csr_array((np.ones(len(row)), (row, column[kept])), shape=(len(nodes), len(nodes)))


def _unweighted_matrix(links: LinkMatrix) -> sparse.csr_array:
    """Return the graph with float64 ones: csgraph would copy any other type."""
    starts = links.starts.astype(np.int32) if links.edges < 2**31 else links.starts
    return sparse.csr_array((np.ones(links.edges), links.targets, starts), shape=(links.nodes, links.nodes))


def relabel_by_size(labels: Array) -> Numbers:
    """Renumber labels by frequency, the most frequent as 0; ties by first occurrence."""
    _, first, inverse, counts = np.unique(labels, return_index=True, return_inverse=True, return_counts=True)
    order = np.lexsort((first, -counts))
    number = np.empty(len(order), np.int32)
    number[order] = np.arange(len(order))
    return number[inverse]


def bow_tie(links: LinkMatrix, component_labels: Numbers) -> npt.NDArray[np.int8]:
    """Return the bow-tie part of each node, as an index into `BOWTIE`; the biggest component is the core."""
    part = np.full(links.nodes, APART, np.int8)
    if not links.nodes:
        return part
    core = np.flatnonzero(component_labels == 0)
    reachable = shortest_distances(links.starts, links.targets, core) != UNREACHED
    reaching = shortest_distances(links.in_starts, links.sources, core) != UNREACHED
    from_in = shortest_distances(links.starts, links.targets, np.flatnonzero(reaching)) != UNREACHED
    to_out = shortest_distances(links.in_starts, links.sources, np.flatnonzero(reachable)) != UNREACHED
    part[_weak_component_mask(links, from_in | to_out)] = TENDRIL
    part[from_in & to_out] = TUBE
    part[reachable] = OUT
    part[reaching] = IN
    part[core] = CORE
    return part


def _weak_component_mask(links: LinkMatrix, known: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Mark the known nodes and all that are connected to them, ignoring link direction."""
    remaining = np.flatnonzero(~known)
    touching = _have_known_neighbour(links.starts, links.targets, remaining, known) | _have_known_neighbour(
        links.in_starts, links.sources, remaining, known
    )
    number, label = csgraph.connected_components(_subgraph_matrix(links, remaining), connection="weak")
    group = np.zeros(number, bool)
    group[label[touching]] = True
    connected = known.copy()
    connected[remaining] = group[label]
    return connected


def _have_known_neighbour(starts: Array, neighbours: Array, nodes: Array, known: Array) -> npt.NDArray[np.bool_]:
    """Mark the nodes that have a known neighbour."""
    ends, at = gather_rows(starts, nodes)
    known_counts = np.concatenate([[0], np.cumsum(known[neighbours[at]])])
    return np.asarray(known_counts[ends[1:]] > known_counts[ends[:-1]])


# -- communities and cores ---------------------------------------------------------------------------------------------


class UndirectedGraph:
    """The graph without link directions, for communities and cores."""

    def __init__(self, links: LinkMatrix) -> None:
        self._nodes, self._edges = links.nodes, links.edges
        if not links.edges:
            return
        self._kit = load_networkit()
        edges = symmetric_edges(links)
        ends = edges.row.astype(np.uint64), edges.col.astype(np.uint64)  # NetworKit crashes on 32-bit numbers
        self._graph = self._kit.GraphFromCoo((edges.data, ends), n=links.nodes, weighted=True, directed=False)

    def communities(self) -> Communities:
        """Find communities by the Leiden method."""
        if not self._edges:
            return Communities(np.arange(self._nodes, dtype=np.int32), self._nodes, 0.0)
        # With several threads the result varies from run to run, and is no faster.
        self._kit.setNumberOfThreads(1)
        self._kit.setSeed(LEIDEN_SEED, True)
        least, most = LEIDEN_ROUNDS
        rounds = min(max(LEIDEN_WORK // self._edges, least), most)
        leiden = self._kit.community.ParallelLeiden(self._graph, iterations=rounds)
        leiden.run()
        partition = leiden.getPartition()
        modularity = self._kit.community.Modularity().getQuality(partition, self._graph)
        labels = relabel_by_size(np.array(partition.getVector(), np.int64))
        return Communities(labels, int(labels.max()) + 1, float(modularity))

    def cores(self) -> Numbers:
        """Return the core number of each node: the greatest k for which it belongs to a k-core."""
        if not self._edges:
            return np.zeros(self._nodes, np.int32)
        decomposition = self._kit.centrality.CoreDecomposition(self._graph)
        decomposition.run()
        return np.array(decomposition.scores(), np.int32)


def symmetric_edges(links: LinkMatrix) -> sparse.coo_array:
    """Return the upper half of the symmetric adjacency matrix: 1 for a link, 2 for links both ways."""
    matrix = _unweighted_matrix(links)
    return sparse.triu(matrix + matrix.T, k=1, format="coo")


# -- related pages -----------------------------------------------------------------------------------------------------


def related_pages(links: LinkMatrix, page: int, limit: int = 10) -> list[CocitedPage]:
    """Return pages that the same pages link to (co-citation), most similar first.

    Cosine similarity, because plain counts would rank pages first that every page links to.
    """
    citing = links.into(page)[0][:MAX_CITING_PAGES]
    cited = links.targets[gather_rows(links.starts, citing)[1]]
    others, together = np.unique(cited[cited != page], return_counts=True)
    indegree = np.diff(links.in_starts)
    similarity = together / np.sqrt(len(citing) * indegree[others].astype(np.float64))
    best = np.lexsort((others, -together, -similarity))[:limit]
    return [CocitedPage(int(others[i]), int(together[i]), float(similarity[i])) for i in best]
