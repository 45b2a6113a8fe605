"""Finds nodes of the link graph by what a user typed, to focus on one."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from gossamer.errors import UsageError
from gossamer.lookup import find_resource
from gossamer.web.graph.views import best_nodes, node_columns

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gossamer.store.protocol import Store
    from gossamer.web.graph.views import Numbers, Snapshot
    from gossamer.web.search.search_client import SearchClient

QUOTE = '"'


class FoundNode(msgspec.Struct, frozen=True, kw_only=True):
    """A node that matches the typed text."""

    id: int
    key: str
    label: str
    score: float
    host: str


class FoundNodes(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes that match the typed text, best first."""

    nodes: list[FoundNode]


class NodeFinder:
    """Finds nodes of one level of the link graph."""

    def __init__(self, snapshot: Snapshot, store: Store, search_client: SearchClient) -> None:
        self._snapshot, self._store, self._search_client = snapshot, store, search_client

    def find(self, text: str, limit: int) -> FoundNodes:
        """Find hosts by a part of their name, and pages by URL, by words in the URL, then by words in the text."""
        is_hosts = self._snapshot.level == "hosts"
        numbers = self._find_hosts(text, limit) if is_hosts else self._find_pages(text, limit)
        columns = node_columns(self._store, self._snapshot, np.array(numbers, np.int64))
        names = ("id", "key", "label", "score", "host")
        rows = zip(*(columns[name] for name in names), strict=True)
        return FoundNodes(nodes=[FoundNode(**dict(zip(names, row, strict=True))) for row in rows])

    def _find_hosts(self, text: str, limit: int) -> list[int]:
        wanted = text.strip().lower()
        matches = [number for number, name in enumerate(self._snapshot.graph.host_names()) if wanted in name]
        return _to_list(best_nodes(self._snapshot, np.array(matches, np.int64), limit))

    def _find_pages(self, text: str, limit: int) -> list[int]:
        snapshot = self._snapshot
        if not text.strip():
            return _to_list(best_nodes(snapshot, np.arange(snapshot.links.nodes, dtype=np.int64), limit))
        queries = [f'inurl:"{text.replace(QUOTE, " ")}"', text]  # matches in the URL come first
        hits = self._search_client.ask_from_thread("find_urls", queries, 2 * limit, type=list[str])
        numbers = (snapshot.number(id_) for id_ in _known_ids(self._store, [text, *hits]))
        return [number for number in dict.fromkeys(numbers) if number is not None][:limit]


def _known_ids(store: Store, urls: Iterable[str]) -> Iterator[int]:
    """Yield the ids of the URLs that this web knows."""
    for url in urls:
        with suppress(UsageError):
            yield find_resource(store, url).id


def _to_list(nodes: Numbers) -> list[int]:
    numbers: list[int] = nodes.tolist()
    return numbers
