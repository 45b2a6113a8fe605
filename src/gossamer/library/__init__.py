"""Gossamer for Python programs: crawl a site, read a stored web, ask it, rank it, export it.

In: URLs and settings, or the location of a web. Out: pages as they come, and answers to iterate over.

    crawler      `Crawler`: a crawl to iterate over, also with `async for` and `with`
    visited      `VisitedPage` and `Link`: what a crawl yields
    web          `Web` and `open_web`: a stored web
    answers      rows that programs iterate over, and that other libraries get as a whole: `Rows`, `RowList`
    frames       tables as Arrow, pandas and polars, and as HTML for notebooks
    found_pages  `FoundPages`: the answer to a query
    link_graph   `WebGraph`: the link graph, also for networkx and scipy
    actions      what changes a web or writes files: rank, forget, copy, export
"""

from gossamer.library.crawler import Crawler
from gossamer.library.visited import Link, VisitedPage
from gossamer.library.web import Web, open_web

__all__ = ["Crawler", "Link", "VisitedPage", "Web", "open_web"]
