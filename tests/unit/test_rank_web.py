"""Ranking a stored web: the ranks are stored and set the order of unvisited pages."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np
import pytest

from gossamer.graph.bonds import open_bonds
from gossamer.graph.ranking.expected_backlinks import expected_backlinks
from gossamer.graph.ranking.rank_web import RankOptions, rank_web
from gossamer.graph.snapshot import open_graph
from gossamer.model import VisitBatch
from gossamer.store.sqlite import open_sqlite_store
from helpers.store.crawl_steps import (
    Policy,
    candidate,
    digest,
    fetched_visit,
    lease_all,
    leases,
    redirected_visit,
    start,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from gossamer.store.sql_store import SqlStore

HOME, LIST, POOR, RICH, MOVED = (f"http://a.test/{name}" for name in ("", "list", "poor", "rich", "moved"))
PLAIN = RankOptions(measures=())
BEST = '{"order": "best"}'


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqlStore]:
    store = open_sqlite_store(tmp_path / "web", create=True)
    yield store
    store.close()


def crawl_half(store: SqlStore, settings: str) -> int:
    """Visit home and list, which link to each other; home also links to `rich`, list to `poor` and 20 others."""
    crawler = start(store, HOME, settings=settings)
    store.submit(
        crawler,
        VisitBatch(visits=[fetched_visit(leases(lease_all(store, crawler))[HOME], LIST)]),
        Policy(),
        time.time(),
    )
    others = [f"http://a.test/{n}" for n in range(20)]
    lists = fetched_visit(leases(lease_all(store, crawler))[LIST], HOME, POOR, *others)
    store.submit(crawler, VisitBatch(visits=[lists]), Policy(), time.time())
    (lease,) = store.lease_urls(crawler, [candidate(HOME)], time.time())
    assert lease is not None
    store.submit(crawler, VisitBatch(visits=[fetched_visit(lease, LIST, RICH)]), Policy(), time.time())
    return crawler


def priority(store: SqlStore, url: str) -> float:
    row = store.resource(digest(url))
    assert row is not None
    return row.priority


def test_the_order_best_prefers_links_from_highly_ranked_pages(store: SqlStore, tmp_path: Path) -> None:
    crawler = crawl_half(store, BEST)
    rank_web(store, tmp_path / "graph", PLAIN)
    assert priority(store, RICH) > priority(store, POOR) + 1
    assert next(iter(leases(lease_all(store, crawler, urls=1)))) == RICH


def test_ranking_again_keeps_the_priorities(store: SqlStore, tmp_path: Path) -> None:
    crawl_half(store, BEST)
    rank_web(store, tmp_path / "graph", PLAIN)
    before = priority(store, RICH)
    rank_web(store, tmp_path / "graph", RankOptions(measures=("hits",)))
    assert priority(store, RICH) == before


@pytest.mark.parametrize("settings", ['{"order": "breadth"}', '{"order": "best", "topic": "moths"}', "{}"])
def test_ranking_keeps_the_priorities_of_other_orders(store: SqlStore, tmp_path: Path, settings: str) -> None:
    crawl_half(store, settings)
    before = [(row.url, row.priority) for row in store.resources()]
    rank_web(store, tmp_path / "graph", PLAIN)
    assert [(row.url, row.priority) for row in store.resources()] == before


def test_expected_backlinks_average_one_per_link(store: SqlStore, tmp_path: Path) -> None:
    crawl_half(store, BEST)
    graph, bonds = open_graph(store, tmp_path / "graph"), open_bonds(store, tmp_path / "graph")
    expectation = expected_backlinks(bonds, graph.docs, np.array([0.5, 0.5]))
    by_url = {row.id: row.url for row in store.resources()}
    backlinks = {
        by_url[doc]: value for doc, value in zip(expectation.docs.tolist(), expectation.backlinks.tolist(), strict=True)
    }
    # Home passes 1/2 over 2 links, list 1/2 over 22: on average 1/24 per link.
    assert backlinks[RICH] == pytest.approx(24 / 4)
    assert backlinks[POOR] == pytest.approx(24 / 44)
    assert LIST not in backlinks


def test_a_redirect_passes_on_its_rank(store: SqlStore, tmp_path: Path) -> None:
    crawler = start(store, HOME, settings=BEST)
    store.submit(
        crawler,
        VisitBatch(visits=[fetched_visit(leases(lease_all(store, crawler))[HOME], MOVED)]),
        Policy(),
        time.time(),
    )
    store.submit(
        crawler,
        VisitBatch(visits=[redirected_visit(leases(lease_all(store, crawler))[MOVED], RICH)]),
        Policy(),
        time.time(),
    )
    rank_web(store, tmp_path / "graph", PLAIN)
    assert priority(store, RICH) == pytest.approx(1 - 1)


def test_an_empty_web_has_an_empty_ranking(store: SqlStore, tmp_path: Path) -> None:
    ranking = rank_web(store, tmp_path / "graph", RankOptions())
    assert (ranking.pages, ranking.links, ranking.hosts, ranking.known, ranking.visited_share) == (0, 0, 0, 0, 1.0)


def test_the_stored_graph_of_another_web_is_not_used(tmp_path: Path) -> None:
    for name, home in (("one", "http://one.test/"), ("two", "http://two.test/")):
        store = open_sqlite_store(tmp_path / name, create=True)
        crawler = start(store, home)
        store.submit(
            crawler, VisitBatch(visits=[fetched_visit(leases(lease_all(store, crawler))[home])]), Policy(), time.time()
        )
        assert list(open_graph(store, tmp_path / "graph").urls()) == [home]
        store.close()
