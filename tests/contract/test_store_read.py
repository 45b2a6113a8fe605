"""Reads for the commands and the library."""

from __future__ import annotations

import time
from contextlib import closing
from typing import TYPE_CHECKING

from gossamer.model import Outcome, State, VisitBatch
from gossamer.store.content import iterate_source, iterate_text
from helpers.store.crawl_steps import (
    Bond,
    Open,
    Policy,
    admit_all,
    digest,
    ended_visit,
    join,
    lease_all,
    leases,
    start,
    visit_all,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from gossamer.store.protocol import Store

A, B, C, D = "http://a.test/", "http://a.test/b", "http://a.test/c", "http://a.test/d"


def test_a_new_web_is_empty(store: Store) -> None:
    counts = store.counts()
    assert set(counts.resources) == {state.value for state in State}
    assert not any(counts.resources.values())
    assert (counts.hosts, counts.links, counts.documents, store.version()) == (0, 0, 0, 0)


def test_counts_group_resources_by_state(store: Store) -> None:
    visit_all(store, start(store, A), {A: [B, C, "http://x.test/"], B: []}, admit=Policy(host="a.test"))
    counts = store.counts()
    assert {state: number for state, number in counts.resources.items() if number} == {
        "visited": 2,
        "gone": 1,
        "out of scope": 1,
    }
    assert (counts.hosts, counts.links, counts.documents) == (2, 3, 2)


def test_visited_totals_count_pages_and_both_kinds_of_hosts(store: Store) -> None:
    assert (store.visited_totals().describe(), store.visited_totals().linked_hosts) == ("0 pages on 0 hosts", 0)
    visit_all(store, start(store, A), {A: [B, C, "http://x.test/"], B: []}, admit=Policy(host="a.test"))
    totals = store.visited_totals()
    assert (totals.pages, totals.hosts, totals.linked_hosts) == (2, 1, 1)
    assert totals.describe() == "2 pages on 1 host, 1 host linked to"


def test_hosts_are_sorted_by_pages(store: Store) -> None:
    site = {A: ["http://x.test/", "http://x.test/1"], "http://x.test/": [], "http://x.test/1": []}
    visit_all(store, start(store, A), site)
    assert [(host.name, host.pages) for host in store.hosts()] == [("x.test", 2), ("a.test", 1)]
    assert [host.name for host in store.hosts(limit=1)] == ["x.test"]


def test_thousands_of_resources_are_streamed_by_id(store: Store) -> None:
    urls = [f"http://a.test/{n}" for n in range(2_300)]
    visit_all(store, start(store, A), {A: urls})
    assert [row.url for row in store.resources()] == [A, *urls]
    assert [row.url for row in store.resources(State.VISITED)] == [A]
    assert sum(1 for _ in store.resources(State.GONE)) == 2_300


def test_a_reader_continues_while_another_process_writes(open_store: Open) -> None:
    store, reader = open_store(), open_store()
    crawler = start(store, A)
    visit_all(store, crawler, {A: [f"http://a.test/{n}" for n in range(1_500)]})
    rows = reader.resources()
    first = next(rows)
    visit_all(store, crawler, {})
    assert first.url == A
    assert sum(1 for _ in rows) == 1_500
    assert reader.counts() == store.counts()


def test_an_unknown_resource_is_none(store: Store) -> None:
    assert store.resource(digest(A)) is None
    assert store.text(1) is None
    assert store.source(1) is None
    assert store.visits(1) == []


def test_errors_have_reason_source_and_anchor(store: Store) -> None:
    crawler = start(store, A, B)
    visit_all(store, crawler, {A: [Bond(C, anchor="broken")], B: [Bond(C, anchor="too")]})
    (error,) = store.errors()
    assert (error.url, error.state, error.outcome, error.status) == (C, "gone", "not found", 404)
    assert (error.reason, error.source, error.anchor, error.inlinks) == ("answered 404", A, "broken", 2)


def test_a_failed_seed_is_an_error_without_a_source(store: Store) -> None:
    crawler = start(store, A)
    lease = leases(lease_all(store, crawler))[A]
    store.submit(
        crawler,
        VisitBatch(visits=[ended_visit(lease, Outcome.DNS, State.FAILED, reason="no such name")]),
        admit_all,
        time.time(),
    )
    (error,) = store.errors()
    assert (error.url, error.source, error.anchor, error.inlinks) == (A, "", "", 0)


def test_only_failed_gone_and_refused_resources_are_errors(store: Store) -> None:
    crawler = start(store, A, B, C, D)
    leased = leases(lease_all(store, crawler))
    visits = [
        ended_visit(leased[A], Outcome.ROBOTS, State.REFUSED),
        ended_visit(leased[B], Outcome.TIMEOUT, State.FAILED),
        ended_visit(leased[C], Outcome.TIMEOUT, State.QUEUED),
        ended_visit(leased[D], Outcome.NOT_FOUND, State.GONE),
    ]
    store.submit(crawler, VisitBatch(visits=visits), admit_all, time.time())
    assert [error.url for error in store.errors()] == [A, B, D]
    assert [error.url for error in store.errors(limit=2)] == [A, B]


def test_thousands_of_errors_are_streamed(store: Store) -> None:
    visit_all(store, start(store, A), {A: [f"http://a.test/{n}" for n in range(2_100)]})
    assert sum(1 for _ in store.errors()) == 2_100
    assert sum(1 for _ in store.errors(limit=1_500)) == 1_500


def test_inlinks_and_outlinks_can_be_limited(store: Store) -> None:
    visit_all(store, start(store, A), {A: [B, C, D], B: [C]})
    assert [link.url for link in store.outlinks(1, limit=2)] == [B, C]
    assert [link.state for link in store.outlinks(1)] == ["visited", "gone", "gone"]
    target = store.resource(digest(C))
    assert target is not None
    assert [link.url for link in store.inlinks(target.id)] == [A, B]
    assert [link.url for link in store.inlinks(target.id, limit=1)] == [A]


def test_a_reopened_web_is_complete(open_store: Open) -> None:
    store = open_store()
    visit_all(store, start(store, A), {A: [B]})
    before = (store.counts(), list(store.resources()), store.current_round(), store.version())
    store.close()
    store = open_store()
    assert (store.counts(), list(store.resources()), store.current_round(), store.version()) == before
    assert store.join("here", 1).id != join(store)


def test_packed_texts_and_sources_are_those_that_are_read_whole(store: Store) -> None:
    visit_all(store, start(store, A), {A: []})
    resource = store.resource(digest(A))
    assert resource is not None
    packed = store.packed_text(resource.id)
    assert packed is not None
    assert list(iterate_text(packed)) == store.text(resource.id)
    source = store.packed_source(resource.id)
    assert (None if source is None else b"".join(iterate_source(source))) == store.source(resource.id)
    assert store.packed_text(99) is store.packed_source(99) is None


def test_an_open_web_knows_whether_it_is_still_the_one_at_its_location(new_web: Callable[[], Open]) -> None:
    open_web = new_web()
    with closing(open_web()) as store, closing(open_web()) as other, closing(new_web()()) as another:
        assert store.is_current()
        assert store.identity == other.identity != another.identity
