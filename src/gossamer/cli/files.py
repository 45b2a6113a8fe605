"""`gossamer import`: pages from elsewhere than the network."""

from __future__ import annotations

import time
from collections import Counter
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gossamer.cli.index import indexing_alongside
from gossamer.cli.options import config_option, json_option, load_settings, store_option
from gossamer.cli.output import (
    format_bytes,
    format_duration,
    json_text,
    pluralize,
    print_line,
    print_message,
)
from gossamer.cli.progress import ProgressLine
from gossamer.errors import UsageError
from gossamer.lookup import stored_crawl_settings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gossamer.config import Settings
    from gossamer.files.file_page import FilePage, SkippedItem
    from gossamer.files.import_pages import ImportResult
    from gossamer.store.protocol import Store

REASONS_SHOWN = 20  # skipped files told one by one; the rest is counted
REASONS_COUNTED = 100  # kinds of them: a hostile archive may have a media type of its own in each record
# Outcomes of bytes that were there and could not be read; the others are what the server answered at the time.
UNPARSED = frozenset({"parser crashed", "parser timeout", "parser out of memory", "bad encoding", "too big"})


@click.command(name="import")
@click.argument("places", type=click.Path(path_type=Path), metavar="FILE...", nargs=-1, required=True)
@click.option("--base", metavar="URL", help="The URL that a folder stands for: DIR/a/b.html becomes URL/a/b.html.")
@store_option
@config_option
@json_option
def import_(places: tuple[Path, ...], base: str | None, store: str, config: Path | None, as_json: bool) -> None:
    """Take pages from archives or folders instead of the network.

    An archive is a WARC or ARC file, gzipped or not, as Common Crawl, wget or Browsertrix make them. A folder is one
    that `gossamer export files` wrote, or any other with --base URL. The pages go through the same parsers and into the
    same store as those of a crawl; links out of them are recorded, and a later crawl may follow them. A page that is
    known already is replaced. What is no page, or broken, is counted and told, with the reason; the rest is taken.

    \b
    JSON: {"pages", "bytes", "redirects", "errors", "failed",
           "skipped": {reason: count}, "seconds"}
    """
    from gossamer.wiring import open_store

    settings = load_settings(store, config, {}).settings
    for path in places:
        _read_pages(path, base, settings)  # what holds no pages is seen before a store is made for them
    web = open_store(store, create=True, settings=settings.store)
    try:
        stored = load_settings(store, config, {}, stored_crawl_settings(web)).settings
        with indexing_alongside(store, stored.index if stored.crawl.index else None):
            pages = chain.from_iterable(_read_pages(place, base, stored) for place in places)
            _print_summary(_import_pages(web, stored, pages), as_json=as_json)
    finally:
        web.close()


def _read_pages(path: Path, base: str | None, settings: Settings) -> Iterator[FilePage | SkippedItem]:
    """The pages at a place; whether there can be any is seen at once."""
    if path.is_dir():
        from gossamer.files.folder import read_folder
        from gossamer.urls.canonical import urls_from_input

        return read_folder(path, urls_from_input(base)[0] if base else None, settings.fetch.max_bytes)
    from gossamer.files.archive import ImportLimits, read_archive

    if base:
        raise UsageError(f"--base is for folders: the records of {path} have URLs of their own.")
    taking = ImportLimits(accept=frozenset(settings.crawl.accept), max_bytes=settings.fetch.max_bytes)
    return read_archive(path, taking)


def _import_pages(web: Store, settings: Settings, pages: Iterable[FilePage | SkippedItem]) -> Iterator[ImportResult]:
    import selectors

    from gossamer.basics.cores import available_cores
    from gossamer.crawl.round_settings import parse_options
    from gossamer.files.import_pages import ImportParts, import_pages
    from gossamer.parse.pool import ParserPool

    selector = selectors.DefaultSelector()
    pool = ParserPool(parse_options(settings), settings.parse.processes or available_cores(), selector)
    try:
        parts = ImportParts(store=web, pool=pool, selector=selector, crawl=settings.crawl)
        yield from import_pages(pages, parts)
    finally:
        pool.close()
        selector.close()


class ImportTotals:
    """What became of all that was there."""

    def __init__(self) -> None:
        self.pages = self.bytes = self.redirects = self.errors = self.failed = 0
        self.skipped: Counter[str] = Counter()
        self.messages: list[str] = []

    def add(self, one: ImportResult) -> None:
        """Count one."""
        from gossamer.model import Outcome

        match one.outcome:
            case None:
                known = one.skip_reason in self.skipped or len(self.skipped) < REASONS_COUNTED
                self.skipped[one.skip_reason if known else "other reasons"] += 1
                if len(self.messages) < REASONS_SHOWN:
                    self.messages.append(f"Skipped {one.name}: {one.skip_reason}")
            case Outcome.FETCHED:
                self.pages, self.bytes = self.pages + 1, self.bytes + one.bytes
            case Outcome.REDIRECTED:
                self.redirects += 1
            case outcome if outcome in UNPARSED:
                self.failed += 1
            case _:
                self.errors += 1


def _print_summary(results: Iterator[ImportResult], *, as_json: bool) -> None:
    started, progress_line, total = time.monotonic(), ProgressLine(), ImportTotals()
    for one in results:
        total.add(one)
        progress_line.update(f"{total.pages:,} pages, {format_bytes(total.bytes)}: {one.name}")
    progress_line.close()
    seconds = time.monotonic() - started
    if as_json:
        names = ("pages", "bytes", "redirects", "errors", "failed", "skipped")
        print_line(json_text({name: getattr(total, name) for name in names} | {"seconds": round(seconds, 3)}))
    for line in total.messages:
        print_message(line)
    if total.skipped.total() > len(total.messages):
        print_message(f"... and {total.skipped.total() - len(total.messages):,} more. By reason:")
        for reason, count in total.skipped.most_common():
            print_message(f"{count:>9,} {reason}")
    besides = [pluralize(total.redirects, "redirect")] if total.redirects else []
    besides += [pluralize(total.errors, "error")] if total.errors else []
    more = f" and {' and '.join(besides)}" if besides else ""
    took = f"Took {pluralize(total.pages, 'page')} ({format_bytes(total.bytes)}){more} in {format_duration(seconds)}"
    print_message(f"{took}; {total.failed:,} could not be parsed.")
