"""Removal of pages and hosts."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from gossamer.model import Robots, VisitBatch
from helpers.store.crawl_steps import (
    Bond,
    Open,
    Policy,
    admit_all,
    candidate,
    digest,
    fetched_visit,
    lease_all,
    leases,
    requeue,
    seed,
    start,
    state,
    visit_all,
)

if TYPE_CHECKING:
    from gossamer.store.protocol import Store

A, B, C = "http://a.test/", "http://a.test/b", "http://a.test/c"
X, Y = "http://x.test/", "http://x.test/y"


@pytest.fixture
def crawled_store(store: Store) -> Store:
    """Crawl two hosts that link to each other, and a page without links to it."""
    crawler = start(store, A, C)
    visit_all(store, crawler, {A: [B, X], B: [A], C: [A], X: [Y, A], Y: [X]})
    store.leave(crawler)
    return store


def test_a_page_without_links_to_it_is_removed(crawled_store: Store) -> None:
    page = crawled_store.resource(digest(C))
    assert page is not None
    assert crawled_store.forget(digest(C)) == 1
    assert crawled_store.resource(digest(C)) is None
    assert (crawled_store.text(page.id), crawled_store.source(page.id), crawled_store.visits(page.id)) == (
        None,
        None,
        [],
    )
    assert crawled_store.outlinks(page.id) == []


def test_a_linked_page_stays_known_as_forgotten(crawled_store: Store) -> None:
    assert crawled_store.forget(digest(B)) == 1
    page = crawled_store.resource(digest(B))
    assert page is not None
    assert (page.state, page.reason, page.title, page.visits, page.visited_at) == ("known", "forgotten", "", 0, None)
    assert crawled_store.text(page.id) is None
    assert [link.url for link in crawled_store.outlinks(1)] == [B, X], "the links of others stay as they were"


def test_backlinks_from_a_forgotten_page_no_longer_count(crawled_store: Store) -> None:
    before = crawled_store.resource(digest(A))
    crawled_store.forget(digest(B))
    after = crawled_store.resource(digest(A))
    assert before is not None
    assert after is not None
    assert after.backlinks == before.backlinks - 1


def test_a_host_is_forgotten_with_all_its_resources(crawled_store: Store) -> None:
    assert crawled_store.forget(host="x.test") == 2
    assert crawled_store.resource(digest(Y)) is None, "only its own host linked to it"
    assert state(crawled_store, X) == "known", "another host links to it"
    assert crawled_store.forget(host="a.test") == 3
    assert [row.url for row in crawled_store.resources()] == [X]
    assert (crawled_store.counts().hosts, crawled_store.counts().links) == (1, 0)


def test_a_host_without_links_to_it_is_removed(crawled_store: Store) -> None:
    crawled_store.forget(digest(A))
    crawled_store.forget(host="x.test")
    assert [host.name for host in crawled_store.hosts()] == ["a.test"]
    assert crawled_store.counts().hosts == 1


def test_robots_rules_are_removed_with_the_host(store: Store) -> None:
    crawler = start(store, A)
    (host,) = lease_all(store, crawler)
    rules = Robots(host=host.host, scheme="http", outcome="rules", text="", fetched_at=1.0)
    store.submit(crawler, VisitBatch(robots=[rules]), admit_all, time.time())
    assert store.hosts()[0].robots == "rules"
    store.forget(host="a.test")
    store.add([seed(A)], admit_all)
    assert store.hosts()[0].robots == ""


def test_forgetting_an_unknown_url_or_host_changes_nothing(crawled_store: Store) -> None:
    before = (crawled_store.counts(), list(crawled_store.resources()))
    assert crawled_store.forget(digest("http://nowhere.test/")) == 0
    assert crawled_store.forget(host="nowhere.test") == 0
    assert (crawled_store.counts(), list(crawled_store.resources())) == before


def test_a_forgotten_page_is_not_queued_by_a_link_or_a_new_scope(crawled_store: Store) -> None:
    crawled_store.forget(digest(B))
    crawled_store.readmit(Policy())
    crawled_store.add([candidate(B)], admit_all)
    requeue(crawled_store)
    crawler = start(crawled_store)
    visit_all(crawled_store, crawler, {A: [B], C: [Bond(B, anchor="again")], X: [], Y: []})
    assert state(crawled_store, B) == "known"


def test_a_forgotten_page_is_queued_again_as_a_seed(crawled_store: Store) -> None:
    crawled_store.forget(digest(B))
    assert crawled_store.add([seed(B)], admit_all)[0].state.value == "queued"


def test_a_running_visit_of_a_forgotten_page_is_not_written(open_store: Open) -> None:
    store = open_store()
    crawler = start(store, A, B)
    leased = leases(lease_all(store, crawler))
    open_store().forget(digest(A))
    both = [fetched_visit(leased[A], X), fetched_visit(leased[B], C)]
    assert store.submit(crawler, VisitBatch(visits=both), admit_all, time.time()).lost == 1
    assert store.resource(digest(A)) is None
    assert store.resource(digest(X)) is None
    assert state(store, B) == "visited"


def test_no_link_is_written_to_an_id_that_another_process_has_forgotten(open_store: Open) -> None:
    """The store caches ids between batches; a removal must reach that cache."""
    store = open_store()
    crawler = start(store, A, B)
    leased = leases(lease_all(store, crawler))
    store.submit(crawler, VisitBatch(visits=[fetched_visit(leased[A], X, Y)]), admit_all, time.time())
    other = open_store()
    other.forget(digest(A))
    other.forget(host="x.test")
    assert other.resource(digest(X)) is None
    store.submit(crawler, VisitBatch(visits=[fetched_visit(leased[B], X, Y)]), admit_all, time.time())
    out = store.outlinks(leased[B].resource)
    assert [link.url for link in out] == [X, Y]
    row = store.resource(digest(X))
    assert row is not None
    assert row.backlinks == 1


def test_a_doc_id_is_never_used_twice(store: Store) -> None:
    (first,) = store.add([seed(A)], admit_all)
    store.forget(digest(A))
    (second,) = store.add([seed(B)], admit_all)
    assert second.resource > first.resource


@pytest.mark.parametrize("url", [C, A], ids=["deleted", "still linked"])
def test_the_store_knows_what_was_forgotten_since_a_version(crawled_store: Store, url: str) -> None:
    before = crawled_store.version()
    assert not crawled_store.has_forgotten_since(before)
    crawled_store.forget(digest(url))
    assert crawled_store.has_forgotten_since(before)
    assert not crawled_store.has_forgotten_since(crawled_store.version())


def test_only_documents_that_nobody_removed_count_as_missing(crawled_store: Store) -> None:
    rows = {row.url: row.id for row in crawled_store.resources()}
    before = crawled_store.version()
    crawled_store.forget(digest(A))
    crawled_store.forget(digest(C))
    unknown = max(rows.values()) + 100
    assert crawled_store.missing_documents([rows[A], rows[C], unknown], before) == [unknown]
    assert crawled_store.missing_documents([rows[A]], crawled_store.version()) == [rows[A]], "the index saw it go"
