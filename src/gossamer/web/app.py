"""The app: its routes, and the layers around them."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from fastapi import FastAPI
from starlette.staticfiles import StaticFiles

from gossamer.web import api, pages
from gossamer.web.crawl import control, live
from gossamer.web.graph import explorer
from gossamer.web.graph.snapshots import GraphCache
from gossamer.web.http import health
from gossamer.web.http.compression import CompressionMiddleware
from gossamer.web.http.openapi import openapi_document
from gossamer.web.http.problems import install_error_handlers
from gossamer.web.http.security import SecurityMiddleware
from gossamer.web.http.sessions import SessionPool
from gossamer.web.http.templates import STATIC, Templates
from gossamer.web.reports import tables
from gossamer.web.search import feeds
from gossamer.web.search.fast_path import SearchFastPath
from gossamer.web.search.search_cache import SearchQueue

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from starlette.types import ASGIApp

    from gossamer.web.http.security import AccessRules


def create_app(location: str, rules: AccessRules, on_started: Callable[[], None] = lambda: None) -> ASGIApp:
    """The web app for the web at a place."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        on_started()
        yield
        await app.state.live_feed.close()
        app.state.control.close()
        app.state.graph_cache.close()
        app.state.search_queue.close()
        app.state.sessions.close()

    app = FastAPI(title="Gossamer", docs_url=None, redoc_url=None, lifespan=lifespan)
    app.state.sessions = SessionPool(location)
    app.state.access_rules = rules
    app.state.live_feed = live.LiveFeed(app.state.sessions)
    app.state.graph_cache = GraphCache(app.state.sessions)
    app.state.search_queue = SearchQueue(location)
    app.state.control = control.Control(location, app.state.search_queue.clear)
    app.state.templates = Templates(rules)
    app.state.report_cache = tables.ReportCache()
    app.openapi = lambda: openapi_document(app)  # type: ignore[method-assign]
    install_error_handlers(app, app.state.templates)
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
    app.state.request_metrics = health.RequestMetrics(SearchFastPath(app, app.state.search_queue))
    return SecurityMiddleware(CompressionMiddleware(app.state.request_metrics), rules)
