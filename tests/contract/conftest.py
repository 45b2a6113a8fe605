"""The back-ends: every test here runs against each of them."""

from __future__ import annotations

from collections.abc import Callable  # noqa: TC003 - INDEXES is looked at
from contextlib import ExitStack, closing
from itertools import count
from pathlib import Path  # noqa: TC003
from typing import TYPE_CHECKING, Protocol

import pytest

from gossamer.index.tantivy import IndexPlace, TantivyReader, TantivyWriter
from gossamer.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gossamer.index.base import IndexReader, IndexWriter
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


# -- indexes -----------------------------------------------------------------------------------------------------------


class NewIndex(Protocol):
    """An index of the test's own: opened for writing and for reading as often as it likes."""

    def writer(self, *, rebuild: bool = False) -> IndexWriter: ...

    def reader(self) -> IndexReader: ...


class _Tantivy:
    def __init__(self, directory: Path, stack: ExitStack) -> None:
        self._place, self._stack = IndexPlace(directory), stack

    def writer(self, *, rebuild: bool = False) -> IndexWriter:
        return TantivyWriter(self._place, rebuild=rebuild)

    def reader(self) -> IndexReader:
        return self._stack.enter_context(closing(TantivyReader(self._place)))


INDEXES: dict[str, Callable[[Path, ExitStack], NewIndex]] = {"tantivy": _Tantivy}


@pytest.fixture(params=INDEXES)
def new_index(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], NewIndex]]:
    """Make indexes, each empty and apart from the others."""
    numbers = count()
    with ExitStack() as stack:
        yield lambda: INDEXES[request.param](tmp_path / f"index-{next(numbers)}", stack)


@pytest.fixture
def index(new_index: Callable[[], NewIndex]) -> NewIndex:
    """An empty index."""
    return new_index()
