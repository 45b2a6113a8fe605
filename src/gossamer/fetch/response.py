"""What an HTTP answer's header means for the request it answers, before its body is read on.

In come the header lines as they stood on the wire and what was asked for; out comes a `Ruling`: is the body wanted, and
if not, how the visit ended. Pure: `transfer` collects the lines and acts on the ruling.
"""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import TYPE_CHECKING, NamedTuple

from gossamer.model import Outcome, Role
from gossamer.urls.canonical import canonicalize

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

REASON_LENGTH = 200  # a reason is read by people, in a table (characters)
# What must be parsed of a robots.txt (RFC 9309 §2.5), and a byte to tell that there is more; the rest is left unread.
ROBOTS_BYTES = (500 << 10) + 1

# Fields of which one value makes sense (RFC 9110 §5.3): of several the first counts, a list of them would be nonsense.
SINGLE_FIELDS = frozenset(
    {"content-length", "content-type", "content-encoding", "date", "etag", "last-modified", "location", "retry-after"}
)
# A crawler's name at the start of such a field holds to the end of its line.
LINE_FIELDS = frozenset({"x-robots-tag"})
SITEMAP_TYPES = frozenset({"application/gzip", "application/octet-stream", "application/x-gzip", "application/xml"})
SCHEME_PATTERN = re.compile(r"\s*([A-Za-z][A-Za-z0-9+.-]*):")
STATUS_LINE = re.compile(rb"HTTP/\S+[ \t]+(\d{3})(?!\d)[ \t]*([^\r\n]*)")


class ResponseHead(NamedTuple):
    """The header of an answer."""

    status: int
    phrase: str
    headers: dict[str, str]  # lower-case names; repeated ones joined with ", ", those of BY_LINE with a line feed


class RequestContext(NamedTuple):
    """What was asked for, and what would be taken."""

    url: str
    role: Role
    conditional: bool
    accept: frozenset[str]
    max_bytes: int


class ResponseVerdict(NamedTuple):
    """How a visit ends by its header alone. FETCHED: by its body, of which at most `limit` bytes are taken."""

    outcome: Outcome
    reason: str = ""
    location: str = ""
    limit: int = 0


def clean_reason(text: str) -> str:
    """Text from outside made fit for a reason: one line, nothing that a terminal could obey, not too long."""
    cleaned = "".join(character if character.isprintable() else " " for character in text[: REASON_LENGTH * 2])
    cleaned = " ".join(cleaned.split())
    return cleaned if len(cleaned) <= REASON_LENGTH else f"{cleaned[: REASON_LENGTH - 1]}…"


def parse_head(lines: Sequence[bytes]) -> ResponseHead | None:
    """The final answer's header, None when it did not arrive whole.

    Before it may stand interim answers (RFC 9110 §15.2), behind it trailers: it is the first block that is not interim.
    """
    rest = iter(lines)
    for line in rest:
        match = STATUS_LINE.match(line)
        headers = _parse_fields(rest)
        if match is None or headers is None:
            return None
        status = int(match[1])
        if status >= 200 or status == 101:  # after 101 it would go on in another protocol
            return ResponseHead(status, match[2].decode("latin-1"), headers)
    return None


def _parse_fields(lines: Iterator[bytes]) -> dict[str, str] | None:
    """The fields up to the empty line; None when there is no empty line."""
    fields: dict[str, str] = {}
    name = ""
    for line in lines:
        text = line.decode("latin-1")
        if text in {"\r\n", "\n"}:
            return fields
        if text[0] in " \t":  # obs-fold (RFC 9112 §5.2)
            if name:
                fields[name] = f"{fields[name]} {text.strip()}".strip()
            continue
        name, _, value = text.partition(":")
        name, value = name.strip().lower(), value.strip()
        if name not in fields:
            fields[name] = value
        elif name not in SINGLE_FIELDS:
            fields[name] += ("\n" if name in LINE_FIELDS else ", ") + value
    return None


def media_type(headers: dict[str, str]) -> str:
    """The declared type without its parameters, lower case; "" when there is none."""
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def judge_head(context: RequestContext, head: ResponseHead) -> ResponseVerdict:
    """What `head` says to what was asked."""
    status = head.status
    if 200 <= status < 300:
        return _judge_success(context, head)
    if status == 304:
        if context.conditional:
            return ResponseVerdict(Outcome.NOT_MODIFIED)
        return ResponseVerdict(Outcome.BAD_HTTP, "304 Not Modified, but no condition was set")
    if 300 <= status < 400:
        return _judge_redirect(context, head)
    if status in {404, 410}:
        return ResponseVerdict(Outcome.NOT_FOUND, describe_status(head))
    if status == 429 or (status == 503 and "retry-after" in head.headers):
        return ResponseVerdict(Outcome.THROTTLED, describe_status(head))
    if status >= 400:
        return ResponseVerdict(Outcome.HTTP_ERROR, describe_status(head))
    return ResponseVerdict(Outcome.BAD_HTTP, describe_status(head))


def describe_status(head: ResponseHead) -> str:
    """A status as in "503 Service Unavailable": the standard's words where it has some, else the server's."""
    try:
        phrase = HTTPStatus(head.status).phrase
    except ValueError:
        phrase = head.phrase
    return clean_reason(f"{head.status} {phrase}")


def _judge_success(context: RequestContext, head: ResponseHead) -> ResponseVerdict:
    if context.role is Role.CHECK:
        return ResponseVerdict(Outcome.CHECKED)
    if context.role is Role.ROBOTS:
        return ResponseVerdict(Outcome.FETCHED, limit=ROBOTS_BYTES)
    kind = media_type(head.headers)
    if kind and not _is_accepted(context, kind):
        return ResponseVerdict(Outcome.TYPE, clean_reason(kind))
    length = head.headers.get("content-length", "")
    if length.isdecimal() and int(length[:20]) > context.max_bytes:
        return ResponseVerdict(Outcome.TOO_BIG, f"{clean_reason(length)} bytes, at most {context.max_bytes} are taken")
    return ResponseVerdict(Outcome.FETCHED, limit=context.max_bytes)


def _is_accepted(context: RequestContext, kind: str) -> bool:
    if context.role is Role.SITEMAP:
        return kind in SITEMAP_TYPES or kind.startswith("text/") or kind.endswith("+xml")
    return kind in context.accept


def _judge_redirect(context: RequestContext, head: ResponseHead) -> ResponseVerdict:
    if head.status in {305, 306}:  # deprecated and unused (RFC 9110 §15.4.6, §15.4.7)
        return ResponseVerdict(Outcome.BAD_REDIRECT, describe_status(head))
    target = _decode_location(head.headers.get("location", ""))
    if not target:
        return ResponseVerdict(Outcome.BAD_REDIRECT, f"{describe_status(head)} without a Location")
    location = canonicalize(target, context.url)
    if location == context.url:
        return ResponseVerdict(Outcome.REDIRECT_LOOP, "redirects to itself")
    if location is not None:
        return ResponseVerdict(Outcome.REDIRECTED, location=location)
    scheme = SCHEME_PATTERN.match(target)
    if scheme and scheme[1].lower() not in {"http", "https"}:
        return ResponseVerdict(Outcome.BAD_REDIRECT, clean_reason(f"redirects to {scheme[1].lower()}:"))
    return ResponseVerdict(Outcome.BAD_REDIRECT, clean_reason(f"redirects to what is not a URL: {target}"))


def _decode_location(value: str) -> str:
    """A Location is ASCII by the standard and often UTF-8 in the wild."""
    try:
        return value.encode("latin-1").decode("utf-8")
    except UnicodeDecodeError:
        return value
