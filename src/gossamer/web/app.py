"""The app: its routes, and the layers around them."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from fastapi import FastAPI
from starlette.staticfiles import StaticFiles

from gossamer.web import api, pages
from gossamer.web.crawl import control, live
from gossamer.web.graph import explorer
from gossamer.web.graph.snapshots import Graphs
from gossamer.web.http import health
from gossamer.web.http.compression import Wire
from gossamer.web.http.openapi import described
from gossamer.web.http.problems import tell_problems
from gossamer.web.http.security import Shield
from gossamer.web.http.sessions import Desks
from gossamer.web.http.templates import STATIC, Look
from gossamer.web.reports import tables
from gossamer.web.search import feeds
from gossamer.web.search.fast_path import Shortcut
from gossamer.web.search.search_cache import Lane

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from starlette.types import ASGIApp

    from gossamer.web.http.security import Access


def create_app(place: str, rules: Access, started: Callable[[], None] = lambda: None) -> ASGIApp:
    """The web app for the web at a place."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        started()
        yield
        await app.state.watch.close()
        app.state.control.close()
        app.state.graphs.close()
        app.state.lane.close()
        app.state.desks.close()

    app = FastAPI(title="Gossamer", docs_url=None, redoc_url=None, lifespan=lifespan)
    app.state.desks = Desks(place)
    app.state.rules = rules
    app.state.watch = live.Watch(app.state.desks)
    app.state.graphs = Graphs(app.state.desks)
    app.state.lane = Lane(place)
    app.state.control = control.Control(place, app.state.lane.forget)
    app.state.look = Look(rules)
    app.state.reports = tables.Kept()
    app.openapi = lambda: described(app)  # type: ignore[method-assign]
    tell_problems(app, app.state.look)
    for routes in (
        api.router,
        pages.router,
        live.router,
        control.router,
        explorer.router,
        feeds.router,
        health.router,
        tables.api,
        tables.pages,
    ):
        app.include_router(routes)
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    app.state.requests = health.Requests(Shortcut(app, app.state.lane))
    return Shield(Wire(app.state.requests), rules)
