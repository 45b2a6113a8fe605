"""Writes a view of the link graph as a file: SVG (also the small graph of the page view), GEXF for Gephi."""

from __future__ import annotations

import io
from importlib.metadata import version
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from gossamer.basics.display import escape_hidden
from gossamer.graph.export import xml_formats
from gossamer.graph.export.xml_formats import ExportGraph, ExportNode, NodeAttribute, xml_text
from gossamer.graph.pictures.palette import OTHER_COLOUR, community_hex
from gossamer.graph.snapshot import LinkMatrix

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gossamer.web.graph.views import GraphView

RADII = (3.0, 16.0)  # pixels of a node with score 0 and 100
LETTER_WIDTH = 0.56  # of the font size, on average
FOCUS_RING = 2.5  # pixels around the node that the view is about
HALO = 3  # pixels of paper around the letters of a label

Theme = Literal["light", "dark"]
Size = Literal["full", "small", "phone"]


class SheetStyle(NamedTuple):
    """Measures of a drawing, in pixels."""

    width: int
    height: int
    margin: int
    font: int
    label_length: int  # characters


class ThemeColours(NamedTuple):
    """Colours of a drawing, those of the pages' style sheet."""

    paper: str
    ink: str
    line: str


SHEETS: dict[Size, SheetStyle] = {
    "full": SheetStyle(width=1200, height=800, margin=60, font=11, label_length=60),
    "small": SheetStyle(
        width=640, height=400, margin=40, font=12, label_length=28
    ),  # as wide as the page view shows it
    "phone": SheetStyle(width=360, height=300, margin=30, font=11, label_length=20),
}
THEMES: dict[Theme, ThemeColours] = {
    "light": ThemeColours("#ffffff", "#1c2128", OTHER_COLOUR),
    "dark": ThemeColours("#14171b", "#e5e8ec", "#8b939e"),
}


class PlacedLabel(NamedTuple):
    """A label and the middle of its base line."""

    x: float
    y: float
    text: str


def render_svg(view: GraphView, theme: Theme = "light", size: Size = "full") -> str:
    """Draw a view. Communities have colours; wider lines stand for more links."""
    sheet, colours = SHEETS[size], THEMES[theme]
    x, y = _fit(view.nodes.x, sheet.width, sheet.margin), _fit(view.nodes.y, sheet.height, sheet.margin)
    radii = [RADII[0] + (RADII[1] - RADII[0]) * (score / 100) ** 2 for score in view.nodes.score]
    lines = "".join(
        f'<line x1="{x[source]:.1f}" y1="{y[source]:.1f}" x2="{x[target]:.1f}" y2="{y[target]:.1f}" '
        f'stroke-width="{0.4 + 0.4 * np.log1p(weight):.2f}"/>'
        for source, target, weight in zip(view.edges.source, view.edges.target, view.edges.weight, strict=True)
    )
    small_on_top = sorted(range(len(radii)), key=lambda node: -radii[node])
    marks = {view.focus: f' stroke="{colours.ink}" stroke-width="{FOCUS_RING}"'} if view.focus is not None else {}
    fills = [community_hex(community, on_dark=theme == "dark") for community in view.nodes.community]
    dots = "".join(
        f'<circle cx="{x[i]:.1f}" cy="{y[i]:.1f}" r="{radii[i]:.1f}" fill="{fills[i]}"'
        f"{marks.get(view.nodes.id[i], '')}><title>{xml_text(escape_hidden(view.nodes.key[i]))}</title></circle>"
        for i in small_on_top
    )
    names = "".join(
        f'<text x="{label.x:.1f}" y="{label.y:.1f}">{xml_text(label.text)}</text>'
        for label in _place_labels(view, sheet, list(zip(x, y, radii, strict=True)))
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {sheet.width} {sheet.height}" width="{sheet.width}" '
        f'height="{sheet.height}"><rect width="{sheet.width}" height="{sheet.height}" fill="{colours.paper}"/>'
        f'<g stroke="{colours.line}" stroke-opacity="0.35">{lines}</g>'
        f'<g stroke="{colours.paper}" stroke-width="0.8">{dots}</g>'
        f'<g font-family="sans-serif" font-size="{sheet.font}" text-anchor="middle" fill="{colours.ink}" '
        f'stroke="{colours.paper}" stroke-width="{HALO}" stroke-opacity="0.85" stroke-linejoin="round" '
        f'paint-order="stroke">{names}</g></svg>\n'
    )


def _place_labels(view: GraphView, sheet: SheetStyle, discs: list[tuple[float, float, float]]) -> Iterator[PlacedLabel]:
    """Yield the labels of the best nodes, the focus first, without those that would cover another label."""
    nodes = view.nodes
    boxes: list[tuple[float, float, float, float]] = []
    for i in sorted(range(len(discs)), key=lambda node: (nodes.id[node] != view.focus, -nodes.score[node])):
        text = _shorten(escape_hidden(nodes.label[i]), sheet.label_length)
        half = LETTER_WIDTH * sheet.font * len(text) / 2
        x = min(max(discs[i][0], half + HALO), sheet.width - half - HALO)  # inside the sheet
        y = discs[i][1] - discs[i][2] - HALO
        box = (x - half - HALO, y - sheet.font, x + half + HALO, y + HALO)
        if text and not any(_overlap(box, other) for other in boxes):
            boxes.append(box)
            yield PlacedLabel(x, y, text)


def _overlap(one: tuple[float, float, float, float], other: tuple[float, float, float, float]) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _shorten(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1].rstrip()}…"


def _fit(values: list[float], size: int, margin: int) -> list[float]:
    """Scale coordinates into the picture."""
    least, most = (min(values), max(values)) if values else (0.0, 0.0)
    scale = (size - 2 * margin) / ((most - least) or 1.0)
    return [margin + (value - least) * scale for value in values]


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
