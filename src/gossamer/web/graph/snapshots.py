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
from gossamer.lookup import find
from gossamer.web import answers
from gossamer.web.graph.views import Snapshot, best, columns_of, made

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from gossamer.graph.snapshot import Graph
    from gossamer.store.protocol import Store
    from gossamer.web.graph.views import Asked, Level, Numbers, View
    from gossamer.web.http.sessions import Desk, Desks

QUOTE = '"'
KEPT_VIEWS = 64
REST_SECONDS = 10.0  # at least, between two times of bringing the graph up to date
REST_FACTOR = 10  # and so many times as long as that took


class Graphs:
    """The graphs of one web, as they were not long ago, and the views that were asked for."""

    def __init__(self, desks: Desks) -> None:
        self._desks = desks
        self._stack = ExitStack()
        self._directory: Path = self._stack.enter_context(graph_directory(desks.place))
        self._lock = threading.Lock()
        self._opened: dict[bool, Graph] = {}
        self._levels: dict[tuple[int, bool, Level], Snapshot] = {}
        self._views: OrderedDict[object, View] = OrderedDict()
        self._again_at = 0.0  # when the snapshot may be brought up to date again
        self._renewing: threading.Thread | None = None

    def close(self) -> None:
        """Let go of it."""
        if self._renewing is not None:
            self._renewing.join()
        self._stack.close()

    def graph(self, store: Store, *, include_unvisited: bool = False) -> Graph:
        """The graph; where it is there already, as it was a while ago, and a newer one is made meanwhile."""
        with self._lock:
            found = self._opened.get(include_unvisited)
            if found is None:
                found = self._open(store, include_unvisited=include_unvisited)
            elif found.version != store.version() and time.monotonic() > self._again_at:
                self._renew(include_unvisited)
            return found

    def _open(self, store: Store, *, include_unvisited: bool) -> Graph:
        started = time.monotonic()
        graph = open_graph(store, self._directory, include_unvisited=include_unvisited)
        now = time.monotonic()
        self._opened[include_unvisited] = graph
        self._again_at = now + max(REST_SECONDS, REST_FACTOR * (now - started))
        return graph

    def _renew(self, include_unvisited: bool) -> None:
        if self._renewing is not None and self._renewing.is_alive():
            return
        self._renewing = threading.Thread(target=self._make_newer, args=(include_unvisited,), name="graph", daemon=True)
        self._renewing.start()

    def _make_newer(self, include_unvisited: bool) -> None:
        with self._desks.open() as desk:
            self._open(desk.store, include_unvisited=include_unvisited)

    def snapshot(self, store: Store, level: Level | None, *, include_unvisited: bool = False) -> Snapshot:
        """A level of the graph."""
        graph = self.graph(store, include_unvisited=include_unvisited)
        chosen: Level = level or ("hosts" if default_level(graph) == "hosts" else "pages")
        key = (graph.version, include_unvisited, chosen)
        if key not in self._levels:
            ranked = load_pagerank(self._directory)
            made = Snapshot(graph, chosen, ranked)
            self._levels = {old: kept for old, kept in self._levels.items() if old[0] == graph.version} | {key: made}
        return self._levels[key]

    def view(self, desk: Desk, asked: Asked) -> View:
        """A view; kept until the graph is another."""
        snapshot = self.snapshot(desk.store, asked.level, include_unvisited=asked.include_unvisited)
        ranking = desk.store.ranking()
        key = (snapshot.graph.version, ranking.made_at if ranking else 0.0, asked)
        if key not in self._views:
            self._views[key] = made(desk.store, snapshot, asked, unranked=ranking is None)
            while len(self._views) > KEPT_VIEWS:
                self._views.popitem(last=False)
        return self._views[key]

    def related(self, desk: Desk, url: str, limit: int) -> Related:
        """Pages that are linked from the same pages as one."""
        row = answers.resource(desk.store, url)
        graph = self.graph(desk.store)
        pages = graph.pages_of([row.id])
        if not len(pages):
            return Related(url=row.url, related=[])
        found = related_pages(graph.pages, int(pages[0]), limit)
        titles = desk.store.page_nodes([int(graph.docs[one.page]) for one in found])
        return Related(
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


class Related(msgspec.Struct, frozen=True, kw_only=True):
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


def find_nodes(graphs: Graphs, desk: Desk, text: str, level: Level | None, limit: int) -> FoundNodes:
    """Search to focus: hosts by a part of their name; pages by URL, by words in it, then as the search finds them."""
    snapshot = graphs.snapshot(desk.store, level)
    numbers = (
        _hosts_named(snapshot, text, limit) if snapshot.level == "hosts" else _pages_found(snapshot, desk, text, limit)
    )
    columns = columns_of(desk.store, snapshot, np.array(numbers, np.int64))
    names = ("id", "key", "label", "score", "host")
    rows = zip(*(columns[name] for name in names), strict=True)
    return FoundNodes(nodes=[FoundNode(**dict(zip(names, row, strict=True))) for row in rows])


def _hosts_named(snapshot: Snapshot, text: str, limit: int) -> list[int]:
    wanted = text.strip().lower()
    found = [number for number, name in enumerate(snapshot.graph.host_names()) if wanted in name]
    return _numbers(best(snapshot, np.array(found, np.int64), limit))


def _pages_found(snapshot: Snapshot, desk: Desk, text: str, limit: int) -> list[int]:
    if not text.strip():
        return _numbers(best(snapshot, np.arange(snapshot.links.nodes, dtype=np.int64), limit))
    asked = (f'inurl:"{text.replace(QUOTE, " ")}"', text)  # what the URL says comes first
    hits = [hit.url for words in asked for hit in desk.searcher.search(words, limit=2 * limit).hits]
    numbers = (snapshot.number(id_) for id_ in _known(desk.store, [text, *hits]))
    return [number for number in dict.fromkeys(numbers) if number is not None][:limit]


def _known(store: Store, urls: Iterable[str]) -> Iterator[int]:
    """Those of these that are URLs of this web."""
    for url in urls:
        with suppress(UsageError):
            yield find(store, url).id


def _numbers(nodes: Numbers) -> list[int]:
    numbers: list[int] = nodes.tolist()
    return numbers
