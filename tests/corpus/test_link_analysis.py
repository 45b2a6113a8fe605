"""PageRank and HITS against the values of networkx's own tests (Langville and Meyer's graphs)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gossamer.graph.ranking.hits import hits
from gossamer.graph.ranking.pagerank import pagerank
from gossamer.graph.snapshot import LinkMatrix
from helpers.suites import table

pytestmark = pytest.mark.shared
SUITE = "link-analysis-reference", "networkx_reference.json"


def build_graph(case: dict[str, Any], names: list[str]) -> LinkMatrix:
    pairs = [(str(a), str(b)) for a, b in case["edges"]]
    if not case.get("directed", True):
        pairs += [(b, a) for a, b in pairs]
    source, target = np.array([[names.index(a), names.index(b)] for a, b in pairs]).T
    return LinkMatrix.from_edges(len(names), source, target)


def shares(values: dict[str, float] | str | None, names: list[str]) -> np.ndarray[Any, np.dtype[np.float64]] | None:
    return np.array([float(values[name]) for name in names]) if isinstance(values, dict) else None


def test_pagerank_equals_the_reference() -> None:
    cases = table(*SUITE)["pagerank"]
    assert len(cases) == 5
    for case in cases:
        names = list(case["pagerank"])
        ranks = pagerank(
            build_graph(case, names), alpha=case["alpha"], weighted=True,
            start=shares(case.get("personalization"), names), dangling=shares(case.get("dangling"), names),
        )  # fmt: skip
        expected = [case["pagerank"][name] for name in names]
        assert ranks.values == pytest.approx(expected, abs=1e-6), case["name"]


def test_hits_equals_the_reference() -> None:
    (case,) = table(*SUITE)["hits"]
    names = list(case["authorities"])
    scores = hits(build_graph(case, names))
    assert scores.authorities == pytest.approx([case["authorities"][name] for name in names], abs=1e-6)
    assert scores.hubs == pytest.approx([case["hubs"][name] for name in names], abs=1e-6)
