"""The `gossamer` program: `COMMANDS` lists the commands, `run` turns errors into one sentence and an exit code.

The first output must come within 0.2 s, of which Python, click and msgspec take 0.13 s. The program therefore imports
a command's module when the command is called. The command imports the store, rich and the parsers when it needs them.
"""

from __future__ import annotations

import difflib
import errno
import importlib
import os
import signal
import sys
from typing import TYPE_CHECKING, Any, NoReturn

import click

from gossamer.cli.help import write_examples
from gossamer.cli.hints import complete_commands
from gossamer.errors import GossamerError

if TYPE_CHECKING:
    from collections.abc import Sequence

# Errors of the machine, not of the program -> the next step.
LIMIT_REACHED = "this machine or process has reached a limit; `ulimit -a` shows the limits."
FREE_SPACE = "free some disk space and run the command again."
MACHINE_ERRORS = {
    errno.EMFILE: LIMIT_REACHED,
    errno.ENFILE: LIMIT_REACHED,
    errno.EAGAIN: LIMIT_REACHED,
    errno.ENOMEM: LIMIT_REACHED,
    errno.ENOSPC: FREE_SPACE,
    errno.EDQUOT: FREE_SPACE,
    errno.EIO: "a disk or terminal failed; the log of the system says more.",
}
NO_MEMORY = ("can't allocate", "can't start new thread")  # how Python's RuntimeError begins then

# Section of the help -> its commands, each with its module and what it does.
COMMANDS = {
    "Make a web": (
        ("crawl", "gossamer.cli.crawl", "Crawl from URLs, or continue the last crawl."),
        ("go", "gossamer.cli.go", "Crawl, rank and serve at once; without a URL, crawl a demo web."),
        ("watch", "gossamer.cli.crawl", "Keep the web fresh: visit due pages until stopped."),
        (
            "import",
            "gossamer.cli.import_pages",
            "Import pages from archives or folders instead of the network.",
        ),
    ),
    "Read a web": (
        ("search", "gossamer.cli.search", "Find pages by their words."),
        ("status", "gossamer.cli.status", "Show counts, the current round and the crawlers at work."),
        ("word", "gossamer.cli.word", "Show the documents and positions of a word."),
        ("page", "gossamer.cli.page", "Show everything known about one URL, with its links in and out."),
        ("hosts", "gossamer.cli.status", "List the hosts, with their progress and what they wait for."),
        ("errors", "gossamer.cli.status", "List failed and refused URLs, each with its reason."),
        ("report", "gossamer.cli.report", "Report problems and facts of a site; --list lists the reports."),
        ("rank", "gossamer.cli.rank", "Compute the importance of pages and hosts from their links."),
        ("shape", "gossamer.cli.rank", "Show components, depth and communities, or one site."),
        ("related", "gossamer.cli.rank", "List pages that are linked from the same pages as another."),
        ("serve", "gossamer.cli.serve", "Serve the web app and API: search, pages, graph, crawl, reports."),
        ("export", "gossamer.cli.export", "Export tables, the link graph, pictures, files or archives."),
    ),
    "Control crawlers": (
        ("crawlers", "gossamer.cli.crawlers", "List the crawlers of a web, at work or ended."),
        ("pause", "gossamer.cli.crawlers", "Ask crawlers to pause."),
        ("resume", "gossamer.cli.crawlers", "Ask paused crawlers to resume."),
        ("stop", "gossamer.cli.crawlers", "Ask crawlers to finish their transfers and end."),
        ("parsers", "gossamer.cli.crawlers", "Ask crawlers to use more or fewer parser processes."),
    ),
    "Maintain a web": (
        ("index", "gossamer.cli.index", "Bring the index up to date with the store, or rebuild it."),
        ("copy", "gossamer.cli.copy", "Copy a web to another directory or database."),
        ("forget", "gossamer.cli.forget", "Remove a page or a host with everything stored about it."),
        ("config", "gossamer.cli.config", "Write a settings file, or show the settings in effect."),
    ),
}

HELP_FLAGS = ("-h", "--help")
NEAR = 0.6  # similarity of a mistyped command and the one suggested, of 1
EXIT_FAULT = 2  # wrong usage or an error; 1 means that `report --fail-on` or `errors --fail` found something
EXIT_INTERRUPTED = 128 + signal.SIGINT  # as shells report a process that Ctrl-C ended
EXIT_BROKEN_PIPE = 128 + signal.SIGPIPE  # the reader closed the pipe, as in `gossamer errors | head`


class CommandGroup(click.Group):
    """The commands of `COMMANDS`, each imported when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the names of the commands, in the order of the help."""
        return [name for commands in COMMANDS.values() for name, _, _ in commands]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import and return a command; None if there is none of that name."""
        modules = {name: module for commands in COMMANDS.values() for name, module, _ in commands}
        if cmd_name not in modules:
            return None
        # `import` is a reserved word, so its function is called import_
        module = importlib.import_module(modules[cmd_name])
        command: click.Command = getattr(module, cmd_name, None) or getattr(module, f"{cmd_name}_")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the list of commands without importing their modules."""
        for title, commands in COMMANDS.items():
            with formatter.section(title):
                formatter.write_dl([(name, text) for name, _, text in commands], col_max=12)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the examples."""
        write_examples("", formatter)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the arguments name; suggest the nearest one for a mistyped name."""
        name = args[0]
        names = self.list_commands(ctx)
        if name not in names and not name.startswith("-") and not ctx.resilient_parsing:
            near = difflib.get_close_matches(name.lower(), names, n=1, cutoff=NEAR)
            ctx.fail(f"There is no command {name}." + (f" Did you mean: gossamer {near[0]}?" if near else ""))
        return super().resolve_command(ctx, args)


def _version(ctx: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        click.echo(f"gossamer {version('gossamer')}")
        ctx.exit()


@click.group(cls=CommandGroup, invoke_without_command=True, context_settings={"help_option_names": HELP_FLAGS})
@click.help_option(*HELP_FLAGS)  # declared, because click keeps the flags of the first context that asks for them
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Print the version."
)
@click.pass_context
def app(ctx: click.Context) -> None:
    """Crawl a piece of the web, keep its structure, and make it searchable.

    A web is one directory, or a schema of a database: --store WEB (default: ./web). Start with `gossamer go`, or with
    `gossamer crawl https://example.org`.
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def run(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the `gossamer` program and exit."""
    sys.exit(_run(list(sys.argv[1:] if arguments is None else arguments)))


def _run(arguments: list[str]) -> int:
    if "_GOSSAMER_COMPLETE" in os.environ:  # the shell asks for completions
        app.main(arguments, prog_name="gossamer")
    meta: dict[str, Any] = {}
    try:
        with app.make_context("gossamer", arguments) as context:
            meta = context.meta
            app.invoke(context)
        sys.stdout.flush()
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.ClickException as fault:
        return _print_fault(_usage_sentence(fault))
    except GossamerError as fault:
        return _print_fault(complete_commands(str(fault), meta))
    except BrokenPipeError:
        # Python flushes stdout at exit, and the closed pipe would raise again: point stdout at /dev/null.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_BROKEN_PIPE
    except (KeyboardInterrupt, click.Abort):
        return EXIT_INTERRUPTED
    except Exception as fault:
        sentence = _machine_sentence(fault)
        if sentence is None:
            raise
        return _print_fault(sentence)
    return 0


def _machine_sentence(fault: Exception) -> str | None:
    """Return the sentence for an error of the machine; None for a fault of the program."""
    if isinstance(fault, OSError):
        if fault.filename is not None:
            return f"{fault.filename}: {fault.strerror}."
        if fault.errno in MACHINE_ERRORS:
            return f"{fault.strerror}: {MACHINE_ERRORS[fault.errno]}"
    if isinstance(fault, ImportError) and not isinstance(fault, ModuleNotFoundError):
        return f"A library cannot be loaded: {fault}."
    return f"Out of memory: {LIMIT_REACHED}" if _is_out_of_memory(fault) else None


def _is_out_of_memory(fault: BaseException) -> bool:
    """Return whether memory ran out. Some libraries raise another error instead, or because of it."""
    cause: BaseException | None = fault
    while cause is not None:
        if isinstance(cause, MemoryError) or (isinstance(cause, RuntimeError) and str(cause).startswith(NO_MEMORY)):
            return True
        cause = cause.__cause__ or cause.__context__
    return False


def _usage_sentence(fault: click.ClickException) -> str:
    message = fault.format_message()
    sentence = message if message.endswith((".", "?", "!")) else f"{message}."
    context = fault.ctx if isinstance(fault, click.UsageError) else None
    return f"{sentence} See {context.command_path} --help." if context else sentence


def _print_fault(sentence: str) -> int:
    try:
        from gossamer.basics.display import escape_hidden
        from gossamer.cli.output import RED, with_style
    except (OSError, MemoryError):  # too few file handles, or too little memory, even to import a module
        sys.stderr.write(f"gossamer: {ascii(sentence)[1:-1]}\n")
    else:
        sys.stderr.write(f"{with_style('gossamer:', RED, sys.stderr)} {escape_hidden(sentence)}\n")
    return EXIT_FAULT
