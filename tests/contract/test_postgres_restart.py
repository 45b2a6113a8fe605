"""A PostgreSQL server that crashes repeatedly under four crawlers: every visit is written exactly once."""

from __future__ import annotations

import threading
import time
from collections import Counter
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING

import pytest

from gossamer.store.postgres import open_postgres_store
from gossamer.store.postgres.location import parse_postgres_location
from helpers.store.concurrent_crawlers import crawl_together
from helpers.store.crawl_steps import recount
from helpers.store.postgres_server import DedicatedPostgres

if TYPE_CHECKING:
    from gossamer.store.sql_store import SqlStore

CRASHES = 4


@pytest.mark.full
def test_visits_survive_crashes_of_the_server() -> None:
    with DedicatedPostgres() as server, ExitStack() as stack:

        def open_store() -> SqlStore:
            return stack.enter_context(
                closing(open_postgres_store(parse_postgres_location(server.location), create=True))
            )

        stop = threading.Event()

        def crash() -> None:
            for _ in range(CRASHES):
                if stop.wait(1.0):
                    return
                server.restart()

        crashing = threading.Thread(target=crash)
        crashing.start()
        started = time.monotonic()
        store, crawlers = crawl_together(open_store, "{}")
        stop.set()
        crashing.join()
        print(f"{time.monotonic() - started:.1f} s")
        recount(store)
        visited = Counter(url for crawler in crawlers for url in crawler.visited)
        assert set(visited.values()) == {1}
        assert Counter(visit.url for visit in store.every_visit()) == visited
