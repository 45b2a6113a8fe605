"""Compute all ranks of a web: open the graph, compute, write.

The ranks go to the store in one transaction, and the PageRank scores to the array that search reads. Both record
the store version that they reflect.
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
from gossamer.graph.ranking.distances import click_depths, harmonic_centrality
from gossamer.graph.ranking.expected_backlinks import expected_backlinks
from gossamer.graph.ranking.hits import hits
from gossamer.graph.ranking.hits_process import start_hits
from gossamer.graph.ranking.matrix import row_sums
from gossamer.graph.ranking.pagerank import ALPHA, load_pagerank, pagerank, save_pagerank, score
from gossamer.graph.snapshot import open_graph
from gossamer.graph.structure import BOWTIE, UndirectedGraph, bow_tie, components
from gossamer.model import State, Value
from gossamer.store.follow.graph import HostRanks, RankColumns, Ranking, Ranks

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from gossamer.graph import OnProgress
    from gossamer.graph.arrays import Array
    from gossamer.graph.ranking.hits_process import GetHits
    from gossamer.graph.snapshot import Graph, LinkMatrix
    from gossamer.store.protocol import GraphSource

MEASURES = (
    "hits",
    "harmonic",
    "depth",
    "components",
    "communities",
    "cores",
)  # optional; PageRank and degrees are always computed
UNVISITED_PAGES = (State.QUEUED, State.LEASED, State.FAILED, State.REFUSED)  # in scope
VALUES_AT_ONCE = 10_000  # array values converted to Python numbers per step


class RankOptions(Value, frozen=True, kw_only=True):
    """The measures to compute, and their parameters."""

    measures: tuple[str, ...] = MEASURES  # in the order of `MEASURES`
    alpha: float = ALPHA
    weighted: bool = False  # True: a link that a page has three times counts three times
    include_unvisited: bool = False


def stored_options(store: GraphSource) -> RankOptions:
    """Return the options of the last ranking, or the usual ones."""
    previous = store.ranking()
    return RankOptions() if previous is None else _options_of(previous)


def _options_of(ranking: Ranking) -> RankOptions:
    return RankOptions(
        measures=ranking.measures, alpha=ranking.alpha, weighted=ranking.weighted,
        include_unvisited=ranking.include_unvisited,
    )  # fmt: skip


class Nearness(Value, frozen=True, kw_only=True):
    """A page with its PageRank personalised to chosen start pages."""

    url: str
    pagerank: float
    score: float


def rank_web(
    store: GraphSource, directory: Path, options: RankOptions, on_progress: OnProgress = lambda _: None
) -> Ranking:
    """Compute and write the ranks, unless the stored ones are current and have the same options."""
    previous = store.ranking()
    if (
        previous is not None
        and _is_current(previous, store.version(), options)
        and load_pagerank(directory) is not None
    ):
        return previous
    graph = open_graph(store, directory, include_unvisited=options.include_unvisited, on_progress=on_progress)
    facts: dict[str, Any] = {}
    with _start_hits(graph, directory, options, on_progress) as get_hits:
        pages = _page_columns(graph, store.seed_ids(), options, facts, on_progress)
        hosts = _host_columns(graph, options, on_progress)
        if get_hits is not None:
            pages["hub"], pages["authority"] = get_hits()
        ranking = Ranking(
            made_at=time.time(), version=graph.version, pages=graph.pages.nodes, links=graph.pages.edges,
            hosts=graph.hosts.nodes, visited=graph.visited, known=_pages_in_scope(graph, store),
            measures=options.measures, alpha=options.alpha, weighted=options.weighted,
            include_unvisited=options.include_unvisited, **facts,
        )  # fmt: skip
        on_progress("writing ranks")  # before the child process exits: freeing its memory takes time
        store.write_ranks(
            ranking, _ordered_columns(graph.docs, pages, Ranks), _ordered_columns(graph.host_ids, hosts, HostRanks)
        )
    save_pagerank(directory, graph.docs, pages["score"], graph.version)
    if _crawl_order(store) == RankOrder(order="best"):
        waiting = expected_backlinks(open_bonds(store, directory), graph.docs, pages["pagerank"])
        store.reprioritize(waiting.docs.tolist(), waiting.backlinks.tolist())
    return ranking


def _pages_in_scope(graph: Graph, store: GraphSource) -> int:
    """Return how many pages the crawl would visit if it could: the visited ones, and those that wait or failed.

    A URL that is gone is no page, and nobody wants those out of scope.
    """
    resources = store.counts().resources
    return graph.visited + sum(resources.get(state, 0) for state in UNVISITED_PAGES)


def _start_hits(
    graph: Graph, directory: Path, options: RankOptions, on_progress: OnProgress
) -> AbstractContextManager[GetHits | None]:
    if "hits" not in options.measures:
        return nullcontext()
    return start_hits(graph, directory, weighted=options.weighted, on_progress=on_progress)


class RankOrder(Value, frozen=True, kw_only=True):
    """The order of a crawl, from its settings."""

    order: str = ""
    topic: str = ""  # a topic determines the order, and the graph does not know it


def _crawl_order(store: GraphSource) -> RankOrder:
    current = store.current_round()
    return msgspec.json.decode(current.settings, type=RankOrder) if current else RankOrder()


def _is_current(previous: Ranking, version: int, options: RankOptions) -> bool:
    return previous.version == version and _options_of(previous) == options


def pages_near(graph: Graph, docs: Sequence[int], options: RankOptions, limit: int) -> list[Nearness]:
    """Return the best pages by PageRank personalised to the given resources."""
    start_pages = graph.pages_of(docs)
    if not len(start_pages):
        raise UsageError("None of these pages was visited, so their links are unknown. Crawl them first.")
    start = np.zeros(graph.pages.nodes)
    start[start_pages] = 1
    values = pagerank(graph.pages, alpha=options.alpha, weighted=options.weighted, start=start).values
    scores = score(values)
    best = np.lexsort((np.arange(len(values)), -values))[:limit]
    return [
        Nearness(url=graph.url(i), pagerank=float(values[i]), score=float(scores[i])) for i in best if values[i] > 0
    ]


# -- columns -----------------------------------------------------------------------------------------------------------


def _page_columns(
    graph: Graph, seeds: Sequence[int], options: RankOptions, facts: dict[str, Any], on_progress: OnProgress
) -> dict[str, Array]:
    links, measures = graph.pages, options.measures
    columns = _basic_columns(links, options, facts, on_progress)
    if "harmonic" in measures:
        columns["harmonic"], facts["harmonic"] = harmonic_centrality(links, on_progress)
    if "depth" in measures:
        on_progress("click depth")
        columns["depth"] = _negative_to_none(click_depths(links, graph.pages_of(seeds)))
    if "components" in measures:
        on_progress("components")
        columns["component"] = components(links).labels
        columns["bowtie"] = np.array(BOWTIE, object)[bow_tie(links, columns["component"])]
    if {"communities", "cores"} & set(measures):
        on_progress("communities and cores")
        undirected = UndirectedGraph(links)
        if "communities" in measures:
            columns["community"], _, facts["modularity"] = undirected.communities()
        if "cores" in measures:
            columns["core"] = undirected.cores()
    return columns


def _host_columns(graph: Graph, options: RankOptions, on_progress: OnProgress) -> dict[str, Array]:
    links = graph.hosts
    columns = _basic_columns(links, options, {}, on_progress)
    columns["pages"] = np.diff(graph.host_starts)
    if "hits" in options.measures:
        columns["hub"], columns["authority"] = hits(links, weighted=options.weighted, on_progress=on_progress)
    if "harmonic" in options.measures:
        columns["harmonic"] = harmonic_centrality(links, on_progress).values
    if "components" in options.measures:
        columns["component"] = components(links).labels
    if "communities" in options.measures:
        columns["community"] = UndirectedGraph(links).communities().labels
    return columns


def _basic_columns(
    links: LinkMatrix, options: RankOptions, facts: dict[str, Any], on_progress: OnProgress
) -> dict[str, Array]:
    """Return the columns that every ranking has: PageRank, score and degrees."""
    ranked = pagerank(links, alpha=options.alpha, weighted=options.weighted, on_progress=on_progress)
    facts["iterations"] = ranked.iterations
    return {
        "pagerank": ranked.values,
        "score": score(ranked.values),
        "indegree": np.diff(links.in_starts),
        "outdegree": np.diff(links.starts),
        "in_weight": row_sums(links.in_starts, links.in_weights),
        "out_weight": row_sums(links.starts, links.weights),
    }


def _negative_to_none(numbers: Array) -> Array:
    """Replace -1 by None."""
    values = numbers.astype(object)
    values[numbers < 0] = None
    return values


def _ordered_columns(ids: Array, columns: dict[str, Array], type_: type[Ranks | HostRanks]) -> RankColumns:
    """Return the columns in field order, sorted by id, because stores append faster in that order."""
    order = np.argsort(ids, kind="stable")  # fast: ids are sorted in runs, one per host
    in_field_order = (columns.get(name) for name in type_.__struct_fields__)
    return RankColumns(
        _OrderedColumn(ids, order), tuple(None if it is None else _OrderedColumn(it, order) for it in in_field_order)
    )


class _OrderedColumn:
    """A reordered column as Python numbers, converted in steps because they take ten times the memory."""

    def __init__(self, column: Array, order: Array) -> None:
        self._column = column
        self._order = order

    def __iter__(self) -> Iterator[object]:
        starts = range(0, len(self._order), VALUES_AT_ONCE)
        some = (self._column[self._order[start : start + VALUES_AT_ONCE]].tolist() for start in starts)
        return chain.from_iterable(some)
