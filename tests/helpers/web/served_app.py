"""A small crawled web behind a running web app, for tests that ask it over HTTP."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import httpx

from helpers.cli.commands import FAST, crawl, gossamer
from helpers.web.browser import TOKEN, Serving
from webs.served import Answer, Served

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

TOPICS = ("spider", "silk", "orb", "funnel", "garden", "autumn", "thread", "anchor", "spiral", "dew", "wind", "prey")


def page(title: str, text: str, *links: tuple[str, str]) -> str:
    """A page in English."""
    anchors = "".join(f'<li><a href="{target}">{anchor}</a>' for target, anchor in links)
    return f'<!doctype html><html lang="en"><title>{title}</title><h1>{title}</h1><p>{text}</p><ul>{anchors}</ul>'


def site() -> dict[str, str | Answer]:
    """A dozen pages that link to one another, a missing one, a plain text."""
    pages: dict[str, str | Answer] = {
        "/": page(
            "Webs", "All about gossamer, and the spiders that make it.", *((f"/{topic}", topic) for topic in TOPICS),
            ("/missing", "a page that is gone"), ("/notes.txt", "notes"),
        ),
        "/notes.txt": Answer("Plain gossamer notes.", headers={"Content-Type": "text/plain; charset=utf-8"}),
    }  # fmt: skip
    for number, topic in enumerate(TOPICS):
        after = TOPICS[(number + 1) % len(TOPICS)]
        text = f"Of {topic} and gossamer: {topic} is what this page is about. " * (number + 1)
        pages[f"/{topic}"] = page(f"The {topic}", text, ("/", "home"), (f"/{after}", f"on to {after}"))
    return pages


class App:
    """A web app to ask."""

    def __init__(self, serving: Serving, web: str) -> None:
        self.url = serving.url
        self.web = web  # the URL that was crawled
        self.store = serving.store
        self.serving = serving
        self.client = httpx.Client(base_url=serving.url, timeout=60)

    def get(self, path: str, **options: object) -> httpx.Response:
        """Ask for a path."""
        return self.client.get(path, **options)  # type: ignore[arg-type]

    def post(self, path: str, body: object = None, *, token: str | None = TOKEN, **headers: str) -> httpx.Response:
        """Ask for something to be done."""
        bearer = {"Authorization": f"Bearer {token}"} if token else {}
        return self.client.post(path, json={} if body is None else body, headers={**bearer, **headers})


@contextmanager
def served_app(directory: Path, pages: Mapping[str, str | Answer]) -> Iterator[App]:
    """Crawl pages, rank them, serve the app; the pages are there as long as the app is."""
    store = directory / "web"
    with ExitStack() as stack:
        source = stack.enter_context(Served(pages))
        crawl(source.url, store, *FAST)
        ranked = gossamer("rank", "--store", store)
        assert ranked.returncode == 0, ranked.stderr
        serving = stack.enter_context(Serving(store))
        app = App(serving, source.url)
        stack.callback(app.client.close)
        yield app
