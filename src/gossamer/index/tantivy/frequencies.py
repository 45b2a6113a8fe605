"""Compute the frequency of a term in its documents from their scores, for the word table.

Tantivy's Python API does not expose postings, but scores depend on them. The BM25 score of one term in one field is
idf * (k1 + 1) * tf / (tf + k), where k = k1 * (1 - b + b * length / average). Tantivy rounds the length to one of 256
values. Our `length` column holds the length of each document, and the explanation of any score holds the other figures.
So tf follows: 4,000 documents take a few milliseconds, a hundredth of the time to read their words.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import tantivy
    from numpy.typing import NDArray

EXACT_NORMS = 24  # words; shorter lengths are exact, longer ones keep four bits (Lucene's SmallFloat)


def _norms() -> NDArray[np.float64]:
    """Return the 256 document lengths that Tantivy can represent."""

    def decode_norm(code: int) -> int:
        bits, shift = code & 7, (code >> 3) - 1
        return bits if shift < 0 else (bits | 8) << shift

    return np.array(
        [code if code < EXACT_NORMS else EXACT_NORMS + decode_norm(code - EXACT_NORMS) for code in range(256)]
    )


NORMS = _norms()


def term_frequencies(
    searcher: tantivy.Searcher, tree: tantivy.Query, hits: list[tuple[float, tantivy.DocAddress]]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the DocIDs of the hits of one term in `body`, and its frequency in each."""
    if not hits:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    score_values, addresses = zip(*hits, strict=True)  # thousands of hits: no Python loop
    scores, doc_addresses = np.array(score_values, np.float64), list(addresses)
    ids = np.array(searcher.fast_field_values("id", doc_addresses), np.int64)
    lengths = np.array(searcher.fast_field_values("length", doc_addresses), np.float64)
    figures = _figures(json.loads(tree.explain(searcher, doc_addresses[0]).to_json()))
    rounded = NORMS[np.searchsorted(NORMS, lengths, "right") - 1]
    k = figures["k1"] * (1 - figures["b"] + figures["b"] * rounded / figures["avgdl"])
    top = figures["idf"] * figures["(K1+1)"]
    return ids, np.maximum(np.rint(scores * k / np.maximum(top - scores, 1e-12)), 1).astype(np.int64)


def _figures(explanation: dict[str, Any]) -> dict[str, float]:
    """Return the figures of an explanation, by the first word of their description."""
    figures = {explanation["description"].partition(",")[0]: float(explanation["value"])}
    for detail in explanation.get("details", ()):
        figures |= _figures(detail)
    return figures
