"""Where an index lies in a cluster: its generations, which of them counts, and the store version each holds.

    NAME.2.pages, .anchors, .forms      one generation
    NAME.pages, .anchors, .forms        aliases of the generation that counts, moved all at once
    NAME.state                          the writer's lease, and one document for each generation: the version it holds

A rebuild fills a new generation beside the old one, which is read until the aliases are moved. A generation that does
not count (a rebuild that was killed) is removed by the next writer.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from gossamer.errors import IndexMissing
from gossamer.index.opensearch.cas_document import Cell
from gossamer.index.opensearch.mapping import FORMAT, KINDS, index_body

if TYPE_CHECKING:
    from gossamer.index.opensearch.cluster import Cluster


class OpenSearchPlace:
    """The indexes of one web in a cluster."""

    def __init__(self, cluster: Cluster, *, shards: int = 1, replicas: int = 1) -> None:
        self.cluster = cluster
        self.name = cluster.address.name
        self.state_index = f"{self.name}.state"
        self._shards, self._replicas = shards, replicas
        self._generation = re.compile(rf"{re.escape(self.name)}\.(\d+)\.(?:{'|'.join(KINDS)})")

    def index(self, generation: int, kind: str) -> str:
        """The name of an index of a generation."""
        return f"{self.name}.{generation}.{kind}"

    def current(self) -> int | None:
        """The generation that counts; None when there is none of this format."""
        found = self.cluster.ask("GET", f"/{self.name}.pages/_mapping", but=(404,)) or {}
        for name, told in found.items():
            made = self._generation.fullmatch(name)
            if made and told["mappings"].get("_meta", {}).get("format") == FORMAT:
                return int(made[1])
        return None

    def must(self) -> int:
        """The same, where there has to be one."""
        generation = self.current()
        if generation is None:
            raise IndexMissing(f"There is no index at {self.cluster.address} yet: `gossamer index` makes it.")
        return generation

    def prepare(self) -> None:
        """Make the index of states, if it is not there: whoever comes first."""
        body = {
            "settings": {"number_of_shards": 1, "number_of_replicas": self._replicas},
            "mappings": {"dynamic": False, "properties": {}},
        }
        self._make(self.state_index, body)

    def new(self) -> int:
        """Make the indexes of the next generation."""
        generation = max(self._generations(), default=0) + 1
        for kind in KINDS:
            body = index_body(kind, shards=self._shards, replicas=self._replicas)
            self._make(self.index(generation, kind), body)
        return generation

    def _make(self, name: str, body: dict[str, Any]) -> None:
        """Make an index, if it is not there already.

        Not waited for: who asks or writes first waits until its shards have started, and all start together.
        """
        self.cluster.ask("PUT", f"/{name}", body, but=("resource_already_exists_exception",), wait_for_active_shards=0)

    def count(self, generation: int) -> None:
        """Let this generation count from now on, all its indexes at once."""
        actions: list[dict[str, Any]] = []
        for kind in KINDS:
            alias = f"{self.name}.{kind}"
            actions.append({"remove": {"index": f"{self.name}.*", "alias": alias, "must_exist": False}})
            actions.append({"add": {"index": self.index(generation, kind), "alias": alias}})
        self.cluster.ask("POST", "/_aliases", {"actions": actions})

    def clean(self, but: int) -> None:
        """Remove the other generations."""
        for other in self._generations() - {but}:
            names = ",".join(self.index(other, kind) for kind in KINDS)
            self.cluster.ask("DELETE", f"/{names}", ignore_unavailable="true")
            self.cluster.ask("DELETE", f"/{self.state_index}/_doc/{other}", but=(404,))

    def _generations(self) -> set[int]:
        found = self.cluster.ask("GET", f"/{self.name}.*/_settings/index.uuid", allow_no_indices="true")
        return {int(made[1]) for name in found if (made := self._generation.fullmatch(name))}

    # -- the version held ----------------------------------------------------------------------------------------------

    def cell(self, generation: int) -> Cell:
        """The document that says what a generation holds."""
        return Cell(self.cluster, self.state_index, str(generation))
