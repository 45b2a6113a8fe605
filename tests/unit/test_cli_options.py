"""The flags that are made of the settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import pytest
from click.testing import CliRunner

from gossamer.cli.options import load_settings, settings_flags
from gossamer.config.describe import all_settings
from gossamer.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def given(*arguments: str) -> dict[str, object]:
    """The flags that a command gets, without those that were not given."""
    got: list[Mapping[str, object]] = []

    @click.command()
    @settings_flags
    def command(flags: Mapping[str, object]) -> None:
        got.append(flags)

    result = CliRunner().invoke(command, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    assert set(got[0]) == {setting.key for setting in all_settings() if setting.flag}
    return {key: value for key, value in got[0].items() if value is not None}


def test_flags_that_are_not_given_say_nothing() -> None:
    assert given() == {}


def test_flags_arrive_under_their_settings() -> None:
    assert given("--max-depth", "3", "--parsers", "2", "--delay", "none") == {
        "crawl.max_depth": "3", "parse.processes": "2", "politeness.delay": "none",
    }  # fmt: skip


def test_a_list_is_given_again_and_again() -> None:
    assert given("--domain", "a.example", "--domain", "b.example") == {"crawl.domains": ("a.example", "b.example")}


def test_switches_go_both_ways() -> None:
    assert given("--no-links", "--trust-proxy") == {"crawl.links": False, "fetch.trust_proxy": True}


def test_given_flags_become_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    loaded = load_settings("web", None, given("--no-source", "--scope", "any", "--include", "a{1,2}"))
    crawl = loaded.settings.crawl
    assert (crawl.source, crawl.scope, crawl.include) == (False, "any", ("a{1,2}",))
    assert loaded.origins["crawl.source"] == "--no-source"


def test_a_wrong_flag_is_told_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SettingsError, match=r"^--scope is \"moon\", and must be one of"):
        load_settings("web", None, given("--scope", "moon"))
