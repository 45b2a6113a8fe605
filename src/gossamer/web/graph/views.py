"""Views of the link graph: a few hundred nodes of high rank, their edges and their coordinates.

A view has a limited number of nodes, so a web of a million pages opens as fast as a small one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import msgspec
import numpy as np

from gossamer.errors import UsageError
from gossamer.graph.bonds import gather_rows
from gossamer.graph.pictures.communities import first_names, name_communities
from gossamer.graph.pictures.labels import distinctive_titles, last_url_part, printable_line
from gossamer.graph.pictures.layout import even_out, force_layout, sunflower_points
from gossamer.graph.ranking.pagerank import pagerank, score
from gossamer.graph.snapshot import LinkMatrix
from gossamer.graph.structure import UndirectedGraph, relabel_by_size
from gossamer.web.http.problems import NotFound
from gossamer.web.pages.answers import require_resource

if TYPE_CHECKING:
    import numpy.typing as npt

    from gossamer.graph.snapshot import Graph
    from gossamer.store.protocol import Store

    Numbers = npt.NDArray[np.int64]
    Floats = npt.NDArray[np.float64]

MAX_NODES, MAX_EDGES = 2_000, 10_000
LABEL_CHARACTERS = 60  # longer labels are cut
Level = Literal["hosts", "pages"]


class ViewOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Which part of the graph to show."""

    level: Level | None = None  # None: hosts if the web has enough of them
    nodes: int = 300
    host: str = ""  # pages of this host only
    focus: str = ""  # a URL or a host: the view shows it and its neighbours
    hops: int = 1
    direction: Literal["both", "in", "out"] = "both"
    include_unvisited: bool = False


class Nodes(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes as parallel columns."""

    id: list[int]  # DocID of a page, number of a host
    key: list[str]  # URL or host name
    label: list[str]
    x: list[float]
    y: list[float]
    score: list[float]  # PageRank on a logarithmic scale, 0..100
    community: list[int | None]
    host: list[str]
    depth: list[int | None]  # clicks from the seeds
    status: list[int]
    pages: list[int | None]  # of a host
    indegree: list[int] = msgspec.field(name="in")  # in the whole graph
    outdegree: list[int] = msgspec.field(name="out")


class Edges(msgspec.Struct, frozen=True, kw_only=True):
    """Edges as parallel columns."""

    source: list[int]  # positions in `nodes`; ids in `Neighbours`
    target: list[int]
    weight: list[int]  # links that the edge stands for


class GraphSize(msgspec.Struct, frozen=True, kw_only=True):
    """The size of the whole graph."""

    nodes: int
    edges: int


class NamedCommunity(msgspec.Struct, frozen=True, kw_only=True):
    """A community of the view's nodes, with the title or the name of its best node."""

    community: int
    name: str


class GraphView(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the link graph, with coordinates of its nodes."""

    level: Level
    version: int  # of the store that the graph reflects
    known: GraphSize
    focus: int | None
    unranked: bool  # whether the web has no ranks; then communities are computed from this view
    rank_note: str = ""  # how much of the web the ranks come from: "from 40 of 160 pages"; "" if they are current
    nodes: Nodes
    edges: Edges
    communities: list[NamedCommunity]


class Neighbours(GraphView, frozen=True, kw_only=True):
    """Neighbours of a node that are not shown yet; edges name nodes by their ids."""

    omitted: int  # further neighbours beyond the limit


# -- the snapshot ------------------------------------------------------------------------------------------------------


class Snapshot:
    """One level of a graph with the ranks of its nodes."""

    def __init__(self, graph: Graph, level: Level, pageranks: npt.NDArray[np.float32] | None) -> None:
        self.graph = graph
        self.level: Level = level
        self.links: LinkMatrix = graph.hosts if level == "hosts" else graph.pages
        self.ids = graph.host_ids if level == "hosts" else graph.docs
        self.scores = self._scores(pageranks)
        self._numbers: dict[int, int] | None = None
        self._names: tuple[float, dict[int, str]] = (0.0, {})  # of communities, and the time of their ranking

    def community_names(self, store: Store) -> dict[int, str]:
        """Return the names of the big communities of the last `gossamer rank`."""
        ranking = store.ranking()
        if ranking is not None and ranking.made_at != self._names[0]:
            self._names = ranking.made_at, name_communities(store, self.graph, self.level, self.scores)
        return self._names[1] if ranking else {}

    def _scores(self, pageranks: npt.NDArray[np.float32] | None) -> Floats:
        """Return the scores of `gossamer rank` if the web has them, else compute them."""
        if self.level == "pages" and pageranks is not None:
            known = self.ids < len(pageranks)
            return np.where(known, 100.0 * pageranks[np.where(known, self.ids, 0)], 0.0)
        return score(pagerank(self.links).values)

    def number(self, id_: int) -> int | None:
        """Return the number of a node by its id; None if the graph does not have it."""
        if self.level == "pages":
            pages = self.graph.pages_of([id_])
            return int(pages[0]) if len(pages) else None
        if self._numbers is None:
            self._numbers = {host: number for number, host in enumerate(self.ids.tolist())}
        return self._numbers.get(id_)

    def key(self, number: int) -> str:
        """Return the URL of a page, or the name of a host."""
        return self.graph.host(number) if self.level == "hosts" else self.graph.url(number)

    def host(self, number: int) -> str:
        """Return the host of a node."""
        return self.graph.host(number if self.level == "hosts" else int(self.graph.host_of[number]))


# -- nodes and edges ---------------------------------------------------------------------------------------------------


def find_node(store: Store, snapshot: Snapshot, key: str) -> int:
    """Return the number of the node with a key: a URL, or the name of a host."""
    if snapshot.level == "hosts":
        name = key.partition("://")[2].partition("/")[0] if "://" in key else key
        id_ = store.host_id(name.lower())
    else:
        id_ = require_resource(store, key).id
    number = snapshot.number(id_) if id_ is not None else None
    if number is None:
        raise NotFound(f"{key} is not in the graph: only visited pages are.")
    return number


def best_nodes(snapshot: Snapshot, among: Numbers, limit: int) -> Numbers:
    """Return the nodes with the highest scores, highest first."""
    if len(among) > limit:
        among = among[np.argpartition(-snapshot.scores[among], limit)[:limit]]
    return among[np.lexsort((among, -snapshot.scores[among]))]


def _linked_nodes(links: LinkMatrix, nodes: Numbers, direction: str) -> Numbers:
    """Return the nodes that some nodes link to or are linked from, without these nodes."""
    linked = []
    if direction in {"both", "out"}:
        linked.append(links.targets[gather_rows(links.starts, nodes)[1]])
    if direction in {"both", "in"}:
        linked.append(links.sources[gather_rows(links.in_starts, nodes)[1]])
    return np.setdiff1d(np.concatenate(linked).astype(np.int64), nodes)


def _choose_nodes(store: Store, snapshot: Snapshot, options: ViewOptions, focus: int | None) -> Numbers:
    """Return the nodes of a view."""
    limit = min(options.nodes, MAX_NODES)
    if focus is not None:
        nodes = np.array([focus], np.int64)
        for _ in range(options.hops):
            nodes = np.concatenate(
                [
                    nodes,
                    best_nodes(snapshot, _linked_nodes(snapshot.links, nodes, options.direction), limit - len(nodes)),
                ]
            )
        return nodes
    if options.host and snapshot.level == "pages":
        id_ = store.host_id(options.host.lower())
        at = np.flatnonzero(snapshot.graph.host_ids == (-1 if id_ is None else id_))
        if not len(at):
            raise NotFound(f"{options.host} is not a host of the graph.")
        starts = snapshot.graph.host_starts
        return best_nodes(snapshot, np.arange(starts[at[0]], starts[at[0] + 1], dtype=np.int64), limit)
    return best_nodes(snapshot, np.arange(snapshot.links.nodes, dtype=np.int64), limit)


def _edges_between(links: LinkMatrix, nodes: Numbers, others: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """Return the edges from some nodes to others: source, target, weight."""
    ends, at = gather_rows(links.starts, nodes)
    source, target = np.repeat(nodes, np.diff(ends)), links.targets[at].astype(np.int64)
    kept = np.isin(target, others)
    return source[kept], target[kept], links.weights[at[kept]].astype(np.int64)


def _strength(links: LinkMatrix, source: Numbers, target: Numbers, weight: Numbers) -> Floats:
    """Return how strongly each edge pulls: weakly between nodes with many edges, such as links to a home page."""
    out, into = np.diff(links.starts)[source], np.diff(links.in_starts)[target]
    return np.asarray(np.log1p(weight) / np.sqrt(np.maximum(out * into, 1)))


# -- making a view -----------------------------------------------------------------------------------------------------


def make_view(store: Store, snapshot: Snapshot, options: ViewOptions, *, unranked: bool) -> GraphView:
    """Return a view with its edges and coordinates."""
    focus = find_node(store, snapshot, options.focus) if options.focus else None
    nodes = _choose_nodes(store, snapshot, options, focus)
    source, target, weight = _edges_between(snapshot.links, nodes, nodes)
    strength = _strength(snapshot.links, source, target, weight)
    if len(source) > MAX_EDGES:
        kept = np.sort(np.argpartition(-strength, MAX_EDGES)[:MAX_EDGES])
        source, target, weight, strength = source[kept], target[kept], weight[kept], strength[kept]
    position = np.zeros(snapshot.links.nodes, np.int64)
    position[nodes] = np.arange(len(nodes))
    source, target = position[source], position[target]
    columns = node_columns(store, snapshot, nodes)
    names = snapshot.community_names(store)
    if not names:  # Do not mix these numbers with those of the web: new pages of a ranked web have no community.
        columns["community"] = _communities(len(nodes), source, target, weight)
    x, y = _coordinates(columns["community"], snapshot.scores[nodes], source, target, strength)
    return GraphView(
        level=snapshot.level,
        version=snapshot.graph.version,
        known=GraphSize(nodes=snapshot.links.nodes, edges=snapshot.links.edges),
        focus=int(snapshot.ids[focus]) if focus is not None else None,
        unranked=unranked,
        nodes=Nodes(**columns, x=x, y=y),
        edges=Edges(source=source.tolist(), target=target.tolist(), weight=weight.tolist()),
        communities=_named_communities(columns, names),
    )


def _named_communities(columns: dict[str, Any], names: dict[int, str]) -> list[NamedCommunity]:
    """Return the communities of nodes in order; one without a name gets that of its best node here."""
    best_first = sorted(range(len(columns["id"])), key=lambda node: -columns["score"][node])
    here = first_names(*([columns[name][node] for node in best_first] for name in ("label", "community")))
    return [NamedCommunity(community=each, name=names.get(each, name)) for each, name in sorted(here.items())]


def node_columns(store: Store, snapshot: Snapshot, nodes: Numbers) -> dict[str, Any]:
    """Return the columns of nodes without their coordinates."""
    numbers, ids = nodes.tolist(), snapshot.ids[nodes].tolist()
    keys = [snapshot.key(number) for number in numbers]
    columns: dict[str, Any] = {
        "id": ids,
        "key": keys,
        "score": snapshot.scores[nodes].astype(np.float64).round(2).tolist(),
        "host": [snapshot.host(number) for number in numbers],
        "indegree": np.diff(snapshot.links.in_starts)[nodes].tolist(),
        "outdegree": np.diff(snapshot.links.starts)[nodes].tolist(),
    }
    if snapshot.level == "hosts":
        hosts = list(store.host_nodes(ids))
        return columns | {
            "label": [key.removeprefix("www.") for key in keys],
            "community": [host.ranks.community if host.ranks else None for host in hosts],
            "depth": [None] * len(hosts),
            "status": [0] * len(hosts),
            "pages": [host.pages for host in hosts],
        }
    pages = list(store.page_nodes(ids))
    titles = distinctive_titles([printable_line(page.title) for page in pages])
    return columns | {
        "label": [(title or last_url_part(key))[:LABEL_CHARACTERS] for title, key in zip(titles, keys, strict=True)],
        "community": [page.ranks.community if page.ranks else None for page in pages],
        "depth": [page.ranks.depth if page.ranks else None for page in pages],
        "status": [page.status for page in pages],
        "pages": [None] * len(pages),
    }


def _communities(count: int, source: Numbers, target: Numbers, weight: Numbers) -> list[int]:
    links = LinkMatrix.from_edges(count, source, target, weight)
    return UndirectedGraph(links).communities().labels.tolist() if count else []


def _coordinates(
    communities: list[int | None], scores: Floats, source: Numbers, target: Numbers, strength: Floats
) -> tuple[list[float], list[float]]:
    """Return coordinates that place linked nodes close to each other."""
    if not len(scores):
        return [], []
    groups = relabel_by_size(np.array([-1 if each is None else each for each in communities]))
    mass = np.asarray(0.6 + scores / 100, np.float32)
    pull = np.asarray(0.4 + 3 * np.sqrt(strength / strength.max()) if len(strength) else strength, np.float32)
    coordinates = even_out(force_layout(groups, source.astype(np.int32), target.astype(np.int32), pull, mass), 0.35)
    return _axis(coordinates, 0), _axis(coordinates, 1)


def _axis(coordinates: npt.NDArray[np.float32], axis: int) -> list[float]:
    values: list[float] = coordinates[:, axis].astype(np.float64).round(3).tolist()
    return values


# -- expanding ---------------------------------------------------------------------------------------------------------


class NeighbourOptions(msgspec.Struct, frozen=True, kw_only=True):
    """A node to expand, and the nodes that the explorer shows already."""

    level: Level
    key: str = ""
    id: int | None = None
    shown: frozenset[int] = frozenset()
    limit: int = 40
    direction: Literal["both", "in", "out"] = "both"
    include_unvisited: bool = False


def neighbours(store: Store, snapshot: Snapshot, options: NeighbourOptions) -> Neighbours:
    """Return the neighbours of a node that are not shown yet, highest rank first."""
    if not options.key and options.id is None:
        raise UsageError("Give the key or the id of a node.")
    node = snapshot.number(options.id) if options.id is not None else find_node(store, snapshot, options.key)
    if node is None:
        raise NotFound("There is no such node in the graph.")
    here = np.array([node], np.int64)
    numbers = (snapshot.number(id_) for id_ in options.shown)
    shown = np.union1d(np.array([number for number in numbers if number is not None], np.int64), here)
    further = np.setdiff1d(_linked_nodes(snapshot.links, here, options.direction), shown)
    new = best_nodes(snapshot, further, options.limit)
    sent = new if int(snapshot.ids[node]) in options.shown else np.concatenate([here, new])
    edges = _edges_of_new(snapshot, new, shown)
    columns = node_columns(store, snapshot, sent)
    ring = np.concatenate([np.zeros((len(sent) - len(new), 2), np.float32), sunflower_points(len(new) + 1)[1:]])
    return Neighbours(
        level=snapshot.level,
        version=snapshot.graph.version,
        known=GraphSize(nodes=snapshot.links.nodes, edges=snapshot.links.edges),
        focus=int(snapshot.ids[node]),
        unranked=store.ranking() is None,
        nodes=Nodes(**columns, x=_axis(ring, 0), y=_axis(ring, 1)),
        edges=edges,
        communities=_named_communities(columns, snapshot.community_names(store)),
        omitted=len(further) - len(new),
    )


def _edges_of_new(snapshot: Snapshot, new: Numbers, shown: Numbers) -> Edges:
    """Return the edges among new nodes and between new and shown nodes, by ids."""
    forth = _edges_between(snapshot.links, new, np.union1d(new, shown))
    back = _edges_between(snapshot.links, shown, new)
    source, target, weight = (np.concatenate(pair) for pair in zip(forth, back, strict=True))
    strength = _strength(snapshot.links, source, target, weight)
    kept = np.argsort(-strength, kind="stable")[:MAX_EDGES]
    return Edges(
        source=snapshot.ids[source[kept]].tolist(),
        target=snapshot.ids[target[kept]].tolist(),
        weight=weight[kept].tolist(),
    )
