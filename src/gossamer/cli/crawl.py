"""`crawl` and `watch`: the commands that make a web and keep it fresh."""

from __future__ import annotations

import codecs
import contextlib
import gc
import os
import signal
import sys
import time
from itertools import islice
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from gossamer.basics.locations import display_location
from gossamer.cli.index import indexing_alongside
from gossamer.cli.options import config_option, json_option, settings_flags, store_option
from gossamer.cli.output import escape_hidden, format_bytes, format_duration, pluralize
from gossamer.errors import CrawlerLost, SeedUnreachable, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from gossamer.crawl.loop import CrawlLoop
    from gossamer.start import AlreadyComplete, CrawlRequest
    from gossamer.store.values import WaitingHost

HARD_STOP = 2  # the second Ctrl-C
STOPPED = "stopped"  # `CrawlLoop.ending` after Ctrl-C
DISPLAY_SECONDS = 0.1
GC_THRESHOLD = 10_000  # between looks for cycles: a page is a hundred values, and none of them is in a cycle
SEEDS_SHOWN = 3  # at the start
MAX_UNVISITED_SHOWN = 20  # of those that could not be visited, at the end


def read_seeds(path: str | None) -> tuple[str, ...]:
    """The URLs of a list, as they are written there: one a line, without blank lines and those that begin with #."""
    if path is None:
        return ()
    from gossamer.urls.canonical import urls_from_input

    name = "stdin" if path == "-" else path
    content = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    urls = []
    for number, line in enumerate(content.removeprefix(codecs.BOM_UTF8).splitlines(), 1):
        try:
            text = line.decode().strip()
            if text and not text.startswith("#"):
                urls_from_input(text)
                urls.append(text)
        except UnicodeDecodeError as error:
            raise UsageError(f"{name}, line {number}: this is not UTF-8.") from error
        except UsageError as error:
            raise UsageError(f"{name}, line {number}: {error}") from error
    if not urls:
        raise UsageError(f"{name} holds no URL.")
    return tuple(urls)


START_OPTIONS = (
    click.argument("urls", nargs=-1, metavar="[URL]..."),
    click.option("--seeds", metavar="FILE",
                 help="Start from the URLs in a file too, one a line; - is stdin. Lines with # in front are left out."),
    click.option("--query", "words", metavar="WORDS", help="Start from what a search service finds."),
    click.option("--revisit", is_flag=True, help="Visit again what is due."),
    click.option("--all", "everything", is_flag=True, help="With --revisit: visit everything again."),
)  # fmt: skip
RUN_OPTIONS = (
    store_option,
    config_option,
    json_option,
    click.option("--log-file", envvar="GOSSAMER_LOG_FILE", type=click.Path(path_type=Path), metavar="FILE",
                 help="The JSON log; default: DIR/logs/NAME.jsonl."),
    click.option("--quiet", is_flag=True, help="No progress, only messages."),
    settings_flags,
)  # fmt: skip


def with_options(
    *options: Callable[[Callable[..., Any]], Callable[..., Any]],
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Options that several commands share, in the order in which they are shown."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


@click.command()
@with_options(*START_OPTIONS, *RUN_OPTIONS)
def crawl(urls: tuple[str, ...], seeds: str | None, **options: Any) -> None:
    """Crawl from URLs, or go on where the last crawl stopped.

    Without a URL the crawl of this web goes on. With a new URL the web is extended. Several `crawl` commands on one web
    share the work.
    """
    run_crawl((*urls, *read_seeds(seeds)), **options)


@click.command()
@with_options(*RUN_OPTIONS)
def watch(**options: Any) -> None:
    """Keep the web fresh: visit what is due, for ever, until it is told to stop.

    The visits that bring most come first, as many as --pages-per-hour allow. New pages are visited too, and count.
    """
    run_crawl((), words=None, revisit=False, everything=False, watch=True, resume_command="watch", **options)


def _first_few(urls: tuple[str, ...]) -> list[str]:
    """Of many seeds, the first and how many more there are."""
    more = len(urls) - SEEDS_SHOWN
    return [*urls[:SEEDS_SHOWN], f"and {more} more"] if more > 1 else [*urls]


def run_crawl(
    urls: tuple[str, ...], *, store: str, config: Path | None, as_json: bool, words: str | None, revisit: bool,
    everything: bool, log_file: Path | None, quiet: bool, flags: Mapping[str, object], resume_command: str = "crawl",
    watch: bool = False, on_ready: Callable[[], None] = lambda: None,
) -> bool:  # fmt: skip
    """Crawl and say how it went; `begin` is called when the web is there. Returns whether somebody stopped it."""
    if everything and not revisit:
        raise UsageError("--all goes with --revisit.")
    again = "Visiting again all that is" if everything else "Visiting again what is due" if revisit else (
        "Keeping fresh what is" if watch else "Going on where the last crawl stopped"
    )  # fmt: skip
    starts = [*_first_few(urls), *([f"what is found for {words}"] if words else [])]
    location = display_location(store)
    _print_message(f"Crawling {', '.join(starts)} into {location} ..." if starts else f"{again} in {location} ...")
    from gossamer.start import AlreadyComplete, CrawlRequest, prepare_crawl

    request = CrawlRequest(
        store=store, urls=urls, query=words or "", revisit="all" if everything else "due" if revisit else "",
        watch=watch, flags=flags, config_file=config, log_file=log_file, environ=os.environ,
    )  # fmt: skip
    loop = prepare_crawl(request)
    on_ready()
    if isinstance(loop, AlreadyComplete):
        with indexing_alongside(store, loop.index):
            _print_complete(loop, request, as_json=as_json)
        return False
    started = time.monotonic()
    with indexing_alongside(store, loop.index_settings, is_hurried=lambda: loop.is_stopping_at_once):
        _run(loop, quiet=quiet)
        seconds = time.monotonic() - started
        if loop.failure_message and not loop.progress().pages:
            _print_leftovers(loop.leftover_hosts)
            raise SeedUnreachable(loop.failure_message)
        _print_summary(loop, seconds, f"gossamer {resume_command} --store {quote(store)}", as_json=as_json)
        if loop.progress().failed or loop.progress().refused:
            _print_message(f"What went wrong and why: gossamer errors --store {quote(store)}")
        if loop.failure_message:
            raise SeedUnreachable(loop.failure_message)
        _print_unvisited_seeds(loop.unvisited_seeds)
        if loop.lost_message:
            raise CrawlerLost(loop.lost_message)
    return loop.end_reason == STOPPED


def _run(loop: CrawlLoop, *, quiet: bool) -> None:
    from gossamer.cli.live import display

    screen = display(quiet=quiet)
    messages: list[str] = []  # by signals, which may come in the middle of drawing, or of importing what draws

    def print_pending() -> None:
        while messages:
            screen.message(messages.pop(0))

    def refresh() -> None:
        print_pending()
        screen.update(loop.progress())

    gc.freeze()  # what is loaded by now stays
    gc.set_threshold(GC_THRESHOLD)
    with _stop_on_signals(loop, messages.append):
        try:
            for _ in loop.run(on_wait=_limit_rate(refresh)):
                pass
        finally:
            print_pending()  # a crawl may end before its next look
            screen.close()


def _limit_rate(callback: Callable[[], None]) -> Callable[[], None]:
    """The loop turns thousands of times a second; nobody can look that often, and each look costs."""
    last = float("-inf")

    def call_if_due() -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= DISPLAY_SECONDS:
            last = now
            callback()

    return call_if_due


@contextlib.contextmanager
def _stop_on_signals(loop: CrawlLoop, on_message: Callable[[str], None]) -> Iterator[None]:
    """Ctrl-C once: finish what is in flight; twice: stop now. What is committed is kept either way."""
    signals_received = 0

    def stop(_signal: int, _frame: object) -> None:
        nonlocal signals_received
        signals_received += 1
        loop.stop(at_once=signals_received >= HARD_STOP)
        if signals_received == 1:
            on_message("Stopping: finishing what is in flight. Once more to stop at once.")

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _print_summary(loop: CrawlLoop, seconds: float, resume_command: str, *, as_json: bool) -> None:
    from gossamer.crawl.policy import PAGE_LIMIT

    progress = loop.progress()
    if as_json:
        _print_json(
            pages=progress.pages, bytes=progress.bytes, failed=progress.failed, refused=progress.refused,
            known=progress.known, queued=progress.queued, seconds=round(seconds, 3),
            pages_per_second=round(progress.pages / seconds, 1),
        )  # fmt: skip
    rate = progress.pages / seconds if seconds else 0.0
    _print_message(
        f"{progress.name}: {loop.end_reason}. {pluralize(progress.pages, 'page')}, {format_bytes(progress.bytes)} in "
        f"{format_duration(seconds)} ({rate:,.1f} pages/s)."
    )
    _print_message(
        f"{pluralize(progress.known, 'URL')} known, {progress.failed:,} failed, {progress.refused:,} refused, "
        f"{progress.queued:,} queued."
    )
    if progress.queued:
        limit = " --max-pages N (or none)" if loop.end_reason == PAGE_LIMIT else ""
        _print_message(f"Go on with: {resume_command}{limit}")
    _print_leftovers(loop.leftover_hosts)


def _print_leftovers(waiting: Iterable[WaitingHost]) -> None:
    for each in waiting:
        later = each.ready_at - time.time()
        again = f"; it will be tried again in {format_duration(later)} at the earliest" if later > 1 else ""
        _print_message(f"{each.host}: {pluralize(each.queued, 'URL')} left: {each.reason}{again}.")


def _print_unvisited_seeds(seeds: Mapping[str, str]) -> None:
    for url, why in islice(seeds.items(), MAX_UNVISITED_SHOWN):
        _print_message(f"{url} could not be visited: {why}.")
    if len(seeds) > MAX_UNVISITED_SHOWN:
        _print_message(f"{pluralize(len(seeds) - MAX_UNVISITED_SHOWN, 'more seed')} could not be visited.")


def _print_complete(complete: AlreadyComplete, request: CrawlRequest, *, as_json: bool) -> None:
    if as_json:
        _print_json(
            pages=0, bytes=0, failed=0, refused=0, known=complete.known, queued=0, seconds=0.0, pages_per_second=0.0
        )
    if request.revisit:
        _print_message(f"Nothing is due{_next_visit_text(complete.next_at)}. Visit everything: --revisit --all.")
        return
    _print_message(f"This web is complete: {pluralize(complete.pages, 'page')} visited, nothing queued.")
    _print_message(
        f"Visit it again: gossamer crawl --revisit --all --store {quote(request.store)}. Extend it: give another URL."
    )


def _next_visit_text(next_at: float | None) -> str:
    return f"; the next visit is, in {format_duration(max(0.0, next_at - time.time()))}" if next_at else ""


def _print_json(**values: float) -> None:
    import msgspec

    sys.stdout.write(msgspec.json.encode(values).decode() + "\n")


def _print_message(text: str) -> None:
    sys.stderr.write(escape_hidden(text) + "\n")
    sys.stderr.flush()
