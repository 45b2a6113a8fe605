"""A full disk: the store fills a small file system."""

from __future__ import annotations

import os
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from gossamer.errors import StoreFull
from gossamer.model import VisitBatch
from gossamer.store.sqlite import open_sqlite_store
from helpers.store.crawl_steps import admit_all, fetched_visit, lease_all, leases, recount, start
from helpers.store.small_disk import run_on_a_small_disk

if TYPE_CHECKING:
    from gossamer.store.protocol import Store

SIZE = "6m"
RESERVE = 2 << 20  # bytes of a file that the test deletes to make space
PAGE = "http://a.test/{}"


def fill(store: Store, crawler: int) -> int:
    """Write batches until the disk is full; check that the store is as after the last good batch."""
    for batch in range(10_000):
        new = (PAGE.format(f"{batch}/{n}") for n in range(200))
        before = (store.counts(), store.version())
        try:
            leased = leases(lease_all(store, crawler, urls=20))
            before = (store.counts(), store.version())
            visits = [fetched_visit(lease, *new, body=os.urandom(2_000).hex()) for lease in leased.values()]
            store.submit(crawler, VisitBatch(visits=visits), admit_all, time.time())
        except StoreFull:
            assert (store.counts(), store.version()) == before
            recount(store)
            return batch
    raise AssertionError("the disk was never full")


def on_the_small_disk(disk: Path) -> None:
    reserve = disk / "reserve"
    reserve.write_bytes(b"x" * RESERVE)
    with closing(open_sqlite_store(disk / "web", create=True)) as store:
        crawler = start(store, PAGE.format(""))
        first = fill(store, crawler)
        reserve.unlink()
        assert fill(store, crawler) > 0, "with space again, the same store object continues"
    assert first > 0


def test_a_full_disk_loses_no_batch_and_writing_continues_with_space(tmp_path: Path) -> None:
    run_on_a_small_disk(tmp_path, SIZE, __file__)


if __name__ == "__main__":
    on_the_small_disk(Path(sys.argv[1]))
