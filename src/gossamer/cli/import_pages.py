"""The command `import`: pages from archives and folders instead of the network."""

from __future__ import annotations

import time
from collections import Counter
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gossamer.basics.display import format_bytes, format_duration, pluralize
from gossamer.cli.help import HelpCommand
from gossamer.cli.index import indexing_alongside
from gossamer.cli.options import config_option, json_option, load_settings, store_option
from gossamer.cli.output import ProgressLine, json_text, print_line, print_message
from gossamer.errors import UsageError
from gossamer.lookup import stored_crawl_settings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gossamer.config import Settings
    from gossamer.files.file_page import FilePage, SkippedItem
    from gossamer.files.import_pages import ImportResult
    from gossamer.store.protocol import Store

REASONS_SHOWN = 20  # skipped items listed one by one; the rest is only counted
REASONS_COUNTED = 100  # different reasons; a hostile archive may have another media type in each record
# Outcomes of pages whose bytes could not be parsed; other outcomes are what the server answered at the time.
UNPARSED = frozenset({"parser crashed", "parser timeout", "parser out of memory", "bad encoding", "too big"})


@click.command(cls=HelpCommand, name="import")
@click.argument("paths", type=click.Path(path_type=Path), metavar="FILE...", nargs=-1, required=True)
@click.option("--base", metavar="URL", help="URL of a folder: DIR/a/b.html becomes URL/a/b.html.")
@store_option
@config_option
@json_option
def import_(paths: tuple[Path, ...], base: str | None, store: str, config: Path | None, as_json: bool) -> None:
    """Import pages from archives or folders instead of the network.

    An archive is a WARC or ARC file, gzipped or not, from Common Crawl, wget, Browsertrix or others. A folder is one
    that `gossamer export files` wrote, or any other with --base URL. Imported pages go through the same parsers and
    into the same store as crawled ones. Gossamer stores their links, and a later crawl may follow them. An imported
    page replaces a known one. The command skips broken items and items that are not pages, and prints the reasons.

    \b
    JSON: {"pages", "bytes", "redirects", "errors", "failed",
           "skipped": {reason: count}, "seconds"}
    """
    from gossamer.wiring import open_store

    settings = load_settings(store, config, {}).settings
    for path in paths:
        _read_pages(path, base, settings)  # refuses a wrong path before a store is created
    web = open_store(store, create=True, settings=settings.store)
    try:
        stored = load_settings(store, config, {}, stored_crawl_settings(web)).settings
        with indexing_alongside(store, stored.index if stored.crawl.index else None):
            pages = chain.from_iterable(_read_pages(path, base, stored) for path in paths)
            _print_summary(_import_pages(web, stored, pages), as_json=as_json)
    finally:
        web.close()


def _read_pages(path: Path, base: str | None, settings: Settings) -> Iterator[FilePage | SkippedItem]:
    """Return an iterator over the pages of an archive or folder; refuse a wrong path at once."""
    if path.is_dir():
        from gossamer.files.folder import read_folder
        from gossamer.urls.canonical import urls_from_input

        return read_folder(path, urls_from_input(base)[0] if base else None, settings.fetch.max_bytes)
    from gossamer.fetch.response import ResponseLimits
    from gossamer.files.archive import read_archive

    if base:
        raise UsageError(f"--base is for folders, and the records of {path} have URLs already; leave --base out.")
    limits = ResponseLimits(accept=frozenset(settings.crawl.accept), max_bytes=settings.fetch.max_bytes)
    return read_archive(path, limits)


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
    """Counts the results of an import by outcome."""

    def __init__(self) -> None:
        self.pages = self.bytes = self.redirects = self.errors = self.failed = 0
        self.skipped: Counter[str] = Counter()
        self.messages: list[str] = []

    def add(self, one: ImportResult) -> None:
        """Count one result."""
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
    others = [pluralize(total.redirects, "redirect")] if total.redirects else []
    others += [pluralize(total.errors, "error")] if total.errors else []
    more = f" and {' and '.join(others)}" if others else ""
    pages = f"{pluralize(total.pages, 'page')} ({format_bytes(total.bytes)})"
    print_message(f"Imported {pages}{more} in {format_duration(seconds)}; {total.failed:,} could not be parsed.")
