"""The contents of a store as tables: links, resources, hosts, visits and ranks, streamed row by row.

The link table has exactly the columns of Screaming Frog's `all_inlinks` export, because many tools read it.
Columns that Gossamer does not store (`Target`, `Path Type`, `Link Path`) stay empty.
"""

from __future__ import annotations

from http import HTTPStatus
from itertools import islice
from operator import attrgetter
from typing import TYPE_CHECKING

from gossamer.files.tables import Column, Table, field_columns
from gossamer.model import Kind, Position
from gossamer.store.follow.graph import Ranks
from gossamer.store.values import HostRow, ResourceRow, VisitRow

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from gossamer.store.protocol import ExportSource
    from gossamer.store.values import Bond

LINK_COLUMNS = (
    Column("Type"),
    Column("Source"),
    Column("Destination"),
    Column("Size (Bytes)", "integer"),  # of the destination
    Column("Alt Text"),
    Column("Anchor"),
    Column("Status Code", "integer"),  # of the destination; 0: no response, or not visited
    Column("Status"),
    Column("Follow", "flag"),
    Column("Target"),
    Column("Rel"),
    Column("Path Type"),
    Column("Link Path"),
    Column("Link Position"),
    Column("Link Origin"),
)
LINK_TYPES = {
    Kind.HYPERLINK: "Hyperlink",
    Kind.FRAME: "Frame",
    Kind.REFRESH: "Meta Refresh",
    Kind.REDIRECT: "HTTP Redirect",
    Kind.CANONICAL: "HTML Canonical",
    Kind.ALTERNATE: "Alternate",
    Kind.RELATED: "Related",
    Kind.FEED: "Feed",
    Kind.SITEMAP: "Sitemap",
    Kind.SITEMAP_FILE: "Sitemap Index",
    Kind.ROUTE: "Route",
    Kind.SCRIPT_URL: "Script URL",
    Kind.IMAGE: "Image",
    Kind.SCRIPT: "JavaScript",
    Kind.STYLE: "CSS",
    Kind.MEDIA: "Media",
    Kind.OTHER: "Other",
    Kind.DATA: "Data",
}
LINK_POSITIONS = {
    Position.CONTENT: "Content",
    Position.NAV: "Navigation",
    Position.HEADER: "Header",
    Position.FOOTER: "Footer",
    Position.ASIDE: "Aside",
    Position.HEAD: "Head",
}
LINK_ORIGINS = {Kind.REDIRECT: "HTTP Header", Kind.SITEMAP: "XML", Kind.SITEMAP_FILE: "XML", Kind.FEED: "XML"}
STATUS_PHRASES = {status.value: status.phrase for status in HTTPStatus}

RESOURCE_COLUMNS = field_columns(ResourceRow)
HOST_COLUMNS = field_columns(HostRow)
VISIT_COLUMNS = field_columns(VisitRow)
RANK_COLUMNS = (Column("url"), Column("title"), *field_columns(Ranks))
PAGES_AT_ONCE = 1_000  # pages per query for their ranks


def links(web: ExportSource) -> Table:
    """Return the table of links, grouped by source page."""
    return Table(columns=LINK_COLUMNS, rows=map(_link_row, web.every_link()))


def resources(web: ExportSource) -> Table:
    """Return the table of resources in every state."""
    return Table(columns=RESOURCE_COLUMNS, rows=_field_rows(RESOURCE_COLUMNS, web.resources()))


def hosts(web: ExportSource) -> Table:
    """Return the table of hosts."""
    return Table(columns=HOST_COLUMNS, rows=_field_rows(HOST_COLUMNS, web.every_host()))


def visits(web: ExportSource) -> Table:
    """Return the table of visits, oldest first."""
    return Table(columns=VISIT_COLUMNS, rows=_field_rows(VISIT_COLUMNS, web.every_visit()))


def ranks(web: ExportSource) -> Table:
    """Return the table of ranked pages and their ranks."""
    return Table(columns=RANK_COLUMNS, rows=_rank_rows(web))


def _rank_rows(web: ExportSource) -> Iterator[tuple[Any, ...]]:
    pages, values = web.every_page(), attrgetter(*(column.name for column in RANK_COLUMNS[2:]))
    while chunk := list(islice(pages, PAGES_AT_ONCE)):
        for page, node in zip(chunk, web.page_nodes([page.id for page in chunk]), strict=True):
            if node.ranks is not None:
                yield page.url, page.title, *values(node.ranks)


def _field_rows(columns: tuple[Column, ...], values: Iterator[Any]) -> Iterator[tuple[Any, ...]]:
    """Yield each value's fields in the order of the columns; a column has the name of its field."""
    return map(attrgetter(*(column.name for column in columns)), values)


def _link_row(bond: Bond) -> tuple[Any, ...]:
    alt, anchor = (bond.anchor, "") if bond.kind == Kind.IMAGE else ("", bond.anchor)
    return (
        LINK_TYPES[bond.kind], bond.source, bond.target, bond.bytes, alt, anchor, bond.status, _status_text(bond),
        bond.follow, "", bond.rel, "", "", LINK_POSITIONS[bond.position], LINK_ORIGINS.get(bond.kind, "HTML"),
    )  # fmt: skip


def _status_text(bond: Bond) -> str:
    """Return the destination's status phrase, else the outcome of its visit, else its state."""
    return STATUS_PHRASES.get(bond.status) or bond.outcome or bond.state
