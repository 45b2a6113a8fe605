"""Answers for people who would rather look than read: pages that work without scripts, and an API that says the same.

    request ─▶ security (host, token, rate) ─▶ pages (HTML) or api (JSON) ─▶ answers ─▶ desk (store, index, graph)
                                          └──▶ shortcut (plain questions) ─▶ remembered (the lane of searches)
                                                                               live ─▶ server-sent events

In comes a place (a web) and HTTP; out go pages, JSON and files. Nothing but `control` changes anything. Central names:
`app.create_app`, the routes and what surrounds them; `answers`, what pages and API say alike; `remembered.Lane`, where
all searches are made; `desk.Desks`, where the rest reads. FastAPI is imported here and nowhere else: it is in the extra
`web`.
"""
