"""The commands `config init` and `config show`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gossamer.cli.main import run
from gossamer.config import CrawlSettings, init_text
from helpers.store.small_web import build


@pytest.fixture(autouse=True)
def in_empty_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def call(*arguments: str) -> int:
    with pytest.raises(SystemExit) as end:
        run(arguments)
    assert isinstance(end.value.code, int)
    return end.value.code


def shown_settings(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, tuple[Any, str]]:
    assert call("config", "show", "--json", *arguments) == 0
    answer = json.loads(capsys.readouterr().out)
    return {row["key"]: (row["value"], row["from"]) for row in answer["settings"]}


def test_init_writes_into_the_current_directory_without_a_web() -> None:
    assert call("config", "init") == 0
    assert Path("gossamer.toml").read_text() == init_text()


def test_init_writes_the_file_into_the_web() -> None:
    Path("web").mkdir()
    assert call("config", "init") == 0
    assert Path("web/gossamer.toml").read_text() == init_text()


def test_init_replaces_a_file_only_with_force(capsys: pytest.CaptureFixture[str]) -> None:
    Path("mine.toml").write_text("# mine")
    assert call("config", "init", "--out", "mine.toml") == 2
    assert "mine.toml exists already; --force replaces it." in capsys.readouterr().err
    assert Path("mine.toml").read_text() == "# mine"
    assert call("config", "init", "--out", "mine.toml", "--force") == 0
    assert Path("mine.toml").read_text() == init_text()


def test_init_writes_to_stdout_with_out_dash(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("config", "init", "--out", "-") == 0
    assert capsys.readouterr().out == init_text()


def test_init_json_holds_the_path_of_the_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("config", "init", "--json") == 0
    assert json.loads(capsys.readouterr().out) == {"out": "gossamer.toml"}
    assert call("config", "init", "--json", "--out", "-") == 2
    assert "give --out FILE" in capsys.readouterr().err


def test_show_names_the_source_of_each_value(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    build(Path("web"), settings=CrawlSettings(order="best", max_pages=5)).close()
    Path("web/gossamer.toml").write_text("[crawl]\nmax_pages = 6\n")
    monkeypatch.setenv("GOSSAMER_POLITENESS_DELAY", "0.5")
    settings = shown_settings(capsys)
    assert settings["crawl.scope"] == ("host", "default")
    assert settings["crawl.order"] == ("best", "the web")
    assert settings["crawl.max_pages"] == (6, "web/gossamer.toml")
    assert settings["politeness.delay"] == (0.5, "GOSSAMER_POLITENESS_DELAY")


def test_show_changed_leaves_out_the_defaults(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("GOSSAMER_CRAWL_RANK", "GOSSAMER_CRAWL_RENDER"):  # conftest.py sets them
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GOSSAMER_PARSE_PROCESSES", "3")
    assert shown_settings(capsys, "--changed") == {"parse.processes": (3, "GOSSAMER_PARSE_PROCESSES")}


def test_show_never_shows_a_secret(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    Path("gossamer.toml").write_text(
        '[hosts."example.org"]\nusername = "me"\npassword_env = "PASSWORD"\nheaders = { X-Key = "hunter2" }\n'
        'headers_env = { Authorization = "TOKEN" }\ncookies_env = { session = "UNSET_COOKIE" }\n'
    )
    monkeypatch.setenv("PASSWORD", "hunter2")
    monkeypatch.setenv("TOKEN", "hunter2")
    monkeypatch.setenv("GOSSAMER_FETCH_PROXY", "http://me:hunter2@proxy.example:3128")
    settings = shown_settings(capsys)
    assert call("config", "show") == 0
    assert "hunter2" not in capsys.readouterr().out
    assert "hunter2" not in str(settings)
    assert settings["fetch.proxy"][0] == "http://***@proxy.example:3128"
    assert settings['hosts."example.org".password_env'][0] == "PASSWORD (set)"
    assert settings['hosts."example.org".headers'][0] == {"X-Key": "***"}
    assert settings['hosts."example.org".cookies_env'][0] == {"session": "UNSET_COOKIE (not set)"}
