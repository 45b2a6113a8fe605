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

    from gossamer.index.opensearch.location import OpenSearchLocation

KEEP_ALIVE = "10m"  # after the last question
HITS_AT_ONCE = 10_000  # hits of one request, as OpenSearch allows by itself
GONE_STATUSES = (404, 500, 503)  # what is said of a moment that is no more, or whose node is not there
TRIES = 3


class PointInTime:
    """A moment of the generation that counts."""

    def __init__(self, location: OpenSearchLocation) -> None:
        self._location = location
        self._lock = Lock()  # readers are used from several threads
        self._was_reopened = False
        self._open()

    def _open(self) -> None:
        self.generation = self._location.require_current()
        self._state_document = self._location.state_document(self.generation)
        state = self._state_document.read() or {}
        self.version: int = state.get("version", 0)
        self.anchors_version: int = state.get("anchors_version", 0)
        self._revision = self._state_document.revision
        index = self._location.index_name(self.generation, "pages")
        response = self._location.cluster.request(
            "POST", f"/{index}/_search/point_in_time", keep_alive=KEEP_ALIVE, ignore_faults=(404,)
        )
        if response is None:  # just now a rebuilt index took its place
            self._open()
        else:
            self._pit_id: str = response["pit_id"]

    def close(self) -> None:
        """Let go of the moment; where that cannot be told, it goes by itself."""
        with suppress(IndexFault):
            self._location.cluster.request("DELETE", "/_search/point_in_time", {"pit_id": [self._pit_id]}, retry=False)

    def is_current(self) -> bool:
        """Whether nothing was committed since."""
        if self._was_reopened:
            return False
        self._state_document.read()
        return self._state_document.revision == self._revision

    def search(self, body: dict[str, Any], *, global_scores: bool = False) -> dict[str, Any]:
        """Ask: all shards must answer, for fewer hits than there are would be a lie.

        `scored` makes scores such as they would be if all documents were in one shard.
        """
        kind = "dfs_query_then_fetch" if global_scores else "query_then_fetch"
        for tries_left in reversed(range(TRIES)):
            pit_id = self._pit_id
            request = {**body, "pit": {"id": pit_id, "keep_alive": KEEP_ALIVE}, "_source": False}
            answer = self._location.cluster.request(
                "POST", "/_search", request, ignore_faults=GONE_STATUSES if tries_left else (), search_type=kind,
                allow_partial_search_results="false",
            )  # fmt: skip
            if answer is not None:
                break
            self._reopen(pit_id)
        response: dict[str, Any] = answer
        return response

    def _reopen(self, pit_id: str) -> None:
        with self._lock:
            if self._pit_id == pit_id:
                self._open()
                self._was_reopened = True

    def hits(self, body: dict[str, Any], *, offset: int, limit: int) -> tuple[int, list[dict[str, Any]]]:
        """How many match in all, and a stretch of them, however far down. The order must be total."""
        request = {**body, "track_total_hits": True}
        if offset + limit <= HITS_AT_ONCE:
            page = self.search({**request, "from": offset, "size": limit}, global_scores=True)["hits"]
            return page["total"]["value"], page["hits"]
        total, seen = 0, list[dict[str, Any]]()
        while size := min(HITS_AT_ONCE, offset + limit - len(seen)):
            page = self.search({**request, "size": size}, global_scores=True)["hits"]
            total = total or page["total"]["value"]
            seen += page["hits"]
            if len(page["hits"]) < size:
                break
            request |= {"search_after": seen[-1]["sort"], "track_total_hits": False}
        return total, seen[offset:]

    def matching_ids(self, query: dict[str, Any]) -> Iterator[int]:
        """The DocID of every document that matches, in order."""
        body: dict[str, Any] = {
            "query": query,
            "sort": [{"id": "asc"}],
            "size": HITS_AT_ONCE,
            "track_total_hits": False,
        }
        while hits := self.search(body)["hits"]["hits"]:
            yield from (hit["sort"][0] for hit in hits)
            body["search_after"] = hits[-1]["sort"]
