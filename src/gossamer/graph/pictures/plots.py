"""Plots of the link graph: distribution of links per page, and click depths."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, Any

import numpy as np

from gossamer.graph.pictures.palette import community_hex
from gossamer.graph.pictures.sheet import FAINT, SHEET_SIZE, open_sheet

if TYPE_CHECKING:
    import numpy.typing as npt

    from gossamer.graph.pictures.sheet import Sheet

    Numbers = npt.NDArray[np.int64]

AXES_LEFT = 70.0  # left end of the axes (points)


def draw_degrees(inlinks: Numbers, outlinks: Numbers, title: str, out: IO[bytes], image_format: str) -> None:
    """Plot the share of pages with at least n links, on logarithmic axes."""
    without_links = []
    with open_sheet(out, image_format) as sheet:
        axes = _add_axes(sheet, title)
        for numbers, name, colour, marker in ((inlinks, "links in", 0, "o"), (outlinks, "links out", 1, "s")):
            values, counts = np.unique(numbers[numbers > 0], return_counts=True)
            share = np.cumsum(counts[::-1])[::-1] / max(len(numbers), 1)
            style = {"color": community_hex(colour), "markersize": 4, "markeredgewidth": 0, "alpha": 0.8}
            axes.loglog(values, share, marker, label=name, **style)
            without_links.append(f"{int((numbers == 0).sum()):,} with no {name}")
        axes.set(xlabel="pages at the other end", ylabel="share of pages with at least so many")
        axes.yaxis.set_major_formatter(_percent_tick)
        axes.xaxis.set_major_formatter(_integer_tick)
        axes.grid(which="major", color="#e6e6e6", linewidth=0.6)
        axes.legend(frameon=False, loc="lower left")
        sheet.draw_text(AXES_LEFT, 14, f"{len(inlinks):,} pages, {', '.join(without_links)}.", 8, colour=FAINT)


def draw_depths(clicks: Numbers, unreached: int, title: str, out: IO[bytes], image_format: str) -> None:
    """Plot the number of pages by clicks from the seeds."""
    with open_sheet(out, image_format) as sheet:
        axes = _add_axes(sheet, title)
        bars = axes.bar(np.arange(len(clicks)), clicks, color=community_hex(0), width=0.8)
        axes.bar_label(bars, [f"{count:,}" for count in clicks], padding=2, fontsize=7.5, color=FAINT)
        axes.set(xlabel="clicks from the seeds", ylabel="pages")
        axes.set_xlim(-0.75, max(len(clicks), 8) - 0.25)  # keeps a few bars from becoming wide
        for axis in (axes.xaxis, axes.yaxis):
            axis.get_major_locator().set_params(integer=True)
        axes.yaxis.set_major_formatter(_integer_tick)
        axes.margins(y=0.08)
        beyond = f", and {unreached:,} that no path of links reaches" if unreached else ""
        sheet.draw_text(AXES_LEFT, 14, f"{int(clicks.sum()):,} pages{beyond}.", 8, colour=FAINT)


def _add_axes(sheet: Sheet, title: str) -> Any:
    sheet.draw_text(AXES_LEFT, SHEET_SIZE[1] - 34, title, 17, weight="bold")
    return sheet.figure.add_axes((AXES_LEFT / SHEET_SIZE[0], 0.11, 0.88, 0.78))


def _percent_tick(value: float, _position: int) -> str:
    return f"{value * 100:g} %"


def _integer_tick(value: float, _position: int) -> str:
    return f"{value:,.0f}" if value == round(value) else ""
