"""The back-ends: every test here runs against each of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from gossamer.store.base import Store
from gossamer.store.sqlite import SqliteStore
from storing import Open


def _sqlite(directory: Path) -> Open:
    return lambda: SqliteStore.open(directory, create=True)


BACK_ENDS = {"sqlite": _sqlite}  # name -> (place for the test) -> how to open one and the same web


@pytest.fixture(params=BACK_ENDS)
def open_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Open]:
    """Open the test's web; every call gives another object, as another process would have."""
    open_one = BACK_ENDS[request.param](tmp_path / "web")
    with ExitStack() as stack:
        yield lambda: stack.enter_context(closing(open_one()))


@pytest.fixture
def store(open_store: Open) -> Store:
    """An empty web."""
    return open_store()
