"""Views of the explorer before and after a ranking, and when the web has grown since."""

from __future__ import annotations

from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

import pytest

from gossamer.graph.arrays import graph_directory
from gossamer.graph.pictures.palette import community_hex
from gossamer.graph.pictures.selection import select_picture
from gossamer.graph.snapshot import open_graph
from gossamer.web.graph.graph_cache import GraphCache
from gossamer.web.graph.views import GraphView, NeighbourOptions, ViewOptions, neighbours
from gossamer.web.http.sessions import SessionPool
from gossamer.wiring import open_store
from helpers.cli.commands import FAST, crawl, gossamer
from helpers.web.served_app import served_app
from webs.served import SiteServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from gossamer.web.graph.views import Level

RANKED = {
    "/": "<p><a href=/a>a</a> <a href=/b>b</a>",
    "/a": "<p><a href=/>home</a> <a href=/b>b</a>",
    "/b": "<p><a href=/>home</a>",
}


class Explorer:
    """The graph of a web as the explorer asks for it."""

    def __init__(self, sessions: SessionPool, cache: GraphCache) -> None:
        self._sessions, self._cache = sessions, cache

    def view(self, level: Level = "pages") -> GraphView:
        with self._sessions.open() as session:
            return self._cache.view(session, ViewOptions(level=level))

    def neighbours(self, key: str) -> GraphView:
        with self._sessions.open() as session:
            snapshot = self._cache.snapshot(session.store, "pages")
            return neighbours(session.store, snapshot, NeighbourOptions(level="pages", key=key))


@contextmanager
def explorer(store: Path) -> Iterator[Explorer]:
    sessions = SessionPool(str(store))
    cache = GraphCache(sessions)
    yield Explorer(sessions, cache)
    cache.close()
    sessions.close()


@pytest.fixture
def site() -> Iterator[SiteServer]:
    with SiteServer(RANKED) as server:
        yield server


def rank(store: Path, *options: str) -> None:
    done = gossamer("rank", "--store", store, *options)
    assert done.returncode == 0, done.stderr


def communities(view: GraphView) -> dict[str, int | None]:
    return dict(zip(view.nodes.key, view.nodes.community, strict=True))


def test_a_view_has_the_scores_of_a_ranking_made_since_the_last_view(site: SiteServer, tmp_path: Path) -> None:
    crawl(site.url, tmp_path / "web", *FAST)
    with explorer(tmp_path / "web") as seen:
        rank(tmp_path / "web", "--alpha", "0.2")
        before = seen.view()
        rank(tmp_path / "web", "--alpha", "0.99")
        after = seen.view()
    with explorer(tmp_path / "web") as fresh:
        assert after.nodes.score == fresh.view().nodes.score != before.nodes.score


def test_a_cached_view_says_that_its_ranks_became_stale(site: SiteServer, tmp_path: Path) -> None:
    crawl(site.url, tmp_path / "web", *FAST)
    rank(tmp_path / "web")
    with explorer(tmp_path / "web") as seen, SiteServer({"/": "<p>new"}) as other:
        assert seen.view().rank_note == ""
        crawl(other.url, tmp_path / "web", *FAST)
        assert seen.view().rank_note == "from 3 of 4 pages"


def test_new_pages_of_a_ranked_web_have_no_community(site: SiteServer, tmp_path: Path) -> None:
    crawl(site.url, tmp_path / "web", *FAST)
    rank(tmp_path / "web")
    with explorer(tmp_path / "web") as seen:
        ranked = communities(seen.view())
    with SiteServer({"/": f"<p><a href=/more>more</a> <a href={site.url}>old</a>", "/more": "<p>x"}) as other:
        crawl(other.url, tmp_path / "web", *FAST)
    assert None not in ranked.values()
    with explorer(tmp_path / "web") as seen:
        view = seen.view()
        assert communities(view) == ranked | {other.url: None, f"{other.url}more": None}
        assert {one.community for one in view.communities} == {*ranked.values()}
        assert communities(seen.neighbours(other.url)) == {
            other.url: None, f"{other.url}more": None, site.url: ranked[site.url],
        }  # fmt: skip


def test_the_page_view_names_a_community_as_the_explorer_does(tmp_path: Path) -> None:
    with served_app(tmp_path, RANKED) as app:
        view = app.get("/api/graph", params={"level": "pages"}).json()
        number = view["nodes"]["community"][view["nodes"]["key"].index(app.web)]
        name = next(one["name"] for one in view["communities"] if one["community"] == number)
        page = app.get("/page", params={"url": app.web}).text
        assert f"{number} · {name}</dd>" in page
        assert f'fill="{community_hex(number)}"' in page
        assert f'fill="{community_hex(number, on_dark=True)}"' in page


@pytest.mark.parametrize("level", ["pages", "hosts"])
def test_a_picture_names_numbers_and_colours_communities_as_the_explorer_does(
    site: SiteServer, tmp_path: Path, level: Level
) -> None:
    with SiteServer({"/": f"<title>Other</title><a href={site.url}>site</a>"}) as other:
        crawl(site.url, tmp_path / "web", other.url, *FAST)
    rank(tmp_path / "web")
    with explorer(tmp_path / "web") as seen, closing(open_store(str(tmp_path / "web"), read_only=True)) as store:
        view = seen.view(level)
        with graph_directory(str(tmp_path / "web")) as directory:
            picture = select_picture(store, open_graph(store, directory), level)
    assert {one.community: one.name for one in view.communities} == picture.names
    labels = zip((names[0] for names in picture.labels), picture.communities.tolist(), strict=True)
    assert sorted(labels) == sorted(zip(view.nodes.label, view.nodes.community, strict=True))


def test_a_web_without_ranks_has_communities_of_the_view(site: SiteServer, tmp_path: Path) -> None:
    crawl(site.url, tmp_path / "web", *FAST)
    with explorer(tmp_path / "web") as seen:
        assert None not in communities(seen.view()).values()
