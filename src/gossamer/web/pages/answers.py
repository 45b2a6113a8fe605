"""Answers about one resource: its columns, links, ranks, history and text, for the HTML page and for the API alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from gossamer.errors import UsageError
from gossamer.lookup import find_resource
from gossamer.store.follow.graph import Ranks
from gossamer.store.values import ChangeRow, LinkRow, ResourceRow, VisitRow
from gossamer.urls.canonical import urls_from_input
from gossamer.web.http.problems import NotFound

if TYPE_CHECKING:
    from gossamer.store.protocol import StoreReader
    from gossamer.web.http.sessions import ReadSession


def require_resource(store: StoreReader, url: str) -> ResourceRow:
    """Return the resource that a user typed. Raises `UsageError` for a malformed URL, `NotFound` for an unknown one."""
    urls_from_input(url)
    try:
        return find_resource(store, url)
    except UsageError as error:
        raise NotFound(str(error)) from error


class PageAnswer(ResourceRow, frozen=True, kw_only=True):
    """A resource with its links, ranks, visits and changes."""

    inlinks: list[LinkRow]
    outlinks: list[LinkRow]
    ranks: Ranks | None
    visits: list[VisitRow]  # type: ignore[assignment]  # the visits themselves instead of their number
    changes: list[ChangeRow]


def page(session: ReadSession, url: str, limit: int) -> PageAnswer:
    """Return a resource with up to `limit` rows of each list."""
    store = session.store
    row = require_resource(store, url)
    columns = {name: getattr(row, name) for name in ResourceRow.__struct_fields__ if name != "visits"}
    return PageAnswer(
        **columns,
        inlinks=store.inlinks(row.id, limit),
        outlinks=store.outlinks(row.id, limit),
        ranks=store.ranks(row.id),
        visits=store.visits(row.id)[-limit:],
        changes=store.history(row.id)[-limit:],
    )


class TextRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run of text of one field."""

    field: str
    text: str


class TextAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The stored text of a page."""

    url: str
    text: list[TextRun]


def text(session: ReadSession, url: str) -> TextAnswer:
    """Return the stored text of a page in reading order."""
    row = require_resource(session.store, url)
    runs = session.store.text(row.id)
    if runs is None:
        raise NotFound(f"{row.url} has no text: {row.reason or row.outcome or row.state}.")
    return TextAnswer(url=row.url, text=[TextRun(field=field.name.lower(), text=run) for field, run in runs])
