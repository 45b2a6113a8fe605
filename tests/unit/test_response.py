"""How the header of a response decides what becomes of the request."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.basics.headers import parse_media_type
from gossamer.fetch.response import (
    ROBOTS_BYTES,
    ResponseHead,
    ResponseLimits,
    ResponseVerdict,
    clean_reason,
    judge_head,
    parse_head,
)
from gossamer.model import Outcome, Request, Role

URL = "https://example.org/a/page"
LIMITS = ResponseLimits(accept=frozenset({"text/html", "text/plain"}), max_bytes=1000)


def judge(response: ResponseHead, role: Role = Role.PAGE, etag: str = "") -> ResponseVerdict:
    return judge_head(Request(id=1, url=URL, role=role, etag=etag), response, LIMITS)


def head(status: int, **headers: str) -> ResponseHead:
    return ResponseHead(status, "Whatever", {name.replace("_", "-"): value for name, value in headers.items()})


def lines(text: str) -> list[bytes]:
    return [line.encode("latin-1") for line in text.replace("\n", "\r\n").splitlines(keepends=True)]


# -- parsing the header ----------------------------------------------------------------------------------------------


def test_header_field_names_become_lower_case() -> None:
    parsed = parse_head(lines("HTTP/1.1 200 OK\nContent-Type: text/html\nX-Odd:value  \n\n"))
    assert parsed == ResponseHead(200, "OK", {"content-type": "text/html", "x-odd": "value"})


def test_repeated_fields_are_joined() -> None:
    parsed = parse_head(lines("HTTP/1.1 200 OK\nLink: <a>\nlink: <b>\n\n"))
    assert parsed is not None
    assert parsed.headers == {"link": "<a>, <b>"}


def test_x_robots_tag_lines_stay_separate() -> None:
    parsed = parse_head(lines("HTTP/1.1 200 OK\nX-Robots-Tag: otherbot: nofollow\nx-robots-tag: noindex\n\n"))
    assert parsed is not None
    assert parsed.headers == {"x-robots-tag": "otherbot: nofollow\nnoindex"}


def test_the_first_value_of_a_repeated_single_value_field_wins() -> None:
    parsed = parse_head(lines("HTTP/1.1 302 Found\nLocation: /a\nLocation: /b\n\n"))
    assert parsed is not None
    assert parsed.headers == {"location": "/a"}


def test_a_folded_field_is_unfolded() -> None:
    parsed = parse_head(lines("HTTP/1.1 200 OK\nX-Long: one\n\ttwo\n three\n\n"))
    assert parsed is not None
    assert parsed.headers == {"x-long": "one two three"}


def test_interim_responses_and_trailers_are_ignored() -> None:
    text = "HTTP/1.1 103 Early Hints\nLink: <x>\n\nHTTP/1.1 404 Not Found\nA: b\n\nHTTP/1.1 200 OK: trailer\n"
    assert parse_head(lines(text)) == ResponseHead(404, "Not Found", {"a": "b"})


@pytest.mark.parametrize("text", ["", "HTTP/1.1 200 OK\n", "HTTP/1.1 200 OK\nA: b\n", "HTTP/1.1 1000 OK\n\n", "x\n\n"])
def test_an_incomplete_header_parses_to_none(text: str) -> None:
    assert parse_head(lines(text)) is None


def test_a_status_line_without_a_reason_phrase_is_valid() -> None:
    assert parse_head(lines("HTTP/1.1 200\n\n")) == ResponseHead(200, "", {})


@given(st.lists(st.binary(min_size=1, max_size=40)), st.integers(100, 999), st.sampled_from(Role))
def test_any_header_is_judged_without_an_exception(rest: list[bytes], status: int, role: Role) -> None:
    fields = [b"Location: ", b"Content-Length: ", b"Content-Type: ", b""]
    noise = [fields[number % 4] + line + b"\r\n" for number, line in enumerate(rest)]
    parsed = parse_head([b"HTTP/1.1 %d x\r\n" % status, *noise, b"\r\n"])
    if parsed is not None:
        verdict = judge(parsed, role)
        assert verdict.reason.isprintable()


@pytest.mark.parametrize("value", ["text/html", "Text/HTML; charset=x", " text/html ;x"])
def test_parse_media_type_drops_parameters(value: str) -> None:
    assert parse_media_type(value) == "text/html"


# -- verdicts --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [200, 203, 204, 206, 299])
def test_a_success_status_is_fetched_up_to_the_size_limit(status: int) -> None:
    assert judge(head(status, content_type="text/html")) == ResponseVerdict(Outcome.FETCHED, limit=1000)


def test_a_response_without_a_media_type_is_fetched() -> None:
    assert judge(head(200)).outcome is Outcome.FETCHED


@pytest.mark.parametrize("kind", ["image/png", "IMAGE/PNG; q=1"])
def test_an_unaccepted_media_type_is_refused(kind: str) -> None:
    assert judge(head(200, content_type=kind)) == ResponseVerdict(Outcome.TYPE, "image/png")


def test_a_content_length_over_the_limit_is_too_big() -> None:
    verdict = judge(head(200, content_type="text/html", content_length="1001"))
    assert verdict == ResponseVerdict(Outcome.TOO_BIG, "1001 bytes, at most 1000 are taken")


def test_a_content_length_equal_to_the_limit_is_fetched() -> None:
    assert judge(head(200, content_type="text/html", content_length="1000")).outcome is Outcome.FETCHED


def test_a_content_length_of_ten_thousand_digits_is_too_big() -> None:
    assert judge(head(200, content_length="9" * 10_000)).outcome is Outcome.TOO_BIG


@pytest.mark.parametrize(
    "kind",
    ["application/xml", "text/plain", "application/rss+xml", "application/x-gzip", "application/octet-stream"],
)
def test_a_sitemap_may_be_xml_text_or_gzip(kind: str) -> None:
    assert judge(head(200, content_type=kind), Role.SITEMAP).outcome is Outcome.FETCHED


def test_a_sitemap_may_not_be_an_image() -> None:
    assert judge(head(200, content_type="image/png"), Role.SITEMAP) == ResponseVerdict(Outcome.TYPE, "image/png")


def test_robots_txt_of_any_type_is_fetched_up_to_its_own_limit() -> None:
    response = head(200, content_type="image/png", content_length="100000000")
    assert judge(response, Role.ROBOTS) == ResponseVerdict(Outcome.FETCHED, limit=ROBOTS_BYTES)


def test_a_link_check_accepts_any_type_and_size() -> None:
    response = head(200, content_type="image/png", content_length="100000000")
    assert judge(response, Role.CHECK) == ResponseVerdict(Outcome.CHECKED)


def test_not_modified_is_valid_only_for_a_conditional_request() -> None:
    assert judge(head(304), etag='"a"') == ResponseVerdict(Outcome.NOT_MODIFIED)
    assert judge(head(304)) == ResponseVerdict(Outcome.BAD_HTTP, "304 Not Modified, but no condition was set")


@pytest.mark.parametrize("status", [300, 301, 302, 303, 307, 308])
def test_a_redirect_target_is_canonicalized(status: int) -> None:
    verdict = judge(head(status, location="../B c#d"))
    assert verdict == ResponseVerdict(Outcome.REDIRECTED, location="https://example.org/B%20c")


def test_a_location_header_in_utf_8_is_decoded() -> None:
    location = "/grüße".encode().decode("latin-1")
    assert judge(head(302, location=location)).location == "https://example.org/gr%C3%BC%C3%9Fe"


def test_a_location_header_in_latin_1_is_decoded() -> None:
    assert judge(head(302, location="/grüße")).location == "https://example.org/gr%C3%BC%C3%9Fe"


@pytest.mark.parametrize(
    ("location", "reason"),
    [
        ("file:///etc/passwd", "redirects to file:"),
        ("FTP://example.org/", "redirects to ftp:"),
        ("javascript:alert(1)", "redirects to javascript:"),
        ("http://[", "redirects to an invalid URL: http://["),
        ("", "302 Found without a Location"),
    ],
)
def test_a_redirect_to_an_invalid_target_is_a_bad_redirect(location: str, reason: str) -> None:
    assert judge(head(302, location=location)) == ResponseVerdict(Outcome.BAD_REDIRECT, reason)


def test_a_redirect_without_a_location_is_a_bad_redirect() -> None:
    assert judge(head(301)) == ResponseVerdict(Outcome.BAD_REDIRECT, "301 Moved Permanently without a Location")


def test_status_305_use_proxy_is_not_followed() -> None:
    assert judge(head(305, location="http://evil.example/")) == ResponseVerdict(Outcome.BAD_REDIRECT, "305 Use Proxy")


@pytest.mark.parametrize("location", [URL, "page", f"{URL}#part"])
def test_a_redirect_to_itself_is_a_loop(location: str) -> None:
    assert judge(head(302, location=location)) == ResponseVerdict(Outcome.REDIRECT_LOOP, "redirects to itself")


@pytest.mark.parametrize(
    ("response", "verdict"),
    [
        (head(404), ResponseVerdict(Outcome.NOT_FOUND, "404 Not Found")),
        (head(410), ResponseVerdict(Outcome.NOT_FOUND, "410 Gone")),
        (head(429), ResponseVerdict(Outcome.THROTTLED, "429 Too Many Requests")),
        (head(503, retry_after="5"), ResponseVerdict(Outcome.THROTTLED, "503 Service Unavailable")),
        (head(503), ResponseVerdict(Outcome.HTTP_ERROR, "503 Service Unavailable")),
        (head(403), ResponseVerdict(Outcome.HTTP_ERROR, "403 Forbidden")),
        (head(500), ResponseVerdict(Outcome.HTTP_ERROR, "500 Internal Server Error")),
        (head(999), ResponseVerdict(Outcome.HTTP_ERROR, "999 Whatever")),
        (head(101), ResponseVerdict(Outcome.BAD_HTTP, "101 Switching Protocols")),
    ],
)
def test_an_error_status_gets_its_outcome_and_reason(response: ResponseHead, verdict: ResponseVerdict) -> None:
    assert judge(response) == verdict


def test_clean_reason_makes_one_short_printable_line() -> None:
    text = clean_reason("a\x1b[2J\r\nb\x00\u202ec\ud800" + "d" * 1000)
    assert text.startswith("a [2J b c d")
    assert text.isprintable()
    assert len(text) == 200
