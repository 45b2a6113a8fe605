"""A web that 0.1 wrote, and left in the middle of a crash, opens and works today."""

from __future__ import annotations

import json
import os
import sqlite3
import tomllib
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from frozen.compare import lost_facts
from frozen.kept_web import QUESTIONS, answers_of_0_1, ask, output, restore, stable, unpack
from frozen.small_site import GARDEN, MUSEUM, Proxy, later_pages, page
from gossamer import open_web

BACK_ENDS = ("sqlite", "postgres")
HALLS = [f"{MUSEUM}hall/{number}" for number in range(1, 7)]
DERIVED = {"word", "search", "search in the museum", "export words"}  # questions that the index answers
FAST = ("--delay", "0", "--connections", "4")  # a web in PostgreSQL has no settings file
_numbers = count()


class Kept(NamedTuple):
    """A copy of the kept web."""

    back_end: str
    location: str
    env: dict[str, str]  # for commands

    def json(self, *arguments: object) -> Any:
        """What a command answers about it; of several lines, the last."""
        text = output(*arguments, "--store", self.location, "--json", env=self.env)
        return json.loads(text) if text.startswith("{\n") else json.loads(text.splitlines()[-1])


def new_copy(back_end: str, directory: Path, request: pytest.FixtureRequest) -> Kept:
    env = {"GOSSAMER_LOCAL": str(directory / "local")}
    if back_end == "sqlite":
        return Kept(back_end, str(unpack(directory)), env)
    return Kept(back_end, restore(*new_schema(request)), env)


def new_schema(request: pytest.FixtureRequest) -> tuple[str, str]:
    return request.getfixturevalue("postgres").get_uri(), f"kept_{os.getpid()}_{next(_numbers)}"


@pytest.fixture(params=BACK_ENDS)
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> Kept:
    """The web as 0.1 left it, for one test."""
    return new_copy(request.param, tmp_path, request)


@pytest.fixture(scope="module", params=BACK_ENDS)
def read_only(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Kept:
    """The web with its index brought up to date, for tests that change nothing."""
    web = new_copy(request.param, tmp_path_factory.mktemp("kept"), request)
    web.json("index")
    return web


def comparable(name: str, answer: Any) -> Any:
    """The part of an answer that must stay; the order of hits is a matter of ranking."""
    if name.startswith("search"):
        return {"total": answer["total"], "hits": sorted(hit["url"] for hit in answer["hits"])}
    if name == "reports":  # new reports are allowed
        return stable({report["code"]: report for report in answer["reports"]})
    return stable(answer)


def assert_as_0_1(kept: Kept, name: str, location: str | None = None) -> None:
    expected = comparable(name, answers_of_0_1(kept.back_end)[name])
    assert not lost_facts(expected, comparable(name, ask(location or kept.location, name, kept.env)), name)


def outcomes(kept: Kept) -> dict[str, str]:
    rows = output("export", "resources", "--format", "jsonl", "--store", kept.location, env=kept.env).splitlines()
    return {row["url"]: row["outcome"] for row in map(json.loads, rows)}


# -- reading -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_question_has_the_answer_that_0_1_gave(read_only: Kept, name: str) -> None:
    assert_as_0_1(read_only, name)


def test_the_index_that_0_1_wrote_answers_a_search(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    assert_as_0_1(new_copy("sqlite", tmp_path, request), "search in the garden")


@pytest.mark.parametrize("name", sorted(DERIVED))
def test_a_rebuilt_index_gives_the_answer_that_0_1_gave(rebuilt: Kept, name: str) -> None:
    assert_as_0_1(rebuilt, name)


@pytest.fixture(scope="module")
def rebuilt(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Kept:
    """The web in a directory with a new index."""
    web = new_copy("sqlite", tmp_path_factory.mktemp("rebuilt"), request)
    web.json("index", "--rebuild")
    return web


def test_every_setting_of_the_kept_settings_file_is_read(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    kept = new_copy("sqlite", tmp_path, request)
    file = Path(kept.location, "gossamer.toml")
    sections = tomllib.loads(file.read_text())
    hosts = {f'hosts."{name}"': settings for name, settings in sections.pop("hosts").items()}
    written = {f"{section}.{key}" for section, settings in {**sections, **hosts}.items() for key in settings}
    shown = {row["key"] for row in kept.json("config", "show")["settings"] if row["from"] == str(file)}
    assert len(written) > 70
    assert written - shown == set()


def test_the_library_opens_it(read_only: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOSSAMER_LOCAL", read_only.env["GOSSAMER_LOCAL"])
    with open_web(read_only.location) as web:
        found = web.page(f"{GARDEN}orchids")
        assert found is not None
        assert found.title == "Orchids and lilies"
        assert [visit.outcome for visit in web.visits(f"{GARDEN}roses")] == ["fetched", "not modified"]
        assert b"Roses need sun" in (web.source(f"{GARDEN}roses") or b"")
        assert {hit.url for hit in web.search("lilies").hits} == {f"{GARDEN}orchids", f"{GARDEN}lilies"}


# -- working on --------------------------------------------------------------------------------------------------------


def test_a_crawl_goes_on_where_the_killed_crawler_of_0_1_stopped(kept: Kept) -> None:
    before = outcomes(kept)
    assert {url for url in HALLS if not before[url]} == set(HALLS[2:])
    with Proxy(later_pages()) as proxy:
        summary = kept.json("crawl", *FAST, *proxy.flags)
    assert (summary["pages"], summary["queued"]) == (4, 0)
    assert outcomes(kept) == before | dict.fromkeys(HALLS, "fetched")
    assert {hit["url"] for hit in kept.json("search", "site:museum.example", "hall")["hits"]} >= set(HALLS)
    if kept.back_end == "sqlite":
        with closing(sqlite3.connect(f"{kept.location}/web.db")) as database:
            assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def test_another_visit_finds_what_changed_since_0_1(kept: Kept) -> None:
    pages = later_pages()
    pages[f"{GARDEN}lilies"] = page("Tulips", '<p>Tulips bloom in April. <a href="/bulbs">bulbs</a></p>')
    pages[f"{GARDEN}bulbs"] = page("Bulbs", "<p>Plant them in autumn.</p>")
    with Proxy(pages) as proxy:
        kept.json("crawl", "--revisit", "--all", *FAST, *proxy.flags)
    tulips = kept.json("page", f"{GARDEN}lilies")
    assert (tulips["title"], len(tulips["visits"])) == ("Tulips", 2)
    assert [(row["title"], row["event"]) for row in tulips["history"]] == [("Lilies", "changed")]
    assert [row["url"] for row in kept.json("search", "tulips")["hits"]] == [f"{GARDEN}lilies"]
    assert kept.json("page", f"{GARDEN}bulbs")["state"] == "visited"
    assert kept.json("rank")["ranking"]["pages"] == 18


def test_a_copy_verifies_and_has_the_answers_of_0_1(kept: Kept, tmp_path: Path) -> None:
    copy = str(tmp_path / "copy")
    made = json.loads(output("copy", kept.location, copy, "--json", env=kept.env))
    assert made["rows"] == sum(table["rows"] for table in made["tables"].values()) > 200
    for name in ("status", "page", "errors", "export links", "export visits"):
        assert_as_0_1(kept, name, copy)


def test_a_directory_of_0_1_can_be_copied_into_a_database(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    kept = new_copy("sqlite", tmp_path, request)
    uri, schema = new_schema(request)
    copy = f"{uri}&schema={schema}"
    output("copy", kept.location, copy, "--json", env=kept.env)
    for name in ("status", "page", "errors", "export links", "export visits"):
        assert_as_0_1(kept, name, copy)
