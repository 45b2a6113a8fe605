"""The crawl: dashboard, hosts, errors, live events, and control of crawlers.

In comes the state of the store; out go pages, JSON and server-sent events. Modules:

- `answers`: status, crawlers, hosts, errors and rates, as values
- `routes`: `/crawl`, `/hosts`, `/errors` and their twins in the API
- `live`: server-sent events (`LiveFeed`)
- `control`: pause, stop and start crawlers, forget pages (`Control`); the only module that changes a web
- `control_routes`: the token, forms and API of control
"""
