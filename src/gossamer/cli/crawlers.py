"""The commands `crawlers`, `pause`, `resume`, `stop` and `parsers`, which list and control crawlers.

They reach a crawler through the store, so they work from any machine that can open the web.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from gossamer.basics.display import format_age, format_bytes
from gossamer.cli.help import HelpCommand
from gossamer.cli.hints import hint
from gossamer.cli.options import json_option, open_web, store_option
from gossamer.cli.output import TerminalColumn, print_line, print_message, write_json_rows, write_table
from gossamer.cli.pager import print_table_notes, wide_option
from gossamer.errors import UsageError

if TYPE_CHECKING:
    from gossamer.store.protocol import CrawlerControl
    from gossamer.store.values import CrawlerRow

names_argument = click.argument("names", nargs=-1, metavar="[NAME]...")
all_option = click.option(
    "--all", "everybody", is_flag=True, help="Ask all crawlers at work; a single one needs neither --all nor a name."
)
REPLIES = {"pause": "will pause", "run": "will go on", "stop": "will stop"}


def is_at_work(crawler: CrawlerRow) -> bool:
    """Return whether a crawler works on the web now; the store keeps those that ended too."""
    return crawler.state not in {"stopped", "lost"}


@click.command(cls=HelpCommand)
@wide_option
@store_option
@json_option
def crawlers(wide: bool, store: str, as_json: bool) -> None:
    """List the crawlers of a web, at work or ended; each name once.

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
        _print_crawlers(known_crawlers, wide=wide)
    else:
        print_line(f"No crawler has worked on this web yet. Start one: {hint('crawl URL')}")


def _print_crawlers(known_crawlers: list[CrawlerRow], *, wide: bool) -> None:
    columns = [
        TerminalColumn("name"), TerminalColumn("state"), TerminalColumn("pages", align="right"),
        TerminalColumn("pages/s", align="right"), TerminalColumn("bytes/s", align="right", drop=4),
        TerminalColumn("parsers", align="right", drop=3), TerminalColumn("limit", drop=1),
        TerminalColumn("seen", drop=2), TerminalColumn("where", cut="end", drop=5),
        TerminalColumn("waits for", cut="end"),
    ]  # fmt: skip
    rows = (
        (
            one.name, _state(one), f"{one.pages:,}", f"{one.pages_per_second:.1f}", format_bytes(one.bytes_per_second),
            _parsers(one), one.limit, format_age(one.heartbeat_at), f"{one.machine} ({one.pid})", one.waiting_for,
        )
        for one in known_crawlers
    )  # fmt: skip
    print_table_notes(write_table(columns, rows, wide=wide))


def _state(one: CrawlerRow) -> str:
    """Return the state, and the requested one until the crawler has reached it."""
    if not is_at_work(one):
        return one.state
    requested = {"pause": "paused", "stop": "stopped"}.get(one.wanted, one.state)
    return one.state if requested == one.state else f"{one.state}, shall {one.wanted}"


def _parsers(one: CrawlerRow) -> str:
    """Return the number of parsers, and the requested number until the crawler has reached it."""
    if not is_at_work(one) or not one.parsers:
        return ""
    changing = one.wanted_parsers is not None and one.wanted_parsers != one.parsers
    return f"{one.parsers}, shall be {one.wanted_parsers}" if changing else f"{one.parsers}"


@click.command(cls=HelpCommand)
@names_argument
@all_option
@store_option
@json_option
def pause(names: tuple[str, ...], everybody: bool, store: str, as_json: bool) -> None:
    """Ask crawlers to pause: they finish their transfers and start no new ones.

    \b
    JSON: {"asked": [{"name", "wanted", "at_work"}]}; not at work: it ended meanwhile
    """
    _request_state(store, names, everybody=everybody, wanted="pause", as_json=as_json)


@click.command(cls=HelpCommand)
@names_argument
@all_option
@store_option
@json_option
def resume(names: tuple[str, ...], everybody: bool, store: str, as_json: bool) -> None:
    """Ask paused crawlers to resume.

    \b
    JSON: {"asked": [{"name", "wanted", "at_work"}]}; not at work: it ended meanwhile
    """
    _request_state(store, names, everybody=everybody, wanted="run", as_json=as_json)


@click.command(cls=HelpCommand)
@names_argument
@all_option
@store_option
@json_option
def stop(names: tuple[str, ...], everybody: bool, store: str, as_json: bool) -> None:
    """Ask crawlers to finish their transfers and end. To start one, run `gossamer crawl` on its machine.

    \b
    JSON: {"asked": [{"name", "wanted", "at_work"}]}; not at work: it ended meanwhile
    """
    _request_state(store, names, everybody=everybody, wanted="stop", as_json=as_json)


@click.command(cls=HelpCommand)
@click.argument("number", type=click.IntRange(min=1))
@names_argument
@all_option
@store_option
@json_option
def parsers(number: int, names: tuple[str, ...], everybody: bool, store: str, as_json: bool) -> None:
    """Ask crawlers to use NUMBER parser processes, at most two for each core of their machine.

    Surplus parsers finish their pages and end.

    \b
    JSON: {"asked": [{"name", "wanted_parsers", "at_work"}]}; not at work: it ended meanwhile
    """
    _check_names(names, everybody=everybody)
    with open_web(store, write=True) as web:
        targets = _choose_crawlers(web, names, everybody=everybody)
        for one in targets:
            if not one.most_parsers:
                raise UsageError(f"{one.name} cannot change its number of parsers; leave it out.")
            if number > one.most_parsers:
                raise UsageError(f"{one.name} may have at most {one.most_parsers} parsers; give a smaller number.")
        results = {one.name: web.set_wanted_parsers(one.name, number) for one in targets}
    _report_requests(
        results, f"will have {number} parser{'s'[: number > 1]}", {"wanted_parsers": number}, as_json=as_json
    )


def _request_state(store: str, names: tuple[str, ...], *, everybody: bool, wanted: str, as_json: bool) -> None:
    _check_names(names, everybody=everybody)
    with open_web(store, write=True) as web:
        chosen = _choose_crawlers(web, names, everybody=everybody)
        results = {one.name: web.set_wanted_state(one.name, wanted) for one in chosen}
    _report_requests(results, REPLIES[wanted], {"wanted": wanted}, as_json=as_json)


def _report_requests(results: dict[str, bool], promise: str, wanted: dict[str, object], *, as_json: bool) -> None:
    """Print each crawler asked, and whether it was still at work."""
    if as_json:
        write_json_rows(
            "asked", ({"name": name, **wanted, "at_work": at_work} for name, at_work in results.items()), sys.stdout
        )
    for name, at_work in results.items():
        print_message(f"{name} {promise} within a few seconds." if at_work else f"{name} has ended meanwhile.")


def _check_names(names: tuple[str, ...], *, everybody: bool) -> None:
    if names and everybody:
        raise UsageError("Name the crawlers, or give --all for all of them, but not both.")


def _choose_crawlers(web: CrawlerControl, names: tuple[str, ...], *, everybody: bool) -> list[CrawlerRow]:
    """Return the named crawlers, the only one, or all of them (`everybody`); refuse names that are not at work."""
    at_work = {one.name.casefold(): one for one in web.crawlers() if is_at_work(one)}
    if not at_work:
        raise UsageError(f"No crawler is at work. Start one: {hint('crawl')}")
    if not names and not everybody and len(at_work) > 1:
        known = ", ".join(one.name for one in at_work.values())
        raise UsageError(f"Several crawlers are at work: {known}. Name some of them, or give --all.")
    unknown = [name for name in names if name.casefold() not in at_work]
    if unknown:
        known = ", ".join(one.name for one in at_work.values())
        raise UsageError(f"No crawler called {unknown[0]} is at work, only {known}.")
    return [at_work[name.casefold()] for name in names] or list(at_work.values())
