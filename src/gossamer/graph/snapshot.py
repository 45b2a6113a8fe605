"""The graph that is ranked, as memory-mapped arrays: pages with the links between them, and hosts with theirs.

Pages are numbered by reversed host and path (`org.example.docs/a` before `org.example.docs/b`): a host is a range of
numbers, and most links lead near. Links are kept both ways, as rows of sorted neighbours (CSR). An edge is there once,
its weight is the number of links it stands for.

Which links: followed hyperlinks between different visited pages, or with `include_unvisited` to whatever is known. A
link to a redirect is a link to where it leads in the end. Frames, embeds, canonical and other statements of a page's
head are no edges.
"""

from __future__ import annotations

import re
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import sparse

from gossamer.graph.arrays import Part, Writer, alone_in, load_part
from gossamer.graph.bonds import REDIRECT, open_bonds, spread, summed
from gossamer.graph.ranking.matrix import Matrix

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    import numpy.typing as npt

    from gossamer.graph.arrays import Array
    from gossamer.graph.bonds import Bonds, Rows, Tell
    from gossamer.store.protocol import Store

VISITED, KNOWN = "visited", "known"  # the parts: links between visited pages, links to all that is known
EDGES_AT_ONCE = 1 << 20
LINKS_AT_ONCE = 1 << 17  # translated: what is made of them on the way stays in the processor's cache
CHAIN_DOUBLINGS = 6  # redirects are followed over up to 2**6 hops, as far as the store looks for loops
ADDRESS = re.compile(r"[\d.]+|\[.*\]")  # what has no labels to reverse


class Links(NamedTuple):
    """A directed graph, both ways: node `i` links to `targets[starts[i]:starts[i + 1]]`."""

    starts: npt.NDArray[np.int64]
    targets: npt.NDArray[np.int32]
    weights: npt.NDArray[np.int32]
    in_starts: npt.NDArray[np.int64]
    sources: npt.NDArray[np.int32]
    in_weights: npt.NDArray[np.int32]

    @property
    def nodes(self) -> int:
        """How many nodes there are."""
        return len(self.starts) - 1

    @property
    def edges(self) -> int:
        """How many edges there are."""
        return len(self.targets)

    def out_of(self, node: int) -> tuple[Array, Array]:
        """Where a node links to, and with what weight."""
        row = slice(self.starts[node], self.starts[node + 1])
        return self.targets[row], self.weights[row]

    def into(self, node: int) -> tuple[Array, Array]:
        """What links to a node, and with what weight."""
        row = slice(self.in_starts[node], self.in_starts[node + 1])
        return self.sources[row], self.in_weights[row]

    def gets(self, *, weighted: bool) -> Matrix:
        """The matrix whose product with what nodes give is what nodes get: row = target, column = source."""
        linking = np.flatnonzero(np.diff(self.starts))
        return Matrix(self.in_starts, self.sources, self.in_weights if weighted else None, linking)

    @classmethod
    def from_edges(cls, nodes: int, source: Array, target: Array, weight: Array | None = None) -> Links:
        """A graph from its edges; parallel ones are summed, those of a node to itself dropped."""
        weight = np.ones(len(source), np.int32) if weight is None else weight
        other = source != target
        row, column, total = summed(source[other], target[other], weight[other])
        starts = np.searchsorted(row, np.arange(nodes + 1))
        return cls.both_ways(starts, column.astype(np.int32), total.astype(np.int32))

    @classmethod
    def both_ways(cls, starts: Array, targets: Array, weights: Array) -> Links:
        """A graph from its rows."""
        nodes = len(starts) - 1
        index = np.int32 if len(targets) < 2**31 else np.int64
        turned = sparse.csr_array((weights, targets, starts.astype(index)), shape=(nodes, nodes)).tocsc()
        sources = turned.indices.astype(np.int32, copy=False)
        return cls(starts, targets, weights, turned.indptr.astype(np.int64), sources, turned.data)


class Graph:
    """The pages and hosts of a web with the links between them."""

    def __init__(self, part: Part, final: Final, *, include_unvisited: bool) -> None:
        self.version = part.version  # of the store
        self.stamp = part.facts["made_from"]  # by which its files are known
        self.include_unvisited = include_unvisited
        self.visited = part.facts["visited"]  # pages
        self.known = part.facts["known"]  # these, and what they link to and was not visited, in the graph or not
        self.docs: npt.NDArray[np.int32] = part["docs"]  # DocID of each page
        self.host_of: npt.NDArray[np.int32] = part["host_of"]  # number of the host of each page
        self.host_ids: npt.NDArray[np.int32] = part["host_ids"]  # the store's id of each host
        self.host_starts: npt.NDArray[np.int64] = part["host_starts"]  # its pages: from here to where the next starts
        self.pages = Links(*(part[name] for name in Links._fields))
        self.hosts = Links(*(part[f"hosts_{name}"] for name in Links._fields))
        self._url_starts = part["url_starts"]
        self._urls = part["urls"]
        self._final = final

    def url(self, page: int) -> str:
        """The URL of a page."""
        return bytes(self._urls[self._url_starts[page] : self._url_starts[page + 1]]).decode()

    def urls(self) -> Iterator[str]:
        """The URLs of all pages, in order."""
        return map(self.url, range(len(self.docs)))

    def host(self, host: int) -> str:
        """The name of a host: `example.org`, `localhost:8080`."""
        return authority(self.url(int(self.host_starts[host])))

    def host_names(self) -> Iterator[str]:
        """The names of all hosts, in order."""
        return map(self.host, range(len(self.host_ids)))

    @cached_property
    def _by_doc(self) -> npt.NDArray[np.int32]:
        numbers = np.full(len(self._final), -1, np.int32)
        numbers[self.docs] = np.arange(len(self.docs))
        return numbers

    def pages_of(self, docs: Sequence[int]) -> npt.NDArray[np.int32]:
        """The numbers of resources, redirects taken to where they lead; without those that are not in the graph."""
        known = np.array([doc for doc in docs if doc < len(self._final)], np.int64)
        numbers = self._by_doc[self._final[known]]
        return np.unique(numbers[numbers >= 0])


if TYPE_CHECKING:
    Final = npt.NDArray[np.int32]  # by DocID: where it leads in the end, itself if it is no redirect


# -- opening -----------------------------------------------------------------------------------------------------------


def open_graph(store: Store, directory: Path, *, include_unvisited: bool = False, tell: Tell = lambda _: None) -> Graph:
    """The graph as the store has it now. `directory` is where its files are kept, for the web's next time as well."""
    bonds = open_bonds(store, directory, tell)
    name = KNOWN if include_unvisited else VISITED
    final = leads_to(bonds)
    part = load_part(directory, name)
    if part is None or part.facts["made_from"] != bonds.stamp:
        with alone_in(directory):
            part = load_part(directory, name)  # again: another process may have been first
            if part is None or part.facts["made_from"] != bonds.stamp:
                _compose(store, directory, bonds, final, name, tell)
                part = load_part(directory, name)
    assert part is not None
    return Graph(part, final, include_unvisited=include_unvisited)


def leads_to(bonds: Bonds) -> Final:
    """Where every resource leads in the end, by DocID."""
    rows = bonds.rows
    final = np.arange(len(bonds.hosts), dtype=np.int32)
    at = np.flatnonzero(is_redirect(rows))
    final[rows.ids[at]] = rows.targets[rows.starts[at]]
    for _ in range(CHAIN_DOUBLINGS):
        final = final[final]
    return final


def is_redirect(rows: Rows) -> npt.NDArray[np.bool_]:
    """Which rows are of redirects."""
    one = rows.starts[1:] - rows.starts[:-1] == 1
    redirect = np.zeros(len(rows.ids), bool)
    redirect[one] = rows.weights[rows.starts[:-1][one]] == REDIRECT
    return redirect


# -- composing ---------------------------------------------------------------------------------------------------------


def _compose(store: Store, directory: Path, bonds: Bonds, final: Final, name: str, tell: Tell) -> None:
    """Number the pages, translate the links, add up what is between hosts."""
    tell("ordering pages by URL")
    pages = np.flatnonzero(~is_redirect(bonds.rows))
    unvisited = _unvisited(bonds, final, pages)
    visited = len(pages)
    urls = bonds.rows.every_url()
    urls = [urls[row] for row in pages.tolist()]
    docs = bonds.rows.ids[pages]
    if name == KNOWN:
        more = dict(store.urls(unvisited.tolist()))
        urls += map(str.encode, more.values())
        docs = np.concatenate([docs, np.fromiter(more, np.int32, len(more))])
        pages = np.concatenate([pages, np.full(len(more), -1)])
    keys = sort_keys(map(bytes.decode, urls))
    order = np.array(sorted(range(len(urls)), key=keys.__getitem__), np.int64)
    docs, pages = docs[order], pages[order]
    number = np.full(len(final), -1, np.int32)
    number[docs] = np.arange(len(docs))
    with Writer(directory, name) as writer:
        host_of = _write_pages(writer, docs, [urls[i] for i in order.tolist()], bonds)
        del urls, keys
        tell("translating links")
        _write_links(writer, bonds.rows, pages, number[final], host_of)
        facts = {"made_from": bonds.stamp, "visited": visited, "known": visited + len(unvisited)}
        writer.publish(bonds.version, facts)


def _unvisited(bonds: Bonds, final: Final, pages: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """DocIDs of what is linked to and was not visited."""
    named = np.zeros(len(final), bool)
    for start in range(0, len(bonds.rows.targets), EDGES_AT_ONCE):
        named[bonds.rows.targets[start : start + EDGES_AT_ONCE]] = True
    linked = np.zeros(len(final), bool)
    linked[final[named]] = True
    linked[bonds.rows.ids[pages]] = False
    return np.flatnonzero(linked)


def _write_pages(writer: Writer, docs: Array, urls: list[bytes], bonds: Bonds) -> npt.NDArray[np.int32]:
    """The pages and their hosts; returns the number of the host of each page."""
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


def _write_links(writer: Writer, rows: Rows, pages: Array, number: Array, host_of: Array) -> None:
    writer.append("starts", np.zeros(1, np.int64))
    writer.append("targets", np.empty(0, np.int32))
    writer.append("weights", np.empty(0, np.int32))
    end, between = 0, _Between()
    for start, stop in _blocks(rows, pages):
        row, target, weight = _translated(rows, pages[start:stop], start, number)
        writer.append("starts", end + np.searchsorted(row, np.arange(start + 1, stop + 1)))
        writer.append("targets", target)
        writer.append("weights", weight)
        end += len(row)
        between.add(host_of[row], host_of[target], weight)
    links = Links.both_ways(*map(writer.written, ("starts", "targets", "weights")))
    for name in ("in_starts", "sources", "in_weights"):
        writer.append(name, getattr(links, name))
    del links
    hosts = between.links(int(host_of[-1]) + 1 if len(host_of) else 0)
    for name, values in hosts._asdict().items():
        writer.append(f"hosts_{name}", values)


class _Between:
    """Links between hosts, added up as links of pages come, whose hosts come in order.

    All that is of one host is together, so but for the last one's nothing has to be looked at again: with all of it at
    the end, making room in memory took longer than adding up.
    """

    def __init__(self) -> None:
        self._done: list[list[Array]] = []
        self._last: list[Array] = [np.empty(0, np.int32)] * 3  # rows, columns and weights of the last host

    def add(self, row: Array, column: Array, weight: Array) -> None:
        """Some more; those of a host to itself are dropped."""
        other = row != column
        added = zip(self._last, (row[other], column[other], weight[other]), strict=True)
        together = [part.astype(np.int32) for part in summed(*map(np.concatenate, added))]
        end = np.searchsorted(together[0], together[0][-1:])[0] if len(together[0]) else 0
        self._done.append([part[:end].copy() for part in together])  # a part of an array would keep all of it
        self._last = [part[end:].copy() for part in together]

    def links(self, hosts: int) -> Links:
        """All of them."""
        row, column, weight = map(np.concatenate, zip(*self._done, self._last, strict=True))
        return Links.both_ways(np.searchsorted(row, np.arange(hosts + 1)), column, weight)


def _blocks(rows: Rows, pages: Array) -> Iterator[tuple[int, int]]:
    """Ranges of pages with about as many links each."""
    counts = np.where(pages >= 0, rows.starts[pages + 1] - rows.starts[pages], 0)
    blocks = np.cumsum(counts) // LINKS_AT_ONCE
    edges = [0, *(np.flatnonzero(np.diff(blocks)) + 1).tolist(), len(pages)]
    return ((start, stop) for start, stop in pairwise(edges) if stop > start)


def _translated(rows: Rows, pages: Array, start: int, number: Array) -> tuple[Array, Array, Array]:
    """The links of some pages by their new numbers; those that lead nowhere or to the page itself dropped."""
    visited = np.flatnonzero(pages >= 0)
    ends, at = spread(rows.starts, pages[visited])
    source = np.repeat(start + visited, np.diff(ends))
    target = number[rows.targets[at]]
    kept = (target >= 0) & (target != source)
    return summed(source[kept], target[kept], rows.weights[at[kept]])


# -- order -------------------------------------------------------------------------------------------------------------


def sort_keys(urls: Iterable[str]) -> list[str]:
    """What URLs are ordered by: host with its labels reversed, path and query, scheme."""
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
    """`docs.example.org:8080` -> `org.example.docs:8080`, as web graphs are usually sorted; addresses as they are."""
    host, colon, port = name.rpartition(":") if re.search(r":\d+$", name) else (name, "", "")
    labels = host if ADDRESS.fullmatch(host) else ".".join(reversed(host.split(".")))
    return f"{labels}{colon}{port}"


def authority(url: str) -> str:
    """The host of a canonical URL, with its port."""
    return url.split("/", 3)[2].rpartition("@")[2]
