"""The pages in web archives: responses as their makers stored them, ruled on as a crawl would."""

from __future__ import annotations

import gzip
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from gossamer.files.archive import ImportLimits, read_archive
from gossamer.files.file_page import FilePage, SkippedItem
from gossamer.model import Outcome
from helpers.files.archives import HTML, put, record, response

if TYPE_CHECKING:
    from pathlib import Path

TAKING = ImportLimits(accept=frozenset({"text/html", "text/plain"}), max_bytes=100_000)


def taken(path: Path, *records: bytes) -> tuple[list[FilePage], list[str]]:
    found = list(read_archive(put(path / "a.warc", *records), TAKING))
    pages = [each for each in found if isinstance(each, FilePage)]
    return pages, [each.reason for each in found if isinstance(each, SkippedItem)]


def one(path: Path, block: bytes, **more: str) -> FilePage:
    (page,), skipped = taken(path, record(block, **more))
    assert skipped == []
    return page


def chunked(*chunks: bytes) -> bytes:
    return b"".join(b"%x;a=b\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks) + b"0\r\nTrailer: x\r\n\r\n"


def test_a_response_is_a_page_with_its_header_and_time(tmp_path: Path) -> None:
    block = response(Last_Modified="Sun, 06 Nov 1994 08:49:37 GMT", ETag='"e"', X_Robots_Tag="noindex")
    page = one(tmp_path, block)
    assert (page.url, page.fetched.status, page.fetched.body) == ("https://example.org/", 200, HTML)
    assert page.fetched.headers == {
        "content-type": "text/html", "last-modified": "Sun, 06 Nov 1994 08:49:37 GMT", "etag": '"e"',
        "x-robots-tag": "noindex",
    }  # fmt: skip
    assert page.fetched_at == datetime(2020, 2, 29, 12, tzinfo=UTC).timestamp()


def test_a_resource_is_a_page_of_its_type(tmp_path: Path) -> None:
    page = one(tmp_path, HTML, kind="resource")
    assert (page.fetched.status, page.fetched.headers, page.fetched.body) == (200, {"content-type": "text/html"}, HTML)


@pytest.mark.parametrize(
    ("uri", "url"),
    [
        ("<https://example.org/a>", "https://example.org/a"),  # as wget wrote them
        ("HTTPS://EXAMPLE.org:443/a b#c", "https://example.org/a%20b"),
        ("http://example.org?x=1", "http://example.org/?x=1"),
    ],
)
def test_a_target_is_a_url_however_it_is_spelled(tmp_path: Path, uri: str, url: str) -> None:
    assert one(tmp_path, response(), uri=uri).url == url


@pytest.mark.parametrize(
    "uri", ["dns:example.org", "metadata://gnu.org/x", "file:///a", "urn:uuid:1", "", "//a", "\x1b[2J"]
)
def test_what_has_no_url_to_visit_is_skipped(tmp_path: Path, uri: str) -> None:
    assert taken(tmp_path, record(response(), uri=uri)) == ([], ["its target is not a URL to visit"])


def test_chunks_are_put_together(tmp_path: Path) -> None:
    block = response(chunked(HTML[:7], HTML[7:]), Transfer_Encoding="chunked")
    assert one(tmp_path, block).fetched.body == HTML


def test_a_body_that_was_decoded_before_it_was_stored_is_taken_as_it_is(tmp_path: Path) -> None:
    block = response(HTML, Transfer_Encoding="chunked", Content_Encoding="gzip")
    page = one(tmp_path, block)
    assert page.fetched.body == HTML
    assert "content-encoding" not in page.fetched.headers


def test_a_packed_body_is_left_to_the_parser_which_is_capped(tmp_path: Path) -> None:
    packed = gzip.compress(HTML)
    page = one(tmp_path, response(chunked(packed), Transfer_Encoding="Chunked", Content_Encoding="gzip"))
    assert (page.fetched.body, page.fetched.headers["content-encoding"]) == (packed, "gzip")


def test_chunks_that_end_too_early_are_taken_as_far_as_they_go(tmp_path: Path) -> None:
    block = response(chunked(HTML)[:-30], Transfer_Encoding="chunked")
    assert HTML.startswith(one(tmp_path, block).fetched.body)


def test_broken_chunks_are_told(tmp_path: Path) -> None:
    block = response(b"3\r\nabc\r\nno length\r\n", Transfer_Encoding="chunked")
    assert taken(tmp_path, record(block)) == ([], ["its chunked body is broken"])


def test_interim_answers_before_the_final_one_are_passed_over(tmp_path: Path) -> None:
    early = b"HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n"
    page = one(tmp_path, early + early + response())
    assert (page.fetched.status, page.fetched.body) == (200, HTML)


@pytest.mark.parametrize("line", [b"HTTP/2 200\r\n", b"HTTP/1.0 200 OK\n", b"HTTP/1.1 200\r\n"])
def test_any_version_of_http_will_do(tmp_path: Path, line: bytes) -> None:
    assert one(tmp_path, line + b"Content-Type: text/html\r\n\r\n" + HTML).fetched.body == HTML


@pytest.mark.parametrize(
    "block", [b"", b"HTTP/1.1 200 OK", b"HTTP/1.1 200 OK\r\n", b"ICY 200 OK\r\n\r\n", b"\r\n\r\n", HTML]
)
def test_a_broken_http_header_is_told(tmp_path: Path, block: bytes) -> None:
    assert taken(tmp_path, record(block)) == ([], ["its HTTP header is broken"])


def test_redirects_and_errors_are_told_as_a_crawl_would(tmp_path: Path) -> None:
    pages, skipped = taken(
        tmp_path,
        record(response(b"", status="301 Moved", Location="/b"), uri="https://example.org/a"),
        record(response(status="404 Not Found"), uri="https://example.org/c"),
        record(response(status="503 Busy"), uri="https://example.org/d"),
    )
    assert skipped == []
    assert [
        (page.fetched.outcome, page.fetched.status, page.fetched.location, page.fetched.body) for page in pages
    ] == [
        (Outcome.REDIRECTED, 301, "https://example.org/b", b""),
        (Outcome.NOT_FOUND, 404, "", b""),
        (Outcome.HTTP_ERROR, 503, "", b""),
    ]


def test_what_is_not_to_be_parsed_is_skipped_with_its_type(tmp_path: Path) -> None:
    records = [record(response(content_type="image/png"))] * 2
    assert taken(tmp_path, *records) == ([], ["its type is not to be parsed: image/png"] * 2)


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        (record(b"", kind="revisit"), "a revisit record: its content is in another one"),
        (record(response(status="304 Not Modified")), "a revisit record: its content is in another one"),
        (record(b"text", kind="conversion"), "a conversion record: not the page as it was"),
        (record(HTML, kind="continuation"), "a continuation record: pages in segments are not taken"),
        (record(response(), WARC_Segment_Number="2"), "a continuation record: pages in segments are not taken"),
        (record(HTML, kind="newfangled"), "a newfangled record"),
    ],
)
def test_other_records_are_skipped_with_the_reason(tmp_path: Path, made: bytes, reason: str) -> None:
    assert taken(tmp_path, made) == ([], [reason])


def test_what_only_comes_along_is_not_told(tmp_path: Path) -> None:
    records = (record(b"a: b", kind=kind) for kind in ("warcinfo", "request", "metadata"))
    assert taken(tmp_path, *records) == ([], [])


def test_a_record_cut_short_is_taken_when_its_response_is_whole(tmp_path: Path) -> None:
    whole = record(response(HTML, Content_Length=str(len(HTML))), length=5_000)
    part = record(response(HTML, Content_Length=str(len(HTML) + 1)), length=5_000)
    assert [page.fetched.body for page in taken(tmp_path, whole)[0]] == [HTML]
    assert taken(tmp_path, record(response(HTML), length=5_000))[0] == []
    assert taken(tmp_path, part.removesuffix(b"\r\n\r\n"))[1] == ["broken record: it is cut short"]


@pytest.mark.parametrize(
    ("date", "moment"), [("2016-12-31T23:59:59.5Z", 1483228799.5), ("20161231235959", 1483228799.0)]
)
def test_dates_of_both_formats_are_read(tmp_path: Path, date: str, moment: float) -> None:
    assert one(tmp_path, response(), WARC_Date=date).fetched_at == moment


@pytest.mark.parametrize("date", ["", "yesterday", "99999999999999"])
def test_a_date_that_is_none_is_no_fault(tmp_path: Path, date: str) -> None:
    assert one(tmp_path, response(), WARC_Date=date).fetched_at is None
