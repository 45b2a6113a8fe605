"""Good answers, with floors that may only be raised: each through the real path, from served pages to hits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from gossamer.search.weights import SECOND_PASS_WEIGHTS
from helpers.cli.commands import FAST, crawl, gossamer
from helpers.search.quality import ask, cranfield, find, hold_out_anchors, searcher_of, titles
from helpers.suites import suite
from webs import debian
from webs.nginx import Nginx, Site

if TYPE_CHECKING:
    from pathlib import Path

    from helpers.search.quality import Item


@pytest.mark.shared
def test_cranfield_questions_are_answered_well(nginx_binary: Path, tmp_path: Path) -> None:
    collection = cranfield(suite("ir-cranfield"))
    root, web = tmp_path / "root", tmp_path / "web"
    root.mkdir()
    for path, page in collection.pages.items():
        (root / (path.removeprefix("/") or "index.html")).write_text(page)
    with Nginx(nginx_binary, {"cranfield": Site(root)}, log=False) as nginx:
        crawl(nginx.url("cranfield"), web, *FAST)
        with searcher_of(web) as searcher:
            figures = ask(collection, searcher, nginx.url("cranfield").rstrip("/"))
    assert figures.map >= 0.322
    assert figures.ndcg10 >= 0.405
    assert figures.mrr >= 0.56


@pytest.mark.full
def test_pages_are_found_by_their_titles_and_by_what_others_call_them(
    documentation_webs: Nginx, tmp_path: Path
) -> None:
    web = tmp_path / "web"
    first, *others = (documentation_webs.url(site, "/index.html") for site in debian.DOCUMENTATION)
    crawl(first, web, *others, *FAST, "--no-source", "--no-index")
    called: list[Item] = hold_out_anchors(web, 400)
    named = titles(web, 400)
    for command in ("rank", "index"):
        done = gossamer(command, "--store", web)
        assert done.returncode == 0, done.stderr
    with searcher_of(web) as searcher:
        by_title, by_anchor = find(named, searcher), find(called, searcher)
    with searcher_of(web, msgspec.structs.replace(SECOND_PASS_WEIGHTS, anchors=0.0)) as deaf:
        unaided = find(called, deaf)
    assert by_title.first >= 0.92
    assert by_title.ten >= 0.985
    assert by_anchor.mrr >= 1.15 * unaided.mrr
    assert by_anchor.mrr >= 0.77
