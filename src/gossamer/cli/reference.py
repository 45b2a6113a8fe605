"""Writes the reference pages of commands, settings and reports from the code that defines them.

Run `python -m gossamer.cli.reference docs/reference`; a test fails when the pages are out of date.
"""

from __future__ import annotations

import inspect
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gossamer.cli.main import COMMANDS, app
from gossamer.config.describe import reference_text as settings_text

if TYPE_CHECKING:
    from collections.abc import Iterator

COMMANDS_HEAD = """\
# Commands

<!-- Written by `python -m gossamer.cli.reference docs/reference`; do not edit. -->

Run `gossamer COMMAND` or `python -m gossamer COMMAND`. `gossamer COMMAND --help` prints the text of this page.

- `--store WEB` (or `GOSSAMER_STORE`) names the web for every command except `copy`; the default is `./web`.
- Answers go to stdout, messages and progress to stderr. A terminal shows tables aligned and cut to its width where the
  columns allow it; a pipe gets whole values separated by tabs. `--json` is for programs: this page gives its keys, and
  they are stable.
- Text from the web cannot control the terminal: control and direction characters appear as `\\x1b` or `«U+202E»`, in
  JSON as `\\u202e`. `NO_COLOR` switches colours off.
- Exit codes: 0 success, also if Ctrl-C ends `crawl`, `watch`, `go`, `serve` or `index --follow`; 1 `report --fail-on`
  or `errors --fail` found something; 2 wrong usage or an error, with one sentence on stderr; 130 another command ended
  by Ctrl-C.
- Completion: put `eval "$(_GOSSAMER_COMPLETE=bash_source gossamer)"` into `~/.bashrc` (`zsh_source`, `fish_source` for
  those shells).
"""


def commands_text() -> str:
    """Return the page of all commands, in Markdown."""
    parts = [COMMANDS_HEAD]
    context = click.Context(app, info_name="gossamer")
    for title, commands in COMMANDS.items():
        parts.append(f"\n## {title}\n")
        for name, _, _ in commands:
            command = app.get_command(context, name)
            assert command is not None
            parts += _command_reference(command, click.Context(command, info_name=name, parent=context))
    return "".join(parts)


def _command_reference(command: click.Command, context: click.Context) -> Iterator[str]:
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    yield f"\n### {context.command_path}\n\n    {usage}\n\n{_help_markdown(command.help or '')}\n"
    options = [parameter for parameter in command.params if isinstance(parameter, click.Option)]
    rows = [record for option in options if (record := option.get_help_record(context))]
    if rows:
        yield "\n| option | what it does |\n|---|---|\n"
        yield from (f"| `{_escape_cell(option)}` | {_escape_cell(text)} |\n" for option, text in rows)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from _command_reference(inner, click.Context(inner, info_name=name, parent=context))


def _escape_cell(text: str) -> str:
    return text.replace("|", "\\|")


def _help_markdown(text: str) -> str:
    """Return a command's help as Markdown; paragraphs that click must not wrap (backspace) become code blocks."""
    paragraphs = inspect.cleandoc(text).split("\n\n")
    return "\n\n".join(
        textwrap.indent(paragraph.removeprefix("\b\n"), "    ") if paragraph.startswith("\b\n") else paragraph
        for paragraph in paragraphs
    )


# -- reports -----------------------------------------------------------------------------------------------------------

REPORTS_HEAD = """\
# Reports

<!-- Written by `python -m gossamer.cli.reference docs/reference`; do not edit. -->

`gossamer report` shows every report with its number of findings, and the health score. `gossamer report NAME` takes the
name of a report, its code (codes never change), a group (the headings of this page) or `all`.
[How to use reports](../how-to/audit-a-site.md).

## Health score

{score}


## Words

- *Severity*: readers or search engines meet an `error`; a `warning` costs visitors or rank; a `notice` is worth a look.
  An `info` is an overview, not a finding: `--fail-on` never fails on it.
- *Could be listed* means: the page was fetched, is not marked `noindex`, and names no other canonical page that was
  visited and could be listed itself.
- Reports need stored data: without links (`--no-links`) or sources (`--no-source`), the reports that need them say so.
- HTTP headers and sitemaps can carry `hreflang` too; the `hreflang` reports read it from the head of pages only.
- `near-duplicates` compares the whole text of pages, menus included, and estimates: 0.9 may be 0.87 or 0.93.
- `html` lists the errors that the parser of the HTML standard reports. `line` is where the parser first noticed one.
"""


def reports_text() -> str:
    """Return the page of all reports, in Markdown."""
    from gossamer.graph.reports.audit import SCORE_TEXT
    from gossamer.graph.reports.registry import THEMES

    parts = [REPORTS_HEAD.format(score=SCORE_TEXT)]
    for theme, reports in THEMES.items():
        parts.append(f"\n## {theme}\n")
        parts += [
            f"\n### {each.code} {each.name}\n\n*{each.severity}.* {_escape_markup(each.finds)}.\n\n"
            f"- Why it matters: {_escape_markup(each.why)}\n- What to do: {_escape_markup(each.fix)}\n"
            f"- Columns: {', '.join(f'`{name}`' for name in each.columns)}\n"
            + (f"- Needs the stored {' and '.join(each.needs)}\n" if each.needs else "")
            for each in reports
        ]
    return "".join(parts)


def _escape_markup(text: str) -> str:
    """Escape angle brackets, so that Markdown shows tags instead of using them."""
    return text.replace("<", "&lt;").replace(">", "&gt;")


def main() -> None:
    """Write the pages into the directory given as argument."""
    directory = Path(sys.argv[1])
    (directory / "commands.md").write_text(commands_text())
    (directory / "settings.md").write_text(settings_text())
    (directory / "reports.md").write_text(reports_text())


if __name__ == "__main__":
    main()
