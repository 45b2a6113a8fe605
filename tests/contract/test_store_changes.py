"""Change feeds of a store: changed resources, indexable pages, anchor texts, word numbers."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from msgspec.structs import replace

from gossamer.model import Kind, Outcome, State, VisitBatch
from gossamer.store.follow import changes as follow
from gossamer.store.follow.changes import ChangeCursor
from gossamer.store.read.questions import Question
from helpers.store.crawl_steps import (
    Bond,
    admit_all,
    digest,
    ended_visit,
    fetched_visit,
    gone_visit,
    lease_all,
    leases,
    redirected_visit,
    requeue,
    seed,
    start,
    visit_all,
)

if TYPE_CHECKING:
    import pytest

    from gossamer.model import Lease, Visit
    from gossamer.store.protocol import Store
    from helpers.store.crawl_steps import Open

A, B, C, D = (f"http://a.test/{name}" for name in "abcd")


def read_changes(
    store: Store, cursor: ChangeCursor | None = None, limit: int = 1_000
) -> tuple[dict[str, bool], set[int], ChangeCursor]:
    """Return (URL -> whether it belongs in the index), ids that are gone, and the next cursor."""
    cursor = cursor or ChangeCursor()
    indexable: dict[str, bool] = {}
    gone: set[int] = set()
    while True:
        changes = store.changes(cursor, limit)
        indexable |= {one.url: one.text is not None for one in changes.resources}
        gone |= set(changes.gone)
        cursor = changes.cursor
        if changes.version == changes.latest:
            return indexable, gone, cursor


def resubmit(store: Store, crawler: int, *visits: Visit) -> None:
    store.submit(crawler, VisitBatch(visits=visits), admit_all, time.time())


def lease_again(store: Store, crawler: int) -> dict[str, Lease]:
    """Lease everything once more."""
    requeue(store)
    return leases(lease_all(store, crawler, urls=100))


def canonical(url: str) -> Bond:
    return Bond(url, kind=Kind.CANONICAL)


def visit_with_canonical(lease: Lease, url: str) -> Visit:
    """Return a visit of a page that names another as canonical."""
    visit = fetched_visit(lease, canonical(url))
    assert visit.page is not None
    return replace(visit, page=replace(visit.page, canonical=url))


def test_only_visited_pages_belong_in_the_index(store: Store) -> None:
    crawler = start(store, A)
    visit_all(store, crawler, {A: [B, C], B: []})
    assert read_changes(store)[0] == {A: True, B: True, C: False}


def test_each_change_is_reported_once(store: Store) -> None:
    crawler = start(store, A)
    visit_all(store, crawler, {A: [B], B: []})
    _, _, cursor = read_changes(store)
    assert read_changes(store, cursor) == ({}, set(), cursor)
    store.add([seed(D)], admit_all)
    visit_all(store, crawler, {D: []})
    assert read_changes(store, cursor)[0] == {D: True}


def test_small_batches_report_the_same_changes_as_large_ones(store: Store) -> None:
    crawler = start(store, A)
    site = {A: [f"{A}/{number}" for number in range(40)]} | {f"{A}/{number}": [] for number in range(30)}
    visit_all(store, crawler, site, urls=7)
    store.forget(url_digest=digest(f"{A}/3"))
    for limit in (1, 3, 7):
        assert read_changes(store, limit=limit)[:2] == read_changes(store)[:2]


def test_a_batch_ends_before_its_texts_get_too_large(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    crawler = start(store, A)
    visit_all(store, crawler, {A: [B, C, D]})
    monkeypatch.setattr(follow, "MAX_BATCH_BYTES", 1)  # every text is larger and comes alone
    cursor = ChangeCursor()
    batches: list[follow.Changes] = []
    while not batches or batches[-1].version != batches[-1].latest:
        batches.append(store.changes(cursor, 1_000))
        cursor = batches[-1].cursor
    assert [one.url for batch in batches for one in batch.resources] == [A, B, C, D]
    assert max(len([one for one in batch.resources if one.text]) for batch in batches) == 1


def test_the_store_keeps_and_counts_what_was_cut(store: Store) -> None:
    crawler = start(store, A, B)
    leased = leases(lease_all(store, crawler))
    whole = fetched_visit(leased[B])
    visit = fetched_visit(leased[A])
    assert visit.page is not None
    cut = replace(visit, page=replace(visit.page, cut="text, words"))
    store.submit(crawler, VisitBatch(visits=[cut, whole]), admit_all, time.time())
    rows = [store.resource(digest(url)) for url in (A, B)]
    assert [row.cut for row in rows if row] == ["text, words", ""]
    assert store.counts().cut == 1
    assert [row[:2] for row in store.ask(Question.CUT_PAGES)] == [(A, "text, words")]
    store.forget(digest(A))
    assert store.counts().cut == 0


def test_the_version_never_runs_ahead_of_the_reported_changes(store: Store) -> None:
    crawler = start(store, A)
    visit_all(store, crawler, {A: [f"{A}/{n}" for n in range(20)]} | {f"{A}/{n}": [] for n in range(20)}, urls=5)
    cursor, seen = ChangeCursor(), set()
    while True:
        changes = store.changes(cursor, 3)
        seen |= {one.id for one in changes.resources}
        stored = {row.id for row in store.resources() if 0 < row.version <= changes.version}
        assert stored <= seen
        cursor = changes.cursor
        if changes.version == changes.latest:
            break
    assert changes.version == store.version()


def test_gone_noindex_and_redirected_pages_leave_the_index(store: Store) -> None:
    crawler = start(store, A)
    visit_all(store, crawler, {A: [B, C], B: [], C: []})
    _, _, cursor = read_changes(store)
    leased = lease_again(store, crawler)
    hidden = fetched_visit(leased[A], B, C)
    assert hidden.page is not None
    hidden = replace(hidden, page=replace(hidden.page, noindex=True))
    resubmit(store, crawler, hidden, gone_visit(leased[B]), redirected_visit(leased[C], D))
    resubmit(store, crawler, gone_visit(lease_again(store, crawler)[B]))  # two failures in a row remove it
    assert read_changes(store, cursor)[0] == {A: False, B: False, C: False}


def test_a_page_that_failed_once_stays_in_the_index(store: Store) -> None:
    crawler = start(store, A)
    visit_all(store, crawler, {A: []})
    leased = lease_again(store, crawler)
    resubmit(store, crawler, ended_visit(leased[A], Outcome.TIMEOUT, State.FAILED))
    assert read_changes(store)[0] == {A: True}


def test_forgotten_resources_are_reported_as_gone(store: Store) -> None:
    crawler = start(store, A)
    visit_all(store, crawler, {A: [B], B: []})
    _, _, cursor = read_changes(store)
    row = store.resource(digest(A))
    assert row is not None
    store.forget(url_digest=digest(A))
    indexable, gone, _ = read_changes(store, cursor)
    assert gone == {row.id}
    assert indexable == {}
    store.forget(host="a.test")
    assert store.changes(cursor, 100).gone


def test_a_visited_canonical_page_replaces_its_source_until_it_is_gone(store: Store) -> None:
    crawler = start(store, A)
    leased = leases(lease_all(store, crawler, urls=1))
    resubmit(store, crawler, visit_with_canonical(leased[A], B))
    indexable, _, cursor = read_changes(store)
    assert indexable == {A: True}, "the canonical page is not visited yet"
    visit_all(store, crawler, {B: []})
    indexable, _, cursor = read_changes(store, cursor)
    assert indexable == {A: False, B: True}, "the canonical page replaces it"
    leased_again = lease_again(store, crawler)
    resubmit(store, crawler, gone_visit(leased_again[B]), visit_with_canonical(leased_again[A], B))
    resubmit(store, crawler, gone_visit(lease_again(store, crawler)[B]))
    assert read_changes(store, cursor)[0] == {A: True, B: False}


def test_pages_that_name_each_other_as_canonical_both_stay(store: Store) -> None:
    crawler = start(store, A, B)
    leased = leases(lease_all(store, crawler, urls=10))
    resubmit(store, crawler, visit_with_canonical(leased[A], B), visit_with_canonical(leased[B], A))
    assert read_changes(store)[0] == {A: True, B: True}


def test_a_page_that_names_itself_as_canonical_stays(store: Store) -> None:
    crawler = start(store, A)
    leased = leases(lease_all(store, crawler, urls=10))
    resubmit(store, crawler, visit_with_canonical(leased[A], A))
    assert read_changes(store)[0] == {A: True}


# -- anchors -----------------------------------------------------------------------------------------------------------


def anchor_texts(store: Store, url: str, most_links: int = 100, most_texts: int = 10) -> dict[str, int]:
    row = store.resource(digest(url))
    assert row is not None
    (anchors,) = store.anchor_texts([row.id], max_links=most_links, max_texts=most_texts)
    assert anchors.target == row.id
    return dict(anchors.texts)


def relinked_urls(store: Store, after: int) -> set[str]:
    urls = {row.id: row.url for row in store.resources()}
    return {urls[one] for some in store.relinked_documents(after, 2) for one in some if one in urls}


def test_anchor_texts_are_counted_by_page_without_self_links(store: Store) -> None:
    crawler = start(store, A)
    site = {
        A: [Bond(B, anchor="to b", weight=9), Bond(C, anchor="c"), Bond(B, anchor="hidden", follow=False)],
        B: [Bond(B, anchor="myself"), Bond(C, kind=Kind.IMAGE, anchor="a picture")],
        C: [Bond(B, anchor="to b"), Bond(B, anchor="")],
    }
    visit_all(store, crawler, site)
    assert anchor_texts(store, B) == {"to b": 2}
    assert anchor_texts(store, C) == {"c": 1}


def test_anchor_texts_come_most_used_first_and_limited(store: Store) -> None:
    crawler = start(store, A)
    others = {f"{A}/{n}": [Bond(B, anchor="often" if n % 3 else f"once {n}")] for n in range(12)}
    visit_all(store, crawler, {A: list(others), **others, B: []})
    row = store.resource(digest(B))
    assert row is not None
    (anchors,) = store.anchor_texts([row.id], max_links=100, max_texts=2)
    assert anchors.texts[0] == ("often", 8)
    assert len(anchors.texts) == 2
    assert sum(anchor_texts(store, B, most_links=5).values()) == 5


def test_equally_used_anchor_texts_are_sorted_alphabetically(store: Store) -> None:
    crawler = start(store, A)
    visit_all(
        store, crawler, {A: [Bond(B, anchor="z"), Bond(C), Bond(D)], C: [Bond(B, anchor="é")], D: [Bond(B, anchor="b")]}
    )
    assert list(anchor_texts(store, B, most_texts=2)) == ["b", "z"]


def test_anchor_texts_of_redirects_and_duplicates_count_for_their_target(store: Store) -> None:
    crawler = start(store, A)
    leased = leases(lease_all(store, crawler, urls=1))
    resubmit(store, crawler, fetched_visit(leased[A], Bond(B, anchor="old name"), Bond(C, anchor="other name")))
    leased = leases(lease_all(store, crawler, urls=9))
    resubmit(store, crawler, redirected_visit(leased[B], D), visit_with_canonical(leased[C], D))
    visit_all(store, crawler, {D: []})
    assert anchor_texts(store, D) == {"old name": 1, "other name": 1}


def test_pages_whose_anchor_texts_may_have_changed_are_reported(store: Store) -> None:
    crawler = start(store, A)
    visit_all(store, crawler, {A: [Bond(B, anchor="b"), Bond(C, anchor="c")], B: [], C: []})
    version = store.version()
    assert relinked_urls(store, 0) >= {A, B, C}
    assert relinked_urls(store, version) == set()
    visit = lease_again(store, crawler)
    resubmit(store, crawler, fetched_visit(visit[A], Bond(C, anchor="c"), body="changed"))
    assert relinked_urls(store, version) >= {A, B, C}, "B lost its last link"


# -- words -------------------------------------------------------------------------------------------------------------


def test_a_word_keeps_its_number(store: Store, open_store: Open) -> None:
    first = store.word_ids(["egg", "ham"], ["the"])
    assert sorted(first.values()) == [1, 2]
    second = open_store().word_ids(["spam", "ham", "egg", "spam"])
    assert second == {**first, "spam": 3}
    assert store.known_word_ids(["egg", "the", "never seen"]) == {"egg": first["egg"], "the": 0}


def test_a_stop_word_gets_a_number_if_another_language_uses_it(store: Store) -> None:
    store.word_ids([], ["die"])
    assert store.known_word_ids(["die"]) == {"die": 0}
    number = store.word_ids(["die"])["die"]
    assert number > 0
    store.word_ids([], ["die"])
    assert store.known_word_ids(["die"]) == {"die": number}


def test_any_text_can_be_a_word(store: Store) -> None:
    odd = ["'; DROP TABLE words; --", "東京", "\x1b[31m", "a" * 10_000, ""]
    numbers = store.word_ids(odd)
    assert len(set(numbers.values())) == len(odd)
    assert store.known_word_ids(odd) == dict(numbers)
