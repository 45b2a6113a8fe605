"""A process that writes batches is killed at random instants: each batch is stored as a whole or not at all."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from gossamer.model import State, VisitBatch
from gossamer.store.sqlite import open_sqlite_store
from helpers.store.crawl_steps import Policy, fetched_visit, lease_all, leases, recount, start

if TYPE_CHECKING:
    from collections.abc import Callable

    from gossamer.store.protocol import Store

PAGES = 4_000
BATCH = 48
KILLS = 5


def url(number: int) -> str:
    return f"http://a.test/{number}"


def targets(page: str) -> list[str]:
    """Return the links of a page in a tree with cross-links: every page is reached, most by several paths."""
    number = int(page.rpartition("/")[2])
    numbers = {2 * number + 1, 2 * number + 2, number * 7 % PAGES, (number + 1) % PAGES, 0}
    return [url(one) for one in sorted(numbers) if one < PAGES]


def write(directory: Path, report: Callable[[str], None]) -> None:
    """Visit everything, in the child process; report each batch before and after writing it."""
    store = open_sqlite_store(directory, create=True)
    policy = Policy()
    crawler = start(store, url(0), admit=policy)
    batch = store.version() + 1
    while leased := leases(lease_all(store, crawler, urls=BATCH)):
        visits = [fetched_visit(lease, *targets(page), title=f"batch {batch}") for page, lease in leased.items()]
        report(f"begin {batch} {len(visits)}")
        assert store.submit(crawler, VisitBatch(visits=visits), policy, time.time()).version == batch
        report(f"done {batch} {len(visits)}")
        batch += 1
    store.leave(crawler)
    store.close()


def print_and_die(lines: int, seconds: float) -> Callable[[str], None]:
    """Return a function that prints lines. Some seconds after so many of them, SIGKILL ends this process.

    The process counts its own lines, because a busy machine can delay its parent until everything is visited.
    """
    death = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGKILL))
    left = iter(range(lines - 1, -1, -1))

    def report(line: str) -> None:
        print(line, flush=True)
        if next(left, None) == 0:
            death.start()

    return report


def run(directory: Path, kill: tuple[int, float] | None = None) -> dict[str, dict[int, int]]:
    """Run the process, which dies after some lines and seconds; return the sizes of batches begun and done."""
    child = subprocess.Popen(
        [sys.executable, __file__, str(directory), *map(str, kill or ())],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    with child:
        assert child.stdout is not None
        lines = child.stdout.readlines()
    assert child.returncode == (0 if kill is None else -signal.SIGKILL)
    batches: dict[str, dict[int, int]] = {"begin": {}, "done": {}}
    for line in lines:
        if line.endswith("\n"):
            word, batch, size = line.split()
            batches[word][int(batch)] = int(size)
    return batches


def check_batches(store: Store, batches: dict[str, dict[int, int]]) -> None:
    rows = list(store.resources(State.VISITED))
    sizes = Counter(int(row.title.removeprefix("batch ")) for row in rows)
    for batch, size in batches["done"].items():
        assert sizes[batch] == size, "a batch reported as written is stored as a whole"
    for batch in batches["begin"].keys() - batches["done"].keys():
        assert sizes[batch] in {0, batches["begin"][batch]}, "any other batch is stored as a whole or not at all"
    for row in rows:
        assert [link.url for link in store.outlinks(row.id)] == targets(row.url)
        assert store.text(row.id) is not None
        assert store.source(row.id) is not None


def check_file(directory: Path) -> None:
    with closing(sqlite3.connect(directory / "web.db")) as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert db.execute("PRAGMA foreign_key_check").fetchall() == []


def content(directory: Path) -> tuple[dict[str, object], dict[str, object], object]:
    with closing(open_sqlite_store(directory, create=False)) as store:
        rows = list(store.resources())
        pages: dict[str, object] = {row.url: (row.state, row.depth, row.backlinks, row.content_digest) for row in rows}
        links: dict[str, object] = {row.url: store.outlinks(row.id) for row in rows}
        return pages, links, store.counts()


def test_the_store_is_consistent_after_any_kill_and_ends_the_same(tmp_path: Path) -> None:
    random_ = random.Random(1)
    killed, smooth = tmp_path / "killed", tmp_path / "smooth"
    for _ in range(KILLS):
        batches = run(killed, (random_.randint(1, 20), random_.uniform(0.0, 0.02)))
        with closing(open_sqlite_store(killed, create=False)) as store:
            check_batches(store, batches)
            recount(store)
        check_file(killed)
    run(killed)
    run(smooth)
    check_file(killed)
    assert content(killed) == content(smooth)
    assert len(content(smooth)[0]) == PAGES


if __name__ == "__main__":
    kill = sys.argv[2:]
    write(Path(sys.argv[1]), print_and_die(int(kill[0]), float(kill[1])) if kill else partial(print, flush=True))
