"""The link graph as a picture: links, nodes, names and a legend, each laid over the other."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gossamer.graph.pictures.layout import apart, evened, force_layout
from gossamer.graph.pictures.palette import OTHERS, hex_of
from gossamer.graph.pictures.sheet import FAINT, PAPER, WHITE, drawing

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from gossamer.graph.pictures.selection import Picture
    from gossamer.graph.pictures.sheet import Sheet

    Floats = npt.NDArray[np.float64]
    Numbers = npt.NDArray[np.int64]

GRAPH = (24.0, 34.0, 760.0, 570.0)  # left, bottom, width, height of the part with the graph
LEGEND_LEFT = 806.0
RADII = (2.4, 15.0)  # of a node, by its score
LETTERS = (6.0, 10.5)  # height of a label, by its score
COVERED = 0.07  # of the graph's part of the paper, by nodes, at most: with more of them they are smaller
LABELS = 90  # at most; the legible ones are fewer
GROUPS_TOLD = 12  # in the legend


def draw_graph(picture: Picture, title: str, out: IO[bytes], form: str) -> None:
    """Draw the graph; `form` is svg or png."""
    with drawing(out, form) as sheet:
        radii = _radii(picture)
        places = _places(picture, radii)
        _draw_links(sheet.axes, picture, places)
        _draw_nodes(sheet.axes, picture, places, radii)
        _draw_labels(sheet, picture, places, radii)
        _draw_legend(sheet, picture)
        sheet.write(GRAPH[0], PAPER[1] - 34, title, 17, weight="bold")
        sheet.write(GRAPH[0], 14, _caption(picture), 8, colour=FAINT)


# -- the graph ---------------------------------------------------------------------------------------------------------


def _importance(picture: Picture) -> Floats:
    """The scores from 0 to 1, spread so that the best stand out."""
    low, high = picture.scores.min(), picture.scores.max()
    return np.asarray(((picture.scores - low) / (high - low)) ** 1.6 if high > low else np.zeros(len(picture.scores)))


def _radii(picture: Picture) -> Floats:
    radii = RADII[0] + (RADII[1] - RADII[0]) * _importance(picture)
    covered = float((np.pi * radii**2).sum()) / (GRAPH[2] * GRAPH[3])
    return np.asarray(radii * min(1.0, (COVERED / covered) ** 0.5))


def _places(picture: Picture, radii: Floats) -> Floats:
    """Where the nodes stand on the paper."""
    mass = np.asarray(0.6 + radii / RADII[1], np.float32)
    pull = np.asarray(0.4 + 3 * np.sqrt(picture.strength), np.float32)
    raw = force_layout(picture.groups, picture.source, picture.target, pull, mass)
    places = _fitted(np.asarray(evened(raw), np.float64))
    for _ in range(3):  # making room may push nodes over the edge
        places = _fitted(np.asarray(apart(np.asarray(places, np.float32), np.asarray(radii + 1.2, np.float32))))
    return places


def _fitted(places: Floats) -> Floats:
    """Moved and stretched into the part of the paper for the graph."""
    left, bottom, width, height = GRAPH
    margin = RADII[1] + 4
    low, span = places.min(0), np.ptp(places, axis=0)
    room = np.array([width - 2 * margin, height - 2 * margin])
    scale = room / np.maximum(span, 1e-9)
    scale = np.minimum(scale, scale.min() * 1.5)  # stretched a little to fill the paper, not out of shape
    middle = np.array([left + width / 2, bottom + height / 2])
    return np.asarray((places - low - span / 2) * scale + middle)


def _draw_links(axes: Any, picture: Picture, places: Floats) -> None:
    from matplotlib.collections import PathCollection  # noqa: PLC0415
    from matplotlib.colors import to_rgba  # noqa: PLC0415
    from matplotlib.path import Path  # noqa: PLC0415

    order = np.flatnonzero(picture.drawn)[np.argsort(picture.strength[picture.drawn], kind="stable")]
    source, target = picture.source[order], picture.target[order]
    within = picture.groups[source] == picture.groups[target]
    colours = [
        to_rgba(hex_of(int(group)) if same else OTHERS, 0.38 if same else 0.22)
        for group, same in zip(picture.groups[source], within, strict=True)
    ]
    widths = 0.4 + 0.9 * np.sqrt(picture.strength[order])
    codes = (Path.MOVETO, Path.CURVE3, Path.CURVE3)
    arcs = [Path(points, codes) for points in _arcs(places[source], places[target])]
    axes.add_collection(PathCollection(arcs, facecolors="none", edgecolors=colours, linewidths=widths, zorder=1))


def _arcs(start: Floats, end: Floats) -> Floats:
    """Start, bend and end of lightly bent lines: what runs the same way stays apart."""
    way = end - start
    bend = np.stack([-way[:, 1], way[:, 0]], 1) * 0.12
    return np.stack([start, (start + end) / 2 + bend, end], 1)


def _draw_nodes(axes: Any, picture: Picture, places: Floats, radii: Floats) -> None:
    from matplotlib.collections import CircleCollection  # noqa: PLC0415

    order = np.argsort(radii, kind="stable")[::-1]  # small ones on top
    axes.add_collection(
        CircleCollection(
            np.pi * radii[order] ** 2,
            offsets=places[order],
            transOffset=axes.transData,
            facecolors=[hex_of(int(group)) for group in picture.groups[order]],
            edgecolors=WHITE,
            linewidths=0.7,
            zorder=2,
        )
    )


# -- words -------------------------------------------------------------------------------------------------------------


class Box(NamedTuple):
    """Room that is taken."""

    left: float
    bottom: float
    right: float
    top: float

    def padded(self) -> Box:
        """With the air that a text needs around it."""
        return Box(self.left - 3, self.bottom - 2, self.right + 3, self.top + 2)

    def meets(self, other: Box) -> bool:
        """Whether two boxes overlap."""
        return (
            self.left < other.right and other.left < self.right and self.bottom < other.top and other.bottom < self.top
        )


def _draw_labels(sheet: Sheet, picture: Picture, places: Floats, radii: Floats) -> None:
    """Names of the most important nodes, as many as fit without covering one another."""
    behind = {"boxstyle": "round,pad=0.1", "facecolor": WHITE, "edgecolor": "none", "alpha": 0.72}
    discs = [
        Box(x - r * 0.8, y - r * 0.8, x + r * 0.8, y + r * 0.8)
        for (x, y), r in zip(places.tolist(), radii, strict=True)
    ]
    importance = _importance(picture)
    taken: list[Box] = []
    for node in _first_named(picture).tolist():
        height = LETTERS[0] + (LETTERS[1] - LETTERS[0]) * float(importance[node])
        text = sheet.name(picture.names[node])
        spot = text and _free_spot(sheet.size(text, height), places[node], float(radii[node]), taken, discs, node)
        if spot:
            taken.append(spot)
            sheet.write(spot.left, spot.bottom, text, height, bbox=behind, zorder=4, va="bottom")
        if len(taken) == LABELS:
            break


def _first_named(picture: Picture) -> Numbers:
    """The nodes in the order in which they get names: the best, and what everything hangs on."""
    degrees = np.bincount(np.concatenate([picture.source, picture.target]), minlength=len(picture.names))
    return np.asarray(np.argsort(-_importance(picture) - degrees / degrees.max(), kind="stable"))


def _free_spot(
    size: tuple[float, float], place: Floats, radius: float, taken: list[Box], discs: list[Box], node: int
) -> Box | None:
    """Room for a label beside its node; None when all of it is taken."""
    for spot in _spots(size, float(place[0]), float(place[1]), radius):
        inside = spot.left > GRAPH[0] and spot.right < GRAPH[0] + GRAPH[2] + 20
        free = not any(map(spot.padded().meets, taken))
        if inside and free and not any(spot.meets(disc) for i, disc in enumerate(discs) if i != node and _is_big(disc)):
            return spot
    return None


def _is_big(disc: Box) -> bool:
    return disc.right - disc.left > 8  # a label may cover the small ones


def _spots(size: tuple[float, float], x: float, y: float, radius: float) -> Iterator[Box]:
    """Right, left, above, below."""
    width, height = size
    gap = radius + 2
    for left, bottom in (
        (x + gap, y - height / 2), (x - gap - width, y - height / 2), (x - width / 2, y + gap),
        (x - width / 2, y - gap - height),
    ):  # fmt: skip
        yield Box(left, bottom, left + width, bottom + height)


def _draw_legend(sheet: Sheet, picture: Picture) -> None:
    """The groups, each by the name of its best node."""
    from matplotlib.patches import Circle  # noqa: PLC0415

    counts, order = np.bincount(picture.groups), _first_named(picture)
    told = min(GROUPS_TOLD, int((counts > 1).sum()))
    y = PAPER[1] - 62
    sheet.write(LEGEND_LEFT, y, "Communities", 10, weight="bold")
    for group, count in enumerate(counts[:told].tolist()):
        y -= 21
        best = int(order[picture.groups[order] == group][0])
        sheet.axes.add_patch(Circle((LEGEND_LEFT + 5, y + 3), 5, color=hex_of(group), zorder=3))
        sheet.write(LEGEND_LEFT + 16, y + 3.5, _cut(sheet, sheet.name(picture.names[best]), 7.5), 7.5)
        what = picture.level if count != 1 else picture.level.removesuffix("s")
        sheet.write(LEGEND_LEFT + 16, y - 5, f"{count:,} {what}", 6, colour=FAINT)
    if len(counts) > told:
        y -= 18
        sheet.write(LEGEND_LEFT, y, f"and {len(counts) - told:,} smaller ones", 6.5, colour=FAINT)


def _cut(sheet: Sheet, text: str, height: float) -> str:
    """A text that fits into the legend."""
    room = PAPER[0] - LEGEND_LEFT - 22
    if sheet.size(text, height)[0] <= room:
        return text
    while text and sheet.size(f"{text}…", height)[0] > room:
        text = text[:-1].rstrip()
    return f"{text}…"


def _caption(picture: Picture) -> str:
    shown, links, drawn = len(picture.names), len(picture.source), int(picture.drawn.sum())
    which = f"{shown:,} {picture.level}" if shown == picture.known else (
        f"The {shown:,} best of {picture.known:,} {picture.level}"
    )  # fmt: skip
    lines = f"{links:,} links" if drawn == links else f"the {drawn:,} most telling of {links:,} links"
    return f"{which} and {lines} between them. Size: PageRank. Colour: community."
