"""Hubs and authorities of a big graph, computed by a process of its own while this one is at the other ranks.

They take about as long as all the others together. Not in a thread: products of scipy keep Python's lock. Both
processes map the same files; the numbers come back through a pipe. For a small graph it would take longer to start one.
"""

from __future__ import annotations

import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gossamer.cores import cores
from gossamer.graph.arrays import load_part
from gossamer.graph.rank import Hits, hits
from gossamer.graph.snapshot import KNOWN, VISITED, Links

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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
    with subprocess.Popen(  # noqa: S603 - our own interpreter and module
        # -P: what lies in the working directory must not be imported
        [sys.executable, "-P", "-m", __name__, directory, name, str(graph.stamp), WEIGHTED if weighted else PLAIN],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        process_group=0,  # Ctrl-C is for the command
    ) as process:
        try:
            yield lambda: _received(process, graph.pages.nodes, tell) or here()
        finally:
            process.kill()  # if it is not done, nobody waits for it any more


def _received(process: subprocess.Popen[bytes], nodes: int, tell: Tell) -> Hits | None:
    """What it found; None when it did not: another process may have put a newer graph in place of this one."""
    tell("hubs and authorities")
    numbers = np.frombuffer(process.communicate()[0])
    return Hits(numbers[:nodes], numbers[nodes:]) if process.returncode == 0 else None


def main(directory: str, name: str, stamp: str, kind: str) -> None:
    """Write hubs, then authorities, to standard output."""
    part = load_part(Path(directory), name)
    if part is None or str(part.facts["made_from"]) != stamp:
        sys.exit(1)
    found = hits(Links(*(part[each] for each in Links._fields)), weighted=kind == WEIGHTED)
    for values in found:
        sys.stdout.buffer.write(values.data)


if __name__ == "__main__":
    main(*sys.argv[1:])
