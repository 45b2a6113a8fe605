"""The command line: `INDEX` lists the commands, `run` turns faults into one sentence and an exit code.

A command's module is imported when the command is called, and what is heavy (the store, rich, the parsers) inside the
command: the first output must come within 0.2 s, of which Python, click and msgspec take 0.13.
"""

from __future__ import annotations

import errno
import importlib
import os
import signal
import sys
from typing import TYPE_CHECKING, NoReturn

import click

from gossamer.errors import GossamerError

if TYPE_CHECKING:
    from collections.abc import Sequence

# Faults that are of the machine, not of the program: no file handles, processes or memory left.
EXHAUSTED = {errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.ENOMEM}

# What the commands are, where each of them stands, and what it does.
COMMANDS = {
    "Make a web": (
        ("crawl", "gossamer.cli.crawl", "Crawl from URLs, or go on where the last crawl stopped."),
        ("go", "gossamer.cli.go", "Crawl, rank and serve at once; without a URL, a demo web."),
        ("watch", "gossamer.cli.crawl", "Keep the web fresh: visit what is due, for ever."),
        ("import", "gossamer.cli.files", "Take pages from archives or a folder of files instead of the network."),
    ),
    "Read it": (
        ("search", "gossamer.cli.search", "Find pages by their words."),
        ("status", "gossamer.cli.read", "What is there, and what is going on now."),
        ("word", "gossamer.cli.word", "Where a word stands: documents and positions."),
        ("page", "gossamer.cli.page", "All that is known of one URL, with its links in and out."),
        ("hosts", "gossamer.cli.read", "The hosts, how far each of them is, and what it waits for."),
        ("errors", "gossamer.cli.read", "What was not visited as it should have been, and why."),
        ("report", "gossamer.cli.report", "What is wrong with a site, or worth knowing: --list lists the reports."),
        ("rank", "gossamer.cli.rank", "Compute how important pages are by their links."),
        ("shape", "gossamer.cli.rank", "What hangs together, how deep it is; a site and its neighbours."),
        ("related", "gossamer.cli.rank", "Pages that are linked from the same pages as one."),
        ("serve", "gossamer.cli.serve", "The web app and API: search, pages, the graph, the crawl, reports."),
        ("export", "gossamer.cli.export", "Write the web out in other forms."),
    ),
    "Steer crawlers": (
        ("crawlers", "gossamer.cli.crawlers", "Who is at work here, and who was."),
        ("pause", "gossamer.cli.crawlers", "Ask crawlers to pause."),
        ("resume", "gossamer.cli.crawlers", "Ask paused crawlers to go on."),
        ("stop", "gossamer.cli.crawlers", "Ask crawlers to finish what is in flight and end."),
        ("parsers", "gossamer.cli.crawlers", "Ask crawlers to work with more or fewer parser processes."),
    ),
    "Look after it": (
        ("index", "gossamer.cli.index", "Bring the index up to date with the store, or make it anew."),
        ("copy", "gossamer.cli.copy", "Copy a web to another directory or database."),
        ("forget", "gossamer.cli.forget", "Remove a page or a host with all that hangs on it."),
        ("config", "gossamer.cli.settings", "The settings: a file with all of them, and which hold."),
    ),
}

EXIT_FAULT = 2  # wrong usage or a fault; 1 is for reports that found something
EXIT_INTERRUPTED = 128 + signal.SIGINT  # as shells count a process ended by Ctrl-C
EXIT_BROKEN_PIPE = 128 + signal.SIGPIPE  # ... and one whose reader went away, as in `gossamer errors | head`


class CommandGroup(click.Group):
    """The commands of `INDEX`, each imported when it is needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Their names, in order."""
        return [name for commands in COMMANDS.values() for name, _, _ in commands]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """The command of that name."""
        modules = {name: module for commands in COMMANDS.values() for name, module, _ in commands}
        if cmd_name not in modules:
            return None
        # `import` is a reserved word, so the function may be called import_
        module = importlib.import_module(modules[cmd_name])
        command: click.Command = getattr(module, cmd_name, None) or getattr(module, f"{cmd_name}_")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """The index itself, without importing what it lists."""
        for title, commands in COMMANDS.items():
            with formatter.section(title):
                formatter.write_dl([(name, text) for name, _, text in commands], col_max=12)


def _version(ctx: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        click.echo(f"gossamer {version('gossamer')}")
        ctx.exit()


@click.group(cls=CommandGroup, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Print the version."
)
@click.pass_context
def app(ctx: click.Context) -> None:
    """Crawl a piece of the web, keep its structure, and make it searchable.

    A web lives in one directory: --store DIR (default: ./web). Start with `gossamer go`, or with
    `gossamer crawl https://example.org`.
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def run(arguments: Sequence[str] | None = None) -> NoReturn:
    """The `gossamer` command."""
    sys.exit(_run(list(sys.argv[1:] if arguments is None else arguments)))


def _run(arguments: list[str]) -> int:
    if "_GOSSAMER_COMPLETE" in os.environ:  # the shell asks for completions
        app.main(arguments, prog_name="gossamer")
    try:
        with app.make_context("gossamer", arguments) as context:
            app.invoke(context)
        sys.stdout.flush()
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.ClickException as fault:
        return _print_fault(_usage_sentence(fault))
    except GossamerError as fault:
        return _print_fault(str(fault))
    except BrokenPipeError:
        # Nothing can be written any more, not even what Python flushes at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_BROKEN_PIPE
    except OSError as fault:
        if fault.filename is not None:
            return _print_fault(f"{fault.filename}: {fault.strerror}.")
        if fault.errno not in EXHAUSTED:
            raise
        return _print_fault(
            f"{fault.strerror}: this machine, or a limit set on it, allows no more (ulimit -a shows them)."
        )
    except (KeyboardInterrupt, click.Abort):
        return EXIT_INTERRUPTED
    return 0


def _usage_sentence(fault: click.ClickException) -> str:
    message = fault.format_message().rstrip(".")
    context = fault.ctx if isinstance(fault, click.UsageError) else None
    return f"{message}. See {context.command_path} --help." if context else f"{message}."


def _print_fault(sentence: str) -> int:
    from gossamer.cli.output import RED, escape_hidden, with_style

    sys.stderr.write(f"{with_style('gossamer:', RED, sys.stderr)} {escape_hidden(sentence)}\n")
    return EXIT_FAULT
