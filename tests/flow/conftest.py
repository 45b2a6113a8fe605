"""Fixtures of several test files: Chromium, a served web of documentation, a hostile server and a fetch loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from conftest import package, skip_or_fail
from gossamer.render.isolation import check_isolation
from helpers.cli.commands import FAST, gossamer
from helpers.fetch.fetch_loop import FetchLoop
from helpers.web.browser import AXE, MANIFEST, AppServer, chromium
from hostile import HostileServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser

    from webs.nginx import Nginx


@pytest.fixture(scope="module")  # not longer, because no other test can start an event loop while Playwright runs
def browser() -> Iterator[Browser]:
    """Start Chromium; skip if the scripts or axe-core are missing."""
    if not (MANIFEST.exists() and AXE.exists()):
        skip_or_fail(
            "The explorer and the live charts are not built: `make frontend` builds them, with Node 20 or newer"
        )
    with chromium(package("chromium-headless-shell")) as running:
        yield running


@pytest.fixture(scope="session")
def browser_program() -> Path:
    """Return the browser that renders pages; skip where a layer is missing that keeps it off the network."""
    program = package("chromium-headless-shell")
    layers = check_isolation()
    if not layers.is_complete:
        skip_or_fail(f"Pages cannot be rendered here: {layers.reason}")
    return program


@pytest.fixture(scope="session")
def documentation(documentation_webs: Nginx, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AppServer]:
    """Crawl, rank and serve Python's documentation: one host, about five hundred pages."""
    store = tmp_path_factory.mktemp("documentation")
    url = documentation_webs.url("python3.11-doc", "/index.html")
    for command in (("crawl", url, "--quiet", *FAST), ("rank",)):
        done = gossamer(*command, "--store", store)
        assert done.returncode == 0, done.stderr
    with AppServer(store) as server:
        yield server


@pytest.fixture(scope="module")
def shared_server() -> Iterator[HostileServer]:
    with HostileServer() as server:
        yield server


@pytest.fixture
def server(shared_server: HostileServer) -> HostileServer:
    """Return the hostile server with an empty request log."""
    shared_server.requests.clear()
    shared_server.connections = 0
    shared_server.robots = "missing"
    return shared_server


@pytest.fixture
def loop(server: HostileServer) -> Iterator[FetchLoop]:
    """A loop that may connect to the server."""
    loop = FetchLoop()
    loop.fetcher.allow_private(server.url())
    yield loop
    loop.close()
