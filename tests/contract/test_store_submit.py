"""The rows that a batch of visits leaves."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import msgspec
import pytest

from gossamer.model import Field, Kind, Lease, Outcome, Role, State, Visit, VisitBatch
from helpers.store.crawl_steps import (
    Bond,
    Open,
    Policy,
    admit_all,
    digest,
    ended_visit,
    fetched_visit,
    gone_visit,
    join,
    lease_all,
    leases,
    redirected_visit,
    requeue,
    start,
    state,
    visit_all,
)

if TYPE_CHECKING:
    from gossamer.store.protocol import Store
    from gossamer.store.values import ResourceRow

A, B, C, D = "http://a.test/", "http://a.test/b", "http://a.test/c", "http://a.test/d"


def row(store: Store, url: str) -> ResourceRow:
    resource = store.resource(digest(url))
    assert resource is not None
    return resource


def submit(store: Store, crawler: int, *visits: Visit, admit: Policy | None = None, keep_links: bool = True) -> None:
    store.submit(crawler, VisitBatch(visits=visits, keep_links=keep_links), admit or admit_all, time.time())


def lease_url(store: Store, crawler: int, url: str) -> Lease:
    return leases(lease_all(store, crawler))[url]


def lease_again(store: Store, crawler: int, url: str) -> Lease:
    """Queue everything again and lease one URL."""
    requeue(store)
    return lease_url(store, crawler, url)


@pytest.mark.parametrize(
    "date",
    ["Sat, 01 Jan 0000 00:00:00 GMT", "Fri, 31 Dec 9999 23:59:59 GMT", "Mon, 99 Jan 2024 99:99:99 GMT", "\0", "é"],
)
def test_a_page_with_an_impossible_last_modified_is_stored(store: Store, date: str) -> None:
    crawler = start(store, A)
    visit = msgspec.structs.replace(fetched_visit(lease_url(store, crawler, A)), last_modified=date)
    submit(store, crawler, visit)
    assert row(store, A).state == "visited"


# -- contents ----------------------------------------------------------------------------------------------------------


def test_a_page_is_stored_with_its_text_source_and_columns(store: Store) -> None:
    crawler = start(store, A)
    submit(store, crawler, fetched_visit(lease_url(store, crawler, A), B, body="words", title="Ünïcode ☃", at=77.5))
    page = row(store, A)
    assert (page.title, page.media_type, page.charset, page.language) == ("Ünïcode ☃", "text/html", "utf-8", "en")
    assert (page.state, page.outcome, page.status, page.visited_at) == ("visited", "fetched", 200, 77.5)
    assert (page.visited_by, page.etag, page.bytes) == ("Naiad", '"e"', 5)
    assert page.content_digest == digest("words").hex()
    assert store.text(page.id) == [(Field.TITLE, "Ünïcode ☃"), (Field.PARAGRAPH, "words")]
    assert store.source(page.id) == b"words"
    (visit,) = store.visits(page.id)
    assert (visit.url, visit.round, visit.crawler, visit.outcome, visit.milliseconds) == (A, 1, "Naiad", "fetched", 5)


def test_links_are_stored_with_all_their_properties(store: Store) -> None:
    crawler = start(store, A)
    bonds = [Bond(B, anchor="to b", weight=3), Bond(C, Kind.IMAGE, follow=False), Bond(B, anchor="again")]
    submit(store, crawler, fetched_visit(lease_url(store, crawler, A), *bonds))
    out = store.outlinks(row(store, A).id)
    assert [(link.url, link.kind, link.follow, link.anchor, link.weight) for link in out] == [
        (B, "hyperlink", True, "to b", 3),
        (C, "image", False, "", 1),
        (B, "hyperlink", True, "again", 1),
    ]
    assert [link.anchor for link in store.inlinks(row(store, B).id)] == ["to b", "again"]
    assert store.counts().links == 3


@pytest.mark.parametrize("number", [15, 16, 17, 32, 100])
def test_every_link_of_a_batch_is_stored_in_order(store: Store, number: int) -> None:
    crawler = start(store, A, B)
    bonds = {page: [f"http://a.test/{n}?{page}" for n in range(number)] for page in (A, B)}
    leased = leases(lease_all(store, crawler))
    submit(store, crawler, *(fetched_visit(leased[page], *targets) for page, targets in bonds.items()))
    assert {page: [link.url for link in store.outlinks(row(store, page).id)] for page in bonds} == bonds
    assert store.counts().links == 2 * number


def test_visiting_again_replaces_links_text_and_source(store: Store) -> None:
    crawler = start(store, A)
    submit(store, crawler, fetched_visit(lease_url(store, crawler, A), B, C))
    submit(store, crawler, fetched_visit(lease_again(store, crawler, A), C, D, body="new"))
    page = row(store, A)
    assert [link.url for link in store.outlinks(page.id)] == [C, D]
    assert store.source(page.id) == b"new"
    assert (store.counts().links, store.counts().documents, page.visits) == (2, 1, 2)


def test_not_modified_keeps_the_content(store: Store) -> None:
    crawler = start(store, A)
    submit(store, crawler, fetched_visit(lease_url(store, crawler, A), B))
    submit(store, crawler, ended_visit(lease_again(store, crawler, A), Outcome.NOT_MODIFIED, State.VISITED, status=304))
    page = row(store, A)
    assert (page.outcome, page.status, page.title, page.etag) == ("not modified", 304, "A title", '"e"')
    assert store.source(page.id) == b"a body"
    assert row(store, B).backlinks == 1


def test_a_page_that_failed_once_keeps_its_content(store: Store) -> None:
    crawler = start(store, A)
    submit(store, crawler, fetched_visit(lease_url(store, crawler, A), B))
    submit(
        store, crawler, ended_visit(lease_again(store, crawler, A), Outcome.TIMEOUT, State.FAILED, reason="no answer")
    )
    assert (row(store, A).state, row(store, A).reason) == ("failed", "no answer")
    assert store.text(row(store, A).id) is not None
    assert store.counts().links == 1


def test_a_gone_page_loses_its_content_and_links(store: Store) -> None:
    crawler = start(store, A)
    submit(store, crawler, fetched_visit(lease_url(store, crawler, A), B))
    submit(store, crawler, gone_visit(lease_again(store, crawler, A)))
    submit(store, crawler, gone_visit(lease_again(store, crawler, A)))
    page = row(store, A)
    assert (page.state, page.title, page.etag) == ("gone", "", "")
    assert store.text(page.id) is None
    assert store.source(page.id) is None
    assert (store.counts().links, store.counts().documents, row(store, B).backlinks) == (0, 0, 0)


def test_submit_returns_the_state_of_the_web(store: Store) -> None:
    crawler = start(store, A)
    lease = lease_url(store, crawler, A)
    submitted = store.submit(
        crawler, VisitBatch(visits=[fetched_visit(lease, B, C)]), Policy(host="a.test"), time.time()
    )
    assert (submitted.known, submitted.open, submitted.lost) == (3, 2, 0)
    assert submitted.version == store.version() == row(store, A).version
    assert row(store, B).version == 0, "known but not visited"


def test_an_error_during_admission_leaves_no_rows(store: Store) -> None:
    class BrokenError(Exception):
        pass

    def fail(candidates: object) -> list[object]:
        raise BrokenError

    crawler = start(store, A)
    lease = lease_url(store, crawler, A)
    with pytest.raises(BrokenError):
        store.submit(crawler, VisitBatch(visits=[fetched_visit(lease, B)]), fail, time.time())  # type: ignore[arg-type]
    assert store.resource(digest(B)) is None
    assert state(store, A) == "leased"
    submit(store, crawler, fetched_visit(lease, B))
    assert state(store, B) == "queued"


# -- backlinks ---------------------------------------------------------------------------------------------------------


def test_backlinks_count_other_pages_once_each_and_no_embeds(store: Store) -> None:
    crawler = start(store, A, B)
    leased = leases(lease_all(store, crawler))
    picture = Bond(D, Kind.IMAGE)
    submit(
        store, crawler, fetched_visit(leased[A], A, C, Bond(C, anchor="x"), B, picture), fetched_visit(leased[B], C, B)
    )
    assert {url: row(store, url).backlinks for url in (A, B, C, D)} == {A: 0, B: 1, C: 2, D: 0}


def test_backlinks_change_with_the_links_of_a_page(store: Store) -> None:
    crawler = start(store, A)
    submit(store, crawler, fetched_visit(lease_url(store, crawler, A), B, C))
    submit(store, crawler, fetched_visit(lease_again(store, crawler, A), C, D))
    assert [row(store, url).backlinks for url in (B, C, D)] == [0, 1, 1]


def test_links_can_be_followed_and_counted_without_being_stored(store: Store) -> None:
    crawler = start(store, A)
    submit(store, crawler, fetched_visit(lease_url(store, crawler, A), B, B), keep_links=False)
    assert (store.counts().links, row(store, B).backlinks, row(store, B).state) == (0, 1, "queued")
    submit(store, crawler, fetched_visit(lease_again(store, crawler, A), B), keep_links=False)
    assert row(store, B).backlinks == 1


def test_with_order_best_pages_with_more_backlinks_come_first(store: Store) -> None:
    crawler = start(store, A, B, settings='{"order": "best"}')
    leased = leases(lease_all(store, crawler))
    submit(store, crawler, fetched_visit(leased[A], C, D), fetched_visit(leased[B], D))
    assert [lease.url for lease in lease_all(store, crawler)[0].leases] == [D, C]


# -- admission ---------------------------------------------------------------------------------------------------------


def test_only_new_targets_are_judged(store: Store) -> None:
    policy = Policy(host="a.test")
    crawler = start(store, A, admit=policy)
    site = {A: [B, C, "http://x.test/"], B: [A, C, "http://x.test/"], C: [A, B, "http://x.test/"]}
    visit_all(store, crawler, site, admit=policy)
    assert sorted(one.url for one in policy.candidates) == [A, B, C, "http://x.test/"]


@pytest.mark.parametrize(
    "weak",
    [Bond(C, Kind.IMAGE), Bond(C, follow=False), Bond(C, Kind.STYLE, follow=False)],
    ids=["image", "nofollow", "nofollow style"],
)
def test_a_known_resource_is_queued_when_a_real_link_is_found(store: Store, weak: Bond) -> None:
    policy = Policy()
    crawler = start(store, A, B, admit=policy)
    leased = leases(lease_all(store, crawler))
    submit(store, crawler, fetched_visit(leased[A], weak), admit=policy)
    assert state(store, C) == "known"
    submit(store, crawler, fetched_visit(leased[B], C), admit=policy)
    assert (state(store, C), row(store, C).reason) == ("queued", "")


def test_a_weaker_link_does_not_change_the_reason_of_a_resource(store: Store) -> None:
    policy = Policy(host="a.test")
    crawler = start(store, A, B, admit=policy)
    leased = leases(lease_all(store, crawler))
    submit(store, crawler, fetched_visit(leased[A], "http://x.test/"), admit=policy)
    submit(store, crawler, fetched_visit(leased[B], Bond("http://x.test/", Kind.IMAGE)), admit=policy)
    assert row(store, "http://x.test/").reason == "another host"


def test_admission_of_a_known_resource_includes_its_backlinks(store: Store) -> None:
    policy = Policy()
    crawler = start(store, A, B, admit=policy)
    leased = leases(lease_all(store, crawler))
    submit(store, crawler, fetched_visit(leased[A], Bond(C, follow=False)), admit=policy)
    submit(store, crawler, fetched_visit(leased[B], C), admit=policy)
    assert [one.backlinks for one in policy.candidates if one.url == C] == [0, 1]


def test_entries_of_a_sitemap_are_one_hop_further(store: Store) -> None:
    policy = Policy()
    listing = Bond("http://a.test/sitemap-2.xml", Kind.SITEMAP_FILE)
    crawler = start(store, A, admit=policy)
    submit(store, crawler, fetched_visit(lease_url(store, crawler, A), Bond(B, Kind.SITEMAP_FILE)), admit=policy)
    submit(store, crawler, fetched_visit(lease_url(store, crawler, B), listing), admit=policy)
    lease = lease_url(store, crawler, listing.url)
    assert (lease.role, lease.hops) == (Role.SITEMAP, 1)


def test_a_weak_and_a_strong_link_in_one_batch_make_one_queued_page(store: Store) -> None:
    policy = Policy(check=True)
    crawler = start(store, A, admit=policy)
    strong = fetched_visit(lease_url(store, crawler, A), Bond(C, Kind.IMAGE), C, Bond(C, follow=False))
    submit(store, crawler, strong, admit=policy)
    assert (state(store, C), row(store, C).role) == ("queued", "page")


def test_an_image_out_of_scope_as_a_link_can_still_be_checked(store: Store) -> None:
    policy = Policy(host="a.test", check=True)
    crawler = start(store, A, B, admit=policy)
    leased = leases(lease_all(store, crawler))
    submit(store, crawler, fetched_visit(leased[A], "http://x.test/p.png"), admit=policy)
    submit(store, crawler, fetched_visit(leased[B], Bond("http://x.test/p.png", Kind.IMAGE)), admit=policy)
    assert (state(store, "http://x.test/p.png"), row(store, "http://x.test/p.png").role) == ("queued", "check")


def test_a_checked_resource_becomes_a_page_when_a_link_is_found(store: Store) -> None:
    policy = Policy(check=True)
    crawler = start(store, A, B, admit=policy)
    leased = leases(lease_all(store, crawler))
    submit(store, crawler, fetched_visit(leased[A], Bond(C, Kind.MEDIA)), admit=policy)
    check = lease_url(store, crawler, C)
    submit(store, crawler, ended_visit(check, Outcome.CHECKED, State.VISITED), admit=policy)
    assert state(store, C) == "visited"
    submit(store, crawler, fetched_visit(leased[B], C), admit=policy)
    assert lease_url(store, crawler, C).role is Role.PAGE


def test_a_link_found_during_a_check_makes_the_target_a_page(store: Store) -> None:
    policy = Policy(check=True)
    crawler = start(store, A, B, admit=policy)
    leased = leases(lease_all(store, crawler))
    submit(store, crawler, fetched_visit(leased[A], Bond(C, Kind.MEDIA)), admit=policy)
    check = lease_url(store, crawler, C)
    submit(store, crawler, fetched_visit(leased[B], C), admit=policy)
    submit(store, crawler, ended_visit(check, Outcome.CHECKED, State.VISITED), admit=policy)
    assert lease_url(store, crawler, C).role is Role.PAGE


def test_two_stores_on_one_web_agree_on_known_resources(open_store: Open) -> None:
    """Each store has its own cache."""
    one, two = open_store(), open_store()
    first = start(one, "http://a.test/", "http://b.test/")
    second = join(two)
    here = leases(lease_all(one, first, hosts=1))
    there = leases(lease_all(two, second))
    shared = [f"http://c.test/{n}" for n in range(50)]
    for store, crawler, leased in ((one, first, here), (two, second, there)):
        for lease in leased.values():
            submit(store, crawler, fetched_visit(lease, *shared))
    assert {row(one, url).backlinks for url in shared} == {2}
    assert one.counts().resources == two.counts().resources
    assert sum(one.counts().resources.values()) == 52


# -- redirects ---------------------------------------------------------------------------------------------------------


def test_a_redirect_is_a_link_and_its_target_has_the_same_depth(store: Store) -> None:
    policy = Policy(max_depth=0)
    crawler = start(store, A, admit=policy)
    submit(store, crawler, redirected_visit(lease_url(store, crawler, A), B), admit=policy)
    lease = lease_url(store, crawler, B)
    assert (lease.depth, lease.hops) == (0, 1)
    (link,) = store.outlinks(row(store, A).id)
    assert (link.url, link.kind) == (B, "redirect")
    assert (row(store, A).outcome, row(store, B).backlinks) == ("redirected", 1)


def test_redirects_are_stored_even_when_links_are_not(store: Store) -> None:
    crawler = start(store, A)
    submit(store, crawler, redirected_visit(lease_url(store, crawler, A), B), keep_links=False)
    assert [link.url for link in store.outlinks(row(store, A).id)] == [B]


def test_a_redirect_to_itself_is_a_loop(store: Store) -> None:
    crawler = start(store, A)
    submit(store, crawler, redirected_visit(lease_url(store, crawler, A), A))
    page = row(store, A)
    assert (page.state, page.outcome, page.reason) == ("failed", "redirect loop", f"redirect loop: {A} → {A}")


def test_a_loop_over_several_redirects_is_found_when_it_closes(store: Store) -> None:
    crawler = start(store, A)
    for source, target in ((A, B), (B, C)):
        submit(store, crawler, redirected_visit(lease_url(store, crawler, source), target))
    submit(store, crawler, redirected_visit(lease_url(store, crawler, C), A))
    assert [state(store, url) for url in (A, B, C)] == ["visited", "visited", "failed"]
    assert row(store, C).reason == f"redirect loop: {C} → {A} → {B} → {C}"


def test_a_loop_within_one_batch_is_found(store: Store) -> None:
    crawler = start(store, A, B)
    leased = leases(lease_all(store, crawler))
    submit(store, crawler, redirected_visit(leased[A], B), redirected_visit(leased[B], A))
    assert [row(store, url).outcome for url in (A, B)] == ["redirected", "redirect loop"]


def test_a_redirect_into_a_loop_of_others_is_no_loop_itself(store: Store) -> None:
    crawler = start(store, A, B, C)
    leased = leases(lease_all(store, crawler))
    submit(
        store, crawler, redirected_visit(leased[A], B), redirected_visit(leased[B], A), redirected_visit(leased[C], A)
    )
    assert row(store, C).outcome == "redirected"


def test_a_former_redirect_closes_no_loop(store: Store) -> None:
    crawler = start(store, A, B)
    leased = leases(lease_all(store, crawler))
    submit(store, crawler, redirected_visit(leased[A], B), fetched_visit(leased[B]))
    requeue(store)
    leased = leases(lease_all(store, crawler))
    submit(store, crawler, redirected_visit(leased[B], A), fetched_visit(leased[A]))
    assert [row(store, url).outcome for url in (A, B)] == ["fetched", "redirected"]


def test_texts_with_any_characters_are_read_as_written(store: Store) -> None:
    """PostgreSQL rejects a NUL in a text; there it is replaced, as in HTML."""
    odd = "tab\there, line\nthere, \\N and \\. and {braces}, \"quotes\", 'more', \r\n\u2028 ☃ \x01 and \0 nothing"
    crawler = start(store, A)
    submit(store, crawler, fetched_visit(lease_url(store, crawler, A), Bond(B, anchor=odd), title=odd))
    texts = {row(store, A).title, *(link.anchor for link in store.outlinks(row(store, A).id))}
    assert texts in ({odd}, {odd.replace("\0", "\ufffd")})
