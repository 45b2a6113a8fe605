"""Reports on sites with exactly one fault each: they show this fault and nothing else."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from gossamer.graph.reports.base import column_type
from helpers.cli.commands import gossamer
from helpers.graph.faulty_sites import SITES, page, serve_sites
from webs.served import SiteServer

if TYPE_CHECKING:
    from pathlib import Path

Rows = dict[str, list[dict[str, Any]]]  # by code


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """Crawl all sites into one web; return the web and the addresses."""
    store = tmp_path_factory.mktemp("faulty") / "web"
    with serve_sites() as servers:
        addresses = {name: server.url for name, server in servers.items()}
        done = gossamer("crawl", *addresses.values(), "--store", store, "--quiet")
        assert done.returncode == 0, done.stderr
    return store, addresses


@pytest.fixture(scope="module")
def findings(web: tuple[Path, dict[str, str]]) -> Rows:
    """Return the rows of all fault reports."""
    done = gossamer("report", "all", "--json", "--store", web[0])
    assert done.returncode == 0, done.stderr
    reports = json.loads(done.stdout)["reports"]
    return {each["code"]: each["rows"] for each in reports if each["severity"] != "info"}


def rows_about(address: str, findings: Rows) -> Rows:
    """Return the rows about one site."""
    about = {code: [row for row in rows if names(row, address)] for code, rows in findings.items()}
    return {code: rows for code, rows in about.items() if rows}


def names(row: dict[str, Any], address: str) -> bool:
    return any(isinstance(value, str) and address in value + "/" for value in row.values())


def expected_value(value: Any, address: str) -> Any:
    return address + value[1:] if isinstance(value, str) and value.startswith("/") else value


@pytest.mark.parametrize("name", SITES)
def test_reports_show_the_fault_of_a_site_and_nothing_else(
    name: str, web: tuple[Path, dict[str, str]], findings: Rows
) -> None:
    address = web[1][name]
    actual = rows_about(address, findings)
    assert set(actual) == set(SITES[name].expected), actual
    for code, expected_rows in SITES[name].expected.items():
        wanted = [{column: expected_value(value, address) for column, value in row.items()} for row in expected_rows]
        assert len(actual[code]) == len(wanted), actual[code]
        for row in wanted:
            assert any(row.items() <= real.items() for real in actual[code]), (row, actual[code])


def test_a_site_under_two_names_is_reported_as_a_whole_and_page_by_page(
    web: tuple[Path, dict[str, str]], findings: Rows
) -> None:
    one, other = web[1]["mirror"], web[1]["mirrored"]
    rows = rows_about(one, findings)
    assert rows.keys() == {"DUP001", "DUP003"} == rows_about(other, findings).keys()
    (mirror,) = rows["DUP003"]
    assert {mirror["origin"] + "/", mirror["other"] + "/"} == {one, other}
    assert (mirror["equal_pages"], mirror["pages"], mirror["share"]) == (3, 3, 1.0)
    copies = {(row["url"], row["same_as"]) for row in rows["DUP001"]}
    assert {frozenset(pair) for pair in copies} == {
        frozenset((one + path, other + path)) for path in ("", "one", "two")
    }


def test_every_fault_report_has_a_row(findings: Rows) -> None:
    assert {code for code, rows in findings.items() if not rows} == set()


def test_every_cell_has_the_type_of_its_column(findings: Rows) -> None:
    types: dict[str, type | tuple[type, ...]] = {
        "text": str,
        "integer": int,
        "number": float,
        "flag": bool,
        "time": float,
    }
    wrong = [
        (code, name, value)
        for code, rows in findings.items()
        for row in rows
        for name, value in row.items()
        if value is not None and not isinstance(value, types[column_type(name)])
    ]
    assert wrong == []


def test_the_changes_report_shows_what_a_second_round_found(tmp_path: Path) -> None:
    with SiteServer({"/": page("start", '<a href="/one">One</a>'), "/one": page("one")}) as site:
        crawled = gossamer("crawl", site.url, "--store", tmp_path, "--quiet")
        assert crawled.returncode == 0, crawled.stderr
        site.pages["/one"] = page("one", '<a href="/new">New</a>', title="Another title")
        site.pages["/new"] = page("new")
        crawled = gossamer("crawl", "--revisit", "--all", "--store", tmp_path, "--quiet")
        assert crawled.returncode == 0, crawled.stderr
        rows = json.loads(gossamer("report", "changes", "--json", "--store", tmp_path).stdout)["rows"]
        assert {row["url"]: row["change"] for row in rows} == {f"{site.url}one": "changed", f"{site.url}new": "new"}
        (changed,) = (row for row in rows if row["change"] == "changed")
    assert (changed["title_before"], changed["title"]) == ("Title of one", "Another title")
    assert {"title", "links"} <= set(changed["parts"].split())
