"""A web's pages as a WARC 1.1 archive (ISO 28500), a gzip member for each record, as the tools of archivists want it.

The store keeps decoded bodies, not header lines. So the header of each response is made of what is stored (status,
type, charset, language, ETag, Last-Modified, canonical, noindex, nofollow), and the warcinfo record says so. The same
web makes the same records under the same names.
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

from gossamer.files.export_files import Exported, status_of
from gossamer.files.header import header_of
from gossamer.files.tables import time_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gossamer.store.protocol import Store
    from gossamer.store.values import ResourceRow

    Fields = Sequence[tuple[str, str]]

LEVEL = 6  # of gzip; 9 takes twice as long for 1 % less
UNSAFE = re.compile(r"[\x00-\x1f\x7f]+")  # none of these may stand in a header field
NAMES = uuid.uuid5(
    uuid.NAMESPACE_URL, "https://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"
)
ABOUT = (
    ("format", "WARC File Format 1.1"),
    ("conformsTo", "https://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"),
    (
        "description",
        "HTTP headers are reconstructed from what the crawl stored; bodies are as decoded from the transfer.",
    ),
)


def export_warc(store: Store, out: IO[bytes], software: str, name: str = "") -> Iterator[Exported]:
    """Write every visited page that has a source as a response; tells of each as it goes."""
    about = _fields((("software", software), *ABOUT))
    info = _name(f"warcinfo {name} {store.version()}")
    head = [("WARC-Filename", name)] if name else []
    out.write(_record("warcinfo", info, time.time(), about, "application/warc-fields", head))
    for row in store.every_page():
        source = store.source(row.id)
        if source is None:
            yield Exported(url=row.url, why_not="no source stored")
            continue
        out.write(_response(row, source, info))
        yield Exported(url=row.url, bytes=len(source))


def _response(row: ResourceRow, source: bytes, info: str) -> bytes:
    block = _http(row, len(source)) + source
    more = [
        ("WARC-Target-URI", row.url),
        ("WARC-Payload-Digest", _digest(source)),
        ("WARC-Identified-Payload-Type", row.media_type),
        ("WARC-Warcinfo-ID", info),
    ]
    at = row.visited_at or 0.0
    name = _name(f"{row.url} {at} {row.content_digest}")
    return _record("response", name, at, block, "application/http;msgtype=response", more)


def _http(row: ResourceRow, length: int) -> bytes:
    """The header that a server might have sent."""
    status = status_of(row)
    phrase = HTTPStatus(status).phrase if status in HTTPStatus._value2member_map_ else ""
    fields = (*header_of(row).items(), ("Content-Length", str(length)))
    return f"HTTP/1.1 {status} {phrase}\r\n".encode() + _fields(fields, "latin-1") + b"\r\n"


def _record(kind: str, name: str, at: float, block: bytes, content_type: str, more: Fields) -> bytes:
    fields = (
        ("WARC-Type", kind),
        ("WARC-Record-ID", name),
        ("WARC-Date", time_text(at, "microseconds")),
        *more,
        ("WARC-Block-Digest", _digest(block)),
        ("Content-Type", content_type),
        ("Content-Length", str(len(block))),
    )
    record = b"WARC/1.1\r\n" + _fields(fields) + b"\r\n" + block + b"\r\n\r\n"
    return gzip.compress(record, LEVEL, mtime=0)


def _fields(fields: Fields, charset: str = "utf-8") -> bytes:
    lines = (f"{name}: {UNSAFE.sub(' ', value)}\r\n" for name, value in fields if value)
    return "".join(lines).encode(charset, "replace")


def _digest(data: bytes) -> str:
    """A digest as web archives write it; SHA-1 for its readers' sake, nothing here rests on its strength."""
    return "sha1:" + b32encode(sha1(data, usedforsecurity=False).digest()).decode()


def _name(text: str) -> str:
    return f"<urn:uuid:{uuid.uuid5(NAMES, text)}>"
