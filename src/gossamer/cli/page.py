"""The command `page`: everything known about one URL."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click
import msgspec

from gossamer.basics.display import escape_hidden, escape_hidden_lines, format_bytes, format_time, pluralize
from gossamer.cli.freshness import next_visit, next_visit_text, print_history
from gossamer.cli.help import HelpCommand
from gossamer.cli.options import json_option, limit_option, open_web, store_option
from gossamer.cli.output import (
    DIM,
    TerminalColumn,
    is_terminal,
    json_text,
    print_heading,
    print_line,
    row_limit,
    with_style,
    write_table,
)
from gossamer.cli.pager import print_table_notes, wide_option
from gossamer.errors import UsageError
from gossamer.lookup import find_resource
from gossamer.store.read.rank_state import read_rank_state

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gossamer.model import Rendering
    from gossamer.store.protocol import StoreReader
    from gossamer.store.values import LinkRow, ResourceRow

TERMINAL_LINKS = 20  # links in and links out, each, without --limit


@click.command(cls=HelpCommand)
@click.argument("url")
@click.option("--text", "what", flag_value="text", help="Print its text, each run after the name of its field.")
@click.option("--source", "what", flag_value="source", help="Write its source to stdout, byte for byte.")
@click.option("--rendered", "what", flag_value="rendered", help="Write to stdout what a browser made of it, as HTML.")
@click.option("--screenshot", "what", flag_value="screenshot", help="Write its picture to stdout.")
@click.option(
    "--old-source",
    type=int,
    metavar="ID",
    help="Write to stdout the source that it had until the change ID; --json lists the ids.",
)
@wide_option
@limit_option
@store_option
@json_option
def page(
    url: str, what: str | None, old_source: int | None, wide: bool, limit: int | None, store: str, as_json: bool
) -> None:
    """Show everything known about one URL, with its links in and out.

    A URL without a scheme means https, then http. A terminal shows the first 20 links in and out; --limit changes that.

    \b
    JSON: the resource's columns and {"inlinks": [{"url", "anchor", "weight", ...}],
          "outlinks": [...], "ranks", "rank_state", "rendering", "visits": [...], "history": [...], "next_visit_at"}
    JSON with --text: {"url", "text": [{"field", "text"}]}
    """
    if old_source is not None and (what or as_json):
        raise UsageError("--old-source writes bytes: use it without --text, --source and --json.")
    with open_web(store) as web:
        row = find_resource(web, url)
        if what == "text":
            _print_text(web, row, as_json=as_json)
        elif what == "source":
            _print_source(row, web.source(row.id), f"The source of {row.url} is not stored.")
        elif what in {"rendered", "screenshot"}:
            _print_rendering(row, web.rendering(row.id), what)
        elif old_source is not None:
            _print_old_source(web, row, old_source)
        elif as_json:
            _print_json(web, row, limit or None, next_visit(web, store, row))
        else:
            _print_page(web, row, row_limit(limit, TERMINAL_LINKS), next_visit(web, store, row), wide=wide)


def _print_text(web: StoreReader, row: ResourceRow, *, as_json: bool) -> None:
    runs = web.text(row.id)
    if runs is None:
        raise UsageError(f"{row.url} has no text: {row.reason or row.outcome or row.state}.")
    if as_json:
        text = [{"field": field.name.lower(), "text": run} for field, run in runs]
        print_line(json_text({"url": row.url, "text": text}, indent=2))
        return
    for field, run in runs:
        print_line(f"{with_style(f'{field.name.lower()}:', DIM, sys.stdout)} {escape_hidden_lines(run)}")


def _print_old_source(web: StoreReader, row: ResourceRow, change: int) -> None:
    if change not in {entry.id for entry in web.history(row.id)}:
        raise UsageError(f"{row.url} has no change with the id {change}: `gossamer page URL --json` lists its history.")
    missing = (
        f"The source of {row.url} until this change is not stored: the setting store.old_sources keeps such sources."
    )
    _print_source(row, web.old_source(change), missing)


def _print_rendering(row: ResourceRow, rendering: Rendering | None, part: str) -> None:
    from gossamer.store.content import decode_source

    if rendering is None:
        raise UsageError(f"No browser rendered {row.url}: crawl it with --render auto or --render always.")
    if part == "rendered":
        dom = decode_source(rendering.dom) if rendering.dom else None
        _print_source(row, dom, f"What a browser made of {row.url} is not stored (--no-rendered).")
    elif not rendering.screenshot:
        raise UsageError(f"There is no picture of {row.url}: crawl it with --screenshots.")
    elif is_terminal(sys.stdout):
        raise UsageError("A picture does not fit on a terminal: write it to a file with > FILE.")
    else:
        sys.stdout.buffer.write(rendering.screenshot)


def _print_source(row: ResourceRow, source: bytes | None, missing: str) -> None:
    from gossamer.parse.charset import UTF8, charset_by_label

    if source is None:
        raise UsageError(missing)
    if is_terminal(sys.stdout):  # the page must not control the terminal
        charset = charset_by_label(row.charset) or UTF8
        print_line(escape_hidden_lines(source.decode(charset.codec, "replace")))
    else:
        sys.stdout.buffer.write(source)


def _print_json(web: StoreReader, row: ResourceRow, limit: int | None, next_at: float | None) -> None:
    fields = msgspec.to_builtins(row) | {
        "inlinks": web.inlinks(row.id, limit),
        "outlinks": web.outlinks(row.id, limit),
        "ranks": web.ranks(row.id),
        "rank_state": read_rank_state(web),
        "rendering": _rendering_fields(web.rendering(row.id)),
        "visits": web.visits(row.id),
        "history": web.history(row.id),
        "next_visit_at": next_at,
    }
    print_line(json_text(fields, indent=2))


def _rendering_fields(rendering: Rendering | None) -> dict[str, object] | None:
    """Return what a browser made of a page, without the DOM and the screenshot."""
    if rendering is None:
        return None
    fields: dict[str, object] = msgspec.structs.asdict(rendering)
    return {name: value for name, value in fields.items() if not isinstance(value, bytes)}


def _print_page(web: StoreReader, row: ResourceRow, limit: int | None, next_at: float | None, *, wide: bool) -> None:
    print_heading(escape_hidden(row.url))
    soon = ("next visit", next_visit_text(next_at))
    known = (*_facts(row), *_reading_facts(web.rendering(row.id)), soon, *_rank_facts(web, row.id))
    facts = [(name, value) for name, value in known if value]
    width = max(len(name) for name, _ in facts)
    for name, value in facts:
        print_line(f"  {with_style(f'{name:<{width}}', DIM, sys.stdout)}  {escape_hidden(value)}")
    _print_visits(web, row, wide=wide)
    print_history(web, row)
    _print_links("Links in", web.inlinks(row.id, limit and limit + 1), limit, row.url, wide=wide)
    _print_links("Links out", web.outlinks(row.id, limit and limit + 1), limit, row.url, wide=wide)


def _facts(row: ResourceRow) -> list[tuple[str, str]]:
    """Return names and values of the facts of a page; the caller leaves out empty values."""
    status = " ".join(filter(None, [str(row.status or ""), row.outcome]))
    visited = f"{format_time(row.visited_at)} by {row.visited_by}" if row.visited_at else ""
    return [
        ("title", row.title),
        ("state", row.state + (f": {row.reason}" if row.reason else "")),
        ("rendered", row.rendered),
        ("scripts", f"it seems to need a browser: {row.script_sign}" if row.script_sign and not row.rendered else ""),
        ("cut", f"{row.cut}: only the beginning was kept" if row.cut else ""),
        ("answer", status),
        ("type", "; ".join(filter(None, [row.media_type, row.charset]))),
        ("size", format_bytes(row.bytes) if row.bytes else ""),
        ("language", row.language),
        ("description", row.description),
        ("canonical", row.canonical),
        ("index", "no (noindex)" if row.noindex else ""),
        ("modified", row.last_modified),
        ("etag", row.etag),
        ("digest", row.content_digest),
        ("host", row.host),
        ("role", row.role),
        ("depth", str(row.depth)),
        ("backlinks", f"{row.backlinks:,}"),
        ("visited", visited),
        ("found", f"{format_time(row.discovered_at)}" + (f" by {row.discovered_by}" if row.discovered_by else "")),
        ("number", str(row.id)),
    ]


def _reading_facts(rendering: Rendering | None) -> list[tuple[str, str]]:
    """Return what a browser added to a page."""
    if rendering is None:
        return []
    plain = f"{pluralize(rendering.plain_words, 'word')}, {pluralize(rendering.plain_links, 'link')}"
    rendered = f"{pluralize(rendering.words, 'word')}, {pluralize(rendering.links, 'link')}"
    cut = f", cut by its budget: {rendering.cut}" if rendering.cut else ""
    return [("source alone", plain), ("in a browser", f"{rendered} in {rendering.milliseconds} ms{cut}")]


def _rank_facts(web: StoreReader, resource: int) -> list[tuple[str, str]]:
    ranks, state = web.ranks(resource), read_rank_state(web)
    if ranks is None or state is None:
        return []
    note = f" ({state.note})" if state.note else ""
    linked = f"from {pluralize(ranks.indegree, 'page')}, to {pluralize(ranks.outdegree, 'page')}"
    clicks = "" if ranks.depth is None else f"{ranks.depth} from the seeds"
    return [("rank", f"{ranks.score:.1f} of 100{note}"), ("linked", linked), ("clicks", clicks)]


def _print_visits(web: StoreReader, row: ResourceRow, *, wide: bool) -> None:
    visits = web.visits(row.id)
    if not visits:
        return
    print_heading(f"\nVisits ({len(visits):,})")
    columns = [
        TerminalColumn("when"), TerminalColumn("outcome"), TerminalColumn("status", align="right"),
        TerminalColumn("size", align="right", drop=2), TerminalColumn("took", align="right", drop=1),
        TerminalColumn("crawler", drop=3), TerminalColumn("round", align="right", drop=4),
    ]  # fmt: skip
    rows = (
        (
            format_time(v.visited_at),
            v.outcome,
            v.status or "",
            format_bytes(v.bytes),
            f"{v.milliseconds} ms",
            v.crawler,
            v.round,
        )
        for v in visits
    )
    print_table_notes(write_table(columns, rows, wide=wide))


def _print_links(title: str, links: Sequence[LinkRow], limit: int | None, page_url: str, *, wide: bool) -> None:
    more = limit is not None and len(links) > limit
    shown = links[:limit]
    print_heading(f"\n{title} ({f'the first {limit}; --limit 0 shows all' if more else f'{len(links):,}'})")
    if not shown:
        return
    columns = [
        TerminalColumn("url", cut="middle"), TerminalColumn("anchor", cut="end"), TerminalColumn("kind"),
        TerminalColumn("times", align="right"), TerminalColumn("state"),
    ]  # fmt: skip
    rows = (
        (
            link.url if wide else _relative_url(link.url, page_url),
            link.anchor,
            link.kind + _nofollow_mark(link),
            link.weight,
            _target_state(link),
        )
        for link in shown
    )
    print_table_notes(write_table(columns, rows, wide=wide))


def _relative_url(url: str, page_url: str) -> str:
    """Return a URL without the page's own origin on a terminal, where columns are narrow."""
    from gossamer.urls.canonical import origin

    site = origin(page_url)
    return url.removeprefix(site) if is_terminal(sys.stdout) and url.startswith(f"{site}/") else url


def _nofollow_mark(link: LinkRow) -> str:
    return "" if link.follow else " (nofollow)"


def _target_state(link: LinkRow) -> str:
    expected_statuses = {0, 200, 304}  # 304: not modified since the previous visit
    return link.state if link.status in expected_statuses else f"{link.state} {link.status}"
