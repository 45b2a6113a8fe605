"""Command-line flags generated from the settings."""

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


def parse_flags(*arguments: str) -> dict[str, object]:
    """Return the flags that a command receives, without the absent ones."""
    received: list[Mapping[str, object]] = []

    @click.command()
    @settings_flags
    def command(flags: Mapping[str, object]) -> None:
        received.append(flags)

    result = CliRunner().invoke(command, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    assert set(received[0]) == {setting.key for setting in all_settings() if setting.flag}
    return {key: value for key, value in received[0].items() if value is not None}


def test_absent_flags_set_nothing() -> None:
    assert parse_flags() == {}


def test_flags_are_keyed_by_setting() -> None:
    assert parse_flags("--max-depth", "3", "--parsers", "2", "--delay", "none") == {
        "crawl.max_depth": "3", "parse.processes": "2", "politeness.delay": "none",
    }  # fmt: skip


def test_repeated_flags_become_a_list() -> None:
    assert parse_flags("--domain", "a.example", "--domain", "b.example") == {
        "crawl.domains": ("a.example", "b.example")
    }


def test_switches_turn_settings_on_and_off() -> None:
    assert parse_flags("--no-links", "--trust-proxy") == {"crawl.links": False, "fetch.trust_proxy": True}


def test_flags_become_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    loaded = load_settings("web", None, parse_flags("--no-source", "--scope", "any", "--include", "a{1,2}"))
    crawl = loaded.settings.crawl
    assert (crawl.source, crawl.scope, crawl.include) == (False, "any", ("a{1,2}",))
    assert loaded.origins["crawl.source"] == "--no-source"


def test_an_invalid_flag_value_is_reported_with_the_flag(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SettingsError, match=r"^--scope is \"moon\", and must be one of"):
        load_settings("web", None, parse_flags("--scope", "moon"))
