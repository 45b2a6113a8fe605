"""`forget`: says what goes, asks, and removes a page or a host."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from gossamer.cli.main import run
from gossamer.urls.canonical import url_digest
from helpers.cli.terminal import gossamer_on_terminal
from helpers.store.small_web import SEED, build

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from gossamer.store.sqlite import SqliteStore


@pytest.fixture
def web(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SqliteStore]:
    """The small web in ./web, its crawler still holding example.org."""
    monkeypatch.chdir(tmp_path)
    store = build(tmp_path / "web")
    yield store
    store.close()


def call(*arguments: str) -> int:
    with pytest.raises(SystemExit) as end:
        run(arguments)
    assert isinstance(end.value.code, int)
    return end.value.code


def test_a_page_goes_with_all_that_hangs_on_it(web: SqliteStore, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("forget", "example.org/a", "--yes") == 0
    row = web.resource(url_digest(f"{SEED}a"))
    assert row is None or (row.state, row.visits, web.text(row.id)) == ("known", 0, None)
    assert capsys.readouterr().err == f"Forgot {SEED}a.\n"


def test_a_host_goes_with_its_resources(web: SqliteStore) -> None:
    web.leave(1)
    assert call("forget", "other.example", "--yes") == 0
    assert call("forget", "example.org", "--yes") == 0
    assert web.counts().documents == 0


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("example.org/a", {"forgotten": f"{SEED}a", "resources": 1}),
        ("other.example", {"forgotten": "other.example", "resources": 1}),
    ],
)
@pytest.mark.usefixtures("web")
def test_what_went_is_told_to_programs(
    typed: str, answer: dict[str, object], capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("forget", typed, "--yes", "--json") == 0
    assert json.loads(capsys.readouterr().out) == answer


def test_a_host_that_is_being_visited_is_not_taken_away(web: SqliteStore, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("forget", "example.org", "--yes") == 2
    assert "gossamer stop Naiad" in capsys.readouterr().err
    assert web.counts().documents == 2


@pytest.mark.parametrize(("typed", "code", "left"), [("y\n", 0, 1), ("n\n", 130, 2), ("\x03", 130, 2)])
def test_people_are_asked_first(typed: str, code: int, left: int, web: SqliteStore) -> None:
    session = gossamer_on_terminal("forget", f"{SEED}a", typed=typed)
    assert session.code == code
    assert f"{SEED}a (visited) will be removed" in session.shown
    assert web.counts().documents == left


def test_a_program_must_say_yes(web: SqliteStore, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("forget", f"{SEED}a") == 2
    assert "Give --yes to do it." in capsys.readouterr().err
    assert web.counts().documents == 2


@pytest.mark.parametrize("what", ["nowhere.example", f"{SEED}nothing"])
@pytest.mark.usefixtures("web")
def test_what_is_not_known_cannot_be_forgotten(what: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("forget", what, "--yes") == 2
    assert what in capsys.readouterr().err
