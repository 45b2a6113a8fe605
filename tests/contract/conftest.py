"""The back-ends: every test here runs against each of them."""

from __future__ import annotations

from contextlib import ExitStack, closing
from itertools import count
from typing import TYPE_CHECKING

import pytest

from gossamer.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from gossamer.store.base import Store
    from storing import Open


def _sqlite(directory: Path) -> Open:
    return lambda: SqliteStore.open(directory, create=True)


BACK_ENDS = {"sqlite": _sqlite}  # name -> (place of a web) -> how to open it


@pytest.fixture(params=BACK_ENDS)
def new_web(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Open]:
    """Make webs, each empty and apart from the others."""
    numbers = count()
    return lambda: BACK_ENDS[request.param](tmp_path / f"web-{next(numbers)}")


@pytest.fixture
def open_store(new_web: Callable[[], Open]) -> Iterator[Open]:
    """Open the test's web; every call gives another object, as another process would have."""
    open_one = new_web()
    with ExitStack() as stack:
        yield lambda: stack.enter_context(closing(open_one()))


@pytest.fixture
def store(open_store: Open) -> Store:
    """An empty web."""
    return open_store()
