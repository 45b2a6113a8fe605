"""The reference pages of the documentation, made of what they describe: the commands, the settings, the reports.

`python -m gossamer.cli.reference docs/reference` writes them; a test fails when they are out of date.
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

`gossamer COMMAND` or `python -m gossamer COMMAND`. `gossamer COMMAND --help` tells the same as this page.

- `--store DIR` (or `GOSSAMER_STORE`) names the web everywhere; without it, it is `./web`.
- Answers go to stdout, messages and progress to stderr. On a terminal tables are aligned and cut to its width;
  elsewhere they are whole values between tabs. `--json` is for programs: its shapes are given below and stay so.
- Whatever comes from the web is shown so that it cannot act on the terminal: control and direction characters appear as
  `\\x1b` or `«U+202E»`, in JSON as `\\u202e`. Colours are left out where `NO_COLOR` is set.
- Exit codes: 0 fine; 1 a report found something; 2 wrong usage or a fault, told in one sentence on stderr; 130 ended by
  Ctrl-C.
- Completion: put `eval "$(_GOSSAMER_COMPLETE=bash_source gossamer)"` into `~/.bashrc` (`zsh_source`, `fish_source` for
  those shells).
"""


def commands_text() -> str:
    """The page of all commands, in Markdown."""
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
    """A command's help as Markdown. What click is told (by a backspace) not to wrap becomes a block of code."""
    paragraphs = inspect.cleandoc(text).split("\n\n")
    return "\n\n".join(
        textwrap.indent(paragraph.removeprefix("\b\n"), "    ") if paragraph.startswith("\b\n") else paragraph
        for paragraph in paragraphs
    )


# -- reports -----------------------------------------------------------------------------------------------------------

REPORTS_HEAD = """\
# Reports

<!-- Written by `python -m gossamer.cli.reference docs/reference`; do not edit. -->

`gossamer report NAME` takes a report's name, its code (which stays the same for ever), the group it stands under here,
or `all`. [How to use them](../how-to/audit-a-site.md).

- *Severity*: an `error` is met by readers or search engines, a `warning` costs visitors or rank, a `notice` is worth a
  look. An `info` is an overview, no finding: `--fail-on` never fails on it.
- *Could be listed* means: fetched, not marked `noindex`, and not giving up its place to a canonical page that was
  visited and could be listed itself.
- What a crawl did not store cannot be reported: without links (`--no-links`) or sources (`--no-source`) the reports
  that need them say so.
- Links in HTTP headers and sitemaps can say `hreflang` too; the `hreflang` reports read it from the head of pages only.
- `near-duplicates` compares the whole text of pages, the menu included, and estimates: 0.9 may be 0.87 or 0.93.
- `html` tells what the parser of the HTML standard stumbles over. `line` is where it first noticed.
"""


def reports_text() -> str:
    """The page of all reports, in Markdown."""
    from gossamer.graph.reports.registry import THEMES

    parts = [REPORTS_HEAD]
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
    """Markup that is talked about, not used."""
    return text.replace("<", "&lt;").replace(">", "&gt;")


def main() -> None:
    """Write the pages into the directory that is given."""
    directory = Path(sys.argv[1])
    (directory / "commands.md").write_text(commands_text())
    (directory / "settings.md").write_text(settings_text())
    (directory / "reports.md").write_text(reports_text())


if __name__ == "__main__":
    main()
