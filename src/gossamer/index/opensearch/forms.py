"""Count in about how many documents each written word occurs, with its term.

The only writer reads a count, adds to it, and writes the sum. So a request that is repeated after a lost answer counts
once. A cache keeps the written counts, because most words repeat.
"""

from __future__ import annotations

from hashlib import blake2b
from itertools import islice
from typing import TYPE_CHECKING

import msgspec

from gossamer.index.opensearch.bulk import BulkWriter

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gossamer.index.opensearch.cluster import Cluster
    from gossamer.index.opensearch.lease import WriterLease

    Pair = tuple[str, str]  # a word and its term

PAIRS_AT_ONCE = 5_000
MOST_CACHED_COUNTS = 500_000  # about 100 MB


class FormCounts:
    """Adds to the counts in the index of forms."""

    def __init__(self, cluster: Cluster, index: str, lease: WriterLease, *, empty: bool) -> None:
        self._cluster, self._index = cluster, index
        self._bulk = BulkWriter(cluster, index, lease)
        self._pending: dict[Pair, int] = {}
        self._known_counts: dict[str, int] = {}  # id of a pair -> its count
        self._has_all_counts = empty  # a pair that is not in the cache is not in the index

    def add(self, forms: Mapping[Pair, int]) -> None:
        """Collect (written word, term) with the number of further documents."""
        for pair, number in forms.items():
            self._pending[pair] = self._pending.get(pair, 0) + number

    def send(self) -> None:
        """Add the collected numbers to the counts; a refused count stays, because counts are approximate."""
        pairs = iter(sorted(self._pending.items()))
        while batch := list(islice(pairs, PAIRS_AT_ONCE)):
            named_pairs = [(_pair_id(pair), pair, more) for pair, more in batch]
            self._load_counts([name for name, _, _ in named_pairs])
            for name, pair, more in named_pairs:
                self._known_counts[name] = self._known_counts.get(name, 0) + more
                self._bulk.put(name, _source(pair, self._known_counts[name]))
            self._bulk.send()
        self._pending = {}

    def _load_counts(self, names: list[str]) -> None:
        """Load the counts that are not in the cache."""
        if len(self._known_counts) > MOST_CACHED_COUNTS:
            self._known_counts, self._has_all_counts = {}, False
        unknown = [] if self._has_all_counts else [name for name in names if name not in self._known_counts]
        if unknown:
            response = self._cluster.request("POST", f"/{self._index}/_mget", {"ids": unknown}, _source="documents")
            self._known_counts |= {
                one["_id"]: one["_source"]["documents"] for one in response["docs"] if one.get("found")
            }


def _source(pair: Pair, number: int) -> bytes:
    form, term = pair
    return msgspec.json.encode({"form": form, "term": term, "length": len(form), "documents": number})


def _pair_id(pair: Pair) -> str:
    return blake2b("\0".join(pair).encode("utf-8", "replace"), digest_size=16).hexdigest()
