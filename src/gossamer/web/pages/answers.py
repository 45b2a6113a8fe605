"""Answers about one resource: its columns, links, ranks, history and text, for the HTML page and for the API alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from gossamer.basics.page_budget import MAX_ANSWER_BYTES
from gossamer.errors import UsageError
from gossamer.lookup import find_resource
from gossamer.store.content import iterate_text
from gossamer.store.follow.graph import Ranks
from gossamer.store.read.rank_state import RankState, read_rank_state
from gossamer.store.values import ChangeRow, LinkRow, ResourceRow, VisitRow
from gossamer.urls.canonical import urls_from_input
from gossamer.web.http.problems import NotFound

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gossamer.model import Rendering
    from gossamer.store.protocol import StoreReader
    from gossamer.web.http.sessions import ReadSession

PIECE_BYTES = 64 << 10  # of JSON, sent at a time


def require_resource(store: StoreReader, url: str) -> ResourceRow:
    """Return the resource that a user typed. Raises `UsageError` for a malformed URL, `NotFound` for an unknown one."""
    urls_from_input(url)
    try:
        return find_resource(store, url)
    except UsageError as error:
        raise NotFound(str(error)) from error


class RenderingAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What a browser made of a page, in numbers beside those of its source alone."""

    words: int
    links: int
    plain_words: int
    plain_links: int
    milliseconds: int
    cut: str  # budgets that cut the rendering
    has_dom: bool  # `/source?rendered=true` shows it
    has_screenshot: bool  # `/api/screenshot` sends it


class PageAnswer(ResourceRow, frozen=True, kw_only=True):
    """A resource with its links, ranks, visits and changes."""

    inlinks: list[LinkRow]
    outlinks: list[LinkRow]
    ranks: Ranks | None
    rank_state: RankState | None  # how current the ranks of the web are; null: it has none
    visits: list[VisitRow]  # type: ignore[assignment]  # the visits themselves instead of their number
    changes: list[ChangeRow]
    rendering: RenderingAnswer | None


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
        rank_state=read_rank_state(store),
        visits=store.visits(row.id)[-limit:],
        changes=store.history(row.id)[-limit:],
        rendering=_rendering_answer(store.rendering(row.id)),
    )


def _rendering_answer(rendering: Rendering | None) -> RenderingAnswer | None:
    if rendering is None:
        return None
    numbers = {name: value for name, value in msgspec.structs.asdict(rendering).items() if not isinstance(value, bytes)}
    return RenderingAnswer(**numbers, has_dom=bool(rendering.dom), has_screenshot=bool(rendering.screenshot))


def screenshot(store: StoreReader, url: str) -> bytes:
    """Return the picture of a page. Raises `NotFound` if there is none."""
    row = require_resource(store, url)
    rendering = store.rendering(row.id)
    if rendering is None or not rendering.screenshot:
        raise NotFound(f"There is no picture of {row.url}: crawl it with --screenshots.")
    return rendering.screenshot


class TextRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run of text of one field."""

    field: str
    text: str


class TextAnswer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The stored text of a page."""

    url: str
    text: list[TextRun]
    cut: bool = False  # whether runs are left out, because the answer would be over `MAX_ANSWER_BYTES`


def packed_text(store: StoreReader, url: str) -> tuple[ResourceRow, bytes]:
    """Return a page with its text as stored. Raises `NotFound` if it has none."""
    row = require_resource(store, url)
    packed = store.packed_text(row.id)
    if packed is None:
        raise NotFound(f"{row.url} has no text: {row.reason or row.outcome or row.state}.")
    return row, packed


def text_chunks(url: str, packed: bytes) -> Iterator[bytes]:
    """Yield `TextAnswer` as JSON, in pieces, so that a long text is never in memory as a whole."""
    piece = bytearray(b'{"url":' + msgspec.json.encode(url) + b',"text":[')
    size, separator, end = 0, b"", b"]}"
    for field, run in iterate_text(packed):
        encoded = msgspec.json.encode(TextRun(field=field.name.lower(), text=run))
        if size + len(piece) + len(encoded) > MAX_ANSWER_BYTES:
            end = b'],"cut":true}'
            break
        piece += separator + encoded
        separator = b","
        if len(piece) >= PIECE_BYTES:
            size += len(piece)
            yield bytes(piece)
            piece.clear()
    yield bytes(piece + end)
