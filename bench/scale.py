"""The cost of a page in each part, measured on a crawled web, and extrapolated to other sizes.

    python bench/scale.py --store web [--postgres postgresql://…] [--write]

The script copies the web to PostgreSQL (its own server unless one is given) and measures both stores. `at_size`
contains the arithmetic. `Assumed` contains the assumptions: how the web at large differs from the measured one,
machines, prices. `--write` puts the tables into docs/explanation/scale.md.
"""

from __future__ import annotations

import argparse
import os
import sqlite3
import sys
import time
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parents[1] / "tests")]

from bench.harness.contest import exit_cleanly_on_sigterm  # noqa: E402
from bench.harness.report import ROOT, machine, put_between, table  # noqa: E402

from gossamer.store.postgres.location import parse_postgres_location  # noqa: E402
from gossamer.wiring import copy_web  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

PAGE = ROOT / "docs" / "explanation" / "scale.md"
SIZES = {"10 million": 10**7, "1 billion": 10**9, "100 billion": 10**11}
KB, GB, TB, PB = 10**3, 10**9, 10**12, 10**15
DAY = 86_400


@dataclass(frozen=True, kw_only=True)
class PageFigures:
    """Figures of a crawled web. Sizes in bytes."""

    pages: int  # number of measured pages
    known: float  # URLs that became known, per page
    links: float  # per page
    wire: float  # source of a page, compressed: about its network traffic
    sqlite: float  # whole store, per page
    postgres: float  # the same
    bodies: float  # part of that: sources and texts
    resource: float  # in PostgreSQL: a known URL, with its indexes
    link: float  # ... a link, with its indexes
    index: float  # per page
    copied: float  # rows per second, copied to PostgreSQL and verified


@dataclass(frozen=True, kw_only=True)
class Assumed:
    """Figures that this command does not measure."""

    bigger: float = 4.0  # size of pages of the web at large, relative to documentation
    known: float = 10.0  # URLs that become known per visited page
    cpu: float = 2.7e-3  # seconds of a core per page, all stages together (`make profile`)
    busy: float = 0.5  # share of its cores that a crawler uses, because it waits for hosts
    pause: float = 2.0  # seconds between two pages of one host
    submits: float = 1_000.0  # visits per second that one PostgreSQL writes (`python bench/writers.py`)
    days: float = 30.0  # in which every page is visited once
    cores: int = 16  # per machine
    disk: float = 8 * TB  # per storage machine
    copies: int = 2  # of the store and of the index, so that a machine may fail
    rank: float = 24.0  # bytes of memory per link, to rank (docs/explanation/link-graph.md)
    core_hour: float = 0.04  # dollars, including its memory
    gigabyte_month: float = 0.08  # dollars, solid-state
    body_month: float = 0.02  # dollars per gigabyte of cheap, slow storage: sources and texts


@dataclass(frozen=True, kw_only=True)
class Need:
    """The needs of a size."""

    rate: float  # pages per second
    hosts: float  # visited at the same time
    crawlers: float  # machines
    network: float  # bits a second
    databases: float  # PostgreSQL servers that write
    rows: float  # bytes of the store without sources and texts, all copies
    bodies: float  # bytes of sources and texts
    index: float  # bytes
    rank: float  # bytes of memory
    dollars: float  # to visit everything once and keep it for a month


def at_size(pages: int, one: PageFigures, by: Assumed) -> Need:
    """Compute the needs of a number of pages."""
    rate = pages / (by.days * DAY)
    crawlers = rate * by.cpu * by.bigger / by.busy / by.cores
    bodies = pages * one.bodies * by.bigger
    rows = pages * (by.known * one.resource + one.links * one.link)
    index = pages * one.index * by.bigger
    databases = max(rate / by.submits, (rows + bodies) / by.disk)
    core_hours = (crawlers + databases * by.copies) * by.cores * by.days * 24
    storage_dollars = ((rows + index) * by.gigabyte_month + bodies * by.body_month) * by.copies / GB
    return Need(
        rate=rate, hosts=rate * by.pause, crawlers=crawlers, network=rate * one.wire * by.bigger * 8,
        databases=databases, rows=rows * by.copies, bodies=bodies * by.copies, index=index * by.copies,
        rank=pages * one.links * by.rank, dollars=core_hours * by.core_hour + storage_dollars,
    )  # fmt: skip


# -- measuring ---------------------------------------------------------------------------------------------------------


def measure(store: Path, postgres: str) -> PageFigures:
    with closing(sqlite3.connect(f"file:{store / 'web.db'}?mode=ro", uri=True)) as db:
        pages, source = db.execute("SELECT count(*), sum(length(body)) FROM sources").fetchone()
        known = db.execute("SELECT count(*) FROM resources").fetchone()[0]
        links = db.execute("SELECT count(*) FROM links").fetchone()[0]
        used, free, size = (
            db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
        )
    started = time.perf_counter()
    copied = copy_web(str(store), postgres, lambda _: None)
    seconds = time.perf_counter() - started
    index = sum(file.stat().st_size for file in (store / "index").rglob("*") if file.is_file())
    table_sizes = sizes_in(postgres)
    return PageFigures(
        pages=pages, known=known / pages, links=links / pages, wire=source / pages, sqlite=(used - free) * size / pages,
        postgres=sum(table_sizes.values()) / pages,
        bodies=(table_sizes["sources"] + table_sizes["texts"]) / pages,
        resource=(table_sizes["resources"] + table_sizes["backlinks"]) / known, link=table_sizes["links"] / links,
        index=index / pages, copied=copied.rows / seconds,
    )  # fmt: skip


def sizes_in(postgres: str) -> dict[str, int]:
    """Return the bytes of each table of a web in PostgreSQL, with its indexes."""
    location = parse_postgres_location(postgres)
    sql = """
        SELECT relname, pg_total_relation_size(c.oid) FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = relnamespace
        WHERE relkind = 'r' AND nspname = %s"""
    with psycopg.connect(location.connection) as db:
        return dict(db.execute(sql, (location.schema,)).fetchall())


# -- report ------------------------------------------------------------------------------------------------------------


def with_unit(number: float, units: Sequence[tuple[float, str]]) -> str:
    """Format a number with the largest unit that leaves a digit before the point."""
    for size, name in units:
        if number >= size:
            return f"{number / size:,.3g} {name}".rstrip()
    return f"{number:,.2g}"


def size(number: float) -> str:
    return with_unit(number, ((PB, "PB"), (TB, "TB"), (GB, "GB"), (10**6, "MB"), (KB, "KB")))


def amount(number: float) -> str:
    """Format a number of machines, at least one."""
    return f"{max(1, round(number)):,}"


def per_page(one: PageFigures) -> str:
    rows = (
        ("URLs that become known, links", f"{one.known:.2f}, {one.links:.0f}"),
        ("source, compressed: about what comes over the network", size(one.wire)),
        ("store in SQLite", size(one.sqlite)),
        ("store in PostgreSQL, with its indexes", size(one.postgres)),
        ("of that: source and text", size(one.bodies)),
        ("of that: each URL known, each link", f"{one.resource:.0f}, {one.link:.0f} bytes"),
        ("index (Tantivy)", size(one.index)),
    )
    return table(("of a page", "measured"), rows)


def at_sizes(one: PageFigures, by: Assumed) -> str:
    columns: dict[str, Callable[[Need], str]] = {
        f"pages a second, in {by.days:.0f} days": lambda need: f"{need.rate:,.0f}",
        "hosts visited at the same time": lambda need: amount(need.hosts),
        "crawler machines": lambda need: amount(need.crawlers),
        "network": lambda need: with_unit(need.network, ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"))),
        "PostgreSQL servers that write": lambda need: amount(need.databases),
        "store: rows": lambda need: size(need.rows),
        "store: sources and texts": lambda need: size(need.bodies),
        "index": lambda need: size(need.index),
        "memory to rank it at once": lambda need: size(need.rank),
        "dollars for the first month": lambda need: f"{float(f'{need.dollars:.1g}'):,.0f}",
    }
    needs = [at_size(pages, one, by) for pages in SIZES.values()]
    rows = [(name, *(format_need(need) for need in needs)) for name, format_need in columns.items()]
    return table(("", *(f"{name} pages" for name in SIZES)), rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", type=Path, required=True, help="a web that was crawled, with its index")
    parser.add_argument("--postgres", help="where to make a copy (default: its own server)")
    parser.add_argument("--write", action="store_true", help=f"put the tables into {PAGE.relative_to(ROOT)}")
    options = parser.parse_args()
    with ExitStack() as stack:
        one = measure(options.store, options.postgres or _own_server(stack))
    text = (
        f"`python bench/scale.py`, on {one.pages:,} pages; {one.copied:,.0f} rows a second were copied from SQLite to"
        f" PostgreSQL and read again ({machine()['processor']}).\n\n{per_page(one)}"
    )
    print(f"{text}\n{at_sizes(one, Assumed())}")
    if options.write:
        put_between(PAGE, "page", text)
        put_between(PAGE, "sizes", at_sizes(one, Assumed()))


def _own_server(stack: ExitStack) -> str:
    from helpers.store.postgres_server import new_location, start  # noqa: PLC0415 - not needed with --postgres

    server = start(f"scale-{os.getpid()}")
    stack.callback(server.cleanup)
    return new_location(server)


if __name__ == "__main__":
    exit_cleanly_on_sigterm()  # leaves no server behind
    main()
