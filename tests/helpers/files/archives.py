"""Write web archives, valid and broken."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

HTML = b"<title>A page</title><a href=/next>next</a>"


def record(
    block: bytes,
    *,
    uri: str = "https://example.org/",
    kind: str = "response",
    length: int | str | None = None,
    **extra: str,
) -> bytes:
    """Return a WARC record; extra fields use _ for -."""
    fields = {
        "WARC-Type": kind,
        "WARC-Record-ID": "<urn:uuid:12345678-1234-1234-1234-123456789abc>",
        "WARC-Date": "2020-02-29T12:00:00Z",
        "WARC-Target-URI": uri,
        "Content-Type": "application/http;msgtype=response" if kind == "response" else "text/html",
        "Content-Length": str(len(block) if length is None else length),
        **{name.replace("_", "-"): value for name, value in extra.items()},
    }
    lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items() if value)
    return f"WARC/1.1\r\n{lines}\r\n".encode() + block + b"\r\n\r\n"


def response(body: bytes = HTML, *, status: str = "200 OK", content_type: str = "text/html", **extra: str) -> bytes:
    """Return an HTTP response; extra headers use _ for -."""
    fields = {"Content-Type": content_type, **{name.replace("_", "-"): value for name, value in extra.items()}}
    lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items() if value)
    return f"HTTP/1.1 {status}\r\n{lines}\r\n".encode() + body


def page(number: int) -> bytes:
    """Return a record with a page of its own."""
    body = f"<title>Page {number}</title>".encode() + b"<p>word</p>" * 50
    return record(response(body), uri=f"https://example.org/{number}")


def write_archive(path: Path, *records: bytes, gzipped: bool = False) -> Path:
    """Write an archive of these records; if gzipped, each record is a member."""
    path.write_bytes(b"".join(map(gzip.compress, records) if gzipped else records))
    return path
