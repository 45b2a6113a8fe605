"""The link graph as other libraries take it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from gossamer.basics.display import pluralize
from gossamer.errors import UsageError
from gossamer.graph.export.xml_formats import host_export_graph, iterate_edges, page_export_graph
from gossamer.graph.snapshot import Graph

if TYPE_CHECKING:
    import networkx as nx
    from scipy.sparse import csr_array

    from gossamer.store.protocol import GraphSource

Level = Literal["pages", "hosts"]


class WebGraph(Graph):
    """The link graph of a web, with its titles and ranks."""

    def __init__(self, graph: Graph, store: GraphSource) -> None:
        vars(self).update(vars(graph))  # the same mapped arrays
        self._store = store

    def __repr__(self) -> str:
        size = f"{pluralize(self.pages.nodes, 'page')}, {pluralize(self.pages.edges, 'link')}"
        return f"<WebGraph: {size}, {pluralize(self.hosts.nodes, 'host')}>"

    def to_networkx(self, level: Level = "pages") -> nx.DiGraph:
        """Return a directed graph of networkx (extra `networkx`).

        Nodes are URLs or host names, with the attributes that `gossamer export graph` writes; edges have a `weight`.
        """
        try:
            import networkx as nx  # noqa: PLC0415 - an extra
        except ImportError as error:
            raise UsageError("This needs networkx: pip install 'gossamer[networkx]'.") from error
        exported = (page_export_graph if level == "pages" else host_export_graph)(self._store, self)
        names = [attribute.name for attribute in exported.attributes]
        network, labels = nx.DiGraph(), []
        for node in exported.nodes:
            labels.append(node.label)
            known = {name: value for name, value in zip(names, node.values, strict=True) if value is not None}
            network.add_node(node.label, **known)
        for source, target, weight in iterate_edges(exported.links):
            network.add_edge(labels[source], labels[target], weight=weight)
        return network

    def to_scipy(self, level: Level = "pages", *, weighted: bool = False) -> csr_array:
        """Return the adjacency matrix: row and column i belong to page i (`urls`) or host i (`host_names`)."""
        import numpy as np  # noqa: PLC0415 - loaded with the graph anyway
        from scipy import sparse  # noqa: PLC0415

        links = self.pages if level == "pages" else self.hosts
        values = links.weights if weighted else np.ones(links.edges, np.int32)
        return sparse.csr_array((values, links.targets, links.starts), shape=(links.nodes, links.nodes))
