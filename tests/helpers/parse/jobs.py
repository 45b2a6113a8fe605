"""Build parse jobs, and show parsed pages in a form that tests can read."""

from __future__ import annotations

from typing import NamedTuple

import msgspec
import zstandard

from gossamer.model import Kind, Page, ParseJob, Position, Role
from gossamer.parse.options import ParseOptions
from gossamer.parse.page_parser import parse_page

URL = "http://example.org/dir/page.html"


class Row(NamedTuple):
    """One bond of a page."""

    url: str
    anchor: str
    kind: Kind
    follow: bool
    weight: int
    rel: str
    position: Position


def job(
    body: bytes | str,
    content_type: str = "text/html",
    *,
    url: str = URL,
    role: Role = Role.PAGE,
    encoding: str = "",
    link: str = "",
    robots: str = "",
    refresh: str = "",
    language: str = "",
    number: int = 1,
) -> ParseJob:
    body = body.encode() if isinstance(body, str) else body
    return ParseJob(number, role, url, body, content_type, encoding, link, robots, refresh, language)


def page(body: bytes | str, content_type: str = "text/html", **rest: str) -> Page:
    """Parse with the default options."""
    return parse_page(job(body, content_type, **rest), ParseOptions())  # type: ignore[arg-type]


def rows(parsed: Page) -> list[Row]:
    columns = parsed.links
    return [
        Row(url, anchor, Kind(kind), bool(follow), weight, rel, Position(position))
        for url, anchor, kind, follow, weight, rel, position in zip(
            columns.urls,
            columns.anchors,
            columns.kinds,
            columns.follows,
            columns.weights,
            columns.rels,
            columns.positions,
            strict=True,
        )
    ]


def links(html: str, **rest: str) -> list[tuple[str, str]]:
    """Return URL and anchor of each bond of an HTML page."""
    return [(row.url, row.anchor) for row in rows(page(html, **rest))]


def runs(parsed: Page) -> list[tuple[int, str]]:
    """Return the stored text, unpacked."""
    unpacked = msgspec.msgpack.decode(zstandard.ZstdDecompressor().decompress(parsed.text), type=list[tuple[int, str]])
    assert unpacked == [(field, text) for field, text in unpacked if text]
    return unpacked
