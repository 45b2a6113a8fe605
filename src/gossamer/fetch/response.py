"""What the header of an HTTP response means for its request, before the body is read.

In: the header lines from the wire, the request and its limits. Out: a `ResponseVerdict`, which says whether the body is
wanted, and if not, how the visit ended. These functions are pure: `transfer` collects the lines and acts on the result.
"""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import TYPE_CHECKING, NamedTuple

from gossamer.basics.headers import parse_length, parse_media_type
from gossamer.model import Outcome, Role
from gossamer.urls.canonical import canonicalize

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gossamer.model import Request

REASON_LENGTH = 200  # characters; people read reasons in a table
# RFC 9309 §2.5: at least 500 KiB of a robots.txt must be parsed. One more byte shows that the file is longer.
ROBOTS_BYTES = (500 << 10) + 1
SUBRESOURCE_BYTES = 8 << 20  # of one script, style or answer for a rendered page; bundles have one or two MiB

# Fields that can have only one value (RFC 9110 §5.3): the first counts, because a list would make no sense.
SINGLE_FIELDS = frozenset(
    {"content-length", "content-type", "content-encoding", "date", "etag", "last-modified", "location", "retry-after"}
)
# In these fields a crawler's name at the start applies up to the end of the line.
LINE_FIELDS = frozenset({"x-robots-tag"})
SITEMAP_TYPES = frozenset({"application/gzip", "application/octet-stream", "application/x-gzip", "application/xml"})
SCHEME_PATTERN = re.compile(r"\s*([A-Za-z][A-Za-z0-9+.-]*):")
FIELD_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]+")  # RFC 9110 §5.5
STATUS_LINE = re.compile(rb"HTTP/\S+[ \t]+(\d{3})(?!\d)[ \t]*([^\r\n]*)")


class ResponseHead(NamedTuple):
    """The header of a response."""

    status: int
    phrase: str
    headers: dict[str, str]  # lower-case names; values of repeated ones joined by ", ", of LINE_FIELDS by line feeds


class ResponseLimits(NamedTuple):
    """The responses whose bodies are wanted."""

    accept: frozenset[str]  # media types
    max_bytes: int  # largest body


class ResponseVerdict(NamedTuple):
    """How a visit ends by its header alone. FETCHED: read up to `limit` bytes of the body."""

    outcome: Outcome
    reason: str = ""
    location: str = ""
    limit: int = 0


def clean_reason(text: str) -> str:
    """Make foreign text fit for a reason: one line, no control characters, not too long."""
    cleaned = "".join(character if character.isprintable() else " " for character in text[: REASON_LENGTH * 2])
    cleaned = " ".join(cleaned.split())
    return cleaned if len(cleaned) <= REASON_LENGTH else f"{cleaned[: REASON_LENGTH - 1]}…"


def conditional_headers(request: Request) -> list[bytes]:
    """Return the headers of a conditional request (RFC 9110 §13.1), without values that could break a header."""
    values = (("If-None-Match", request.etag), ("If-Modified-Since", request.last_modified))
    return [f"{name}: {value}".encode("latin-1") for name, value in values if FIELD_VALUE.fullmatch(value)]


def parse_head(lines: Sequence[bytes]) -> ResponseHead | None:
    """Return the header of the final response, None when it is incomplete.

    Interim responses may precede it (RFC 9110 §15.2), and trailers may follow: it is the first non-interim block.
    """
    rest = iter(lines)
    for line in rest:
        match = STATUS_LINE.match(line)
        headers = _parse_fields(rest)
        if match is None or headers is None:
            return None
        status = int(match[1])
        if status >= 200 or status == 101:  # after 101 the server switches to another protocol
            return ResponseHead(status, match[2].decode("latin-1"), headers)
    return None


def _parse_fields(lines: Iterator[bytes]) -> dict[str, str] | None:
    """Return the fields up to the empty line; None when there is no empty line."""
    fields: dict[str, list[str]] = {}  # the parts of a value, joined at the end: the time stays linear
    name = ""
    for line in lines:
        text = line.decode("latin-1")
        if text in {"\r\n", "\n"}:
            return {name: "".join(parts).strip() for name, parts in fields.items()}
        if text[0] in " \t":  # obs-fold (RFC 9112 §5.2)
            if name and (folded := text.strip()):
                fields[name] += (" ", folded)
            continue
        name, _, value = text.partition(":")
        name, value = name.strip().lower(), value.strip()
        if name not in fields:
            fields[name] = [value]
        elif name not in SINGLE_FIELDS:
            fields[name] += ("\n" if name in LINE_FIELDS else ", ", value)
    return None


def judge_head(request: Request, head: ResponseHead, limits: ResponseLimits) -> ResponseVerdict:
    """Return what a response's header means for the request."""
    status = head.status
    if 200 <= status < 300:
        return _judge_success(request.role, head, limits)
    if status == 304:
        if conditional_headers(request):
            return ResponseVerdict(Outcome.NOT_MODIFIED)
        return ResponseVerdict(Outcome.BAD_HTTP, "304 Not Modified, but no condition was set")
    if 300 <= status < 400:
        return _judge_redirect(request.url, head)
    if status in {404, 410}:
        return ResponseVerdict(Outcome.NOT_FOUND, describe_status(head))
    if status == 429 or (status == 503 and "retry-after" in head.headers):
        return ResponseVerdict(Outcome.THROTTLED, describe_status(head))
    if status >= 400:
        return ResponseVerdict(Outcome.HTTP_ERROR, describe_status(head))
    return ResponseVerdict(Outcome.BAD_HTTP, describe_status(head))


def describe_status(head: ResponseHead) -> str:
    """Return a status such as "503 Service Unavailable", in the words of the standard or else of the server."""
    try:
        phrase = HTTPStatus(head.status).phrase
    except ValueError:
        phrase = head.phrase
    return clean_reason(f"{head.status} {phrase}")


def _judge_success(role: Role, head: ResponseHead, limits: ResponseLimits) -> ResponseVerdict:
    if role is Role.CHECK:
        return ResponseVerdict(Outcome.CHECKED)
    if role is Role.ROBOTS:
        return ResponseVerdict(Outcome.FETCHED, limit=ROBOTS_BYTES)
    if role is Role.SUBRESOURCE:  # of any type: the page knows what it asked for
        return ResponseVerdict(Outcome.FETCHED, limit=min(SUBRESOURCE_BYTES, limits.max_bytes))
    kind = parse_media_type(head.headers.get("content-type", ""))
    if kind and not (_is_sitemap_type(kind) if role is Role.SITEMAP else kind in limits.accept):
        return ResponseVerdict(Outcome.TYPE, clean_reason(kind))
    length = parse_length(head.headers.get("content-length", ""))
    if length is not None and length > limits.max_bytes:
        return ResponseVerdict(Outcome.TOO_BIG, f"{length} bytes, at most {limits.max_bytes} are taken")
    return ResponseVerdict(Outcome.FETCHED, limit=limits.max_bytes)


def _is_sitemap_type(kind: str) -> bool:
    return kind in SITEMAP_TYPES or kind.startswith("text/") or kind.endswith("+xml")


def _judge_redirect(url: str, head: ResponseHead) -> ResponseVerdict:
    if head.status in {305, 306}:  # deprecated and unused (RFC 9110 §15.4.6, §15.4.7)
        return ResponseVerdict(Outcome.BAD_REDIRECT, describe_status(head))
    target = _decode_location(head.headers.get("location", ""))
    if not target:
        return ResponseVerdict(Outcome.BAD_REDIRECT, f"{describe_status(head)} without a Location")
    location = canonicalize(target, url)
    if location == url:
        return ResponseVerdict(Outcome.REDIRECT_LOOP, "redirects to itself")
    if location is not None:
        return ResponseVerdict(Outcome.REDIRECTED, location=location)
    scheme = SCHEME_PATTERN.match(target)
    if scheme and scheme[1].lower() not in {"http", "https"}:
        return ResponseVerdict(Outcome.BAD_REDIRECT, clean_reason(f"redirects to {scheme[1].lower()}:"))
    return ResponseVerdict(Outcome.BAD_REDIRECT, clean_reason(f"redirects to an invalid URL: {target}"))


def _decode_location(value: str) -> str:
    """Decode a Location: ASCII by the standard, often UTF-8 in practice."""
    try:
        return value.encode("latin-1").decode("utf-8")
    except UnicodeDecodeError:
        return value
