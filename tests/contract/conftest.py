"""The back-ends: every test here runs against each of them."""

from __future__ import annotations

from collections.abc import Callable  # noqa: TC003 - INDEXES is looked at
from contextlib import ExitStack, closing
from itertools import count
from pathlib import Path  # noqa: TC003
from typing import TYPE_CHECKING, Protocol

import pytest

from gossamer.index.tantivy import TantivyLocation, TantivyReader, TantivyWriter
from gossamer.store.postgres import PostgresStore
from gossamer.store.sqlite import SqliteStore
from helpers.store.postgres_server import new_place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gossamer.index.protocol import IndexReader, IndexWriter
    from gossamer.store.protocol import Store
    from helpers.store.crawl_steps import Open


def _sqlite(directory: Path, _: pytest.FixtureRequest) -> Open:
    return lambda: SqliteStore.open(directory, create=True)


def _postgres(_: Path, request: pytest.FixtureRequest) -> Open:
    place = new_place(request.getfixturevalue("postgres"))
    return lambda: PostgresStore.open(place, create=True)


BACK_ENDS = {"sqlite": _sqlite, "postgres": _postgres}  # name -> (where a web may be) -> how to open it


SEEDS_EACH_TIME = {0, 100, 101}  # of random tests on PostgreSQL; a statement takes ten times as long there
RANDOM = {
    "test_store_counters.py",
    "test_store_depth.py",
    "test_graph_snapshot.py",
    "test_store_freshness_simulated.py",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave to `make test-full` what takes long on PostgreSQL and depends on it little."""
    for item in items:
        if item.path.name in RANDOM and isinstance(item, pytest.Function) and hasattr(item, "callspec"):
            params = item.callspec.params
            seeds = {value for value in params.values() if isinstance(value, int) and not isinstance(value, bool)}
            if params.get("new_web") == "postgres" and seeds and not seeds <= SEEDS_EACH_TIME:
                item.add_marker(pytest.mark.full)


@pytest.fixture(params=BACK_ENDS)
def new_web(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Open]:
    """Make webs, each empty and apart from the others."""
    numbers = count()
    return lambda: BACK_ENDS[request.param](tmp_path / f"web-{next(numbers)}", request)


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
        self._place, self._stack = TantivyLocation(directory), stack

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
