"""Back-ends as fixtures: every test here runs against each of them."""

from __future__ import annotations

from collections.abc import Callable  # noqa: TC003 - pytest evaluates INDEXES
from contextlib import ExitStack, closing
from itertools import count
from pathlib import Path  # noqa: TC003
from typing import TYPE_CHECKING, Protocol

import pytest

from gossamer.index.tantivy import TantivyLocation, TantivyReader, TantivyWriter
from gossamer.store.postgres import open_postgres_store
from gossamer.store.postgres.location import parse_postgres_location
from gossamer.store.sqlite import open_sqlite_store
from helpers.store.postgres_server import new_location

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gossamer.index.protocol import IndexReader, IndexWriter
    from gossamer.store.protocol import Store
    from helpers.store.crawl_steps import Open


def _sqlite(directory: Path, _: pytest.FixtureRequest) -> Open:
    return lambda: open_sqlite_store(directory, create=True)


def _postgres(_: Path, request: pytest.FixtureRequest) -> Open:
    location = new_location(request.getfixturevalue("postgres"))
    return lambda: open_postgres_store(parse_postgres_location(location), create=True)


# Name -> function of directory and request -> function that opens the web.
BACK_ENDS = {"sqlite": _sqlite, "postgres": _postgres}


# Seeds of random tests that always run on PostgreSQL, where a statement takes ten times as long.
SEEDS_ON_POSTGRES = {0, 100, 101}
RANDOM = {
    "test_store_counters.py",
    "test_store_depth.py",
    "test_graph_snapshot.py",
    "test_store_freshness_simulated.py",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave slow tests that depend little on PostgreSQL to `make test-full`."""
    for item in items:
        if item.path.name in RANDOM and isinstance(item, pytest.Function) and hasattr(item, "callspec"):
            params = item.callspec.params
            seeds = {value for value in params.values() if isinstance(value, int) and not isinstance(value, bool)}
            if params.get("new_web") == "postgres" and seeds and not seeds <= SEEDS_ON_POSTGRES:
                item.add_marker(pytest.mark.full)


@pytest.fixture(params=BACK_ENDS)
def new_web(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Open]:
    """Create webs, each empty and separate."""
    numbers = count()
    return lambda: BACK_ENDS[request.param](tmp_path / f"web-{next(numbers)}", request)


@pytest.fixture
def open_store(new_web: Callable[[], Open]) -> Iterator[Open]:
    """Open the test's web; every call returns another object, as in another process."""
    open_web = new_web()
    with ExitStack() as stack:
        yield lambda: stack.enter_context(closing(open_web()))


@pytest.fixture
def store(open_store: Open) -> Store:
    """Return an empty web."""
    return open_store()


# -- indexes -----------------------------------------------------------------------------------------------------------


class NewIndex(Protocol):
    """An index of one test, which it can open for writing and reading at will."""

    def writer(self, *, rebuild: bool = False) -> IndexWriter: ...

    def reader(self) -> IndexReader: ...


class _Tantivy:
    def __init__(self, directory: Path, stack: ExitStack) -> None:
        self._location, self._stack = TantivyLocation(directory), stack

    def writer(self, *, rebuild: bool = False) -> IndexWriter:
        return TantivyWriter(self._location, rebuild=rebuild)

    def reader(self) -> IndexReader:
        return self._stack.enter_context(closing(TantivyReader(self._location)))


INDEXES: dict[str, Callable[[Path, ExitStack], NewIndex]] = {"tantivy": _Tantivy}


@pytest.fixture(params=INDEXES)
def new_index(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], NewIndex]]:
    """Create indexes, each empty and separate."""
    numbers = count()
    with ExitStack() as stack:
        yield lambda: INDEXES[request.param](tmp_path / f"index-{next(numbers)}", stack)


@pytest.fixture
def index(new_index: Callable[[], NewIndex]) -> NewIndex:
    """Return an empty index."""
    return new_index()
