"""Name communities by their best page or host, so that a community has one name in pictures and in the explorer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gossamer.graph.pictures.labels import distinctive_titles, last_url_part, printable_line, shorten_label

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from gossamer.graph.snapshot import Graph
    from gossamer.store.protocol import GraphSource

MOST_NODES = 2_000  # best nodes to take names from; a community without one of them has colour and name of the others


def name_communities(
    store: GraphSource,
    graph: Graph,
    level: str,
    scores: npt.NDArray[np.float64],
    communities: npt.NDArray[np.int32] | None = None,
) -> dict[int, str]:
    """Return the names of the biggest communities by number; without `communities`, of those of `gossamer rank`."""
    best = np.lexsort((np.arange(len(scores)), -scores))[:MOST_NODES]
    if level == "hosts":
        labels = [graph.host(int(host)).removeprefix("www.") for host in best]
        hosts = store.host_nodes(graph.host_ids[best].tolist())
        numbers = [host.ranks.community if host.ranks else None for host in hosts]
    else:
        pages = list(store.page_nodes(graph.docs[best].tolist()))
        titles = distinctive_titles([printable_line(page.title) for page in pages])
        labels = [title or last_url_part(graph.url(int(page))) for title, page in zip(titles, best, strict=True)]
        numbers = [page.ranks.community if page.ranks else None for page in pages]
    return first_names(labels, numbers if communities is None else communities[best].tolist())


def first_names(labels: Sequence[str], communities: Sequence[int | None]) -> dict[int, str]:
    """Return the first label of each community; the labels of the best nodes come first."""
    names: dict[int, str] = {}
    for label, community in zip(labels, communities, strict=True):
        if community is not None:
            names.setdefault(community, shorten_label(label))
    return names
