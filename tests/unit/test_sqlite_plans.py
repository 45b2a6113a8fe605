"""SQLite query plans: indexes find the open work, and no statement reads a whole table unless listed."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gossamer.store.sqlite.follow import graph, link_changes, rank_writer
from gossamer.store.sqlite.opening import current_schema, migrate
from gossamer.store.sqlite.read import freshness, history, resources
from gossamer.store.sqlite.work import admission, crawlers, depth, digests, forget, lease, revisits, schedule, submit

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def db() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        migrate(connection, current_schema(), Path("nowhere"))
        yield connection


def plan(db: sqlite3.Connection, sql: str) -> str:
    numbered = [int(number) for number in re.findall(r"\?(\d+)", sql)]
    parameters = [1] * (max(numbered) if numbered else sql.count("?"))
    return "\n".join(row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {sql}", parameters))


@pytest.mark.parametrize(
    ("sql", "index"),
    [
        (lease.SELECT_FREE_HOSTS, "hosts_free"),
        (lease.NEXT_PAGES, "resources_queued_pages"),
        (lease.NEXT_OTHERS, "resources_queued_others"),
        (lease.LEASED_PAGES, "resources_leased"),
        (lease.SELECT_WAITING_HOSTS, "hosts_free"),
        (crawlers.LEASED_BY_HOST, "resources_leased"),
        (crawlers.UNLEASE, "resources_leased"),
        (resources.ERRORS, "resources_errors"),
        (freshness.SELECT_WAITING_PACES, "resources_pace"),
        (schedule.OLDEST, "resources_pace"),
        (schedule.QUEUE_DUE, "resources_pace"),
        (schedule.COUNT_DUE_STATES, "resources_pace"),
        (history.SELECT_HISTORY, "history_resource"),
        (link_changes.CHANGED, "resources_version"),
        (link_changes.CHANGED, "forgotten_version"),
        ("SELECT id FROM resources WHERE version > ? ORDER BY version", "resources_version"),
        ("SELECT resource FROM forgotten WHERE version > ?", "forgotten_version"),
    ],
)
def test_open_work_and_changes_are_found_by_their_own_indexes(db: sqlite3.Connection, sql: str, index: str) -> None:
    assert index in plan(db, sql)


@pytest.mark.parametrize("sql", [lease.SELECT_FREE_HOSTS, lease.NEXT_PAGES, lease.NEXT_OTHERS, schedule.OLDEST])
def test_the_next_work_comes_sorted_from_its_index(db: sqlite3.Connection, sql: str) -> None:
    assert "TEMP B-TREE" not in plan(db, sql)


MODULES = (
    admission, crawlers, depth, digests, forget, freshness, graph, history, lease, link_changes, rank_writer, resources,
    revisits, schedule, submit,
)  # fmt: skip
STATEMENTS = {
    f"{module.__name__.rpartition('.')[2]}.{name}": sql
    for module in MODULES
    for name, sql in vars(module).items()
    if name.isupper()
    and not name.startswith("_")
    and isinstance(sql, str)
    and re.match(r"\s*(SELECT|UPDATE|DELETE|WITH)", sql)
}
# Statements that read a whole table on purpose: the list of hosts, crawlers (a few rows), depths after a change of
# scope, ranked hosts.
FULL_SCANS = {
    "resources.HOSTS", "crawlers.SELECT_WORKING", "crawlers.LATEST", "crawlers.HOSTS_AND_CRAWLERS",
    "crawlers.OTHERS_WITHOUT_HOSTS", "crawlers.SET_WANTED_STATE", "crawlers.SET_WANTED_PARSERS",
    "depth.SHORTEN_BY_LINK", "depth.SHORTEN_BY_REDIRECT", "graph.RANKED_HOSTS",
}  # fmt: skip


NOT_TABLES = {"json_each", "at", "there", "CONSTANT"}  # JSON parameters, subqueries and constants in a plan
# Partial indexes, which hold only the work at hand.
SHORT_INDEXES = {
    "resources_leased", "resources_seeds", "resources_errors", "hosts_free", "hosts_held", "history_sources",
}  # fmt: skip


def scanned_tables(steps: str) -> list[str]:
    """Return the tables that a plan reads from end to end, in the table or in an index as long."""
    scans = re.findall(r"^SCAN (\w+)(?:.* INDEX (\w+))?", steps, re.MULTILINE)
    return [table for table, index in scans if table not in NOT_TABLES and index not in SHORT_INDEXES]


@pytest.mark.parametrize("name", sorted(set(STATEMENTS) - FULL_SCANS))
def test_no_statement_reads_a_whole_table(db: sqlite3.Connection, name: str) -> None:
    assert scanned_tables(plan(db, STATEMENTS[name])) == []


@pytest.mark.parametrize("name", sorted(FULL_SCANS))
def test_each_listed_full_scan_does_read_a_whole_table(db: sqlite3.Connection, name: str) -> None:
    assert scanned_tables(plan(db, STATEMENTS[name])) != []
