"""Exports: streams of links with both ends, visits, hosts, pages, and their ranks."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from gossamer.model import Kind, Position, VisitBatch
from gossamer.store.follow.graph import HostRanks, RankColumns, Ranking, Ranks
from helpers.store.crawl_steps import (
    Bond,
    Site,
    admit_all,
    fetched_visit,
    lease_all,
    leases,
    requeue,
    seed,
    start,
    visit_all,
)

if TYPE_CHECKING:
    from gossamer.store.protocol import Store

A, B, C, GONE = (f"https://{name}.example/" for name in ("a", "b", "c", "gone"))
SITE: Site = {
    A: [Bond(B, anchor="to b", weight=3), Bond(C, Kind.IMAGE, anchor="a picture"), GONE],
    B: [Bond(A, follow=False), C],
    C: [],
}


def crawl_site(store: Store) -> None:
    crawler = start(store, A)
    visit_all(store, crawler, SITE)
    store.leave(crawler)


def test_every_link_has_both_ends(store: Store) -> None:
    crawl_site(store)
    links = list(store.every_link())
    assert [(bond.source, bond.target, bond.kind, bond.follow, bond.anchor, bond.weight) for bond in links] == [
        (A, B, Kind.HYPERLINK, True, "to b", 3),
        (A, C, Kind.IMAGE, True, "a picture", 1),
        (A, GONE, Kind.HYPERLINK, True, "", 1),
        (B, A, Kind.HYPERLINK, False, "", 1),
        (B, C, Kind.HYPERLINK, True, "", 1),
    ]
    assert [(bond.state, bond.outcome, bond.status) for bond in links[:3]] == [
        ("visited", "fetched", 200), ("visited", "fetched", 200), ("gone", "not found", 404),
    ]  # fmt: skip
    assert isinstance(links[0].kind, Kind)
    assert links[0].position is Position.CONTENT
    assert links[0].follow is True


def test_links_read_in_pieces_are_complete(store: Store) -> None:
    many = [Bond(f"https://many.example/{n}", anchor=str(n)) for n in range(12_345)]
    crawler = start(store, A)
    (lease,) = leases(lease_all(store, crawler)).values()
    store.submit(crawler, VisitBatch(visits=[fetched_visit(lease, *many)]), admit_all, time.time())
    assert [bond.anchor for bond in store.every_link()] == [str(n) for n in range(12_345)]


def test_every_visit_and_host_is_exported_once(store: Store) -> None:
    crawl_site(store)
    assert [(visit.url, visit.outcome) for visit in store.every_visit()] == [
        (A, "fetched"), (B, "fetched"), (C, "fetched"), (GONE, "not found"),
    ]  # fmt: skip
    hosts = list(store.every_host())
    assert sorted(hosts, key=lambda host: host.name) == sorted(store.hosts(), key=lambda host: host.name)


def test_pages_with_content_are_exported_in_any_state(store: Store) -> None:
    crawl_site(store)
    assert [page.url for page in store.every_page()] == [A, B, C]
    requeue(store)
    assert [(page.url, page.state) for page in store.every_page()] == [(A, "queued"), (B, "queued"), (C, "queued")]


def test_an_empty_web_exports_nothing(store: Store) -> None:
    streams = (store.every_link, store.every_visit, store.every_host, store.every_page)
    assert [list(stream()) for stream in streams] == [[], [], [], []]
    assert list(store.page_nodes([])) == []
    assert list(store.host_nodes([])) == []


def test_nodes_come_in_the_requested_order_with_their_ranks(store: Store) -> None:
    crawl_site(store)
    ids = {row.url: row.id for row in store.resources()}
    ranks = Ranks(pagerank=0.75, score=100.0, indegree=1, outdegree=2, in_weight=3, out_weight=4, community=0)
    host_ranks = HostRanks(pages=1, pagerank=1.0, score=100.0, indegree=0, outdegree=1, in_weight=0, out_weight=3)
    hosts = {row.name: row.id for row in store.every_host()}
    ranking = Ranking(
        made_at=1.0, version=store.version(), pages=3, links=3, hosts=3, visited=3, known=4, measures=(), alpha=0.85,
        weighted=False, include_unvisited=False, iterations=1,
    )  # fmt: skip
    columns = RankColumns([ids[B]], tuple([getattr(ranks, name)] for name in Ranks.__struct_fields__))
    host_columns = RankColumns(
        [hosts["b.example"]], tuple([getattr(host_ranks, name)] for name in HostRanks.__struct_fields__)
    )
    store.write_ranks(ranking, columns, host_columns)
    nodes = list(store.page_nodes([ids[B], 999_999, ids[A]]))
    assert [(node.title, node.status, node.ranks) for node in nodes] == [
        ("A title", 200, ranks), ("", 0, None), ("A title", 200, None),
    ]  # fmt: skip
    assert [node.ranks for node in store.host_nodes([hosts["a.example"], hosts["b.example"]])] == [None, host_ranks]


def test_rows_added_during_an_export_cause_no_duplicates(store: Store) -> None:
    crawl_site(store)
    reading = store.every_link()
    first = next(reading)
    store.add([seed("https://new.example/")], admit_all)
    assert [first, *reading] == list(store.every_link())
