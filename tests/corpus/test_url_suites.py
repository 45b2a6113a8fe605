"""URLs against external suites: WHATWG (web-platform-tests), RFC 3986, and the rules of other crawlers."""

from __future__ import annotations

from typing import Any

import pytest
from ada_url import join_url, normalize_url

from gossamer.urls.canonical import DEFAULT_RULES, UrlRules, authority, canonicalize, url_key
from helpers.suites import table

pytestmark = pytest.mark.shared

Case = dict[str, Any]


def cases(file: str) -> list[Case]:
    return [row for row in table("url-whatwg-wpt", file) if isinstance(row, dict)]


def usv(text: str) -> str:
    """Return a JavaScript string as the URL parser receives it."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def parse_with_ada(text: str, base: str | None) -> str | None:
    """Parse with the functions of ada_url that `canonical` uses."""
    try:
        return normalize_url(usv(text)) if base is None else join_url(usv(base), usv(text))
    except ValueError:
        return None


def expected_canonical(case: Case) -> str | None:
    """Return the expected canonical URL of a case: its http(s) href without fragment and credentials."""
    if case.get("failure") or case["protocol"] not in {"http:", "https:"}:
        return None
    whole: str = case["href"].partition("#")[0]
    secret = case["username"] + (f":{case['password']}" if case["password"] else "")
    return whole.replace(f"//{secret}@", "//", 1) if secret else whole


URL_TABLES = {
    "urltestdata.json": 891,
    "urltestdata-javascript-only.json": 1,
    "ada_extra_urltestdata.json": 28,
    "ada_long_urltestdata.json": 1,
}


@pytest.mark.parametrize(("file", "count"), URL_TABLES.items())
def test_every_url_parses_to_the_expected_href(file: str, count: int) -> None:
    rows = cases(file)
    wrong = [row for row in rows if parse_with_ada(row["input"], row.get("base")) != row.get("href")]
    assert (len(rows), wrong) == (count, [])


@pytest.mark.parametrize("file", URL_TABLES)
def test_canonical_form_is_the_href_without_fragment_and_credentials(file: str) -> None:
    rows = cases(file)
    wrong = [(row, canonicalize(row["input"], row.get("base"))) for row in rows]
    assert [pair for pair in wrong if pair[1] != expected_canonical(pair[0])] == []


def test_the_table_contains_visitable_and_other_urls() -> None:
    expected = [expected_canonical(row) for row in cases("urltestdata.json")]
    assert sum(url is not None for url in expected) == 247


@pytest.mark.parametrize(
    ("file", "count"), {"toascii.json": 87, "IdnaTestV2.json": 2670, "IdnaTestV2-removed.json": 20}.items()
)
def test_international_hosts_are_converted_to_ascii(file: str, count: int) -> None:
    rows = [row for row in cases(file) if row["input"]]  # as in WPT: no URL has an empty host to convert
    wrong = []
    for row in rows:
        url = canonicalize(f"https://{row['input']}/x")
        if (url and authority(url)) != row["output"] or (url and not url.endswith("/x")):
            wrong.append((row, url))
    assert (len(rows), wrong) == (count, [])


def test_query_characters_are_percent_encoded_as_utf8() -> None:
    """Only UTF-8 applies; the parser handles queries in a page's own encoding."""
    rows = [row for row in cases("percent-encoding.json") if "utf-8" in row["output"]]
    wrong = [row for row in rows if canonicalize(f"http://h/?{row['input']}") != f"http://h/?{row['output']['utf-8']}"]
    assert (len(rows), wrong) == (7, [])


# -- RFC 3986 and what other crawlers normalise ----------------------------------------------------------------------


def duplicate_key(url: str) -> str | None:
    """Return the key by which the store finds duplicates."""
    visited = canonicalize(url)
    return None if visited is None else url_key(visited)


def test_references_resolve_as_in_rfc_3986() -> None:
    """Section 5.4 except "http:g": the RFC allows both results, WHATWG chooses the other. Fragments are dropped."""
    rows = [row for row in table("url-normalisation", "rfc3986.json")["resolve_5_4"] if row["ref"] != "http:g"]
    wrong = []
    for row in rows:
        expected = row["result"].partition("#")[0]
        if expected == "http://g":
            expected = "http://g/"  # section 6.2.3: an empty path is "/"
        if canonicalize(row["ref"], row["base"]) != (expected if expected.startswith("http") else None):
            wrong.append(row)
    assert (len(rows), wrong) == (41, [])


def test_equivalent_urls_of_rfc_3986_share_a_key() -> None:
    rows = table("url-normalisation", "rfc3986.json")["normalise_6_2"]
    pairs = [
        [text.replace("eXAMPLE://", "http://").replace("example://", "http://") for text in pair]
        for pair in rows["equivalent"]
    ]
    pairs += [[f"http://h/{text}x" for text in pair] for pair in rows["percent_unreserved"]]
    pairs += [[f"http://h/{text.removeprefix('/')}" for text in pair] for pair in rows["remove_dot_segments"]]
    assert len(pairs) == 13
    assert [
        pair for pair in pairs if duplicate_key(pair[0]) is None or duplicate_key(pair[0]) != duplicate_key(pair[1])
    ] == []


def test_bubing_agrees_on_equal_and_different_urls() -> None:
    rows = table("url-normalisation", "bubing_burl.json")
    assert [
        pair
        for pair in rows["equal"]
        if duplicate_key(pair[0]) is None or duplicate_key(pair[0]) != duplicate_key(pair[1])
    ] == []
    assert [pair for pair in rows["not_equal"] if duplicate_key(pair[0]) == duplicate_key(pair[1])] == []
    assert [row for row in rows["resolve"] if canonicalize(row["ref"], row["base"]) != row["result"]] == []


OTHER_POLICY = {
    "http://a/\tb/": "WHATWG removes tabs, BUbiNG encodes them",
    "http://www.example.com/a/c/../b/search?q=foobar^": "WHATWG leaves ^ in a query alone",
    "http://www.example.com/a/c/../b/search?q=foobar`": "WHATWG leaves ` in a query alone",
    "https://www.example.org./": "a trailing dot makes another host name",
    "https://straße.de/": "IDNA 2003; WHATWG uses UTS 46 non-transitional",
}


def normalisations() -> list[tuple[str, str]]:
    """Return (URL, normal form) pairs of Nutch, BUbiNG and w3lib that differ only in spelling."""
    nutch = table("url-normalisation", "nutch_basic.json")
    bubing = table("url-normalisation", "bubing_burl.json")["normalise"]
    w3lib = table("url-normalisation", "w3lib_url.json")["safe_url_string_idna"]
    pairs = [(row["url"], row["normalized"]) for row in nutch + bubing] + [
        (row["url"], row["expected"]) for row in w3lib
    ]
    return [(url, normal) for url, normal in pairs if canonicalize(url) is not None]


def test_urls_share_a_key_with_the_normal_forms_of_other_crawlers() -> None:
    pairs = [
        (url, normal)
        for url, normal in normalisations()
        if url not in OTHER_POLICY
        and "//" not in url.partition("://")[2]  # Nutch merges slashes, which distinguish paths
    ]
    assert len(pairs) > 100
    assert [
        (url, normal, duplicate_key(url)) for url, normal in pairs if duplicate_key(url) != duplicate_key(normal)
    ] == []


def test_urls_listed_under_another_policy_still_differ() -> None:
    differ = {url for url, normal in normalisations() if duplicate_key(url) != duplicate_key(normal)}
    assert OTHER_POLICY.keys() - differ == set()


VALUES_SORTED = "http://www.example.com/do?c=3&b=5&b=2&a=50"  # w3lib also sorts the values of one name


def test_sorted_queries_share_a_key_as_in_w3lib() -> None:
    rules = UrlRules(query="sort")
    calls = table("url-normalisation", "w3lib_url.json")["canonicalize_url"]
    pairs = [
        (canonicalize(call["args"][0]), canonicalize(call["expected"]))
        for call in calls
        if not call["kwargs"] and len(call["args"]) == 1 and isinstance(call["args"][0], str)  # not bytes
        if call["args"][0] != VALUES_SORTED
        if "space" not in call["args"][0]  # w3lib treats "+" and "%20" as equal
        if not call["expected"].endswith("=")  # w3lib writes "?c" as "?c="
    ]
    pairs = [(url, normal) for url, normal in pairs if url is not None]
    assert len(pairs) > 30
    assert [pair for pair in pairs if url_key(str(pair[0]), rules) != url_key(str(pair[1]), rules)] == []


def all_texts(value: Any) -> list[str]:
    """Return all strings within a JSON value."""
    if isinstance(value, str):
        return [value]
    values = value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
    return [text for item in values for text in all_texts(item)]


NORMALISATION_FILES = (
    "bubing_burl",
    "nutch_basic",
    "nutch_regex_default",
    "nutch_regex_scope1",
    "rfc3986",
    "w3lib_url",
)
RULES = (
    DEFAULT_RULES,
    UrlRules(query="sort"),
    UrlRules(query="strip"),
    UrlRules(drop_parameters=frozenset({"sid", "a", "c"})),
)


def test_canonical_form_and_key_are_idempotent_on_every_input() -> None:
    texts = [text for name in NORMALISATION_FILES for text in all_texts(table("url-normalisation", f"{name}.json"))]
    urls = [url for url in (canonicalize(text, "http://example.org/a/b?c") for text in texts) if url is not None]
    assert len(urls) > 900
    assert [url for url in urls if canonicalize(url) != url] == []
    assert [url for url in urls for rules in RULES if url_key(url_key(url, rules), rules) != url_key(url, rules)] == []
