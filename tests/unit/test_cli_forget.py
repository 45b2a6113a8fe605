"""The command `forget`: it announces the removal, asks, and removes a page or a host."""

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

    from gossamer.store.sql_store import SqlStore


@pytest.fixture
def web(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SqlStore]:
    """Yield the small web in ./web, whose crawler still leases example.org."""
    monkeypatch.chdir(tmp_path)
    store = build(tmp_path / "web")
    yield store
    store.close()


def call(*arguments: str) -> int:
    with pytest.raises(SystemExit) as end:
        run(arguments)
    assert isinstance(end.value.code, int)
    return end.value.code


def test_forget_removes_a_page_with_its_visits_and_text(web: SqlStore, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("forget", "example.org/a", "--yes") == 0
    row = web.resource(url_digest(f"{SEED}a"))
    assert row is None or (row.state, row.visits, web.text(row.id)) == ("known", 0, None)
    assert capsys.readouterr().err == f"Forgot {SEED}a.\n"


def test_forget_removes_a_host_with_its_resources(web: SqlStore) -> None:
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
def test_forget_prints_the_removed_url_or_host_as_json(
    typed: str, answer: dict[str, object], capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("forget", typed, "--yes", "--json") == 0
    assert json.loads(capsys.readouterr().out) == answer


def test_forget_refuses_a_host_that_a_crawler_is_visiting(web: SqlStore, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("forget", "example.org", "--yes", "--store", "./web") == 2
    assert "`gossamer stop Naiad --store ./web`" in capsys.readouterr().err
    assert web.counts().documents == 2


@pytest.mark.parametrize(("typed", "code", "left"), [("y\n", 0, 1), ("n\n", 130, 2), ("\x03", 130, 2)])
def test_forget_asks_for_confirmation_on_a_terminal(typed: str, code: int, left: int, web: SqlStore) -> None:
    session = gossamer_on_terminal("forget", f"{SEED}a", typed=typed)
    assert session.code == code
    assert f"{SEED}a (visited) will be removed" in session.output
    assert web.counts().documents == left


def test_forget_needs_yes_without_a_terminal(web: SqlStore, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("forget", f"{SEED}a") == 2
    assert "Give --yes to do it." in capsys.readouterr().err
    assert web.counts().documents == 2


@pytest.mark.parametrize("target", ["nowhere.example", f"{SEED}nothing"])
@pytest.mark.usefixtures("web")
def test_forget_refuses_an_unknown_host_or_url(target: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("forget", target, "--yes") == 2
    assert target in capsys.readouterr().err
