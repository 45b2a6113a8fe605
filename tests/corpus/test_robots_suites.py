"""robots.txt against the outside suites: RFC 9309, Google's reference table, protego's tests."""

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


def differing(cases: list[Case]) -> set[str]:
    return {case["id"] for case in cases if read(case).allows(case["url"], case["user_agent"]) != case["allowed"]}


def test_all_cases_of_rfc_9309_hold() -> None:
    cases = rfc9309()["allowed_cases"]
    assert (len(cases), differing(cases)) == (53, set())


# Google wants a URL not yet percent-encoded not to match (3, 5), and "%62%61%7A" not to match "baz" (6), against
# RFC 9309 figure 4. The suite counts the three as optional.
GOOGLE_OPTIONAL = {"ID_Encoding/3", "ID_Encoding/5", "ID_Encoding/6"}


def test_googles_table_holds_but_for_its_optional_cases() -> None:
    cases = [case for case in google()["allowed_cases"] if not case["google_only"]]
    assert len(cases) == 72
    assert differing(cases) == GOOGLE_OPTIONAL


# Not wanted by the RFC: "/index.html" also standing for its directory, and lines cut after 16,664 bytes.
GOOGLE_OWN = {"GoogleOnly_IndexHTMLisDirectory/1", "GoogleOnly_LineTooLong/2", "GoogleOnly_LineTooLong/5"}


def test_of_googles_own_habits_all_but_three_are_shared() -> None:
    assert differing([case for case in google()["allowed_cases"] if case["google_only"]]) == GOOGLE_OWN


# Protego takes a group for ours when its name is the beginning of our product token or stands somewhere in our whole
# User-Agent; RFC 9309 §2.2.1 has the whole token compared. It also takes "disallow: http://..." for a path, which the
# grammar of RFC 9309 §2.2 does not.
PROTEGO_OWN = {
    "test_unicode_url_and_useragent/15",
    "test_with_absolute_urls/2",
    *(f"ua_precedence/{number}" for number in (3, 4, 13, 14, 16, 17)),
}


def test_protegos_cases_hold_but_for_those_against_the_rfc() -> None:
    cases = [case for case in protego()["allowed_cases"] if not case["beyond_rfc9309"]]
    assert len(cases) == 351
    assert differing(cases) == PROTEGO_OWN


def test_crawl_delays_are_read_as_by_protego() -> None:
    cases = protego()["crawl_delay"]
    assert len(cases) == 6
    delays = [read(case).for_product(case["user_agent"]).crawl_delay for case in cases]
    assert delays == [case["crawl_delay"] for case in cases]


def test_sitemaps_are_read_as_by_google_and_protego() -> None:
    cases = google()["sitemaps"] + protego()["sitemaps"]
    assert len(cases) == 4
    assert [case for case in cases if read(case).sitemaps != tuple(case["sitemaps"])] == []


def test_every_kind_of_line_end_is_read_alike() -> None:
    """Google counts lines; we look at what the same lines mean."""
    bodies = [bytes.fromhex(case["robots_hex"]) for case in google()["parse_stats"] if "lines" in case["name"]]
    assert len(bodies) == 5
    for body in bodies:
        rules = RobotsRules.parse(body)
        allowed = [rules.allows("/x", "foo"), rules.allows("/x", "bar"), rules.allows("/x", "other")]
        assert allowed == [True, False, True], body


def test_a_byte_order_mark_is_skipped_only_where_it_begins_the_file() -> None:
    """The user-agent line counts if the file begins with (a part of) a mark; in other places it spoils its line."""
    marks = {case["name"]: case for case in google()["parse_stats"] if "bom" in case["name"]}
    assert len(marks) == 5
    for name, case in marks.items():
        rules = RobotsRules.parse(bytes.fromhex(case["robots_hex"]) + b"Disallow: /\n")
        agent_read = not rules.allows("/elsewhere", "foo")
        allow_read = rules.allows("/AnyValue", "foo")
        assert (agent_read, allow_read) == (name != "bom-broken", name != "bom-in-middle"), name


ACCESS_RESULTS = {  # by "status" in the table: outcomes of fetching, and what they must mean
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


def test_every_outcome_of_fetching_robots_txt_means_what_the_rfc_says() -> None:
    assert set(access_rows("status")) == ACCESS_RESULTS.keys()
    for outcomes, meaning in ACCESS_RESULTS.values():
        assert {classify_robots_response(outcome, status) for outcome, status in outcomes} == {meaning}


def test_a_copy_is_used_for_24_hours_and_not_longer_also_of_a_host_that_is_held() -> None:
    assert access_rows("cache") == ["SHOULD NOT use a cached copy for more than 24 hours unless unreachable"]
    kept = Robots(host=1, scheme="https", outcome="rules", text="", fetched_at=0.0)
    leases = tuple(
        Lease(resource=n, host=1, url=f"https://example.org/{n}", role=Role.PAGE, depth=0, hops=0, tries=0)
        for n in range(2)
    )
    bench = Frontier(PolitenessSettings(), {}, product="Gossamer", obey_robots=True)
    taken = HostLease(host=1, name="example.org", ready_at=0.0, failures=0, robots=(kept,), leases=leases)
    bench.add_host_lease(taken, now=0.0)
    late = 24 * 3600.0
    assert isinstance(bench.next_work(late - 1), FetchUrl)
    bench.finish_transfer(leases[0], late - 1, transfer_seconds=0.1, address="192.0.2.1", has_failed=False, wait=0.0)
    assert isinstance(bench.next_work(late), FetchRobots)


def test_500_kib_of_a_file_are_read() -> None:
    assert access_rows("limit") == ["parse at least 500 KiB"]
    rule = "\nUser-agent: *\nDisallow: /private\n"
    body = f"{'#' * ((500 << 10) - len(rule))}{rule}".encode()
    assert not RobotsRules.parse(decode_robots(body)).allows("/private", "Gossamer")


def test_nothing_else_is_asked_of_access_but_what_other_tests_show() -> None:
    """UTF-8 and all kinds of line ends: see Google's cases."""
    named = {key for row in rfc9309()["access_results"] for key in row} - {"meaning"}
    assert named == {"status", "cache", "limit", "encoding", "eol"}
