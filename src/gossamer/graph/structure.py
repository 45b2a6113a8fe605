"""The shape of a web: what hangs together, what is near what, and a site among its neighbours.

Pure functions over `Links`. Communities and cores come from NetworKit, whose import takes longer than most answers
here: it is loaded when they are asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from gossamer.graph.bonds import gather_rows
from gossamer.graph.ranking.distances import UNREACHED, shortest_distances

if TYPE_CHECKING:
    import numpy.typing as npt

    from gossamer.graph.arrays import Array
    from gossamer.graph.snapshot import LinkMatrix

    Numbers = npt.NDArray[np.int32]

# The parts of a bow-tie (Broder et al., Graph structure in the web, 2000), by number.
BOWTIE = ("core", "in", "out", "tube", "tendril", "apart")
CORE, IN, OUT, TUBE, TENDRIL, APART = range(6)

LEIDEN_ROUNDS = (5, 50)  # at least, at most; it ends by itself when nothing moves any more, on webs soon
LEIDEN_WORK = 20_000_000  # links times rounds that it takes when something always moves: half a minute
LEIDEN_SEED = 1
MAX_CITING_PAGES = 10_000  # pages looked at for what else they link to; the home page of a site has more


class Components(NamedTuple):
    """Groups of pages that all reach one another."""

    labels: Numbers  # number of the component of each node, by size: 0 is the biggest
    total: int


class Communities(NamedTuple):
    """Groups of pages that link more among themselves than one would expect."""

    labels: Numbers  # by size: 0 is the biggest
    total: int
    modularity: float


class CocitedPage(NamedTuple):
    """A page that is linked from the same pages as another one."""

    page: int
    together: int  # pages that link to both
    similarity: float  # cosine of their inlinks, 0..1


def components(links: LinkMatrix) -> Components:
    """Strong components.

    Most webs have one that holds most pages: what is reached both ways from a page with many links. Only what is left
    is looked at link by link.
    """
    if not links.nodes:
        return Components(np.empty(0, np.int32), 0)
    links_out, links_in = np.diff(links.starts), np.diff(links.in_starts)
    middle = np.argmax(links_out * links_in, keepdims=True)
    core = (shortest_distances(links.starts, links.targets, middle) != UNREACHED) & (
        shortest_distances(links.in_starts, links.sources, middle) != UNREACHED
    )
    labels = np.arange(links.nodes)  # what no link leads to, or from, is alone
    labels[core] = middle
    remaining = np.flatnonzero(~core & (links_out > 0) & (links_in > 0))
    labels[remaining] = (
        links.nodes + csgraph.connected_components(_subgraph_matrix(links, remaining), connection="strong")[1]
    )
    component_labels = relabel_by_size(labels)
    return Components(component_labels, int(component_labels.max()) + 1)


def _subgraph_matrix(links: LinkMatrix, nodes: Array) -> sparse.csr_array:
    """The links between some nodes, which are numbered anew in their order."""
    number = np.full(links.nodes, -1, np.int32)
    number[nodes] = np.arange(len(nodes))
    ends, at = gather_rows(links.starts, nodes)
    column = number[links.targets[at]]
    kept = column >= 0
    row = np.repeat(np.arange(len(nodes)), np.diff(ends))[kept]
    return sparse.csr_array((np.ones(len(row)), (row, column[kept])), shape=(len(nodes), len(nodes)))


def _unweighted_matrix(links: LinkMatrix) -> sparse.csr_array:
    """The graph as csgraph wants it: float64, or it would be copied once more."""
    starts = links.starts.astype(np.int32) if links.edges < 2**31 else links.starts
    return sparse.csr_array((np.ones(links.edges), links.targets, starts), shape=(links.nodes, links.nodes))


def relabel_by_size(labels: Array) -> Numbers:
    """Labels numbered anew, the most frequent first; among equals the one that comes first."""
    _, first, inverse, counts = np.unique(labels, return_index=True, return_inverse=True, return_counts=True)
    order = np.lexsort((first, -counts))
    number = np.empty(len(order), np.int32)
    number[order] = np.arange(len(order))
    return number[inverse]


def bow_tie(links: LinkMatrix, component_labels: Numbers) -> npt.NDArray[np.int8]:
    """The part that each node is in: the biggest strong component, what leads to it, what it leads to, and the rest."""
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
    """Nodes that hang together with known ones, whichever way the links lead; those themselves too."""
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
    """Which of the nodes have a known neighbour."""
    ends, at = gather_rows(starts, nodes)
    known_counts = np.concatenate([[0], np.cumsum(known[neighbours[at]])])
    return np.asarray(known_counts[ends[1:]] > known_counts[ends[:-1]])


# -- communities and cores ---------------------------------------------------------------------------------------------


class UndirectedGraph:
    """The graph with a link counting the same in both directions, as communities and cores want it."""

    def __init__(self, links: LinkMatrix) -> None:
        self._nodes, self._edges = links.nodes, links.edges
        if not links.edges:
            return
        import networkit  # noqa: PLC0415 - see the top

        edges = symmetric_edges(links)
        ends = edges.row.astype(np.uint64), edges.col.astype(np.uint64)  # it crashes on numbers of 32 bits
        self._kit = networkit
        self._graph = networkit.GraphFromCoo((edges.data, ends), n=links.nodes, weighted=True, directed=False)

    def communities(self) -> Communities:
        """Communities by the Leiden method."""
        if not self._edges:
            return Communities(np.arange(self._nodes, dtype=np.int32), self._nodes, 0.0)
        # One thread: with several the communities are others every time, and it is no faster.
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
        """For each node the greatest k such that it is in a group whose members all have k neighbours in the group."""
        if not self._edges:
            return np.zeros(self._nodes, np.int32)
        decomposition = self._kit.centrality.CoreDecomposition(self._graph)
        decomposition.run()
        return np.array(decomposition.scores(), np.int32)


def symmetric_edges(links: LinkMatrix) -> sparse.coo_array:
    """The upper half of a symmetric matrix: an entry where there is a link, 2 where there is one either way."""
    matrix = _unweighted_matrix(links)
    return sparse.triu(matrix + matrix.T, k=1, format="coo")


# -- what is near a page -----------------------------------------------------------------------------------------------


def related_pages(links: LinkMatrix, page: int, limit: int = 10) -> list[CocitedPage]:
    """Pages that are linked from the same pages as this one (co-citation), the most similar first.

    Cosine, not plain counts: what every page links to is related to nothing.
    """
    citing = links.into(page)[0][:MAX_CITING_PAGES]
    cited = links.targets[gather_rows(links.starts, citing)[1]]
    others, together = np.unique(cited[cited != page], return_counts=True)
    indegree = np.diff(links.in_starts)
    similarity = together / np.sqrt(len(citing) * indegree[others].astype(np.float64))
    best = np.lexsort((others, -together, -similarity))[:limit]
    return [CocitedPage(int(others[i]), int(together[i]), float(similarity[i])) for i in best]
