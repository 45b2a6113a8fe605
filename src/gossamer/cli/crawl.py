"""The commands `crawl` and `watch`, which make a web and keep it fresh."""

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

from gossamer.basics.display import escape_hidden, format_bytes, format_duration, pluralize
from gossamer.basics.locations import display_location
from gossamer.cli.help import HelpCommand
from gossamer.cli.hints import hint, store_flag
from gossamer.cli.index import indexing_alongside
from gossamer.cli.options import config_option, json_option, settings_flags, store_option
from gossamer.cli.output import print_kernel_mismatch
from gossamer.cli.ranking import hourly_ranking, rank_web_after_crawl
from gossamer.errors import CrawlerLost, SeedUnreachable, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from gossamer.crawl.loop import CrawlLoop
    from gossamer.model import Visit
    from gossamer.start import AlreadyComplete, CrawlRequest
    from gossamer.store.values import WaitingHost

HARD_STOP = 2  # signals; the second Ctrl-C stops at once
DISPLAY_SECONDS = 0.1  # between two updates of the display
GC_THRESHOLD = 10_000  # objects between collections; a page makes a hundred objects, none of them in a cycle
SEEDS_SHOWN = 3  # seeds named in the first message
MAX_UNVISITED_SHOWN = 20  # unvisited seeds listed at the end


def read_seeds(path: str | None) -> tuple[str, ...]:
    """Return the URLs of a file, one a line, unchanged; skip blank lines and lines that start with #."""
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
            raise UsageError(f"{name}, line {number}: this is not UTF-8; save the list as UTF-8.") from error
        except UsageError as error:
            raise UsageError(f"{name}, line {number}: {error}") from error
    if not urls:
        raise UsageError(f"{name} holds no URL; write one URL a line.")
    return tuple(urls)


def refuse_local_path(text: str) -> None:
    """Refuse a directory or file of this machine as a seed; its pages can be imported."""
    looks_like_path = text.startswith((".", "/", "~")) or ("." not in text.partition("/")[0] and "://" not in text)
    path = Path(text).expanduser()
    if looks_like_path and path.exists():
        kind = "directory" if path.is_dir() else "file"
        base = " --base https://example.org/" if path.is_dir() else ""
        raise UsageError(
            f"{text} is a {kind} on this machine. Import its pages: gossamer import {quote(text)}{base}{store_flag()}"
        )


START_OPTIONS = (
    click.argument("urls", nargs=-1, metavar="[URL]..."),
    click.option("--seeds", metavar="FILE",
                 help="Also start from the URLs in a file, one a line; - is stdin. # starts a comment line."),
    click.option("--query", "words", metavar="WORDS", help="Start from the results of a search service."),
    click.option("--revisit", is_flag=True, help="Visit due pages again."),
    click.option("--all", "everything", is_flag=True, help="With --revisit: visit every page again."),
)  # fmt: skip
RUN_OPTIONS = (
    store_option,
    config_option,
    json_option,
    click.option("--log-file", envvar="GOSSAMER_LOG_FILE", type=click.Path(path_type=Path), metavar="FILE",
                 help="File for the JSON log; default: logs/NAME.jsonl in the web's directory."),
    click.option("--quiet", "-q", is_flag=True, help="Print messages only, no progress."),
    click.option("--verbose", "-v", is_flag=True, help="Also print each visit, with its outcome."),
    settings_flags,
)  # fmt: skip


def with_options(
    *options: Callable[[Callable[..., Any]], Callable[..., Any]],
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that adds options to a command, in the order of the help."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


@click.command(cls=HelpCommand)
@with_options(*START_OPTIONS, *RUN_OPTIONS)
def crawl(urls: tuple[str, ...], seeds: str | None, **options: Any) -> None:
    """Crawl from URLs, or continue the last crawl.

    Without a URL, the command continues the crawl of this web. A new URL extends the web. Several `crawl` commands on
    one web share the work.
    """
    run_crawl((*urls, *read_seeds(seeds)), **options)


@click.command(cls=HelpCommand)
@with_options(*RUN_OPTIONS)
def watch(**options: Any) -> None:
    """Keep the web fresh: visit due pages until stopped.

    The most useful visits come first, up to --pages-per-hour. The command visits new pages too; they count.
    """
    run_crawl((), words=None, revisit=False, everything=False, watch=True, resume_command="watch", **options)


def _first_few(urls: tuple[str, ...]) -> list[str]:
    """Return the first seeds, and how many more there are."""
    more = len(urls) - SEEDS_SHOWN
    return [*urls[:SEEDS_SHOWN], f"and {more} more"] if more > 1 else [*urls]


def run_crawl(
    urls: tuple[str, ...], *, store: str, config: Path | None, as_json: bool, words: str | None, revisit: bool,
    everything: bool, log_file: Path | None, quiet: bool, verbose: bool, flags: Mapping[str, object],
    resume_command: str = "crawl", watch: bool = False, on_ready: Callable[[], None] = lambda: None,
) -> bool:  # fmt: skip
    """Crawl and print a summary; return whether a signal stopped the crawl.

    `on_ready` is called when the web exists, before the first visit.
    """
    if everything and not revisit:
        raise UsageError("--all works only with --revisit; give both.")
    activity = "Visiting every page again" if everything else "Visiting due pages again" if revisit else (
        "Keeping pages fresh" if watch else "Continuing the last crawl"
    )  # fmt: skip
    for text in urls:
        refuse_local_path(text)
    print_kernel_mismatch()
    starts = [*_first_few(urls), *([f"the results for {words}"] if words else [])]
    location = display_location(store)
    _print_message(f"Crawling {', '.join(starts)} into {location} ..." if starts else f"{activity} in {location} ...")
    from gossamer.crawl import policy
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
        if loop.rank:
            rank_web_after_crawl(store)
        return False
    started = time.monotonic()
    with indexing_alongside(store, loop.index_settings, finish_by=lambda: loop.finish_by):
        with hourly_ranking(store, enabled=watch and loop.wants_ranking) as rank_if_due:
            _run(loop, quiet=quiet, verbose=verbose, on_turn=rank_if_due)
        _print_end(loop, time.monotonic() - started, hint(resume_command), as_json=as_json)
    if loop.wants_ranking:
        rank_web_after_crawl(store)
    return loop.end_reason == policy.STOPPED


def _print_end(loop: CrawlLoop, seconds: float, resume_command: str, *, as_json: bool) -> None:
    """Print the summary and what was left out; raise an error if the crawl failed."""
    if loop.failure_message and not loop.progress().pages:
        _print_leftovers(loop.leftover_hosts)
        raise SeedUnreachable(loop.failure_message)
    _print_summary(loop, seconds, resume_command, as_json=as_json)
    if loop.progress().failed or loop.progress().refused:
        _print_message(f"See what failed and why: {hint('errors')}")
    if loop.failure_message:
        raise SeedUnreachable(loop.failure_message)
    _print_unvisited_seeds(loop.unvisited_seeds)
    if loop.lost_message:
        raise CrawlerLost(loop.lost_message)


def _run(loop: CrawlLoop, *, quiet: bool, verbose: bool = False, on_turn: Callable[[], None] = lambda: None) -> None:
    from gossamer.cli.live import display

    screen = display(quiet=quiet)
    messages: list[str] = []  # from signal handlers, which may interrupt drawing or the import of rich

    def print_pending() -> None:
        while messages:
            screen.message(messages.pop(0))

    def refresh() -> None:
        print_pending()
        screen.update(loop.progress())
        on_turn()

    gc.freeze()  # modules and settings live until the end; collections need not visit them
    gc.set_threshold(GC_THRESHOLD)
    with _stop_on_signals(loop, messages.append):
        try:
            for visit in loop.run(on_wait=_limit_rate(refresh)):
                if verbose:
                    screen.message(_visit_line(visit))
        finally:
            print_pending()  # the crawl may end before the next refresh
            screen.close()


def _visit_line(visit: Visit) -> str:
    reason = f": {visit.reason}" if visit.reason else ""
    return f"{visit.status or '-'} {visit.outcome} {visit.lease.url}{reason}"


def _limit_rate(callback: Callable[[], None]) -> Callable[[], None]:
    """Return a callback that runs at most every `DISPLAY_SECONDS`; the loop turns thousands of times a second."""
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
    """Stop the loop on Ctrl-C: the first finishes transfers in flight for a few seconds, the second stops at once.

    The store keeps everything committed in both cases.
    """
    signals_received = 0

    def stop(_signal: int, _frame: object) -> None:
        nonlocal signals_received
        signals_received += 1
        loop.stop(at_once=signals_received >= HARD_STOP)
        if signals_received == 1:
            on_message("Stopping: finishing the transfers in flight. Press Ctrl-C again to stop at once.")

    previous_handlers = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in previous_handlers.items():
            signal.signal(number, handler)


def _print_summary(loop: CrawlLoop, seconds: float, resume_command: str, *, as_json: bool) -> None:
    from gossamer.crawl.policy import PAGE_LIMIT

    progress = loop.progress()
    if as_json:
        _print_json(
            pages=progress.pages, bytes=progress.bytes, failed=progress.failed, gone=progress.gone,
            refused=progress.refused, known=progress.known, queued=progress.queued, seconds=round(seconds, 3),
            pages_per_second=round(progress.pages / seconds, 1),
        )  # fmt: skip
    rate = progress.pages / seconds if seconds else 0.0
    _print_message(
        f"{progress.name}: {loop.end_reason}. {pluralize(progress.pages, 'page')}, {format_bytes(progress.bytes)} in "
        f"{format_duration(seconds)} ({rate:,.1f} pages/s)."
    )
    if progress.failed or progress.refused:
        _print_message(f"In this run: {progress.describe_errors()}.")
    if loop.visited_totals is not None:
        _print_message(f"In the web: {loop.visited_totals.describe()}; {pluralize(progress.queued, 'URL')} queued.")
    for line in loop.rendering_summary():
        _print_message(line)
    if progress.queued:
        if loop.end_reason == PAGE_LIMIT:
            _print_message(f"Continue without a limit, or with a number: {resume_command} --max-pages none")
        else:
            _print_message(f"Continue with: {resume_command}")
    _print_leftovers(loop.leftover_hosts)


def _print_leftovers(waiting: Iterable[WaitingHost]) -> None:
    for each in waiting:
        wait = each.ready_at - time.time()
        next_try = f"; it will be tried again in {format_duration(wait)} at the earliest" if wait > 1 else ""
        _print_message(f"{each.host}: {pluralize(each.queued, 'URL')} left: {each.reason}{next_try}.")


def _print_unvisited_seeds(seeds: Mapping[str, str]) -> None:
    for url, why in islice(seeds.items(), MAX_UNVISITED_SHOWN):
        _print_message(f"{url} could not be visited: {why}.")
    if len(seeds) > MAX_UNVISITED_SHOWN:
        _print_message(f"{pluralize(len(seeds) - MAX_UNVISITED_SHOWN, 'more seed')} could not be visited.")


def _print_complete(complete: AlreadyComplete, request: CrawlRequest, *, as_json: bool) -> None:
    if as_json:
        _print_json(
            pages=0,
            bytes=0,
            failed=0,
            gone=0,
            refused=0,
            known=complete.known,
            queued=0,
            seconds=0.0,
            pages_per_second=0.0,
        )
    if request.revisit:
        _print_message(f"Nothing is due{_next_visit_text(complete.next_at)}.")
        _print_message(f"Visit every page: {hint('crawl --revisit --all')}")
        return
    _print_message(f"This web is complete: {pluralize(complete.pages, 'page')} visited, nothing queued.")
    _print_message(f"Visit it again: {hint('crawl --revisit --all')}")
    _print_message(f"Extend it: {hint('crawl URL')}")


def _next_visit_text(next_at: float | None) -> str:
    return f"; the next visit is due in {format_duration(max(0.0, next_at - time.time()))}" if next_at else ""


def _print_json(**values: float) -> None:
    import msgspec

    sys.stdout.write(msgspec.json.encode(values).decode() + "\n")


def _print_message(text: str) -> None:
    sys.stderr.write(escape_hidden(text) + "\n")
    sys.stderr.flush()
