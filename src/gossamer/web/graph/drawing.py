"""Writes a view of the link graph as a file: SVG (also the small graph of the page view), GEXF for Gephi."""

from __future__ import annotations

import io
from importlib.metadata import version
from typing import TYPE_CHECKING

import numpy as np

from gossamer.basics.display import escape_hidden
from gossamer.graph.export import xml_formats
from gossamer.graph.export.xml_formats import ExportGraph, ExportNode, NodeAttribute, xml_text
from gossamer.graph.pictures.palette import OTHER_COLOUR, community_hex
from gossamer.graph.snapshot import LinkMatrix

if TYPE_CHECKING:
    from gossamer.web.graph.views import GraphView

WIDTH, HEIGHT, MARGIN = 1200, 800, 60  # pixels
RADII = (3.0, 16.0)  # pixels of a node with score 0 and 100
MAX_LABELS = 40  # the nodes with the highest scores have labels


def render_svg(view: GraphView) -> str:
    """Draw a view. Communities have colours; wider lines stand for more links."""
    x, y = _fit(view.nodes.x, WIDTH), _fit(view.nodes.y, HEIGHT)
    radii = [RADII[0] + (RADII[1] - RADII[0]) * (score / 100) ** 2 for score in view.nodes.score]
    lines = "".join(
        f'<line x1="{x[source]:.1f}" y1="{y[source]:.1f}" x2="{x[target]:.1f}" y2="{y[target]:.1f}" '
        f'stroke-width="{0.4 + 0.4 * np.log1p(weight):.2f}"/>'
        for source, target, weight in zip(view.edges.source, view.edges.target, view.edges.weight, strict=True)
    )
    small_on_top = sorted(range(len(radii)), key=lambda node: -radii[node])
    dots = "".join(
        f'<circle cx="{x[i]:.1f}" cy="{y[i]:.1f}" r="{radii[i]:.1f}" fill="{community_hex(view.nodes.community[i])}">'
        f"<title>{xml_text(escape_hidden(view.nodes.key[i]))}</title></circle>"
        for i in small_on_top
    )
    names = "".join(
        f'<text x="{x[i]:.1f}" y="{y[i] - radii[i] - 3:.1f}">{xml_text(escape_hidden(view.nodes.label[i]))}</text>'
        for i in sorted(range(len(radii)), key=lambda node: -view.nodes.score[node])[:MAX_LABELS]
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}">'
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>'
        f'<g stroke="{OTHER_COLOUR}" stroke-opacity="0.35">{lines}</g><g stroke="#ffffff" stroke-width="0.8">{dots}</g>'
        f'<g font-family="sans-serif" font-size="11" text-anchor="middle" fill="#1c2128" stroke="#ffffff" '
        f'stroke-width="3" stroke-opacity="0.8" paint-order="stroke">{names}</g></svg>\n'
    )


def _fit(values: list[float], size: int) -> list[float]:
    """Scale coordinates into the picture."""
    least, most = (min(values), max(values)) if values else (0.0, 0.0)
    scale = (size - 2 * MARGIN) / ((most - least) or 1.0)
    return [MARGIN + (value - least) * scale for value in values]


def render_gexf(view: GraphView) -> bytes:
    """Write a view as GEXF 1.3."""
    nodes = view.nodes
    attributes = (
        NodeAttribute("title", "string"),
        NodeAttribute("score", "double"),
        NodeAttribute("status", "long"),
        NodeAttribute("community", "long"),
        NodeAttribute("host", "string"),
        NodeAttribute("depth", "long"),
    )
    rows = zip(nodes.label, nodes.score, nodes.status, nodes.community, nodes.host, nodes.depth, strict=True)
    gexf_nodes = (ExportNode(key, row, row[1], row[3]) for key, row in zip(nodes.key, rows, strict=True))
    ends = (np.array(view.edges.source, np.int64), np.array(view.edges.target, np.int64))
    links = LinkMatrix.from_edges(len(nodes.id), *ends, np.array(view.edges.weight, np.int64))
    about = f"{len(nodes.id):,} of {view.known.nodes:,} {view.level}; a weight is the number of links."
    out = io.BytesIO()
    level = ExportGraph(links=links, attributes=attributes, nodes=gexf_nodes, description=about)
    xml_formats.write_gexf(level, out, f"Gossamer {version('gossamer')}")
    return out.getvalue()
