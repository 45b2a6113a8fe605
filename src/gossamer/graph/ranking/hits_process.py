"""Hubs and authorities of a big graph, computed in another process beside the other ranks.

They take about as long as all other ranks together. A thread would not help: products of scipy hold Python's lock. Both
processes map the same files. For a small graph, starting a process takes longer than the computation.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gossamer.basics.cores import available_cores
from gossamer.graph.arrays import load_bundle
from gossamer.graph.ranking.hits import Hits, hits
from gossamer.graph.snapshot import KNOWN, VISITED, LinkMatrix
from gossamer.processes.helper_process import connect_to_parent, helper_process

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from multiprocessing.connection import Connection

    from gossamer.graph import OnProgress
    from gossamer.graph.snapshot import Graph

    GetHits = Callable[[], Hits]

MIN_PROCESS_LINKS = 10_000_000  # links; fewer take less than a second
WEIGHTED, UNWEIGHTED = "weighted", "plain"


@contextmanager
def start_hits(graph: Graph, directory: Path, *, weighted: bool, on_progress: OnProgress) -> Iterator[GetHits]:
    """Start to compute hubs and authorities of the pages of a graph; yield a function that waits for them.

    `directory` holds the files of the graph.
    """

    def compute_here() -> Hits:
        return hits(graph.pages, weighted=weighted, on_progress=on_progress)

    if graph.pages.edges < MIN_PROCESS_LINKS or available_cores() == 1:
        yield compute_here
        return
    name = KNOWN if graph.include_unvisited else VISITED
    with helper_process(__name__, directory, name, graph.stamp, WEIGHTED if weighted else UNWEIGHTED) as connection:
        yield lambda: _receive_hits(connection, on_progress) or compute_here()


def _receive_hits(connection: Connection[Any, Any], on_progress: OnProgress) -> Hits | None:
    """Wait for the results; None when the helper exited, because a newer graph replaced the files, for example."""
    on_progress("hubs and authorities")
    try:
        return Hits(np.frombuffer(connection.recv_bytes()), np.frombuffer(connection.recv_bytes()))
    except (EOFError, OSError):
        return None


def main(directory: str, name: str, stamp: str, kind: str, connection: str) -> None:
    """Compute in the helper process; send hubs, then authorities."""
    bundle = load_bundle(Path(directory), name)
    if bundle is None or str(bundle.facts["made_from"]) != stamp:
        sys.exit(1)
    result = hits(LinkMatrix(*(bundle[each] for each in LinkMatrix._fields)), weighted=kind == WEIGHTED)
    with suppress(OSError), connect_to_parent(connection) as parent:  # the parent may be gone
        for values in result:
            parent.send_bytes(values.tobytes())
