"""The shape of a web in numbers, and a site with its neighbours, as `gossamer shape` shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gossamer.graph.pictures.communities import name_communities
from gossamer.graph.pictures.labels import last_url_part
from gossamer.graph.ranking.distances import UNREACHED, click_depths
from gossamer.graph.ranking.pagerank import pagerank, score
from gossamer.graph.snapshot import EDGES_AT_ONCE, redirect_mask, resolve_redirects
from gossamer.graph.structure import BOWTIE, UndirectedGraph, bow_tie, components
from gossamer.model import Value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gossamer.graph import OnProgress
    from gossamer.graph.arrays import Array
    from gossamer.graph.bonds import BondTable
    from gossamer.graph.snapshot import Graph
    from gossamer.store.protocol import GraphSource

COMMUNITY_EXAMPLES = 3  # pages shown per community


class Community(Value, frozen=True, kw_only=True):
    """Pages that link to each other more than chance predicts."""

    number: int  # 0 is the biggest
    name: str  # the title of its best page, as in explorer and pictures
    pages: int
    examples: tuple[str, ...]  # URLs of its most linked pages


class Shape(Value, frozen=True, kw_only=True):
    """Components, click depths, communities and cores of a web."""

    version: int  # of the store
    pages: int
    links: int
    hosts: int
    visited: int
    known: int
    components: int  # strong components
    biggest_component: int
    bowtie: dict[str, int]
    depths: dict[int, int]  # clicks from the seeds -> pages
    unreached: int  # pages without a path of links from a seed
    modularity: float
    communities: tuple[Community, ...]
    deepest_core: int  # the greatest k for which a k-core exists
    deepest_core_pages: int


class Neighbour(Value, frozen=True, kw_only=True):
    """A host that a site links to, or that links to the site."""

    host: str
    links_out: int  # linked pairs of pages, from the site to the neighbour
    weight_out: int  # links, repeated ones counted
    links_in: int
    weight_in: int


class Site(Value, frozen=True, kw_only=True):
    """A host with its first-level neighbours: the minimum web structure."""

    host: str
    pages: int
    links: int  # linked pairs of its own pages
    weight: int
    neighbours: tuple[Neighbour, ...]  # most links first


def measure_shape(
    graph: Graph, store: GraphSource, max_communities: int = 10, on_progress: OnProgress = lambda _: None
) -> Shape:
    """Measure the shape of a web."""
    links = graph.pages
    on_progress("components")
    strong = components(links)
    parts = np.bincount(bow_tie(links, strong.labels), minlength=len(BOWTIE)).tolist()
    clicks = click_depths(links, graph.pages_of(store.seed_ids()))
    levels = np.bincount(clicks[clicks != UNREACHED]).tolist()
    on_progress("communities and cores")
    undirected = UndirectedGraph(links)
    groups, cores = undirected.communities(), undirected.cores()
    deepest = int(cores.max()) if len(cores) else 0
    names = name_communities(store, graph, "pages", score(pagerank(links).values), groups.labels)
    return Shape(
        version=graph.version, pages=links.nodes, links=links.edges, hosts=graph.hosts.nodes, visited=graph.visited,
        known=graph.known, components=strong.total, biggest_component=int((strong.labels == 0).sum()),
        bowtie=dict(zip(BOWTIE, parts, strict=True)), depths=dict(enumerate(levels)),
        unreached=int((clicks == UNREACHED).sum()), modularity=groups.modularity,
        communities=tuple(
            _community(graph, groups.labels, i, names) for i in range(min(max_communities, groups.total))
        ),
        deepest_core=deepest, deepest_core_pages=int((cores == deepest).sum()),
    )  # fmt: skip


def _community(graph: Graph, labels: Array, number: int, names: Mapping[int, str]) -> Community:
    pages = np.flatnonzero(labels == number)
    linked = np.diff(graph.pages.in_starts)[pages]
    first = pages[np.argsort(-linked, kind="stable")][:COMMUNITY_EXAMPLES]
    examples = tuple(graph.url(page) for page in first.tolist())
    name = names.get(number) or last_url_part(examples[0])
    return Community(number=number, name=name, pages=len(pages), examples=examples)


# -- a site among its neighbours ---------------------------------------------------------------------------------------


def measure_site(store: GraphSource, bonds: BondTable, host: int) -> Site:
    """Measure a host and all hosts that it links to or that link to it, visited or not."""
    host_count = int(bonds.hosts.max()) + 1
    sums = {name: np.zeros(host_count, np.int64) for name in ("links_out", "weight_out", "links_in", "weight_in")}
    for source, target, weight in _host_links(bonds):
        for name, ours, theirs in (("out", source, target), ("in", target, source)):
            is_ours = ours == host
            sums[f"links_{name}"] += np.bincount(theirs[is_ours], minlength=host_count)
            sums[f"weight_{name}"] += np.bincount(theirs[is_ours], weight[is_ours], minlength=host_count).astype(
                np.int64
            )
    both = sums["weight_out"] + sums["weight_in"]
    others = [int(i) for i in np.argsort(-both, kind="stable")[: np.count_nonzero(both)] if i != host]
    names = store.host_names([host, *others])
    visited = bonds.rows.ids[~redirect_mask(bonds.rows)]
    return Site(
        host=names[host], pages=int((bonds.hosts[visited] == host).sum()), links=int(sums["links_out"][host]),
        weight=int(sums["weight_out"][host]),
        neighbours=tuple(
            Neighbour(host=names[other], **{name: int(values[other]) for name, values in sums.items()})
            for other in others
            if other in names
        ),
    )  # fmt: skip


def _host_links(bonds: BondTable) -> Iterator[tuple[Array, Array, Array]]:
    """Yield blocks of links: source hosts, target hosts, weights."""
    rows, final = bonds.rows, resolve_redirects(bonds)
    source = np.repeat(np.where(redirect_mask(rows), 0, bonds.hosts[rows.ids]), np.diff(rows.starts))
    for start in range(0, len(rows.targets), EDGES_AT_ONCE):
        block = slice(start, start + EDGES_AT_ONCE)
        linked = source[block] > 0
        target = bonds.hosts[final[rows.targets[block][linked]]]
        yield source[block][linked], target, rows.weights[block][linked]
