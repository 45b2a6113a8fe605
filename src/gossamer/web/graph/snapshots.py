"""The link graph of a web, mapped into memory, and the views of it that were asked for.

The graph is brought up to date now and then, not at every request: while a crawl runs it would never be. What is there
is shown until then. Views are kept until the graph is another.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from gossamer.errors import UsageError
from gossamer.graph.arrays import graph_directory
from gossamer.graph.pictures.selection import default_level
from gossamer.graph.ranking.algorithms import load_pagerank
from gossamer.graph.snapshot import open_graph
from gossamer.graph.structure import related_pages
from gossamer.lookup import find_resource
from gossamer.web import answers
from gossamer.web.graph.views import Snapshot, best_nodes, make_view, node_columns

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from gossamer.graph.snapshot import Graph
    from gossamer.store.protocol import Store
    from gossamer.web.graph.views import GraphView, Level, Numbers, ViewOptions
    from gossamer.web.http.sessions import ReadSession, SessionPool

QUOTE = '"'
MAX_CACHED_VIEWS = 64
MIN_REFRESH_SECONDS = 10.0  # at least, between two times of bringing the graph up to date
REFRESH_COST_FACTOR = 10  # and so many times as long as that took


class GraphCache:
    """The graphs of one web, as they were not long ago, and the views that were asked for."""

    def __init__(self, sessions: SessionPool) -> None:
        self._sessions = sessions
        self._stack = ExitStack()
        self._directory: Path = self._stack.enter_context(graph_directory(sessions.location))
        self._lock = threading.Lock()
        self._graphs: dict[bool, Graph] = {}
        self._levels: dict[tuple[int, bool, Level], Snapshot] = {}
        self._views: OrderedDict[object, GraphView] = OrderedDict()
        self._next_refresh_at = 0.0  # when the snapshot may be brought up to date again
        self._refresh_thread: threading.Thread | None = None

    def close(self) -> None:
        """Let go of it."""
        if self._refresh_thread is not None:
            self._refresh_thread.join()
        self._stack.close()

    def graph(self, store: Store, *, include_unvisited: bool = False) -> Graph:
        """The graph; where it is there already, as it was a while ago, and a newer one is made meanwhile."""
        with self._lock:
            graph = self._graphs.get(include_unvisited)
            if graph is None:
                graph = self._open(store, include_unvisited=include_unvisited)
            elif graph.version != store.version() and time.monotonic() > self._next_refresh_at:
                self._start_refresh(include_unvisited)
            return graph

    def _open(self, store: Store, *, include_unvisited: bool) -> Graph:
        started = time.monotonic()
        graph = open_graph(store, self._directory, include_unvisited=include_unvisited)
        now = time.monotonic()
        self._graphs[include_unvisited] = graph
        self._next_refresh_at = now + max(MIN_REFRESH_SECONDS, REFRESH_COST_FACTOR * (now - started))
        return graph

    def _start_refresh(self, include_unvisited: bool) -> None:
        if self._refresh_thread is not None and self._refresh_thread.is_alive():
            return
        self._refresh_thread = threading.Thread(
            target=self._refresh, args=(include_unvisited,), name="graph", daemon=True
        )
        self._refresh_thread.start()

    def _refresh(self, include_unvisited: bool) -> None:
        with self._sessions.open() as session:
            self._open(session.store, include_unvisited=include_unvisited)

    def snapshot(self, store: Store, level: Level | None, *, include_unvisited: bool = False) -> Snapshot:
        """A level of the graph."""
        graph = self.graph(store, include_unvisited=include_unvisited)
        chosen_level: Level = level or ("hosts" if default_level(graph) == "hosts" else "pages")
        key = (graph.version, include_unvisited, chosen_level)
        if key not in self._levels:
            pageranks = load_pagerank(self._directory)
            snapshot = Snapshot(graph, chosen_level, pageranks)
            self._levels = {old: kept for old, kept in self._levels.items() if old[0] == graph.version} | {
                key: snapshot
            }
        return self._levels[key]

    def view(self, session: ReadSession, options: ViewOptions) -> GraphView:
        """A view; kept until the graph is another."""
        snapshot = self.snapshot(session.store, options.level, include_unvisited=options.include_unvisited)
        ranking = session.store.ranking()
        key = (snapshot.graph.version, ranking.made_at if ranking else 0.0, options)
        if key not in self._views:
            self._views[key] = make_view(session.store, snapshot, options, unranked=ranking is None)
            while len(self._views) > MAX_CACHED_VIEWS:
                self._views.popitem(last=False)
        return self._views[key]

    def related_pages(self, session: ReadSession, url: str, limit: int) -> RelatedPages:
        """Pages that are linked from the same pages as one."""
        row = answers.resource(session.store, url)
        graph = self.graph(session.store)
        pages = graph.pages_of([row.id])
        if not len(pages):
            return RelatedPages(url=row.url, related=[])
        found = related_pages(graph.pages, int(pages[0]), limit)
        titles = session.store.page_nodes([int(graph.docs[one.page]) for one in found])
        return RelatedPages(
            url=row.url,
            related=[
                RelatedPage(
                    url=graph.url(one.page),
                    title=node.title,
                    together=one.together,
                    similarity=round(one.similarity, 4),
                )
                for one, node in zip(found, titles, strict=True)
            ],
        )


class RelatedPage(msgspec.Struct, frozen=True, kw_only=True):
    """A page that is linked from the same pages as another one."""

    url: str
    title: str
    together: int  # pages that link to both
    similarity: float  # 0..1


class RelatedPages(msgspec.Struct, frozen=True, kw_only=True):
    """Pages that are linked from the same pages as one, the most similar first."""

    url: str
    related: list[RelatedPage]


# -- search to focus ---------------------------------------------------------------------------------------------------


class FoundNode(msgspec.Struct, frozen=True, kw_only=True):
    """A node that fits what was typed."""

    id: int
    key: str
    label: str
    score: float
    host: str


class FoundNodes(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes that fit what was typed, the best first."""

    nodes: list[FoundNode]


def find_nodes(graphs: GraphCache, session: ReadSession, text: str, level: Level | None, limit: int) -> FoundNodes:
    """Search to focus: hosts by a part of their name; pages by URL, by words in it, then as the search finds them."""
    snapshot = graphs.snapshot(session.store, level)
    numbers = (
        _find_hosts(snapshot, text, limit) if snapshot.level == "hosts" else _find_pages(snapshot, session, text, limit)
    )
    columns = node_columns(session.store, snapshot, np.array(numbers, np.int64))
    names = ("id", "key", "label", "score", "host")
    rows = zip(*(columns[name] for name in names), strict=True)
    return FoundNodes(nodes=[FoundNode(**dict(zip(names, row, strict=True))) for row in rows])


def _find_hosts(snapshot: Snapshot, text: str, limit: int) -> list[int]:
    wanted = text.strip().lower()
    found = [number for number, name in enumerate(snapshot.graph.host_names()) if wanted in name]
    return _to_list(best_nodes(snapshot, np.array(found, np.int64), limit))


def _find_pages(snapshot: Snapshot, session: ReadSession, text: str, limit: int) -> list[int]:
    if not text.strip():
        return _to_list(best_nodes(snapshot, np.arange(snapshot.links.nodes, dtype=np.int64), limit))
    queries = (f'inurl:"{text.replace(QUOTE, " ")}"', text)  # what the URL says comes first
    hits = [hit.url for words in queries for hit in session.searcher.search(words, limit=2 * limit).hits]
    numbers = (snapshot.number(id_) for id_ in _known_ids(session.store, [text, *hits]))
    return [number for number in dict.fromkeys(numbers) if number is not None][:limit]


def _known_ids(store: Store, urls: Iterable[str]) -> Iterator[int]:
    """Those of these that are URLs of this web."""
    for url in urls:
        with suppress(UsageError):
            yield find_resource(store, url).id


def _to_list(nodes: Numbers) -> list[int]:
    numbers: list[int] = nodes.tolist()
    return numbers
