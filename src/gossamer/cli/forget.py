"""The command `forget`: removes a page or a host with everything stored about it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from gossamer.cli.crawlers import is_at_work
from gossamer.cli.help import HelpCommand
from gossamer.cli.options import index_option, json_option, open_web, store_option
from gossamer.cli.output import json_text, print_line, print_message
from gossamer.errors import IndexBusy, UsageError
from gossamer.lookup import find_resource, stored_url_rules

if TYPE_CHECKING:
    from gossamer.store.protocol import Store
    from gossamer.store.values import HostRow


@click.command(cls=HelpCommand)
@click.argument("what", metavar="URL-OR-HOST")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@store_option
@index_option
@json_option
def forget(what: str, yes: bool, store: str, as_json: bool) -> None:
    """Remove a page or a host with everything stored about it: text, source, links, visits, index entries.

    A URL (https://example.org/page) is one resource; a bare name (example.org, localhost:8080) is a host with all its
    resources. If remaining pages link to a removed URL, the web keeps that URL as forgotten. Gossamer visits it again
    only when you give it to `gossamer crawl`.

    \b
    JSON: {"forgotten": URL-OR-HOST, "resources"}
    """
    with open_web(store, write=True) as web:
        try:
            forgotten, resources = (_forget_page if "/" in what else _forget_host)(web, what, yes=yes)
        except UnknownTarget:
            if not _has_unfinished_forget(web, store):
                raise
            forgotten, resources = what, 0
            print_message(f"{what} is not in this web. An earlier `forget` was not finished: the index follows it now.")
        _remove_from_index(web, store)
    if as_json:
        print_line(json_text({"forgotten": forgotten, "resources": resources}))


class UnknownTarget(UsageError):
    """The page or host to forget is not in the web."""


def _has_unfinished_forget(web: Store, location: str) -> bool:
    from gossamer.indexing import has_unfinished_forget

    return has_unfinished_forget(web, location)


def _remove_from_index(web: Store, location: str) -> None:
    from gossamer.wiring import has_index, open_index_writer

    if not has_index(location):
        return
    from gossamer.index.build import update_index

    try:
        update_index(web, lambda: open_index_writer(location))
    except IndexBusy:
        print_message("Another process is writing the index now; it will remove the documents too.")


def _forget_page(web: Store, text: str, *, yes: bool) -> tuple[str, int]:
    from gossamer.urls.canonical import url_digest

    try:
        row = find_resource(web, text)
    except UsageError as error:
        raise UnknownTarget(str(error)) from error
    _confirm(f"{row.url} ({row.state}) will be removed with its text, source, links and visits.", yes=yes)
    count = web.forget(url_digest=url_digest(row.url, stored_url_rules(web)))
    print_message(f"Forgot {row.url}.")
    return row.url, count


def _forget_host(web: Store, name: str, *, yes: bool) -> tuple[str, int]:
    host = _find_host(web, name)
    at_work = {crawler.name for crawler in web.crawlers() if is_at_work(crawler)}
    if host.holder in at_work:
        raise UsageError(f"{host.holder} is visiting {host.name}; first run: `gossamer stop {host.holder}`")
    _confirm(f"{host.name} will be removed with {host.known:,} resources, {host.pages:,} of them visited.", yes=yes)
    count = web.forget(host=host.name)
    print_message(f"Forgot {host.name} and {count:,} resources.")
    return host.name, count


def _find_host(web: Store, name: str) -> HostRow:
    from gossamer.urls.canonical import authority, urls_from_input

    authorities = {authority(url) for url in urls_from_input(name)}
    match = next((host for host in web.hosts() if host.name in authorities), None)
    if match is None:
        raise UnknownTarget(f"{name} is not a host of this web; `gossamer hosts` lists them.")
    return match


def _confirm(sentence: str, *, yes: bool) -> None:
    if yes:
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError(f"{sentence} Give --yes to do it.")
    print_message(sentence)
    if not click.confirm("Continue?", err=True):
        raise click.Abort
