"""Plots of the link graph's numbers: how links are spread over pages, and how many clicks pages are away."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, Any

import numpy as np

from gossamer.graph.pictures.palette import hex_of
from gossamer.graph.pictures.sheet import FAINT, PAPER, drawing

if TYPE_CHECKING:
    import numpy.typing as npt

    from gossamer.graph.pictures.sheet import Sheet

    Numbers = npt.NDArray[np.int64]

LEFT = 70.0  # where the axes begin (points)


def draw_degrees(inlinks: Numbers, outlinks: Numbers, title: str, out: IO[bytes], form: str) -> None:
    """How links are spread: the share of pages with at least so many, on logarithmic axes."""
    none = []
    with drawing(out, form) as sheet:
        axes = _axes(sheet, title)
        for numbers, name, colour, mark in ((inlinks, "links in", 0, "o"), (outlinks, "links out", 1, "s")):
            values, counts = np.unique(numbers[numbers > 0], return_counts=True)
            share = np.cumsum(counts[::-1])[::-1] / max(len(numbers), 1)
            look = {"color": hex_of(colour), "markersize": 4, "markeredgewidth": 0, "alpha": 0.8}
            axes.loglog(values, share, mark, label=name, **look)
            none.append(f"{int((numbers == 0).sum()):,} with no {name}")
        axes.set(xlabel="pages at the other end", ylabel="share of pages with at least so many")
        axes.yaxis.set_major_formatter(_percents)
        axes.xaxis.set_major_formatter(_whole)
        axes.grid(which="major", color="#e6e6e6", linewidth=0.6)
        axes.legend(frameon=False, loc="lower left")
        sheet.write(LEFT, 14, f"{len(inlinks):,} pages, {', '.join(none)}.", 8, colour=FAINT)


def draw_depths(clicks: Numbers, unreached: int, title: str, out: IO[bytes], form: str) -> None:
    """How many pages are how many clicks away from the seeds."""
    with drawing(out, form) as sheet:
        axes = _axes(sheet, title)
        bars = axes.bar(np.arange(len(clicks)), clicks, color=hex_of(0), width=0.8)
        axes.bar_label(bars, [f"{count:,}" for count in clicks], padding=2, fontsize=7.5, color=FAINT)
        axes.set(xlabel="clicks from the seeds", ylabel="pages")
        axes.set_xlim(-0.75, max(len(clicks), 8) - 0.25)  # a few bars are no walls
        for axis in (axes.xaxis, axes.yaxis):
            axis.get_major_locator().set_params(integer=True)
        axes.yaxis.set_major_formatter(_whole)
        axes.margins(y=0.08)
        beyond = f", and {unreached:,} that no click leads to" if unreached else ""
        sheet.write(LEFT, 14, f"{int(clicks.sum()):,} pages{beyond}.", 8, colour=FAINT)


def _axes(sheet: Sheet, title: str) -> Any:
    sheet.write(LEFT, PAPER[1] - 34, title, 17, weight="bold")
    return sheet.figure.add_axes((LEFT / PAPER[0], 0.11, 0.88, 0.78))


def _percents(value: float, _position: int) -> str:
    return f"{value * 100:g} %"


def _whole(value: float, _position: int) -> str:
    return f"{value:,.0f}" if value == round(value) else ""
