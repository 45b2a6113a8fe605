"""The link graph as GEXF 1.3 (Gephi) and GraphML (yEd, igraph, networkx ...).

The files contain exactly the graph that is ranked, with ranks and communities as attributes. The writers stream nodes
and edges, so memory does not grow with the graph. They leave out control characters that XML 1.0 cannot represent.
"""

from __future__ import annotations

from itertools import islice
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gossamer.basics.display import without_illegal_xml
from gossamer.graph.pictures.palette import community_rgb
from gossamer.model import Value
from gossamer.store.follow.graph import HostRanks, Ranks

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gossamer.graph.snapshot import Graph, LinkMatrix
    from gossamer.store.protocol import GraphSource
    from gossamer.store.values import HostNode, PageNode

EDGES_AT_ONCE = 1 << 16  # edges per block
NODE_SIZES = (1.0, 40.0)  # size in Gephi for the scores 0 and 100

INTEGER_RANKS = frozenset(
    {"indegree", "outdegree", "in_weight", "out_weight", "depth", "component", "community", "core"}
)
PAGE_RANKS = tuple(Ranks.__struct_fields__)
HOST_RANKS = tuple(name for name in HostRanks.__struct_fields__ if name != "pages")


class NodeAttribute(NamedTuple):
    """An attribute of nodes, besides the label."""

    name: str
    type: str  # string, long or double: both GEXF and GraphML know these names


class ExportNode(NamedTuple):
    """A node to write."""

    label: str  # a URL or a host name
    values: Sequence[Any]  # by attribute; None: no value
    score: float | None
    community: int | None


class ExportGraph(Value, frozen=True, kw_only=True):
    """A graph of pages or hosts to write."""

    links: LinkMatrix
    attributes: tuple[NodeAttribute, ...]
    nodes: Iterable[ExportNode]  # in the order of their numbers
    description: str


def _attribute(name: str) -> NodeAttribute:
    return NodeAttribute(name, "long" if name in INTEGER_RANKS else "string" if name == "bowtie" else "double")


PAGE_ATTRIBUTES = (
    NodeAttribute("title", "string"),
    NodeAttribute("status", "long"),
    NodeAttribute("media_type", "string"),
    NodeAttribute("language", "string"),
    *map(_attribute, PAGE_RANKS),
)
HOST_ATTRIBUTES = (NodeAttribute("pages", "long"), *map(_attribute, HOST_RANKS))


def page_export_graph(store: GraphSource, graph: Graph) -> ExportGraph:
    """Return the graph of pages."""
    known = store.page_nodes(graph.docs.tolist())
    nodes = (_page_node(url, node) for url, node in zip(graph.urls(), known, strict=True))
    description = f"Followed hyperlinks between {len(graph.docs):,} pages; a weight is the number of links."
    return ExportGraph(links=graph.pages, attributes=PAGE_ATTRIBUTES, nodes=nodes, description=description)


def host_export_graph(store: GraphSource, graph: Graph) -> ExportGraph:
    """Return the graph of hosts."""
    known = store.host_nodes(graph.host_ids.tolist())
    nodes = (_host_node(name, node) for name, node in zip(graph.host_names(), known, strict=True))
    description = f"Followed hyperlinks between {len(graph.host_ids):,} hosts; a weight is the number of links."
    return ExportGraph(links=graph.hosts, attributes=HOST_ATTRIBUTES, nodes=nodes, description=description)


def _page_node(url: str, node: PageNode) -> ExportNode:
    ranks = node.ranks
    values = (node.title or None, node.status or None, node.media_type or None, node.language or None)
    return _ranked_node(url, values, PAGE_RANKS, ranks)


def _host_node(name: str, node: HostNode) -> ExportNode:
    return _ranked_node(name, (node.pages,), HOST_RANKS, node.ranks)


def _ranked_node(
    label: str, values: tuple[Any, ...], names: tuple[str, ...], ranks: Ranks | HostRanks | None
) -> ExportNode:
    if ranks is None:
        return ExportNode(label, (*values, *(None for _ in names)), None, None)
    return ExportNode(label, (*values, *(getattr(ranks, name) for name in names)), ranks.score, ranks.community)


# -- XML ---------------------------------------------------------------------------------------------------------------


def xml_text(text: str) -> str:
    """Escape a text for an attribute or element of XML 1.0."""
    text = (
        without_illegal_xml(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
    )
    # Unescaped, XML readers turn these into blanks (section 3.3.3).
    return text.replace("\n", "&#10;").replace("\r", "&#13;").replace("\t", "&#9;")


def _xml_value(value: object) -> str:
    return xml_text(value) if isinstance(value, str) else repr(value)


def iterate_edges(links: LinkMatrix) -> Iterator[tuple[int, int, int]]:
    """Yield every edge as source, target, weight; sorted by source."""
    for start in range(0, links.edges, EDGES_AT_ONCE):
        stop = min(start + EDGES_AT_ONCE, links.edges)
        sources = np.searchsorted(links.starts, np.arange(start, stop), side="right") - 1
        yield from zip(
            sources.tolist(), links.targets[start:stop].tolist(), links.weights[start:stop].tolist(), strict=True
        )


def labelled_edges(graph: ExportGraph) -> Iterator[tuple[str, str, int]]:
    """Yield every edge as source label, target label, weight; keeps all labels in memory."""
    labels = [node.label for node in graph.nodes]
    return ((labels[source], labels[target], weight) for source, target, weight in iterate_edges(graph.links))


def _write_lines(out: IO[bytes], lines: Iterator[str]) -> int:
    """Write lines in blocks; return their number."""
    count = 0
    while chunk := list(islice(lines, EDGES_AT_ONCE // 8)):
        out.write("".join(chunk).encode())
        count += len(chunk)
    return count


# -- GEXF --------------------------------------------------------------------------------------------------------------


def write_gexf(graph: ExportGraph, out: IO[bytes], creator: str) -> None:
    """Write GEXF 1.3 (https://gexf.net), with sizes by score and colours by community."""
    attributes = "".join(
        f'      <attribute id="{number}" title="{name}" type="{kind}"/>\n'
        for number, (name, kind) in enumerate(graph.attributes)
    )
    out.write(
        f"""<?xml version="1.0" encoding="UTF-8"?>
<gexf xmlns="http://gexf.net/1.3" xmlns:viz="http://gexf.net/1.3/viz" version="1.3">
  <meta>
    <creator>{xml_text(creator)}</creator>
    <description>{xml_text(graph.description)}</description>
  </meta>
  <graph defaultedgetype="directed" mode="static">
    <attributes class="node" mode="static">
{attributes}    </attributes>
    <nodes>
""".encode()
    )
    _write_lines(out, map(_gexf_node, range(graph.links.nodes), graph.nodes))
    out.write(b"    </nodes>\n    <edges>\n")
    edge = '      <edge source="{}" target="{}" weight="{}"/>\n'.format
    _write_lines(out, (edge(*ends) for ends in iterate_edges(graph.links)))
    out.write(b"    </edges>\n  </graph>\n</gexf>\n")


def _gexf_node(number: int, node: ExportNode) -> str:
    values = "".join(
        f'<attvalue for="{i}" value="{_xml_value(value)}"/>' for i, value in enumerate(node.values) if value is not None
    )
    start = f'      <node id="{number}" label="{xml_text(node.label)}">'
    return f"{start}<attvalues>{values}</attvalues>{_gexf_style(node)}</node>\n"


def _gexf_style(node: ExportNode) -> str:
    if node.score is None:
        return ""
    size = NODE_SIZES[0] + (NODE_SIZES[1] - NODE_SIZES[0]) * (node.score / 100) ** 2
    red, green, blue = community_rgb(node.community)
    return f'<viz:size value="{size:.2f}"/><viz:color r="{red}" g="{green}" b="{blue}"/>'


# -- GraphML -----------------------------------------------------------------------------------------------------------


def write_graphml(graph: ExportGraph, out: IO[bytes], creator: str) -> None:
    """Write GraphML (http://graphml.graphdrawing.org)."""
    keys = "".join(
        f'  <key id="{name}" for="node" attr.name="{name}" attr.type="{kind}"/>\n' for name, kind in graph.attributes
    )
    out.write(
        f"""<?xml version="1.0" encoding="UTF-8"?>
<!-- {xml_text(creator)}: {xml_text(graph.description)} -->
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key id="label" for="node" attr.name="label" attr.type="string"/>
{keys}  <key id="weight" for="edge" attr.name="weight" attr.type="long"/>
  <graph id="web" edgedefault="directed">
""".encode()
    )
    names = [name for name, _ in graph.attributes]
    _write_lines(out, (_graphml_node(number, node, names) for number, node in enumerate(graph.nodes)))
    edge = '    <edge source="{}" target="{}"><data key="weight">{}</data></edge>\n'.format
    _write_lines(out, (edge(*ends) for ends in iterate_edges(graph.links)))
    out.write(b"  </graph>\n</graphml>\n")


def _graphml_node(number: int, node: ExportNode, names: list[str]) -> str:
    data = "".join(
        f'<data key="{name}">{_xml_value(value)}</data>'
        for name, value in zip(names, node.values, strict=True)
        if value is not None
    )
    return f'    <node id="{number}"><data key="label">{xml_text(node.label)}</data>{data}</node>\n'
