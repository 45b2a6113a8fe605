"""What crawlers write: crawlers, rounds, leases and visits. A function gets a `Transaction`, or opens its own.

In: candidates, leases and finished visits. Out: rows, and the values that crawlers get back.

crawlers   names, heartbeats, reclaiming the leases of dead crawlers
rounds     rounds, seeds, limits; admitting again after a change of scope
admission  candidates become resources
lease      hosts and URLs for a crawler; URLs added by name
submit     `Submission`: a batch of visits
revisits   compares visits with the stored state, writes history
schedule   change hints of sitemaps; queues due visits
depth      propagates smaller depths along links
renderings `write_renderings`, `write_shapes`: what browsers made of pages and found about path shapes
forget     removes resources and hosts
"""
