"""Anchor texts in SQLite: a scan of all links and lookups by target give the same texts."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from gossamer.store.sqlite import open_sqlite_store
from gossamer.store.sqlite.follow import changes
from helpers.store.crawl_steps import Bond, start, visit_all

if TYPE_CHECKING:
    from pathlib import Path

URLS = [f"http://a.test/{number}" for number in range(12)]


def page_links(page: int) -> list[Bond]:
    """Return the links of a page: to some other pages and to itself."""
    return [Bond(url, anchor=f"text {(page + to) % 5}") for to, url in enumerate(URLS) if to == page or (page + to) % 3]


@pytest.mark.parametrize(
    ("constant", "number"), [("SCAN_RATIO", 4), ("SCAN_RATIO", 0), ("MAX_ANCHOR_COUNTS", 2)]
)  # scan only; lookups only; a scan that gives way to lookups
def test_each_target_has_the_anchor_texts_of_its_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, constant: str, number: int
) -> None:
    monkeypatch.setattr(changes, constant, number)
    with closing(open_sqlite_store(tmp_path / "web", create=True)) as store:
        visit_all(store, start(store, URLS[0]), {url: page_links(page) for page, url in enumerate(URLS)})
        urls = {resource.id: resource.url for resource in store.resources()}
        rows = store.anchor_texts(list(urls), max_links=100, max_texts=10)
    for row in rows:
        links = [link for page, url in enumerate(URLS) if url != urls[row.target] for link in page_links(page)]
        assert Counter(dict(row.texts)) == Counter(link.anchor for link in links if link.url == urls[row.target])
    assert len(rows) == len(URLS)
