"""Writing in batches: what is put or removed is collected, the last word on a document counts, and sent many at a time.

Every batch carries a version: the term of the writer's lease, and a number that grows from batch to batch. OpenSearch
takes a document or a removal only if nothing of a higher version was there (`external_gte`). So a request may be sent
twice without harm, and neither one that was long on its way nor a writer that lost its lease overwrites what is newer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from gossamer.errors import IndexBusy, IndexFull, IndexUnreachable
from gossamer.index.opensearch.cluster import TRANSIENT_STATUSES, is_full

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gossamer.index.opensearch.cluster import Cluster
    from gossamer.index.opensearch.lease import WriterLease

REQUEST_BYTES = 4 << 20  # of one request; OpenSearch's own advice is some megabytes
PENDING_BYTES = 8 << 20  # before anything is sent
MOST_PENDING = 10_000  # documents; removals have no bytes
BULK_SECONDS = 120.0  # for one request
BATCH_NUMBER_BITS = 32  # of the version that are left to the number of the batch


class BulkWriter:
    """What goes to one index."""

    def __init__(self, cluster: Cluster, index: str, lease: WriterLease) -> None:
        self._cluster, self._index, self._lease = cluster, index, lease
        self._pending: dict[str, bytes | None] = {}  # name of a document -> source; None: remove
        self._bytes = 0
        self._batch_number = 0

    def put(self, doc: str, source: bytes | None) -> None:
        """A document in place of the one with its name; None takes it out."""
        self._bytes += len(source or b"") - len(self._pending.get(doc) or b"")
        self._pending[doc] = source

    @property
    def should_send(self) -> bool:
        """Whether it is time to send what waits."""
        return self._bytes > PENDING_BYTES or len(self._pending) > MOST_PENDING

    def send(self) -> dict[str, str]:
        """Send what waits; returns the documents that were refused, and why. What is sent is seen after a refresh."""
        self._lease.renew()
        self._batch_number += 1
        version = self._lease.term << BATCH_NUMBER_BITS | self._batch_number
        pending, self._pending, self._bytes = self._pending, {}, 0
        refused: dict[str, str] = {}
        for docs in _request_batches(pending):
            refused |= self._send_with_retries({doc: _action(doc, pending[doc], version) for doc in docs})
        return refused

    def _send_with_retries(self, actions: dict[str, bytes]) -> dict[str, str]:
        """What the cluster has no room for just now is sent again, as long as it takes something now and then."""
        refused: dict[str, str] = {}
        backoff = self._cluster.start_backoff()
        while True:
            rejections = self._send_lines(b"".join(actions.values()))
            refused |= {
                doc: _rejection_reason(told)
                for doc, told in rejections.items()
                if told["status"] not in TRANSIENT_STATUSES
            }
            left = {doc: actions[doc] for doc in rejections.keys() - refused.keys()}
            if not left:
                return refused
            if len(left) < len(actions):
                backoff = self._cluster.start_backoff()
            elif backoff.is_over:
                rejection = _rejection_reason(next(iter(rejections.values())))
                raise IndexUnreachable(f"The index at {self._cluster.address} takes nothing now ({rejection}).")
            backoff.wait()
            self._lease.renew()
            actions = left

    def _send_lines(self, lines: bytes) -> dict[str, dict[str, Any]]:
        """Send lines; returns what was not taken, with what the cluster says."""
        answer = self._cluster.request(
            "POST", f"/{self._index}/_bulk", lines, before_retry=self._lease.renew, timeout_seconds=BULK_SECONDS,
            filter_path="items.*._id,items.*.status,items.*.error",
        )  # fmt: skip
        return dict(_rejections(answer["items"]))


def _request_batches(pending: dict[str, bytes | None]) -> Iterator[list[str]]:
    """Documents that go into one request each."""
    batch: list[str] = []
    size = 0
    for doc, source in pending.items():
        if batch and size + len(source or b"") > REQUEST_BYTES:
            yield batch
            batch, size = [], 0
        batch.append(doc)
        size += len(source or b"")
    if batch:
        yield batch


def _action(doc: str, source: bytes | None, version: int) -> bytes:
    kind = "delete" if source is None else "index"
    head = msgspec.json.encode({kind: {"_id": doc, "version": version, "version_type": "external_gte"}})
    return head + b"\n" if source is None else head + b"\n" + source + b"\n"


def _rejections(items: Sequence[dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The actions that were not taken; to remove what is not there is no fault."""
    for item in items:
        ((_, result),) = item.items()
        if "error" not in result:
            continue
        if result["status"] == 409:
            raise IndexBusy("Another process has taken over the writing of the index.")
        if is_full(result["error"]):
            raise IndexFull(
                "The index takes nothing any more: its disk is nearly full, and OpenSearch made it read-only."
            )
        yield result["_id"], result


def _rejection_reason(rejection: dict[str, Any]) -> str:
    """Why one document was refused: OpenSearch's first words name the field, its last what is wrong."""
    error = rejection["error"]
    first = error["reason"]
    while "caused_by" in error:
        error = error["caused_by"]
    return f"{first} ({error['reason']})" if error["reason"] != first else str(first)
