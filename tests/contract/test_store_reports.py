"""What a store answers to reports: overviews, checked row by row. Findings are checked on real sites (tests/flow)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from gossamer.graph.reports.base import ReportOptions, column_type, find_missing_data
from gossamer.graph.reports.registry import REPORTS, select_reports
from gossamer.model import Kind, Outcome, State
from gossamer.store.read.questions import Question
from helpers.store.crawl_steps import (
    Bond,
    Open,
    Policy,
    Site,
    admit_all,
    candidate,
    digest,
    ended,
    fetched,
    gone,
    lease_all,
    leases,
    redirected,
    start,
    visit_all,
)

if TYPE_CHECKING:
    from gossamer.store.protocol import Store

A, B, C, D, E = (f"http://a.test/{path}" for path in ("", "b", "c", "d", "e"))
X = "http://x.test/"
VALUES: dict[str, Any] = {
    "resource": 1, "most": 10, "least": 2, "longest": 9, "texts": "[]", "around": ".", "nothing": b"", "since": 0.0,
}  # fmt: skip


def report(store: Store, name: str, **options: Any) -> list[dict[str, Any]]:
    """The rows of a report by the names of their columns."""
    (asked,) = select_reports([name])
    return [dict(zip(asked.columns, row, strict=True)) for row in asked.rows(store, ReportOptions(**options))]


def cells(store: Store, name: str, *columns: str, **options: Any) -> list[tuple[Any, ...]]:
    return [tuple(row[column] for column in columns) for row in report(store, name, **options)]


@pytest.fixture
def small(store: Store) -> Store:
    """A page that links to three, one of which is gone and one of which redirects elsewhere, and to another site."""
    site = {
        A: [Bond(B, anchor="to b", weight=2), Bond(B, anchor="b"), Bond(C, anchor="c"), Bond(X, anchor="x"),
            Bond(D, anchor="d", follow=False), Bond(E, Kind.IMAGE)],
        B: [Bond(A, anchor="back")],
    }  # fmt: skip
    visit_all(store, start(store, A, admit=Policy(host="a.test")), site, admit=Policy(host="a.test"))
    return store


@pytest.mark.parametrize("question", Question, ids=lambda question: question.text)
def test_every_question_is_answered_with_its_columns(question: Question, small: Store) -> None:
    values = {name: VALUES[name] for name in question.values}
    shown = any(report.columns == question.columns for report in REPORTS)
    for row in small.ask(question, **values):
        assert len(row) == len(question.columns)
        cells = zip(question.columns, row, strict=True)
        assert not shown or all(is_one(column_type(name), value) for name, value in cells)


PYTHON = {"integer": int, "number": float, "flag": int, "time": float, "text": (str, bytes)}


def is_one(kind: str, value: object) -> bool:
    return value is None or isinstance(value, PYTHON[kind])  # type: ignore[arg-type]


def test_an_answer_is_of_the_moment_it_was_asked_for(open_store: Open) -> None:
    store, reader = open_store(), open_store()
    urls = [f"http://a.test/{n}" for n in range(1_500)]
    crawler = start(store, A)
    visit_all(store, crawler, {A: urls})
    answer = reader.ask(Question.BROKEN_LINKS)
    first = next(answer)
    store.forget(host="a.test")
    assert (first[:3], 1 + sum(1 for _ in answer)) == ((A, urls[0], 404), 1_500)
    assert list(reader.ask(Question.BROKEN_LINKS)) == []


def test_answers_can_be_read_side_by_side(small: Store) -> None:
    one, other = small.ask(Question.STATUSES), small.ask(Question.DEPTHS)
    pairs = zip(one, other, strict=False)
    assert len(list(pairs)) == 2


# -- overviews ---------------------------------------------------------------------------------------------------------


def test_status_counts_resources_by_what_became_of_them(small: Store) -> None:
    assert cells(small, "status", "state", "outcome", "status", "resources", "share") == [
        ("known", "", 0, 2, 0.3333),
        ("visited", "fetched", 200, 2, 0.3333),
        ("gone", "not found", 404, 1, 0.1667),
        ("out of scope", "", 0, 1, 0.1667),
    ]


def test_indexability_tells_why_a_url_is_not_listed(store: Store) -> None:
    crawler = start(store, A, B, C, D)
    found = leases(lease_all(store, crawler))
    to = candidate(E, kind=Kind.REDIRECT)
    visits = [
        fetched(found[A]),
        ended(found[B], Outcome.REDIRECTED, State.VISITED, status=301, redirect=to),
        ended(found[C], Outcome.ROBOTS, State.REFUSED, reason="line 2"),
        gone(found[D]),
    ]
    store.submit(crawler, visits, admit_all, now=1.0)
    assert cells(store, "indexability", "url", "status", "reason", "detail") == [
        (B, 301, "redirects", ""),
        (C, 0, "robots.txt", "line 2"),
        (D, 404, "not found", "answered 404"),
    ]


def test_depth_counts_pages_by_their_distance(small: Store) -> None:
    assert cells(small, "depth", "depth", "pages", "share", "indexable") == [(0, 1, 0.5, 1), (1, 1, 0.5, 1)]


def test_sizes_and_times_are_told_in_percentiles(store: Store) -> None:
    urls = [f"http://a.test/{n}" for n in range(1, 101)]
    crawler = start(store, *urls)
    visits = [fetched(lease, body="x" * int(url[14:])) for url, lease in leases(lease_all(store, crawler)).items()]
    store.submit(crawler, visits, admit_all, now=1.0)
    assert report(store, "sizes") == [
        {"media_type": "text/html", "pages": 100, "bytes": 5050, "p50": 50, "p90": 90, "p95": 95, "p99": 99, "max": 100}
    ]
    assert report(store, "times") == [
        {"host": "a.test", "answers": 100, "p50": 5, "p90": 5, "p95": 5, "p99": 5, "max": 5}
    ]


def test_a_page_that_lost_its_last_link_is_an_orphan(store: Store) -> None:
    crawler = start(store, A)
    visit_all(store, crawler, {A: [B, Bond(C, Kind.ALTERNATE)], B: [B], C: []})
    assert cells(store, "orphans", "url", "known_from") == [(C, "alternate")]
    store.requeue(2.0)
    visit_all(store, crawler, {A: [], B: [B], C: []})
    assert cells(store, "orphans", "url", "known_from") == [(B, "earlier crawl"), (C, "earlier crawl")]


# -- links -------------------------------------------------------------------------------------------------------------


def test_the_most_linked_come_with_their_texts(small: Store) -> None:
    first, *_ = report(small, "most-linked")
    assert first == {"url": A, "state": "visited", "backlinks": 1, "links": 1, "texts": 1, "anchors": "back (1)"}
    (b,) = (row for row in report(small, "most-linked") if row["url"] == B)
    assert (b["backlinks"], b["links"], b["texts"], b["anchors"]) == (1, 3, 2, "to b (2), b (1)")


def test_links_in_and_out_are_listed_for_one_url(small: Store) -> None:
    a = small.resource(digest(A))
    b = small.resource(digest(B))
    assert a is not None
    assert b is not None
    assert cells(small, "inlinks", "source", "anchor", "weight", "kind", resource=b.id) == [
        (A, "to b", 2, "hyperlink"), (A, "b", 1, "hyperlink"),
    ]  # fmt: skip
    assert cells(small, "outlinks", "url", "kind", "follow", "state", resource=a.id) == [
        (B, "hyperlink", True, "visited"), (B, "hyperlink", True, "visited"), (C, "hyperlink", True, "gone"),
        (X, "hyperlink", True, "out of scope"), (D, "hyperlink", False, "known"), (E, "image", True, "known"),
    ]  # fmt: skip


def test_links_are_counted_for_each_page(small: Store) -> None:
    assert report(small, "link-counts") == [
        {"url": A, "backlinks": 1, "links_out": 6, "targets": 4, "external": 1, "nofollow": 1},
        {"url": B, "backlinks": 1, "links_out": 1, "targets": 1, "external": 0, "nofollow": 0},
    ]


def test_bonds_between_hosts_are_summed(store: Store) -> None:
    site: Site = {A: [Bond(X, weight=3), B], B: [X, "http://x.test/1"], X: [A], "http://x.test/1": []}
    visit_all(store, start(store, A), site)
    assert cells(store, "host-bonds", "source", "target", "links", "pages", "targets") == [
        ("a.test", "x.test", 5, 2, 2),
        ("x.test", "a.test", 1, 1, 1),
    ]


def test_a_page_with_many_names_is_told(store: Store) -> None:
    site = {A: [*(Bond(B, anchor=f"name {n}") for n in range(10)), *(Bond(C, anchor=f"name {n}") for n in range(9))]}
    visit_all(store, start(store, A), site)
    assert report(store, "anchors-varied") == [{"url": B, "texts": 10, "links": 10, "pages": 1}]


# -- redirects ---------------------------------------------------------------------------------------------------------


def test_every_redirect_is_followed_to_its_end(store: Store) -> None:
    crawler = start(store, A, B)
    found = leases(lease_all(store, crawler))
    store.submit(crawler, [fetched(found[A], B), redirected(found[B], C)], admit_all, now=1.0)
    found = leases(lease_all(store, crawler))
    store.submit(crawler, [redirected(found[C], D)], admit_all, now=1.0)
    store.submit(crawler, [gone(leases(lease_all(store, crawler))[D])], admit_all, now=1.0)
    assert report(store, "redirects") == [
        {"url": B, "status": 301, "hops": 2, "chain": f"{B} (301) → {C} (301) → {D} (404)", "final": D,
         "final_status": 404, "final_outcome": "not found", "inlinks": 1},
        {"url": C, "status": 301, "hops": 1, "chain": f"{C} (301) → {D} (404)", "final": D,
         "final_status": 404, "final_outcome": "not found", "inlinks": 0},
    ]  # fmt: skip


# -- changes -----------------------------------------------------------------------------------------------------------


def test_changes_since_a_moment_are_told(store: Store) -> None:
    crawler = start(store, A, B, C)
    for at, title in ((10.0, "One"), (20.0, "Two"), (30.0, "Two")):
        leased = leases(lease_all(store, crawler))
        late = at > 10.0  # a page has to be gone twice to be gone for sure
        last = replace(gone(leased[C]), visited_at=at) if late else fetched(leased[C], at=at)
        first = fetched(leased[A], *([B, C] if late else [B]), title=title, at=at)
        store.submit(crawler, [first, fetched(leased[B], at=at), last], admit_all, now=at)
        store.requeue(at)
    changes = {row["url"]: row for row in report(store, "changes", since=15.0)}
    assert {url: row["change"] for url, row in changes.items()} == {A: "changed", C: "gone"}
    assert (changes[A]["title_before"], changes[A]["title"], changes[A]["visited_at"]) == ("One", "Two", 20.0)
    assert {"title", "links"} <= set(changes[A]["parts"].split())
    assert (changes[C]["status"], changes[C]["visited_at"]) == (404, 30.0)
    assert [row["url"] for row in report(store, "changes", since=5.0) if row["change"] == "new"] == [A, B, C]
    assert report(store, "changes", since=35.0) == []


# -- what is not there -------------------------------------------------------------------------------------------------


def test_reports_say_what_was_not_kept(store: Store) -> None:
    visit_all(store, start(store, A), {A: [B], B: []}, keep_links=False)
    (lack,) = find_missing_data(store, select_reports(["broken", "duplicates", "html"])).values()
    assert lack.is_total is False
    assert lack.reason == "1 of 2 pages were stored without their links (--no-links)"
