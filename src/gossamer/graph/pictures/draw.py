"""Draw the link graph: links at the bottom, then nodes, labels and a legend. Lengths are in points."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gossamer.graph.pictures.layout import even_out, force_layout, separate_discs
from gossamer.graph.pictures.palette import OTHER_COLOUR, community_hex
from gossamer.graph.pictures.sheet import FAINT, SHEET_SIZE, WHITE, open_sheet

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from gossamer.graph.pictures.selection import Picture
    from gossamer.graph.pictures.sheet import Sheet

    Floats = npt.NDArray[np.float64]
    Numbers = npt.NDArray[np.int64]

GRAPH_AREA = (24.0, 34.0, 760.0, 570.0)  # left, bottom, width, height of the graph
LEGEND_LEFT = 806.0
NODE_RADII = (2.4, 15.0)  # for the lowest and the highest score
LABEL_HEIGHTS = (6.0, 10.5)  # for the lowest and the highest score
MAX_COVERAGE = 0.07  # share of the graph area that nodes may cover; many nodes are drawn smaller
MAX_LABELS = 90  # usually fewer fit
MAX_LEGEND_GROUPS = 12  # as many as the palette has colours


def draw_graph(picture: Picture, title: str, out: IO[bytes], image_format: str) -> None:
    """Draw the graph; `image_format` is svg or png."""
    with open_sheet(out, image_format) as sheet:
        radii = _radii(picture)
        positions = _node_positions(picture, radii)
        _draw_links(sheet.axes, picture, positions)
        _draw_nodes(sheet.axes, picture, positions, radii)
        _draw_labels(sheet, picture, positions, radii)
        _draw_legend(sheet, picture)
        sheet.draw_text(GRAPH_AREA[0], SHEET_SIZE[1] - 34, title, 17, weight="bold")
        sheet.draw_text(GRAPH_AREA[0], 14, _caption(picture), 8, colour=FAINT)


# -- the graph ---------------------------------------------------------------------------------------------------------


def _importance(picture: Picture) -> Floats:
    """Return scores from 0 to 1, spread so that the best stand out."""
    low, high = picture.scores.min(), picture.scores.max()
    return np.asarray(((picture.scores - low) / (high - low)) ** 1.6 if high > low else np.zeros(len(picture.scores)))


def _radii(picture: Picture) -> Floats:
    radii = NODE_RADII[0] + (NODE_RADII[1] - NODE_RADII[0]) * _importance(picture)
    covered = float((np.pi * radii**2).sum()) / (GRAPH_AREA[2] * GRAPH_AREA[3])
    return np.asarray(radii * min(1.0, (MAX_COVERAGE / covered) ** 0.5))


def _node_positions(picture: Picture, radii: Floats) -> Floats:
    """Return the positions of the nodes on the sheet."""
    mass = np.asarray(0.6 + radii / NODE_RADII[1], np.float32)
    pull = np.asarray(0.4 + 3 * np.sqrt(picture.strength), np.float32)
    raw = force_layout(picture.groups, picture.source, picture.target, pull, mass)
    positions = _fit_to_area(np.asarray(even_out(raw), np.float64))
    for _ in range(3):  # separating discs may push nodes over the edge
        positions = _fit_to_area(
            np.asarray(separate_discs(np.asarray(positions, np.float32), np.asarray(radii + 1.2, np.float32)))
        )
    return positions


def _fit_to_area(positions: Floats) -> Floats:
    """Move and stretch positions into the graph area."""
    left, bottom, width, height = GRAPH_AREA
    margin = NODE_RADII[1] + 4
    low, span = positions.min(0), np.ptp(positions, axis=0)
    available = np.array([width - 2 * margin, height - 2 * margin])
    scale = available / np.maximum(span, 1e-9)
    scale = np.minimum(scale, scale.min() * 1.5)  # stretch a little to fill the area, but keep the shape
    middle = np.array([left + width / 2, bottom + height / 2])
    return np.asarray((positions - low - span / 2) * scale + middle)


def _draw_links(axes: Any, picture: Picture, positions: Floats) -> None:
    from matplotlib.collections import PathCollection  # noqa: PLC0415
    from matplotlib.colors import to_rgba  # noqa: PLC0415
    from matplotlib.path import Path  # noqa: PLC0415

    order = np.flatnonzero(picture.is_drawn)[np.argsort(picture.strength[picture.is_drawn], kind="stable")]
    source, target = picture.source[order], picture.target[order]
    within = picture.groups[source] == picture.groups[target]
    colours = [
        to_rgba(community_hex(int(group)) if same else OTHER_COLOUR, 0.38 if same else 0.22)
        for group, same in zip(picture.communities[source], within, strict=True)
    ]
    widths = 0.4 + 0.9 * np.sqrt(picture.strength[order])
    codes = (Path.MOVETO, Path.CURVE3, Path.CURVE3)
    arcs = [Path(points, codes) for points in _arcs(positions[source], positions[target])]
    axes.add_collection(PathCollection(arcs, facecolors="none", edgecolors=colours, linewidths=widths, zorder=1))


def _arcs(start: Floats, end: Floats) -> Floats:
    """Return start, control point and end of slightly bent lines: parallel links stay apart."""
    direction = end - start
    bend = np.stack([-direction[:, 1], direction[:, 0]], 1) * 0.12
    return np.stack([start, (start + end) / 2 + bend, end], 1)


def _draw_nodes(axes: Any, picture: Picture, positions: Floats, radii: Floats) -> None:
    from matplotlib.collections import CircleCollection  # noqa: PLC0415

    order = np.argsort(radii, kind="stable")[::-1]  # small ones on top
    axes.add_collection(
        CircleCollection(
            np.pi * radii[order] ** 2,
            offsets=positions[order],
            transOffset=axes.transData,
            facecolors=[community_hex(int(community)) for community in picture.communities[order]],
            edgecolors=WHITE,
            linewidths=0.7,
            zorder=2,
        )
    )


# -- labels ------------------------------------------------------------------------------------------------------------


class Box(NamedTuple):
    """A rectangle on the sheet."""

    left: float
    bottom: float
    right: float
    top: float

    def with_padding(self) -> Box:
        """Return the box with the margin that a label needs."""
        return Box(self.left - 3, self.bottom - 2, self.right + 3, self.top + 2)

    def overlaps(self, other: Box) -> bool:
        """Whether two boxes overlap."""
        return (
            self.left < other.right and other.left < self.right and self.bottom < other.top and other.bottom < self.top
        )


def _draw_labels(sheet: Sheet, picture: Picture, positions: Floats, radii: Floats) -> None:
    """Label the most important nodes, as many as fit without overlapping."""
    background = {"boxstyle": "round,pad=0.1", "facecolor": WHITE, "edgecolor": "none", "alpha": 0.72}
    discs = [
        Box(x - r * 0.8, y - r * 0.8, x + r * 0.8, y + r * 0.8)
        for (x, y), r in zip(positions.tolist(), radii, strict=True)
    ]
    importance = _importance(picture)
    occupied: list[Box] = []
    for node in _label_order(picture).tolist():
        height = LABEL_HEIGHTS[0] + (LABEL_HEIGHTS[1] - LABEL_HEIGHTS[0]) * float(importance[node])
        text = sheet.first_showable(picture.labels[node])
        spot = text and _free_spot(
            sheet.text_size(text, height), positions[node], float(radii[node]), occupied, discs, node
        )
        if spot:
            occupied.append(spot)
            sheet.draw_text(spot.left, spot.bottom, text, height, bbox=background, zorder=4, va="bottom")
        if len(occupied) == MAX_LABELS:
            break


def _label_order(picture: Picture) -> Numbers:
    """Return nodes by importance plus degree, the order in which they get labels."""
    degrees = np.bincount(np.concatenate([picture.source, picture.target]), minlength=len(picture.labels))
    return np.asarray(np.argsort(-_importance(picture) - degrees / degrees.max(), kind="stable"))


def _free_spot(
    size: tuple[float, float], position: Floats, radius: float, occupied: list[Box], discs: list[Box], node: int
) -> Box | None:
    """Return a free box for a label beside its node; None if all are taken."""
    for spot in _label_spots(size, float(position[0]), float(position[1]), radius):
        inside = spot.left > GRAPH_AREA[0] and spot.right < GRAPH_AREA[0] + GRAPH_AREA[2] + 20
        free = not any(map(spot.with_padding().overlaps, occupied))
        if (
            inside
            and free
            and not any(spot.overlaps(disc) for i, disc in enumerate(discs) if i != node and _is_big(disc))
        ):
            return spot
    return None


def _is_big(disc: Box) -> bool:
    return disc.right - disc.left > 8  # a label may cover small discs


def _label_spots(size: tuple[float, float], x: float, y: float, radius: float) -> Iterator[Box]:
    """Yield boxes right of, left of, above and below a node."""
    width, height = size
    gap = radius + 2
    for left, bottom in (
        (x + gap, y - height / 2), (x - gap - width, y - height / 2), (x - width / 2, y + gap),
        (x - width / 2, y - gap - height),
    ):  # fmt: skip
        yield Box(left, bottom, left + width, bottom + height)


def _draw_legend(sheet: Sheet, picture: Picture) -> None:
    """Draw the legend: each group with the name and the number of its community."""
    from matplotlib.patches import Circle  # noqa: PLC0415

    counts, order = np.bincount(picture.groups), _label_order(picture)
    shown_groups = min(MAX_LEGEND_GROUPS, int((counts > 1).sum()))
    y = SHEET_SIZE[1] - 62
    sheet.draw_text(LEGEND_LEFT, y, "Communities", 10, weight="bold")
    for group, count in enumerate(counts[:shown_groups].tolist()):
        y -= 21
        best = int(order[picture.groups[order] == group][0])
        community = int(picture.communities[best])
        name = sheet.first_showable((picture.names.get(community, picture.labels[best][0]), *picture.labels[best]))
        sheet.axes.add_patch(Circle((LEGEND_LEFT + 5, y + 3), 5, color=community_hex(community), zorder=3))
        sheet.draw_text(LEGEND_LEFT + 16, y + 3.5, _fit_to_legend(sheet, name, 7.5), 7.5)
        unit = picture.level if count != 1 else picture.level.removesuffix("s")
        sheet.draw_text(LEGEND_LEFT + 16, y - 5, f"community {community}, {count:,} {unit}", 6, colour=FAINT)
    if len(counts) > shown_groups:
        y -= 18
        sheet.draw_text(LEGEND_LEFT, y, f"and {len(counts) - shown_groups:,} smaller ones", 6.5, colour=FAINT)


def _fit_to_legend(sheet: Sheet, text: str, height: float) -> str:
    """Shorten a text to the width of the legend."""
    available = SHEET_SIZE[0] - LEGEND_LEFT - 22
    if sheet.text_size(text, height)[0] <= available:
        return text
    while text and sheet.text_size(f"{text}…", height)[0] > available:
        text = text[:-1].rstrip()
    return f"{text}…"


def _caption(picture: Picture) -> str:
    shown, links, drawn = len(picture.labels), len(picture.source), int(picture.is_drawn.sum())
    nodes_text = f"{shown:,} {picture.level}" if shown == picture.total_nodes else (
        f"The {shown:,} best of {picture.total_nodes:,} {picture.level}"
    )  # fmt: skip
    links_text = f"{links:,} links" if drawn == links else f"the {drawn:,} strongest of {links:,} links"
    return f"{nodes_text} and {links_text} between them. Size: PageRank. Colour: community."
