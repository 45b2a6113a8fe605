"""Select the content of a picture: the most important nodes, their links, groups and labels.

A picture of a whole web is unreadable. So a picture shows the best nodes by PageRank and the strongest links between
them, and its caption gives the total numbers. `layout` computes positions, `draw` draws.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gossamer.errors import UsageError
from gossamer.graph.pictures.communities import name_communities
from gossamer.graph.pictures.labels import distinctive_titles, last_url_part, printable_line, shorten_label
from gossamer.graph.ranking.distances import click_depths
from gossamer.graph.ranking.pagerank import pagerank, score
from gossamer.graph.structure import UndirectedGraph, relabel_by_size

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy.typing as npt

    from gossamer.graph.snapshot import Graph, LinkMatrix
    from gossamer.store.follow.graph import HostRanks, Ranks
    from gossamer.store.protocol import GraphSource

    Floats = npt.NDArray[np.float64]
    Numbers = npt.NDArray[np.int32]

MAX_NODES = 2_000  # the layout compares all pairs
DEFAULT_NODES = 300  # distinguishable on a screen
MIN_HOSTS = 12  # a graph of fewer hosts says little
LINKS_PER_NODE = 4  # links drawn per node and direction, the strongest


class Picture(NamedTuple):
    """The content of a picture."""

    labels: list[tuple[str, ...]]  # of each node, best first: the font may lack letters of some
    scores: Floats  # 0..100
    groups: Numbers  # community, numbered by size within the picture
    communities: Numbers  # community, numbered by size within the web
    names: dict[int, str]  # of communities
    source: Numbers
    target: Numbers
    strength: Floats  # of each link, 0..1
    is_drawn: npt.NDArray[np.bool_]  # links to draw; all of them affect the layout
    level: str  # pages or hosts
    total_nodes: int  # in the whole graph


class NodeMeasures(NamedTuple):
    """Scores and communities of all nodes of a graph."""

    scores: Floats
    communities: Numbers


def default_level(graph: Graph) -> str:
    """Return the default level: hosts if there are enough, else pages."""
    return "hosts" if graph.hosts.nodes >= MIN_HOSTS else "pages"


def picture_title(graph: Graph) -> str:
    """Return a title: the hosts of a graph, or their number."""
    if graph.hosts.nodes > 3:
        return f"{graph.hosts.nodes:,} hosts"
    return ", ".join(graph.host(number).removeprefix("www.") for number in range(graph.hosts.nodes))


def select_picture(store: GraphSource, graph: Graph, level: str, nodes: int = DEFAULT_NODES) -> Picture:
    """Select the best nodes of a graph and the links between them."""
    links = graph.hosts if level == "hosts" else graph.pages
    if not links.edges:
        raise UsageError(f"This web has no links between {level}, so there is nothing to draw.")
    measures = _node_measures(store, graph, level, links)
    chosen = _choose_nodes(links, measures.scores, min(nodes, MAX_NODES))
    source, target, weight = _links_between(links, chosen)
    strength = _link_strengths(source, target, weight, len(chosen))
    return Picture(
        labels=_host_labels(graph, chosen) if level == "hosts" else _page_labels(store, graph, chosen),
        scores=measures.scores[chosen],
        groups=relabel_by_size(measures.communities[chosen]),
        communities=measures.communities[chosen],
        names=name_communities(store, graph, level, measures.scores, measures.communities),
        source=source,
        target=target,
        strength=strength,
        is_drawn=_strongest_links(source, target, strength, len(chosen)),
        level=level,
        total_nodes=links.nodes,
    )


def _node_measures(store: GraphSource, graph: Graph, level: str, links: LinkMatrix) -> NodeMeasures:
    """Return the ranks of the last `gossamer rank` if all nodes have them, else compute them now."""
    if store.ranking() is not None:
        nodes: Iterable[Ranks | HostRanks | None] = (
            (node.ranks for node in store.host_nodes(graph.host_ids.tolist()))
            if level == "hosts"
            else (node.ranks for node in store.page_nodes(graph.docs.tolist()))
        )
        rows = [(ranks.score, ranks.community) for ranks in nodes if ranks and ranks.community is not None]
        if len(rows) == links.nodes:
            scores, communities = zip(*rows, strict=True)
            return NodeMeasures(np.array(scores), np.array(communities, np.int32))
    return NodeMeasures(score(pagerank(links).values), UndirectedGraph(links).communities().labels)


def _choose_nodes(links: LinkMatrix, scores: Floats, most: int) -> npt.NDArray[np.int64]:
    """Return the best nodes, sorted by number; at least half of them have outgoing links.

    Unvisited pages can have high ranks but no outgoing links. With only such nodes the picture would have no links.
    """
    best = np.lexsort((np.arange(links.nodes), -scores))
    linking = best[np.diff(links.starts)[best] > 0][: (most + 1) // 2]
    chosen = np.concatenate([linking, best[~np.isin(best, linking)]])[:most]
    source, target, _ = _links_between(links, np.sort(chosen))
    linked = np.union1d(source, target)  # indexes into the sorted chosen nodes
    return np.sort(chosen)[linked]


# -- links -------------------------------------------------------------------------------------------------------------


def _links_between(links: LinkMatrix, chosen: npt.NDArray[np.int64]) -> tuple[Numbers, Numbers, Floats]:
    """Return the links between chosen nodes, renumbered in their order."""
    number = np.full(links.nodes, -1, np.int32)
    number[chosen] = np.arange(len(chosen))
    rows = [links.out_of(int(node)) for node in chosen]
    source = np.repeat(np.arange(len(chosen), dtype=np.int32), [len(targets) for targets, _ in rows])
    target = number[np.concatenate([targets for targets, _ in rows])] if rows else np.empty(0, np.int32)
    weight = np.concatenate([weights for _, weights in rows]).astype(np.float64) if rows else np.empty(0)
    kept = target >= 0
    return source[kept], target[kept], weight[kept]


def _link_strengths(source: Numbers, target: Numbers, weight: Floats, nodes: int) -> Floats:
    """Return the strength of each link: weak if its ends have many links, such as links to the home page."""
    out = np.bincount(source, minlength=nodes)[source]
    into = np.bincount(target, minlength=nodes)[target]
    strength = np.log1p(weight) / np.sqrt(out * into)
    return np.asarray(strength / strength.max() if len(strength) else strength)


def _strongest_links(source: Numbers, target: Numbers, strength: Floats, nodes: int) -> npt.NDArray[np.bool_]:
    """Mark the strongest links of each node, outgoing and incoming."""
    is_drawn = np.zeros(len(source), bool)
    order = np.argsort(-strength, kind="stable")
    for ends in (source, target):
        remaining = np.full(nodes, LINKS_PER_NODE)
        for link in order.tolist():
            if remaining[ends[link]]:
                remaining[ends[link]] -= 1
                is_drawn[link] = True
    return is_drawn


# -- numbers -----------------------------------------------------------------------------------------------------------


def click_depth_counts(store: GraphSource, graph: Graph) -> npt.NDArray[np.int64]:
    """Return the number of pages by clicks from the seeds, from 0."""
    seeds = graph.pages_of(store.seed_ids())
    if not len(seeds):
        raise UsageError("No seed of this web was visited, so there are no click depths. Crawl from a URL first.")
    clicks = click_depths(graph.pages, seeds)
    return np.bincount(clicks[clicks >= 0])


# -- names -------------------------------------------------------------------------------------------------------------


def _host_labels(graph: Graph, chosen: npt.NDArray[np.int64]) -> list[tuple[str, ...]]:
    return [(shorten_label(graph.host(int(host)).removeprefix("www.")),) for host in chosen]


def _page_labels(store: GraphSource, graph: Graph, chosen: npt.NDArray[np.int64]) -> list[tuple[str, ...]]:
    titles = distinctive_titles([printable_line(node.title) for node in store.page_nodes(graph.docs[chosen].tolist())])
    url_parts = [last_url_part(graph.url(int(page))) for page in chosen]
    times = Counter(titles)  # a title that several pages share identifies none of them
    pairs = (each if times[each[0]] == 1 else each[::-1] for each in zip(titles, url_parts, strict=True))
    return [tuple(shorten_label(name) for name in pair if name) for pair in pairs]
