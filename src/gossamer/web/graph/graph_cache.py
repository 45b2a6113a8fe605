"""The link graph of a web, mapped into memory, and its recent views.

A thread updates the graph from time to time, because a running crawl changes it all the time. Until then requests get
the older graph. The cache keeps views until the graph changes.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from contextlib import ExitStack
from typing import TYPE_CHECKING

import msgspec

from gossamer.graph.arrays import graph_directory
from gossamer.graph.pictures.palette import community_hex
from gossamer.graph.pictures.selection import default_level
from gossamer.graph.ranking.pagerank import load_pagerank
from gossamer.graph.snapshot import open_graph
from gossamer.graph.structure import related_pages
from gossamer.store.read.rank_state import read_rank_state
from gossamer.web.graph.views import Snapshot, make_view
from gossamer.web.pages.answers import require_resource

if TYPE_CHECKING:
    from pathlib import Path

    from gossamer.graph.snapshot import Graph
    from gossamer.store.follow.graph import Ranking
    from gossamer.store.protocol import GraphSource
    from gossamer.web.graph.views import GraphView, Level, ViewOptions
    from gossamer.web.http.sessions import ReadSession, SessionPool

MAX_CACHED_VIEWS = 64
MIN_REFRESH_SECONDS = 10.0  # between two updates of the graph
REFRESH_COST_FACTOR = 10  # and at least this many times the duration of the last update


class GraphCache:
    """Recent graphs of one web, with and without unvisited pages, and their recent views."""

    def __init__(self, sessions: SessionPool) -> None:
        self._sessions = sessions
        self._stack = ExitStack()
        self._directory: Path = self._stack.enter_context(graph_directory(sessions.location))
        self._lock = threading.Lock()
        self._identity = ""  # of the web whose graphs these are
        self._graphs: dict[bool, Graph] = {}
        self._levels: dict[tuple[int, float, bool, Level], Snapshot] = {}
        self._views: OrderedDict[object, GraphView] = OrderedDict()
        self._next_refresh_at = 0.0  # monotonic time
        self._refresh_thread: threading.Thread | None = None

    def close(self) -> None:
        """Wait for a running update and unmap the graphs."""
        if self._refresh_thread is not None:
            self._refresh_thread.join()
        self._stack.close()

    def graph(self, store: GraphSource, *, include_unvisited: bool = False) -> Graph:
        """Return the graph in memory and start an update if it is out of date; open it if there is none."""
        with self._lock:
            if store.identity != self._identity:  # another web is at the location now
                self._graphs, self._levels, self._views = {}, {}, OrderedDict()
                self._identity = store.identity
            graph = self._graphs.get(include_unvisited)
            if graph is None:
                graph = self._open(store, include_unvisited=include_unvisited)
            elif graph.version != store.version() and time.monotonic() > self._next_refresh_at:
                self._start_refresh(include_unvisited)
            return graph

    def _open(self, store: GraphSource, *, include_unvisited: bool) -> Graph:
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

    def snapshot(self, store: GraphSource, level: Level | None, *, include_unvisited: bool = False) -> Snapshot:
        """Return one level of the graph with its scores."""
        graph = self.graph(store, include_unvisited=include_unvisited)
        chosen_level: Level = level or ("hosts" if default_level(graph) == "hosts" else "pages")
        key = (graph.version, _made_at(store.ranking()), include_unvisited, chosen_level)
        if key not in self._levels:
            snapshot = Snapshot(graph, chosen_level, load_pagerank(self._directory))
            self._levels = {old: value for old, value in self._levels.items() if old[:2] == key[:2]} | {key: snapshot}
        return self._levels[key]

    def view(self, session: ReadSession, options: ViewOptions) -> GraphView:
        """Return a view, cached until the graph or the ranks change; how current the ranks are is read each time."""
        snapshot = self.snapshot(session.store, options.level, include_unvisited=options.include_unvisited)
        ranking = session.store.ranking()
        key = (snapshot.graph.version, _made_at(ranking), options)
        if key not in self._views:
            self._views[key] = make_view(session.store, snapshot, options, unranked=ranking is None)
            while len(self._views) > MAX_CACHED_VIEWS:
                self._views.popitem(last=False)
        state = read_rank_state(session.store)
        return msgspec.structs.replace(self._views[key], rank_note=state.note if state else "")

    def community(self, session: ReadSession, number: int) -> ShownCommunity:
        """Return name and colours of a community of pages, as the explorer shows them."""
        names = self.snapshot(session.store, "pages").community_names(session.store)
        return ShownCommunity(
            number=number, name=names.get(number, ""), colour=community_hex(number),
            colour_on_dark=community_hex(number, on_dark=True),
        )  # fmt: skip

    def related_pages(self, session: ReadSession, url: str, limit: int) -> RelatedPages:
        """Return pages that the same pages link to."""
        row = require_resource(session.store, url)
        graph = self.graph(session.store)
        pages = graph.pages_of([row.id])
        if not len(pages):
            return RelatedPages(url=row.url, related=[])
        neighbours = related_pages(graph.pages, int(pages[0]), limit)
        titles = session.store.page_nodes([int(graph.docs[one.page]) for one in neighbours])
        return RelatedPages(
            url=row.url,
            related=[
                RelatedPage(
                    url=graph.url(one.page),
                    title=node.title,
                    together=one.together,
                    similarity=round(one.similarity, 4),
                )
                for one, node in zip(neighbours, titles, strict=True)
            ],
        )


def _made_at(ranking: Ranking | None) -> float:
    return ranking.made_at if ranking else 0.0


class ShownCommunity(msgspec.Struct, frozen=True, kw_only=True):
    """A community beside a page."""

    number: int
    name: str  # "" if none of the best pages is in it
    colour: str  # as #4477aa
    colour_on_dark: str

    @property
    def label(self) -> str:
        """Number and name, as in the explorer's legend."""
        return f"{self.number} · {self.name}" if self.name else f"Community {self.number}"


class RelatedPage(msgspec.Struct, frozen=True, kw_only=True):
    """A page that shares linking pages with another page."""

    url: str
    title: str
    together: int  # pages that link to both
    similarity: float  # 0..1


class RelatedPages(msgspec.Struct, frozen=True, kw_only=True):
    """Pages that share linking pages with a page, most similar first."""

    url: str
    related: list[RelatedPage]
