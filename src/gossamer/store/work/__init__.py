"""Decisions about the work of crawlers that both back-ends share, without SQL.

In: candidates, visits and rows that a back-end has read. Out: the rows that a back-end writes.

claims            `Discovery`, `apply_claim`: which links make a URL worth visiting
visit_rows        `FinishedVisit`: the rows that a batch of visits becomes
change_detection  `find_difference`: what a visit found to be different
revisit_rows      `choose_due`: when resources are visited again
lease_rows        `PageBudget`: which URLs a crawler gets
rounds            `RoundLimits`, `decide_admission`: limits of a round, and a changed scope
counters          `CounterDeltas`: counters of hosts and of the web
url_cache         `UrlCache`: known URLs between batches
crawler_names     names of crawlers
"""
