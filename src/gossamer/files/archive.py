"""The pages in a web archive: its responses and resources as answers, ruled on as a crawl rules on what a server sends.

Archives of all makers come here: Common Crawl keeps bodies decoded, wget and warcio as they were on the wire,
Browsertrix as its browser saw them. So what a header says of a body's coding is believed as far as the body bears it
out.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import msgspec

from gossamer.fetch.response import Asked, Head, parse_head, rule
from gossamer.files.file_page import FilePage, Skipped, page_of
from gossamer.files.records import records_in
from gossamer.model import Outcome, Role, Value
from gossamer.urls.canonical import canonical

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from gossamer.files.records import Record

HEADER_ROOM = 1 << 20  # bytes that a response's header may take on top of its body
CHUNK = re.compile(rb"[ \t]*([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\r\n]*)?\r?\n")
BLANK = re.compile(rb"\r?\n\r?\n")
LINE = re.compile(rb"[^\n]*\n")
INTERIM = re.compile(rb"HTTP/\S+[ \t]+1(?!01)[0-9]{2}")  # RFC 9110 section 15.2; after 101 another protocol follows
GZIPPED = frozenset({"gzip", "x-gzip"})

# Records that hold no page, of which nobody needs to be told.
BESIDES = frozenset({"warcinfo", "request", "metadata"})
NOT_TAKEN = {
    "revisit": "a revisit record: its content is in another one",
    "conversion": "a conversion record: not the page as it was",
    "continuation": "a continuation record: pages in segments are not taken",
}


class Taking(Value, frozen=True, kw_only=True):
    """What is taken of an archive."""

    accept: frozenset[str]  # media types
    max_bytes: int  # of a body


class Refusal(Exception):
    """This record cannot be taken; the text says why."""


def pages_in_archive(path: Path, taking: Taking) -> Iterator[FilePage | Skipped]:
    """Every page in an archive, in its order, and every record that is none, with the reason."""
    return _pages(path.name, records_in(path, taking.max_bytes + HEADER_ROOM), taking)


def _pages(name: str, records: Iterator[Record | Skipped], taking: Taking) -> Iterator[FilePage | Skipped]:
    for record in records:
        if isinstance(record, Skipped):
            yield record
        elif record.fault or record.type not in BESIDES:
            uri = record.headers.get("warc-target-uri", "")
            try:
                yield _page(record, uri, taking)
            except Refusal as refusal:
                where = f"{name}, record {record.number}" + (f" ({uri})" if uri else "")
                yield Skipped(path=where, reason=str(refusal))


def _page(record: Record, uri: str, taking: Taking) -> FilePage:
    if record.fault and record.type != "response":
        raise Refusal(record.fault)
    if record.type in NOT_TAKEN:
        raise Refusal(NOT_TAKEN[record.type])
    url = canonical(uri.strip().removeprefix("<").removesuffix(">"))  # as wget before 1.20 wrote them
    if url is None:
        raise Refusal("its target is not a URL to visit")
    if record.headers.get("warc-segment-number", "1") != "1" or "warc-segment-total-length" in record.headers:
        raise Refusal(NOT_TAKEN["continuation"])
    if record.type == "resource":
        head, body = Head(200, "OK", {"content-type": record.headers.get("content-type", "")}), record.block
    elif record.type == "response":
        head, body = _mended(record) if record.fault else _http(record.block)
    else:
        raise Refusal(f"a {record.type} record")
    return _ruled(url, head, body, _moment(record.headers.get("warc-date", "")), taking)


def _ruled(url: str, head: Head, body: bytes, at: float | None, taking: Taking) -> FilePage:
    if head.status == 304:
        raise Refusal(NOT_TAKEN["revisit"])
    asked = Asked(url=url, role=Role.PAGE, conditional=False, accept=taking.accept, max_bytes=taking.max_bytes)
    ruling = rule(asked, head)
    if ruling.outcome is Outcome.TYPE:
        raise Refusal(f"its type is not to be parsed: {ruling.reason}")
    page = page_of(url, body if ruling.outcome is Outcome.FETCHED else b"", head.status, head.headers, at=at)
    told = {"outcome": ruling.outcome, "reason": ruling.reason, "location": ruling.location}
    return msgspec.structs.replace(page, fetched=msgspec.structs.replace(page.fetched, **told))


def _moment(date: str) -> float | None:
    """A WARC-Date (W3C profile of ISO 8601, UTC) or an ARC date (14 digits) as Unix time."""
    try:
        moment = datetime.strptime(date[:14], "%Y%m%d%H%M%S") if date.isdecimal() else datetime.fromisoformat(date)  # noqa: DTZ007 - UTC by definition
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


# -- HTTP --------------------------------------------------------------------------------------------------------------


def _http(block: bytes) -> tuple[Head, bytes]:
    """Header and body of a stored HTTP response, the body without its transfer coding."""
    start = 0
    while (end := BLANK.search(block, start, start + HEADER_ROOM)) and INTERIM.match(block, start):
        start = end.end()
    head = parse_head(LINE.findall(block, start, end.end())) if end else None
    if end is None or head is None:
        raise Refusal("its HTTP header is broken")
    headers = dict(head.headers)
    body = block[end.end() :]
    if "chunked" in headers.pop("transfer-encoding", "").lower():
        body = _dechunked(body)
    if headers.get("content-encoding", "").strip().lower() in GZIPPED and not body.startswith(b"\x1f\x8b"):
        del headers["content-encoding"]  # it was decoded before it was stored
    return head._replace(headers=headers), body


def _mended(record: Record) -> tuple[Head, bytes]:
    """A response that is all there by its own word, though the record around it is broken."""
    try:
        head, body = _http(record.block)
    except Refusal:
        raise Refusal(record.fault) from None
    length = head.headers.get("content-length", "")
    if not length.isdecimal() or int(length[:18]) > len(body):
        raise Refusal(record.fault)
    return head, body[: int(length)]


def _dechunked(body: bytes) -> bytes:
    """A body without its chunks (RFC 9112 section 7.1); one that has none was decoded before it was stored."""
    pieces: list[bytes] = []
    at = 0
    while at < len(body):
        chunk = CHUNK.match(body, at)
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
