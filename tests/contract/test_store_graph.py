"""What the graph package reads from the store, and the ranks it writes."""

from __future__ import annotations

import time
from itertools import repeat
from typing import TYPE_CHECKING

import pytest

from gossamer.errors import StoreError
from gossamer.model import Kind, Outcome, State, VisitBatch
from gossamer.store.follow.graph import HostRanks, RankColumns, Ranking, Ranks
from helpers.store.crawl_steps import (
    Bond,
    Policy,
    Site,
    candidate,
    digest,
    ended_visit,
    fetched_visit,
    gone_visit,
    lease_all,
    leases,
    redirected_visit,
    start,
    visit_all,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gossamer.model import Lease
    from gossamer.store.follow.graph import LinkChanges
    from gossamer.store.protocol import Store
    from helpers.store.crawl_steps import Open

A, B, C, D = "http://a.test/", "http://a.test/b", "http://a.test/c", "http://a.test/d"
ELSEWHERE = "http://x.test/"


def number(store: Store, url: str) -> int:
    row = store.resource(digest(url))
    assert row is not None
    return row.id


def collect_changes(changes: Iterable[LinkChanges]) -> tuple[dict[int, str], set[int], dict[tuple[int, int], int]]:
    """Return URLs by id, ids that are gone, and weights by link."""
    urls: dict[int, str] = {}
    gone_ids: set[int] = set()
    links: dict[tuple[int, int], int] = {}
    for change in changes:
        assert sorted(change.ids) == list(change.ids)
        urls.update(zip(change.ids, change.urls, strict=True))
        gone_ids.update(change.gone)
        flat = list(change.links)
        for source, target, weight in zip(flat[::3], flat[1::3], flat[2::3], strict=True):
            links[source, target] = links.get((source, target), 0) + weight
    return urls, gone_ids, links


def lease_url(store: Store, crawler: int, url: str) -> Lease:
    (lease,) = store.lease_urls(crawler, [candidate(url)], time.time())
    assert lease is not None
    return lease


def test_links_include_targets_that_were_not_visited(store: Store) -> None:
    site: Site = {A: [Bond(B, weight=2), Bond(B, anchor="again"), ELSEWHERE], B: [A, B]}
    visit_all(store, start(store, A), site, admit=Policy(host="a.test"))
    a, b, x = number(store, A), number(store, B), number(store, ELSEWHERE)
    urls, gone_ids, links = collect_changes(store.link_changes(0))
    assert urls == {a: A, b: B}
    assert gone_ids == set()
    assert links == {(a, b): 3, (a, x): 1, (b, a): 1, (b, b): 1}


def test_only_followed_hyperlinks_count(store: Store) -> None:
    bonds = [Bond(B, follow=False), Bond(C, kind=Kind.IMAGE), Bond(D, kind=Kind.CANONICAL), Bond(ELSEWHERE)]
    visit_all(store, start(store, A), {A: bonds}, admit=Policy(host="a.test"))
    _, _, links = collect_changes(store.link_changes(0))
    assert links == {(number(store, A), number(store, ELSEWHERE)): 1}


def test_a_redirect_is_a_link_of_weight_zero_to_its_target(store: Store) -> None:
    crawler = start(store, A)
    store.submit(
        crawler, VisitBatch(visits=[redirected_visit(leases(lease_all(store, crawler))[A], B)]), Policy(), time.time()
    )
    urls, _, links = collect_changes(store.link_changes(0))
    assert urls == {number(store, A): A}
    assert links == {(number(store, A), number(store, B)): 0}


def test_only_changes_since_a_version_are_reported(store: Store) -> None:
    crawler = start(store, A)
    visit_all(store, crawler, {A: [B], B: []})
    before = store.version()
    assert collect_changes(store.link_changes(before)) == ({}, set(), {})
    store.submit(crawler, VisitBatch(visits=[fetched_visit(lease_url(store, crawler, B), A)]), Policy(), time.time())
    urls, _, links = collect_changes(store.link_changes(before))
    assert urls == {number(store, B): B}
    assert links == {(number(store, B), number(store, A)): 1}


def test_gone_and_forgotten_pages_are_reported(store: Store) -> None:
    crawler = start(store, A, D)
    visit_all(store, crawler, {A: [B], B: [A], D: []})
    ids, before = {url: number(store, url) for url in (A, B, D)}, store.version()
    for _ in range(2):  # two failures in a row remove it
        store.submit(crawler, VisitBatch(visits=[gone_visit(lease_url(store, crawler, B))]), Policy(), time.time())
    store.forget(digest(D))
    store.forget(digest(A))
    urls, gone_ids, _ = collect_changes(store.link_changes(before))
    assert urls == {}
    assert gone_ids == set(ids.values())


def test_a_page_that_failed_on_a_revisit_stays_in_the_graph(store: Store) -> None:
    crawler = start(store, A)
    visit_all(store, crawler, {A: [B], B: []})
    before = store.version()
    failed = ended_visit(lease_url(store, crawler, A), Outcome.TIMEOUT, State.FAILED)
    store.submit(crawler, VisitBatch(visits=[failed]), Policy(), time.time())
    assert collect_changes(store.link_changes(before)) == ({}, set(), {}), "nothing changed"
    urls, gone_ids, links = collect_changes(store.link_changes(0))
    assert urls == {number(store, A): A, number(store, B): B}
    assert gone_ids == set()
    assert links == {(number(store, A), number(store, B)): 1}


def test_many_changes_are_streamed_by_id(store: Store) -> None:
    urls = [f"http://a.test/{n}" for n in range(5_300)]
    visit_all(store, start(store, A), {A: urls, **{key: [A] for key in urls}}, urls=6_000)
    pieces = list(store.link_changes(0))
    assert len(pieces) > 1
    ids = [resource for piece in pieces for resource in piece.ids]
    assert ids == sorted(ids)
    assert len(collect_changes(pieces)[2]) == 2 * 5_300


def test_resource_hosts_are_read_after_an_id(store: Store) -> None:
    visit_all(store, start(store, A), {A: [B, ELSEWHERE]}, admit=Policy(host="a.test"))
    hosts = {host.name: host.id for host in store.hosts()}
    (piece,) = store.resource_hosts(0)
    host_ids = dict(zip(piece.ids, piece.hosts, strict=True))
    expected = {A: "a.test", B: "a.test", ELSEWHERE: "x.test"}
    assert host_ids == {number(store, url): hosts[name] for url, name in expected.items()}
    assert list(store.resource_hosts(max(host_ids))) == []
    assert store.host_id("x.test") == hosts["x.test"]
    assert store.host_id("nobody.test") is None
    assert store.host_names([hosts["x.test"], 999]) == {hosts["x.test"]: "x.test"}


def test_urls_and_seeds_are_read_by_id(store: Store) -> None:
    visit_all(store, start(store, A), {A: [B]})
    a, b = number(store, A), number(store, B)
    assert list(store.urls([b, a, 999])) == sorted([(a, A), (b, B)])
    assert store.seed_ids() == [a]


# -- ranks -------------------------------------------------------------------------------------------------------------


def ranking(store: Store) -> Ranking:
    return Ranking(
        made_at=1.0, version=store.version(), pages=2, links=1, hosts=1, visited=2, known=4, measures=("hits",),
        alpha=0.85, weighted=False, include_unvisited=False, iterations=7,
    )  # fmt: skip


def columns(type_: type[Ranks | HostRanks], ids: list[int], **given: list[object]) -> RankColumns:
    required = {"pages", "pagerank", "score", "indegree", "outdegree", "in_weight", "out_weight"}
    names = type_.__struct_fields__
    return RankColumns(ids, tuple(given.get(n) or repeat(0 if n in required else None, len(ids)) for n in names))


def test_ranks_are_read_as_written(store: Store) -> None:
    visit_all(store, start(store, A), {A: [B], B: []})
    a, b, host = number(store, A), number(store, B), store.hosts()[0].id
    assert store.ranking() is None
    assert store.ranks(a) is None
    pages = columns(Ranks, [a, b], pagerank=[0.25, 0.75], hub=[0.5, None], bowtie=["in", "core"])
    store.write_ranks(ranking(store), pages, columns(HostRanks, [host], pagerank=[1.0]))
    ranks = store.ranks(b)
    assert ranks is not None
    assert (ranks.pagerank, ranks.hub, ranks.bowtie) == (0.75, None, "core")
    stored = store.ranking()
    assert stored == ranking(store)
    assert stored.visited_share == 0.5
    assert [(page.url, page.ranks.pagerank) for page in store.ranked_pages("pagerank", 10)] == [(B, 0.75), (A, 0.25)]
    assert [page.url for page in store.ranked_pages("hub", 1)] == [A]
    assert [(one.name, one.ranks.pagerank) for one in store.ranked_hosts(5)] == [("a.test", 1.0)]


def test_only_computed_measures_of_many_pages_are_written(store: Store) -> None:
    urls = [f"http://a.test/{n}" for n in range(120)]
    visit_all(store, start(store, *urls), {url: [] for url in urls})
    ids, names = sorted(number(store, url) for url in urls), Ranks.__struct_fields__
    required = {"score", "indegree", "outdegree", "in_weight", "out_weight"}
    numbers = [n / 128 for n in range(120)]
    pages = RankColumns(
        iter(ids), tuple(iter(numbers) if n == "pagerank" else [1] * 120 if n in required else None for n in names)
    )
    store.write_ranks(ranking(store), pages, columns(HostRanks, [store.hosts()[0].id]))
    ranks = [store.ranks(one) for one in ids]
    assert [one.pagerank for one in ranks if one is not None] == numbers
    assert {(one.score, one.hub, one.core) for one in ranks if one is not None} == {(1.0, None, None)}


def test_new_ranks_replace_all_old_ones(store: Store) -> None:
    visit_all(store, start(store, A), {A: [B], B: []})
    a, b, host = number(store, A), number(store, B), store.hosts()[0].id
    store.write_ranks(ranking(store), columns(Ranks, [a, b]), columns(HostRanks, [host]))
    store.write_ranks(ranking(store), columns(Ranks, [b]), columns(HostRanks, []))
    assert store.ranks(a) is None
    assert store.ranks(b) is not None
    assert store.ranked_hosts(5) == []


def test_a_failed_write_of_ranks_keeps_the_old_ones(store: Store) -> None:
    visit_all(store, start(store, A), {A: [B], B: []})
    a, b, host = number(store, A), number(store, B), store.hosts()[0].id
    store.write_ranks(ranking(store), columns(Ranks, [a, b]), columns(HostRanks, [host]))
    with pytest.raises(StoreError):
        store.write_ranks(ranking(store), columns(Ranks, [a], pagerank=[None]), columns(HostRanks, [host]))
    assert store.ranks(a) is not None
    assert store.ranks(b) is not None
    assert store.ranking() is not None


def test_forgotten_pages_have_no_ranks(store: Store) -> None:
    visit_all(store, start(store, A), {A: [B], B: []})
    a, b, host = number(store, A), number(store, B), store.hosts()[0].id
    store.write_ranks(ranking(store), columns(Ranks, [a, b]), columns(HostRanks, [host]))
    store.forget(digest(B))
    assert store.ranks(b) is None
    store.forget(host="a.test")
    assert store.ranked_pages("pagerank", 9) == []
    assert store.ranked_hosts(9) == []


def test_ranks_of_pages_forgotten_meanwhile_are_not_written(open_store: Open) -> None:
    store = open_store()
    visit_all(store, start(store, A, C), {A: [B], B: [], C: []})
    ids, computed = [number(store, url) for url in (A, B, C)], ranking(store)
    other = open_store()
    other.forget(digest(B))
    other.forget(digest(C))
    store.write_ranks(computed, columns(Ranks, ids), columns(HostRanks, [store.hosts()[0].id, 999]))
    assert [page.url for page in store.ranked_pages("pagerank", 9)] == [A]
    assert len(store.ranked_hosts(9)) == 1


# -- order -------------------------------------------------------------------------------------------------------------


def test_reprioritized_pages_are_leased_in_the_new_order(store: Store) -> None:
    crawler = start(store, A)
    store.submit(
        crawler,
        VisitBatch(visits=[fetched_visit(leases(lease_all(store, crawler))[A], B, C, D)]),
        Policy(),
        time.time(),
    )
    assert list(leases(lease_all(store, crawler, urls=1))) == [B]
    store.reprioritize([number(store, url) for url in (A, B, C, D)], [9.0, 9.0, 0.5, 2.5])
    assert list(leases(lease_all(store, crawler))) == [D, C]
    row = store.resource(digest(D))
    assert row is not None
    assert row.priority == 1.5, "a level of depth costs one"
