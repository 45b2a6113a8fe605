"""The command `index`: bring the index up to date with the store, or make it anew."""

from __future__ import annotations

import signal
import threading
import time
from contextlib import contextmanager
from shlex import quote
from typing import TYPE_CHECKING

import click

from gossamer.cli.open_web import opened
from gossamer.cli.options import index_option, json_option, store_option
from gossamer.cli.output import human_duration, json_text, many, say, show
from gossamer.cli.progress import Ticker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gossamer.config import IndexSettings
    from gossamer.index.progress import IndexProgress
    from gossamer.store.protocol import Store

SHOWN = 10  # documents set aside that are told one by one


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

    started, ticker = time.monotonic(), Ticker()
    with opened(store, write=True) as web:
        done = update_index(
            web, lambda: open_index_writer(store, rebuild=rebuild), lambda now: ticker.tell(_how_far(now))
        )
        if follow:
            done = _follow(web, store, ticker)
        ticker.close()
        reader = open_index(store)
        try:
            aside, documents = reader.set_aside_documents(), reader.count()
        finally:
            reader.close()
        urls = dict(web.urls(list(aside)))
    seconds = time.monotonic() - started
    refused = [{"url": urls.get(doc, ""), "doc_id": doc, "reason": reason} for doc, reason in aside.items()]
    if as_json:
        numbers = {name: getattr(done, name) for name in ("version", "put", "removed", "unchanged", "anchors")}
        show(json_text({"documents": documents, **numbers, "seconds": round(seconds, 3), "set_aside": refused}))
    say(f"{many(documents, 'document')} in the index; {done.put:,} put in, {done.removed:,} left out or taken out, "
        f"in {human_duration(seconds)}.")  # fmt: skip
    if refused:
        say(f"{many(len(refused), 'document')} could not be taken:")
        for one in refused[:SHOWN]:
            say(f"  {one['url']}: {one['reason']}")


def _follow(web: Store, place: str, ticker: Ticker) -> IndexProgress:
    """Take what comes until somebody says that it is enough; what is committed by then stays."""
    from gossamer.index.build import IndexBuilder
    from gossamer.indexing import follow
    from gossamer.wiring import open_index_writer

    enough = threading.Event()
    before = {number: signal.signal(number, lambda *_: enough.set()) for number in (signal.SIGINT, signal.SIGTERM)}
    builder = IndexBuilder(web, lambda: open_index_writer(place), lambda now: ticker.tell(_how_far(now)))
    try:
        say(f"The index follows {place}. Ctrl-C ends that.")
        follow(builder, enough.wait)
        builder.catch_up()
    finally:
        builder.close()
        for number, handler in before.items():
            signal.signal(number, handler)
    return builder.progress


@contextmanager
def followed_by_the_index(
    store: str, at: IndexSettings | None, *, hurried: Callable[[], bool] = bool
) -> Iterator[None]:
    """While the store is filled, the index follows, where it is; at the end people see how far it is."""
    from gossamer.indexing import indexed

    ticker, behind = Ticker(), f"The index is behind; catch up with: gossamer index --store {quote(store)}"
    with indexed(store, at, tell=lambda now: ticker.tell(f"Indexing: {_how_far(now)}"), hurried=hurried) as faults:
        yield
    ticker.close()
    if faults:
        say(f"The index could not follow: {faults[0].rstrip('.')}. {behind}")
    elif at is not None and hurried():
        say(behind)


def _how_far(now: IndexProgress) -> str:
    share = now.version / now.latest if now.latest else 1.0
    return f"{now.put:,} documents, {share:.0%} of the changes; {now.anchors:,} with anchor texts"
