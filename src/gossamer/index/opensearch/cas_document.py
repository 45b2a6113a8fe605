"""A document with compare-and-set writes, by which several machines agree on the writer and its state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gossamer.index.opensearch.cluster import Cluster


class CasDocument:
    """One small document, read and written as a whole."""

    def __init__(self, cluster: Cluster, index: str, name: str) -> None:
        self._cluster = cluster
        self._path = f"/{index}/_doc/{name}"
        # Sequence number and primary term of the last read or write.
        self.revision: tuple[int, int] | None = None

    def read(self) -> dict[str, Any] | None:
        """Return the document; None when there is none."""
        response = self._cluster.request("GET", self._path, ignore_faults=(404,))
        self.revision = (response["_seq_no"], response["_primary_term"]) if response else None
        return response["_source"] if response else None

    def write(self, body: dict[str, Any], *, retry: bool = True) -> bool:
        """Replace the revision last read or written; return False when another writer changed the document."""
        precondition: dict[str, object] = {"op_type": "create"}
        if self.revision is not None:
            precondition = dict(zip(("if_seq_no", "if_primary_term"), self.revision, strict=True))
        response = self._cluster.request("PUT", self._path, body, ignore_faults=(409,), retry=retry, **precondition)  # type: ignore[arg-type]
        if response is None:  # another writer was faster, or the client repeated a write whose answer was lost
            return self.read() == body
        self.revision = (response["_seq_no"], response["_primary_term"])
        return True
