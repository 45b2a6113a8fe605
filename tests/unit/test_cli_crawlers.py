"""Commands about active crawlers: list, pause, resume, stop, change the number of parsers."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from gossamer.cli.main import run
from gossamer.store.values import CrawlerReport
from helpers.cli.terminal import gossamer_on_terminal
from helpers.store.small_web import NOW, build

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from gossamer.store.sql_store import SqlStore

REPORT = CrawlerReport(
    state="running", pages=7, pages_per_second=3.5, bytes_per_second=1000, limit="politeness", waiting_for="",
    parsers=2, most_parsers=4,
)  # fmt: skip


@pytest.fixture
def web(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SqlStore]:
    """Yield the small web in ./web, with the crawlers Naiad and Thalassa at work."""
    monkeypatch.chdir(tmp_path)
    store = build(tmp_path / "web")
    store.join("testbed", 2)
    yield store
    store.close()


def call(*arguments: str) -> int:
    with pytest.raises(SystemExit) as end:
        run(arguments)
    assert isinstance(end.value.code, int)
    return end.value.code


def wanted_states(web: SqlStore) -> list[str]:
    return [crawler.wanted for crawler in web.crawlers()]


def test_crawlers_json_lists_the_crawlers(web: SqlStore, capsys: pytest.CaptureFixture[str]) -> None:
    web.heartbeat(1, REPORT, NOW)
    assert call("crawlers", "--json") == 0
    first, second = json.loads(capsys.readouterr().out)["crawlers"]
    assert (first["name"], first["state"], first["pages_per_second"]) == ("Naiad", "running", 3.5)
    assert second["name"] == "Thalassa"


def test_crawlers_shows_the_wanted_state(web: SqlStore, capsys: pytest.CaptureFixture[str]) -> None:
    web.set_wanted_state("Naiad", "pause")
    assert call("crawlers") == 0
    assert "Naiad\trunning, shall pause\t" in capsys.readouterr().out


def test_crawlers_fit_80_columns_and_wide_shows_all(web: SqlStore) -> None:
    waiting = replace(REPORT, waiting_for="host-0.example.org (held by Thalassa); host-1.example.org (held by Proteus)")
    web.heartbeat(1, waiting, time.time())
    web.set_wanted_state("Naiad", "pause")
    web.set_wanted_parsers("Naiad", 4)
    lines = gossamer_on_terminal("crawlers", columns=80).output.splitlines()
    assert lines[0].split()[:3] == ["name", "state", "pages"]
    assert max(map(len, lines)) <= 80
    assert lines[-2:] == [
        "No room for bytes/s, parsers, seen, where: --wide shows all columns.",
        "Values with … are cut: --wide shows them whole.",
    ]
    wide = gossamer_on_terminal("crawlers", "--wide", columns=80).output
    assert waiting.waiting_for in wide
    assert "bytes/s" in wide


def test_a_stopped_crawler_shows_no_wanted_state(web: SqlStore, capsys: pytest.CaptureFixture[str]) -> None:
    web.set_wanted_state("Naiad", "pause")
    web.leave(1)
    assert call("crawlers") == 0
    assert "Naiad\tstopped\t" in capsys.readouterr().out


@pytest.mark.parametrize(("command", "word"), [("pause", "pause"), ("stop", "stop"), ("resume", "run")])
def test_control_commands_accept_a_crawler_name_in_any_case(
    command: str, word: str, web: SqlStore, capsys: pytest.CaptureFixture[str]
) -> None:
    web.set_wanted_state("Naiad", "pause")
    assert call(command, "naiad") == 0
    assert wanted_states(web) == [word, "run"]
    assert capsys.readouterr().err.startswith("Naiad will ")


def test_control_commands_print_the_asked_crawlers_as_json(web: SqlStore, capsys: pytest.CaptureFixture[str]) -> None:
    web.heartbeat(1, REPORT, time.time())
    assert call("pause", "--all", "--json") == 0
    assert json.loads(capsys.readouterr().out) == {
        "asked": [{"name": name, "wanted": "pause", "at_work": True} for name in ("Naiad", "Thalassa")]
    }
    for command, word in (("resume", "run"), ("stop", "stop")):
        assert call(command, "naiad", "--json") == 0
        assert json.loads(capsys.readouterr().out) == {"asked": [{"name": "Naiad", "wanted": word, "at_work": True}]}
    assert call("parsers", "3", "Naiad", "--json") == 0
    assert json.loads(capsys.readouterr().out) == {"asked": [{"name": "Naiad", "wanted_parsers": 3, "at_work": True}]}


def test_parsers_changes_the_wanted_number_of_parsers(web: SqlStore, capsys: pytest.CaptureFixture[str]) -> None:
    web.heartbeat(1, REPORT, time.time())
    assert call("parsers", "3", "naiad") == 0
    assert capsys.readouterr().err == "Naiad will have 3 parsers within a few seconds.\n"
    assert [crawler.wanted_parsers for crawler in web.crawlers()] == [3, None]
    assert call("crawlers") == 0
    assert "\t2, shall be 3\t" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("number", "name", "message"),
    [
        ("5", "Naiad", "Naiad may have at most 4 parsers; give a smaller number."),
        ("0", "Naiad", "0 is not in the range"),
        ("3", "Thalassa", "Thalassa cannot change its number of parsers; leave it out."),
        ("3", "Bob", "No crawler called Bob is at work"),
    ],
)
def test_an_impossible_number_of_parsers_is_refused(
    number: str, name: str, message: str, web: SqlStore, capsys: pytest.CaptureFixture[str]
) -> None:
    web.heartbeat(1, REPORT, time.time())
    assert call("parsers", number, name) == 2
    assert message in capsys.readouterr().err
    assert [crawler.wanted_parsers for crawler in web.crawlers()] == [None, None]


def test_pause_all_reaches_every_crawler(web: SqlStore) -> None:
    assert call("pause", "--all") == 0
    assert wanted_states(web) == ["pause", "pause"]


def test_an_unknown_crawler_name_is_reported_and_no_crawler_stops(
    web: SqlStore, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("stop", "Naiad", "Bob") == 2
    assert "No crawler called Bob is at work, only Naiad, Thalassa." in capsys.readouterr().err
    assert wanted_states(web) == ["run", "run"]


@pytest.mark.usefixtures("web")
def test_stop_all_fails_without_an_active_crawler(web: SqlStore, capsys: pytest.CaptureFixture[str]) -> None:
    web.leave(1)
    web.leave(2)
    assert call("stop", "--all") == 2
    assert "No crawler is at work." in capsys.readouterr().err


@pytest.mark.usefixtures("web")
def test_names_together_with_all_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("stop", "Naiad", "--all") == 2
    assert "--all" in capsys.readouterr().err


@pytest.mark.parametrize(("command", "word"), [("pause", "pause"), ("stop", "stop"), ("resume", "run")])
def test_the_only_crawler_needs_no_name(command: str, word: str, web: SqlStore) -> None:
    web.leave(2)
    web.set_wanted_state("Naiad", "pause")
    assert call(command) == 0
    assert wanted_states(web)[0] == word


def test_several_crawlers_need_names(web: SqlStore, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("pause") == 2
    assert "Several crawlers are at work: Naiad, Thalassa. Name some of them, or give --all." in capsys.readouterr().err
    assert wanted_states(web) == ["run", "run"]


@pytest.mark.parametrize("command", ["pause", "resume", "stop"])
def test_without_a_crawler_control_says_so(command: str, web: SqlStore, capsys: pytest.CaptureFixture[str]) -> None:
    web.leave(1)
    web.leave(2)
    assert call(command) == 2
    assert "No crawler is at work. Start one: gossamer crawl" in capsys.readouterr().err
