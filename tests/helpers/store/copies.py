"""A web with rows in every table, and the contents of one, for tests of copies."""

from __future__ import annotations

import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from gossamer.model import HostUpdate, Rendering, Robots, ShapeEvidence, VisitBatch
from gossamer.store.copy import TABLES, CopySource, CopyTarget
from gossamer.store.follow.graph import HostRanks, RankColumns, Ranking, Ranks
from gossamer.store.postgres import open_postgres_store
from gossamer.store.postgres.copy import PostgresSource, PostgresTarget
from gossamer.store.postgres.location import parse_postgres_location
from gossamer.store.sqlite import open_sqlite_store
from gossamer.store.sqlite.copy import SqliteSource, SqliteTarget
from gossamer.store.values import CrawlerReport
from helpers.store.crawl_steps import (
    Bond,
    admit_all,
    digest,
    fetched_visit,
    gone_visit,
    lease_all,
    leases,
    requeue,
    seed,
    start,
    visit_all,
)

if TYPE_CHECKING:
    from gossamer.store.protocol import Store

A, B, LAST = "http://a.test/", "http://a.test/b", "http://z.test/last"
LONG_AGO = 0.0
RENDERING = Rendering(
    dom=b"<p>rendered", words=9, links=3, plain_words=1, plain_links=0, milliseconds=70, screenshot=b"\x89PNG"
)


def open_web(location: str) -> Store:
    if "://" in location:
        return open_postgres_store(parse_postgres_location(location), create=True, old_sources_mib=1)
    return open_sqlite_store(Path(location), create=True, old_sources_mib=1)


def source(location: str) -> CopySource:
    return PostgresSource(parse_postgres_location(location)) if "://" in location else SqliteSource(Path(location))


def target(location: str) -> CopyTarget:
    return PostgresTarget(parse_postgres_location(location)) if "://" in location else SqliteTarget(Path(location))


def table_contents(location: str) -> dict[str, Any]:
    """Return all rows of all tables, and the counters."""
    with closing(source(location)) as web:
        contents: dict[str, Any] = {"counters": web.counters()}
        for table in TABLES:
            columns = sorted(web.columns(table.name))
            contents[table.name] = [columns, *_all_rows(web, table, columns)]
        return contents


def _all_rows(web: CopySource, table: Any, columns: list[str]) -> list[Any]:
    rows, cursor = [], None
    while piece := web.rows(table, columns, cursor):
        rows += piece
        cursor = tuple(piece[-1][columns.index(name)] for name in table.key)
    return rows


def build(location: str, *, pages: int = 30, links: int = 5) -> None:
    """Create a web with rows in every table, whose crawler disappeared without leaving."""
    store = open_web(location)
    crawler = start(store, A)
    urls = [f"http://a.test/{n}" for n in range(pages)]
    site: dict[str, list[Bond | str]] = {A: [B, *urls], B: [Bond(A, anchor="home")]}
    for n, url in enumerate(urls):
        site[url] = [Bond(urls[(n * 7 + k) % pages], anchor=f"{n}, {k}") for k in range(links)]
    visit_all(store, crawler, site)
    _visit_again(store, crawler)
    store.word_ids(["egg", "ham", "東京"], ["the"])
    _rank(store)
    store.add([seed("http://y.test/"), seed(LAST)], admit_all)
    store.forget(url_digest=digest(LAST))  # the store must not reuse its id
    lease_all(store, crawler, urls=1)
    report = CrawlerReport(
        state="running", pages=1, pages_per_second=1.0, bytes_per_second=1.0, limit="", waiting_for=""
    )
    store.heartbeat(crawler, report, now=LONG_AGO)
    store.close()


def _visit_again(store: Store, crawler: int) -> None:
    """Submit a changed page that a browser rendered, a page that is gone, and a robots.txt."""
    requeue(store)
    leased = leases(lease_all(store, crawler, urls=10_000))
    host = leased[A].host
    changed = replace(fetched_visit(leased[A], Bond(B, anchor="other"), body="other"), visited_at=2e9)
    assert changed.page is not None
    changed = replace(changed, page=replace(changed.page, rendered="app shell", rendering=RENDERING))
    store.submit(
        crawler,
        VisitBatch(
            visits=[changed, gone_visit(leased[B])],
            shapes=[ShapeEvidence(host=host, shape="/*", signed=True, outcomes="10", looked_at=5.0)],
            hosts=[HostUpdate(host=host, ready_at=0.0, delay=0.5, failures=0, reason="")],
            robots=[Robots(host=host, scheme="http", outcome="rules", text="User-agent: *", fetched_at=1.0)],
            released=[lease for url, lease in leased.items() if url not in {A, B}],
        ),
        admit_all,
        time.time(),
    )


def _rank(store: Store) -> None:
    ids = [row.id for row in store.resources()][:5]
    ranks = Ranks(pagerank=0.2, score=99.5, indegree=1, outdegree=2, in_weight=3, out_weight=4, bowtie="core")
    host_ranks = HostRanks(pages=5, pagerank=1.0, score=100.0, indegree=0, outdegree=0, in_weight=0, out_weight=0)
    ranking = Ranking(
        made_at=1.0, version=store.version(), pages=5, links=3, hosts=1, visited=5, known=5, measures=("pagerank",),
        alpha=0.85, weighted=False, include_unvisited=False, iterations=7,
    )  # fmt: skip
    store.write_ranks(ranking, _columns(ids, ranks), _columns([store.hosts()[0].id], host_ranks))


def _columns(ids: list[int], values: Ranks | HostRanks) -> RankColumns:
    return RankColumns(ids, tuple([getattr(values, name)] * len(ids) for name in values.__struct_fields__))
