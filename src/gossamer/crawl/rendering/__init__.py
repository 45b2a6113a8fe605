"""Rendering in a crawl: which pages a browser renders, what their requests may do, and what becomes of the result.

In: pages that a parser read plainly. Out: the same pages, some of them read again after a browser.

- `stage`: `RenderStage`, which keeps pages between their two readings; the loop knows only this one
- `decisions`: pure decisions about pages and the path shapes that they share
- `readings`: two readings of a page, compared and merged
- `samples`: `SampleStock`, pages without a sign that are rendered at the end
- `subresources`: `Subresources`, which answers the requests of pages through the crawl's fetcher
- `request_key`: pure decisions about one request: its site, its headers, how long its answer is cached
- `connections`: `Connections` to the hosts that pages ask, and when these rest
- `origin_rules`: `OriginRules`, the robots.txt of hosts that this crawler does not hold
- `page_limits`: `PageLimits`, the bytes and hosts that one page may take
"""
