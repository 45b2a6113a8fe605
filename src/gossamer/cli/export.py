"""The command `export`: tables (`TABLES` lists them), the link graph, pictures, files and archives."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gossamer.basics.display import format_bytes, format_duration, pluralize
from gossamer.cli.export_graph import graph, picture
from gossamer.cli.export_output import STDOUT, ExportSummary, choose_format, open_output, out_option
from gossamer.cli.help import HelpCommand, HelpGroup
from gossamer.cli.options import json_option, open_web, store_option
from gossamer.cli.output import ProgressLine, json_text, print_line, print_message
from gossamer.cli.ranking import print_rank_note
from gossamer.files.tables import WRITERS
from gossamer.store.read.rank_state import read_rank_state

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any

    from gossamer.files.tables import Table
    from gossamer.store.protocol import Store

    TableMaker = Callable[[Store, str], Table]

FORMATS = tuple(WRITERS)


@click.group(cls=HelpGroup, invoke_without_command=True)
@click.pass_context
def export(ctx: click.Context) -> None:
    """Export tables, the link graph, pictures, files or archives."""
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
    from gossamer.library.export import words_table

    return words_table(web, location)


# name -> (help text, function that builds the table from an open web and its location)
TABLES: dict[str, tuple[str, TableMaker]] = {
    "links": (
        """Export every link with its source, destination, anchor and status.

The 15 columns are those of Screaming Frog's all_inlinks. Target, Path Type and Link Path are empty: Gossamer does not
store them.
""",
        _table_maker("links"),
    ),
    "resources": ("Export every known URL with all its columns.", _table_maker("resources")),
    "hosts": ("Export every host with its progress.", _table_maker("hosts")),
    "visits": ("Export every visit: time, crawler, outcome and duration.", _table_maker("visits")),
    "words": (
        """Export the whole dictionary: every word with its documents and positions.

Positions count the words of a document from 0, the title first. Fields names the field of each position (title,
h1 to h6, text). Both are lists separated by blanks.
""",
        _words_table,
    ),
    "ranks": ("Export every page with the ranks of the last `gossamer rank`.", _table_maker("ranks")),
}


def _table_command(name: str, text: str, make: TableMaker) -> click.Command:
    @click.option(
        "--format", "form", type=click.Choice(FORMATS), help="Format; default: by the suffix of FILE, else csv."
    )
    @out_option
    @store_option
    @json_option
    def command(form: str | None, out: Path, store: str, as_json: bool) -> None:
        summary, form = ExportSummary(out, as_json=as_json), form or choose_format(out, FORMATS)
        with open_web(store) as web, open_output(out, binary=form == "parquet") as stream:
            table = make(web, store)
            rows = WRITERS[form](_with_progress(table, name), stream)
            rank_state = read_rank_state(web) if name == "ranks" else None
        summary.report(pluralize(rows, name.removesuffix("s")), format=form, rows=rows)
        print_rank_note(rank_state)

    shape = '\n\n\b\nJSON: {"out", "format", "rows", "bytes", "seconds"}'
    return click.command(cls=HelpCommand, name=name, help=text.rstrip() + shape)(command)


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


@export.command(cls=HelpCommand)
@click.option(
    "--out",
    "-o",
    required=True,
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="New or empty directory to write to.",
)
@store_option
@json_option
def files(out: Path, store: str, as_json: bool) -> None:
    """Export the pages as files under names made from their URLs, with a manifest.

    The files hold the stored sources byte for byte. manifest.jsonl has the URL of each file and the facts of its
    headers: type, charset, status, language, canonical, noindex and more. `gossamer import DIR` imports such a folder.

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
        print_message(f"{count:,} visited resources were left out: {reason}.")


@export.command(cls=HelpCommand)
@click.option(
    "--out",
    "-o",
    required=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="File to write, such as web.warc.gz.",
)
@store_option
@json_option
def warc(out: Path, store: str, as_json: bool) -> None:
    """Export the stored pages as a WARC 1.1 archive, gzipped record by record.

    Gossamer reconstructs the HTTP headers from the stored columns; the bodies are the decoded ones.
    `gossamer import FILE` imports such an archive; pywb, warcio and others read it too.

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
        print_message(f"{count:,} visited resources were left out: {reason}.")
