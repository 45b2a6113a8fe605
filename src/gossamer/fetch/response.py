"""What an HTTP answer's header means for the request it answers, before its body is read on.

In come the header lines as they stood on the wire and what was asked for; out comes a `Ruling`: is the body wanted, and
if not, how the visit ended. Pure: `transfer` collects the lines and acts on the ruling.
"""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import TYPE_CHECKING, NamedTuple

from gossamer.model import Outcome, Role
from gossamer.urls.canonical import canonical

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

REASON_LENGTH = 200  # a reason is read by people, in a table (characters)
# What must be parsed of a robots.txt (RFC 9309 §2.5), and a byte to tell that there is more; the rest is left unread.
ROBOTS_BYTES = (500 << 10) + 1

# Fields of which one value makes sense (RFC 9110 §5.3): of several the first counts, a list of them would be nonsense.
SINGLE = frozenset(
    {"content-length", "content-type", "content-encoding", "date", "etag", "last-modified", "location", "retry-after"}
)
# A crawler's name at the start of such a field holds to the end of its line.
BY_LINE = frozenset({"x-robots-tag"})
SITEMAP_TYPES = frozenset({"application/gzip", "application/octet-stream", "application/x-gzip", "application/xml"})
SCHEME = re.compile(r"\s*([A-Za-z][A-Za-z0-9+.-]*):")
STATUS_LINE = re.compile(rb"HTTP/\S+[ \t]+(\d{3})(?!\d)[ \t]*([^\r\n]*)")


class Head(NamedTuple):
    """The header of an answer."""

    status: int
    phrase: str
    headers: dict[str, str]  # lower-case names; repeated ones joined with ", ", those of BY_LINE with a line feed


class Asked(NamedTuple):
    """What was asked for, and what would be taken."""

    url: str
    role: Role
    conditional: bool
    accept: frozenset[str]
    max_bytes: int


class Ruling(NamedTuple):
    """How a visit ends by its header alone. FETCHED: by its body, of which at most `limit` bytes are taken."""

    outcome: Outcome
    reason: str = ""
    location: str = ""
    limit: int = 0


def clean(text: str) -> str:
    """Text from outside made fit for a reason: one line, nothing that a terminal could obey, not too long."""
    shown = "".join(character if character.isprintable() else " " for character in text[: REASON_LENGTH * 2])
    shown = " ".join(shown.split())
    return shown if len(shown) <= REASON_LENGTH else f"{shown[: REASON_LENGTH - 1]}…"


def parse_head(lines: Sequence[bytes]) -> Head | None:
    """The final answer's header, None when it did not arrive whole.

    Before it may stand interim answers (RFC 9110 §15.2), behind it trailers: it is the first block that is not interim.
    """
    rest = iter(lines)
    for line in rest:
        match = STATUS_LINE.match(line)
        headers = _fields(rest)
        if match is None or headers is None:
            return None
        status = int(match[1])
        if status >= 200 or status == 101:  # after 101 it would go on in another protocol
            return Head(status, match[2].decode("latin-1"), headers)
    return None


def _fields(lines: Iterator[bytes]) -> dict[str, str] | None:
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
        elif name not in SINGLE:
            fields[name] += ("\n" if name in BY_LINE else ", ") + value
    return None


def media_type(headers: dict[str, str]) -> str:
    """The declared type without its parameters, lower case; "" when there is none."""
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def rule(asked: Asked, head: Head) -> Ruling:
    """What `head` says to what was asked."""
    status = head.status
    if 200 <= status < 300:
        return _rule_success(asked, head)
    if status == 304:
        if asked.conditional:
            return Ruling(Outcome.NOT_MODIFIED)
        return Ruling(Outcome.BAD_HTTP, "304 Not Modified, but no condition was set")
    if 300 <= status < 400:
        return _rule_redirect(asked, head)
    if status in {404, 410}:
        return Ruling(Outcome.NOT_FOUND, in_words(head))
    if status == 429 or (status == 503 and "retry-after" in head.headers):
        return Ruling(Outcome.THROTTLED, in_words(head))
    if status >= 400:
        return Ruling(Outcome.HTTP_ERROR, in_words(head))
    return Ruling(Outcome.BAD_HTTP, in_words(head))


def in_words(head: Head) -> str:
    """A status as in "503 Service Unavailable": the standard's words where it has some, else the server's."""
    try:
        phrase = HTTPStatus(head.status).phrase
    except ValueError:
        phrase = head.phrase
    return clean(f"{head.status} {phrase}")


def _rule_success(asked: Asked, head: Head) -> Ruling:
    if asked.role is Role.CHECK:
        return Ruling(Outcome.CHECKED)
    if asked.role is Role.ROBOTS:
        return Ruling(Outcome.FETCHED, limit=ROBOTS_BYTES)
    kind = media_type(head.headers)
    if kind and not _is_accepted(asked, kind):
        return Ruling(Outcome.TYPE, clean(kind))
    length = head.headers.get("content-length", "")
    if length.isdecimal() and int(length[:20]) > asked.max_bytes:
        return Ruling(Outcome.TOO_BIG, f"{clean(length)} bytes, at most {asked.max_bytes} are taken")
    return Ruling(Outcome.FETCHED, limit=asked.max_bytes)


def _is_accepted(asked: Asked, kind: str) -> bool:
    if asked.role is Role.SITEMAP:
        return kind in SITEMAP_TYPES or kind.startswith("text/") or kind.endswith("+xml")
    return kind in asked.accept


def _rule_redirect(asked: Asked, head: Head) -> Ruling:
    if head.status in {305, 306}:  # deprecated and unused (RFC 9110 §15.4.6, §15.4.7)
        return Ruling(Outcome.BAD_REDIRECT, in_words(head))
    target = _location(head.headers.get("location", ""))
    if not target:
        return Ruling(Outcome.BAD_REDIRECT, f"{in_words(head)} without a Location")
    location = canonical(target, asked.url)
    if location == asked.url:
        return Ruling(Outcome.REDIRECT_LOOP, "redirects to itself")
    if location is not None:
        return Ruling(Outcome.REDIRECTED, location=location)
    scheme = SCHEME.match(target)
    if scheme and scheme[1].lower() not in {"http", "https"}:
        return Ruling(Outcome.BAD_REDIRECT, clean(f"redirects to {scheme[1].lower()}:"))
    return Ruling(Outcome.BAD_REDIRECT, clean(f"redirects to what is not a URL: {target}"))


def _location(value: str) -> str:
    """A Location is ASCII by the standard and often UTF-8 in the wild."""
    try:
        return value.encode("latin-1").decode("utf-8")
    except UnicodeDecodeError:
        return value
