"""The web app: HTML pages that work without scripts, and an API that returns the same as JSON.

    request -> SecurityMiddleware -> CompressionMiddleware -> RequestMetrics -> SearchFastPath -> a route
               (host, size, rate)    (ETag, zstd, gzip)        (/metrics)        (plain searches)   |
                                                                                                  v
              search process (index)  <-  SearchClient  <-  SearchQueue (cached answers)  <-  routes  ->  ReadSession
              (one question at a time)    (queue, deadline)                                              (store)

In comes the location of a web, and HTTP; out go pages, JSON, files and events. Only `crawl.control` changes anything.
FastAPI belongs to the extra `web`; no package outside this one imports it.

Central names:

- `app.create_app`: all routes and the middleware around them. `server.serve` runs it on a socket.
- `http`: middleware, errors, templates, sessions, OpenAPI, query parameters, health.
- `search`, `pages`, `graph`, `reports`, `crawl`: one package for each thing that people look at. `routes` holds the
  JSON routes beside their HTML pages, and `answers` (`views` in `graph`) makes the values that both show.
- `templates/`, `static/`: Jinja templates, styles and small scripts; `static/dist` is built from `frontend/`.
"""
