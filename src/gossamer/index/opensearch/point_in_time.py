"""The pages of an index as they were at one moment: every question to it is about the same documents.

OpenSearch keeps such a moment on the nodes that hold the shards (a point in time). It is gone when one of them dies,
when nobody asked for a while, or when a rebuilt index took the old one's place. Then the present moment is taken
instead, and `is_current` says that this is another one: whoever holds a reader for long opens the next.
"""

from __future__ import annotations

from contextlib import suppress
from threading import Lock
from typing import TYPE_CHECKING, Any

from gossamer.errors import IndexFault

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gossamer.index.opensearch.location import OpenSearchPlace

KEEP = "10m"  # after the last question
AT_ONCE = 10_000  # hits of one request, as OpenSearch allows by itself
GONE = (404, 500, 503)  # what is said of a moment that is no more, or whose node is not there
TRIES = 3


class View:
    """A moment of the generation that counts."""

    def __init__(self, place: OpenSearchPlace) -> None:
        self._place = place
        self._lock = Lock()  # readers are used from several threads
        self._moved = False
        self._open()

    def _open(self) -> None:
        self.generation = self._place.must()
        self._cell = self._place.cell(self.generation)
        held = self._cell.read() or {}
        self.version: int = held.get("version", 0)
        self.anchors_version: int = held.get("anchors_version", 0)
        self._change = self._cell.change
        index = self._place.index(self.generation, "pages")
        told = self._place.cluster.ask("POST", f"/{index}/_search/point_in_time", keep_alive=KEEP, but=(404,))
        if told is None:  # just now a rebuilt index took its place
            self._open()
        else:
            self._moment: str = told["pit_id"]

    def close(self) -> None:
        """Let go of the moment; where that cannot be told, it goes by itself."""
        with suppress(IndexFault):
            self._place.cluster.ask("DELETE", "/_search/point_in_time", {"pit_id": [self._moment]}, patient=False)

    def is_current(self) -> bool:
        """Whether nothing was committed since."""
        if self._moved:
            return False
        self._cell.read()
        return self._cell.change == self._change

    def search(self, body: dict[str, Any], *, scored: bool = False) -> dict[str, Any]:
        """Ask: all shards must answer, for fewer hits than there are would be a lie.

        `scored` makes scores such as they would be if all documents were in one shard.
        """
        kind = "dfs_query_then_fetch" if scored else "query_then_fetch"
        for tries_left in reversed(range(TRIES)):
            moment = self._moment
            asked = {**body, "pit": {"id": moment, "keep_alive": KEEP}, "_source": False}
            answer = self._place.cluster.ask(
                "POST", "/_search", asked, but=GONE if tries_left else (), search_type=kind,
                allow_partial_search_results="false",
            )  # fmt: skip
            if answer is not None:
                break
            self._move(moment)
        found: dict[str, Any] = answer
        return found

    def _move(self, gone: str) -> None:
        with self._lock:
            if self._moment == gone:
                self._open()
                self._moved = True

    def hits(self, body: dict[str, Any], *, offset: int, limit: int) -> tuple[int, list[dict[str, Any]]]:
        """How many match in all, and a stretch of them, however far down. The order must be total."""
        asked = {**body, "track_total_hits": True}
        if offset + limit <= AT_ONCE:
            told = self.search({**asked, "from": offset, "size": limit}, scored=True)["hits"]
            return told["total"]["value"], told["hits"]
        total, seen = 0, list[dict[str, Any]]()
        while size := min(AT_ONCE, offset + limit - len(seen)):
            told = self.search({**asked, "size": size}, scored=True)["hits"]
            total = total or told["total"]["value"]
            seen += told["hits"]
            if len(told["hits"]) < size:
                break
            asked |= {"search_after": seen[-1]["sort"], "track_total_hits": False}
        return total, seen[offset:]

    def every(self, query: dict[str, Any]) -> Iterator[int]:
        """The DocID of every document that matches, in order."""
        body: dict[str, Any] = {"query": query, "sort": [{"id": "asc"}], "size": AT_ONCE, "track_total_hits": False}
        while found := self.search(body)["hits"]["hits"]:
            yield from (hit["sort"][0] for hit in found)
            body["search_after"] = found[-1]["sort"]
