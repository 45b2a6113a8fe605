"""Pages as a crawl yields them, decoded at first use."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import zstandard

from gossamer.model import Field, Kind, Position, Value

if TYPE_CHECKING:
    from gossamer.model import Visit


class Link(Value, frozen=True, kw_only=True):
    """A link of a page."""

    url: str
    kind: Kind
    anchor: str
    follow: bool
    weight: int
    rel: str
    position: Position


class VisitedPage:
    """A page that a crawl has visited and stored. Text, source and links are decoded at first use."""

    def __init__(self, visit: Visit) -> None:
        self._visit = visit
        page = visit.page
        self.url = visit.lease.url
        self.status = visit.status
        self.depth = visit.lease.depth
        self.visited_at = visit.visited_at
        self.media_type = visit.media_type
        self.title = page.title if page else ""
        self.description = page.description if page else ""
        self.language = page.language if page else ""
        self.charset = page.charset if page else ""

    def __repr__(self) -> str:
        return f"<VisitedPage {self.url} {self.status}>"

    @cached_property
    def fields(self) -> list[tuple[Field, str]]:
        """The text by field, in reading order."""
        from gossamer.store.content import decode_text  # noqa: PLC0415 - only programs that read text need it

        page = self._visit.page
        return decode_text(page.text) if page and page.text else []

    @property
    def text(self) -> str:
        """The text, one run a line."""
        return "\n".join(text for _, text in self.fields)

    @cached_property
    def source(self) -> bytes:
        """The decoded body; empty if `crawl.source` is off."""
        page = self._visit.page
        return zstandard.decompress(page.source) if page and page.source else b""

    @cached_property
    def links(self) -> list[Link]:
        """The links, in order of first occurrence."""
        page = self._visit.page
        if page is None:
            return []
        rows = page.links
        columns = (rows.urls, rows.kinds, rows.anchors, rows.follows, rows.weights, rows.rels, rows.positions)
        return [
            Link(
                url=url,
                kind=Kind(kind),
                anchor=anchor,
                follow=bool(follow),
                weight=weight,
                rel=rel,
                position=Position(at),
            )
            for url, kind, anchor, follow, weight, rel, at in zip(*columns, strict=True)
        ]
