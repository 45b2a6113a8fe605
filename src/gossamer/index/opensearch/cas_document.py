"""A document that is changed only from the state it was read in: what several machines agree by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gossamer.index.opensearch.cluster import Cluster


class Cell:
    """One small document, read and written whole."""

    def __init__(self, cluster: Cluster, index: str, name: str) -> None:
        self._cluster = cluster
        self._path = f"/{index}/_doc/{name}"
        self.change: tuple[int, int] | None = None  # sequence number and primary term of what was read or written last

    def read(self) -> dict[str, Any] | None:
        """What stands there; None when there is nothing."""
        told = self._cluster.ask("GET", self._path, but=(404,))
        self.change = (told["_seq_no"], told["_primary_term"]) if told else None
        return told["_source"] if told else None

    def write(self, body: dict[str, Any], *, patient: bool = True) -> bool:
        """Put this in the place of what was read or written last; False when something else stands there by now."""
        seen: dict[str, object] = {"op_type": "create"}
        if self.change is not None:
            seen = dict(zip(("if_seq_no", "if_primary_term"), self.change, strict=True))
        told = self._cluster.ask("PUT", self._path, body, but=(409,), patient=patient, **seen)  # type: ignore[arg-type]
        if told is None:  # somebody was quicker; or an answer was lost, and the client asked again
            return self.read() == body
        self.change = (told["_seq_no"], told["_primary_term"])
        return True
