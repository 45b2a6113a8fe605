"""The command `serve`: the web app and its API."""

from __future__ import annotations

import os
import socket
import sys

import click

from gossamer.basics.locations import display_location
from gossamer.cli.open_web import open_web
from gossamer.cli.options import index_option, json_option, store_option
from gossamer.cli.output import json_text, print_line, print_message
from gossamer.errors import UsageError

DEFAULT_PORT = 8080
BACKLOG = 512  # connections that may wait
MISSING_EXTRA = "The web app needs the extra `web`: pip install 'gossamer[web]'."


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, metavar="ADDRESS", help="The address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=DEFAULT_PORT,
    show_default=True,
    metavar="N",
    help="0: any that is free.",
)
@click.option("--name", "names", multiple=True, metavar="NAME", help="A host name to answer to. Can be given again.")
@click.option(
    "--rate", type=click.FloatRange(min=0), default=20.0, show_default=True, metavar="N",
    help="Requests a second from one address beyond this machine; 0: any number.",
)  # fmt: skip
@click.option("--socket", "inherited", type=int, hidden=True, help="A listening socket, from `go`; ends with stdin.")
@store_option
@index_option
@json_option
def serve(
    host: str, port: int, names: tuple[str, ...], rate: float, inherited: int | None, store: str, as_json: bool
) -> None:
    """Serve the web app: search, pages, the link graph, the crawl, reports; and the API at /api.

    Everybody who reaches the address may read. To change something (stop crawlers, add seeds, forget pages) the token
    is needed that is printed at the start, or the one in GOSSAMER_TOKEN. On other addresses than those of this machine
    nothing can be changed unless GOSSAMER_TOKEN is set.

    \b
    JSON, a line when it is ready: {"url", "control"}; control: whether something can be changed
    """
    if inherited is None:
        print_message(f"Serving {display_location(store)} ...")
    with open_web(store):  # says what is wrong, if anything is
        pass
    listener = listen(host, port) if inherited is None else socket.socket(fileno=inherited)
    # Requests are answered in several threads already; more for one layout only get in each other's way.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        from gossamer.web.http.security import access_rules
        from gossamer.web.server import serve as run
    except ModuleNotFoundError as error:
        raise UsageError(f"{MISSING_EXTRA} ({error.name} is not there.)") from error
    token = os.environ.get("GOSSAMER_TOKEN")
    rules = access_rules(host, token, frozenset(name.lower() for name in names), rate)

    def on_started() -> None:
        if inherited is not None:
            return
        url = server_url(host, listener.getsockname()[1])
        if as_json:
            print_line(json_text({"url": url, "control": bool(rules.token)}))
            sys.stdout.flush()
        _print_ready(url, "" if token else rules.token, control=bool(rules.token))

    run(store, rules, listener, on_started, with_stdin=inherited is not None)


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 takes any that is free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        raise UsageError(f"Cannot listen on {host} port {port}: {error.strerror}. `--port` chooses another.") from error


def server_url(host: str, port: int) -> str:
    """The URL to open."""
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/"


def _print_ready(url: str, generated_token: str, *, control: bool) -> None:
    print_message(f"Ready: {url}")
    if not control:
        print_message("Control is off: set GOSSAMER_TOKEN to switch it on.")
    elif generated_token:
        print_message(f"With control of the crawl: {url}control?token={generated_token}")
    print_message("Ctrl-C ends it.")
