"""The graph that is ranked, as memory-mapped arrays: pages and hosts, with the links between them.

Pages are numbered by reversed host and path (`org.example.docs/a` before `org.example.docs/b`). So a host is a range of
numbers, and most links lead to near numbers. The arrays hold links in both directions, as rows of sorted neighbours
(CSR). An edge occurs once; its weight is the number of links that it stands for.

Edges are followed hyperlinks between different visited pages; `include_unvisited` adds unvisited known pages.
A link to a redirect counts as a link to the redirect's final target. Frames, embeds, canonical and other
elements of a page's head are no edges.
"""

from __future__ import annotations

import re
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import sparse

from gossamer.graph.arrays import ArrayBundle, ArrayWriter, directory_lock, load_bundle
from gossamer.graph.bonds import REDIRECT_WEIGHT, gather_rows, open_bonds, sum_duplicates
from gossamer.graph.ranking.matrix import BlockMatrix
from gossamer.urls.canonical import authority

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    import numpy.typing as npt

    from gossamer.graph import OnProgress
    from gossamer.graph.arrays import Array
    from gossamer.graph.bonds import BondRows, BondTable
    from gossamer.store.protocol import GraphSource

VISITED, KNOWN = "visited", "known"  # bundle names: visited pages only, all known pages
EDGES_AT_ONCE = 1 << 20  # edges per block; bounds temporary arrays
LINKS_AT_ONCE = 1 << 17  # links translated per block; its temporary arrays fit in the processor cache
CHAIN_DOUBLINGS = 6  # follows redirects over up to 2**6 hops, as far as the store searches for loops
IP_ADDRESS = re.compile(r"[\d.]+|\[.*\]")  # an IPv4 or IPv6 address has no labels to reverse


class LinkMatrix(NamedTuple):
    """A directed graph in both directions: node `i` links to `targets[starts[i]:starts[i + 1]]`."""

    starts: npt.NDArray[np.int64]
    targets: npt.NDArray[np.int32]
    weights: npt.NDArray[np.int32]
    in_starts: npt.NDArray[np.int64]
    sources: npt.NDArray[np.int32]
    in_weights: npt.NDArray[np.int32]

    @property
    def nodes(self) -> int:
        """The number of nodes."""
        return len(self.starts) - 1

    @property
    def edges(self) -> int:
        """The number of edges."""
        return len(self.targets)

    def out_of(self, node: int) -> tuple[Array, Array]:
        """Return the targets of a node's links, and their weights."""
        row = slice(self.starts[node], self.starts[node + 1])
        return self.targets[row], self.weights[row]

    def into(self, node: int) -> tuple[Array, Array]:
        """Return the sources of links to a node, and their weights."""
        row = slice(self.in_starts[node], self.in_starts[node + 1])
        return self.sources[row], self.in_weights[row]

    def inlink_matrix(self, *, weighted: bool) -> BlockMatrix:
        """Return the matrix with a row per target and a column per source."""
        linking = np.flatnonzero(np.diff(self.starts))
        return BlockMatrix(self.in_starts, self.sources, self.in_weights if weighted else None, linking)

    @classmethod
    def from_edges(cls, nodes: int, source: Array, target: Array, weight: Array | None = None) -> LinkMatrix:
        """Build a graph from edges; parallel edges are summed, self-links dropped."""
        weight = np.ones(len(source), np.int32) if weight is None else weight
        other = source != target
        row, column, total = sum_duplicates(source[other], target[other], weight[other])
        starts = np.searchsorted(row, np.arange(nodes + 1))
        return cls.from_rows(starts, column.astype(np.int32), total.astype(np.int32))

    @classmethod
    def from_rows(cls, starts: Array, targets: Array, weights: Array) -> LinkMatrix:
        """Build a graph from rows of targets."""
        nodes = len(starts) - 1
        index = np.int32 if len(targets) < 2**31 else np.int64
        transposed = sparse.csr_array((weights, targets, starts.astype(index)), shape=(nodes, nodes)).tocsc()
        sources = transposed.indices.astype(np.int32, copy=False)
        return cls(starts, targets, weights, transposed.indptr.astype(np.int64), sources, transposed.data)


class Graph:
    """The pages and hosts of a web, with the links between them."""

    def __init__(self, bundle: ArrayBundle, final: FinalTargets, *, include_unvisited: bool) -> None:
        self.version = bundle.version  # of the store
        self.stamp = bundle.facts["made_from"]  # identifies the `BondTable` that the files were built from
        self.include_unvisited = include_unvisited
        self.visited = bundle.facts["visited"]  # number of visited pages
        self.known = bundle.facts["known"]  # number of visited and of linked pages, in the graph or not
        self.docs: npt.NDArray[np.int32] = bundle["docs"]  # DocID of each page
        self.host_of: npt.NDArray[np.int32] = bundle["host_of"]  # number of the host of each page
        self.host_ids: npt.NDArray[np.int32] = bundle["host_ids"]  # the store's id of each host
        self.host_starts: npt.NDArray[np.int64] = bundle["host_starts"]  # first page of each host, and the end
        self.pages = LinkMatrix(*(bundle[name] for name in LinkMatrix._fields))
        self.hosts = LinkMatrix(*(bundle[f"hosts_{name}"] for name in LinkMatrix._fields))
        self._url_starts = bundle["url_starts"]
        self._urls = bundle["urls"]
        self._final = final

    def url(self, page: int) -> str:
        """Return the URL of a page."""
        return bytes(self._urls[self._url_starts[page] : self._url_starts[page + 1]]).decode()

    def urls(self) -> Iterator[str]:
        """Yield the URLs of all pages, in order."""
        return map(self.url, range(len(self.docs)))

    def host(self, host: int) -> str:
        """Return the name of a host: `example.org`, `localhost:8080`."""
        return authority(self.url(int(self.host_starts[host])))

    def host_names(self) -> Iterator[str]:
        """Yield the names of all hosts, in order."""
        return map(self.host, range(len(self.host_ids)))

    @cached_property
    def _numbers_by_doc(self) -> npt.NDArray[np.int32]:
        numbers = np.full(len(self._final), -1, np.int32)
        numbers[self.docs] = np.arange(len(self.docs))
        return numbers

    def pages_of(self, docs: Sequence[int]) -> npt.NDArray[np.int32]:
        """Return page numbers of resources; redirects count as their final targets, unknown ones are left out."""
        known = np.array([doc for doc in docs if doc < len(self._final)], np.int64)
        numbers = self._numbers_by_doc[self._final[known]]
        return np.unique(numbers[numbers >= 0])


if TYPE_CHECKING:
    FinalTargets = npt.NDArray[np.int32]  # by DocID: the final target of a redirect, else the resource itself


# -- opening -----------------------------------------------------------------------------------------------------------


def open_graph(
    store: GraphSource, directory: Path, *, include_unvisited: bool = False, on_progress: OnProgress = lambda _: None
) -> Graph:
    """Return the current graph, from files in `directory` if they are current, else built now and kept there."""
    bonds = open_bonds(store, directory, on_progress)
    name = KNOWN if include_unvisited else VISITED
    final = resolve_redirects(bonds)
    bundle = load_bundle(directory, name)
    if bundle is None or bundle.facts["made_from"] != bonds.stamp:
        with directory_lock(directory):
            bundle = load_bundle(directory, name)  # another process may have built it while we waited
            if bundle is None or bundle.facts["made_from"] != bonds.stamp:
                _build_graph(store, directory, bonds, final, name, on_progress)
                bundle = load_bundle(directory, name)
    assert bundle is not None
    return Graph(bundle, final, include_unvisited=include_unvisited)


def resolve_redirects(bonds: BondTable) -> FinalTargets:
    """Return the final target of every resource, by DocID."""
    rows = bonds.rows
    final = np.arange(len(bonds.hosts), dtype=np.int32)
    at = np.flatnonzero(redirect_mask(rows))
    final[rows.ids[at]] = rows.targets[rows.starts[at]]
    for _ in range(CHAIN_DOUBLINGS):
        final = final[final]
    return final


def redirect_mask(rows: BondRows) -> npt.NDArray[np.bool_]:
    """Mark the rows of redirects."""
    one = rows.starts[1:] - rows.starts[:-1] == 1
    redirect = np.zeros(len(rows.ids), bool)
    redirect[one] = rows.weights[rows.starts[:-1][one]] == REDIRECT_WEIGHT
    return redirect


# -- building ----------------------------------------------------------------------------------------------------------


def _build_graph(
    store: GraphSource, directory: Path, bonds: BondTable, final: FinalTargets, name: str, on_progress: OnProgress
) -> None:
    """Number the pages, translate their links, sum the links between hosts, and publish the bundle."""
    on_progress("ordering pages by URL")
    pages = np.flatnonzero(~redirect_mask(bonds.rows))
    unvisited = _unvisited_docs(bonds, final, pages)
    visited = len(pages)
    urls = bonds.rows.encoded_urls()
    urls = [urls[row] for row in pages.tolist()]
    docs = bonds.rows.ids[pages]
    if name == KNOWN:
        unvisited_urls = dict(store.urls(unvisited.tolist()))
        urls += map(str.encode, unvisited_urls.values())
        docs = np.concatenate([docs, np.fromiter(unvisited_urls, np.int32, len(unvisited_urls))])
        pages = np.concatenate([pages, np.full(len(unvisited_urls), -1)])
    keys = url_sort_keys(map(bytes.decode, urls))
    order = np.array(sorted(range(len(urls)), key=keys.__getitem__), np.int64)
    docs, pages = docs[order], pages[order]
    number = np.full(len(final), -1, np.int32)
    number[docs] = np.arange(len(docs))
    with ArrayWriter(directory, name) as writer:
        host_of = _write_pages(writer, docs, [urls[i] for i in order.tolist()], bonds)
        del urls, keys
        on_progress("translating links")
        _write_links(writer, bonds.rows, pages, number[final], host_of)
        facts = {"made_from": bonds.stamp, "visited": visited, "known": visited + len(unvisited)}
        writer.publish(bonds.version, facts)


def _unvisited_docs(bonds: BondTable, final: FinalTargets, pages: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return DocIDs of linked resources that were not visited."""
    is_target = np.zeros(len(final), bool)
    for start in range(0, len(bonds.rows.targets), EDGES_AT_ONCE):
        is_target[bonds.rows.targets[start : start + EDGES_AT_ONCE]] = True
    linked = np.zeros(len(final), bool)
    linked[final[is_target]] = True
    linked[bonds.rows.ids[pages]] = False
    return np.flatnonzero(linked)


def _write_pages(writer: ArrayWriter, docs: Array, urls: list[bytes], bonds: BondTable) -> npt.NDArray[np.int32]:
    """Write the pages and their hosts; return the host number of each page."""
    writer.append("docs", docs)
    writer.append("urls", np.frombuffer(b"".join(urls), np.uint8))
    writer.append("url_starts", np.cumsum([0, *map(len, urls)], dtype=np.int64))
    hosts = bonds.hosts[docs]
    first = np.flatnonzero(np.diff(hosts, prepend=-1))
    host_of = np.zeros(len(docs), np.int32)
    host_of[first[1:]] = 1
    np.cumsum(host_of, out=host_of)
    writer.append("host_of", host_of)
    writer.append("host_ids", hosts[first])
    writer.append("host_starts", np.append(first, len(docs)))
    return host_of


def _write_links(writer: ArrayWriter, rows: BondRows, pages: Array, number: Array, host_of: Array) -> None:
    writer.append("starts", np.zeros(1, np.int64))
    writer.append("targets", np.empty(0, np.int32))
    writer.append("weights", np.empty(0, np.int32))
    end, host_links = 0, _HostLinks()
    for start, stop in _page_blocks(rows, pages):
        row, target, weight = _translate_links(rows, pages[start:stop], start, number)
        writer.append("starts", end + np.searchsorted(row, np.arange(start + 1, stop + 1)))
        writer.append("targets", target)
        writer.append("weights", weight)
        end += len(row)
        host_links.add(host_of[row], host_of[target], weight)
    links = LinkMatrix.from_rows(*map(writer.map_array, ("starts", "targets", "weights")))
    for name in ("in_starts", "sources", "in_weights"):
        writer.append(name, getattr(links, name))
    del links
    hosts = host_links.link_matrix(int(host_of[-1]) + 1 if len(host_of) else 0)
    for name, values in hosts._asdict().items():
        writer.append(f"hosts_{name}", values)


class _HostLinks:
    """Sums links between hosts, block by block, from page links sorted by source host.

    Only the last host of a block can get more links, so all others are final. Summing everything at the end would
    need memory for all links at once.
    """

    def __init__(self) -> None:
        self._done: list[list[Array]] = []
        self._last: list[Array] = [np.empty(0, np.int32)] * 3  # sources, targets and weights of the last host

    def add(self, row: Array, column: Array, weight: Array) -> None:
        """Add a block of links; links within a host are dropped."""
        other = row != column
        added = zip(self._last, (row[other], column[other], weight[other]), strict=True)
        merged = [part.astype(np.int32) for part in sum_duplicates(*map(np.concatenate, added))]
        end = np.searchsorted(merged[0], merged[0][-1:])[0] if len(merged[0]) else 0
        self._done.append([part[:end].copy() for part in merged])  # a view would keep the whole array in memory
        self._last = [part[end:].copy() for part in merged]

    def link_matrix(self, hosts: int) -> LinkMatrix:
        """Return the graph of all hosts."""
        row, column, weight = map(np.concatenate, zip(*self._done, self._last, strict=True))
        return LinkMatrix.from_rows(np.searchsorted(row, np.arange(hosts + 1)), column, weight)


def _page_blocks(rows: BondRows, pages: Array) -> Iterator[tuple[int, int]]:
    """Yield ranges of pages with about `LINKS_AT_ONCE` links each."""
    counts = np.where(pages >= 0, rows.starts[pages + 1] - rows.starts[pages], 0)
    blocks = np.cumsum(counts) // LINKS_AT_ONCE
    edges = [0, *(np.flatnonzero(np.diff(blocks)) + 1).tolist(), len(pages)]
    return ((start, stop) for start, stop in pairwise(edges) if stop > start)


def _translate_links(rows: BondRows, pages: Array, start: int, number: Array) -> tuple[Array, Array, Array]:
    """Return the links of some pages by page number, without self-links and targets outside the graph."""
    visited = np.flatnonzero(pages >= 0)
    ends, at = gather_rows(rows.starts, pages[visited])
    source = np.repeat(start + visited, np.diff(ends))
    target = number[rows.targets[at]]
    kept = (target >= 0) & (target != source)
    return sum_duplicates(source[kept], target[kept], rows.weights[at[kept]])


# -- order -------------------------------------------------------------------------------------------------------------


def url_sort_keys(urls: Iterable[str]) -> list[str]:
    """Return sort keys: host with reversed labels, path and query, scheme."""
    prefixes: dict[str, str] = {}
    keys = []
    for url in urls:
        scheme, _, rest = url.partition("://")
        name, slash, path = rest.partition("/")
        prefix = prefixes.get(name)
        if prefix is None:
            prefix = prefixes[name] = f"{reversed_host(authority(url))}\0"
        keys.append(f"{prefix}{slash}{path}\0{scheme}")
    return keys


def reversed_host(name: str) -> str:
    """Return `org.example.docs:8080` for `docs.example.org:8080`, the usual order of web graphs.

    IP addresses stay unchanged.
    """
    host, colon, port = name.rpartition(":") if re.search(r":\d+$", name) else (name, "", "")
    labels = host if IP_ADDRESS.fullmatch(host) else ".".join(reversed(host.split(".")))
    return f"{labels}{colon}{port}"
