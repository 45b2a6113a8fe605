"""Collect puts and removals, and send them in batches; the last change of a document wins.

Every batch has a version: the term of the writer's lease, and a batch number that grows. OpenSearch rejects a change
if the document has a higher version (`external_gte`). So a repeated request is harmless, and neither a late request
nor a writer without lease overwrites newer documents.
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

REQUEST_BYTES = 4 << 20  # of one request; OpenSearch recommends a few megabytes
PENDING_BYTES = 8 << 20  # that wait before a send
MOST_PENDING = 10_000  # changes that wait before a send; removals have no bytes
BULK_SECONDS = 120.0  # timeout of one request
BATCH_NUMBER_BITS = 32  # of the version; the higher bits are the term of the lease


class BulkWriter:
    """Collects and sends the changes of one index."""

    def __init__(self, cluster: Cluster, index: str, lease: WriterLease) -> None:
        self._cluster, self._index, self._lease = cluster, index, lease
        self._pending: dict[str, bytes | None] = {}  # id -> source; None: remove
        self._bytes = 0
        self._batch_number = 0

    def put(self, doc: str, source: bytes | None) -> None:
        """Add or replace a document by its id; None removes it."""
        self._bytes += len(source or b"") - len(self._pending.get(doc) or b"")
        self._pending[doc] = source

    @property
    def should_send(self) -> bool:
        """Whether enough changes wait for a send."""
        return self._bytes > PENDING_BYTES or len(self._pending) > MOST_PENDING

    def send(self) -> dict[str, str]:
        """Send all changes; return the refused documents, and why. Readers see the changes after a refresh."""
        self._lease.renew()
        self._batch_number += 1
        version = self._lease.term << BATCH_NUMBER_BITS | self._batch_number
        pending, self._pending, self._bytes = self._pending, {}, 0
        refused: dict[str, str] = {}
        for docs in _request_batches(pending):
            refused |= self._send_with_retries({doc: _action(doc, pending[doc], version) for doc in docs})
        return refused

    def _send_with_retries(self, actions: dict[str, bytes]) -> dict[str, str]:
        """Send transient rejections again, until the cluster accepts nothing for the whole retry time."""
        refused: dict[str, str] = {}
        backoff = self._cluster.start_backoff()
        while True:
            rejections = self._send_lines(b"".join(actions.values()))
            refused |= {
                doc: _rejection_reason(rejection)
                for doc, rejection in rejections.items()
                if rejection["status"] not in TRANSIENT_STATUSES
            }
            left = {doc: actions[doc] for doc in rejections.keys() - refused.keys()}
            if not left:
                return refused
            if len(left) < len(actions):
                backoff = self._cluster.start_backoff()
            elif backoff.is_over:
                reason = _rejection_reason(next(iter(rejections.values())))
                raise IndexUnreachable(f"The index at {self._cluster.address} accepts nothing now ({reason}).")
            backoff.wait()
            self._lease.renew()
            actions = left

    def _send_lines(self, lines: bytes) -> dict[str, dict[str, Any]]:
        """Send the lines of one request; return the rejections by id."""
        answer = self._cluster.request(
            "POST", f"/{self._index}/_bulk", lines, before_retry=self._lease.renew, timeout_seconds=BULK_SECONDS,
            filter_path="items.*._id,items.*.status,items.*.error",
        )  # fmt: skip
        return dict(_rejections(answer["items"]))


def _request_batches(pending: dict[str, bytes | None]) -> Iterator[list[str]]:
    """Yield the ids of one request each."""
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
    """Yield the rejected actions; removing a missing document is no error."""
    for item in items:
        ((_, result),) = item.items()
        if "error" not in result:
            continue
        if result["status"] == 409:
            raise IndexBusy("Another process has taken over the index.")
        if is_full(result["error"]):
            raise IndexFull("The index is read-only because its disk is nearly full: free space, then try again.")
        yield result["_id"], result


def _rejection_reason(rejection: dict[str, Any]) -> str:
    """Return why a document was refused: the outer reason names the field, the innermost the fault."""
    error = rejection["error"]
    first = error["reason"]
    while "caused_by" in error:
        error = error["caused_by"]
    return f"{first} ({error['reason']})" if error["reason"] != first else str(first)
