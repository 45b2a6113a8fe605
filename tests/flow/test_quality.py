"""Retrieval quality, from served pages to hits, against floors that only rise."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from gossamer.search.weights import SECOND_PASS_WEIGHTS
from helpers.cli.commands import FAST, crawl, gossamer
from helpers.search.quality import (
    cranfield,
    hold_out_anchors,
    score_collection,
    score_known_items,
    searcher_for,
    titles,
)
from helpers.suites import suite
from webs import debian
from webs.nginx import Nginx, Site

if TYPE_CHECKING:
    from pathlib import Path

    from helpers.search.quality import Item


@pytest.mark.shared
def test_cranfield_queries_are_answered_well(nginx_binary: Path, tmp_path: Path) -> None:
    collection = cranfield(suite("ir-cranfield"))
    root, web = tmp_path / "root", tmp_path / "web"
    root.mkdir()
    for path, page in collection.pages.items():
        (root / (path.removeprefix("/") or "index.html")).write_text(page)
    with Nginx(nginx_binary, {"cranfield": Site(root)}, log=False) as nginx:
        crawl(nginx.url("cranfield"), web, *FAST)
        with searcher_for(web) as searcher:
            figures = score_collection(collection, searcher, nginx.url("cranfield").rstrip("/"))
    assert figures.map >= 0.322
    assert figures.ndcg10 >= 0.405
    assert figures.mrr >= 0.56


@pytest.mark.full
def test_pages_are_found_by_their_titles_and_anchor_texts(documentation_webs: Nginx, tmp_path: Path) -> None:
    web = tmp_path / "web"
    first, *others = (documentation_webs.url(site, "/index.html") for site in debian.DOCUMENTATION)
    crawl(first, web, *others, *FAST, "--no-source", "--no-index")
    by_anchor_items: list[Item] = hold_out_anchors(web, 400)
    by_title_items = titles(web, 400)
    for command in ("rank", "index"):
        done = gossamer(command, "--store", web)
        assert done.returncode == 0, done.stderr
    with searcher_for(web) as searcher:
        by_title, by_anchor = score_known_items(by_title_items, searcher), score_known_items(by_anchor_items, searcher)
    with searcher_for(web, msgspec.structs.replace(SECOND_PASS_WEIGHTS, anchors=0.0)) as searcher_without_anchors:
        without_anchors = score_known_items(by_anchor_items, searcher_without_anchors)
    assert by_title.first >= 0.92
    assert by_title.ten >= 0.985
    assert by_anchor.mrr >= 1.15 * without_anchors.mrr
    assert by_anchor.mrr >= 0.77
