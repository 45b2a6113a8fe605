"""Importing pages from web archives: stored responses are judged as in a crawl."""

from __future__ import annotations

import gzip
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from gossamer.fetch.response import ResponseLimits
from gossamer.files.archive import read_archive
from gossamer.files.file_page import FilePage, SkippedItem
from gossamer.model import Outcome
from helpers.files.archives import HTML, record, response, write_archive

if TYPE_CHECKING:
    from pathlib import Path

LIMITS = ResponseLimits(accept=frozenset({"text/html", "text/plain"}), max_bytes=100_000)


def import_pages(path: Path, *records: bytes) -> tuple[list[FilePage], list[str]]:
    items = list(read_archive(write_archive(path / "a.warc", *records), LIMITS))
    pages = [item for item in items if isinstance(item, FilePage)]
    return pages, [item.reason for item in items if isinstance(item, SkippedItem)]


def import_page(path: Path, block: bytes, **more: str) -> FilePage:
    (page,), skipped = import_pages(path, record(block, **more))
    assert skipped == []
    return page


def chunked_body(*chunks: bytes) -> bytes:
    return b"".join(b"%x;a=b\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks) + b"0\r\nTrailer: x\r\n\r\n"


def test_a_response_record_becomes_a_page_with_header_and_time(tmp_path: Path) -> None:
    block = response(Last_Modified="Sun, 06 Nov 1994 08:49:37 GMT", ETag='"e"', X_Robots_Tag="noindex")
    page = import_page(tmp_path, block)
    assert (page.url, page.fetched.status, page.fetched.body) == ("https://example.org/", 200, HTML)
    assert page.fetched.headers == {
        "content-type": "text/html", "last-modified": "Sun, 06 Nov 1994 08:49:37 GMT", "etag": '"e"',
        "x-robots-tag": "noindex",
    }  # fmt: skip
    assert page.fetched_at == datetime(2020, 2, 29, 12, tzinfo=UTC).timestamp()


def test_a_resource_record_becomes_a_page_of_its_media_type(tmp_path: Path) -> None:
    page = import_page(tmp_path, HTML, kind="resource")
    assert (page.fetched.status, page.fetched.headers, page.fetched.body) == (200, {"content-type": "text/html"}, HTML)


@pytest.mark.parametrize(
    ("uri", "url"),
    [
        ("<https://example.org/a>", "https://example.org/a"),  # wget writes angle brackets
        ("HTTPS://EXAMPLE.org:443/a b#c", "https://example.org/a%20b"),
        ("http://example.org?x=1", "http://example.org/?x=1"),
    ],
)
def test_a_target_uri_is_canonicalized(tmp_path: Path, uri: str, url: str) -> None:
    assert import_page(tmp_path, response(), uri=uri).url == url


@pytest.mark.parametrize(
    "uri", ["dns:example.org", "metadata://gnu.org/x", "file:///a", "urn:uuid:1", "", "//a", "\x1b[2J"]
)
def test_a_record_without_an_http_target_is_skipped(tmp_path: Path, uri: str) -> None:
    assert import_pages(tmp_path, record(response(), uri=uri)) == ([], ["its target is not an HTTP URL"])


def test_chunks_are_joined_to_one_body(tmp_path: Path) -> None:
    block = response(chunked_body(HTML[:7], HTML[7:]), Transfer_Encoding="chunked")
    assert import_page(tmp_path, block).fetched.body == HTML


def test_a_body_stored_already_decoded_stays_unchanged(tmp_path: Path) -> None:
    block = response(HTML, Transfer_Encoding="chunked", Content_Encoding="gzip")
    page = import_page(tmp_path, block)
    assert page.fetched.body == HTML
    assert "content-encoding" not in page.fetched.headers


def test_a_compressed_body_is_left_to_the_capped_parser(tmp_path: Path) -> None:
    packed = gzip.compress(HTML)
    page = import_page(tmp_path, response(chunked_body(packed), Transfer_Encoding="Chunked", Content_Encoding="gzip"))
    assert (page.fetched.body, page.fetched.headers["content-encoding"]) == (packed, "gzip")


def test_a_truncated_chunked_body_keeps_its_readable_part(tmp_path: Path) -> None:
    block = response(chunked_body(HTML)[:-30], Transfer_Encoding="chunked")
    assert HTML.startswith(import_page(tmp_path, block).fetched.body)


def test_broken_chunks_are_reported(tmp_path: Path) -> None:
    block = response(b"3\r\nabc\r\nno length\r\n", Transfer_Encoding="chunked")
    assert import_pages(tmp_path, record(block)) == ([], ["its chunked body is broken"])


def test_interim_responses_before_the_final_one_are_skipped(tmp_path: Path) -> None:
    early = b"HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n"
    page = import_page(tmp_path, early + early + response())
    assert (page.fetched.status, page.fetched.body) == (200, HTML)


@pytest.mark.parametrize("line", [b"HTTP/2 200\r\n", b"HTTP/1.0 200 OK\n", b"HTTP/1.1 200\r\n"])
def test_any_http_version_is_accepted(tmp_path: Path, line: bytes) -> None:
    assert import_page(tmp_path, line + b"Content-Type: text/html\r\n\r\n" + HTML).fetched.body == HTML


@pytest.mark.parametrize(
    "block", [b"", b"HTTP/1.1 200 OK", b"HTTP/1.1 200 OK\r\n", b"ICY 200 OK\r\n\r\n", b"\r\n\r\n", HTML]
)
def test_a_broken_http_header_is_reported(tmp_path: Path, block: bytes) -> None:
    assert import_pages(tmp_path, record(block)) == ([], ["its HTTP header is broken"])


def test_redirects_and_errors_get_the_outcomes_of_a_crawl(tmp_path: Path) -> None:
    pages, skipped = import_pages(
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


def test_a_page_of_an_unaccepted_type_is_skipped_with_its_type(tmp_path: Path) -> None:
    records = [record(response(content_type="image/png"))] * 2
    assert import_pages(tmp_path, *records) == ([], ["its media type is not accepted: image/png"] * 2)


@pytest.mark.parametrize(
    ("archive_record", "reason"),
    [
        (record(b"", kind="revisit"), "a revisit record: its content is in another one"),
        (record(response(status="304 Not Modified")), "a revisit record: its content is in another one"),
        (record(b"text", kind="conversion"), "a conversion record: it is not the original page"),
        (record(HTML, kind="continuation"), "a continuation record: segmented pages are not supported"),
        (record(response(), WARC_Segment_Number="2"), "a continuation record: segmented pages are not supported"),
        (record(HTML, kind="newfangled"), "a newfangled record"),
    ],
)
def test_unsupported_record_types_are_skipped_with_a_reason(tmp_path: Path, archive_record: bytes, reason: str) -> None:
    assert import_pages(tmp_path, archive_record) == ([], [reason])


def test_auxiliary_records_are_not_reported(tmp_path: Path) -> None:
    records = (record(b"a: b", kind=kind) for kind in ("warcinfo", "request", "metadata"))
    assert import_pages(tmp_path, *records) == ([], [])


def test_a_truncated_record_is_imported_if_its_response_is_complete(tmp_path: Path) -> None:
    whole = record(response(HTML, Content_Length=str(len(HTML))), length=5_000)
    part = record(response(HTML, Content_Length=str(len(HTML) + 1)), length=5_000)
    assert [page.fetched.body for page in import_pages(tmp_path, whole)[0]] == [HTML]
    assert import_pages(tmp_path, record(response(HTML), length=5_000))[0] == []
    assert import_pages(tmp_path, part.removesuffix(b"\r\n\r\n"))[1] == ["broken record: it is cut short"]


@pytest.mark.parametrize(
    ("date", "moment"), [("2016-12-31T23:59:59.5Z", 1483228799.5), ("20161231235959", 1483228799.0)]
)
def test_warc_and_arc_dates_are_parsed(tmp_path: Path, date: str, moment: float) -> None:
    assert import_page(tmp_path, response(), WARC_Date=date).fetched_at == moment


def test_a_length_of_thousands_of_digits_is_a_number(tmp_path: Path) -> None:
    zeros = record(response(HTML, Content_Length="0" * 5_000 + str(len(HTML))), length=50_000)
    nines = record(response(HTML, Content_Length="9" * 5_000), length=50_000)
    assert [page.fetched.body for page in import_pages(tmp_path, zeros)[0]] == [HTML]
    assert import_pages(tmp_path, nines)[0] == []


@pytest.mark.parametrize(
    "date",
    ["", "yesterday", "99999999999999", "0001-01-01T00:00:00+23:59", "1969-12-31T23:59:59Z", "9999-12-31T23:59:59Z"],
)
def test_an_invalid_date_is_ignored(tmp_path: Path, date: str) -> None:
    assert import_page(tmp_path, response(), WARC_Date=date).fetched_at is None
