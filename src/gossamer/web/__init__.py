"""Answers for people who would rather look than read: pages that work without scripts, and an API that says the same.

    request ─▶ security (host, token, rate) ─▶ pages (HTML) or api (JSON) ─▶ answers ─▶ desk (store, index, graph)
                                                                               live ─▶ server-sent events

In comes a place (a web) and HTTP; out go pages, JSON and files. Nothing but `control` changes anything. Central names:
`app.create_app`, the routes and what surrounds them; `answers`, what pages and API say alike; `desk.Desks`, where they
read. FastAPI is imported here and nowhere else: it is in the extra `web`.
"""
