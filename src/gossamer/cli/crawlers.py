"""Commands about the crawlers at work on a web: `crawlers`, `pause`, `resume`, `stop`, `parsers`.

They talk to a crawler through the store, so they work from any machine that reaches it.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from gossamer.cli.open_web import is_at_work, open_web
from gossamer.cli.options import json_option, store_option
from gossamer.cli.output import (
    TerminalColumn,
    format_age,
    format_bytes,
    print_line,
    print_message,
    write_json_rows,
    write_table,
)
from gossamer.errors import UsageError

if TYPE_CHECKING:
    from gossamer.store.protocol import Store
    from gossamer.store.values import CrawlerRow

names_argument = click.argument("names", nargs=-1, metavar="[NAME]...")
all_option = click.option("--all", "everybody", is_flag=True, help="All crawlers at work.")
REPLIES = {"pause": "will pause", "run": "will go on", "stop": "will stop"}


@click.command()
@store_option
@json_option
def crawlers(store: str, as_json: bool) -> None:
    """Who is at work here, and who was last under each name.

    \b
    JSON: {"crawlers": [{"name", "state", "wanted", "machine", "pid", "pages",
                         "pages_per_second", "limit", "waiting_for", "parsers",
                         "most_parsers", "wanted_parsers", ...}]}
    """
    with open_web(store) as web:
        known_crawlers = web.crawlers()
    if as_json:
        write_json_rows("crawlers", known_crawlers, sys.stdout)
    elif known_crawlers:
        _print_crawlers(known_crawlers)
    else:
        print_line("No crawler was ever at work here.")


def _print_crawlers(known_crawlers: list[CrawlerRow]) -> None:
    columns = [
        TerminalColumn("name"), TerminalColumn("state"), TerminalColumn("pages", align="right"), TerminalColumn("pages/s", align="right"),
        TerminalColumn("bytes/s", align="right"), TerminalColumn("parsers", align="right"), TerminalColumn("limit"), TerminalColumn("seen"),
        TerminalColumn("where", cut="end"), TerminalColumn("waits for", cut="end"),
    ]  # fmt: skip
    rows = (
        (
            one.name, _state(one), f"{one.pages:,}", f"{one.pages_per_second:.1f}", format_bytes(one.bytes_per_second),
            _parsers(one), one.limit, format_age(one.heartbeat_at), f"{one.machine} ({one.pid})", one.waiting_for,
        )
        for one in known_crawlers
    )  # fmt: skip
    write_table(columns, rows)


def _state(one: CrawlerRow) -> str:
    """The state, and the one asked for where it is on its way."""
    if not is_at_work(one):
        return one.state
    on_the_way = {"pause": "paused", "stop": "stopped"}.get(one.wanted, one.state)
    return one.state if on_the_way == one.state else f"{one.state}, shall {one.wanted}"


def _parsers(one: CrawlerRow) -> str:
    """How many it has, and shall have where that is on its way."""
    if not is_at_work(one) or not one.parsers:
        return ""
    changing = one.wanted_parsers is not None and one.wanted_parsers != one.parsers
    return f"{one.parsers}, shall be {one.wanted_parsers}" if changing else f"{one.parsers}"


@click.command()
@names_argument
@all_option
@store_option
@json_option
def pause(names: tuple[str, ...], everybody: bool, store: str, as_json: bool) -> None:
    """Ask crawlers to pause: they finish what is in flight and start nothing new.

    \b
    JSON: {"asked": [{"name", "wanted", "at_work"}]}; not at work: it ended meanwhile
    """
    _request_state(store, names, everybody=everybody, wanted="pause", as_json=as_json)


@click.command()
@names_argument
@all_option
@store_option
@json_option
def resume(names: tuple[str, ...], everybody: bool, store: str, as_json: bool) -> None:
    """Ask paused crawlers to go on.

    \b
    JSON: {"asked": [{"name", "wanted", "at_work"}]}; not at work: it ended meanwhile
    """
    _request_state(store, names, everybody=everybody, wanted="run", as_json=as_json)


@click.command()
@names_argument
@all_option
@store_option
@json_option
def stop(names: tuple[str, ...], everybody: bool, store: str, as_json: bool) -> None:
    """Ask crawlers to finish what is in flight and end. A start is local: `gossamer crawl`.

    \b
    JSON: {"asked": [{"name", "wanted", "at_work"}]}; not at work: it ended meanwhile
    """
    _request_state(store, names, everybody=everybody, wanted="stop", as_json=as_json)


@click.command()
@click.argument("number", type=click.IntRange(min=1))
@names_argument
@all_option
@store_option
@json_option
def parsers(number: int, names: tuple[str, ...], everybody: bool, store: str, as_json: bool) -> None:
    """Ask crawlers to work with NUMBER parser processes from now on: two for each core of their machine at most.

    Those that are too many finish what they were given.

    \b
    JSON: {"asked": [{"name", "wanted_parsers", "at_work"}]}; not at work: it ended meanwhile
    """
    _check_names(names, everybody=everybody)
    with open_web(store, write=True) as web:
        targets = _choose_crawlers(web, names)
        for one in targets:
            if not one.most_parsers:
                raise UsageError(f"The parsers of {one.name} cannot be changed.")
            if number > one.most_parsers:
                raise UsageError(f"{one.name} may have {one.most_parsers} parsers at most.")
        results = {one.name: web.set_wanted_parsers(one.name, number) for one in targets}
    _report_requests(
        results, f"will have {number} parser{'s'[: number > 1]}", {"wanted_parsers": number}, as_json=as_json
    )


def _request_state(store: str, names: tuple[str, ...], *, everybody: bool, wanted: str, as_json: bool) -> None:
    _check_names(names, everybody=everybody)
    with open_web(store, write=True) as web:
        results = {one.name: web.set_wanted_state(one.name, wanted) for one in _choose_crawlers(web, names)}
    _report_requests(results, REPLIES[wanted], {"wanted": wanted}, as_json=as_json)


def _report_requests(results: dict[str, bool], promise: str, wanted: dict[str, object], *, as_json: bool) -> None:
    """Who was asked, and whether they were at work to hear it."""
    if as_json:
        write_json_rows(
            "asked", ({"name": name, **wanted, "at_work": heard} for name, heard in results.items()), sys.stdout
        )
    for name, was_at_work in results.items():
        print_message(f"{name} {promise} within a few seconds." if was_at_work else f"{name} has ended meanwhile.")


def _check_names(names: tuple[str, ...], *, everybody: bool) -> None:
    if bool(names) == everybody:
        raise UsageError("Name the crawlers, or give --all for all of them; `gossamer crawlers` lists them.")


def _choose_crawlers(web: Store, names: tuple[str, ...]) -> list[CrawlerRow]:
    """The crawlers at work that were named, or all of them."""
    at_work = {one.name.casefold(): one for one in web.crawlers() if is_at_work(one)}
    if not at_work:
        raise UsageError("No crawler is at work.")
    unknown = [name for name in names if name.casefold() not in at_work]
    if unknown:
        known = ", ".join(one.name for one in at_work.values())
        raise UsageError(f"No crawler called {unknown[0]} is at work, only {known}.")
    return [at_work[name.casefold()] for name in names] or list(at_work.values())
