"""Several crawlers write to one web at once: the store may make one wait, but loses nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from helpers.store.concurrent_crawlers import CRAWLERS, HOSTS, crawl_together
from helpers.store.crawl_steps import recount

if TYPE_CHECKING:
    from helpers.store.crawl_steps import Open


@pytest.mark.parametrize("settings", ["{}", '{"max_depth": 3}', '{"order": "best"}'])
def test_counters_are_right_after_concurrent_writes(open_store: Open, settings: str) -> None:
    store, _ = crawl_together(open_store, settings)
    recount(store)
    assert store.counts().resources["leased"] == 0


def test_no_url_is_leased_twice_in_a_round(open_store: Open) -> None:
    _, crawlers = crawl_together(open_store, "{}")
    visited = [url for crawler in crawlers for url in crawler.visited]
    assert len(visited) == len(set(visited))
    assert len(visited) > HOSTS * CRAWLERS


def test_a_page_limit_holds_exactly_under_concurrent_leases(open_store: Open) -> None:
    store, _ = crawl_together(open_store, "{}", max_pages=100)
    current = store.current_round()
    assert current is not None
    assert current.pages == 100
