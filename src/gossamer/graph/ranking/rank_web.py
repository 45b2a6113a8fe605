"""All ranks of a web at once: open the graph, compute, write back.

The results go to the store in one transaction, and as an array by DocID to where search looks for it. Both carry the
store version that they reflect.
"""

from __future__ import annotations

import time
from contextlib import nullcontext
from itertools import chain
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from gossamer.errors import UsageError
from gossamer.graph.bonds import open_bonds
from gossamer.graph.ranking.algorithms import ALPHA, hits, load_pagerank, pagerank, save_pagerank, score
from gossamer.graph.ranking.distances import depths, harmonic
from gossamer.graph.ranking.expectation import expected
from gossamer.graph.ranking.hits_process import hits_later
from gossamer.graph.ranking.matrix import row_sums
from gossamer.graph.snapshot import open_graph
from gossamer.graph.structure import BOWTIE, Undirected, bow_tie, components
from gossamer.model import Value
from gossamer.store.follow.graph import HostRanks, RankColumns, Ranking, Ranks

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from gossamer.graph.arrays import Array
    from gossamer.graph.bonds import Tell
    from gossamer.graph.ranking.hits_process import Later
    from gossamer.graph.snapshot import Graph, Links
    from gossamer.store.protocol import Store

MEASURES = ("hits", "harmonic", "depth", "components", "communities", "cores")  # beside PageRank and degrees
NUMBERS_AT_ONCE = 10_000


class RankOptions(Value, frozen=True, kw_only=True):
    """What to compute, and how."""

    measures: tuple[str, ...] = MEASURES  # in their order; PageRank and degrees are always among them
    alpha: float = ALPHA
    weighted: bool = False  # a link that stands on a page three times counts three times
    include_unvisited: bool = False


class Nearness(Value, frozen=True, kw_only=True):
    """A page as seen from chosen ones: PageRank of a reader who always starts there."""

    url: str
    pagerank: float
    score: float


def rank(store: Store, directory: Path, options: RankOptions, tell: Tell = lambda _: None) -> Ranking:
    """Compute the ranks and write them, unless those that are there are just these."""
    before = store.ranking()
    if before is not None and _is_current(before, store.version(), options) and load_pagerank(directory) is not None:
        return before
    graph = open_graph(store, directory, include_unvisited=options.include_unvisited, tell=tell)
    facts: dict[str, Any] = {}
    with _hits_later(graph, directory, options, tell) as later:
        pages = _page_columns(graph, store.seeds(), options, facts, tell)
        hosts = _host_columns(graph, options, tell)
        if later is not None:
            pages["hub"], pages["authority"] = later()
        ranking = Ranking(
            made_at=time.time(), version=graph.version, pages=graph.pages.nodes, links=graph.pages.edges,
            hosts=graph.hosts.nodes, visited=graph.visited, known=graph.known, measures=options.measures,
            alpha=options.alpha, weighted=options.weighted, include_unvisited=options.include_unvisited, **facts,
        )  # fmt: skip
        tell("writing ranks")  # in here: it need not wait until the other process has given back its memory
        store.write_ranks(ranking, _in_order(graph.docs, pages, Ranks), _in_order(graph.host_ids, hosts, HostRanks))
    save_pagerank(directory, graph.docs, pages["score"], graph.version)
    if _order(store) == Order(order="best"):
        waiting = expected(open_bonds(store, directory), graph.docs, pages["pagerank"])
        store.reorder(waiting.docs.tolist(), waiting.backlinks.tolist())
    return ranking


def _hits_later(
    graph: Graph, directory: Path, options: RankOptions, tell: Tell
) -> AbstractContextManager[Later | None]:
    if "hits" not in options.measures:
        return nullcontext()
    return hits_later(graph, directory, weighted=options.weighted, tell=tell)


class Order(Value, frozen=True, kw_only=True):
    """What the crawl's settings say about its order."""

    order: str = ""
    topic: str = ""  # nearness to it outweighs all else, and is not known here


def _order(store: Store) -> Order:
    current = store.current_round()
    return msgspec.json.decode(current.settings, type=Order) if current else Order()


def _is_current(before: Ranking, version: int, options: RankOptions) -> bool:
    made = RankOptions(
        measures=before.measures, alpha=before.alpha, weighted=before.weighted,
        include_unvisited=before.include_unvisited,
    )  # fmt: skip
    return before.version == version and made == options


def near(graph: Graph, docs: Sequence[int], options: RankOptions, limit: int) -> list[Nearness]:
    """The first pages by PageRank personalised to some."""
    chosen = graph.pages_of(docs)
    if not len(chosen):
        raise UsageError("None of these pages was visited, so nothing is known of where they lead.")
    start = np.zeros(graph.pages.nodes)
    start[chosen] = 1
    values = pagerank(graph.pages, alpha=options.alpha, weighted=options.weighted, start=start).values
    scores = score(values)
    first = np.lexsort((np.arange(len(values)), -values))[:limit]
    return [
        Nearness(url=graph.url(i), pagerank=float(values[i]), score=float(scores[i])) for i in first if values[i] > 0
    ]


# -- columns -----------------------------------------------------------------------------------------------------------


def _page_columns(
    graph: Graph, seeds: Sequence[int], options: RankOptions, facts: dict[str, Any], tell: Tell
) -> dict[str, Array]:
    links, measures = graph.pages, options.measures
    columns = _basics(links, options, facts, tell)
    if "harmonic" in measures:
        columns["harmonic"], facts["harmonic"] = harmonic(links, tell)
    if "depth" in measures:
        tell("click depth")
        columns["depth"] = _or_none(depths(links, graph.pages_of(seeds)))
    if "components" in measures:
        tell("components")
        columns["component"] = components(links).of
        columns["bowtie"] = np.array(BOWTIE, object)[bow_tie(links, columns["component"])]
    if {"communities", "cores"} & set(measures):
        tell("communities and cores")
        undirected = Undirected(links)
        if "communities" in measures:
            columns["community"], _, facts["modularity"] = undirected.communities()
        if "cores" in measures:
            columns["core"] = undirected.cores()
    return columns


def _host_columns(graph: Graph, options: RankOptions, tell: Tell) -> dict[str, Array]:
    links = graph.hosts
    columns = _basics(links, options, {}, tell)
    columns["pages"] = np.diff(graph.host_starts)
    if "hits" in options.measures:
        columns["hub"], columns["authority"] = hits(links, weighted=options.weighted, tell=tell)
    if "harmonic" in options.measures:
        columns["harmonic"] = harmonic(links, tell).values
    if "components" in options.measures:
        columns["component"] = components(links).of
    if "communities" in options.measures:
        columns["community"] = Undirected(links).communities().of
    return columns


def _basics(links: Links, options: RankOptions, facts: dict[str, Any], tell: Tell) -> dict[str, Array]:
    """PageRank and degrees."""
    ranked = pagerank(links, alpha=options.alpha, weighted=options.weighted, tell=tell)
    facts["iterations"] = ranked.iterations
    return {
        "pagerank": ranked.values,
        "score": score(ranked.values),
        "indegree": np.diff(links.in_starts),
        "outdegree": np.diff(links.starts),
        "in_weight": row_sums(links.in_starts, links.in_weights),
        "out_weight": row_sums(links.starts, links.weights),
    }


def _or_none(numbers: Array) -> Array:
    """The numbers, and None for -1."""
    told = numbers.astype(object)
    told[numbers < 0] = None
    return told


def _in_order(ids: Array, columns: dict[str, Array], type_: type[Ranks | HostRanks]) -> RankColumns:
    """The columns in the order of the fields, and by id, for stores like to append."""
    order = np.argsort(ids, kind="stable")  # in runs already, a host after the other, which this makes use of
    named = (columns.get(name) for name in type_.__struct_fields__)
    return RankColumns(_Numbers(ids, order), tuple(None if it is None else _Numbers(it, order) for it in named))


class _Numbers:
    """A column in an order, as Python's own numbers: some at a time, for all of them take ten times its room."""

    def __init__(self, column: Array, order: Array) -> None:
        self._column = column
        self._order = order

    def __iter__(self) -> Iterator[object]:
        starts = range(0, len(self._order), NUMBERS_AT_ONCE)
        some = (self._column[self._order[start : start + NUMBERS_AT_ONCE]].tolist() for start in starts)
        return chain.from_iterable(some)
