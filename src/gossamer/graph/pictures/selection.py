"""What a picture of the link graph shows: the nodes that matter most, what links them, their groups and names.

A picture of everything is a picture of nothing. So the best nodes by PageRank are chosen, the strongest links between
them are drawn, and the caption says of how many. `layout` finds places, `draw` makes the picture.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gossamer.errors import UsageError
from gossamer.graph.ranking.algorithms import pagerank, score
from gossamer.graph.ranking.distances import depths
from gossamer.graph.structure import Undirected, by_size

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy.typing as npt

    from gossamer.graph.snapshot import Graph, Links
    from gossamer.store.follow.graph import HostRanks, Ranks
    from gossamer.store.protocol import Store

    Floats = npt.NDArray[np.float64]
    Numbers = npt.NDArray[np.int32]

MOST_NODES = 2_000
NODES = 300  # what can be told apart on a screen
HOSTS_WANTED = 12  # with fewer hosts than this, a graph of hosts says little
LINKS_PER_NODE = 4  # drawn: the strongest of each node
NAME_LENGTH = 34  # characters of a label

# What sites put before or behind every title: " — Python 3.11 documentation", "PostgreSQL: ", " (Java SE 17)".
SEPARATOR = re.compile(r"\s+[\u2014\u2013|\u00b7\u00bb\u00ab:-]\s+|:\s+|\s+(?=\()")
SHARED = 0.25  # a part of a title that so many pages share says nothing about one of them


class Picture(NamedTuple):
    """What is drawn."""

    names: list[tuple[str, ...]]  # of each node, the better ones first: the font may lack letters of some
    scores: Floats  # 0..100
    groups: Numbers  # community, by size within the picture
    source: Numbers
    target: Numbers
    strength: Floats  # of each link, 0..1
    drawn: npt.NDArray[np.bool_]  # which links are drawn; all of them pull
    level: str  # pages, hosts
    known: int  # nodes of the whole graph


class Measured(NamedTuple):
    """Scores and communities of all nodes of a graph."""

    scores: Floats
    communities: Numbers


def best_level(graph: Graph) -> str:
    """What to show when nobody says: the hosts if there are enough of them, else the pages."""
    return "hosts" if graph.hosts.nodes >= HOSTS_WANTED else "pages"


def picture_of(store: Store, graph: Graph, level: str, nodes: int = NODES) -> Picture:
    """Choose what to show of a graph."""
    links = graph.hosts if level == "hosts" else graph.pages
    if not links.edges:
        raise UsageError(f"There are no links between {level} in this web, so there is nothing to draw.")
    measured = _measured(store, graph, level, links)
    chosen = _chosen(links, measured.scores, min(nodes, MOST_NODES))
    source, target, weight = _between(links, chosen)
    strength = _strengths(source, target, weight, len(chosen))
    return Picture(
        names=_host_names(graph, chosen) if level == "hosts" else _page_names(store, graph, chosen),
        scores=measured.scores[chosen],
        groups=by_size(measured.communities[chosen]),
        source=source,
        target=target,
        strength=strength,
        drawn=_strongest(source, target, strength, len(chosen)),
        level=level,
        known=links.nodes,
    )


def _measured(store: Store, graph: Graph, level: str, links: Links) -> Measured:
    """The ranks of the last `gossamer rank` where they are there, else computed now."""
    if store.ranking() is not None:
        nodes: Iterable[Ranks | HostRanks | None] = (
            (node.ranks for node in store.host_nodes(graph.host_ids.tolist()))
            if level == "hosts"
            else (node.ranks for node in store.page_nodes(graph.docs.tolist()))
        )
        rows = [(ranks.score, ranks.community) for ranks in nodes if ranks and ranks.community is not None]
        if len(rows) == links.nodes:
            scores, communities = zip(*rows, strict=True)
            return Measured(np.array(scores), np.array(communities, np.int32))
    return Measured(score(pagerank(links).values), Undirected(links).communities().of)


def _chosen(links: Links, scores: Floats, most: int) -> npt.NDArray[np.int64]:
    """The best nodes, in the order of their numbers; half of them with links of their own, or there would be none.

    What is known and not visited has no links, and a good rank by those of others.
    """
    best = np.lexsort((np.arange(links.nodes), -scores))
    linking = best[np.diff(links.starts)[best] > 0][: (most + 1) // 2]
    chosen = np.concatenate([linking, best[~np.isin(best, linking)]])[:most]
    source, target, _ = _between(links, np.sort(chosen))
    linked = np.union1d(source, target)  # numbers among the chosen ones
    return np.sort(chosen)[linked]


# -- links -------------------------------------------------------------------------------------------------------------


def _between(links: Links, chosen: npt.NDArray[np.int64]) -> tuple[Numbers, Numbers, Floats]:
    """The links between chosen nodes, by their new numbers."""
    number = np.full(links.nodes, -1, np.int32)
    number[chosen] = np.arange(len(chosen))
    rows = [links.out_of(int(node)) for node in chosen]
    source = np.repeat(np.arange(len(chosen), dtype=np.int32), [len(targets) for targets, _ in rows])
    target = number[np.concatenate([targets for targets, _ in rows])] if rows else np.empty(0, np.int32)
    weight = np.concatenate([weights for _, weights in rows]).astype(np.float64) if rows else np.empty(0)
    kept = target >= 0
    return source[kept], target[kept], weight[kept]


def _strengths(source: Numbers, target: Numbers, weight: Floats, nodes: int) -> Floats:
    """How much a link says: little when it is one of hundreds, such as those to a start page from everywhere."""
    out = np.bincount(source, minlength=nodes)[source]
    into = np.bincount(target, minlength=nodes)[target]
    strength = np.log1p(weight) / np.sqrt(out * into)
    return np.asarray(strength / strength.max() if len(strength) else strength)


def _strongest(source: Numbers, target: Numbers, strength: Floats, nodes: int) -> npt.NDArray[np.bool_]:
    """The strongest links of each node, out or in."""
    drawn = np.zeros(len(source), bool)
    order = np.argsort(-strength, kind="stable")
    for ends in (source, target):
        left = np.full(nodes, LINKS_PER_NODE)
        for link in order.tolist():
            if left[ends[link]]:
                left[ends[link]] -= 1
                drawn[link] = True
    return drawn


# -- numbers -----------------------------------------------------------------------------------------------------------


def clicks_of(store: Store, graph: Graph) -> npt.NDArray[np.int64]:
    """How many pages are how many clicks away from the seeds: by click, from 0."""
    seeds = graph.pages_of(store.seeds())
    if not len(seeds):
        raise UsageError("This web has no seed that was visited, so no click depths; crawl from a URL.")
    found = depths(graph.pages, seeds)
    return np.bincount(found[found >= 0])


# -- names -------------------------------------------------------------------------------------------------------------


def _host_names(graph: Graph, chosen: npt.NDArray[np.int64]) -> list[tuple[str, ...]]:
    return [(shortened(graph.host(int(host)).removeprefix("www.")),) for host in chosen]


def _page_names(store: Store, graph: Graph, chosen: npt.NDArray[np.int64]) -> list[tuple[str, ...]]:
    titles = telling_parts([readable(node.title) for node in store.page_nodes(graph.docs[chosen].tolist())])
    places = [place_in(graph.url(int(page))) for page in chosen]
    times = Counter(titles)  # where several pages have the same, it tells none of them
    pairs = (each if times[each[0]] == 1 else each[::-1] for each in zip(titles, places, strict=True))
    return [tuple(shortened(name) for name in pair if name) for pair in pairs]


def telling_parts(titles: Sequence[str]) -> list[str]:
    """Titles without what many of them share: the name of the site, its version."""
    parts = [SEPARATOR.split(title) for title in titles]
    counts = Counter(part for each in parts for part in set(each))
    most = max(2, SHARED * len(titles))
    return [next((part for part in each if counts[part] < most), each[0]) for each in parts]


def place_in(url: str) -> str:
    """The last part of a URL that says something: for pages without a title."""
    host, _, path = url.partition("://")[2].partition("/")
    return next((part for part in reversed(path.split("/")) if part), host)


def readable(text: str) -> str:
    """A text on one line, with nothing in it that is not seen."""
    return " ".join("".join(character if character.isprintable() else " " for character in text).split())


def shortened(text: str) -> str:
    """A label that is not too long."""
    return text if len(text) <= NAME_LENGTH else f"{text[: NAME_LENGTH - 1].rstrip()}…"
