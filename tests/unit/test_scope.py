"""Scope: the URLs that a crawl may visit."""

from __future__ import annotations

from typing import Any

import pytest

from gossamer.config import CrawlSettings
from gossamer.errors import UsageError
from gossamer.urls.scope import MAX_CACHED_HOSTS, Scope, is_same_site

SEED = "https://docs.example.co.uk/guide/start.html"


def scope(*seeds: str, **settings: Any) -> Scope:
    return Scope(CrawlSettings(**settings), seeds or (SEED,))


@pytest.mark.parametrize(
    ("seed", "url", "reason"),
    [
        (SEED, "https://docs.example.co.uk/", ""),
        (SEED, "http://docs.example.co.uk/x", ""),
        (SEED, "https://www.docs.example.co.uk/x", ""),
        ("https://www.example.org/", "https://example.org/", ""),
        (SEED, "https://example.co.uk/", "other host"),
        (SEED, "https://api.docs.example.co.uk/", "other host"),
        (SEED, "https://docs.example.co.uk:8443/", "other host"),
        ("http://localhost:8000/", "https://localhost:8000/x", ""),
        ("http://localhost:8000/", "http://localhost:8001/", "other host"),
        ("http://localhost:8000/", "http://localhost/", "other host"),
        ("http://[::1]:8000/", "http://[::1]:8000/x", ""),
    ],
)
def test_a_host_is_the_same_over_http_and_https_and_with_www(seed: str, url: str, reason: str) -> None:
    assert scope(seed).refusal(url) == reason


@pytest.mark.parametrize(
    ("seed", "url", "reason"),
    [
        (SEED, "https://shop.example.co.uk:8443/", ""),
        (SEED, "https://example.co.uk/", ""),
        (SEED, "https://other.co.uk/", "other domain"),
        ("https://one.github.io/", "https://two.github.io/", "other domain"),
        ("https://github.io/", "https://one.github.io/", "other domain"),
        ("http://10.0.0.1/", "http://10.0.0.1/x", ""),
        ("http://10.0.0.1/", "http://11.0.0.1/", "other domain"),
        ("http://[::1]:80/", "http://[::2]/", "other domain"),
        ("http://localhost:8000/", "http://localhost:8000/x", ""),
        ("http://localhost:8000/", "http://localhost:8001/", "other domain"),
        ("https://a.xn--bcher-kva.example/", "https://b.xn--bcher-kva.example/", ""),
    ],
)
def test_domain_scope_covers_the_registered_domain(seed: str, url: str, reason: str) -> None:
    assert scope(seed, scope="domain").refusal(url) == reason


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("https://docs.example.co.uk/guide/", ""),
        ("http://www.docs.example.co.uk/guide/deep/er.html?x", ""),
        ("https://docs.example.co.uk/guide", "outside the prefix"),
        ("https://docs.example.co.uk/", "outside the prefix"),
        ("https://docs.example.co.uk/?x=/guide/", "outside the prefix"),
        ("https://other.org/guide/", "outside the prefix"),
    ],
)
def test_a_prefix_is_the_seed_up_to_the_last_slash_of_its_path(url: str, reason: str) -> None:
    assert scope("https://docs.example.co.uk/guide/start.html?a=/b/c", scope="prefix").refusal(url) == reason


def test_each_of_several_seeds_brings_its_prefix() -> None:
    several = scope("https://h/a/", "https://h/b/", scope="prefix")
    assert [several.refusal(f"https://h/{part}/x") for part in "abc"] == ["", "", "outside the prefix"]


def test_scope_any_allows_every_host() -> None:
    assert scope(scope="any").refusal("http://elsewhere.example:1234/x") == ""


@pytest.mark.parametrize("mode", ["host", "domain", "prefix"])
@pytest.mark.parametrize(
    ("domain", "url", "inside"),
    [
        ("example.org", "https://example.org/", True),
        ("example.org", "https://a.b.example.org:8080/", True),
        ("example.org", "https://notexample.org/", False),
        ("*.Example.ORG.", "https://a.example.org/", True),
        ("bücher.example", "https://www.xn--bcher-kva.example/", True),
        ("localhost:8001", "http://localhost:8001/x", True),
        ("localhost:8001", "http://localhost:8002/x", False),
    ],
)
def test_extra_domains_are_in_scope_with_all_their_hosts(mode: str, domain: str, url: str, inside: bool) -> None:
    assert (scope(scope=mode, domains=(domain,)).refusal(url) == "") is inside


@pytest.mark.parametrize("domain", ["", "*", "https://example.org", "example.org/docs", "exa mple"])
def test_an_invalid_domain_is_refused(domain: str) -> None:
    with pytest.raises(UsageError, match="is not a domain"):
        scope(domains=(domain,))


def test_patterns_include_and_exclude() -> None:
    site_scope = scope("https://h/", include=(r"/docs/", r"\.html$"), exclude=(r"[?&]print=", r"/old/"))
    assert site_scope.refusal("https://h/docs/a") == ""
    assert site_scope.refusal("https://h/b.html") == ""
    assert site_scope.refusal("https://h/b.txt") == "not included"
    assert site_scope.refusal("https://h/docs/a?print=1") == "excluded by [?&]print="
    assert site_scope.refusal("https://h/docs/old/a") == "excluded by /old/"


@pytest.mark.parametrize("pattern", ["(", "[a-", "*x", "a{99999999999999999999}", "(" * 3000])
def test_a_bad_pattern_is_refused_with_the_error_position(pattern: str) -> None:
    with pytest.raises(UsageError) as error:
        scope(include=(pattern,))
    assert repr(pattern) in str(error.value)
    assert "at position" in str(error.value) or "too big" in str(error.value)


def test_a_long_url_is_refused_before_any_pattern_sees_it() -> None:
    slow_pattern = scope("https://h/", max_url_length=100, exclude=(r"(a|aa)+$",))
    assert slow_pattern.refusal("https://h/" + "a" * 100_000 + "b") == "URL too long"
    assert slow_pattern.refusal("https://h/" + "b" * 90) == ""


@pytest.mark.parametrize(
    ("path", "trapped"),
    [
        ("a/a/a", False),
        ("a/a/a/a", True),
        ("a/b/a/b/a/b/a/b", True),
        ("a/b/c/a/b/c/a/b/c", False),
        ("x/a/y/a/z/a/w/a/", True),
        ("a/b/c/d/e/f/g/h/i/j", False),
        ("a?x=/b/b/b/b/b/b", False),
        ("a//////b", True),
    ],
)
def test_a_segment_repeated_too_often_is_a_trap(path: str, trapped: bool) -> None:
    assert scope("https://h/").refusal(f"https://h/{path}") == ("repeating path segments" if trapped else "")


def test_the_limit_of_repeated_segments_is_a_setting() -> None:
    lenient = scope("https://h/", max_path_repeats=5)
    assert lenient.refusal("https://h" + "/a" * 5) == ""
    assert lenient.refusal("https://h" + "/a" * 6) == "repeating path segments"


def test_session_ids_are_not_refused() -> None:
    assert scope("https://h/").refusal("https://h/a;jsessionid=1F?PHPSESSID=2") == ""


@pytest.mark.parametrize("mode", ["host", "domain", "prefix"])
def test_the_target_of_a_seeds_redirect_joins_the_scope(mode: str) -> None:
    seed_scope = scope("https://old.example/", scope=mode)
    assert seed_scope.refusal("https://new.example/docs/x") != ""
    seed_scope.add("https://new.example/docs/")
    assert seed_scope.refusal("https://new.example/docs/x") == ""
    assert seed_scope.refusal("https://old.example/") == ""


def test_a_url_is_outside_only_if_its_host_alone_is_refused() -> None:
    site_scope = scope("https://h/", exclude=("ads",), max_url_length=60)
    assert site_scope.is_outside("https://neighbour/x")
    assert not site_scope.is_outside("https://h/x")
    assert not site_scope.is_outside("https://ads.neighbour/x")
    assert not site_scope.is_outside("https://neighbour/" + "x" * 60)


def test_the_host_cache_is_bounded() -> None:
    site_scope = scope("https://h/")
    for number in range(MAX_CACHED_HOSTS + 10):
        assert site_scope.refusal(f"https://{number}.example/") == "other host"
    assert site_scope.refusal("https://h/") == ""
    assert len(site_scope._prefix_cache) <= MAX_CACHED_HOSTS


@pytest.mark.parametrize(
    ("page", "asked", "expected"),
    [
        ("https://example.org/", "https://example.org/x", True),
        ("https://www.example.co.uk/", "https://api.example.co.uk/", True),
        ("https://one.co.uk/", "https://two.co.uk/", False),
        ("https://one.github.io/", "https://two.github.io/", False),
        ("http://127.0.0.1:1/", "http://127.0.0.1:2/", False),
        ("https://example.org/", "http://example.org/", True),
        ("http://example.org/", "https://example.org/", False),
    ],
)
def test_hosts_of_one_registered_domain_are_one_site(page: str, asked: str, expected: bool) -> None:
    assert is_same_site(page, asked) is expected
