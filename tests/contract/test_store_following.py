"""What a store tells those who follow it: what changed, what belongs in an index, what others call it, word numbers."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from msgspec.structs import replace

from gossamer.model import Kind, Outcome, State
from gossamer.store.follow.changes import ChangeCursor
from helpers.store.crawl_steps import (
    Bond,
    admit_all,
    digest,
    ended,
    fetched,
    gone,
    lease_all,
    leases,
    redirected,
    seed,
    start,
    visit_all,
)

if TYPE_CHECKING:
    from gossamer.model import Lease, Visit
    from gossamer.store.protocol import Store
    from helpers.store.crawl_steps import Open

A, B, C, D = (f"http://a.test/{name}" for name in "abcd")


def follow(
    store: Store, place: ChangeCursor | None = None, limit: int = 1_000
) -> tuple[dict[str, bool], set[int], ChangeCursor]:
    """Everything that changed: URL -> whether it belongs in the index; what is gone; where to go on."""
    place = place or ChangeCursor()
    told: dict[str, bool] = {}
    lost: set[int] = set()
    while True:
        changes = store.changes(place, limit)
        told |= {one.url: one.text is not None for one in changes.resources}
        lost |= set(changes.gone)
        place = changes.cursor
        if changes.version == changes.latest:
            return told, lost, place


def resubmit(store: Store, crawler: int, *visits: Visit) -> None:
    store.submit(crawler, visits, admit_all, now=time.time())


def again(store: Store, crawler: int) -> dict[str, Lease]:
    """Lease everything once more."""
    store.requeue(time.time())
    return leases(lease_all(store, crawler, urls=100))


def canonical(url: str) -> Bond:
    return Bond(url, kind=Kind.CANONICAL)


def naming(lease: Lease, url: str) -> Visit:
    """A page that names another as canonical."""
    visit = fetched(lease, canonical(url))
    assert visit.page is not None
    return replace(visit, page=replace(visit.page, canonical=url))


def test_visited_pages_belong_in_the_index_and_others_do_not(store: Store) -> None:
    crawler = start(store, A)
    visit_all(store, crawler, {A: [B, C], B: []})
    assert follow(store)[0] == {A: True, B: True, C: False}


def test_changes_come_once_and_only_what_is_new_comes_after(store: Store) -> None:
    crawler = start(store, A)
    visit_all(store, crawler, {A: [B], B: []})
    _, _, place = follow(store)
    assert follow(store, place) == ({}, set(), place)
    store.add([seed(D)], admit_all)
    visit_all(store, crawler, {D: []})
    assert follow(store, place)[0] == {D: True}


def test_small_stretches_tell_the_same_as_large_ones(store: Store) -> None:
    crawler = start(store, A)
    site = {A: [f"{A}/{number}" for number in range(40)]} | {f"{A}/{number}": [] for number in range(30)}
    visit_all(store, crawler, site, urls=7)
    store.forget(url_digest=digest(f"{A}/3"))
    for limit in (1, 3, 7):
        assert follow(store, limit=limit)[:2] == follow(store)[:2]


def test_the_version_told_never_runs_ahead_of_what_was_told(store: Store) -> None:
    crawler = start(store, A)
    visit_all(store, crawler, {A: [f"{A}/{n}" for n in range(20)]} | {f"{A}/{n}": [] for n in range(20)}, urls=5)
    place, told = ChangeCursor(), set()
    while True:
        changes = store.changes(place, 3)
        told |= {one.id for one in changes.resources}
        held = {row.id for row in store.resources() if 0 < row.version <= changes.version}
        assert held <= told
        place = changes.cursor
        if changes.version == changes.latest:
            break
    assert changes.version == store.version()


def test_what_is_gone_noindex_or_redirected_now_leaves(store: Store) -> None:
    crawler = start(store, A)
    visit_all(store, crawler, {A: [B, C], B: [], C: []})
    _, _, place = follow(store)
    found = again(store, crawler)
    hidden = fetched(found[A], B, C)
    assert hidden.page is not None
    hidden = replace(hidden, page=replace(hidden.page, noindex=True))
    resubmit(store, crawler, hidden, gone(found[B]), redirected(found[C], D))
    resubmit(store, crawler, gone(again(store, crawler)[B]))  # it leaves with the second time in a row
    assert follow(store, place)[0] == {A: False, B: False, C: False}


def test_what_could_not_be_fetched_this_time_stays(store: Store) -> None:
    crawler = start(store, A)
    visit_all(store, crawler, {A: []})
    found = again(store, crawler)
    resubmit(store, crawler, ended(found[A], Outcome.TIMEOUT, State.FAILED))
    assert follow(store)[0] == {A: True}


def test_forgotten_resources_are_told(store: Store) -> None:
    crawler = start(store, A)
    visit_all(store, crawler, {A: [B], B: []})
    _, _, place = follow(store)
    row = store.resource(digest(A))
    assert row is not None
    store.forget(url_digest=digest(A))
    told, lost, _ = follow(store, place)
    assert lost == {row.id}
    assert told == {}
    store.forget(host="a.test")
    assert store.changes(place, 100).gone


def test_a_page_stays_until_the_canonical_one_is_there_and_comes_back_when_that_is_gone(store: Store) -> None:
    crawler = start(store, A)
    found = leases(lease_all(store, crawler, urls=1))
    resubmit(store, crawler, naming(found[A], B))
    told, _, place = follow(store)
    assert told == {A: True}, "the canonical page is not visited yet"
    visit_all(store, crawler, {B: []})
    told, _, place = follow(store, place)
    assert told == {A: False, B: True}, "now it takes the page's place"
    again_ = again(store, crawler)
    resubmit(store, crawler, gone(again_[B]), naming(again_[A], B))
    resubmit(store, crawler, gone(again(store, crawler)[B]))
    assert follow(store, place)[0] == {A: True, B: False}


def test_pages_that_name_one_another_both_stay(store: Store) -> None:
    crawler = start(store, A, B)
    found = leases(lease_all(store, crawler, urls=10))
    resubmit(store, crawler, naming(found[A], B), naming(found[B], A))
    assert follow(store)[0] == {A: True, B: True}


def test_a_page_that_names_itself_stays(store: Store) -> None:
    crawler = start(store, A)
    found = leases(lease_all(store, crawler, urls=10))
    resubmit(store, crawler, naming(found[A], A))
    assert follow(store)[0] == {A: True}


# -- anchors -----------------------------------------------------------------------------------------------------------


def calls(store: Store, url: str, most_links: int = 100, most_texts: int = 10) -> dict[str, int]:
    row = store.resource(digest(url))
    assert row is not None
    (found,) = store.anchor_texts([row.id], max_links=most_links, max_texts=most_texts)
    assert found.target == row.id
    return dict(found.texts)


def relinked(store: Store, after: int) -> set[str]:
    urls = {row.id: row.url for row in store.resources()}
    return {urls[one] for some in store.relinked_documents(after, 2) for one in some if one in urls}


def test_anchor_texts_are_counted_by_page_without_the_pages_own(store: Store) -> None:
    crawler = start(store, A)
    site = {
        A: [Bond(B, anchor="to b", weight=9), Bond(C, anchor="c"), Bond(B, anchor="hidden", follow=False)],
        B: [Bond(B, anchor="myself"), Bond(C, kind=Kind.IMAGE, anchor="a picture")],
        C: [Bond(B, anchor="to b"), Bond(B, anchor="")],
    }
    visit_all(store, crawler, site)
    assert calls(store, B) == {"to b": 2}
    assert calls(store, C) == {"c": 1}


def test_anchor_texts_come_most_used_first_and_not_too_many(store: Store) -> None:
    crawler = start(store, A)
    others = {f"{A}/{n}": [Bond(B, anchor="often" if n % 3 else f"once {n}")] for n in range(12)}
    visit_all(store, crawler, {A: list(others), **others, B: []})
    row = store.resource(digest(B))
    assert row is not None
    (found,) = store.anchor_texts([row.id], max_links=100, max_texts=2)
    assert found.texts[0] == ("often", 8)
    assert len(found.texts) == 2
    assert sum(calls(store, B, most_links=5).values()) == 5


def test_of_anchor_texts_used_alike_the_alphabet_decides_not_the_order_of_visits(store: Store) -> None:
    crawler = start(store, A)
    visit_all(
        store, crawler, {A: [Bond(B, anchor="z"), Bond(C), Bond(D)], C: [Bond(B, anchor="é")], D: [Bond(B, anchor="b")]}
    )
    assert list(calls(store, B, most_texts=2)) == ["b", "z"]


def test_what_links_to_a_redirect_or_a_duplicate_calls_where_it_leads(store: Store) -> None:
    crawler = start(store, A)
    found = leases(lease_all(store, crawler, urls=1))
    resubmit(store, crawler, fetched(found[A], Bond(B, anchor="old name"), Bond(C, anchor="other name")))
    found = leases(lease_all(store, crawler, urls=9))
    resubmit(store, crawler, redirected(found[B], D), naming(found[C], D))
    visit_all(store, crawler, {D: []})
    assert calls(store, D) == {"old name": 1, "other name": 1}


def test_those_whose_anchor_texts_may_have_changed_are_told(store: Store) -> None:
    crawler = start(store, A)
    visit_all(store, crawler, {A: [Bond(B, anchor="b"), Bond(C, anchor="c")], B: [], C: []})
    version = store.version()
    assert relinked(store, 0) >= {A, B, C}
    assert relinked(store, version) == set()
    visit = again(store, crawler)
    resubmit(store, crawler, fetched(visit[A], Bond(C, anchor="c"), body="changed"))
    assert relinked(store, version) >= {A, B, C}, "B lost a link, though nothing links to it any more"


# -- words -------------------------------------------------------------------------------------------------------------


def test_a_word_keeps_its_number_for_ever(store: Store, open_store: Open) -> None:
    first = store.word_ids(["egg", "ham"], ["the"])
    assert sorted(first.values()) == [1, 2]
    again_ = open_store().word_ids(["spam", "ham", "egg", "spam"])
    assert again_ == {**first, "spam": 3}
    assert store.known_word_ids(["egg", "the", "never seen"]) == {"egg": first["egg"], "the": 0}


def test_a_stop_word_gets_a_number_when_it_is_a_word_in_another_language(store: Store) -> None:
    store.word_ids([], ["die"])
    assert store.known_word_ids(["die"]) == {"die": 0}
    number = store.word_ids(["die"])["die"]
    assert number > 0
    store.word_ids([], ["die"])
    assert store.known_word_ids(["die"]) == {"die": number}


def test_every_text_can_be_a_word(store: Store) -> None:
    odd = ["'; DROP TABLE words; --", "東京", "\x1b[31m", "a" * 10_000, ""]
    numbers = store.word_ids(odd)
    assert len(set(numbers.values())) == len(odd)
    assert store.known_word_ids(odd) == dict(numbers)
