"""robots.txt, X-Robots-Tag and meta robots."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gossamer.model import Outcome
from gossamer.urls.robots import (
    ALLOW_ALL,
    MAX_BYTES,
    RobotsRules,
    classify_robots_response,
    decode_robots,
    parse_directives,
)
from helpers.examples import scaled_examples
from helpers.patience import cpu_limit

# -- matching --------------------------------------------------------------------------------------------------------

PATTERNS = st.text(alphabet="ab/*$", min_size=1, max_size=8)
PATHS = st.text(alphabet="ab/", max_size=10).map("/{}".format)


def matches_by_regex(pattern: str, path: str) -> bool:
    """Return whether a pattern matches, by RFC 9309 §2.2.3 as a regular expression."""
    body, anchor = (pattern[:-1], "$") if pattern.endswith("$") else (pattern, "")
    expression = ".*".join(re.escape(part) for part in body.split("*"))
    return re.match(f"{expression}{anchor and chr(92) + 'Z'}", path, re.DOTALL) is not None


@settings(max_examples=scaled_examples(1000))
@given(PATTERNS, PATHS)
@example("/a*ab$", "/aab")
@example("/a*ab$", "/ab")
@example("/*a$", "/a")
@example("/a$", "/ab")
@example("*$", "/")
def test_a_pattern_matches_where_a_regular_expression_does(pattern: str, path: str) -> None:
    rules = RobotsRules.parse(f"User-agent: *\nDisallow: {pattern}")
    assert rules.allows(path, "bot") is not matches_by_regex(pattern, path)


@settings(max_examples=scaled_examples(1000))
@given(st.lists(st.tuples(PATTERNS, st.booleans()), max_size=6), PATHS)
@example([("/ab$", True), ("/*ab", False)], "/ab")
@example([("/ab", False), ("/*b", True)], "/ab")
def test_the_longest_match_wins_and_allow_at_a_tie(rules: list[tuple[str, bool]], path: str) -> None:
    lines = [f"{'Allow' if allow else 'Disallow'}: {pattern}" for pattern, allow in rules]
    matching = [(len(pattern), allow) for pattern, allow in rules if matches_by_regex(pattern, path)]
    expected = max(matching, default=(0, True))[1]
    assert RobotsRules.parse("\n".join(["User-agent: *", *lines])).allows(path, "bot") is expected


@pytest.mark.parametrize(
    ("pattern", "url", "matched"),
    [
        ("/ä", "http://h/%C3%A4", True),
        ("/%c3%a4", "http://h/%C3%A4", True),
        ("/%7Euser", "http://h/~user", True),
        ("/~user", "http://h/%7euser", True),
        ("/a%2Fb", "http://h/a/b", False),
        ("/a/b", "http://h/a%2Fb", False),
        ("/foo?u=https://x.org", "http://h/foo?u=https%3A%2F%2Fx.org", True),
        ("/foo?u=https%3A%2F%2Fx.org", "http://h/foo?u=https://x.org", True),
        ("/*?f[]=", "http://h/x?f%5B%5D=1", True),
        ("/a%2Ab", "http://h/a*b", True),
        ("/a%2Ab", "http://h/axb", False),
        ("/a%24", "http://h/a$", True),
        ("/a$b", "http://h/a$b", True),
        ("/a$", "http://h/a?x", False),
        ("/a", "http://h/A", False),
        ("a", "http://h/a", False),
        ("/100%", "http://h/100%", True),
        ("/x", "http://h/y#/x", False),
    ],
)
def test_octets_are_compared_as_in_rfc_9309(pattern: str, url: str, matched: bool) -> None:
    assert RobotsRules.parse(f"User-agent: *\nDisallow: {pattern}").allows(url, "bot") is not matched


def test_match_length_counts_the_octets_of_encoded_characters() -> None:
    plain, encoded = "Allow: /ツ", "Disallow: /%E3%83%84"
    assert RobotsRules.parse(f"User-agent: *\n{plain}\n{encoded}").allows("/%E3%83%84", "bot")
    longer = f"User-agent: *\n{encoded}\nAllow: /*abcd"  # 4 octets against 6
    assert RobotsRules.parse(longer).allows("/%E3%83%84abcd", "bot")


def test_robots_txt_itself_is_always_allowed() -> None:
    rules = RobotsRules.parse("User-agent: *\nDisallow: /")
    assert rules.allows("https://h/robots.txt", "bot")
    assert not rules.allows("https://h/robots.txt/x", "bot")


@pytest.mark.parametrize("pattern", ["/*a*a*a*a*a*a*a*a*a*a*a*b", "/" + "*a" * 900 + "*b", "/" + "*" * 2000 + "b$"])
def test_matching_takes_no_exponential_time(pattern: str) -> None:
    rules = RobotsRules.parse(f"User-agent: *\nDisallow: {pattern}").for_product("bot")
    with cpu_limit(0.5):  # takes 1 ms; backtracking would never end
        assert rules.allows("/" + "a" * 1990)


# -- groups ----------------------------------------------------------------------------------------------------------


def test_our_own_group_replaces_the_group_for_all() -> None:
    rules = RobotsRules.parse("User-agent: *\nDisallow: /all\n\nUser-agent: Gossamer\nDisallow: /ours\n")
    assert [rules.allows(path, "gossamer") for path in ("/all", "/ours")] == [True, False]
    assert [rules.allows(path, "other") for path in ("/all", "/ours")] == [False, True]


def test_groups_of_one_agent_are_combined() -> None:
    rules = RobotsRules.parse("User-agent: g\nDisallow: /a\nUser-agent: x\nDisallow: /b\nUser-agent: G\nDisallow: /c\n")
    assert [rules.allows(path, "g") for path in ("/a", "/b", "/c")] == [False, True, False]


@pytest.mark.parametrize("line", ["Gossamer", "gossamer/1.0", "GOSSAMER (+https://h/)", "gossamer bot"])
def test_a_user_agent_line_names_us_by_our_product_token(line: str) -> None:
    assert not RobotsRules.parse(f"User-agent: {line}\nDisallow: /").allows("/", "gossamer")


@pytest.mark.parametrize("line", ["gossamers", "gossamer2", "goss", "my-gossamer", ""])
def test_another_product_token_is_not_ours(line: str) -> None:
    assert RobotsRules.parse(f"User-agent: {line}\nDisallow: /").allows("/", "gossamer")


def test_a_group_without_rules_allows_its_agent_everything() -> None:
    rules = RobotsRules.parse("User-agent: *\nDisallow: /\nUser-agent: gossamer\nDisallow:\n")
    assert rules.allows("/x", "gossamer")


def test_other_records_do_not_end_a_list_of_agents() -> None:
    rules = RobotsRules.parse("User-agent: g\nSitemap: https://h/s\nFoo: bar\nUser-agent: h\nDisallow: /x")
    assert not rules.allows("/x", "g")
    assert not rules.allows("/x", "h")


def test_a_file_of_many_agents_sharing_many_rules_stays_small() -> None:
    agents = "".join(
        f"User-agent:{chr(97 + a)}{chr(97 + b)}{chr(97 + c)}\n" for a in range(26) for b in range(26) for c in range(20)
    )
    rules = "".join(f"Disallow:/{number}\n" for number in range(14_000))
    with cpu_limit(2):  # takes 0.1 s; a copy for each of 13,520 agents would take minutes and gigabytes
        parsed = RobotsRules.parse((agents + rules).encode())
        assert not parsed.allows("/13999", "zzt")


# -- reading ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("body", [b"", b"\x00\xff\xfe", b"<!doctype html><p>404", b"::::\n#\n:", b"\r\r\n\n"])
def test_an_invalid_robots_txt_allows_everything(body: bytes) -> None:
    assert RobotsRules.parse(body).allows("/x", "bot")


def test_a_robots_txt_is_cut_at_500_kib_between_rules() -> None:
    head = b"User-agent: *\nDisallow: /private\n"
    body = head + b"#" * (MAX_BYTES - len(head) - len(b"\nDisallow: /")) + b"\nDisallow: /open\n"
    rules = RobotsRules.parse(body)
    assert not rules.allows("/private", "bot")
    assert rules.allows("/x", "bot")  # the limit cuts the last line to "Disallow: /", which must not count
    assert len(decode_robots(body)) <= MAX_BYTES


def test_octets_that_are_not_utf8_match_their_percent_encoding() -> None:
    text = decode_robots(b"User-agent: *\nDisallow: /caf\xe9\n")
    assert text == "User-agent: *\nDisallow: /caf%E9\n"
    assert not RobotsRules.parse(text).allows("http://h/caf%e9", "bot")


@given(st.binary(max_size=300))
def test_any_bytes_give_rules_and_storable_text(body: bytes) -> None:
    text = decode_robots(body)
    assert text.encode("utf-8").decode("utf-8") == text
    assert RobotsRules.parse(body).allows("/robots.txt", "bot")


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("10", 10.0), ("0.5", 0.5), (".5", 0.5), ("0", 0.0), ("5 # polite", 5.0)]
    + [(bad, None) for bad in ("-1", "nan", "inf", "1e999", "9" * 400, "ten", "1_0", "5s", "")],
)
def test_a_crawl_delay_is_a_finite_number_of_seconds(value: str, seconds: float | None) -> None:
    assert RobotsRules.parse(f"User-agent: *\nCrawl-delay: {value}").for_product("bot").crawl_delay == seconds


def test_a_crawl_delay_is_for_the_agents_named_before_it() -> None:
    rules = RobotsRules.parse("User-agent: slow\nCrawl-delay: 9\nUser-agent: *\nDisallow: /x\n")
    assert [rules.for_product(product).crawl_delay for product in ("slow", "bot")] == [9.0, None]
    assert not rules.allows("/x", "slow")


def test_the_longest_of_several_crawl_delays_counts() -> None:
    rules = RobotsRules.parse(
        "User-agent: *\nCrawl-delay: 2\nCrawl-delay: 7\nDisallow: /x\nUser-agent: *\nCrawl-delay: 3\n"
    )
    assert rules.for_product("bot").crawl_delay == 7.0


def test_sitemaps_of_every_group_are_absolute_and_distinct() -> None:
    text = "Sitemap: https://h/1\nUser-agent: x\nSite-map: HTTPS://H/2#f\nSitemap: /3\nSitemap: ftp://h/4\nSitemap: https://h/1"
    assert RobotsRules.parse(text).sitemaps == ("https://h/1", "https://h/2")


def test_no_robots_txt_allows_everything() -> None:
    rules = ALLOW_ALL.for_product("bot")
    assert rules.allows("https://h/x")
    assert rules.crawl_delay is None


# -- meaning of a response -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("outcome", "status", "meaning"),
    [
        (Outcome.FETCHED, 200, "rules"),
        (Outcome.NOT_FOUND, 404, "unavailable"),
        (Outcome.HTTP_ERROR, 403, "unavailable"),
        (Outcome.TOO_MANY_REDIRECTS, 301, "unavailable"),
        (Outcome.BAD_REDIRECT, 302, "unavailable"),
        (Outcome.HTTP_ERROR, 429, "unreachable"),
        (Outcome.THROTTLED, 429, "unreachable"),
        (Outcome.HTTP_ERROR, 503, "unreachable"),
        (Outcome.TIMEOUT, 0, "unreachable"),
        (Outcome.TIMEOUT, 404, "unreachable"),
        (Outcome.BAD_ENCODING, 200, "unreachable"),
    ],
)
def test_a_response_means_rules_unavailable_or_unreachable(outcome: Outcome, status: int, meaning: str) -> None:
    assert classify_robots_response(outcome, status) == meaning


@pytest.mark.parametrize("outcome", [outcome for outcome in Outcome if outcome is not Outcome.FETCHED])
def test_only_a_fetched_robots_txt_gives_rules(outcome: Outcome) -> None:
    assert classify_robots_response(outcome, 200) in {"unavailable", "unreachable"}


# -- X-Robots-Tag and meta robots --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("header", "noindex", "nofollow"),
    [
        ("", False, False),
        ("noindex", True, False),
        ("NoFollow", False, True),
        ("noindex, nofollow", True, True),
        ("none", True, True),
        ("all, index, follow", False, False),
        ("gossamer: noindex", True, False),
        ("Gossamer : none", True, True),
        ("otherbot: noindex, nofollow", False, False),
        ("noindex, otherbot: nofollow", True, False),
        ("otherbot: nofollow\nnoindex", True, False),
        ("otherbot: noindex, gossamer: nofollow", False, True),
        ("bot2.0: none", False, False),
        ("unavailable_after: 25 Jun 2010 15:00:00 PST", False, False),
        ("unavailable_after: Friday, 25-Jun-10 15:00:00 UTC, noindex", True, False),
        ("unavailable_after: 2010-06-25T15:00:00+00:00, nofollow", False, True),
        ("otherbot: unavailable_after: 25 Jun 2010 15:00:00 PST, noindex", False, False),
        ("max-image-preview: none, max-snippet:-1", False, False),
        ("*: noindex", True, False),
    ],
)
def test_x_robots_tag_is_obeyed_when_it_addresses_us(header: str, noindex: bool, nofollow: bool) -> None:
    directives = parse_directives(header, [], "Gossamer")
    assert (directives.noindex, directives.nofollow) == (noindex, nofollow)


@pytest.mark.parametrize(
    ("name", "content", "noindex", "nofollow"),
    [
        ("robots", "noindex", True, False),
        ("ROBOTS", "NOINDEX,FOLLOW", True, False),
        (" robots ", " nofollow ", False, True),
        ("gossamer", "none", True, True),
        ("googlebot", "none", False, False),
        ("description", "noindex", False, False),
        ("robots", "index, follow, max-image-preview:none", False, False),
        ("robots", "noindex nofollow", True, True),
        ("robots", "noindex;nofollow", True, True),
    ],
)
def test_meta_robots_is_obeyed_when_it_addresses_us(name: str, content: str, noindex: bool, nofollow: bool) -> None:
    directives = parse_directives("", [(name, content)], "Gossamer")
    assert (directives.noindex, directives.nofollow) == (noindex, nofollow)


def test_header_and_meta_directives_add_up() -> None:
    directives = parse_directives("nofollow", [("robots", "index, follow"), ("gossamer", "noindex")], "gossamer")
    assert (directives.noindex, directives.nofollow) == (True, True)
