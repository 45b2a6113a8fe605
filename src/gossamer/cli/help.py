"""The help of a command on 80 columns: options in groups, one line each, and examples.

An option shows its brief text, which fits on its line. The reference page `commands.md` and `gossamer config init` have
the complete sentences.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from typing import TYPE_CHECKING, Any

import click

from gossamer.cli.examples import EXAMPLES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gossamer.config.describe import Setting

# Group of the help -> sections of the settings whose flags it holds.
SETTING_GROUPS = {
    "What to visit": ("crawl",),
    "Politeness and requests": ("politeness", "fetch", "parse"),
    "Rendering": ("render",),
    "Index and revisits": ("index", "freshness"),
}
OTHER_SETTINGS = "Further settings"  # of sections that have no group yet
SHARED = "Web and output"
SHARED_NAMES = frozenset({"store", "config", "as_json", "log_file", "quiet", "verbose", "limit", "pager", "wide"})
NO_SHORT_FLAG = "    "  # as wide as `-n, `
TERM_WIDTH = 28  # cells of the longest flag with its placeholder; the text gets the rest of 80
SHAPE_INDENT = 7  # cells before the second line of a shape of JSON
DESCRIPTION_GAP = 2  # cells between a command of the examples and its text

RANGE = re.compile(r"; [^][;]*x[^][]*(?=])| *\[[^]:[]*x[^]:[]*]")  # click adds it: "[default: 20; 1<=x<=99]"

# Options of several commands -> their brief text; `config.structs.BRIEFS` has those of the settings.
SHARED_BRIEFS = {
    "store": "directory or database of the web; default: web",
    "config": "settings file, instead of the web's own",
    "log_file": "JSON log; default: logs/NAME.jsonl of the web",
    "seeds": "also start from the URLs in a file; - is stdin",
    "words": "start from the results of a search service",
    "everything": "with --revisit: visit every page again",
    "pager": "do not show long tables in a pager",
    "wide": "all columns and values whole, in long lines",
    "serving": "do not serve the web app meanwhile",
    "port": "port of the web app; default: 8080, or any",
}


class HelpCommand(click.Command):
    """A command whose help has groups and examples."""

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write what the command does; the shapes of JSON are wrapped too."""
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(_with_wrapped_shapes(self.help or "", formatter.width - formatter.current_indent))

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options in groups."""
        for title, options in _groups(self.get_params(ctx)).items():
            if options:
                with formatter.section(title):
                    formatter.write_dl([_row(option, ctx) for option in options], col_max=TERM_WIDTH + 4)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples."""
        super().format_epilog(ctx, formatter)
        write_examples(ctx.command_path.removeprefix("gossamer").strip(), formatter)


class HelpGroup(click.Group):
    """A command with commands of its own, whose help has their first sentences whole, and examples."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write each command with its first sentence."""
        commands = {name: self.get_command(ctx, name) for name in self.list_commands(ctx)}
        rows = [(name, _first_sentence(each.help or "")) for name, each in commands.items() if each]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples."""
        super().format_epilog(ctx, formatter)
        write_examples(ctx.command_path.removeprefix("gossamer").strip(), formatter)


def _first_sentence(text: str) -> str:
    return " ".join(inspect.cleandoc(text).partition("\n\n")[0].split()).removesuffix(".")


def write_examples(name: str, formatter: click.HelpFormatter) -> None:
    """Write the examples of a command; "" is the program itself."""
    if name not in EXAMPLES:
        return
    with formatter.section("Examples"):
        for command, text in EXAMPLES[name]:
            line = f"{command:<{max(len(each) for each, _ in EXAMPLES[name])}}{' ' * DESCRIPTION_GAP}{text}"
            formatter.write(f"{'':>{formatter.current_indent}}{line}\n")


def _with_wrapped_shapes(text: str, width: int) -> str:
    """Return a help text whose paragraphs that click leaves alone (backspace) fit the terminal."""
    paragraphs = inspect.cleandoc(text).partition("\f")[0].split("\n\n")
    return "\n\n".join(_wrap_lines(each, width) if each.startswith("\b\n") else each for each in paragraphs)


def _wrap_lines(paragraph: str, width: int) -> str:
    lines = []
    for line in paragraph.splitlines():
        margin = len(line) - len(line.lstrip()) or SHAPE_INDENT
        lines += textwrap.wrap(line, width, subsequent_indent=" " * margin, break_long_words=False) or [line]
    return "\n".join(lines)


def _groups(parameters: Iterable[click.Parameter]) -> dict[str, list[click.Option]]:
    settings = _flagged_settings()
    groups: dict[str, list[click.Option]] = {"Options": []}
    groups |= {title: [] for title in (*SETTING_GROUPS, OTHER_SETTINGS, SHARED)}
    for option in parameters:
        if not isinstance(option, click.Option) or option.hidden:
            continue
        name = option.name or ""
        if name in settings:
            section = settings[name].section
            groups[next((title for title, held in SETTING_GROUPS.items() if section in held), OTHER_SETTINGS)].append(
                option
            )
        else:
            is_shared = name in SHARED_NAMES or "--help" in option.opts
            groups[SHARED if is_shared else "Options"].append(option)
    return groups


def _flagged_settings() -> dict[str, Setting]:
    from gossamer.config.describe import all_settings

    return {setting.key.replace(".", "_"): setting for setting in all_settings() if setting.flag}


def _row(option: click.Option, ctx: click.Context) -> tuple[str, str]:
    """Return an option's flags and its text."""
    setting = _flagged_settings().get(option.name or "")
    record: Any = option.get_help_record(ctx) or ("", "")
    text = SHARED_BRIEFS.get(option.name or "", RANGE.sub("", record[1]))
    if setting is not None:
        text = setting.brief or text
    sentence = text.removesuffix(".") if text.count(". ") == 0 else text
    return _term(option, setting, record[0]), sentence[:1].upper() + sentence[1:]


def _term(option: click.Option, setting: Setting | None, written: str) -> str:
    if setting is not None and isinstance(setting.default, bool):  # the flag that changes something
        return NO_SHORT_FLAG + (f"--no-{setting.flag[2:]}" if setting.default else setting.flag)
    if option.default is True and option.secondary_opts:
        return NO_SHORT_FLAG + option.secondary_opts[0]
    if setting is not None and setting.choices:
        written = written.replace(setting.metavar, setting.flag[2:].replace("url-", "").upper())
    return written if any(len(flag) == 2 for flag in option.opts) else NO_SHORT_FLAG + written
