"""The index of the web app: its routes, its shared state and the middleware around it."""

from __future__ import annotations

from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

from fastapi import FastAPI
from starlette.staticfiles import StaticFiles

from gossamer.web.crawl import control_routes, live
from gossamer.web.crawl import routes as crawl
from gossamer.web.crawl.control import Control
from gossamer.web.graph import routes as graph
from gossamer.web.graph.graph_cache import GraphCache
from gossamer.web.http import api_page, health, openapi
from gossamer.web.http.compression import CompressionMiddleware
from gossamer.web.http.problems import install_error_handlers
from gossamer.web.http.security import SecurityMiddleware
from gossamer.web.http.sessions import SessionPool
from gossamer.web.http.shares import ShareMiddleware
from gossamer.web.http.templates import STATIC, Templates
from gossamer.web.pages import routes as pages
from gossamer.web.reports import routes as reports
from gossamer.web.reports.answers import ReportCache
from gossamer.web.reports.audits import AuditCache
from gossamer.web.search import feeds, widget
from gossamer.web.search import routes as search
from gossamer.web.search.fast_path import SearchFastPath
from gossamer.web.search.search_cache import SearchQueue
from gossamer.web.search.search_client import SearchClient
from gossamer.web.sql import routes as sql
from gossamer.web.sql.runner import StatementRunner

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.types import ASGIApp

    from gossamer.web.http.security import AccessRules

ROUTERS = (
    search.api,
    search.pages,
    feeds.router,
    widget.router,
    pages.api,
    pages.pages,
    crawl.api,
    crawl.pages,
    live.router,
    control_routes.router,
    graph.router,
    reports.api,
    reports.pages,
    sql.api,
    sql.pages,
    api_page.router,
    health.router,
)


def create_app(location: str, rules: AccessRules) -> ASGIApp:
    """Return the app that serves the web at `location`."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        with suppress(OSError, MemoryError):  # the first question tries again, and reports the error
            app.state.search_client.start()
        yield
        await app.state.live_feed.close()
        app.state.control.close()
        app.state.graph_cache.close()
        app.state.audits.close()
        app.state.search_queue.close()
        app.state.sessions.close()

    app = FastAPI(title="Gossamer", docs_url=None, redoc_url=None, lifespan=lifespan)
    app.state.sessions = SessionPool(location)
    app.state.access_rules = rules
    app.state.live_feed = live.LiveFeed(app.state.sessions)
    app.state.graph_cache = GraphCache(app.state.sessions)
    app.state.search_client = SearchClient(location)
    app.state.search_queue = SearchQueue(app.state.search_client)
    app.state.control = Control(location, app.state.search_queue.clear)
    app.state.templates = Templates(rules, location)
    app.state.report_cache = ReportCache()
    app.state.audits = AuditCache(location)
    app.state.statement_runner = StatementRunner(location)
    app.openapi = lambda: openapi.openapi_document(app)  # type: ignore[method-assign]
    install_error_handlers(app, app.state.templates)
    for router in ROUTERS:
        app.include_router(router)
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    app.state.request_metrics = health.RequestMetrics(SearchFastPath(app, app.state.search_queue))
    shared = ShareMiddleware(CompressionMiddleware(app.state.request_metrics))
    return widget.CrossOriginMiddleware(SecurityMiddleware(shared, rules), rules)
