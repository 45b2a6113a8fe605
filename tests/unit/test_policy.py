"""The pure decisions of a crawl."""

from __future__ import annotations

import pytest

from gossamer.config import CrawlSettings, PolitenessSettings
from gossamer.crawl import policy, visits
from gossamer.crawl.policy import AdmissionPolicy
from gossamer.model import Admission, Candidate, FetchResult, Kind, Outcome, Request, Role, State
from gossamer.store.values import Counts, Round, WaitingHost
from gossamer.urls.canonical import UrlRules, url_digest
from gossamer.urls.scope import Scope

SEED = "https://example.org/"
POLITE = PolitenessSettings()


def candidate(
    url: str, kind: Kind = Kind.HYPERLINK, *, follow: bool = True, depth: int = 1, anchor: str = ""
) -> Candidate:
    return Candidate(url=url, digest=url_digest(url), kind=kind, follow=follow, depth=depth, anchor=anchor)


def admit(settings: CrawlSettings, *candidates: Candidate) -> list[Admission]:
    return AdmissionPolicy(settings, Scope(settings, [SEED]))(candidates)


def test_a_page_of_the_seeds_host_is_queued() -> None:
    [admission] = admit(CrawlSettings(), candidate("https://example.org/a"))
    assert (admission.state, admission.role) == (State.QUEUED, Role.PAGE)


def test_a_page_of_another_host_is_out_of_scope_with_a_reason() -> None:
    [admission] = admit(CrawlSettings(), candidate("https://example.com/"))
    assert admission.state is State.OUT_OF_SCOPE
    assert admission.reason


def test_embeds_are_known_and_not_queued() -> None:
    [admission] = admit(CrawlSettings(), candidate("https://example.org/a.png", Kind.IMAGE))
    assert admission.state is State.KNOWN


@pytest.mark.parametrize("check", ["embeds", "all"])
def test_embeds_are_checked_when_enabled(check: str) -> None:
    settings = CrawlSettings(check=check)  # type: ignore[arg-type]
    [admission] = admit(settings, candidate("https://cdn.example.net/a.png", Kind.IMAGE))
    assert (admission.state, admission.role) == (State.QUEUED, Role.CHECK)


@pytest.mark.parametrize("check", ["external", "all"])
def test_external_pages_are_checked_when_enabled(check: str) -> None:
    settings = CrawlSettings(check=check)  # type: ignore[arg-type]
    [admission] = admit(settings, candidate("https://example.com/"))
    assert (admission.state, admission.role) == (State.QUEUED, Role.CHECK)


def test_an_excluded_page_of_the_seeds_host_is_not_external() -> None:
    settings = CrawlSettings(check="external", exclude=("/private/",))
    [admission] = admit(settings, candidate("https://example.org/private/x"))
    assert admission.state is State.OUT_OF_SCOPE


def test_a_nofollow_link_is_known_and_not_queued() -> None:
    [admission] = admit(CrawlSettings(), candidate("https://example.org/a", follow=False))
    assert (admission.state, admission.reason) == (State.KNOWN, "nofollow")


def test_a_nofollow_link_is_queued_when_robots_are_not_obeyed() -> None:
    [admission] = admit(CrawlSettings(robots=False), candidate("https://example.org/a", follow=False))
    assert admission.state is State.QUEUED


def test_pages_beyond_the_depth_limit_are_not_queued() -> None:
    settings = CrawlSettings(max_depth=2)
    at, beyond = admit(
        settings, candidate("https://example.org/a", depth=2), candidate("https://example.org/b", depth=3)
    )
    assert (at.state, beyond.state) == (State.QUEUED, State.KNOWN)
    assert "2" in beyond.reason


def sitemap(url: str, hops: int) -> Candidate:
    return Candidate(url=url, digest=url_digest(url), kind=Kind.SITEMAP_FILE, follow=True, depth=0, hops=hops)


@pytest.mark.parametrize(
    ("url", "state"),
    [
        ("https://example.org/sitemap.xml", State.QUEUED),
        ("https://example.com/sitemap.xml", State.OUT_OF_SCOPE),
        ("https://www.example.org/sitemap.xml", State.QUEUED),
    ],
)
def test_a_foreign_sitemap_named_in_robots_txt_must_be_in_scope(url: str, state: State) -> None:
    named = visits.sitemap_candidate(url, "https://example.org/robots.txt", UrlRules())
    [admission] = admit(CrawlSettings(), named)
    assert admission.state is state
    if state is State.QUEUED:
        assert admission.role is Role.SITEMAP


def test_a_prefix_does_not_apply_to_the_sitemaps_of_a_host() -> None:
    settings = CrawlSettings(scope="prefix")
    named = visits.sitemap_candidate("https://example.org/map.xml", "https://example.org/robots.txt", UrlRules())
    [admission] = AdmissionPolicy(settings, Scope(settings, ["https://example.org/docs/"]))([named])
    assert (admission.state, admission.role) == (State.QUEUED, Role.SITEMAP)


def test_a_sitemap_named_by_another_sitemap_must_be_in_scope() -> None:
    [admission] = admit(CrawlSettings(), sitemap("https://cdn.example.net/more.xml", hops=1))
    assert admission.state is State.OUT_OF_SCOPE
    [admission] = admit(CrawlSettings(), sitemap("https://example.org/more.xml", hops=1))
    assert (admission.state, admission.role) == (State.QUEUED, Role.SITEMAP)


def test_sitemap_nesting_is_limited() -> None:
    [admission] = admit(CrawlSettings(), sitemap("https://example.org/deep.xml", hops=policy.MAX_SITEMAP_NESTING + 1))
    assert admission.state is State.KNOWN


def test_breadth_prefers_the_shallow_and_depth_the_deep() -> None:
    links = candidate("https://example.org/a", depth=1), candidate("https://example.org/b", depth=5)
    shallow, deep = admit(CrawlSettings(order="breadth"), *links)
    assert shallow.priority > deep.priority
    shallow, deep = admit(CrawlSettings(order="depth"), *links)
    assert deep.priority > shallow.priority


def test_a_topic_prefers_links_with_its_words() -> None:
    settings = CrawlSettings(order="best", topic="spider silk")
    near, far = admit(
        settings,
        candidate("https://example.org/a", anchor="How spiders, or a spider, spin silk", depth=4),
        candidate("https://example.org/b", anchor="Contact", depth=1),
    )
    assert near.priority > far.priority


def test_words_of_the_url_count_for_the_topic() -> None:
    settings = CrawlSettings(order="best", topic="spider silk")
    near, far = admit(settings, candidate("https://example.org/spider_silk"), candidate("https://example.org/beetles"))
    assert near.priority > far.priority


def test_copies_are_counted_by_host_and_content() -> None:
    copies = policy.CopyCounter(max_copies=2)
    excess = [copies.count_excess(1, b"same") for _ in range(5)]
    assert excess == [0, 0, 0, 3, 4]
    assert copies.count_excess(2, b"same") == 0
    assert copies.count_excess(1, b"other") == 0


def test_the_content_cache_is_bounded() -> None:
    copies = policy.CopyCounter(max_copies=2)
    for _ in range(3):
        copies.count_excess(1, b"often")
    for number in range(policy.MAX_CACHED_CONTENTS + 10):
        copies.count_excess(1, str(number).encode())
    assert copies.count_excess(1, b"often") == 3, "frequent content stays in the cache"


@pytest.mark.parametrize(
    ("outcome", "status", "tries", "state", "host_failure"),
    [
        (Outcome.FETCHED, 200, 0, State.VISITED, False),
        (Outcome.NOT_FOUND, 404, 0, State.GONE, False),
        (Outcome.HTTP_ERROR, 403, 0, State.FAILED, False),
        (Outcome.HTTP_ERROR, 500, 0, State.QUEUED, True),
        (Outcome.HTTP_ERROR, 500, 2, State.FAILED, True),
        (Outcome.THROTTLED, 429, 0, State.QUEUED, True),
        (Outcome.TIMEOUT, 0, 1, State.QUEUED, True),
        (Outcome.TIMEOUT, 0, 2, State.FAILED, True),
        (Outcome.TYPE, 200, 0, State.REFUSED, False),
        (Outcome.ADDRESS, 0, 0, State.REFUSED, False),
        (Outcome.TLS, 0, 0, State.FAILED, False),
        (Outcome.PARSER_CRASHED, 200, 0, State.FAILED, False),
    ],
)
def test_an_outcome_sets_the_state_and_host_failure(
    outcome: Outcome, status: int, tries: int, state: State, *, host_failure: bool
) -> None:
    verdict = policy.verdict(outcome, status, tries, retries=3)
    assert (verdict.state, verdict.host_failure) == (state, host_failure)


def test_every_outcome_leads_to_a_final_state() -> None:
    for outcome in Outcome:
        assert policy.verdict(outcome, 500, 5, 3).state in {State.VISITED, State.FAILED, State.REFUSED, State.GONE}


def test_the_default_pause_is_as_long_as_the_transfer_took() -> None:
    assert policy.pause_after(POLITE, own_delay=None, crawl_delay=None, transfer_seconds=2.0, is_local=False) == 2.0


def test_the_default_pause_has_a_floor_on_public_hosts_only() -> None:
    assert (
        policy.pause_after(POLITE, own_delay=None, crawl_delay=None, transfer_seconds=0.001, is_local=False)
        == POLITE.min_delay
    )
    assert policy.pause_after(POLITE, own_delay=None, crawl_delay=None, transfer_seconds=0.001, is_local=True) == 0.0


def test_a_crawl_delay_lengthens_the_users_pause_up_to_the_cap() -> None:
    assert policy.pause_after(POLITE, own_delay=0.0, crawl_delay=5.0, transfer_seconds=0.1, is_local=True) == 5.0
    assert policy.pause_after(POLITE, own_delay=9.0, crawl_delay=5.0, transfer_seconds=0.1, is_local=True) == 9.0
    assert (
        policy.pause_after(POLITE, own_delay=0.0, crawl_delay=1e9, transfer_seconds=0.1, is_local=True)
        == POLITE.max_crawl_delay
    )


def test_back_off_doubles_up_to_its_limit() -> None:
    waits = [policy.backoff(POLITE, failures) for failures in range(5)]
    assert waits == [0.0, 1.0, 2.0, 4.0, 8.0]
    assert policy.backoff(POLITE, 10_000) == POLITE.max_delay


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("", 0), ("120", 120), (" 5 ", 5), ("soon", 0), ("-3", 0), ("9" * 400, 86_400),
        ("Thu, 01 Jan 1970 00:20:00 GMT", 200), ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
    ],
)  # fmt: skip
def test_retry_after_is_parsed_and_capped(header: str, seconds: float) -> None:
    assert policy.retry_after(header, now=1000.0) == seconds


def test_a_host_is_unconnected_only_without_any_connection() -> None:
    for outcome in (Outcome.DNS, Outcome.CONNECT, Outcome.TIMEOUT):
        assert policy.is_unconnected(outcome, "")
        assert not policy.is_unconnected(outcome, "192.0.2.1"), (
            "a connection was made: the fault may be of this URL only"
        )
    assert not policy.is_unconnected(Outcome.ADDRESS, "")


# -- the end of a crawl ------------------------------------------------------------------------------------------------


def end_reason(
    *waiting: WaitingHost, queued: int = 0, leased: int = 0, pages: int = 0, limit: int | None = None,
    host_limit: int | None = None,
) -> str:  # fmt: skip
    counts = Counts(resources={"queued": queued, "leased": leased}, hosts=1, links=0, documents=0)
    current = Round(
        id=1, started_at=0.0, finished_at=None, settings="{}", seeds=(), joined=(), max_pages=limit,
        max_pages_per_host=host_limit, pages=pages,
    )  # fmt: skip
    return policy.decide_when_idle(waiting, counts=counts, current=current, now=100.0, patience=60.0).end_reason


def test_a_crawl_without_open_urls_is_complete() -> None:
    assert end_reason() == policy.COMPLETE


def test_urls_that_another_crawler_just_added_are_no_page_limit() -> None:
    assert end_reason(queued=3) == "", "it looks again"
    assert end_reason(queued=3, limit=100, pages=5) == ""
    assert end_reason(leased=1) == ""
    assert end_reason(queued=3, leased=1, limit=5, pages=5) == ""


def test_the_page_limit_is_a_reason_if_it_is_set_and_reached() -> None:
    assert end_reason(queued=3, limit=5, pages=5) == policy.PAGE_LIMIT
    assert end_reason(queued=3, host_limit=5) == policy.PAGE_LIMIT


def test_a_host_that_waits_too_long_ends_the_crawl() -> None:
    host = WaitingHost(host="a.test", queued=1, ready_at=1000.0, holder="", reason="waits")
    assert end_reason(host, queued=1) == "nothing can be visited within 60 s"


def fetched(outcome: Outcome, **headers: str) -> FetchResult:
    request = Request(id=1, url=SEED, role=Role.PAGE)
    return FetchResult(
        request=request, outcome=outcome, reason="", status=200, headers=headers, body=b"", milliseconds=1, address=""
    )


def test_a_body_refused_by_its_declared_length_uses_up_no_limit() -> None:
    assert policy.is_excess(fetched(Outcome.TOO_BIG))
    assert policy.is_excess(fetched(Outcome.TOO_SLOW))
    assert not policy.is_excess(fetched(Outcome.TOO_BIG, **{"content-length": "1000000000"}))
    assert not policy.is_excess(fetched(Outcome.FETCHED))
