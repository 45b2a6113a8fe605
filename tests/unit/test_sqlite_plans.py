"""How SQLite finds things: work without a look at what is finished, and nothing by reading whole tables."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from gossamer.store.sqlite.database import current_schema, migrate
from gossamer.store.sqlite.follow import graph, link_changes
from gossamer.store.sqlite.read import resources
from gossamer.store.sqlite.work import admission, crawlers, depth, digests, forget, lease, revisits, schedule, submit

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def db() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        migrate(connection, current_schema())
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
        (schedule.SELECT_WAITING_PACES, "resources_pace"),
        (schedule.OLDEST, "resources_pace"),
        (schedule.QUEUE_DUE, "resources_pace"),
        (schedule.COUNT_DUE_STATES, "resources_pace"),
        (revisits.SELECT_SINCE, "history_found"),
        (revisits.SELECT_BY_RESOURCE, "history_resource"),
        (link_changes.CHANGED, "resources_version"),
        (link_changes.CHANGED, "forgotten_version"),
        ("SELECT id FROM resources WHERE version > ? ORDER BY version", "resources_version"),
        ("SELECT resource FROM forgotten WHERE version > ?", "forgotten_version"),
    ],
)
def test_open_work_and_changes_are_found_by_indexes_that_hold_nothing_else(
    db: sqlite3.Connection, sql: str, index: str
) -> None:
    assert index in plan(db, sql)


@pytest.mark.parametrize("sql", [lease.SELECT_FREE_HOSTS, lease.NEXT_PAGES, lease.NEXT_OTHERS, schedule.OLDEST])
def test_the_next_work_comes_sorted_from_its_index(db: sqlite3.Connection, sql: str) -> None:
    assert "TEMP B-TREE" not in plan(db, sql)


MODULES = (
    admission, crawlers, depth, digests, forget, graph, revisits, lease, link_changes, resources, schedule, submit,
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
# Whole tables that are meant to be read: hosts for a list of them, crawlers (a few rows), depths after a change of
# scope, the resources of a host that is forgotten; and partial indexes, which are as short as the work at hand.
READ_AS_A_WHOLE = {
    "resources.HOSTS", "crawlers.AT_WORK", "crawlers.LATEST", "crawlers.HOSTS_AND_CRAWLERS",
    "crawlers.OTHERS_WITHOUT_HOSTS", "depth.NEARER_BY_LINK", "depth.NEARER_BY_REDIRECT", "graph.RANKED_HOSTS",
}  # fmt: skip


NO_TABLES = {"json_each", "at", "there", "CONSTANT"}  # parameters and numbers
SHORT_INDEXES = {
    "resources_leased", "resources_seeds", "resources_errors", "hosts_free", "hosts_held", "history_sources",
}  # fmt: skip


def scans(steps: str) -> list[str]:
    """The tables, or indexes as long as one, that a plan reads from end to end."""
    found = re.findall(r"^SCAN (\w+)(?:.* INDEX (\w+))?", steps, re.MULTILINE)
    return [table for table, index in found if table not in NO_TABLES and index not in SHORT_INDEXES]


@pytest.mark.parametrize("name", sorted(set(STATEMENTS) - READ_AS_A_WHOLE))
def test_no_statement_reads_a_whole_table(db: sqlite3.Connection, name: str) -> None:
    assert scans(plan(db, STATEMENTS[name])) == []


@pytest.mark.parametrize("name", sorted(READ_AS_A_WHOLE))
def test_those_that_do_are_known(db: sqlite3.Connection, name: str) -> None:
    assert scans(plan(db, STATEMENTS[name])) != []
