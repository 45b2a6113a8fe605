"""Link extraction, base URLs, refreshes and compressed bodies, against the tests of Scrapy, w3lib and Nutch.

Where our policy differs, a comment gives the reason and the test asserts our result.
"""

from __future__ import annotations

from typing import Any

import pytest

from gossamer.model import Kind, Outcome
from gossamer.parse.charset import charset_by_label, charset_from_document, charset_from_header
from gossamer.parse.content_encoding import decode_body
from gossamer.parse.readers.html import read_html
from helpers.parse.jobs import page, rows
from helpers.patience import cpu_limit
from helpers.suites import suite, table

pytestmark = pytest.mark.shared

# Scrapy's extractor, default arguments --------------------------------------------------------------------------------


def scrapy_cases() -> list[dict[str, Any]]:
    cases = table("link-extraction", "scrapy_linkextractor_cases.json")
    return [case for case in cases if not case["extractor_args"]]


def extracted_links(case: dict[str, Any]) -> list[tuple[str, str, bool]]:
    kind = "application/xhtml+xml" if case["kind"] == "XmlResponse" else "text/html"
    charset = f"; charset={case['declared_encoding']}" if case["declared_encoding"] else ""
    parsed = page(case["body_latin1"].encode("latin-1"), kind + charset, url=case["url"])
    return [(row.url, row.anchor, not row.follow) for row in rows(parsed) if row.kind is Kind.HYPERLINK]


def test_links_urls_anchors_and_nofollow_agree_with_scrapy() -> None:
    cases = scrapy_cases()
    assert len(cases) == 11
    for case in cases:
        expected = [(link["url"].partition("#")[0], link["text"], link["nofollow"]) for link in case["links"]]
        links = extracted_links(case)
        if case["test"] == "test_ftp_links":
            assert links == []  # Gossamer cannot visit ftp
        elif case["test"] == "test_ignored_extensions":
            # Scrapy omits URLs that end like images; every <a> is a link here.
            assert links == [*expected, ("http://example.org/photo.jpg", "", False)]
        elif case["test"] == "test_extract_all_links":
            # Scrapy returns each target once with its first anchor, and areas without their alt text.
            assert {url: no for url, _, no in links} == {url: no for url, _, no in expected}
            assert set(expected) - set(links) == {("http://example.com/sample1.html", "", False)}
        else:
            assert links == expected, case["test"]


# w3lib ----------------------------------------------------------------------------------------------------------------


def w3lib(function: str) -> list[tuple[str, list[Any], dict[str, Any], Any]]:
    cases = table("link-extraction", "w3lib_html_encoding_cases.json")[function]
    return [(row["test"], [_value(value) for value in row["args"]], row["kwargs"], row["expected"]) for row in cases]


def _value(value: Any) -> Any:
    return value["bytes_latin1"].encode("latin-1") if isinstance(value, dict) else value


def _bytes(text: str | bytes) -> bytes:
    return text.encode() if isinstance(text, str) else text


def test_base_urls_agree_with_w3lib() -> None:
    compared = 0
    for test, (text, *urls), _, expected in w3lib("get_base_url"):
        url = _bytes(urls[0]).decode() if urls else "http://page.example/"
        html = _bytes(text)
        if b"<noscript" in html:
            continue  # Gossamer runs no scripts, so the content of <noscript> counts
        if "example_" in expected or "%a3" in expected:
            continue  # spelling ("_" in a host, case of %a3) is up to the URL standard: see test_url_suites
        base = read_html(html, url.rstrip("/") + "/", 10).bonds.base
        assert base.rstrip("/") == (expected or "http://page.example").rstrip("/"), test
        compared += 1
    assert compared >= 14


def test_refreshes_agree_with_w3lib() -> None:
    compared = 0
    for test, (html, url, *encoding), kwargs, (_, expected) in w3lib("get_meta_refresh"):
        if "noscript" in str(html) and not kwargs:
            continue  # the content of <noscript> counts here; the same page with ignore_tags=[] is compared
        if "inside_script" in test and kwargs:
            continue  # Gossamer never looks into a script
        charset = f"; charset={encoding[0]}" if encoding else ""
        parsed = page(_bytes(html), "text/html" + charset, url=url.rstrip("/") + ("/" if url.count("/") == 2 else ""))
        refreshes = [row.url for row in rows(parsed) if row.kind is Kind.REFRESH]
        if test == "test_nonascii_url_latin1_query":
            expected = expected.replace("%B5", "%C2%B5")  # noqa: PLW2901  queries are sent in UTF-8 here
        assert refreshes == ([expected] if expected else []), test
        compared += 1
    assert compared >= 23


def test_charsets_in_headers_agree_with_w3lib() -> None:
    for test, (header,), _, expected in w3lib("http_content_type_encoding"):
        charset = charset_from_header(header.removeprefix("Content-Type: ").strip())
        expected_charset = charset_by_label(expected) if expected else None
        assert charset == expected_charset, (test, header)


def test_charsets_in_documents_agree_with_w3lib() -> None:
    for test, (body,), _, expected in w3lib("html_body_declared_encoding"):
        if b"this isn't searched" in _bytes(body):
            continue  # w3lib stops at <body>; the standard's prescan does not (WHATWG HTML §13.2.3.2)
        charset, expected_charset = charset_from_document(_bytes(body)), charset_by_label(expected or "")
        assert (charset and charset.codec) == (expected_charset and expected_charset.codec), (test, body)


def test_labels_agree_with_w3lib() -> None:
    for _, (label,), _, expected in w3lib("resolve_encoding"):
        charset = charset_by_label(label)
        assert (charset.codec if charset else None) == expected


# Compressed bodies ----------------------------------------------------------------------------------------------------

COMPRESSED = {
    "html-br.bin": "br",
    "html-gzip.bin": "gzip",
    "html-gzip-deflate.bin": "gzip, deflate",
    "html-gzip-deflate-gzip.bin": "gzip, deflate, gzip",
    "html-rawdeflate.bin": "deflate",
    "html-zlibdeflate.bin": "deflate",
    "html-zstd-static-content-size.bin": "zstd",
    "html-zstd-static-no-content-size.bin": "zstd",
    "html-zstd-streaming-no-content-size.bin": "zstd",
}


def sample(name: str) -> bytes:
    return (suite("crawl-sites") / "scrapy/tests/sample_data/compressed" / name).read_bytes()


@pytest.mark.parametrize("name", COMPRESSED)
def test_pages_in_every_content_coding_are_decoded(name: str) -> None:
    body, outcome, reason = decode_body(sample(name), COMPRESSED[name], 1 << 20)
    assert (outcome, reason) == (Outcome.FETCHED, "")
    assert body.startswith(b"<!DOCTYPE HTML>")
    assert body.rstrip().endswith(b"</html>")


@pytest.mark.parametrize("coding", ["br", "deflate", "gzip", "zstd"])
def test_decompression_bombs_are_too_big(coding: str) -> None:
    assert decode_body(sample(f"bomb-{coding}.bin"), coding, 1 << 20).outcome is Outcome.TOO_BIG


@pytest.mark.parametrize("name", ["truncated-crc-error.gz", "truncated-crc-error-short.gz"])
def test_truncated_bodies_keep_the_received_part(name: str) -> None:
    body, outcome, reason = decode_body(sample(name), "gzip", 1 << 20)
    assert (outcome, reason) == (Outcome.FETCHED, "compressed body cut short")
    assert body.lstrip().startswith(b"<!DOCTYPE html")


def test_a_stream_with_an_unexpected_end_decodes_as_in_scrapy() -> None:
    expected = sample("unexpected-eof-output.txt").decode().encode("latin-1")
    assert decode_body(sample("unexpected-eof.gz"), "gzip", 1 << 20).body == expected


# Nutch ----------------------------------------------------------------------------------------------------------------


def test_nutch_trap_of_nested_inline_tags_parses_within_a_second() -> None:
    html = (suite("crawl-sites") / "nutch/src/testresources/fetch-test-site/nested_spider_trap.html").read_bytes()
    with cpu_limit(1):
        assert page(html).outcome is Outcome.FETCHED


def test_nutch_page_that_claims_to_be_unicode_is_read_as_utf_8() -> None:
    html = (suite("crawl-sites") / "nutch/src/testresources/fetch-test-site/exception.html").read_bytes()
    assert page(html).charset == "utf-8"
