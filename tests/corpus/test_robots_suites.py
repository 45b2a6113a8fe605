"""robots.txt against external suites: RFC 9309, Google's reference table, protego's tests."""

from __future__ import annotations

from typing import Any

import pytest

from gossamer.config import PolitenessSettings
from gossamer.crawl.frontier import FetchRobots, FetchUrl, Frontier
from gossamer.model import HostLease, Lease, Outcome, Robots, Role
from gossamer.urls.robots import RobotsRules, classify_robots_response, decode_robots
from helpers.suites import table

pytestmark = pytest.mark.shared

Case = dict[str, Any]


def google() -> Any:
    return table("robots-google", "google_robots_cases.json")


def rfc9309() -> Any:
    return table("robots-rfc9309", "rfc9309_cases.json")


def protego() -> Any:
    return table("robots-protego", "protego_cases.json")


def read(case: Case) -> RobotsRules:
    return RobotsRules.parse(case["robots"].encode("utf-8", "surrogateescape"))


def differing_cases(cases: list[Case]) -> set[str]:
    return {case["id"] for case in cases if read(case).allows(case["url"], case["user_agent"]) != case["allowed"]}


def test_all_cases_of_rfc_9309_pass() -> None:
    cases = rfc9309()["allowed_cases"]
    assert (len(cases), differing_cases(cases)) == (53, set())


# Google does not match a URL that is not percent-encoded yet (3, 5), nor "%62%61%7A" with "baz" (6), against RFC 9309
# figure 4. The suite calls the three optional.
GOOGLE_OPTIONAL = {"ID_Encoding/3", "ID_Encoding/5", "ID_Encoding/6"}


def test_google_cases_pass_except_the_optional_ones() -> None:
    cases = [case for case in google()["allowed_cases"] if not case["google_only"]]
    assert len(cases) == 72
    assert differing_cases(cases) == GOOGLE_OPTIONAL


# The RFC does not ask for this: "/index.html" standing for its directory, and lines cut after 16,664 bytes.
GOOGLE_ONLY = {"GoogleOnly_IndexHTMLisDirectory/1", "GoogleOnly_LineTooLong/2", "GoogleOnly_LineTooLong/5"}


def test_google_only_cases_pass_except_three() -> None:
    assert differing_cases([case for case in google()["allowed_cases"] if case["google_only"]]) == GOOGLE_ONLY


# Protego selects a group whose name begins our product token or occurs in our whole User-Agent. RFC 9309 §2.2.1
# compares whole tokens. Protego also accepts "disallow: http://..." as a path, which the grammar of RFC 9309 §2.2 does
# not.
PROTEGO_ONLY = {
    "test_unicode_url_and_useragent/15",
    "test_with_absolute_urls/2",
    *(f"ua_precedence/{number}" for number in (3, 4, 13, 14, 16, 17)),
}


def test_protego_cases_pass_except_those_against_the_rfc() -> None:
    cases = [case for case in protego()["allowed_cases"] if not case["beyond_rfc9309"]]
    assert len(cases) == 351
    assert differing_cases(cases) == PROTEGO_ONLY


def test_crawl_delays_agree_with_protego() -> None:
    cases = protego()["crawl_delay"]
    assert len(cases) == 6
    delays = [read(case).for_product(case["user_agent"]).crawl_delay for case in cases]
    assert delays == [case["crawl_delay"] for case in cases]


def test_sitemaps_agree_with_google_and_protego() -> None:
    cases = google()["sitemaps"] + protego()["sitemaps"]
    assert len(cases) == 4
    assert [case for case in cases if read(case).sitemaps != tuple(case["sitemaps"])] == []


def test_all_kinds_of_line_ends_are_equivalent() -> None:
    """Google counts lines; this test compares what the same lines mean."""
    bodies = [bytes.fromhex(case["robots_hex"]) for case in google()["parse_stats"] if "lines" in case["name"]]
    assert len(bodies) == 5
    for body in bodies:
        rules = RobotsRules.parse(body)
        allowed = [rules.allows("/x", "foo"), rules.allows("/x", "bar"), rules.allows("/x", "other")]
        assert allowed == [True, False, True], body


def test_a_byte_order_mark_is_skipped_only_at_the_start_of_the_file() -> None:
    """A mark (or part of it) at the start of the file is skipped; elsewhere it breaks its line."""
    marks = {case["name"]: case for case in google()["parse_stats"] if "bom" in case["name"]}
    assert len(marks) == 5
    for name, case in marks.items():
        rules = RobotsRules.parse(bytes.fromhex(case["robots_hex"]) + b"Disallow: /\n")
        agent_read = not rules.allows("/elsewhere", "foo")
        allow_read = rules.allows("/AnyValue", "foo")
        assert (agent_read, allow_read) == (name != "bom-broken", name != "bom-in-middle"), name


ACCESS_RESULTS = {  # "status" in the table -> fetch outcomes, and the required meaning
    "2xx": ([(Outcome.FETCHED, 200), (Outcome.FETCHED, 204), (Outcome.FETCHED, 206)], "rules"),
    "3xx": ([(Outcome.TOO_MANY_REDIRECTS, 301), (Outcome.REDIRECT_LOOP, 302)], "unavailable"),
    "4xx": (
        [
            (Outcome.NOT_FOUND, 404),
            (Outcome.NOT_FOUND, 410),
            *((Outcome.HTTP_ERROR, code) for code in (400, 401, 403, 451)),
        ],
        "unavailable",
    ),
    "5xx or network error": (
        [
            *((Outcome.HTTP_ERROR, code) for code in (500, 502, 503, 599)),
            (Outcome.THROTTLED, 503),
            *((fault, 0) for fault in (Outcome.DNS, Outcome.CONNECT, Outcome.TLS, Outcome.TIMEOUT, Outcome.BAD_HTTP)),
        ],
        "unreachable",
    ),
}


def access_rows(*keys: str) -> list[str]:
    return [row[key] for row in rfc9309()["access_results"] for key in keys if key in row]


def test_every_robots_txt_fetch_outcome_means_what_the_rfc_says() -> None:
    assert set(access_rows("status")) == ACCESS_RESULTS.keys()
    for outcomes, meaning in ACCESS_RESULTS.values():
        assert {classify_robots_response(outcome, status) for outcome, status in outcomes} == {meaning}


def test_a_cached_robots_txt_is_used_for_24_hours_even_for_a_leased_host() -> None:
    assert access_rows("cache") == ["SHOULD NOT use a cached copy for more than 24 hours unless unreachable"]
    robots = Robots(host=1, scheme="https", outcome="rules", text="", fetched_at=0.0)
    leases = tuple(
        Lease(resource=n, host=1, url=f"https://example.org/{n}", role=Role.PAGE, depth=0, hops=0, tries=0)
        for n in range(2)
    )
    frontier = Frontier(PolitenessSettings(), {}, product="Gossamer", obey_robots=True)
    leased = HostLease(host=1, name="example.org", ready_at=0.0, failures=0, robots=(robots,), leases=leases)
    frontier.add_host_lease(leased, now=0.0)
    late = 24 * 3600.0
    assert isinstance(frontier.next_work(late - 1), FetchUrl)
    frontier.finish_transfer(leases[0], late - 1, transfer_seconds=0.1, address="192.0.2.1", has_failed=False, wait=0.0)
    assert isinstance(frontier.next_work(late), FetchRobots)


def test_the_first_500_kib_of_robots_txt_are_read() -> None:
    assert access_rows("limit") == ["parse at least 500 KiB"]
    rule = "\nUser-agent: *\nDisallow: /private\n"
    body = f"{'#' * ((500 << 10) - len(rule))}{rule}".encode()
    assert not RobotsRules.parse(decode_robots(body)).allows("/private", "Gossamer")


def test_all_access_requirements_of_the_suite_are_covered() -> None:
    """Google's cases cover UTF-8 and all kinds of line ends."""
    keys = {key for row in rfc9309()["access_results"] for key in row} - {"meaning"}
    assert keys == {"status", "cache", "limit", "encoding", "eol"}
