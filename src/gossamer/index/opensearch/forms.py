"""The words of a web as they are written, with their terms and in about how many documents each was seen.

A count is added to by reading it and writing the sum: there is one writer, and what is sent twice after a lost answer
counts once. The counts written last are remembered, for most words come again.
"""

from __future__ import annotations

from hashlib import blake2b
from itertools import islice
from typing import TYPE_CHECKING

import msgspec

from gossamer.index.opensearch.bulk import Bulk

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gossamer.index.opensearch.cluster import Cluster
    from gossamer.index.opensearch.lease import Lease

    Pair = tuple[str, str]  # a word and its term

AT_ONCE = 5_000
MOST_REMEMBERED = 500_000  # some 100 MB


class FormCounts:
    """What goes to the index of forms."""

    def __init__(self, cluster: Cluster, index: str, lease: Lease, *, empty: bool) -> None:
        self._cluster, self._index = cluster, index
        self._bulk = Bulk(cluster, index, lease)
        self._waiting: dict[Pair, int] = {}
        self._written: dict[str, int] = {}  # name of a pair -> its count
        self._all_known = empty  # what is not remembered is not there

    def note(self, forms: Mapping[Pair, int]) -> None:
        """Words with their terms, and in how many more documents they were seen."""
        for pair, number in forms.items():
            self._waiting[pair] = self._waiting.get(pair, 0) + number

    def send(self) -> None:
        """Add what waits to the counts. A count that is refused stays as it was: they are rough anyway."""
        pairs = iter(sorted(self._waiting.items()))
        while some := list(islice(pairs, AT_ONCE)):
            named = [(_name(pair), pair, more) for pair, more in some]
            self._remember([name for name, _, _ in named])
            for name, pair, more in named:
                self._written[name] = self._written.get(name, 0) + more
                self._bulk.put(name, _source(pair, self._written[name]))
            self._bulk.send()
        self._waiting = {}

    def _remember(self, names: list[str]) -> None:
        """Look up the counts of words that were not met for long, or by another writer."""
        if len(self._written) > MOST_REMEMBERED:
            self._written, self._all_known = {}, False
        unknown = [] if self._all_known else [name for name in names if name not in self._written]
        if unknown:
            found = self._cluster.ask("POST", f"/{self._index}/_mget", {"ids": unknown}, _source="documents")
            self._written |= {one["_id"]: one["_source"]["documents"] for one in found["docs"] if one.get("found")}


def _source(pair: Pair, number: int) -> bytes:
    form, term = pair
    return msgspec.json.encode({"form": form, "term": term, "length": len(form), "documents": number})


def _name(pair: Pair) -> str:
    return blake2b("\0".join(pair).encode("utf-8", "replace"), digest_size=16).hexdigest()
