"""URLs: canonical form, key, digest, and typed input."""

from __future__ import annotations

import hashlib

import pytest
from ada_url import join_url
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gossamer.errors import UsageError
from gossamer.urls.canonical import (
    DEFAULT_RULES,
    UrlRules,
    authority,
    canonicalize,
    origin,
    scheme,
    url_digest,
    url_key,
    urls_from_input,
)
from helpers.examples import scaled_examples

BASE = "https://example.org/docs/guide/index.html?page=2"


@pytest.mark.parametrize(
    ("href", "url"),
    [
        ("intro.html", "https://example.org/docs/guide/intro.html"),
        ("../api/", "https://example.org/docs/api/"),
        ("/", "https://example.org/"),
        ("?page=3", "https://example.org/docs/guide/index.html?page=3"),
        ("", BASE),
        ("#top", BASE),
        ("//other.org/x", "https://other.org/x"),
        ("HTTP://Example.ORG:80/A/./b/../C", "http://example.org/A/C"),
        ("https://example.org:443", "https://example.org/"),
        ("https://example.org:8443/", "https://example.org:8443/"),
        ("a b\tc\nd", "https://example.org/docs/guide/a%20bcd"),
        ("ü?ü", "https://example.org/docs/guide/%C3%BC?%C3%BC"),
        ("https://BÜCHER.example/", "https://xn--bcher-kva.example/"),
        ("http://0x7f.1/", "http://127.0.0.1/"),
        ("a\ud800b", "https://example.org/docs/guide/a%EF%BF%BDb"),
    ],
)
def test_hrefs_resolve_as_in_a_browser_without_their_fragment(href: str, url: str) -> None:
    assert canonicalize(href, BASE) == url


@pytest.mark.parametrize(
    "href",
    [
        "mailto:a@example.org",
        "javascript:void(0)",
        "data:text/html,x",
        "ftp://example.org/x",
        "file:///etc/passwd",
        "tel:+4912345",
        "ws://example.org/",
        "http://",
        "https://exa mple.org/",
        "http://example.org:99999/",
        "http://[::1",
    ],
)
def test_hrefs_that_cannot_be_crawled_give_none(href: str) -> None:
    assert canonicalize(href, BASE) is None


def test_a_relative_href_without_a_base_gives_none() -> None:
    assert canonicalize("intro.html") is None


@pytest.mark.parametrize(
    ("href", "url"),
    [
        ("https://user:secret@example.org/x", "https://example.org/x"),
        ("https://user@example.org/", "https://example.org/"),
        ("https://a%40b:c@[::1]:8080/@x", "https://[::1]:8080/@x"),
        ("http://@h/", "http://h/"),
        ("https://example.org/@user?m=a@b", "https://example.org/@user?m=a@b"),
    ],
)
def test_credentials_never_get_into_the_canonical_form(href: str, url: str) -> None:
    assert canonicalize(href) == url


@pytest.mark.parametrize(
    "base",
    ["https://example.org/a/b?c=/d/", "https://example.org/", "https://example.org/a/?x", "http://h/a//b/", "http://h"],
)
@settings(max_examples=scaled_examples(500))
@given(href=st.text(alphabet="ab./?#:\\%@ \t&=hHtTpPsS", max_size=20))
@example(href="http:")
@example(href="http:?x")
@example(href="https:x")
@example(href="\t?x")
def test_the_cache_by_directory_changes_no_result(base: str, href: str) -> None:
    try:
        expected = join_url(base, href).partition("#")[0]
    except ValueError:
        expected = ""
    if not expected.startswith(("http://", "https://")):
        assert canonicalize(href, base) is None
    elif "@" not in expected:
        assert canonicalize(href, base) == expected


URLS = st.builds(
    "{}://{}/{}".format,
    st.sampled_from(["http", "https"]),
    st.sampled_from(["h", "example.org", "Example.ORG:80", "[::1]:8080", "u:p@h", "bücher.de"]),
    st.text(alphabet="aAzZ09-._~/?&=;%%%%2245eE[]|{}^*+ü#@:\\ ", max_size=40),
)
RULES = st.builds(
    UrlRules,
    query=st.sampled_from(["keep", "sort", "strip"]),
    drop_parameters=st.frozensets(st.sampled_from(["a", "A", "z", "0"]), max_size=2),
)


@settings(max_examples=scaled_examples(500))
@given(URLS)
@example("http://h/%%341%4%31")
def test_canonicalizing_twice_changes_nothing(text: str) -> None:
    url = canonicalize(text)
    assert url is None or canonicalize(url) == url


@settings(max_examples=scaled_examples(500))
@given(URLS, RULES)
@example("http://h/%%341%4%31", DEFAULT_RULES)
def test_the_key_of_a_key_is_the_same_key(text: str, rules: UrlRules) -> None:
    url = canonicalize(text)
    assert url is None or url_key(url_key(url, rules), rules) == url_key(url, rules)


@settings(max_examples=scaled_examples(500))
@given(URLS)
def test_a_key_is_a_canonical_url(text: str) -> None:
    url = canonicalize(text)
    assert url is None or canonicalize(url_key(url)) == url_key(url)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("http://h/%7Euser/%41", "http://h/~user/A"),
        ("http://h/a%2fb", "http://h/a%2Fb"),
        ("http://h/?f[]=1|2", "http://h/?f%5b%5D=1%7c2"),
        ("http://h/100%", "http://h/100%25"),
    ],
)
def test_spellings_of_one_url_share_a_key(one: str, other: str) -> None:
    assert url_key(one) == url_key(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("http://h/A", "http://h/a"),
        ("http://h/a%2Fb", "http://h/a/b"),
        ("http://h/a", "https://h/a"),
        ("http://h/a", "http://h/a/"),
        ("http://h/?a=1&b=2", "http://h/?b=2&a=1"),
        ("http://h/%2541", "http://h/A"),
    ],
)
def test_different_urls_have_different_keys(one: str, other: str) -> None:
    assert url_key(one) != url_key(other)


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        (UrlRules(query="sort"), "http://h/p;sid=1/q?a=9&b=2&b=1&sid=x"),
        (UrlRules(query="strip"), "http://h/p;sid=1/q"),
        (UrlRules(drop_parameters=frozenset({"sid"})), "http://h/p/q?b=2&b=1&a=9"),
        (UrlRules(query="sort", drop_parameters=frozenset({"b", "a", "sid"})), "http://h/p/q"),
        (UrlRules(drop_parameters=frozenset({"SID"})), "http://h/p;sid=1/q?b=2&sid=x&b=1&a=9"),
    ],
)
def test_rules_shape_the_key(rules: UrlRules, expected: str) -> None:
    assert url_key("http://h/p;sid=1/q?b=2&sid=x&&b=1&a=9", rules) == expected


def test_a_parameter_is_dropped_however_its_name_is_encoded() -> None:
    rules = UrlRules(drop_parameters=frozenset({"s:id é"}))
    assert url_key("http://h/?s%3aid+%C3%A9=1&%73:id%20%c3%A9&x", rules) == "http://h/?x"


def test_the_digest_is_128_bits_of_blake2b_of_the_key() -> None:
    expected = hashlib.blake2b(b"http://h/~a", digest_size=16).digest()
    assert url_digest("http://h/%7ea") == url_digest("http://h/~a") == expected


def test_the_digest_follows_the_rules() -> None:
    rules = UrlRules(query="strip")
    assert url_digest("http://h/?a", rules) == url_digest("http://h/?b", rules) != url_digest("http://h/?a")


@pytest.mark.parametrize(
    ("url", "parts"),
    [
        ("https://example.org/a?b=//c/", ("https", "example.org", "https://example.org")),
        ("http://localhost:8080/", ("http", "localhost:8080", "http://localhost:8080")),
        ("http://[::1]:8080/x", ("http", "[::1]:8080", "http://[::1]:8080")),
        ("http://h/", ("http", "h", "http://h")),
        ("https://h/", ("https", "h", "https://h")),
    ],
)
def test_a_url_has_a_scheme_an_authority_and_an_origin(url: str, parts: tuple[str, str, str]) -> None:
    assert (scheme(url), authority(url), origin(url)) == parts


@pytest.mark.parametrize(
    ("typed", "urls"),
    [
        ("https://example.org", ("https://example.org/",)),
        (" HTTP://example.org/x#y ", ("http://example.org/x",)),
        ("example.org/x", ("https://example.org/x", "http://example.org/x")),
        ("localhost:8000", ("https://localhost:8000/", "http://localhost:8000/")),
        ("127.0.0.1:8000/x", ("https://127.0.0.1:8000/x", "http://127.0.0.1:8000/x")),
        ("localhost:8000?q", ("https://localhost:8000/?q", "http://localhost:8000/?q")),
        ("[::1]:8080", ("https://[::1]:8080/", "http://[::1]:8080/")),
        ("//example.org/x", ("https://example.org/x", "http://example.org/x")),
        ("bücher.example", ("https://xn--bcher-kva.example/", "http://xn--bcher-kva.example/")),
    ],
)
def test_typed_text_becomes_the_urls_to_try(typed: str, urls: tuple[str, ...]) -> None:
    assert urls_from_input(typed) == urls


@pytest.mark.parametrize(
    "typed",
    [
        "",
        "  ",
        "http://",
        "https://:80/",
        "ftp://x",
        "http://exa mple",
        "exa mple",
        "file:///etc/passwd",
        "/etc/passwd",
        "./site",
        "~/site",
        "https://...",
        "mailto:a@b.org",
        "localhost:99999",
        "example.org:http",
        "http://\x1b[31m/",
        "a\udcff b",
    ],
)
def test_invalid_input_gives_one_printable_sentence_with_a_next_step(typed: str) -> None:
    with pytest.raises(UsageError) as error:
        urls_from_input(typed)
    sentence = str(error.value)
    assert sentence.isprintable()
    assert sentence.endswith(".")
    assert ";" in sentence  # the fault; the next step


@pytest.mark.parametrize("typed", ["https://me:secret@example.org/", "me:secret@example.org", "secret@example.org"])
def test_credentials_typed_in_a_url_are_refused_and_not_repeated(typed: str) -> None:
    with pytest.raises(UsageError) as error:
        urls_from_input(typed)
    assert "secret" not in str(error.value)
