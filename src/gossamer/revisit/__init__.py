"""When to look again: how often a page changes, what a visit is worth, and whether it really changed.

Comes in: what visits found, what sites say about themselves. Goes out: a pace for each resource, and what is due. All
of it is pure; the store applies it in the transaction that knows whether a page changed, the crawl says when.

Start at `evidence.rate` (Cho and Garcia-Molina's estimator), then `pace.Schedule` (which visit is worth most).
"""
