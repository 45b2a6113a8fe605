"""Crawl and serve the demo web, which the documentation's pictures show."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from gossamer.demo import DemoWeb
from helpers.cli.commands import FAST, crawl, gossamer
from helpers.web.browser import AppServer
from helpers.web.served_app import App

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def demo_app(directory: Path) -> Iterator[App]:
    """Crawl and rank Python's own documentation, and serve it."""
    with DemoWeb() as demo:
        crawl(demo.url, directory, *FAST)
        assert gossamer("rank", "--store", directory).returncode == 0
        with AppServer(directory) as serving:
            app = App(serving, demo.url)
            yield app
            app.client.close()
