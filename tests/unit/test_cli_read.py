"""Commands that read a web: what they tell people and programs, and that nothing from the web acts on a terminal."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from gossamer.cli.main import run
from gossamer.cli.output import cell_width
from gossamer.config import CrawlSettings
from gossamer.urls.canonical import UrlRules, url_digest
from helpers.cli.terminal import gossamer_on_terminal
from helpers.store.small_web import FAULTS, SEED, SOURCE, TITLE, build

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def web(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The small web in ./web."""
    monkeypatch.chdir(tmp_path)
    store = build(tmp_path / "web")
    store.close()
    return tmp_path / "web"


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as end:
        run(arguments)
    answer = capsys.readouterr()
    assert end.value.code == 0, answer.err
    return answer.out


def told_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    return json.loads(told(capsys, *arguments, "--json"))


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as end:
        run(arguments)
    assert end.value.code == 2
    return capsys.readouterr().err


# -- status ----------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("web")
def test_status_tells_programs_what_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    answer = told_json(capsys, "status")
    assert set(answer) >= {"resources", "hosts", "links", "documents", "crawlers", "rate"}
    assert answer["resources"]["visited"] == 2
    assert answer["resources"]["gone"] == 1
    assert (answer["hosts"], answer["documents"], answer["rate"], answer["crawlers"]) == (2, 2, 0, [])
    assert answer["round"]["settings"]["scope"] == "host"


@pytest.mark.usefixtures("web")
def test_status_tells_people_what_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    answer = told(capsys, "status")
    assert answer.startswith("6 resources on 2 hosts, 6 links, 2 documents\n  2 visited\n")
    assert f"Seeds: {SEED}" in answer
    assert "No crawler is at work." in answer


def test_status_tells_who_is_at_work(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = build(tmp_path / "web")
    answer = told(capsys, "status", "--store", str(tmp_path / "web"))
    store.close()
    assert "Naiad is running: 0.0 pages/s" in answer


# -- page ------------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("web")
def test_a_page_is_told_to_programs_with_its_links(capsys: pytest.CaptureFixture[str]) -> None:
    answer = told_json(capsys, "page", f"{SEED}a")
    assert answer["url"] == f"{SEED}a"
    assert answer["state"] == "visited"
    (inlink,) = answer["inlinks"]
    assert (inlink["url"], inlink["anchor"], inlink["weight"]) == (SEED, "to a", 2)
    assert [link["url"] for link in answer["outlinks"]] == [SEED, "https://other.example/"]
    assert answer["ranks"] is None
    assert answer["visits"][0]["outcome"] == "fetched"


@pytest.mark.usefixtures("web")
def test_a_page_is_told_to_people() -> None:
    answer = gossamer_on_terminal("page", SEED).shown
    for fact in (
        "Home \\x1b[31m«U+202E»evil",
        "200 fetched",
        "windows-1252",
        "Links in (1)",
        "Links out (4)",
        "gone 404",
    ):
        assert fact in answer


@pytest.mark.usefixtures("web")
def test_a_page_is_found_without_its_scheme(capsys: pytest.CaptureFixture[str]) -> None:
    assert told_json(capsys, "page", "example.org/a")["url"] == f"{SEED}a"


@pytest.mark.parametrize("near", ["https://example.org/a/", "http://example.org/a", "https://www.example.org/a"])
@pytest.mark.usefixtures("web")
def test_a_url_that_is_not_known_brings_up_one_that_is(near: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert refused(capsys, "page", near) == f"gossamer: {near} is not known in this web. Did you mean {SEED}a?\n"


def test_a_page_is_found_by_the_rules_of_its_web(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = build(tmp_path / "web", settings=CrawlSettings(query="strip"))
    assert store.resource(url_digest(f"{SEED}a?x=1", UrlRules(query="strip"))) is not None
    store.close()
    assert told_json(capsys, "page", f"{SEED}a?x=1", "--store", str(tmp_path / "web"))["url"] == f"{SEED}a"


@pytest.mark.usefixtures("web")
def test_the_text_of_a_page_is_told_by_field(capsys: pytest.CaptureFixture[str]) -> None:
    assert told(capsys, "page", f"{SEED}a", "--text") == "title: Page\nparagraph: some\nwords \\x1b[1m\n"
    answer = told_json(capsys, "page", SEED, "--text")
    assert answer["text"][0] == {"field": "title", "text": TITLE}


@pytest.mark.usefixtures("web")
def test_the_source_of_a_page_comes_byte_for_byte() -> None:
    command = [sys.executable, "-m", "gossamer", "page", SEED, "--source"]
    assert subprocess.run(command, capture_output=True, check=True).stdout == SOURCE


@pytest.mark.usefixtures("web")
def test_the_source_of_a_page_cannot_act_on_a_terminal() -> None:
    assert gossamer_on_terminal("page", SEED, "--source").shown == "<title>Home</title>café \\x1b[2J\n"


@pytest.mark.parametrize(("flag", "words"), [("--text", "has no text: Not Found"), ("--source", "was not kept")])
@pytest.mark.usefixtures("web")
def test_what_a_page_does_not_have_is_told(flag: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert words in refused(capsys, "page", f"{SEED}missing", flag)


# -- hosts -----------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("web")
def test_hosts_are_listed_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    answer = told_json(capsys, "hosts")
    assert [(host["name"], host["pages"]) for host in answer["hosts"]] == [("example.org", 2), ("other.example", 0)]


@pytest.mark.usefixtures("web")
def test_hosts_come_between_tabs_where_no_terminal_is(capsys: pytest.CaptureFixture[str]) -> None:
    first, second, *_ = told(capsys, "hosts").splitlines()
    assert first.split("\t")[:3] == ["host", "pages", "queued"]
    assert second.split("\t")[:3] == ["example.org", "2", "0"]


@pytest.mark.usefixtures("web")
def test_a_limit_is_told_with_how_many_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run(["hosts", "--limit", "1"])
    answer = capsys.readouterr()
    assert len(answer.out.splitlines()) == 2
    assert answer.err == "1 of 2 hosts shown; --limit 0 shows all.\n"


# -- errors ----------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("web")
def test_errors_are_listed_for_programs_with_reason_source_and_anchor(capsys: pytest.CaptureFixture[str]) -> None:
    errors = {row["url"]: row for row in told_json(capsys, "errors")["errors"]}
    assert set(errors) == set(FAULTS)
    missing = errors[f"{SEED}missing"]
    told_of = (missing["outcome"], missing["reason"], missing["source"], missing["anchor"])
    assert told_of == ("not found", "Not Found", SEED, "a broken\tlink")


@pytest.mark.parametrize("name", ["not found", "Not-Found"])
@pytest.mark.usefixtures("web")
def test_errors_of_one_outcome_can_be_asked_for(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    (row,) = told_json(capsys, "errors", "--outcome", name)["errors"]
    assert row["url"] == f"{SEED}missing"


@pytest.mark.parametrize("more", [(), ("--json",), ("--outcome", "not found"), ("--limit", "1")])
@pytest.mark.usefixtures("web")
def test_errors_end_with_exit_code_1_when_asked_to_fail(more: tuple[str, ...]) -> None:
    with pytest.raises(SystemExit) as end:
        run(["errors", "--fail", *more])
    assert end.value.code == 1


@pytest.mark.usefixtures("web")
def test_errors_end_well_when_there_are_none_to_fail_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert told_json(capsys, "errors", "--fail", "--outcome", "tls failure") == {"errors": []}


@pytest.mark.usefixtures("web")
def test_errors_are_grouped_for_people() -> None:
    answer = gossamer_on_terminal("errors").shown
    for line in ("not found: 1", "refused by robots.txt: 1", "timeout: 1"):
        assert f"{line}\n" in answer
    assert "a broken\\tlink" in answer
    assert "\x1b" not in answer
    assert "\x07" not in answer


@pytest.mark.usefixtures("web")
def test_errors_between_tabs_keep_their_columns(capsys: pytest.CaptureFixture[str]) -> None:
    lines = told(capsys, "errors").splitlines()
    assert {line.count("\t") for line in lines} == {4}
    assert len(lines) == 1 + len(FAULTS)


def test_a_web_without_errors_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("smallweb.FAULTS", {})
    build(tmp_path / "web").close()
    assert gossamer_on_terminal("errors", "--store", str(tmp_path / "web")).shown == "No errors.\n"


@pytest.mark.parametrize("columns", [80, 120])
@pytest.mark.parametrize("command", [["errors"], ["hosts"], ["page", SEED], ["crawlers"], ["config", "show"]])
@pytest.mark.usefixtures("web")
def test_tables_fit_the_terminal(command: list[str], columns: int) -> None:
    lines = gossamer_on_terminal(*command, columns=columns).shown.splitlines()
    assert [line for line in lines if cell_width(line) > columns] == []


# -- places ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["status", "hosts", "errors", "crawlers"])
def test_a_place_without_a_web_is_told_in_a_sentence(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sentence = refused(capsys, command, "--store", str(tmp_path / "none"))
    assert str(tmp_path / "none") in sentence
    assert len(sentence.splitlines()) == 1


def test_the_place_can_come_from_the_environment(
    web: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(web.parent.parent)
    monkeypatch.setenv("GOSSAMER_STORE", str(web))
    assert told_json(capsys, "status")["hosts"] == 2
