"""Hubs and authorities of a big graph, computed by a process of its own while this one is at the other ranks.

They take about as long as all the others together. Not in a thread: products of scipy keep Python's lock. Both
processes map the same files. For a small graph it would take longer to start one.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gossamer.basics.cores import available_cores, helper_process
from gossamer.graph.arrays import load_bundle
from gossamer.graph.ranking.algorithms import Hits, hits
from gossamer.graph.snapshot import KNOWN, VISITED, LinkMatrix

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from multiprocessing.connection import Connection

    from gossamer.graph.snapshot import Graph

    OnProgress = Callable[[str], None]
    GetHits = Callable[[], Hits]

MIN_PROCESS_LINKS = 10_000_000  # links; below that they take less than a second
WEIGHTED, UNWEIGHTED = "weighted", "plain"


@contextmanager
def start_hits(graph: Graph, directory: Path, *, weighted: bool, on_progress: OnProgress) -> Iterator[GetHits]:
    """Hubs and authorities of the pages of a graph whose files are in a directory, for when they are needed."""

    def compute_here() -> Hits:
        return hits(graph.pages, weighted=weighted, on_progress=on_progress)

    if graph.pages.edges < MIN_PROCESS_LINKS or available_cores() == 1:
        yield compute_here
        return
    name = KNOWN if graph.include_unvisited else VISITED
    with helper_process(__name__, directory, name, graph.stamp, WEIGHTED if weighted else UNWEIGHTED) as connection:
        yield lambda: _receive_hits(connection, on_progress) or compute_here()


def _receive_hits(connection: Connection[Any, Any], on_progress: OnProgress) -> Hits | None:
    """What it found; None when it did not: another process may have put a newer graph in place of this one."""
    on_progress("hubs and authorities")
    try:
        return Hits(np.frombuffer(connection.recv_bytes()), np.frombuffer(connection.recv_bytes()))
    except (EOFError, OSError):  # it has ended
        return None


def main(directory: str, name: str, stamp: str, kind: str, connection: str) -> None:
    """Send hubs, then authorities."""
    from multiprocessing.connection import Connection  # noqa: PLC0415 - see `on_another`

    bundle = load_bundle(Path(directory), name)
    if bundle is None or str(bundle.facts["made_from"]) != stamp:
        sys.exit(1)
    result = hits(LinkMatrix(*(bundle[each] for each in LinkMatrix._fields)), weighted=kind == WEIGHTED)
    with suppress(OSError), Connection(int(connection)) as parent:  # who asked may be there no more
        for values in result:
            parent.send_bytes(values.tobytes())
