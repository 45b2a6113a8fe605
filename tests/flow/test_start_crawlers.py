"""The form of the dashboard that starts a crawler: its fields become flags of the crawl."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from gossamer.errors import UsageError
from gossamer.web.crawl.control import Control
from helpers.cli.commands import query
from helpers.patience import until
from webs.served import SiteServer

if TYPE_CHECKING:
    from pathlib import Path


def test_page_limit_delay_and_scope_reach_the_crawl(tmp_path: Path) -> None:
    pages = {"/": "<a href='/docs/a'>a</a><a href='/b'>b</a>", "/docs/a": "<a href='/docs/b'>b</a>", "/docs/b": ""}
    with SiteServer(pages) as site, closing(Control(str(tmp_path), lambda: None)) as control:
        fields = {"url": f"{site.url}docs/a", "max_pages": "1", "delay": "0.1", "scope": "prefix", "parsers": "1"}
        control.run_action("crawlers", fields)
        until(lambda: query_rounds(tmp_path) and query_rounds(tmp_path)[0][1] == 1, "the visit")
        settings, _ = query_rounds(tmp_path)[0]
    assert '"scope":"prefix"' in settings
    assert '"max_pages":1' in settings
    assert site.paths().count("/docs/b") == 0


def query_rounds(store: Path) -> list[tuple[str, int]]:
    if not (store / "web.db").exists():
        return []
    return [(str(settings), int(pages)) for settings, pages in query(store, "SELECT settings, pages FROM rounds")]


@pytest.mark.parametrize(
    ("field", "value"), [("scope", "galaxy"), ("max_pages", "many"), ("delay", "--x"), ("delay", "1e9")]
)
def test_a_bad_field_starts_nothing(field: str, value: str, tmp_path: Path) -> None:
    with closing(Control(str(tmp_path), lambda: None)) as control, pytest.raises(UsageError, match=value):
        control.run_action("crawlers", {"url": "https://example.org/", field: value})
    assert list(tmp_path.iterdir()) == []
