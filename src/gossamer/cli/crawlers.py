"""Commands about the crawlers at work on a web: `crawlers`, `pause`, `resume`, `stop`.

They talk to a crawler through the store, so they work from any machine that reaches it.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from gossamer.cli.lookup import is_at_work, opened
from gossamer.cli.options import json_option, store_option
from gossamer.cli.output import Column, ago, human_bytes, json_rows, say, show, write_table
from gossamer.errors import UsageError

if TYPE_CHECKING:
    from gossamer.store.base import Crawler

names_argument = click.argument("names", nargs=-1, metavar="[NAME]...")
all_option = click.option("--all", "everybody", is_flag=True, help="All crawlers at work.")


@click.command()
@store_option
@json_option
def crawlers(store: str, as_json: bool) -> None:
    """Who is at work here, and who was last under each name.

    \b
    JSON: {"crawlers": [{"name", "state", "wanted", "machine", "pid", "pages",
                         "pages_per_second", "limit", "waiting_for", ...}]}
    """
    with opened(store) as web:
        found = web.crawlers()
    if as_json:
        json_rows("crawlers", found, sys.stdout)
    elif found:
        _show(found)
    else:
        show("No crawler was ever at work here.")


def _show(found: list[Crawler]) -> None:
    columns = [
        Column("name"), Column("state"), Column("pages", align="right"), Column("pages/s", align="right"),
        Column("bytes/s", align="right"), Column("limit"), Column("seen"), Column("where", cut="end"),
        Column("waits for", cut="end"),
    ]  # fmt: skip
    rows = (
        (
            one.name, _state(one), f"{one.pages:,}", f"{one.pages_per_second:.1f}", human_bytes(one.bytes_per_second),
            one.limit, ago(one.heartbeat_at), f"{one.machine} ({one.pid})", one.waiting_for,
        )
        for one in found
    )  # fmt: skip
    write_table(columns, rows)


def _state(one: Crawler) -> str:
    """The state, and the one asked for where it is on its way."""
    if not is_at_work(one):
        return one.state
    on_the_way = {"pause": "paused", "stop": "stopped"}.get(one.wanted, one.state)
    return one.state if on_the_way == one.state else f"{one.state}, shall {one.wanted}"


@click.command()
@names_argument
@all_option
@store_option
def pause(names: tuple[str, ...], everybody: bool, store: str) -> None:
    """Ask crawlers to pause: they finish what is in flight and start nothing new."""
    _ask(store, names, everybody=everybody, wanted="pause", told="will pause")


@click.command()
@names_argument
@all_option
@store_option
def resume(names: tuple[str, ...], everybody: bool, store: str) -> None:
    """Ask paused crawlers to go on."""
    _ask(store, names, everybody=everybody, wanted="run", told="will go on")


@click.command()
@names_argument
@all_option
@store_option
def stop(names: tuple[str, ...], everybody: bool, store: str) -> None:
    """Ask crawlers to finish what is in flight and end. A start is local: `gossamer crawl`."""
    _ask(store, names, everybody=everybody, wanted="stop", told="will stop")


def _ask(store: str, names: tuple[str, ...], *, everybody: bool, wanted: str, told: str) -> None:
    if bool(names) == everybody:
        raise UsageError("Name the crawlers, or give --all for all of them; `gossamer crawlers` lists them.")
    with opened(store, write=True) as web:
        at_work = {one.name.casefold(): one.name for one in web.crawlers() if is_at_work(one)}
        if not at_work:
            raise UsageError("No crawler is at work.")
        unknown = [name for name in names if name.casefold() not in at_work]
        if unknown:
            raise UsageError(f"No crawler called {unknown[0]} is at work, only {', '.join(at_work.values())}.")
        chosen = [at_work[name.casefold()] for name in names] or list(at_work.values())
        for name in chosen:
            if web.want(name, wanted):
                say(f"{name} {told} within a few seconds.")
            else:
                say(f"{name} has ended meanwhile.")
