"""Renderings of pages, and what browsers found about path shapes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import zstandard

from gossamer.model import Rendering, ShapeEvidence, State, VisitBatch
from gossamer.store.read.questions import Question
from helpers.store.crawl_steps import (
    admit_all,
    digest,
    fetched_visit,
    lease_all,
    leases,
    recount,
    requeue,
    start,
    visit_all,
)

if TYPE_CHECKING:
    from gossamer.model import Lease, Visit
    from gossamer.store.protocol import Store

A, B = "http://a.test/", "http://a.test/b"
RENDERING = Rendering(
    dom=zstandard.compress(b"<p>rendered"), words=9, links=3, plain_words=1, plain_links=0, milliseconds=70,
    cut="time", screenshot=b"\x89PNG",
)  # fmt: skip


def rendered_visit(lease: Lease, reason: str = "app shell", body: str = "a body") -> Visit:
    visit = fetched_visit(lease, B, body=body)
    assert visit.page is not None
    page = msgspec.structs.replace(visit.page, script_sign="app shell", rendered=reason, rendering=RENDERING)
    return msgspec.structs.replace(visit, page=page)


def submit(store: Store, crawler: int, *visits: Visit, shapes: tuple[ShapeEvidence, ...] = ()) -> None:
    store.submit(crawler, VisitBatch(visits=visits, shapes=shapes), admit_all, 1.0)


def only_lease(store: Store, crawler: int, url: str = A) -> Lease:
    return leases(lease_all(store, crawler))[url]


def test_a_rendering_is_stored_with_its_page(store: Store) -> None:
    crawler = start(store, A)
    submit(store, crawler, rendered_visit(only_lease(store, crawler)))
    row = store.resource(digest(A))
    assert row is not None
    assert (row.script_sign, row.rendered) == ("app shell", "app shell")
    assert store.rendering(row.id) == RENDERING
    assert (store.counts().rendered, store.counts().unrendered) == (1, 0)


def test_rendered_pages_are_counted_by_their_reason(store: Store) -> None:
    crawler = start(store, A, B, f"{B}/c", "http://a.test/plain")
    found = leases(lease_all(store, crawler))
    reasons = {A: "app shell", B: "shape needs scripts", f"{B}/c": "shape needs scripts"}
    visits = [rendered_visit(found[url], reason) for url, reason in reasons.items()]
    submit(store, crawler, *visits, fetched_visit(found["http://a.test/plain"]))
    assert list(store.ask(Question.RENDERED_REASONS)) == [("shape needs scripts", 2), ("app shell", 1)]


def test_a_page_that_needs_a_browser_is_counted(store: Store) -> None:
    crawler = start(store, A)
    visit = fetched_visit(only_lease(store, crawler))
    assert visit.page is not None
    page = msgspec.structs.replace(visit.page, script_sign="noscript")
    submit(store, crawler, msgspec.structs.replace(visit, page=page))
    row = store.resource(digest(A))
    assert row is not None
    assert (row.script_sign, row.rendered, store.rendering(row.id)) == ("noscript", "", None)
    assert (store.counts().rendered, store.counts().unrendered) == (0, 1)


def test_a_later_visit_replaces_a_rendering(store: Store) -> None:
    crawler = start(store, A)
    submit(store, crawler, rendered_visit(only_lease(store, crawler)))
    for body, reason in (("a body", "sample"), ("another", "shape needs scripts")):  # unchanged, then changed
        requeue(store)
        submit(store, crawler, rendered_visit(only_lease(store, crawler), reason, body))
        row = store.resource(digest(A))
        assert row is not None
        assert row.rendered == reason
        assert store.rendering(row.id) == RENDERING


def test_a_page_that_is_rendered_no_more_loses_its_rendering(store: Store) -> None:
    for body in ("a body", "another"):  # unchanged, changed
        crawler = start(store, A)
        requeue(store)
        submit(store, crawler, rendered_visit(only_lease(store, crawler)))
        requeue(store)
        submit(store, crawler, fetched_visit(only_lease(store, crawler), B, body=body))
        row = store.resource(digest(A))
        assert row is not None
        assert (row.rendered, row.script_sign, store.rendering(row.id)) == ("", "", None)
        store.leave(crawler)


def test_a_changed_text_of_an_unchanged_source_is_a_change(store: Store) -> None:
    crawler = start(store, A)
    submit(store, crawler, rendered_visit(only_lease(store, crawler)))
    requeue(store)
    visit = rendered_visit(only_lease(store, crawler), body="other words")
    assert visit.page is not None
    page = msgspec.structs.replace(visit.page, content_digest=digest("a body"))
    submit(store, crawler, msgspec.structs.replace(visit, page=page))
    row = store.resource(digest(A))
    assert row is not None
    assert [change.parts for change in store.history(row.id)] == [("text",)]


def test_a_forgotten_page_leaves_no_rendering(store: Store) -> None:
    crawler = start(store, A)
    submit(store, crawler, rendered_visit(only_lease(store, crawler)))
    store.leave(crawler)
    row = store.resource(digest(A))
    assert row is not None
    store.forget(url_digest=digest(A))
    assert store.rendering(row.id) is None
    assert store.counts().rendered == 0


def test_shapes_are_kept_by_host_until_it_is_forgotten(store: Store) -> None:
    crawler = start(store, A)
    lease = only_lease(store, crawler)
    known = ShapeEvidence(host=lease.host, shape="/*", signed=True, outcomes="1", looked_at=5.0)
    other = msgspec.structs.replace(known, signed=False, outcomes="0")
    submit(store, crawler, shapes=(known, other))
    assert store.shapes([lease.host]) == [other, known]
    newer = msgspec.structs.replace(known, outcomes="10", looked_at=6.0)
    submit(store, crawler, shapes=(newer,))
    assert store.shapes([lease.host]) == [other, newer]
    assert store.shapes([lease.host + 1]) == []
    store.leave(crawler)
    store.forget(host="a.test")
    assert store.shapes([lease.host]) == []


def test_evidence_about_an_unknown_host_is_dropped(store: Store) -> None:
    crawler = start(store, A)
    only_lease(store, crawler)
    submit(store, crawler, shapes=(ShapeEvidence(host=77, shape="/", signed=True, outcomes="1", looked_at=5.0),))
    assert store.shapes([77]) == []
    assert store.counts().resources[State.LEASED] == 1


def test_visited_pages_are_queued_again_without_their_validators(store: Store) -> None:
    crawler = start(store, A)
    visit_all(store, crawler, {A: [B], B: []})
    rows = [store.resource(digest(url)) for url in (A, B)]
    ids = [row.id for row in rows if row is not None]
    assert store.queue_again([*ids, 999]) == 2
    assert store.queue_again(ids) == 0, "they are queued already"
    leased = leases(lease_all(store, crawler))
    assert {url: (lease.etag, lease.last_modified, lease.before) for url, lease in leased.items()} == dict.fromkeys(
        (A, B), ("", "", "fetched")
    )
    recount(store)
