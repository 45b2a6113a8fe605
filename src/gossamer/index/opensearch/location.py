"""The indexes of a web in a cluster: generations, aliases of the current one, and the store version of each.

    NAME.2.pages, .anchors, .forms      one generation
    NAME.pages, .anchors, .forms        aliases of the current generation, moved atomically
    NAME.state                          the writer's lease, and one document per generation with its store version

A rebuild fills a new generation while readers use the old one. The next writer removes generations that are not
current, such as those of a killed rebuild.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from gossamer.errors import IndexMissing
from gossamer.index.opensearch.cas_document import CasDocument
from gossamer.index.opensearch.schema import FORMAT, KINDS, index_body

if TYPE_CHECKING:
    from gossamer.index.opensearch.cluster import Cluster


class OpenSearchLocation:
    """The indexes of one web in a cluster."""

    def __init__(self, cluster: Cluster, *, shards: int = 1, replicas: int = 1) -> None:
        self.cluster = cluster
        self.name = cluster.address.name
        self.state_index = f"{self.name}.state"
        self._shards, self._replicas = shards, replicas
        self._generation_pattern = re.compile(rf"{re.escape(self.name)}\.(\d+)\.(?:{'|'.join(KINDS)})")

    def index_name(self, generation: int, kind: str) -> str:
        """Return the name of an index of a generation."""
        return f"{self.name}.{generation}.{kind}"

    def current(self) -> int | None:
        """Return the current generation; None when there is none of this format."""
        mappings = self.cluster.request("GET", f"/{self.name}.pages/_mapping", ignore_faults=(404,)) or {}
        for name, mapping in mappings.items():
            match = self._generation_pattern.fullmatch(name)
            if match and mapping["mappings"].get("_meta", {}).get("format") == FORMAT:
                return int(match[1])
        return None

    def require_current(self) -> int:
        """Return the current generation, or raise `IndexMissing`."""
        generation = self.current()
        if generation is None:
            raise IndexMissing(f"There is no index at {self.cluster.address} yet: run `gossamer index`.")
        return generation

    def create_state_index(self) -> None:
        """Create the index of states, unless another writer did."""
        body = {
            "settings": {"number_of_shards": 1, "number_of_replicas": self._replicas},
            "mappings": {"dynamic": False, "properties": {}},
        }
        self._create_index(self.state_index, body)

    def create_generation(self) -> int:
        """Create the indexes of the next generation."""
        generation = max(self._generations(), default=0) + 1
        for kind in KINDS:
            body = index_body(kind, shards=self._shards, replicas=self._replicas)
            self._create_index(self.index_name(generation, kind), body)
        return generation

    def _create_index(self, name: str, body: dict[str, Any]) -> None:
        """Create an index unless it exists.

        The request does not wait for its shards: the first read or write does, and all indexes start together.
        """
        self.cluster.request(
            "PUT", f"/{name}", body, ignore_faults=("resource_already_exists_exception",), wait_for_active_shards=0
        )

    def activate(self, generation: int) -> None:
        """Make this generation the current one, all its indexes at once."""
        actions: list[dict[str, Any]] = []
        for kind in KINDS:
            alias = f"{self.name}.{kind}"
            actions.append({"remove": {"index": f"{self.name}.*", "alias": alias, "must_exist": False}})
            actions.append({"add": {"index": self.index_name(generation, kind), "alias": alias}})
        self.cluster.request("POST", "/_aliases", {"actions": actions})

    def remove_other_generations(self, keep: int) -> None:
        """Remove the other generations."""
        for other in self._generations() - {keep}:
            names = ",".join(self.index_name(other, kind) for kind in KINDS)
            self.cluster.request("DELETE", f"/{names}", ignore_unavailable="true")
            self.cluster.request("DELETE", f"/{self.state_index}/_doc/{other}", ignore_faults=(404,))

    def _generations(self) -> set[int]:
        settings = self.cluster.request("GET", f"/{self.name}.*/_settings/index.uuid", allow_no_indices="true")
        return {int(match[1]) for name in settings if (match := self._generation_pattern.fullmatch(name))}

    # -- the store version ---------------------------------------------------------------------------------------------

    def state_document(self, generation: int) -> CasDocument:
        """Return the document with the store versions of a generation."""
        return CasDocument(self.cluster, self.state_index, str(generation))
