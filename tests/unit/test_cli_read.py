"""Commands that read a web: their output, and no terminal control sequences from stored pages."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from gossamer.cli.main import run
from gossamer.cli.output import cell_width
from gossamer.config import CrawlSettings
from gossamer.store.sqlite import open_sqlite_store
from gossamer.store.values import CrawlerReport
from gossamer.urls.canonical import UrlRules, url_digest
from helpers.cli.terminal import gossamer_on_terminal
from helpers.store.small_web import FAULTS, SEED, SOURCE, TITLE, build

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def web(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the path of the small web, ./web."""
    monkeypatch.chdir(tmp_path)
    store = build(tmp_path / "web")
    store.close()
    return tmp_path / "web"


def command_output(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as end:
        run(arguments)
    answer = capsys.readouterr()
    assert end.value.code == 0, answer.err
    return answer.out


def command_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    return json.loads(command_output(capsys, *arguments, "--json"))


def error_output(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as end:
        run(arguments)
    assert end.value.code == 2
    return capsys.readouterr().err


# -- status ----------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("web")
def test_status_json_holds_the_counts_and_the_round(capsys: pytest.CaptureFixture[str]) -> None:
    answer = command_json(capsys, "status")
    assert set(answer) >= {"resources", "hosts", "links", "documents", "crawlers", "rate"}
    assert answer["resources"]["visited"] == 2
    assert answer["resources"]["gone"] == 1
    assert (answer["hosts"], answer["documents"], answer["rate"], answer["crawlers"]) == (2, 2, 0, [])
    assert answer["round"]["settings"]["scope"] == "host"


@pytest.mark.usefixtures("web")
def test_status_prints_the_counts_and_the_seeds(capsys: pytest.CaptureFixture[str]) -> None:
    answer = command_output(capsys, "status")
    assert answer.startswith("2 pages on 1 host, 1 host linked to\n6 links, 2 documents\n6 URLs known:\n  2 visited\n")
    assert f"Seeds: {SEED}" in answer
    assert "No crawler is at work." in answer


def test_status_lists_active_crawlers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = build(tmp_path / "web")
    answer = command_output(capsys, "status", "--store", str(tmp_path / "web"))
    store.close()
    assert "Naiad is running: 0.0 pages/s" in answer


# -- page ------------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("web")
def test_page_json_holds_the_links(capsys: pytest.CaptureFixture[str]) -> None:
    answer = command_json(capsys, "page", f"{SEED}a")
    assert answer["url"] == f"{SEED}a"
    assert answer["state"] == "visited"
    (inlink,) = answer["inlinks"]
    assert (inlink["url"], inlink["anchor"], inlink["weight"]) == (SEED, "to a", 2)
    assert [link["url"] for link in answer["outlinks"]] == [SEED, "https://other.example/"]
    assert answer["ranks"] is None
    assert answer["visits"][0]["outcome"] == "fetched"


@pytest.mark.usefixtures("web")
def test_page_prints_title_visits_and_links() -> None:
    answer = gossamer_on_terminal("page", SEED).output
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
    assert command_json(capsys, "page", "example.org/a")["url"] == f"{SEED}a"


@pytest.mark.parametrize("near", ["https://example.org/a/", "http://example.org/a", "https://www.example.org/a"])
@pytest.mark.usefixtures("web")
def test_an_unknown_url_suggests_a_similar_known_one(near: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert error_output(capsys, "page", near) == f"gossamer: {near} is not known in this web. Did you mean {SEED}a?\n"


def test_page_applies_the_url_rules_of_the_web(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = build(tmp_path / "web", settings=CrawlSettings(query="strip"))
    assert store.resource(url_digest(f"{SEED}a?x=1", UrlRules(query="strip"))) is not None
    store.close()
    assert command_json(capsys, "page", f"{SEED}a?x=1", "--store", str(tmp_path / "web"))["url"] == f"{SEED}a"


@pytest.mark.usefixtures("web")
def test_page_text_is_printed_by_field(capsys: pytest.CaptureFixture[str]) -> None:
    assert command_output(capsys, "page", f"{SEED}a", "--text") == "title: Page\nparagraph: some\nwords \\x1b[1m\n"
    answer = command_json(capsys, "page", SEED, "--text")
    assert answer["text"][0] == {"field": "title", "text": TITLE}


@pytest.mark.usefixtures("web")
def test_page_source_is_printed_byte_for_byte() -> None:
    command = [sys.executable, "-m", "gossamer", "page", SEED, "--source"]
    assert subprocess.run(command, capture_output=True, check=True).stdout == SOURCE


@pytest.mark.usefixtures("web")
def test_page_source_is_escaped_on_a_terminal() -> None:
    assert gossamer_on_terminal("page", SEED, "--source").output == "<title>Home</title>café \\x1b[2J\n"


@pytest.mark.parametrize(("flag", "words"), [("--text", "has no text: Not Found"), ("--source", "is not stored")])
@pytest.mark.usefixtures("web")
def test_missing_text_or_source_is_reported(flag: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert words in error_output(capsys, "page", f"{SEED}missing", flag)


# -- hosts -----------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("web")
def test_hosts_json_lists_hosts_with_pages(capsys: pytest.CaptureFixture[str]) -> None:
    answer = command_json(capsys, "hosts")
    assert [(host["name"], host["pages"]) for host in answer["hosts"]] == [("example.org", 2), ("other.example", 0)]


@pytest.mark.usefixtures("web")
def test_unvisited_hosts_are_hidden_on_a_terminal_only(capsys: pytest.CaptureFixture[str]) -> None:
    shown = gossamer_on_terminal("hosts").output
    assert "example.org" in shown
    assert "other.example" not in shown
    assert "1 more host linked to, not visited: --all shows it too." in shown
    assert "other.example" in gossamer_on_terminal("hosts", "--all").output
    assert "other.example" in command_output(capsys, "hosts")


@pytest.mark.usefixtures("web")
def test_hosts_call_failures_as_the_glossary_does_on_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert "  failed or gone  " in gossamer_on_terminal("hosts").output.splitlines()[0]
    assert "failed" in command_output(capsys, "hosts").splitlines()[0].split("\t")


@pytest.mark.usefixtures("web")
def test_hosts_are_tab_separated_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    first, second, *_ = command_output(capsys, "hosts").splitlines()
    assert first.split("\t")[:3] == ["host", "pages", "queued"]
    assert second.split("\t")[:3] == ["example.org", "2", "0"]


@pytest.mark.usefixtures("web")
def test_a_limited_list_shows_the_total(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run(["hosts", "--limit", "1"])
    answer = capsys.readouterr()
    assert len(answer.out.splitlines()) == 2
    assert answer.err == "1 of 2 hosts shown; --limit 0 shows all.\n"


# -- errors ----------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("web")
def test_errors_json_holds_reason_source_and_anchor(capsys: pytest.CaptureFixture[str]) -> None:
    errors = {row["url"]: row for row in command_json(capsys, "errors")["errors"]}
    assert set(errors) == set(FAULTS)
    missing = errors[f"{SEED}missing"]
    facts = (missing["outcome"], missing["reason"], missing["source"], missing["anchor"])
    assert facts == ("not found", "Not Found", SEED, "a broken\tlink")


@pytest.mark.parametrize("name", ["not found", "Not-Found"])
@pytest.mark.usefixtures("web")
def test_errors_can_be_filtered_by_outcome(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    (row,) = command_json(capsys, "errors", "--outcome", name)["errors"]
    assert row["url"] == f"{SEED}missing"


@pytest.mark.parametrize("more", [(), ("--json",), ("--outcome", "not found"), ("--limit", "1")])
@pytest.mark.usefixtures("web")
def test_errors_with_fail_exits_with_code_1(more: tuple[str, ...]) -> None:
    with pytest.raises(SystemExit) as end:
        run(["errors", "--fail", *more])
    assert end.value.code == 1


@pytest.mark.usefixtures("web")
def test_errors_with_fail_exits_with_code_0_if_there_are_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert command_json(capsys, "errors", "--fail", "--outcome", "tls failure") == {"errors": []}


@pytest.mark.usefixtures("web")
def test_errors_are_grouped_by_outcome_on_a_terminal() -> None:
    answer = gossamer_on_terminal("errors").output
    for line in ("not found: 1", "refused by robots.txt: 1", "timeout: 1"):
        assert f"{line}\n" in answer
    assert "a broken\\tlink" in answer
    assert "\x1b" not in answer
    assert "\x07" not in answer


@pytest.mark.usefixtures("web")
def test_tab_separated_errors_keep_their_columns(capsys: pytest.CaptureFixture[str]) -> None:
    lines = command_output(capsys, "errors").splitlines()
    assert {line.count("\t") for line in lines} == {4}
    assert len(lines) == 1 + len(FAULTS)


def test_a_web_without_errors_prints_no_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("helpers.store.small_web.FAULTS", {})
    build(tmp_path / "web").close()
    assert gossamer_on_terminal("errors", "--store", str(tmp_path / "web")).output == "No errors.\n"


@pytest.mark.parametrize("columns", [80, 120])
@pytest.mark.parametrize(
    "command", [["errors"], ["hosts"], ["page", SEED], ["crawlers"], ["status"], ["config", "show"]]
)
@pytest.mark.usefixtures("web")
def test_tables_fit_the_terminal(command: list[str], columns: int) -> None:
    lines = gossamer_on_terminal(*command, columns=columns).output.splitlines()
    assert [line for line in lines if cell_width(line) > columns] == []


def test_a_long_seed_fits_the_terminal_and_stays_whole_in_a_pipe(web: Path, capsys: pytest.CaptureFixture[str]) -> None:
    seeds = [f"{SEED}{name * 80}/end" for name in ("one-", "two-")]
    with closing(open_sqlite_store(web, create=False)) as store:
        store.begin_round("{}", seeds, None, None)
        crawler = store.join("testbed", 1)
        waits = " and ".join(f"host-{number}.example.org" for number in range(8))
        report = CrawlerReport(
            state="running", pages=0, pages_per_second=0.0, bytes_per_second=0.0, limit="politeness", waiting_for=waits
        )
        store.heartbeat(crawler.id, report, time.time())
    lines = gossamer_on_terminal("status", columns=80).output.splitlines()
    assert [line for line in lines if cell_width(line) > 80] == []
    assert any("…" in line and line.endswith("/end,") for line in lines)
    assert "Values with … are cut: gossamer status --json has them whole." in lines
    out = command_output(capsys, "status")
    assert all(seed in out for seed in seeds)


# -- locations -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["status", "hosts", "errors", "crawlers"])
def test_a_location_without_a_web_is_reported_in_one_sentence(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sentence = error_output(capsys, command, "--store", str(tmp_path / "none"))
    assert str(tmp_path / "none") in sentence
    assert len(sentence.splitlines()) == 1


def test_the_location_can_come_from_the_environment(
    web: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(web.parent.parent)
    monkeypatch.setenv("GOSSAMER_STORE", str(web))
    assert command_json(capsys, "status")["hosts"] == 2
