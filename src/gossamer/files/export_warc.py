"""Export pages as a WARC 1.1 archive (ISO 28500), one gzip member per record, as archive tools expect.

The store keeps decoded bodies, not header lines. So the export rebuilds response headers from stored fields,
and the warcinfo record says so. Record ids depend only on the content: the same web gives the same ids.
"""

from __future__ import annotations

import gzip
import re
import time
import uuid
from base64 import b32encode
from hashlib import sha1
from http import HTTPStatus
from typing import IO, TYPE_CHECKING

from gossamer.basics.times import accepted_time
from gossamer.files.export_files import ExportedPage, source_status
from gossamer.files.manifest import rebuild_headers
from gossamer.files.tables import format_time

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gossamer.store.protocol import ExportSource
    from gossamer.store.values import ResourceRow

    Fields = Sequence[tuple[str, str]]

GZIP_LEVEL = 6  # level 9 takes twice as long and saves 1 %
UNSAFE_IN_HEADER = re.compile(r"[\x00-\x1f\x7f]+")  # control characters, illegal in a header field
RECORD_NAMESPACE = uuid.uuid5(
    uuid.NAMESPACE_URL, "https://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"
)
UNKNOWN_DATE = "1970-01-01T00:00:00Z"  # a record must have a date (WARC 1.1, section 5.4)
WARCINFO_FIELDS = (
    ("format", "WARC File Format 1.1"),
    ("conformsTo", "https://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"),
    (
        "description",
        "HTTP headers are reconstructed from what the crawl stored; bodies are as decoded from the transfer.",
    ),
)


def export_warc(store: ExportSource, out: IO[bytes], software: str, name: str = "") -> Iterator[ExportedPage]:
    """Write every visited page that has a source as a response record; yield a result for each."""
    about = _encode_fields((("software", software), *WARCINFO_FIELDS))
    warcinfo_id = _make_record_id(f"warcinfo {name} {store.version()}")
    filename_field = [("WARC-Filename", name)] if name else []
    out.write(_encode_record("warcinfo", warcinfo_id, time.time(), about, "application/warc-fields", filename_field))
    for row in store.every_page():
        source = store.source(row.id)
        if source is None:
            yield ExportedPage(url=row.url, skip_reason="no source stored")
            continue
        out.write(_response_record(row, source, warcinfo_id))
        yield ExportedPage(url=row.url, bytes=len(source))


def _response_record(row: ResourceRow, source: bytes, warcinfo_id: str) -> bytes:
    block = _http_header(row, len(source)) + source
    fields = [
        ("WARC-Target-URI", row.url),
        ("WARC-Payload-Digest", _sha1_digest(source)),
        ("WARC-Identified-Payload-Type", row.media_type),
        ("WARC-Warcinfo-ID", warcinfo_id),
    ]
    visited_at = accepted_time(row.visited_at) or 0.0
    record_id = _make_record_id(f"{row.url} {visited_at} {row.content_digest}")
    return _encode_record("response", record_id, visited_at, block, "application/http;msgtype=response", fields)


def _http_header(row: ResourceRow, length: int) -> bytes:
    """Return an HTTP response header, rebuilt from the stored fields."""
    status = source_status(row)
    phrase = HTTPStatus(status).phrase if status in HTTPStatus._value2member_map_ else ""
    fields = (*rebuild_headers(row).items(), ("Content-Length", str(length)))
    return f"HTTP/1.1 {status} {phrase}\r\n".encode() + _encode_fields(fields, "latin-1") + b"\r\n"


def _encode_record(
    kind: str, record_id: str, written_at: float, block: bytes, content_type: str, extra_fields: Fields
) -> bytes:
    fields = (
        ("WARC-Type", kind),
        ("WARC-Record-ID", record_id),
        ("WARC-Date", format_time(written_at, "microseconds") or UNKNOWN_DATE),
        *extra_fields,
        ("WARC-Block-Digest", _sha1_digest(block)),
        ("Content-Type", content_type),
        ("Content-Length", str(len(block))),
    )
    record = b"WARC/1.1\r\n" + _encode_fields(fields) + b"\r\n" + block + b"\r\n\r\n"
    return gzip.compress(record, GZIP_LEVEL, mtime=0)


def _encode_fields(fields: Fields, charset: str = "utf-8") -> bytes:
    lines = (f"{name}: {UNSAFE_IN_HEADER.sub(' ', value)}\r\n" for name, value in fields if value)
    return "".join(lines).encode(charset, "replace")


def _sha1_digest(data: bytes) -> str:
    """Return a digest in WARC notation. SHA-1, because archive tools expect it; it protects nothing here."""
    return "sha1:" + b32encode(sha1(data, usedforsecurity=False).digest()).decode()


def _make_record_id(text: str) -> str:
    return f"<urn:uuid:{uuid.uuid5(RECORD_NAMESPACE, text)}>"
