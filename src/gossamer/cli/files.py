"""Commands that move pages out of a web and into it: `export` and `import`."""

from __future__ import annotations

import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gossamer.cli.lookup import opened
from gossamer.cli.options import config_option, json_option, load_settings, store_option
from gossamer.cli.output import (
    human_bytes,
    human_duration,
    is_terminal,
    json_text,
    many,
    printable,
    say,
    shortened,
    show,
)
from gossamer.lookup import crawl_settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gossamer.config import Settings
    from gossamer.files.folder import FilePage, Skipped
    from gossamer.files.take import Taken
    from gossamer.store.base import Store

REASONS_SHOWN = 20  # skipped files told one by one; the rest is counted


class Ticker:
    """How far a long command is, on stderr: a line that changes on a terminal, one every 5 seconds elsewhere."""

    def __init__(self) -> None:
        self._live = is_terminal(sys.stderr)
        self._pause = 0.1 if self._live else 5.0
        self._next = time.monotonic() + self._pause

    def tell(self, text: str) -> None:
        """Show how far it is, if it is time to."""
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + self._pause
        sys.stderr.write(f"\r{shortened(printable(text), 79)}\x1b[K" if self._live else f"{printable(text)}\n")
        sys.stderr.flush()

    def close(self) -> None:
        """Take the line away."""
        if self._live:
            sys.stderr.write("\r\x1b[K")


# -- export ----------------------------------------------------------------------------------------------------------


@click.group(invoke_without_command=True)
@click.pass_context
def export(ctx: click.Context) -> None:
    """Write the web out in other forms."""
    if ctx.invoked_subcommand is None:
        show(ctx.get_help())


@export.command()
@click.option("--out", required=True, type=click.Path(path_type=Path), metavar="DIR", help="An empty or new directory.")
@store_option
@json_option
def files(out: Path, store: str, as_json: bool) -> None:
    """Write the pages as files, under names that lead back to their URLs, with a manifest.

    The files hold the stored sources byte for byte; manifest.jsonl tells the URL, type, charset, status and time of
    change of each. `gossamer import DIR` takes such a folder back in.

    \b
    JSON: {"pages", "bytes", "skipped": {reason: count}, "seconds"}
    """
    from gossamer.files.export import export_files

    started, ticker = time.monotonic(), Ticker()
    pages = size = 0
    skipped: Counter[str] = Counter()
    with opened(store) as web:
        for one in export_files(web, out):
            if one.why_not:
                skipped[one.why_not] += 1
            else:
                pages, size = pages + 1, size + one.bytes
            ticker.tell(f"{pages:,} pages, {human_bytes(size)}: {one.url}")
    ticker.close()
    seconds = time.monotonic() - started
    if as_json:
        show(json_text({"pages": pages, "bytes": size, "skipped": skipped, "seconds": round(seconds, 3)}))
    say(f"Wrote {many(pages, 'page')} ({human_bytes(size)}) to {out} in {human_duration(seconds)}.")
    for reason, count in skipped.items():
        say(f"{count:,} visited resources are not there: {reason}.")


# -- import ----------------------------------------------------------------------------------------------------------


@click.command(name="import")
@click.argument("folder", type=click.Path(path_type=Path), metavar="DIR")
@click.option("--base", metavar="URL", help="The URL that the folder stands for: DIR/a/b.html becomes URL/a/b.html.")
@store_option
@config_option
@json_option
def import_(folder: Path, base: str | None, store: str, config: Path | None, as_json: bool) -> None:
    """Take pages from a folder of files instead of the network.

    The folder is one that `gossamer export files` wrote, or any other with --base URL. The pages go through the same
    parsers and into the same store as those of a crawl; links out of them are recorded, and a later crawl may follow
    them. A page that is known already is replaced. Files that are no pages are counted, with the reason.

    \b
    JSON: {"pages", "bytes", "failed", "skipped": {reason: count}, "seconds"}
    """
    from gossamer.crawl.urls import from_input
    from gossamer.files.folder import pages_in
    from gossamer.wiring import open_store

    settings = load_settings(store, config, {}).settings
    pages = pages_in(folder, from_input(base)[0] if base else None, settings.fetch.max_bytes)
    web = open_store(store, create=True, settings=settings.store)
    try:
        stored = load_settings(store, config, {}, crawl_settings(web)).settings
        _report(_take(web, stored, pages), as_json=as_json)
    finally:
        web.close()


def _take(web: Store, settings: Settings, pages: Iterator[FilePage | Skipped]) -> Iterator[Taken]:
    import os
    import selectors

    from gossamer.crawl.parsers import ParserPool
    from gossamer.files.take import Parts, take
    from gossamer.start import parse_options

    selector = selectors.DefaultSelector()
    pool = ParserPool(parse_options(settings), settings.parse.processes or os.cpu_count() or 1, selector)
    try:
        parts = Parts(store=web, pool=pool, selector=selector, crawl=settings.crawl)
        yield from take(pages, parts)
    finally:
        pool.close()
        selector.close()


def _report(taken: Iterator[Taken], *, as_json: bool) -> None:
    started, ticker = time.monotonic(), Ticker()
    pages = failed = size = 0
    skipped: Counter[str] = Counter()
    told: list[str] = []
    for one in taken:
        if one.skipped:
            skipped[one.skipped] += 1
            told.append(f"{one.name}: {one.skipped}")
            del told[REASONS_SHOWN:]
        elif one.failed:
            failed += 1
        else:
            pages, size = pages + 1, size + one.bytes
        ticker.tell(f"{pages:,} pages, {human_bytes(size)}: {one.name}")
    ticker.close()
    seconds = time.monotonic() - started
    if as_json:
        numbers = {"pages": pages, "bytes": size, "failed": failed, "skipped": skipped, "seconds": round(seconds, 3)}
        show(json_text(numbers))
    for line in told:
        say(f"Skipped {line}")
    if skipped.total() > len(told):
        say(f"... and {skipped.total() - len(told):,} more.")
    took = f"Took {many(pages, 'page')} ({human_bytes(size)}) in {human_duration(seconds)}"
    say(f"{took}; {failed:,} could not be parsed.")
