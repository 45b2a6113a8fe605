"""The pages of an index at one moment, so that all queries of a reader see the same documents.

OpenSearch keeps a point in time on the nodes of the shards. They drop it when a node dies, when nobody used it for a
while, or when a rebuilt index replaced the old one. `PointInTime` then opens a new one, and `is_current` returns False,
so that the owner of a long-lived reader opens the next reader.
"""

from __future__ import annotations

from contextlib import suppress
from threading import Lock
from typing import TYPE_CHECKING, Any

from gossamer.errors import IndexFault

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gossamer.index.opensearch.location import OpenSearchLocation

KEEP_ALIVE = "10m"  # after the last query
HITS_AT_ONCE = 10_000  # of one request: OpenSearch's default index.max_result_window
GONE_STATUSES = (404, 500, 503)  # answers for a point in time that is lost, or whose node is
TRIES = 3  # of a query; all but the last reopen a lost point in time


class PointInTime:
    """A point in time of the current generation."""

    def __init__(self, location: OpenSearchLocation) -> None:
        self._location = location
        self._lock = Lock()  # several threads share a reader
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
        if response is None:  # a rebuilt index has just replaced it
            self._open()
        else:
            self._pit_id: str = response["pit_id"]

    def close(self) -> None:
        """Release the point in time; if the request fails, it expires."""
        with suppress(IndexFault):
            self._location.cluster.request("DELETE", "/_search/point_in_time", {"pit_id": [self._pit_id]}, retry=False)

    def is_current(self) -> bool:
        """Return whether this is still the last commit."""
        if self._was_reopened:
            return False
        self._state_document.read()
        return self._state_document.revision == self._revision

    def search(self, body: dict[str, Any], *, global_scores: bool = False) -> dict[str, Any]:
        """Run a query on all shards; a missing shard is an error, because its hits would be missing.

        With `global_scores`, scores are as if all documents were in one shard.
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
        """Return the number of matches and a slice of them at any depth; the sort order must be total."""
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
        """Yield the DocID of every matching document, in order."""
        body: dict[str, Any] = {
            "query": query,
            "sort": [{"id": "asc"}],
            "size": HITS_AT_ONCE,
            "track_total_hits": False,
        }
        while hits := self.search(body)["hits"]["hits"]:
            yield from (hit["sort"][0] for hit in hits)
            body["search_after"] = hits[-1]["sort"]
