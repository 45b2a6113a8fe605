"""PageRank of one generated web, by Gossamer and by three graph libraries, each in its own process, in turn."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bench.graph import SIZES, run_part
from bench.harness.contest import Spread, ratio
from bench.harness.report import Section

PARTS = {
    "ours": ("gossamer, PageRank", "gossamer", "the graph mapped from its files; L1 change < 1e-8"),
    "ranks": ("gossamer, `rank`", "gossamer", "PageRank, HITS and components, written to the store"),
    "networkit": ("NetworKit", "networkit", "its graph built from edges in memory, then PageRank, two threads"),
    "igraph": ("igraph", "igraph", "its graph built from edges in memory, then PageRank (PRPACK)"),
    "networkx": ("networkx", "networkx", "PageRank of a graph built before; building it is not counted"),
}


def race(size: str, runs: int) -> Section:
    """Race on one of the sizes of `bench/graph.py`."""
    pages, links = SIZES[size]
    measured: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    with tempfile.TemporaryDirectory(prefix="gossamer-bench-") as folder:
        directory = Path(folder, size)
        for part in ("fill", "build"):
            measured[part].append(run_part(part, directory))
        for _ in range(runs):
            for part in PARTS:
                measured[part].append(run_part(part, directory))
    return Section(
        name="The link graph",
        work=(
            f"PageRank of a generated web of {pages:,} pages and {links:,} links with power-law degrees, {runs} runs in"
            f" turn. Making the graph from the store, once, took Gossamer {measured['build'][0]['seconds']:.1f} s."
        ),
        columns=("system", "seconds", "to gossamer's PageRank", "MB (peak)", "what it did"),
        rows=[_row(part, measured) for part in PARTS],
        measured=dict(measured),
    )


def _row(part: str, measured: dict[str, list[dict[str, Any]]]) -> list[str]:
    name, package, does = PARTS[part]
    seconds = {each: [run["seconds"] for run in measured[each]] for each in ("ours", part)}
    times = "" if part == "ours" else f"{ratio(seconds[part], seconds['ours']).describe('.2f')} times"
    return [
        f"{name} {version(package)}",
        Spread.of(seconds[part]).describe(".2f"),
        times,
        Spread.of(run["megabytes"] for run in measured[part]).describe(),
        does,
    ]
