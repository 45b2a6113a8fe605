"""Writing in batches: what is put or removed is collected, the last word on a document counts, and sent many at a time.

Every batch carries a version: the term of the writer's lease, and a number that grows from batch to batch. OpenSearch
takes a document or a removal only if nothing of a higher version was there (`external_gte`). So a request may be sent
twice without harm, and neither one that was long on its way nor a writer that lost its lease overwrites what is newer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from gossamer.errors import IndexBusy, IndexFull, IndexUnreachable
from gossamer.index.opensearch.cluster import PASSING, is_full

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gossamer.index.opensearch.cluster import Cluster
    from gossamer.index.opensearch.lease import Lease

BYTES_AT_ONCE = 4 << 20  # of one request; OpenSearch's own advice is some megabytes
BYTES_KEPT = 8 << 20  # before anything is sent
MOST_KEPT = 10_000  # documents; removals have no bytes
SECONDS = 120.0  # for one request
TERM_BITS = 32  # of the version that are left to the number of the batch


class Bulk:
    """What goes to one index."""

    def __init__(self, cluster: Cluster, index: str, lease: Lease) -> None:
        self._cluster, self._index, self._lease = cluster, index, lease
        self._waiting: dict[str, bytes | None] = {}  # name of a document -> source; None: remove
        self._bytes = 0
        self._number = 0

    def put(self, doc: str, source: bytes | None) -> None:
        """A document in place of the one with its name; None takes it out."""
        self._bytes += len(source or b"") - len(self._waiting.get(doc) or b"")
        self._waiting[doc] = source

    @property
    def is_heavy(self) -> bool:
        """Whether it is time to send what waits."""
        return self._bytes > BYTES_KEPT or len(self._waiting) > MOST_KEPT

    def send(self) -> dict[str, str]:
        """Send what waits; returns the documents that were refused, and why. What is sent is seen after a refresh."""
        self._lease.renew()
        self._number += 1
        version = self._lease.term << TERM_BITS | self._number
        waiting, self._waiting, self._bytes = self._waiting, {}, 0
        refused: dict[str, str] = {}
        for some in _stretches(waiting):
            refused |= self._send_until_taken({doc: _action(doc, waiting[doc], version) for doc in some})
        return refused

    def _send_until_taken(self, actions: dict[str, bytes]) -> dict[str, str]:
        """What the cluster has no room for just now is sent again, as long as it takes something now and then."""
        refused: dict[str, str] = {}
        patience = self._cluster.patience()
        while True:
            faults = self._faults_of(b"".join(actions.values()))
            refused |= {doc: _reason(told) for doc, told in faults.items() if told["status"] not in PASSING}
            left = {doc: actions[doc] for doc in faults.keys() - refused.keys()}
            if not left:
                return refused
            if len(left) < len(actions):
                patience = self._cluster.patience()
            elif patience.is_over:
                told = _reason(next(iter(faults.values())))
                raise IndexUnreachable(f"The index at {self._cluster.address} takes nothing now ({told}).")
            patience.wait()
            self._lease.renew()
            actions = left

    def _faults_of(self, lines: bytes) -> dict[str, dict[str, Any]]:
        """Send lines; returns what was not taken, with what the cluster says."""
        answer = self._cluster.ask(
            "POST", f"/{self._index}/_bulk", lines, meanwhile=self._lease.renew, seconds=SECONDS,
            filter_path="items.*._id,items.*.status,items.*.error",
        )  # fmt: skip
        return dict(_faults(answer["items"]))


def _stretches(waiting: dict[str, bytes | None]) -> Iterator[list[str]]:
    """Documents that go into one request each."""
    some: list[str] = []
    size = 0
    for doc, source in waiting.items():
        if some and size + len(source or b"") > BYTES_AT_ONCE:
            yield some
            some, size = [], 0
        some.append(doc)
        size += len(source or b"")
    if some:
        yield some


def _action(doc: str, source: bytes | None, version: int) -> bytes:
    kind = "delete" if source is None else "index"
    head = msgspec.json.encode({kind: {"_id": doc, "version": version, "version_type": "external_gte"}})
    return head + b"\n" if source is None else head + b"\n" + source + b"\n"


def _faults(items: Sequence[dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The actions that were not taken; to remove what is not there is no fault."""
    for item in items:
        ((_, told),) = item.items()
        if "error" not in told:
            continue
        if told["status"] == 409:
            raise IndexBusy("Another process has taken over the writing of the index.")
        if is_full(told["error"]):
            raise IndexFull(
                "The index takes nothing any more: its disk is nearly full, and OpenSearch made it read-only."
            )
        yield told["_id"], told


def _reason(told: dict[str, Any]) -> str:
    """Why one document was refused: OpenSearch's first words name the field, its last what is wrong."""
    error = told["error"]
    first = error["reason"]
    while "caused_by" in error:
        error = error["caused_by"]
    return f"{first} ({error['reason']})" if error["reason"] != first else str(first)
