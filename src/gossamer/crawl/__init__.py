"""The crawl: from a seed or a link to a stored visit.

In: a `CrawlPlan`, and work leased from the store. Out: visits, written to the store and then yielded.

- `loop`: `CrawlLoop`, which starts transfers, waits, and hands results to the store
- `plan`: `CrawlPlan` and `CrawlParts`, the values a crawl starts with
- `frontier`: `Frontier`, the hosts this crawler holds and when each may be visited
- `policy`: pure decisions about URLs, pauses, retries and the end of a crawl
- `pending_robots`: `PendingRobots`, robots.txt requests in flight and what their responses mean
- `rendering/`: pages made by scripts, between their two readings
- `seeds`: `Seeds`, the start URLs and the scope they define; `seed_search` gets seeds from a search service
- `round_settings`: `RoundSettings`, the `[crawl]` settings of the current round
- `visits`: functions that build a `Visit` from a response and its page
- `outbox`: `Outbox`, which gathers results until they make a batch
- `writer`: `StoreWriter`, the thread that talks to the store
- `statistics`: `CrawlStatistics` and `CrawlProgress`, counters and rates for displays
- `log`: `CrawlLog`, one JSON object a line
"""
