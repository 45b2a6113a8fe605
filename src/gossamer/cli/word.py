"""The command `word`: documents and positions of a word, from the word table."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Literal

import click

from gossamer.basics.display import escape_hidden, pluralize
from gossamer.cli.help import HelpCommand
from gossamer.cli.options import index_option, json_option, open_web, store_option
from gossamer.cli.output import (
    DIM,
    TerminalColumn,
    json_text,
    print_heading,
    print_line,
    print_message,
    with_style,
)
from gossamer.cli.pager import wide_option
from gossamer.cli.report_table import write_url_table

if TYPE_CHECKING:
    from gossamer.index.word_table import WordDocument, WordEntry

STOP_WORD_ID = 0
POSITIONS_SHOWN = 12  # positions of one document on a terminal


@click.command(cls=HelpCommand)
@click.argument("word")
@click.option(
    "--order",
    type=click.Choice(["frequency", "document"]),
    default="frequency",
    show_default=True,
    help="Order of the documents: by how often they hold the word, or by number.",
)
@click.option(
    "--page",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    metavar="N",
    help="Page of the list of documents.",
)
@click.option(
    "--limit",
    "-n",
    type=click.IntRange(1, 10_000),
    default=20,
    show_default=True,
    metavar="N",
    help="Documents per page.",
)
@wide_option
@store_option
@index_option
@json_option
def word(
    word: str, order: Literal["frequency", "document"], page: int, limit: int, wide: bool, store: str, as_json: bool
) -> None:  # fmt: skip
    """Show the documents and positions of a word.

    Case, accents and endings do not matter: eggs finds egg. Positions count the words of a document from 0, the title
    first, then the text in reading order. Each position is in a field: title, h1 to h6, text. Stop words have number 0.

    \b
    JSON: {"word", "word_id", "df", "idf", "forms",
           "documents": [{"url", "doc_id", "tf", "positions", "fields", "cut"}], "next"}

    "cut" is there when only the first positions are given: an answer has at most 100,000. A smaller --limit gives more.
    """
    from gossamer.index.word_table import WordTable
    from gossamer.wiring import open_index

    with open_web(store) as web:
        reader = open_index(store)
        try:
            entry = WordTable(web, reader).entry(word, order=order, page=page, limit=limit)
        finally:
            reader.close()
    if as_json:
        print_line(json_text(entry))
    else:
        _print_entry(entry, page, wide=wide)


def _print_entry(entry: WordEntry, page: int, *, wide: bool) -> None:
    print_heading(escape_hidden(entry.word))
    if not entry.df and entry.word_id != STOP_WORD_ID:
        print_line("  This word does not occur in the index.")
        return
    number = {None: "none", 0: "0 (a stop word)"}.get(entry.word_id, f"{entry.word_id:,}" if entry.word_id else "")
    facts = [("number", number), ("documents", f"{entry.df:,}"), ("idf", f"{entry.idf:.3f}"),
            ("forms", ", ".join(entry.forms))]  # fmt: skip
    for name, value in facts:
        if value:
            print_line(f"  {with_style(f'{name:<9}', DIM, sys.stdout)}  {escape_hidden(value)}")
    if entry.documents:
        print_line()
        columns = [
            TerminalColumn("times", align="right"),
            TerminalColumn("url", cut="middle"),
            TerminalColumn("positions", cut="end"),
        ]
        write_url_table(columns, ((one.tf, one.url, _positions_text(one)) for one in entry.documents), wide=wide)
    if entry.next:
        print_message(f"Page {page}; {pluralize(entry.df, 'document')} in all. More: --page {entry.next}")


def _positions_text(document: WordDocument) -> str:
    """Return positions as text, each followed by its field unless that is `text`."""
    pairs = zip(document.positions, document.fields, strict=True)
    shown = [f"{at}" if field == "text" else f"{at} {field}" for at, field in pairs]
    shown = shown[:POSITIONS_SHOWN] if sys.stdout.isatty() else shown
    more = document.tf - len(shown)
    return ", ".join(shown) + (f" and {more:,} more" if more > 0 else "")
