"""Rendering in a crawl: which pages a browser renders, what their requests may do, and what becomes of the result.

In: pages that a parser read plainly. Out: the same pages, some of them read again after a browser.

- `stage`: `RenderStage`, which keeps pages between their two readings; the loop knows only this one
- `decisions`: pure decisions about pages and the path shapes that they share
- `readings`: two readings of a page, compared and merged
- `samples`: `SampleStock`, pages without a sign that are rendered at the end
- `subresources`: `Subresources`, which answers the requests of pages through the crawl's fetcher
"""
