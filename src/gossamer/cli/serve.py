"""The command `serve`: runs the web app and its API."""

from __future__ import annotations

import os
import socket
import sys
from typing import Any

import click

from gossamer.basics.locations import display_location
from gossamer.cli.help import HelpCommand
from gossamer.cli.options import index_option, json_option, load_settings, open_web, store_option
from gossamer.cli.output import json_text, print_kernel_mismatch, print_line, print_message
from gossamer.errors import UsageError

DEFAULT_PORT = 8080
BACKLOG = 4096  # connections that may wait until the server accepts them; the kernel drops others for a second
MISSING_EXTRA = "The web app needs the extra `web`: pip install 'gossamer[web]'."


@click.command(cls=HelpCommand)
@click.option("--host", default="127.0.0.1", show_default=True, metavar="ADDRESS", help="Address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=DEFAULT_PORT,
    show_default=True,
    metavar="N",
    help="Port to listen on; 0: any free one.",
)
@click.option("--name", "names", multiple=True, metavar="NAME", help="Host name to answer to. Can be given again.")
@click.option(
    "--rate", type=click.FloatRange(min=0), default=20.0, show_default=True, metavar="N",
    help="Most requests a second from one address outside this machine; 0: no limit.",
)  # fmt: skip
@click.option(
    "--trusted-proxy", "proxies", multiple=True, metavar="ADDRESS",
    help="Address or network of a reverse proxy: X-Forwarded-For names its clients. Can be given again.",
)  # fmt: skip
@click.option(
    "--origin", "origins", multiple=True, metavar="ORIGIN",
    help="Origin whose pages may search, such as https://docs.example. Also serve.origins. Can be given again.",
)  # fmt: skip
@click.option(
    "--socket",
    "inherited",
    type=int,
    hidden=True,
    help="Listening socket from `go`; the server ends when stdin closes.",
)
@store_option
@index_option
@json_option
def serve(host: str, port: int, inherited: int | None, store: str, as_json: bool, **access: Any) -> None:
    """Serve the web app and API: search, pages, graph, crawl, reports; the API is at /api.

    Anybody who reaches the address may read. Changes (stop crawlers, add seeds, forget pages) need a token. It is the
    one in GOSSAMER_TOKEN, or the one that the command prints at its start. If --host is not a loopback address such as
    127.0.0.1, changes are possible only with GOSSAMER_TOKEN.

    \b
    JSON, a line when it is ready: {"url", "control"}; control: whether changes are possible
    """
    access["origins"] = load_settings(store, None, {"serve.origins": access["origins"] or None}).settings.serve.origins
    if inherited is None:
        print_kernel_mismatch()
        print_message(f"Serving {display_location(store)} ...")
    with open_web(store) as web:  # reports a missing or broken web before the server starts
        from gossamer.indexing import has_unfinished_forget, start_index_update

        if has_unfinished_forget(web, store):
            start_index_update(store)
    listener = listen(host, port) if inherited is None else socket.socket(fileno=inherited)
    from gossamer.processes.start import ONE_NUMPY_THREAD

    # The server answers requests in several threads already; more threads for one layout would only compete.
    os.environ.update(ONE_NUMPY_THREAD | os.environ)  # a user's own value wins
    try:
        from gossamer.web.http.security import access_rules
        from gossamer.web.server import serve as run
    except ModuleNotFoundError as error:
        raise UsageError(f"{MISSING_EXTRA} ({error.name} is not installed.)") from error
    token = os.environ.get("GOSSAMER_TOKEN")
    rules = access_rules(host, token, **access)

    def on_started() -> None:
        if inherited is not None:
            return
        url = server_url(host, listener.getsockname()[1])
        if as_json:
            print_line(json_text({"url": url, "control": bool(rules.token)}))
            sys.stdout.flush()
        _print_ready(url, "" if token else rules.token, control=bool(rules.token))

    run(store, rules, listener, on_started, with_stdin=inherited is not None)


def listen(host: str, port: int, *, flags: str = "--host or --port") -> socket.socket:
    """Return a listening socket; port 0 takes any free one. The error names the `flags` to change."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        raise UsageError(f"Cannot listen on {host} port {port}: {error.strerror}. Give another {flags}.") from error


def server_url(host: str, port: int) -> str:
    """Return the URL of a server."""
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/"


def _print_ready(url: str, generated_token: str, *, control: bool) -> None:
    print_message(f"Ready: {url}")
    if not control:
        print_message("Control is off: set GOSSAMER_TOKEN to switch it on.")
    elif generated_token:
        print_message(f"With control: {url}control?token={generated_token}")
    print_message("Ctrl-C ends it.")
