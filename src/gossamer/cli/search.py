"""The command `search`."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from contextlib import closing
from html import unescape
from typing import TYPE_CHECKING

import click

from gossamer.cli.open_web import opened
from gossamer.cli.options import index_option, json_option, store_option
from gossamer.cli.output import (
    BOLD,
    DIM,
    YELLOW,
    Column,
    cells_of,
    is_terminal,
    json_text,
    many,
    printable,
    say,
    shortened,
    show,
    styled,
    write_table,
)
from gossamer.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gossamer.search.service import Answer, Hit

HITS = 10  # when --limit is not given
INDENT = 4  # cells, below a title
WIDEST = 100  # cells: longer lines are hard to read
UNTITLED = "(without a title)"
MARKED = re.compile(r"<mark>(.*?)</mark>|([^<]+)", re.DOTALL)


@click.command(context_settings={"ignore_unknown_options": True, "help_option_names": ["--help"]})
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="WORDS...")
@click.option("--page", type=click.IntRange(min=1), default=1, metavar="N", help="The page of the answer, from 1 on.")
@click.option(
    "--limit", type=click.IntRange(1, 1000), default=HITS, show_default=True, metavar="N", help="Hits on a page."
)
@click.option("--explain", is_flag=True, help="Show what each score is made of.")
@store_option
@index_option
@json_option
def search(words: tuple[str, ...], page: int, limit: int, explain: bool, store: str, as_json: bool) -> None:
    """Find pages by their words.

    Pages with any of the words are found, those with all of them come first. "Words in double quotes" stand one behind
    the other; put single quotes around them for the shell.

    \b
    -word              not that word (or phrase, or any of what follows)
    one OR other       one of the two at least
    site:HOST[/PATH]   on this host or below it
    intitle:WORD       in the title; also intitle:"some words"
    inurl:WORD         in the URL
    lang:en            in this language
    type:pdf           of this type: html, pdf, text, xml, feed, or a media type
    after:2024-05      changed since then; before:2024 before then

    \b
    JSON: {"query", "total", "page", "limit", "took_ms", "suggestion",
           "hits": [{"url", "title", "snippet", "score", "host", "visited_at",
                     "duplicates", "explanation"}], "notes"}
    """
    text = " ".join(words)
    if not text.strip():
        raise UsageError("Say what to search for: gossamer search WORDS.")
    with opened(store) as web:
        from gossamer.wiring import open_searcher

        with closing(open_searcher(web, store)) as searcher:
            answer = searcher.search(text, page=page, limit=limit, explain=explain)
    if as_json:
        show(json_text(answer, indent=2))
    elif is_terminal(sys.stdout):
        _for_people(answer, store)
    else:
        columns = [Column("url"), Column("title"), Column("score"), Column("snippet")]
        write_table(columns, ((hit.url, hit.title, hit.score, _plain(hit.snippet)) for hit in answer.hits))
        _notes(answer)


def _for_people(answer: Answer, store: str) -> None:
    for number, hit in enumerate(answer.hits, (answer.page - 1) * answer.limit + 1):
        _show_hit(number, hit, min(WIDEST, shutil.get_terminal_size().columns))
    _notes(answer)
    first = (answer.page - 1) * answer.limit + 1
    if not answer.hits:
        past = f" on page {answer.page}" if answer.total else ""
        say(f"Nothing found{past}; {many(answer.total, 'page')} match.")
        return
    last = first + len(answer.hits) - 1
    span = f"{first:,}–{last:,}" if last > first else f"{first:,}"  # noqa: RUF001 - a span of numbers
    say(f"{span} of {many(answer.total, 'page')}, in {answer.took_ms:.1f} ms.")
    if len(answer.hits) == answer.limit and last < answer.total:
        at = [] if store == "web" else ["--store", store]
        command = shlex.join(["gossamer", "search", answer.query, "--page", str(answer.page + 1), *at])
        say(f"More: {command}")


def _notes(answer: Answer) -> None:
    for note in answer.notes:
        say(note)
    if answer.suggestion is not None:
        say(f"Did you mean: {answer.suggestion}?")


def _show_hit(number: int, hit: Hit, width: int) -> None:
    title = shortened(printable(hit.title) or UNTITLED, width - INDENT)
    more = f"  (and {many(hit.duplicates, 'duplicate')})" if hit.duplicates else ""
    show(f"{number:>2}. {styled(title, BOLD, sys.stdout)}{more}")
    show(" " * INDENT + styled(printable(hit.url), DIM, sys.stdout))
    for line in wrapped(hit.snippet, width - INDENT):
        show(" " * INDENT + line)
    if hit.explanation is not None:
        show(" " * INDENT + _explained(hit))
    show()


def _explained(hit: Hit) -> str:
    told = hit.explanation
    assert told is not None
    parts = " + ".join(f"{name} {value:.3f}·{told.weights[name]:g}" for name, value in told.parts.items() if value)
    spread = f" · {told.spread:g} for earlier hits of {printable(hit.host)}" if told.spread < 1 else ""
    summed = f"({parts}){spread}" if parts and spread else parts or "first pass only"
    whole = "all words" if told.has_all else "not all words"
    return f"{hit.score:.4f} = {summed}; {whole}, first pass {told.first_pass:.3f}"


# -- snippets ----------------------------------------------------------------------------------------------------------


def wrapped(snippet: str, width: int) -> Iterator[str]:
    """A snippet as lines of at most `width` cells, its marked words in colour."""
    line, used = "", 0
    for word, shown in _words(snippet):
        size = cells_of(word)
        if used and used + 1 + size > width:
            yield line
            line, used = "", 0
        line += (" " if used else "") + shown
        used += (1 if used else 0) + size
    if line:
        yield line


def _words(snippet: str) -> Iterator[tuple[str, str]]:
    """What stands between blanks, bare and as it is shown: a marked part may be but a piece of it."""
    word, shown = "", ""
    for marked, plain in MARKED.findall(snippet):
        text = printable(unescape(marked or plain))
        for i, piece in enumerate(text.split(" ")):
            if i and word:
                yield word, shown
                word, shown = "", ""
            word += piece
            shown += styled(piece, f"{BOLD};{YELLOW}", sys.stdout) if marked and piece else piece
    if word:
        yield word, shown


def _plain(snippet: str) -> str:
    return unescape(re.sub("</?mark>", "", snippet))
