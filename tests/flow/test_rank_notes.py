"""Every place that shows ranks of an older state of the web says so, and none does when they are current."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gossamer import open_web
from helpers.cli.commands import FAST, crawl, gossamer
from helpers.web.browser import AppServer
from helpers.web.served_app import App
from webs.served import SiteServer

if TYPE_CHECKING:
    from pathlib import Path

PAGES = {"/": "<title>Silk</title><a href=/a>a</a>", "/a": "<title>A</title><a href=/>home</a>"}
OTHER = {"/": "<title>Silk too</title><p>silk"}
NOTE = "from 2 of 3 pages"

# What shows ranks -> how to get the text that has the note.
COMMANDS: dict[str, tuple[str, ...]] = {
    "status": ("status",), "page": ("page", "{url}"), "page as JSON": ("page", "{url}", "--json"),
    "ranks": ("export", "ranks", "-o", "{out}.csv"), "picture": ("export", "picture", "-o", "{out}.svg"),
    "graph": ("export", "graph", "-o", "{out}.gexf"), "search": ("search", "silk", "--explain"),
    "search as JSON": ("search", "silk", "--explain", "--json"),
}  # fmt: skip
PATHS = ("/api/status", "/page?url={url}", "/api/page?url={url}", "/graph", "/api/graph?level=pages", "/api/ranks")


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, bool], str]:
    """Return what each place shows of a web whose ranks are current, and of the same web after it grew."""
    store = tmp_path_factory.mktemp("notes") / "web"
    shown: dict[tuple[str, bool], str] = {}
    with SiteServer(PAGES) as site, SiteServer(OTHER) as other:
        crawl(site.url, store, *FAST)
        assert gossamer("rank", "--store", store).returncode == 0
        for is_stale in (False, True):
            if is_stale:
                crawl(other.url, store, *FAST)
            for name, words in COMMANDS.items():
                shown[name, is_stale] = command_text(words, store, site.url)
            with AppServer(store) as serving:
                app = App(serving, site.url)
                shown |= {(path, is_stale): app.get(path.format(url=site.url)).text for path in PATHS}
                app.client.close()
            with open_web(store) as web:
                shown["library", is_stale] = str(web.rank_state())
    return shown


def command_text(words: tuple[str, ...], store: Path, url: str) -> str:
    arguments = [word.format(url=url, out=store.with_name("out")) for word in words]
    done = gossamer(*arguments, "--store", store)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def says_stale(text: str) -> bool:
    values = ("pages=2, web_pages=3, current=False", '"current":false', '"current": false')
    return NOTE in text.lower() or any(value in text for value in values)


@pytest.mark.parametrize("place", [*COMMANDS, *PATHS, "library"])
def test_ranks_of_an_older_state_say_so(place: str, texts: dict[tuple[str, bool], str]) -> None:
    assert not says_stale(texts[place, False])
    assert says_stale(texts[place, True])
