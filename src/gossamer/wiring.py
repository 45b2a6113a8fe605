"""Opens the store and the index of a location. Only this module names concrete back-ends.

All other modules use protocols. Every reading command imports this module, so it loads back-ends only when it opens
them. `start` builds a crawl.
"""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from gossamer.basics.locations import is_shared, local_directory
from gossamer.config import StoreSettings, load
from gossamer.config.layers import FILE_NAME
from gossamer.errors import UsageError
from gossamer.store.sqlite import open_sqlite_store

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from gossamer.config import IndexSettings
    from gossamer.index.opensearch import OpenSearchLocation
    from gossamer.index.protocol import IndexReader, IndexWriter
    from gossamer.search.service import Searcher
    from gossamer.search.weights import RankWeights
    from gossamer.store.copy import CopyResult, CopySource, CopyTarget
    from gossamer.store.postgres.location import PostgresLocation
    from gossamer.store.protocol import Store
    from gossamer.store.read.statements import StatementAnswer, StatementLimits, TableColumns

# Holds a password, so it is a variable and no setting.
STATEMENT_VARIABLE = "GOSSAMER_SQL_URL"


def open_store(
    location: str, *, create: bool = False, read_only: bool = False, settings: StoreSettings | None = None
) -> Store:
    """Open the store of the web at a location."""
    store_settings = settings or StoreSettings()
    if is_shared(location):
        database = _postgres_location(location)
        from gossamer.store.postgres import open_postgres_store  # noqa: PLC0415

        return open_postgres_store(
            database, create=create, read_only=read_only, old_sources_mib=store_settings.old_sources
        )
    return open_sqlite_store(
        Path(location),
        create=create,
        read_only=read_only,
        cache_mib=store_settings.cache,
        old_sources_mib=store_settings.old_sources,
    )


def _postgres_location(location: str) -> PostgresLocation:
    try:
        from gossamer.store.postgres.location import parse_postgres_location  # noqa: PLC0415 - its driver is an extra
    except ModuleNotFoundError as error:
        raise UsageError(
            f"A web in PostgreSQL needs the extra `postgres`: pip install 'gossamer[postgres]'. ({error.name} is not"
            " installed.)"
        ) from error
    return parse_postgres_location(location)


def index_settings(location: str) -> IndexSettings:
    """Return the index settings of a web, from the environment and the settings file."""
    return load(file=None, store_dir=local_directory(location), environ=os.environ, flags={}).settings.index


def open_index(location: str) -> IndexReader:
    """Open the last commit of a web's index for reading."""
    settings = index_settings(location)
    if settings.url:
        index_location = _opensearch_location(settings)
        from gossamer.index.opensearch import OpenSearchReader  # noqa: PLC0415

        return OpenSearchReader(index_location)
    from gossamer.index.tantivy import TantivyLocation, TantivyReader  # noqa: PLC0415 - few commands need the index

    return TantivyReader(TantivyLocation(local_directory(location) / "index"))


def has_index(location: str) -> bool:
    """Return whether a web has an index."""
    settings = index_settings(location)
    if settings.url:
        index_location = _opensearch_location(settings)
        with closing(index_location.cluster):
            return index_location.current() is not None
    from gossamer.index.tantivy.location import TantivyLocation  # noqa: PLC0415

    return TantivyLocation(local_directory(location) / "index").current() is not None


def open_index_writer(location: str, *, rebuild: bool = False) -> IndexWriter:
    """Open the writer of a web's index. An index has one writer at a time: raises `IndexBusy` if it is taken."""
    settings = index_settings(location)
    if settings.url:
        index_location = _opensearch_location(settings, writing=True)
        from gossamer.index.opensearch import OpenSearchWriter  # noqa: PLC0415

        return OpenSearchWriter(index_location, rebuild=rebuild)
    from gossamer.index.tantivy import TantivyLocation, TantivyWriter  # noqa: PLC0415

    return TantivyWriter(TantivyLocation(local_directory(location) / "index"), rebuild=rebuild)


def _opensearch_location(settings: IndexSettings, *, writing: bool = False) -> OpenSearchLocation:
    """Return the location of an index on OpenSearch. Only the environment holds its user name and password."""
    try:
        from gossamer.index.opensearch import (  # noqa: PLC0415
            READER_RETRY_SECONDS,
            WRITER_RETRY_SECONDS,
            Cluster,
            ClusterAddress,
            OpenSearchLocation,
        )
    except ModuleNotFoundError as error:
        raise UsageError(
            f"An index on OpenSearch needs the extra `opensearch`: pip install 'gossamer[opensearch]'. ({error.name} "
            "is not installed.)"
        ) from error
    patience = WRITER_RETRY_SECONDS if writing else READER_RETRY_SECONDS
    cluster = Cluster(ClusterAddress.parse(settings.url), os.environ, ca_file=settings.ca_file, retry_seconds=patience)
    return OpenSearchLocation(cluster, shards=settings.shards, replicas=settings.replicas)


def open_searcher(store: Store, location: str, blend: RankWeights | None = None) -> Searcher:
    """Open a searcher on the last commit of a web's index. Closing it closes the index."""
    return build_searcher(store, open_index(location), location, blend)


def build_searcher(store: Store, index: IndexReader, location: str, blend: RankWeights | None = None) -> Searcher:
    """Build a searcher on an open index. It uses PageRank if `gossamer rank` has computed it."""
    import numpy as np  # noqa: PLC0415

    from gossamer.graph.ranking.pagerank import load_pagerank  # noqa: PLC0415
    from gossamer.search.service import Searcher  # noqa: PLC0415
    from gossamer.search.weights import SECOND_PASS_WEIGHTS  # noqa: PLC0415

    scores = load_pagerank(local_directory(location) / "graph")

    def pagerank(ids: NDArray[np.int64]) -> NDArray[np.float64]:
        known = np.zeros(1, np.float32) if scores is None else scores
        return np.where(ids < len(known), known[np.minimum(ids, len(known) - 1)], 0.0)

    return Searcher(store, index, pagerank, blend or SECOND_PASS_WEIGHTS)


def copy_web(from_: str, to: str, on_progress: Callable[[str], None]) -> CopyResult:
    """Copy a web to another location, with its settings file if there is one."""
    from gossamer.store.copy import copy_store  # noqa: PLC0415

    directory = local_directory(to)
    if (directory / "index").exists():
        raise UsageError(
            f"{directory} already holds an index: copy to another location, or remove it if its web is gone."
        )
    with closing(_copy_source(from_)) as source, closing(_copy_target(to)) as target:
        copied = copy_store(source, target, on_progress)
    source_file, target_file = (local_directory(location) / FILE_NAME for location in (from_, to))
    if source_file.exists() and not target_file.exists():
        target_file.parent.mkdir(parents=True, exist_ok=True)
        target_file.write_bytes(source_file.read_bytes())
    return copied


def _copy_source(location: str) -> CopySource:
    if is_shared(location):
        database = _postgres_location(location)
        from gossamer.store.postgres.copy import PostgresSource  # noqa: PLC0415

        return PostgresSource(database)
    from gossamer.store.sqlite.copy import SqliteSource  # noqa: PLC0415

    return SqliteSource(Path(location))


def _copy_target(location: str) -> CopyTarget:
    if is_shared(location):
        database = _postgres_location(location)
        from gossamer.store.postgres.copy import PostgresTarget  # noqa: PLC0415

        return PostgresTarget(database)
    from gossamer.store.sqlite.copy import SqliteTarget  # noqa: PLC0415

    return SqliteTarget(Path(location))


# -- SQL statements of people ------------------------------------------------------------------------------------------


def statement_location(location: str, environ: Mapping[str, str]) -> str:
    """Return where the SQL statements of people run. Raises `UsageError` if they are off.

    A directory is opened for reading. A database needs the URL of a role that can only read, in `GOSSAMER_SQL_URL`.
    """
    if not is_shared(location):
        return location
    role = environ.get(STATEMENT_VARIABLE, "")
    if not role:
        raise UsageError(
            f"SQL is off: this web is in a database. Set {STATEMENT_VARIABLE} to its URL with a role that can only"
            " read, and start the server again."
        )
    if (of_role := _postgres_location(role)).schema != _postgres_location(location).schema:
        raise UsageError(f"{STATEMENT_VARIABLE} ({of_role.display_name}) names another schema than the web.")
    return role


def run_statement(location: str, statement: str, limits: StatementLimits) -> StatementAnswer:
    """Run one statement that reads, at a `statement_location`."""
    if is_shared(location):
        role = _postgres_location(location)
        from gossamer.store.postgres.read import statements as on_postgres  # noqa: PLC0415

        return on_postgres.run_statement(role, statement, limits)
    from gossamer.store.sqlite.read import statements as on_sqlite  # noqa: PLC0415

    return on_sqlite.run_statement(Path(location), statement, limits)


def list_tables(location: str) -> list[TableColumns]:
    """Return the tables that statements can read, at a `statement_location`."""
    if is_shared(location):
        role = _postgres_location(location)
        from gossamer.store.postgres.read import statements as on_postgres  # noqa: PLC0415

        return on_postgres.list_tables(role)
    from gossamer.store.sqlite.read import statements as on_sqlite  # noqa: PLC0415

    return on_sqlite.list_tables(Path(location))
