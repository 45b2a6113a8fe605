"""A web as a WARC archive: its headers consist of stored values only."""

from __future__ import annotations

import gzip
import io
import time
from contextlib import closing
from typing import TYPE_CHECKING

import msgspec
import pytest

from gossamer.files.export_files import ExportedPage
from gossamer.files.export_warc import export_warc
from gossamer.model import Outcome, State, VisitBatch
from gossamer.store.sqlite import open_sqlite_store
from helpers.store.crawl_steps import admit_none, ended_visit, fetched_visit, lease_all, leases, requeue, start

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from gossamer.store.protocol import Store

URL = "https://example.org/"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(open_sqlite_store(tmp_path / "web", create=True)) as web:
        yield web


def archive(store: Store) -> str:
    out = io.BytesIO()
    assert [page.url for page in export_warc(store, out, "gossamer/test", "web.warc.gz")] == [URL]
    return gzip.decompress(out.getvalue()).decode("latin-1")


def test_the_header_holds_the_stored_values(store: Store) -> None:
    crawler = start(store, URL)
    (lease,) = leases(lease_all(store, crawler)).values()
    store.submit(
        crawler, VisitBatch(visits=[fetched_visit(lease, body="words", at=1582977600.25)]), admit_none, time.time()
    )
    _, _, response = archive(store).partition("WARC-Type: response\r\n")
    assert "WARC-Date: 2020-02-29T12:00:00.250000Z\r\n" in response
    assert f"WARC-Target-URI: {URL}\r\n" in response
    assert response.endswith(
        "\r\n\r\nHTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Language: en\r\n"
        'ETag: "e"\r\nLast-Modified: yesterday\r\nContent-Length: 5\r\n\r\nwords\r\n\r\n'
    )


def test_no_stored_value_can_add_a_line_to_a_header(store: Store) -> None:
    crawler = start(store, URL)
    (lease,) = leases(lease_all(store, crawler)).values()
    visit = msgspec.structs.replace(
        fetched_visit(lease), etag='"a"\r\nSet-Cookie: evil\r\n\r\n<script>', last_modified="\x00\n"
    )
    store.submit(crawler, VisitBatch(visits=[visit]), admit_none, time.time())
    archive_text = archive(store)
    assert 'ETag: "a" Set-Cookie: evil <script>\r\n' in archive_text
    assert "\r\nSet-Cookie" not in archive_text


def test_the_archive_says_that_headers_are_reconstructed(store: Store) -> None:
    crawler = start(store, URL)
    (lease,) = leases(lease_all(store, crawler)).values()
    store.submit(crawler, VisitBatch(visits=[fetched_visit(lease)]), admit_none, time.time())
    archive_text = archive(store)
    assert archive_text.startswith("WARC/1.1\r\nWARC-Type: warcinfo\r\n")
    assert "software: gossamer/test\r\nformat: WARC File Format 1.1\r\n" in archive_text
    assert "HTTP headers are reconstructed" in archive_text


def test_a_page_that_failed_later_keeps_the_status_of_its_source(store: Store) -> None:
    crawler = start(store, URL)
    (lease,) = leases(lease_all(store, crawler)).values()
    store.submit(crawler, VisitBatch(visits=[fetched_visit(lease)]), admit_none, time.time())
    requeue(store)
    (lease,) = leases(lease_all(store, crawler)).values()
    failed = ended_visit(lease, Outcome.HTTP_ERROR, State.FAILED, status=500)
    store.submit(crawler, VisitBatch(visits=[failed]), admit_none, time.time())
    assert "HTTP/1.1 200 OK\r\n" in archive(store)


def test_the_same_web_makes_the_same_responses(store: Store) -> None:
    crawler = start(store, URL)
    (lease,) = leases(lease_all(store, crawler)).values()
    store.submit(crawler, VisitBatch(visits=[fetched_visit(lease)]), admit_none, time.time())
    one, two = (archive(store).partition("WARC-Type: response\r\n")[2] for _ in range(2))
    assert one == two


def test_pages_without_a_source_are_reported(store: Store) -> None:
    crawler = start(store, URL)
    (lease,) = leases(lease_all(store, crawler)).values()
    visit = fetched_visit(lease)
    assert visit.page is not None
    page = msgspec.structs.replace(visit.page, source=b"")
    store.submit(crawler, VisitBatch(visits=[msgspec.structs.replace(visit, page=page)]), admit_none, time.time())
    assert list(export_warc(store, io.BytesIO(), "")) == [ExportedPage(url=URL, skip_reason="no source stored")]
