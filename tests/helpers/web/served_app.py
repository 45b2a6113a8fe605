"""A small crawled web behind a running web app, for tests over HTTP."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import httpx

from helpers.cli.commands import FAST, crawl, gossamer
from helpers.patience import PATIENCE
from helpers.web.browser import TOKEN, AppServer
from webs.served import SiteResponse, SiteServer

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

TOPICS = ("spider", "silk", "orb", "funnel", "garden", "autumn", "thread", "anchor", "spiral", "dew", "wind", "prey")


def page(title: str, text: str, *links: tuple[str, str]) -> str:
    """Return a page in English."""
    anchors = "".join(f'<li><a href="{target}">{anchor}</a>' for target, anchor in links)
    return f'<!doctype html><html lang="en"><title>{title}</title><h1>{title}</h1><p>{text}</p><ul>{anchors}</ul>'


def site() -> dict[str, str | SiteResponse]:
    """Return a dozen pages that link to each other, a missing one, and a plain text."""
    pages: dict[str, str | SiteResponse] = {
        "/": page(
            "Webs", "All about gossamer, and the spiders that make it.", *((f"/{topic}", topic) for topic in TOPICS),
            ("/missing", "a page that is gone"), ("/notes.txt", "notes"),
        ),
        "/notes.txt": SiteResponse("Plain gossamer notes.", headers={"Content-Type": "text/plain; charset=utf-8"}),
    }  # fmt: skip
    for number, topic in enumerate(TOPICS):
        after = TOPICS[(number + 1) % len(TOPICS)]
        text = f"Of {topic} and gossamer: {topic} is what this page is about. " * (number + 1)
        pages[f"/{topic}"] = page(f"The {topic}", text, ("/", "home"), (f"/{after}", f"on to {after}"))
    return pages


class App:
    """A running web app with an HTTP client."""

    def __init__(self, serving: AppServer, web: str) -> None:
        self.url = serving.url
        self.web = web  # the URL that was crawled
        self.store = serving.store
        self.serving = serving
        self.client = httpx.Client(base_url=serving.url, timeout=PATIENCE)

    def get(self, path: str, **options: object) -> httpx.Response:
        """Send a GET request."""
        return self.client.get(path, **options)  # type: ignore[arg-type]

    def post(self, path: str, body: object = None, *, token: str | None = TOKEN, **headers: str) -> httpx.Response:
        """Send a POST request with the token."""
        bearer = {"Authorization": f"Bearer {token}"} if token else {}
        return self.client.post(path, json={} if body is None else body, headers={**bearer, **headers})


@contextmanager
def served_app(
    directory: Path, pages: Mapping[str, str | SiteResponse], *options: str, seeds: Sequence[str] = ()
) -> Iterator[App]:
    """Crawl and rank pages and further seeds, and serve the app with options; the pages stay available meanwhile."""
    store = directory / "web"
    with ExitStack() as stack:
        source = stack.enter_context(SiteServer(pages))
        crawl(source.url, store, *seeds, *FAST)
        result = gossamer("rank", "--store", store)
        assert result.returncode == 0, result.stderr
        serving = stack.enter_context(AppServer(store, *options))
        app = App(serving, source.url)
        stack.callback(app.client.close)
        yield app
