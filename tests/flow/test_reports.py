"""Reports on sites that were made to have exactly one fault each: that fault is told, and nothing else."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from gossamer.graph.reports.base import column_type
from helpers.cli.commands import gossamer
from helpers.graph.faulty_sites import SITES, page, served
from webs.served import Served

if TYPE_CHECKING:
    from pathlib import Path

Rows = dict[str, list[dict[str, Any]]]  # by code


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """All sites in one web, and their addresses."""
    store = tmp_path_factory.mktemp("faulty") / "web"
    with served() as servers:
        addresses = {name: server.url for name, server in servers.items()}
        done = gossamer("crawl", *addresses.values(), "--store", store, "--quiet")
        assert done.returncode == 0, done.stderr
    return store, addresses


@pytest.fixture(scope="module")
def findings(web: tuple[Path, dict[str, str]]) -> Rows:
    """The rows of all reports that tell faults."""
    done = gossamer("report", "all", "--json", "--store", web[0])
    assert done.returncode == 0, done.stderr
    reports = json.loads(done.stdout)["reports"]
    return {each["code"]: each["rows"] for each in reports if each["severity"] != "info"}


def rows_about(address: str, findings: Rows) -> Rows:
    """What is told of one site."""
    about = {code: [row for row in rows if names(row, address)] for code, rows in findings.items()}
    return {code: rows for code, rows in about.items() if rows}


def names(row: dict[str, Any], address: str) -> bool:
    return any(isinstance(value, str) and address in value + "/" for value in row.values())


def expected(told: Any, address: str) -> Any:
    return address + told[1:] if isinstance(told, str) and told.startswith("/") else told


@pytest.mark.parametrize("name", SITES)
def test_a_fault_is_told_and_nothing_else(name: str, web: tuple[Path, dict[str, str]], findings: Rows) -> None:
    address = web[1][name]
    found = rows_about(address, findings)
    assert set(found) == set(SITES[name].told), found
    for code, told in SITES[name].told.items():
        wanted = [{column: expected(value, address) for column, value in row.items()} for row in told]
        assert len(found[code]) == len(wanted), found[code]
        for row in wanted:
            assert any(row.items() <= real.items() for real in found[code]), (row, found[code])


def test_a_site_under_two_names_is_told_as_a_whole_and_page_by_page(
    web: tuple[Path, dict[str, str]], findings: Rows
) -> None:
    one, other = web[1]["mirror"], web[1]["mirrored"]
    found = rows_about(one, findings)
    assert found.keys() == {"DUP001", "DUP003"} == rows_about(other, findings).keys()
    (mirror,) = found["DUP003"]
    assert {mirror["origin"] + "/", mirror["other"] + "/"} == {one, other}
    assert (mirror["equal_pages"], mirror["pages"], mirror["share"]) == (3, 3, 1.0)
    copies = {(row["url"], row["same_as"]) for row in found["DUP001"]}
    assert {frozenset(pair) for pair in copies} == {
        frozenset((one + path, other + path)) for path in ("", "one", "two")
    }


def test_every_report_that_tells_faults_is_made_to_tell_one(findings: Rows) -> None:
    assert {code for code, rows in findings.items() if not rows} == set()


def test_every_cell_is_what_its_column_says(findings: Rows) -> None:
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


def test_what_another_round_found_changed_is_told(tmp_path: Path) -> None:
    with Served({"/": page("start", '<a href="/one">One</a>'), "/one": page("one")}) as site:
        crawled = gossamer("crawl", site.url, "--store", tmp_path, "--quiet")
        assert crawled.returncode == 0, crawled.stderr
        site.pages["/one"] = page("one", '<a href="/new">New</a>', title="Another title")
        site.pages["/new"] = page("new")
        crawled = gossamer("crawl", "--revisit", "--all", "--store", tmp_path, "--quiet")
        assert crawled.returncode == 0, crawled.stderr
        told = json.loads(gossamer("report", "changes", "--json", "--store", tmp_path).stdout)["rows"]
        assert {row["url"]: row["change"] for row in told} == {f"{site.url}one": "changed", f"{site.url}new": "new"}
        (changed,) = (row for row in told if row["change"] == "changed")
    assert (changed["title_before"], changed["title"]) == ("Title of one", "Another title")
    assert {"title", "links"} <= set(changed["parts"].split())
