"""The command `go`: crawls and serves at once, so that people see results as they arrive.

The web app runs in its own process, because the crawl leaves no time for it. This process opens the socket before the
web app is ready. A browser that connects at once waits a moment instead of being refused.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import subprocess
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import click

from gossamer.cli.crawl import RUN_OPTIONS, START_OPTIONS, read_seeds, run_crawl, with_options
from gossamer.cli.help import HelpCommand
from gossamer.cli.hints import hint
from gossamer.cli.output import print_message
from gossamer.cli.serve import DEFAULT_PORT, MISSING_EXTRA, server_url
from gossamer.processes.exit_report import wait_or_kill
from gossamer.processes.start import start_python

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterator

HOST = "127.0.0.1"
END_SECONDS = 10.0  # for the web app to end by itself before it is killed
_LINE_WIDTH = 80  # columns of a terminal that the next steps fit into


@click.command(cls=HelpCommand)
@with_options(
    *START_OPTIONS,
    click.option(
        "--serve/--no-serve",
        "serving",
        default=True,
        show_default=True,
        help="Serve the web app during and after the crawl.",
    ),
    click.option(
        "--port",
        type=click.IntRange(0, 65535),
        metavar="N",
        help=f"Port of the web app; default: {DEFAULT_PORT}, or any if it is taken.",
    ),
    *RUN_OPTIONS,
)
def go(urls: tuple[str, ...], seeds: str | None, serving: bool, port: int | None, **options: Any) -> None:
    """Crawl, rank and serve at once; without a URL, crawl a demo web.

    The demo web is Python's own documentation, served on this machine. The web app shows results as they arrive; after
    the crawl it runs until Ctrl-C.
    """
    urls = (*urls, *read_seeds(seeds))
    store, index_url = options["store"], options["flags"]["index.url"]
    with _start_urls(urls) as start_urls, contextlib.ExitStack() as stack:
        app_processes: list[subprocess.Popen[bytes]] = []

        def start_app() -> None:
            if serving and (app := _start_web_app(store, index_url, port)):
                app_processes.append(stack.enter_context(app))

        stopped = run_crawl(start_urls, resume_command="crawl" if urls else "go", on_ready=start_app, **options)
        if stopped:
            return
        if not app_processes:
            _print_next_steps()
            return
        _wait_for_end(app_processes[0], hint("serve"))


@contextlib.contextmanager
def _start_urls(urls: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    if urls:
        yield urls
        return
    print_message("Serving Python's own documentation as a demo web on this machine ...")
    from gossamer.demo import DemoWeb

    with DemoWeb() as demo:
        yield (demo.url,)


# -- the web app -------------------------------------------------------------------------------------------------------


def _start_web_app(
    store: str, index_url: str | None, port: int | None
) -> contextlib.AbstractContextManager[subprocess.Popen[bytes]] | None:
    """Return the web app as a process to enter, and print its URL; None if a package is missing."""
    if not all(map(find_spec, ("fastapi", "jinja2", "uvicorn"))):
        print_message(MISSING_EXTRA)
        return None
    listener = _listen(port)
    url = server_url(HOST, listener.getsockname()[1])
    token = os.environ.get("GOSSAMER_TOKEN") or secrets.token_urlsafe(18)
    print_message(f"See the results: {url}")
    if "GOSSAMER_TOKEN" not in os.environ:
        print_message(f"With control: {url}control?token={token}")
    return _web_app_process(["--store", store, *(["--index-url", index_url] if index_url else [])], listener, token)


def _listen(port: int | None) -> socket.socket:
    from gossamer.cli.serve import listen
    from gossamer.errors import UsageError

    try:
        return listen(HOST, DEFAULT_PORT if port is None else port, flags="--port")
    except UsageError:
        if port is not None:
            raise
        return listen(HOST, 0)


@contextlib.contextmanager
def _web_app_process(arguments: list[str], listener: socket.socket, token: str) -> Iterator[subprocess.Popen[bytes]]:
    with listener:
        descriptor = listener.fileno()
        process = start_python(  # in its own process group: Ctrl-C must reach the crawl only
            "-m", "gossamer", "serve", *arguments, "--socket", str(descriptor),
            stdin=subprocess.PIPE,  # closes when this process exits for any reason; then the web app exits too
            pass_fds=(descriptor,), environment={**os.environ, "GOSSAMER_TOKEN": token},
        )  # fmt: skip
    try:
        yield process
    finally:
        assert process.stdin is not None
        process.stdin.close()
        wait_or_kill(process, END_SECONDS)


def _wait_for_end(app: subprocess.Popen[bytes], serve_command: str) -> None:
    """Wait until Ctrl-C or SIGTERM, then end the web app."""

    def end(_signal: int, _frame: object) -> None:
        assert app.stdin is not None
        app.stdin.close()

    previous_handlers = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        print_message("Ctrl-C ends the web app.")
        print_message(f"Start it again: {serve_command}")
        app.wait()
    finally:
        for number, handler in previous_handlers.items():
            signal.signal(number, handler)


def _print_next_steps() -> None:
    commands = (
        ("search WORDS", "find pages by their words"),
        ("serve", "search and browse the web in a browser"),
        ("status", "show counts, the round and the crawlers"),
        ("errors", "list broken links and other failures"),
        ("page URL", "show a page: text, links in and out"),
        ("report --list", "list the reports on a site"),
    )
    lines = [(f"  {hint(command)}", text) for command, text in commands]
    width = max(len(command) for command, _ in lines)
    is_narrow = width + max(len(text) for _, text in lines) + 2 > _LINE_WIDTH
    for command, text in lines:
        if is_narrow:
            print_message(f"{text.capitalize()}:")
            print_message(command)
        else:
            print_message(f"{command:<{width}}  {text}")
