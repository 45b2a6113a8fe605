"""Ranks of a stored web: written back, and used for what is still to visit."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np
import pytest

from gossamer.graph.bonds import open_bonds
from gossamer.graph.ranking.expectation import expected_backlinks
from gossamer.graph.ranking.rank_web import RankOptions, rank_web
from gossamer.graph.snapshot import open_graph
from gossamer.store.sqlite import SqliteStore
from helpers.store.crawl_steps import Policy, candidate, digest, fetched, lease_all, leases, redirected, start

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HOME, LIST, POOR, RICH, MOVED = (f"http://a.test/{name}" for name in ("", "list", "poor", "rich", "moved"))
PLAIN = RankOptions(measures=())
BEST = '{"order": "best"}'


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    store = SqliteStore.open(tmp_path / "web", create=True)
    yield store
    store.close()


def crawl_half(store: SqliteStore, settings: str) -> int:
    """Home and list know one another; home links to `rich` alone, list to `poor` and many others."""
    crawler = start(store, HOME, settings=settings)
    store.submit(crawler, [fetched(leases(lease_all(store, crawler))[HOME], LIST)], Policy(), now=time.time())
    others = [f"http://a.test/{n}" for n in range(20)]
    lists = fetched(leases(lease_all(store, crawler))[LIST], HOME, POOR, *others)
    store.submit(crawler, [lists], Policy(), now=time.time())
    (lease,) = store.lease_urls(crawler, [candidate(HOME)], time.time())
    assert lease is not None
    store.submit(crawler, [fetched(lease, LIST, RICH)], Policy(), now=time.time())
    return crawler


def priority(store: SqliteStore, url: str) -> float:
    row = store.resource(digest(url))
    assert row is not None
    return row.priority


def test_in_the_order_best_a_link_counts_by_the_rank_it_hands_over(store: SqliteStore, tmp_path: Path) -> None:
    crawler = crawl_half(store, BEST)
    rank_web(store, tmp_path / "graph", PLAIN)
    assert priority(store, RICH) > priority(store, POOR) + 1
    assert next(iter(leases(lease_all(store, crawler, urls=1)))) == RICH


def test_ranking_twice_changes_the_order_once(store: SqliteStore, tmp_path: Path) -> None:
    crawl_half(store, BEST)
    rank_web(store, tmp_path / "graph", PLAIN)
    before = priority(store, RICH)
    rank_web(store, tmp_path / "graph", RankOptions(measures=("hits",)))
    assert priority(store, RICH) == before


@pytest.mark.parametrize("settings", ['{"order": "breadth"}', '{"order": "best", "topic": "moths"}', "{}"])
def test_other_orders_stay_as_they_are(store: SqliteStore, tmp_path: Path, settings: str) -> None:
    crawl_half(store, settings)
    before = [(row.url, row.priority) for row in store.resources()]
    rank_web(store, tmp_path / "graph", PLAIN)
    assert [(row.url, row.priority) for row in store.resources()] == before


def test_the_average_link_counts_one(store: SqliteStore, tmp_path: Path) -> None:
    crawl_half(store, BEST)
    graph, bonds = open_graph(store, tmp_path / "graph"), open_bonds(store, tmp_path / "graph")
    found = expected_backlinks(bonds, graph.docs, np.array([0.5, 0.5]))
    by_url = {row.id: row.url for row in store.resources()}
    told = {by_url[doc]: value for doc, value in zip(found.docs.tolist(), found.backlinks.tolist(), strict=True)}
    # home hands 1/2 over 2 links, list 1/2 over 22: on average 1/24 a link
    assert told[RICH] == pytest.approx(24 / 4)
    assert told[POOR] == pytest.approx(24 / 44)
    assert LIST not in told


def test_a_redirect_hands_on_what_it_gets(store: SqliteStore, tmp_path: Path) -> None:
    crawler = start(store, HOME, settings=BEST)
    store.submit(crawler, [fetched(leases(lease_all(store, crawler))[HOME], MOVED)], Policy(), now=time.time())
    store.submit(crawler, [redirected(leases(lease_all(store, crawler))[MOVED], RICH)], Policy(), now=time.time())
    rank_web(store, tmp_path / "graph", PLAIN)
    assert priority(store, RICH) == pytest.approx(1 - 1)


def test_an_empty_web_has_an_empty_ranking(store: SqliteStore, tmp_path: Path) -> None:
    made = rank_web(store, tmp_path / "graph", RankOptions())
    assert (made.pages, made.links, made.hosts, made.known, made.visited_share) == (0, 0, 0, 0, 1.0)


def test_the_graph_of_another_web_that_was_here_before_is_not_taken(tmp_path: Path) -> None:
    for name, home in (("one", "http://one.test/"), ("two", "http://two.test/")):
        store = SqliteStore.open(tmp_path / name, create=True)
        crawler = start(store, home)
        store.submit(crawler, [fetched(leases(lease_all(store, crawler))[home])], Policy(), now=time.time())
        assert list(open_graph(store, tmp_path / "graph").urls()) == [home]
        store.close()
