"""Answers of a store to reports: overviews, checked row by row. Flow tests check findings on real sites."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from gossamer.auditing import QUICK_REPORTS
from gossamer.graph.reports.audit import COUNTED_REPORTS
from gossamer.graph.reports.audit_file import web_state
from gossamer.graph.reports.base import ReportOptions, column_type, find_missing_data
from gossamer.graph.reports.registry import REPORTS, select_reports
from gossamer.model import Kind, Outcome, State, VisitBatch
from gossamer.store.read.questions import Question
from helpers.store.crawl_steps import (
    Bond,
    Open,
    Policy,
    Site,
    admit_all,
    candidate,
    digest,
    ended_visit,
    fetched_visit,
    gone_visit,
    lease_all,
    leases,
    redirected_visit,
    requeue,
    start,
    visit_all,
)

if TYPE_CHECKING:
    from gossamer.graph.reports.base import Report
    from gossamer.model import Visit
    from gossamer.store.protocol import Store

A, B, C, D, E = (f"http://a.test/{path}" for path in ("", "b", "c", "d", "e"))
X = "http://x.test/"
VALUES: dict[str, Any] = {
    "resource": 1, "most": 10, "least": 2, "longest": 9, "texts": "[]", "around": ".", "nothing": b"", "since": 0.0,
}  # fmt: skip


def report(store: Store, name: str, **options: Any) -> list[dict[str, Any]]:
    """Return the rows of a report by column name."""
    (definition,) = select_reports([name])
    return [dict(zip(definition.columns, row, strict=True)) for row in definition.rows(store, ReportOptions(**options))]


def cells(store: Store, name: str, *columns: str, **options: Any) -> list[tuple[Any, ...]]:
    return [tuple(row[column] for column in columns) for row in report(store, name, **options)]


@pytest.fixture
def small_web(store: Store) -> Store:
    """Crawl a page that links to three pages (one gone, one redirected) and to another site."""
    site = {
        A: [Bond(B, anchor="to b", weight=2), Bond(B, anchor="b"), Bond(C, anchor="c"), Bond(X, anchor="x"),
            Bond(D, anchor="d", follow=False), Bond(E, Kind.IMAGE)],
        B: [Bond(A, anchor="back")],
    }  # fmt: skip
    visit_all(store, start(store, A, admit=Policy(host="a.test")), site, admit=Policy(host="a.test"))
    return store


@pytest.fixture
def faulty_web(store: Store) -> Store:
    """Crawl pages with faults of many kinds: titles, link texts, redirects, equal pages, missing pages."""
    crawler = start(store, A, admit=Policy(host="a.test"))
    texts = [Bond(f"{A}p{n}", anchor=f"text {n % 3}") for n in range(12)]
    names = [Bond(B, anchor=f"name {n}") for n in range(12)]
    others = [Bond(C, anchor=""), Bond(D, anchor="here"), Bond(E, follow=False), Bond(X, anchor="out")]
    site: Site = {A: [*texts, *names, *others], B: [A, C, C], **{f"{A}p{n}": [B] for n in range(10)}}
    visit_all(store, crawler, site, admit=Policy(host="a.test"))
    store.begin_round("{}", [A], None, None, "all")
    leased = leases(lease_all(store, crawler))
    visits: list[Visit] = [redirected_visit(leased.pop(B), f"{A}p1")]
    long = "A title that is much too long for the list of results of any search engine"
    visits += [fetched_visit(lease, *site.get(url, []), title=long) for url, lease in leased.items() if url != C]
    store.submit(crawler, VisitBatch(visits=visits), admit_all, 2.0)
    return store


@pytest.mark.parametrize("question", Question, ids=lambda question: question.text)
def test_every_answer_has_the_columns_of_its_question(question: Question, small_web: Store) -> None:
    values = {name: VALUES[name] for name in question.values}
    shown = any(report.columns == question.columns for report in REPORTS)
    for row in small_web.ask(question, **values):
        assert len(row) == len(question.columns)
        cells = zip(question.columns, row, strict=True)
        assert not shown or all(has_type(column_type(name), value) for name, value in cells)


PYTHON = {"integer": int, "number": float, "flag": int, "time": float, "text": (str, bytes)}


def has_type(kind: str, value: object) -> bool:
    return value is None or isinstance(value, PYTHON[kind])  # type: ignore[arg-type]


def test_an_answer_shows_the_moment_of_its_question(open_store: Open) -> None:
    store, reader = open_store(), open_store()
    urls = [f"http://a.test/{n}" for n in range(1_500)]
    crawler = start(store, A)
    visit_all(store, crawler, {A: urls})
    answer = reader.ask(Question.BROKEN_LINKS)
    first = next(answer)
    store.forget(host="a.test")
    assert (first[:3], 1 + sum(1 for _ in answer)) == ((A, urls[0], 404), 1_500)
    assert list(reader.ask(Question.BROKEN_LINKS)) == []


def test_two_answers_can_be_read_at_once(small_web: Store) -> None:
    one, other = small_web.ask(Question.STATUSES), small_web.ask(Question.DEPTHS)
    pairs = zip(one, other, strict=False)
    assert len(list(pairs)) == 2


@pytest.mark.parametrize("report", COUNTED_REPORTS, ids=lambda report: report.code)
def test_the_database_counts_as_many_rows_as_it_returns(report: Report, faulty_web: Store) -> None:
    rows = list(report.rows(faulty_web, ReportOptions()))
    assert report.count(faulty_web, ReportOptions()) == len(rows)


def test_the_counted_web_has_rows_in_many_reports(faulty_web: Store) -> None:
    filled = [report for report in QUICK_REPORTS if report.count(faulty_web, ReportOptions())]
    assert len(filled) >= 15


def test_the_state_of_a_web_changes_with_its_pages_and_rounds(store: Store) -> None:
    crawler = start(store, A)
    seen = [web_state(store)]
    visit_all(store, crawler, {A: [B], B: []})
    seen.append(web_state(store))
    assert seen[-1] == web_state(store)
    requeue(store)
    seen.append(web_state(store))
    store.forget(digest(B))
    seen.append(web_state(store))
    assert len({state.digest for state in seen}) == len(seen)
    assert len({state.identity for state in seen}) == 1


# -- overviews ---------------------------------------------------------------------------------------------------------


def test_status_counts_resources_by_state_and_outcome(small_web: Store) -> None:
    assert cells(small_web, "status", "state", "outcome", "status", "resources", "share") == [
        ("known", "", 0, 2, 0.3333),
        ("visited", "fetched", 200, 2, 0.3333),
        ("gone", "not found", 404, 1, 0.1667),
        ("out of scope", "", 0, 1, 0.1667),
    ]


def test_indexability_gives_the_reason_for_each_url(store: Store) -> None:
    crawler = start(store, A, B, C, D)
    leased = leases(lease_all(store, crawler))
    to = candidate(E, kind=Kind.REDIRECT)
    visits = [
        fetched_visit(leased[A]),
        ended_visit(leased[B], Outcome.REDIRECTED, State.VISITED, status=301, redirect=to),
        ended_visit(leased[C], Outcome.ROBOTS, State.REFUSED, reason="line 2"),
        gone_visit(leased[D]),
    ]
    store.submit(crawler, VisitBatch(visits=visits), admit_all, 1.0)
    assert cells(store, "indexability", "url", "status", "reason", "detail") == [
        (B, 301, "redirects", ""),
        (C, 0, "robots.txt", "line 2"),
        (D, 404, "not found", "answered 404"),
    ]


def test_depth_counts_pages_by_distance(small_web: Store) -> None:
    assert cells(small_web, "depth", "depth", "pages", "share", "indexable") == [(0, 1, 0.5, 1), (1, 1, 0.5, 1)]


def test_sizes_and_times_are_reported_as_percentiles(store: Store) -> None:
    urls = [f"http://a.test/{n}" for n in range(1, 101)]
    crawler = start(store, *urls)
    visits = [
        fetched_visit(lease, body="x" * int(url[14:])) for url, lease in leases(lease_all(store, crawler)).items()
    ]
    store.submit(crawler, VisitBatch(visits=visits), admit_all, 1.0)
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
    requeue(store)
    visit_all(store, crawler, {A: [], B: [B], C: []})
    assert cells(store, "orphans", "url", "known_from") == [(B, "earlier crawl"), (C, "earlier crawl")]


# -- links -------------------------------------------------------------------------------------------------------------


def test_most_linked_pages_have_their_anchor_texts(small_web: Store) -> None:
    first, *_ = report(small_web, "most-linked")
    assert first == {"url": A, "state": "visited", "backlinks": 1, "links": 1, "texts": 1, "anchors": "back (1)"}
    (b,) = (row for row in report(small_web, "most-linked") if row["url"] == B)
    assert (b["backlinks"], b["links"], b["texts"], b["anchors"]) == (1, 3, 2, "to b (2), b (1)")


def test_inlinks_and_outlinks_of_one_url_are_listed(small_web: Store) -> None:
    a = small_web.resource(digest(A))
    b = small_web.resource(digest(B))
    assert a is not None
    assert b is not None
    assert cells(small_web, "inlinks", "source", "anchor", "weight", "kind", resource=b.id) == [
        (A, "to b", 2, "hyperlink"), (A, "b", 1, "hyperlink"),
    ]  # fmt: skip
    assert cells(small_web, "outlinks", "url", "kind", "follow", "state", resource=a.id) == [
        (B, "hyperlink", True, "visited"), (B, "hyperlink", True, "visited"), (C, "hyperlink", True, "gone"),
        (X, "hyperlink", True, "out of scope"), (D, "hyperlink", False, "known"), (E, "image", True, "known"),
    ]  # fmt: skip


def test_links_are_counted_for_each_page(small_web: Store) -> None:
    assert report(small_web, "link-counts") == [
        {"url": A, "backlinks": 1, "links_out": 6, "targets": 4, "external": 1, "nofollow": 1},
        {"url": B, "backlinks": 1, "links_out": 1, "targets": 1, "external": 0, "nofollow": 0},
    ]


def test_links_between_hosts_are_summed(store: Store) -> None:
    site: Site = {A: [Bond(X, weight=3), B], B: [X, "http://x.test/1"], X: [A], "http://x.test/1": []}
    visit_all(store, start(store, A), site)
    assert cells(store, "host-bonds", "source", "target", "links", "pages", "targets") == [
        ("a.test", "x.test", 5, 2, 2),
        ("x.test", "a.test", 1, 1, 1),
    ]


def test_a_page_with_many_anchor_texts_is_reported(store: Store) -> None:
    site = {A: [*(Bond(B, anchor=f"name {n}") for n in range(10)), *(Bond(C, anchor=f"name {n}") for n in range(9))]}
    visit_all(store, start(store, A), site)
    assert report(store, "anchors-varied") == [{"url": B, "texts": 10, "links": 10, "pages": 1}]


# -- redirects ---------------------------------------------------------------------------------------------------------


def test_every_redirect_is_followed_to_its_end(store: Store) -> None:
    crawler = start(store, A, B)
    leased = leases(lease_all(store, crawler))
    store.submit(
        crawler, VisitBatch(visits=[fetched_visit(leased[A], B), redirected_visit(leased[B], C)]), admit_all, 1.0
    )
    leased = leases(lease_all(store, crawler))
    store.submit(crawler, VisitBatch(visits=[redirected_visit(leased[C], D)]), admit_all, 1.0)
    store.submit(crawler, VisitBatch(visits=[gone_visit(leases(lease_all(store, crawler))[D])]), admit_all, 1.0)
    assert report(store, "redirects") == [
        {"url": B, "status": 301, "hops": 2, "chain": f"{B} (301) → {C} (301) → {D} (404)", "final": D,
         "final_status": 404, "final_outcome": "not found", "inlinks": 1},
        {"url": C, "status": 301, "hops": 1, "chain": f"{C} (301) → {D} (404)", "final": D,
         "final_status": 404, "final_outcome": "not found", "inlinks": 0},
    ]  # fmt: skip


# -- changes -----------------------------------------------------------------------------------------------------------


def test_changes_since_a_time_are_reported(store: Store) -> None:
    crawler = start(store, A, B, C)
    for at, title in ((10.0, "One"), (20.0, "Two"), (30.0, "Two")):
        leased = leases(lease_all(store, crawler))
        late = at > 10.0  # two failures in a row make it gone
        last = replace(gone_visit(leased[C]), visited_at=at) if late else fetched_visit(leased[C], at=at)
        first = fetched_visit(leased[A], *([B, C] if late else [B]), title=title, at=at)
        store.submit(crawler, VisitBatch(visits=[first, fetched_visit(leased[B], at=at), last]), admit_all, at)
        requeue(store)
    changes = {row["url"]: row for row in report(store, "changes", since=15.0)}
    assert {url: row["change"] for url, row in changes.items()} == {A: "changed", C: "gone"}
    assert (changes[A]["title_before"], changes[A]["title"], changes[A]["visited_at"]) == ("One", "Two", 20.0)
    assert {"title", "links"} <= set(changes[A]["parts"].split())
    assert (changes[C]["status"], changes[C]["visited_at"]) == (404, 30.0)
    assert [row["url"] for row in report(store, "changes", since=5.0) if row["change"] == "new"] == [A, B, C]
    assert report(store, "changes", since=35.0) == []


# -- missing data ------------------------------------------------------------------------------------------------------


def test_reports_name_data_that_the_crawl_did_not_store(store: Store) -> None:
    visit_all(store, start(store, A), {A: [B], B: []}, keep_links=False)
    (lack,) = find_missing_data(store, select_reports(["broken", "duplicates", "html"])).values()
    assert lack.is_total is False
    assert lack.reason == "1 of 2 pages were stored without their links (--no-links)"
