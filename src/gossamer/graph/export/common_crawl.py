"""The link graph in the layout of Common Crawl's web graphs: three gzipped text files.

    vertices.txt.gz   id, name: sorted by name, ids from 0 without gaps
    edges.txt.gz      source id, target id
    ranks.txt.gz      position and value by harmonic centrality, position and value by PageRank, name; best first

Host names are reversed (`org.example.docs`) as in Common Crawl. Unlike there, a leading `www.` stays, because Gossamer
treats it as another host. Page names are URLs; Common Crawl publishes no page graph.
"""

from __future__ import annotations

import gzip
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from gossamer.graph.export.xml_formats import iterate_edges
from gossamer.graph.snapshot import reversed_host

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    import numpy.typing as npt

    from gossamer.graph.snapshot import Graph
    from gossamer.store.follow.graph import HostRanks, Ranks
    from gossamer.store.protocol import GraphSource

    Floats = npt.NDArray[np.float64]

LINES_AT_ONCE = 1 << 14  # lines per write
GZIP_LEVEL = 6
RANKS_HEADER = "#harmonicc_pos\t#harmonicc_val\t#pr_pos\t#pr_val\t#{}\n"


def write_common_crawl(store: GraphSource, graph: Graph, folder: Path, *, hosts: bool) -> bool:
    """Write the files into a folder; return False if the web has no ranks, so that ranks.txt.gz is missing."""
    links = graph.hosts if hosts else graph.pages
    names = list(map(reversed_host, graph.host_names())) if hosts else None

    def node_names() -> Iterable[str]:
        return graph.urls() if names is None else names

    _write_lines(folder / "vertices.txt.gz", (f"{number}\t{name}\n" for number, name in enumerate(node_names())))
    _write_lines(folder / "edges.txt.gz", (f"{source}\t{target}\n" for source, target, _ in iterate_edges(links)))
    node_ranks: Iterator[Ranks | HostRanks | None] = (
        (node.ranks for node in store.host_nodes(graph.host_ids.tolist()))
        if hosts
        else (node.ranks for node in store.page_nodes(graph.docs.tolist()))
    )
    harmonic, pagerank = _rank_columns(node_ranks, links.nodes)
    if not links.nodes or np.isnan(harmonic).all() or np.isnan(pagerank).all():
        return False
    label = graph.url if names is None else names.__getitem__
    _write_lines(folder / "ranks.txt.gz", _rank_lines(harmonic, pagerank, label, "host_rev" if hosts else "url"))
    return True


def _rank_columns(node_ranks: Iterator[Ranks | HostRanks | None], nodes: int) -> tuple[Floats, Floats]:
    harmonic, pagerank = np.full(nodes, np.nan), np.full(nodes, np.nan)
    for number, ranks in enumerate(node_ranks):
        if ranks is not None and ranks.harmonic is not None:
            harmonic[number], pagerank[number] = ranks.harmonic, ranks.pagerank
    return harmonic, pagerank


def _rank_lines(harmonic: Floats, pagerank: Floats, label: Callable[[int], str], name_column: str) -> Iterator[str]:
    yield RANKS_HEADER.format(name_column)
    order, pagerank_positions = _descending_order(harmonic), np.empty(len(harmonic), np.int64)
    pagerank_positions[_descending_order(pagerank)] = np.arange(1, len(harmonic) + 1)
    for position, number in enumerate(order.tolist(), 1):
        if not np.isnan(harmonic[number]):
            values = float(harmonic[number]), float(pagerank[number])
            yield f"{position}\t{values[0]!r}\t{pagerank_positions[number]}\t{values[1]!r}\t{label(number)}\n"


def _descending_order(values: Floats) -> npt.NDArray[np.int64]:
    """Return node numbers by descending value; ties by number, nodes without a value last."""
    return np.argsort(-values, kind="stable")


def _write_lines(path: Path, lines: Iterator[str]) -> None:
    # No time in the header: the same graph gives the same bytes.
    with path.open("wb") as raw, gzip.GzipFile("", "wb", GZIP_LEVEL, raw, mtime=0) as out:
        while chunk := list(islice(lines, LINES_AT_ONCE)):
            out.write("".join(chunk).encode())
