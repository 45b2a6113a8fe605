"""Pages from a web archive: its records with their dates, judged as a crawl judges server responses.

Tools store bodies differently: Common Crawl decoded, wget and warcio as sent, Browsertrix as its browser saw them.
So the reader applies a header's transfer or content coding only if the body has it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from gossamer.basics.headers import parse_length
from gossamer.fetch.response import ResponseHead, judge_head, parse_head
from gossamer.files.file_page import FilePage, Refusal, SkippedItem, make_file_page
from gossamer.files.records import read_records
from gossamer.model import Outcome
from gossamer.revisit.dates import parse_archive_date
from gossamer.urls.canonical import canonicalize

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from gossamer.fetch.response import ResponseLimits
    from gossamer.files.records import ArchiveRecord

MAX_HTTP_HEADER = 1 << 20  # bytes of a response header, allowed on top of the body limit
CHUNK_HEADER = re.compile(rb"[ \t]*([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\r\n]*)?\r?\n")
BLANK_LINE = re.compile(rb"\r?\n\r?\n")
LINE = re.compile(rb"[^\n]*\n")
# RFC 9110 section 15.2. 101 is final: another protocol follows it.
INTERIM_RESPONSE = re.compile(rb"HTTP/\S+[ \t]+1(?!01)[0-9]{2}")
GZIP_CODINGS = frozenset({"gzip", "x-gzip"})

# Records without a page. The import leaves them out without a message.
IGNORED_TYPES = frozenset({"warcinfo", "request", "metadata"})
REFUSED_TYPES = {
    "revisit": "a revisit record: its content is in another one",
    "conversion": "a conversion record: it is not the original page",
    "continuation": "a continuation record: segmented pages are not supported",
}


def read_archive(path: Path, limits: ResponseLimits) -> Iterator[FilePage | SkippedItem]:
    """Yield every page of an archive in order, and a `SkippedItem` for each record that cannot be imported."""
    return _read_pages(path.name, read_records(path, limits.max_bytes + MAX_HTTP_HEADER), limits)


def _read_pages(
    name: str, records: Iterator[ArchiveRecord | SkippedItem], limits: ResponseLimits
) -> Iterator[FilePage | SkippedItem]:
    for record in records:
        if isinstance(record, SkippedItem):
            yield record
        elif record.fault or record.type not in IGNORED_TYPES:
            uri = record.headers.get("warc-target-uri", "")
            try:
                yield _page_from_record(record, uri, limits)
            except Refusal as refusal:
                record_name = f"{name}, record {record.number}" + (f" ({uri})" if uri else "")
                yield SkippedItem(path=record_name, reason=str(refusal))


def _page_from_record(record: ArchiveRecord, uri: str, limits: ResponseLimits) -> FilePage:
    if record.fault and record.type != "response":
        raise Refusal(record.fault)
    if record.type in REFUSED_TYPES:
        raise Refusal(REFUSED_TYPES[record.type])
    url = canonicalize(uri.strip().removeprefix("<").removesuffix(">"))  # wget before 1.20 wrote <URL>
    if url is None:
        raise Refusal("its target is not an HTTP URL")
    if record.headers.get("warc-segment-number", "1") != "1" or "warc-segment-total-length" in record.headers:
        raise Refusal(REFUSED_TYPES["continuation"])
    if record.type == "resource":
        head, body = ResponseHead(200, "OK", {"content-type": record.headers.get("content-type", "")}), record.block
    elif record.type == "response":
        head, body = _recover_response(record) if record.fault else _parse_response(record.block)
    else:
        raise Refusal(f"a {record.type} record")
    return _judge_response(url, head, body, parse_archive_date(record.headers.get("warc-date", "")), limits)


def _judge_response(
    url: str, head: ResponseHead, body: bytes, fetched_at: float | None, limits: ResponseLimits
) -> FilePage:
    if head.status == 304:
        raise Refusal(REFUSED_TYPES["revisit"])
    page = make_file_page(url, body, head.status, head.headers, fetched_at=fetched_at)
    verdict = judge_head(page.fetched.request, head, limits)
    if verdict.outcome is Outcome.TYPE:
        raise Refusal(f"its media type is not accepted: {verdict.reason}")
    if verdict.outcome is Outcome.FETCHED:
        return page
    changes = {"outcome": verdict.outcome, "reason": verdict.reason, "location": verdict.location, "body": b""}
    return msgspec.structs.replace(page, fetched=msgspec.structs.replace(page.fetched, **changes))


# -- HTTP --------------------------------------------------------------------------------------------------------------


def _parse_response(block: bytes) -> tuple[ResponseHead, bytes]:
    """Return header and body of a stored HTTP response; the body without its transfer coding."""
    start = 0
    while (end := BLANK_LINE.search(block, start, start + MAX_HTTP_HEADER)) and INTERIM_RESPONSE.match(block, start):
        start = end.end()
    head = parse_head(LINE.findall(block, start, end.end())) if end else None
    if end is None or head is None:
        raise Refusal("its HTTP header is broken")
    headers = dict(head.headers)
    body = block[end.end() :]
    if "chunked" in headers.pop("transfer-encoding", "").lower():
        body = _decode_chunks(body)
    if headers.get("content-encoding", "").strip().lower() in GZIP_CODINGS and not body.startswith(b"\x1f\x8b"):
        del headers["content-encoding"]  # the archiving tool decoded the body
    return head._replace(headers=headers), body


def _recover_response(record: ArchiveRecord) -> tuple[ResponseHead, bytes]:
    """Return a response from a broken record if its own Content-Length shows that it is complete."""
    try:
        head, body = _parse_response(record.block)
    except Refusal:
        raise Refusal(record.fault) from None
    length = parse_length(head.headers.get("content-length", ""))
    if length is None or length > len(body):
        raise Refusal(record.fault)
    return head, body[:length]


def _decode_chunks(body: bytes) -> bytes:
    """Return a body without its chunked coding (RFC 9112 section 7.1); unchanged if it has none."""
    pieces: list[bytes] = []
    at = 0
    while at < len(body):
        chunk = CHUNK_HEADER.match(body, at)
        if chunk is None and not pieces:
            return body
        if chunk is None:
            raise Refusal("its chunked body is broken")
        size = int(chunk[1], 16)
        if size == 0:
            break
        pieces.append(body[chunk.end() : chunk.end() + size])
        at = chunk.end() + size
        at += len(b"\r\n") if body.startswith(b"\r\n", at) else body.startswith(b"\n", at)
    return b"".join(pieces)
