"""A document that is changed only from the state it was read in: what several machines agree by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gossamer.index.opensearch.cluster import Cluster


class CasDocument:
    """One small document, read and written whole."""

    def __init__(self, cluster: Cluster, index: str, name: str) -> None:
        self._cluster = cluster
        self._path = f"/{index}/_doc/{name}"
        self.revision: tuple[int, int] | None = (
            None  # sequence number and primary term of what was read or written last
        )

    def read(self) -> dict[str, Any] | None:
        """What stands there; None when there is nothing."""
        response = self._cluster.request("GET", self._path, ignore_faults=(404,))
        self.revision = (response["_seq_no"], response["_primary_term"]) if response else None
        return response["_source"] if response else None

    def write(self, body: dict[str, Any], *, retry: bool = True) -> bool:
        """Put this in the place of what was read or written last; False when something else stands there by now."""
        precondition: dict[str, object] = {"op_type": "create"}
        if self.revision is not None:
            precondition = dict(zip(("if_seq_no", "if_primary_term"), self.revision, strict=True))
        response = self._cluster.request("PUT", self._path, body, ignore_faults=(409,), retry=retry, **precondition)  # type: ignore[arg-type]
        if response is None:  # somebody was quicker; or an answer was lost, and the client asked again
            return self.read() == body
        self.revision = (response["_seq_no"], response["_primary_term"])
        return True
