"""Tables about pages with long URLs: they fit 80 columns, and `--wide` shows whole values."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from gossamer.cli.output import cell_width
from gossamer.web.graph.graph_cache import GraphCache
from gossamer.web.graph.views import ViewOptions
from gossamer.web.http.sessions import SessionPool
from helpers.cli.commands import FAST, crawl, gossamer
from helpers.cli.terminal import gossamer_on_terminal
from helpers.patience import PATIENCE
from webs.served import SiteServer

if TYPE_CHECKING:
    from pathlib import Path

STEPS = "/".join(f"a-long-step-of-a-path-{name}" for name in ("one", "two", "three", "four", "five"))
LONG = [f"/{STEPS}/{number}" for number in range(3)]
LINKS = "".join(f'<a href="{path}">page with a long anchor text, which says a lot about it</a> ' for path in LONG)
COMMANDS = (
    ("rank",), ("rank", "--hosts"), ("rank", "--near", "{url}"), ("shape",), ("related", "{url}{long}"),
    ("word", "gossamer"), ("page", "{url}"), ("report",),
)  # fmt: skip


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Crawl a site whose pages all link to each other; return the web and its URL."""
    store = tmp_path_factory.mktemp("narrow") / "web"
    page = f"<title>Gossamer, and a title that is longer than a column</title><p>gossamer {LINKS}"
    with SiteServer({"/": page} | dict.fromkeys(LONG, page)) as site:
        crawl(site.url, store, *FAST)
        assert gossamer("rank", "--store", store).returncode == 0
        return store, site.url


def lines_of(command: tuple[str, ...], web: tuple[Path, str], *flags: str) -> list[str]:
    words = [word.format(url=web[1].rstrip("/"), long=LONG[0]) for word in command]
    shown = gossamer_on_terminal(*words, *flags, "--store", str(web[0]), columns=80)
    assert shown.code == 0, shown.output
    return [line.rpartition("\r")[2].removeprefix("\x1b[K") for line in shown.output.splitlines()]


@pytest.mark.parametrize("command", COMMANDS)
def test_tables_with_long_urls_fit_80_columns(command: tuple[str, ...], web: tuple[Path, str]) -> None:
    lines = lines_of(command, web)
    hints = "gossamer", "What is behind", "How the score"
    table = [line for line in lines if web[1] not in line and not any(hint in line for hint in hints)]
    assert [line for line in table if cell_width(line) > 80] == []
    if any("…" in line for line in table if not line.startswith("Values with")):
        assert any("--wide shows them whole." in line for line in lines)


@pytest.mark.parametrize("command", [("rank",), ("shape",), ("related", "{url}{long}"), ("word", "gossamer")])
def test_wide_shows_whole_urls(command: tuple[str, ...], web: tuple[Path, str]) -> None:
    text = "\n".join(lines_of(command, web, "--wide"))
    assert f"{web[1].rstrip('/')}{LONG[1]}" in text


def test_wide_shows_whole_anchors_of_a_page(web: tuple[Path, str]) -> None:
    text = "\n".join(lines_of(("page", "{url}"), web, "--wide"))
    assert "page with a long anchor text, which says a lot about it" in text
    assert f"{web[1].rstrip('/')}{LONG[1]}" in text


def test_wide_shows_the_whole_overview_of_reports(web: tuple[Path, str]) -> None:
    head = next(line for line in lines_of(("report",), web, "--wide") if "findings" in line)
    assert head.split()[-4:] == ["report", "code", "counted", "finds"]


def test_shape_names_communities_as_the_explorer_does(web: tuple[Path, str]) -> None:
    shape = json.loads(gossamer("shape", "--json", "--store", web[0], timeout=PATIENCE).stdout)
    sessions = SessionPool(str(web[0]))
    cache = GraphCache(sessions)
    with sessions.open() as session:
        view = cache.view(session, ViewOptions(level="pages"))
    cache.close()
    sessions.close()
    in_explorer = {one.community: one.name for one in view.communities}
    assert {one["number"]: one["name"] for one in shape["communities"]} == in_explorer
