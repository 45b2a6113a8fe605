"""The link graph: links come in; ranks, shape, reports, pictures and graph files go out.

In: the store's links, and their changes since the last reading.
Out: ranks in the store, an array of scores by DocID for search, reports, pictures, and files for other programs.

Central names, in reading order
    `arrays`     `ArrayWriter`, `load_bundle`: arrays in files, published completely or not at all
    `bonds`      `BondTable`: the store's links by DocID, updated from its changes
    `snapshot`   `Graph`, `LinkMatrix`, `open_graph`: pages and hosts with the links between them
    `structure`  components, bow-tie, communities, cores, related pages
    `shape`      `Shape`: a web in numbers; `Site`: a host and its neighbours

Packages
    `ranking`    PageRank, HITS and the other ranks; `rank_web` computes them all
    `reports`    findings about a site, row by row
    `pictures`   the graph drawn as SVG or PNG
    `export`     the graph as GEXF, GraphML or Common Crawl files
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    OnProgress = Callable[[str], None]  # receives one line of text about a long computation
