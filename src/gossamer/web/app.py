"""The app: its routes, and the layers around them."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from fastapi import FastAPI
from starlette.staticfiles import StaticFiles

from gossamer.web import api, control, explorer, feeds, health, live, pages, reporting
from gossamer.web.desk import Desks
from gossamer.web.graphs import Graphs
from gossamer.web.look import STATIC, Look
from gossamer.web.openapi import described
from gossamer.web.problems import tell_problems
from gossamer.web.remembered import Lane
from gossamer.web.security import Shield
from gossamer.web.shortcut import Shortcut
from gossamer.web.wire import Wire

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from starlette.types import ASGIApp

    from gossamer.web.security import Access


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
    app.state.reports = reporting.Kept()
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
        reporting.api,
        reporting.pages,
    ):
        app.include_router(routes)
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    app.state.requests = health.Requests(Shortcut(app, app.state.lane))
    return Shield(Wire(app.state.requests), rules)
