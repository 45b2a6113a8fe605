"""The command `index`: bring the index up to date with the store, or make it anew."""

from __future__ import annotations

import signal
import threading
import time
from contextlib import contextmanager
from shlex import quote
from typing import TYPE_CHECKING

import click

from gossamer.cli.open_web import open_web
from gossamer.cli.options import index_option, json_option, store_option
from gossamer.cli.output import format_duration, json_text, pluralize, print_line, print_message
from gossamer.cli.progress import ProgressLine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gossamer.config import IndexSettings
    from gossamer.index.progress import IndexProgress
    from gossamer.store.protocol import Store

MAX_REFUSED_SHOWN = 10  # documents set aside that are told one by one


@click.command()
@click.option(
    "--rebuild", is_flag=True, help="Make the index anew from the store; the old one is used until it is done."
)
@click.option("--follow", is_flag=True, help="Stay, and take what crawlers write meanwhile, until Ctrl-C or SIGTERM.")
@store_option
@index_option
@json_option
def index(rebuild: bool, follow: bool, store: str, as_json: bool) -> None:
    """Bring the index up to date with the store.

    A crawl does this by itself unless told --no-index. Pages that changed are put in again, those that are gone or say
    noindex leave. Of a web in PostgreSQL every machine has an index of its own: with --follow it is kept up to date for
    searches there.

    \b
    JSON: {"documents", "version", "put", "removed", "unchanged", "anchors", "seconds",
           "set_aside": [{"url", "doc_id", "reason"}]}
    """
    from gossamer.index.build import update_index
    from gossamer.wiring import open_index, open_index_writer

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
    print_message(f"{pluralize(documents, 'document')} in the index; {done.put:,} put in, {done.removed:,} left out or taken out, "
        f"in {format_duration(seconds)}.")  # fmt: skip
    if refused:
        print_message(f"{pluralize(len(refused), 'document')} could not be taken:")
        for one in refused[:MAX_REFUSED_SHOWN]:
            print_message(f"  {one['url']}: {one['reason']}")


def _follow_store(web: Store, location: str, progress_line: ProgressLine) -> IndexProgress:
    """Take what comes until somebody says that it is enough; what is committed by then stays."""
    from gossamer.index.build import IndexBuilder
    from gossamer.indexing import follow_changes
    from gossamer.wiring import open_index_writer

    stop_event = threading.Event()
    before = {number: signal.signal(number, lambda *_: stop_event.set()) for number in (signal.SIGINT, signal.SIGTERM)}
    builder = IndexBuilder(
        web, lambda: open_index_writer(location), lambda now: progress_line.update(_describe_progress(now))
    )
    try:
        print_message(f"The index follows {location}. Ctrl-C ends that.")
        follow_changes(builder, stop_event.wait)
        builder.catch_up()
    finally:
        builder.close()
        for number, handler in before.items():
            signal.signal(number, handler)
    return builder.progress


@contextmanager
def indexing_alongside(
    store: str, settings: IndexSettings | None, *, is_hurried: Callable[[], bool] = bool
) -> Iterator[None]:
    """While the store is filled, the index follows, where it is; at the end people see how far it is."""
    from gossamer.indexing import index_alongside

    progress_line, behind_message = (
        ProgressLine(),
        f"The index is behind; catch up with: gossamer index --store {quote(store)}",
    )
    with index_alongside(
        store,
        settings,
        on_progress=lambda now: progress_line.update(f"Indexing: {_describe_progress(now)}"),
        is_hurried=is_hurried,
    ) as faults:
        yield
    progress_line.close()
    if faults:
        print_message(f"The index could not follow: {faults[0].rstrip('.')}. {behind_message}")
    elif settings is not None and is_hurried():
        print_message(behind_message)


def _describe_progress(now: IndexProgress) -> str:
    share = now.version / now.latest if now.latest else 1.0
    return f"{now.put:,} documents, {share:.0%} of the changes; {now.anchors:,} with anchor texts"
