"""`gossamer export`: the web in other forms. `TABLES` lists those that are rows and columns."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gossamer.cli.destination import STDOUT, ExportSummary, choose_format, open_output, out_option
from gossamer.cli.export_graph import graph, picture
from gossamer.cli.open_web import open_web
from gossamer.cli.options import json_option, store_option
from gossamer.cli.output import format_bytes, format_duration, json_text, pluralize, print_line, print_message
from gossamer.cli.progress import ProgressLine
from gossamer.files.tables import WRITERS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any

    from gossamer.files.tables import Table
    from gossamer.store.protocol import Store

    TableMaker = Callable[[Store, str], Table]

FORMATS = tuple(WRITERS)


@click.group(invoke_without_command=True)
@click.pass_context
def export(ctx: click.Context) -> None:
    """Write the web out in other forms."""
    if ctx.invoked_subcommand is None:
        print_line(ctx.get_help())


# -- tables ------------------------------------------------------------------------------------------------------------


def _table_maker(name: str) -> TableMaker:
    def make(web: Store, _location: str) -> Table:
        from gossamer.files import export_tables

        table: Table = getattr(export_tables, name)(web)
        return table

    return make


def _words_table(web: Store, location: str) -> Table:
    from gossamer.files.tables import Column, Table
    from gossamer.index.dictionary import DictionaryRow, dictionary_rows
    from gossamer.wiring import open_index

    numbers = {"word_id", "df", "doc_id", "tf"}
    columns = [Column(name, "integer" if name in numbers else "text") for name in DictionaryRow._fields]

    def read_rows() -> Iterator[DictionaryRow]:
        reader = open_index(location)
        try:
            yield from dictionary_rows(web, reader)
        finally:
            reader.close()

    return Table(columns=columns, rows=read_rows())


# name -> (what it is, how it is made of an open web and its place)
TABLES: dict[str, tuple[str, TableMaker]] = {
    "links": (
        """Every link with its source, destination, anchor and status.

The 15 columns are those of Screaming Frog's all_inlinks. Target, Path Type and Link Path stay empty: they are not kept.
""",
        _table_maker("links"),
    ),
    "resources": ("Every URL known, with all that is known of it.", _table_maker("resources")),
    "hosts": ("Every host, and how far it is.", _table_maker("hosts")),
    "visits": ("Every visit: when, by whom, how it ended, how long it took.", _table_maker("visits")),
    "words": (
        """The whole dictionary: every word with every document that holds it, and where.

Positions count the words of a document from 0, the title first; fields says of each position what it stands in (title,
h1 to h6, text). Both are lists with blanks between.
""",
        _words_table,
    ),
    "ranks": ("Every page with its ranks, as the last `gossamer rank` found them.", _table_maker("ranks")),
}


def _table_command(name: str, text: str, make: TableMaker) -> click.Command:
    @click.option("--format", "form", type=click.Choice(FORMATS), help="Default: as FILE ends, else csv.")
    @out_option
    @store_option
    @json_option
    def command(form: str | None, out: Path, store: str, as_json: bool) -> None:
        summary, form = ExportSummary(out, as_json=as_json), form or choose_format(out, FORMATS)
        with open_web(store) as web, open_output(out, binary=form == "parquet") as stream:
            table = make(web, store)
            rows = WRITERS[form](_with_progress(table, name), stream)
        summary.report(pluralize(rows, name.removesuffix("s")), format=form, rows=rows)

    shape = '\n\n\b\nJSON: {"out", "format", "rows", "bytes", "seconds"}'
    return click.command(name=name, help=text + shape)(command)


def _with_progress(table: Table, name: str) -> Table:
    from msgspec.structs import replace

    return replace(table, rows=_count_rows(table.rows, name))


def _count_rows(rows: Iterable[Sequence[Any]], name: str) -> Iterator[Sequence[Any]]:
    progress_line = ProgressLine()
    for number, row in enumerate(rows, 1):
        if not number % 10_000:
            progress_line.update(f"{number:,} {name}")
        yield row
    progress_line.close()


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

    started, progress_line = time.monotonic(), ProgressLine()
    pages = size = 0
    skipped: Counter[str] = Counter()
    with open_web(store) as web:
        for one in export_files(web, out):
            if one.skip_reason:
                skipped[one.skip_reason] += 1
            else:
                pages, size = pages + 1, size + one.bytes
            progress_line.update(f"{pages:,} pages, {format_bytes(size)}: {one.url}")
    progress_line.close()
    seconds = time.monotonic() - started
    if as_json:
        print_line(json_text({"pages": pages, "bytes": size, "skipped": skipped, "seconds": round(seconds, 3)}))
    print_message(f"Wrote {pluralize(pages, 'page')} ({format_bytes(size)}) to {out} in {format_duration(seconds)}.")
    for reason, count in skipped.items():
        print_message(f"{count:,} visited resources are not there: {reason}.")


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

    summary, progress_line = ExportSummary(out, as_json=as_json), ProgressLine()
    pages, skipped = 0, Counter[str]()
    with open_web(store) as web, open_output(out, binary=True) as stream:
        for one in export_warc(web, stream, f"gossamer/{version('gossamer')}", "" if out == STDOUT else out.name):
            if one.skip_reason:
                skipped[one.skip_reason] += 1
            else:
                pages += 1
            progress_line.update(f"{pages:,} pages: {one.url}")
    progress_line.close()
    summary.report(pluralize(pages, "page"), pages=pages, skipped=skipped)
    for reason, count in skipped.items():
        print_message(f"{count:,} visited resources are not there: {reason}.")
