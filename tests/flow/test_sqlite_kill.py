"""A process that writes batches is killed at random instants: every batch is there as a whole, or not at all."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from gossamer.model import State
from gossamer.store.sqlite import SqliteStore
from helpers.store.crawl_steps import Policy, fetched, lease_all, leases, recount, start

if TYPE_CHECKING:
    from gossamer.store.protocol import Store

PAGES = 4_000
BATCH = 48
KILLS = 5


def url(number: int) -> str:
    return f"http://a.test/{number}"


def targets(page: str) -> list[str]:
    """A tree with cross-links: every page is reached, most by several ways."""
    number = int(page.rpartition("/")[2])
    found = {2 * number + 1, 2 * number + 2, number * 7 % PAGES, (number + 1) % PAGES, 0}
    return [url(one) for one in sorted(found) if one < PAGES]


def write(directory: Path) -> None:
    """The process: visit everything, saying before and after each batch what it is."""
    store = SqliteStore.open(directory, create=True)
    policy = Policy()
    crawler = start(store, url(0), admit=policy)
    batch = store.version() + 1
    while found := leases(lease_all(store, crawler, urls=BATCH)):
        visits = [fetched(lease, *targets(page), title=f"batch {batch}") for page, lease in found.items()]
        print(f"begin {batch} {len(visits)}", flush=True)
        assert store.submit(crawler, visits, policy, now=time.time()).version == batch
        print(f"done {batch} {len(visits)}", flush=True)
        batch += 1
    store.leave(crawler)
    store.close()


def run(directory: Path, kill: tuple[int, float] | None = None) -> dict[str, dict[int, int]]:
    """Run the process, killed so many lines and seconds after its start; the batches begun and done, with sizes."""
    child = subprocess.Popen(
        [sys.executable, __file__, str(directory)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    with child:
        assert child.stdout is not None
        lines = []
        if kill is not None:
            lines = [child.stdout.readline() for _ in range(kill[0])]
            time.sleep(kill[1])
            child.send_signal(signal.SIGKILL)
        lines += child.stdout.readlines()
    assert child.returncode == (0 if kill is None else -signal.SIGKILL)
    said: dict[str, dict[int, int]] = {"begin": {}, "done": {}}
    for line in lines:
        if line.endswith("\n"):
            word, batch, size = line.split()
            said[word][int(batch)] = int(size)
    return said


def check_batches(store: Store, said: dict[str, dict[int, int]]) -> None:
    rows = list(store.resources(State.VISITED))
    sizes = Counter(int(row.title.removeprefix("batch ")) for row in rows)
    for batch, size in said["done"].items():
        assert sizes[batch] == size, "what was reported as written is all there"
    for batch in said["begin"].keys() - said["done"].keys():
        assert sizes[batch] in {0, said["begin"][batch]}, "what was not is there as a whole, or not at all"
    for row in rows:
        assert [link.url for link in store.outlinks(row.id)] == targets(row.url)
        assert store.text(row.id) is not None
        assert store.source(row.id) is not None


def check_file(directory: Path) -> None:
    with closing(sqlite3.connect(directory / "web.db")) as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert db.execute("PRAGMA foreign_key_check").fetchall() == []


def content(directory: Path) -> tuple[dict[str, object], dict[str, object], object]:
    with closing(SqliteStore.open(directory, create=False)) as store:
        rows = list(store.resources())
        pages: dict[str, object] = {row.url: (row.state, row.depth, row.backlinks, row.content_digest) for row in rows}
        links: dict[str, object] = {row.url: store.outlinks(row.id) for row in rows}
        return pages, links, store.counts()


def test_after_any_kill_the_store_is_whole_and_the_end_is_the_same(tmp_path: Path) -> None:
    random_ = random.Random(1)
    killed, smooth = tmp_path / "killed", tmp_path / "smooth"
    for _ in range(KILLS):
        said = run(killed, (random_.randint(1, 20), random_.uniform(0.0, 0.02)))
        with closing(SqliteStore.open(killed, create=False)) as store:
            check_batches(store, said)
            recount(store)
        check_file(killed)
    run(killed)
    run(smooth)
    check_file(killed)
    assert content(killed) == content(smooth)
    assert len(content(smooth)[0]) == PAGES


if __name__ == "__main__":
    write(Path(sys.argv[1]))
