"""The command `index`, and the indexer that runs beside `crawl` and `import`."""

from __future__ import annotations

import signal
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from gossamer.basics.display import format_duration, pluralize
from gossamer.cli.help import HelpCommand
from gossamer.cli.hints import hint
from gossamer.cli.options import index_option, json_option, open_web, store_option
from gossamer.cli.output import ProgressLine, json_text, print_kernel_mismatch, print_line, print_message

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gossamer.config import IndexSettings
    from gossamer.index.protocol import IndexProgress
    from gossamer.store.protocol import Store

MAX_REFUSED_SHOWN = 10  # documents that could not be indexed, listed one by one


@click.command(cls=HelpCommand)
@click.option(
    "--rebuild", is_flag=True, help="Rebuild the index from the store; searches use the old one until it is done."
)
@click.option("--follow", is_flag=True, help="Keep indexing new changes of the store, until Ctrl-C or SIGTERM.")
@store_option
@index_option
@json_option
def index(rebuild: bool, follow: bool, store: str, as_json: bool) -> None:
    """Bring the index up to date with the store.

    `gossamer crawl` does this itself, except with --no-index. The command writes changed pages again and removes pages
    that are gone or say noindex. Each machine has its own index of a web in PostgreSQL. With --follow the command keeps
    it up to date for searches on that machine.

    \b
    JSON: {"documents", "version", "put", "removed", "unchanged", "anchors", "seconds",
           "set_aside": [{"url", "doc_id", "reason"}]}
    """
    from gossamer.index.build import update_index
    from gossamer.wiring import open_index, open_index_writer

    print_kernel_mismatch()
    started, progress_line = time.monotonic(), ProgressLine()
    with open_web(store, write=True) as web:
        done = update_index(
            web,
            lambda: open_index_writer(store, rebuild=rebuild),
            lambda now: progress_line.update(_describe_progress(now)),
        )
        if follow:
            done = _follow_store(web, store, progress_line)
        progress_line.close()
        reader = open_index(store)
        try:
            set_aside, documents = reader.set_aside_documents(), reader.count()
        finally:
            reader.close()
        urls = dict(web.urls(list(set_aside)))
    seconds = time.monotonic() - started
    refused = [{"url": urls.get(doc, ""), "doc_id": doc, "reason": reason} for doc, reason in set_aside.items()]
    if as_json:
        numbers = {name: getattr(done, name) for name in ("version", "put", "removed", "unchanged", "anchors")}
        print_line(json_text({"documents": documents, **numbers, "seconds": round(seconds, 3), "set_aside": refused}))
    print_message(
        f"{pluralize(documents, 'document')} in the index; {done.put:,} written, {done.removed:,} removed or left out, "
        f"in {format_duration(seconds)}."
    )
    if refused:
        print_message(f"{pluralize(len(refused), 'document')} could not be indexed:")
        for one in refused[:MAX_REFUSED_SHOWN]:
            print_message(f"  {one['url']}: {one['reason']}")


def _follow_store(web: Store, location: str, progress_line: ProgressLine) -> IndexProgress:
    """Index changes of the store until SIGINT or SIGTERM, then index the rest and return the progress."""
    from gossamer.index.build import IndexBuilder
    from gossamer.indexing import follow_changes
    from gossamer.wiring import open_index_writer

    stop_event = threading.Event()
    signals = (signal.SIGINT, signal.SIGTERM)
    previous_handlers = {number: signal.signal(number, lambda *_: stop_event.set()) for number in signals}
    builder = IndexBuilder(
        web, lambda: open_index_writer(location), lambda now: progress_line.update(_describe_progress(now))
    )
    try:
        print_message(f"Indexing changes of {location} until Ctrl-C ...")
        follow_changes(builder, stop_event.wait)
        builder.catch_up()
    finally:
        builder.close()
        for number, handler in previous_handlers.items():
            signal.signal(number, handler)
    return builder.progress


@contextmanager
def indexing_alongside(
    store: str, settings: IndexSettings | None, *, finish_by: Callable[[], float] = lambda: float("inf")
) -> Iterator[None]:
    """Run the indexer beside a crawl or import, and report its lag at exit; without settings do nothing.

    `finish_by` says at the end how long to index the rest, as a time of `time.monotonic`.
    """
    from gossamer.indexing import OUT_OF_TIME, index_alongside

    progress_line = ProgressLine()
    behind_message = f"The index is behind; catch up with: {hint('index')}"
    with index_alongside(
        store,
        settings,
        on_progress=lambda now: progress_line.update(f"Indexing: {_describe_progress(now)}"),
        finish_by=finish_by,
    ) as faults:
        yield
    progress_line.close()
    if faults == [OUT_OF_TIME]:
        print_message(behind_message)
    elif faults:
        print_message(f"The index could not follow: {faults[0].rstrip('.')}. {behind_message}")


def _describe_progress(now: IndexProgress) -> str:
    percent = 100 * now.version / now.latest if now.latest else 100.0
    return f"{now.put:,} documents, {percent:.0f} % of the changes; {now.anchors:,} with anchor texts"
