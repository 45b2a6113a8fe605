"""How often a term stands in its documents, read back from their scores.

Tantivy does not give out its postings, but it scores with them. The BM25 score of one term in one field is idf * (k1 +
1) * tf / (tf + k), where k = k1 * (1 - b + b * length / average) and the length is rounded to one of 256 values. The
length of each document is a column of ours, the other figures are in the explanation of any one score, so tf follows.
4,000 documents take some milliseconds; reading their words would take a hundred times as long.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import tantivy
    from numpy.typing import NDArray

EXACT_NORMS = 24  # lengths below are kept as they are; above, with four bits (Lucene's SmallFloat, as in Tantivy)


def _norms() -> NDArray[np.float64]:
    """The 256 lengths that a document can have in Tantivy's eyes."""

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
    """The DocIDs of the hits of one term in `body`, and how often it stands in each."""
    if not hits:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    score_values, addresses = zip(*hits, strict=True)  # there may be thousands: no Python for each
    scores, doc_addresses = np.array(score_values, np.float64), list(addresses)
    ids = np.array(searcher.fast_field_values("id", doc_addresses), np.int64)
    lengths = np.array(searcher.fast_field_values("length", doc_addresses), np.float64)
    figures = _figures(json.loads(tree.explain(searcher, doc_addresses[0]).to_json()))
    rounded = NORMS[np.searchsorted(NORMS, lengths, "right") - 1]
    k = figures["k1"] * (1 - figures["b"] + figures["b"] * rounded / figures["avgdl"])
    top = figures["idf"] * figures["(K1+1)"]
    return ids, np.maximum(np.rint(scores * k / np.maximum(top - scores, 1e-12)), 1).astype(np.int64)


def _figures(explanation: dict[str, Any]) -> dict[str, float]:
    """The figures of an explanation by the first word that names them."""
    figures = {explanation["description"].partition(",")[0]: float(explanation["value"])}
    for detail in explanation.get("details", ()):
        figures |= _figures(detail)
    return figures
