"""`gossamer export`: the web in other forms. `TABLES` lists those that are rows and columns."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gossamer.cli.destination import STDOUT, Told, ending, out_option, place_for
from gossamer.cli.export_graph import graph, picture
from gossamer.cli.open_web import opened
from gossamer.cli.options import json_option, store_option
from gossamer.cli.output import human_bytes, human_duration, json_text, many, say, show
from gossamer.cli.progress import Ticker
from gossamer.files.tables import WRITERS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any

    from gossamer.files.tables import Table
    from gossamer.store.protocol import Store

    MakeTable = Callable[[Store, str], Table]

FORMATS = tuple(WRITERS)


@click.group(invoke_without_command=True)
@click.pass_context
def export(ctx: click.Context) -> None:
    """Write the web out in other forms."""
    if ctx.invoked_subcommand is None:
        show(ctx.get_help())


# -- tables ------------------------------------------------------------------------------------------------------------


def _everything(name: str) -> MakeTable:
    def make(web: Store, _place: str) -> Table:
        from gossamer.files import export_tables

        table: Table = getattr(export_tables, name)(web)
        return table

    return make


def _words(web: Store, place: str) -> Table:
    from gossamer.files.tables import Column, Table
    from gossamer.index.dictionary import DictionaryRow, dictionary_rows
    from gossamer.wiring import open_index

    numbers = {"word_id", "df", "doc_id", "tf"}
    columns = [Column(name, "integer" if name in numbers else "text") for name in DictionaryRow._fields]

    def found() -> Iterator[DictionaryRow]:
        reader = open_index(place)
        try:
            yield from dictionary_rows(web, reader)
        finally:
            reader.close()

    return Table(columns=columns, rows=found())


# name -> (what it is, how it is made of an open web and its place)
TABLES: dict[str, tuple[str, MakeTable]] = {
    "links": (
        """Every link with its source, destination, anchor and status.

The 15 columns are those of Screaming Frog's all_inlinks. Target, Path Type and Link Path stay empty: they are not kept.
""",
        _everything("links"),
    ),
    "resources": ("Every URL known, with all that is known of it.", _everything("resources")),
    "hosts": ("Every host, and how far it is.", _everything("hosts")),
    "visits": ("Every visit: when, by whom, how it ended, how long it took.", _everything("visits")),
    "words": (
        """The whole dictionary: every word with every document that holds it, and where.

Positions count the words of a document from 0, the title first; fields says of each position what it stands in (title,
h1 to h6, text). Both are lists with blanks between.
""",
        _words,
    ),
    "ranks": ("Every page with its ranks, as the last `gossamer rank` found them.", _everything("ranks")),
}


def _table_command(name: str, text: str, make: MakeTable) -> click.Command:
    @click.option("--format", "form", type=click.Choice(FORMATS), help="Default: as FILE ends, else csv.")
    @out_option
    @store_option
    @json_option
    def command(form: str | None, out: Path, store: str, as_json: bool) -> None:
        told, form = Told(out, as_json=as_json), form or ending(out, FORMATS)
        with opened(store) as web, place_for(out, binary=form == "parquet") as stream:
            table = make(web, store)
            rows = WRITERS[form](_ticking(table, name), stream)
        told.tell(many(rows, name.removesuffix("s")), format=form, rows=rows)

    shape = '\n\n\b\nJSON: {"out", "format", "rows", "bytes", "seconds"}'
    return click.command(name=name, help=text + shape)(command)


def _ticking(table: Table, name: str) -> Table:
    from msgspec.structs import replace

    return replace(table, rows=_counted(table.rows, name))


def _counted(rows: Iterable[Sequence[Any]], name: str) -> Iterator[Sequence[Any]]:
    ticker = Ticker()
    for number, row in enumerate(rows, 1):
        if not number % 10_000:
            ticker.tell(f"{number:,} {name}")
        yield row
    ticker.close()


for _name, (_text, _make) in TABLES.items():
    export.add_command(_table_command(_name, _text, _make))
export.add_command(graph)
export.add_command(picture)


# -- pages -------------------------------------------------------------------------------------------------------------


@export.command()
@click.option("--out", required=True, type=click.Path(path_type=Path), metavar="DIR", help="An empty or new directory.")
@store_option
@json_option
def files(out: Path, store: str, as_json: bool) -> None:
    """Write the pages as files, under names that lead back to their URLs, with a manifest.

    The files hold the stored sources byte for byte; manifest.jsonl tells the URL of each and what its header said:
    type, charset, status, language, canonical, noindex and more. `gossamer import DIR` takes such a folder back in.

    \b
    JSON: {"pages", "bytes", "skipped": {reason: count}, "seconds"}
    """
    from gossamer.files.export_files import export_files

    started, ticker = time.monotonic(), Ticker()
    pages = size = 0
    skipped: Counter[str] = Counter()
    with opened(store) as web:
        for one in export_files(web, out):
            if one.skip_reason:
                skipped[one.skip_reason] += 1
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


@export.command()
@click.option("--out", required=True, type=click.Path(path_type=Path), metavar="FILE", help="Such as web.warc.gz.")
@store_option
@json_option
def warc(out: Path, store: str, as_json: bool) -> None:
    """Write the stored pages as a WARC 1.1 archive, gzipped record by record.

    The HTTP headers in it are reconstructed from what is stored; the bodies are as they were after decoding.
    `gossamer import FILE` takes such an archive back in, as do pywb, warcio and others.

    \b
    JSON: {"out", "pages", "skipped": {reason: count}, "bytes", "seconds"}
    """
    from importlib.metadata import version

    from gossamer.files.export_warc import export_warc

    told, ticker = Told(out, as_json=as_json), Ticker()
    pages, skipped = 0, Counter[str]()
    with opened(store) as web, place_for(out, binary=True) as stream:
        for one in export_warc(web, stream, f"gossamer/{version('gossamer')}", "" if out == STDOUT else out.name):
            if one.skip_reason:
                skipped[one.skip_reason] += 1
            else:
                pages += 1
            ticker.tell(f"{pages:,} pages: {one.url}")
    ticker.close()
    told.tell(many(pages, "page"), pages=pages, skipped=skipped)
    for reason, count in skipped.items():
        say(f"{count:,} visited resources are not there: {reason}.")
