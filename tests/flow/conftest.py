"""A browser for the tests that look at the web app, and a web to look at."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from conftest import not_here, package
from helpers.cli.commands import FAST, gossamer
from helpers.web.browser import AXE, MANIFEST, Serving, chromium

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser

    from webs.nginx import Nginx


@pytest.fixture(scope="module")  # no longer: while Playwright runs, other tests cannot start an event loop
def browser() -> Iterator[Browser]:
    """Chromium; the scripts are built and axe-core is there."""
    if not (MANIFEST.exists() and AXE.exists()):
        not_here("The explorer and the live charts are not built: `make frontend` builds them, with Node 20 or newer")
    with chromium(package("chromium")) as found:
        yield found


@pytest.fixture(scope="session")
def documentation(documentation_webs: Nginx, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """Python's documentation, crawled, ranked and served: one host, some five hundred pages."""
    store = tmp_path_factory.mktemp("documentation")
    url = documentation_webs.url("python3.11-doc", "/index.html")
    for command in (("crawl", url, "--quiet", *FAST), ("rank",)):
        done = gossamer(*command, "--store", store)
        assert done.returncode == 0, done.stderr
    with Serving(store) as server:
        yield server
