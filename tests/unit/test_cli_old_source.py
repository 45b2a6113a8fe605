"""`gossamer page --old-source` writes the source that a page had until a change."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from gossamer.model import VisitBatch
from gossamer.store.sqlite import open_sqlite_store
from helpers.cli.commands import gossamer
from helpers.store.crawl_steps import admit_all, digest, fetched_visit, lease_all, leases, requeue, start

if TYPE_CHECKING:
    from pathlib import Path

A = "http://a.test/"


@pytest.fixture
def web(tmp_path: Path) -> tuple[Path, int]:
    """Make a web in which a page has changed; return its directory and the id of the change."""
    with closing(open_sqlite_store(tmp_path, create=True, old_sources_mib=1)) as store:
        crawler = start(store, A)
        for body in ("the first source", "the second source"):
            visit = fetched_visit(leases(lease_all(store, crawler))[A], body=body)
            store.submit(crawler, VisitBatch(visits=[visit]), admit_all, 1.0)
            requeue(store)
        page = store.resource(digest(A))
        assert page is not None
        (change,) = store.history(page.id)
        store.leave(crawler)
    return tmp_path, change.id


def test_the_source_until_a_change_is_written_byte_for_byte(web: tuple[Path, int]) -> None:
    directory, change = web
    done = gossamer("page", A, "--old-source", change, "--store", directory)
    assert (done.returncode, done.stdout, done.stderr) == (0, "the first source", "")


def test_an_unknown_change_is_reported_with_the_next_step(web: tuple[Path, int]) -> None:
    directory, change = web
    done = gossamer("page", A, "--old-source", change + 1, "--store", directory)
    assert done.returncode == 2
    assert f"has no change with the id {change + 1}" in done.stderr
    assert "--json" in done.stderr
