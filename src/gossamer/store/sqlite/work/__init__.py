"""What crawlers write to web.db: one function per call, run inside a `Transaction`; calls with locks open their own.

In: candidates, visits, heartbeats. Out: leases and results. The decisions are in `store/work/`.

admission  `admit_candidates`: links into resources
submit     `Submission`: a batch of visits
lease      URLs for crawlers
crawlers   names, heartbeats, and leases of dead crawlers
rounds     rounds and changed scopes
schedule   `queue_due`, `keep_fresh`: revisits
revisits   `compare_visits`, `write_history`: what a visit found to be different
depth      smaller depths along stored links
renderings `write_renderings`, `write_shapes`: what browsers made of pages and found about path shapes
forget     resources and hosts removed
digests    `find_known_resources`: ids by digest
counters   `MetaTable`: the counters
"""
