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

from gossamer.basics.cores import cores, on_another
from gossamer.graph.arrays import load_part
from gossamer.graph.ranking.algorithms import Hits, hits
from gossamer.graph.snapshot import KNOWN, VISITED, Links

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from multiprocessing.connection import Connection

    from gossamer.graph.snapshot import Graph

    Tell = Callable[[str], None]
    Later = Callable[[], Hits]

BIG = 10_000_000  # links; below that they take less than a second
WEIGHTED, PLAIN = "weighted", "plain"


@contextmanager
def hits_later(graph: Graph, directory: Path, *, weighted: bool, tell: Tell) -> Iterator[Later]:
    """Hubs and authorities of the pages of a graph whose files are in a directory, for when they are needed."""

    def here() -> Hits:
        return hits(graph.pages, weighted=weighted, tell=tell)

    if graph.pages.edges < BIG or cores() == 1:
        yield here
        return
    name = KNOWN if graph.include_unvisited else VISITED
    with on_another(__name__, directory, name, graph.stamp, WEIGHTED if weighted else PLAIN) as other:
        yield lambda: _received(other, tell) or here()


def _received(other: Connection[Any, Any], tell: Tell) -> Hits | None:
    """What it found; None when it did not: another process may have put a newer graph in place of this one."""
    tell("hubs and authorities")
    try:
        return Hits(np.frombuffer(other.recv_bytes()), np.frombuffer(other.recv_bytes()))
    except (EOFError, OSError):  # it has ended
        return None


def main(directory: str, name: str, stamp: str, kind: str, connection: str) -> None:
    """Send hubs, then authorities."""
    from multiprocessing.connection import Connection  # noqa: PLC0415 - see `on_another`

    part = load_part(Path(directory), name)
    if part is None or str(part.facts["made_from"]) != stamp:
        sys.exit(1)
    found = hits(Links(*(part[each] for each in Links._fields)), weighted=kind == WEIGHTED)
    with suppress(OSError), Connection(int(connection)) as asker:  # who asked may be there no more
        for values in found:
            asker.send_bytes(values.tobytes())
