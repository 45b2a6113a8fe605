"""The command `search`: prints hits with their snippets."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from contextlib import closing
from html import unescape
from typing import TYPE_CHECKING

import click

from gossamer.basics.display import escape_hidden, pluralize
from gossamer.cli.help import HelpCommand
from gossamer.cli.hints import hint
from gossamer.cli.options import index_option, json_option, open_web, store_option
from gossamer.cli.output import (
    BOLD,
    DIM,
    YELLOW,
    TerminalColumn,
    cell_width,
    is_terminal,
    json_text,
    print_line,
    print_message,
    shorten,
    with_style,
    write_table,
)
from gossamer.cli.ranking import print_rank_note
from gossamer.errors import UsageError
from gossamer.store.read.rank_state import read_rank_state

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gossamer.search.service import Answer, Hit

DEFAULT_HITS = 10  # without --limit
INDENT = 4  # cells, for the lines below a title
MAX_LINE_CELLS = 100  # longer lines are hard to read
UNTITLED = "(without a title)"
EXCLUDED_WORD = re.compile(r"-(?!-|n\d*\Z).+", re.DOTALL)  # -moon, -news; not -n, -n3 or --page
WORD_GUARD = "\0"  # no argument of a process can hold it
MARK_PATTERN = re.compile(r"<mark>(.*?)</mark>|([^<]+)", re.DOTALL)


class SearchCommand(HelpCommand):
    """A command that takes excluded words for words: click would find the short flag `-n` in `-moon`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the command line; arguments with one dash are words, apart from `-n`."""
        guarded = _guard_words(args, self.get_params(ctx))
        rest = super().parse_args(ctx, guarded)
        ctx.params["words"] = tuple(word.removeprefix(WORD_GUARD) for word in ctx.params.get("words") or ())
        return rest


def _guard_words(arguments: list[str], parameters: list[click.Parameter]) -> list[str]:
    """Return the arguments with a guard before every excluded word, so that click does not read its letters."""
    takers = {name for each in parameters if isinstance(each, click.Option) and not each.is_flag for name in each.opts}
    guarded: list[str] = []
    before = ""
    for number, argument in enumerate(arguments):
        if argument == "--":
            return guarded + arguments[number:]
        is_value = before in takers
        is_word = not is_value and EXCLUDED_WORD.fullmatch(argument) is not None
        guarded.append(WORD_GUARD + argument if is_word else argument)
        before = "" if is_value else argument
    return guarded


@click.command(cls=SearchCommand, context_settings={"ignore_unknown_options": True, "help_option_names": ["--help"]})
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="WORDS...")
@click.option("--page", type=click.IntRange(min=1), default=1, metavar="N", help="Page of the answer, from 1 on.")
@click.option(
    "--limit",
    "-n",
    type=click.IntRange(1, 1000),
    default=DEFAULT_HITS,
    show_default=True,
    metavar="N",
    help="Hits per page.",
)
@click.option("--explain", is_flag=True, help="Show what each score is made of.")
@store_option
@index_option
@json_option
def search(words: tuple[str, ...], page: int, limit: int, explain: bool, store: str, as_json: bool) -> None:
    """Find pages by their words.

    The answer has pages with any of the words; pages with all of them come first. "Words in double quotes" must follow
    each other; put single quotes around them for the shell.

    \b
    -word              without this word (or phrase, or any of the filters below)
    one OR other       with at least one of the two
    site:HOST[/PATH]   on this host or below it
    intitle:WORD       in the title; also intitle:"some words"
    inurl:WORD         in the URL
    lang:en            in this language
    type:pdf           of this type: html, pdf, text, xml, feed, or a media type
    after:2024-05      changed since then; before:2024 before then

    \b
    JSON: {"query", "total", "page", "limit", "took_ms", "suggestion",
           "hits": [{"url", "title", "snippet", "score", "host", "visited_at",
                     "duplicates", "explanation"}], "notes", "ignored": [{"filter", "reason"}]}
    """
    text = " ".join(words)
    if not text.strip():
        raise UsageError("Say what to search for: `gossamer search WORDS`.")
    with open_web(store) as web:
        from gossamer.wiring import open_searcher

        with closing(open_searcher(web, store)) as searcher:
            answer = searcher.search(text, page=page, limit=limit, explain=explain)
        rank_state = read_rank_state(web) if explain else None
    if as_json:
        print_line(json_text(answer, indent=2))
    elif is_terminal(sys.stdout):
        _print_hits(answer, explain=explain)
    else:
        columns = [TerminalColumn("url"), TerminalColumn("title"), TerminalColumn("score"), TerminalColumn("snippet")]
        write_table(columns, ((hit.url, hit.title, hit.score, _plain_snippet(hit.snippet)) for hit in answer.hits))
        _print_notes(answer)
    print_rank_note(rank_state)


def _print_hits(answer: Answer, *, explain: bool) -> None:
    for number, hit in enumerate(answer.hits, (answer.page - 1) * answer.limit + 1):
        _print_hit(number, hit, min(MAX_LINE_CELLS, shutil.get_terminal_size().columns))
    _print_notes(answer)
    first = (answer.page - 1) * answer.limit + 1
    if not answer.hits:
        past = f" on page {answer.page}" if answer.total else ""
        print_message(f"Nothing found{past}; {pluralize(answer.total, 'page')} match.")
        return
    last = first + len(answer.hits) - 1
    span = f"{first:,}–{last:,}" if last > first else f"{first:,}"  # noqa: RUF001 - a span of numbers
    print_message(f"{span} of {pluralize(answer.total, 'page')}, in {answer.took_ms:.1f} ms.")
    if len(answer.hits) == answer.limit and last < answer.total:
        print_message(f"More: {_next_page_command(answer, explain=explain)}")


def _next_page_command(answer: Answer, *, explain: bool) -> str:
    limit = ["--limit", str(answer.limit)] if answer.limit != DEFAULT_HITS else []
    flags = ["--page", str(answer.page + 1), *limit, *(["--explain"] if explain else [])]
    return hint(shlex.join(["search", answer.query, *flags]))


def _print_notes(answer: Answer) -> None:
    for note in answer.notes:
        print_message(note)
    if answer.suggestion is not None:
        print_message(f"Did you mean: {answer.suggestion}?")


def _print_hit(number: int, hit: Hit, width: int) -> None:
    title = shorten(escape_hidden(hit.title) or UNTITLED, width - INDENT)
    more = f"  (and {pluralize(hit.duplicates, 'duplicate')})" if hit.duplicates else ""
    print_line(f"{number:>2}. {with_style(title, BOLD, sys.stdout)}{more}")
    print_line(" " * INDENT + with_style(escape_hidden(hit.url), DIM, sys.stdout))
    for line in wrap_snippet(hit.snippet, width - INDENT):
        print_line(" " * INDENT + line)
    if hit.explanation is not None:
        print_line(" " * INDENT + _explanation_text(hit))
    print_line()


def _explanation_text(hit: Hit) -> str:
    explanation = hit.explanation
    assert explanation is not None
    parts = " + ".join(
        f"{name} {value:.3f}·{explanation.weights[name]:g}" for name, value in explanation.parts.items() if value
    )
    spread = (
        f" · {explanation.spread:g} for earlier hits of {escape_hidden(hit.host)}" if explanation.spread < 1 else ""
    )
    summed = f"({parts}){spread}" if parts and spread else parts or "first pass only"
    whole = "all words" if explanation.has_all else "not all words"
    return f"{hit.score:.4f} = {summed}; {whole}, first pass {explanation.first_pass:.3f}"


# -- snippets ----------------------------------------------------------------------------------------------------------


def wrap_snippet(snippet: str, width: int) -> Iterator[str]:
    """Yield a snippet as lines of at most `width` cells, with its marked words in colour."""
    line, used = "", 0
    for word, shown in _styled_words(snippet):
        size = cell_width(word)
        if used and used + 1 + size > width:
            yield line
            line, used = "", 0
        line += (" " if used else "") + shown
        used += (1 if used else 0) + size
    if line:
        yield line


def _styled_words(snippet: str) -> Iterator[tuple[str, str]]:
    """Yield the words of a snippet, bare and styled; a mark may cover only a part of a word."""
    word, shown = "", ""
    for marked, plain in MARK_PATTERN.findall(snippet):
        text = escape_hidden(unescape(marked or plain))
        for i, piece in enumerate(text.split(" ")):
            if i and word:
                yield word, shown
                word, shown = "", ""
            word += piece
            shown += with_style(piece, f"{BOLD};{YELLOW}", sys.stdout) if marked and piece else piece
    if word:
        yield word, shown


def _plain_snippet(snippet: str) -> str:
    return unescape(re.sub("</?mark>", "", snippet))
