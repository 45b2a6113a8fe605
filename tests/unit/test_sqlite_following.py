"""Anchor texts in SQLite: read one after the other or looked up by target, they are what pages say."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from gossamer.store.sqlite import SqliteStore
from gossamer.store.sqlite.follow import changes
from helpers.store.crawl_steps import Bond, start, visit_all

if TYPE_CHECKING:
    from pathlib import Path

URLS = [f"http://a.test/{one}" for one in range(12)]


def said(at: int) -> list[Bond]:
    """The links of a page: to some of the others and to itself."""
    return [Bond(url, anchor=f"text {(at + to) % 5}") for to, url in enumerate(URLS) if to == at or (at + to) % 3]


@pytest.mark.parametrize(
    ("constant", "number"), [("SCAN_RATIO", 4), ("SCAN_RATIO", 0), ("MAX_ANCHOR_COUNTS", 2)]
)  # all read; all looked up; begun to be read, and looked up in the end
def test_each_of_many_targets_is_called_what_pages_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, constant: str, number: int
) -> None:
    monkeypatch.setattr(changes, constant, number)
    with closing(SqliteStore.open(tmp_path / "web", create=True)) as store:
        visit_all(store, start(store, URLS[0]), {url: said(at) for at, url in enumerate(URLS)})
        urls = {row.id: row.url for row in store.resources()}
        found = store.anchor_texts(list(urls), max_links=100, max_texts=10)
    for one in found:
        links = [link for at, url in enumerate(URLS) if url != urls[one.target] for link in said(at)]
        assert Counter(dict(one.texts)) == Counter(link.anchor for link in links if link.url == urls[one.target])
    assert len(found) == len(URLS)
