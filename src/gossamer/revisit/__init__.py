"""When to visit again: how often a page changes, what a visit is worth, and whether a page really changed.

In: results of visits, and dates that sites publish. Out: a pace for each resource, and the time at which it is due. All
functions are pure. The store applies them in the transaction that knows whether a page changed.

- `evidence`: `Evidence` and `change_rate`, Cho and Garcia-Molina's estimator of change rates
- `pace`: paces, and the `Schedule` that says when a resource of each pace is due
- `sameness`: `is_same_content`, which ignores time stamps and tokens
- `dates`: dates of HTTP headers, sitemaps and feeds as Unix time
"""
