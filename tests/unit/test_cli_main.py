"""The command line as a whole: one-sentence errors, fast help and version, closed pipes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
import pytest

from gossamer.cli.main import COMMANDS, app, run
from gossamer.cli.reference import commands_text, reports_text
from gossamer.config.describe import reference_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


REFERENCE = Path(__file__).parents[2] / "docs" / "reference"


@pytest.fixture(autouse=True)
def in_empty_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def exit_code(*arguments: str) -> int:
    with pytest.raises(SystemExit) as end:
        run(arguments)
    assert isinstance(end.value.code, int)
    return end.value.code


def gossamer_command(*arguments: str) -> Sequence[str]:
    return [sys.executable, "-m", "gossamer", *arguments]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["crwal"], ["crwal"]),
        (["status", "--jsn"], ["--jsn", "gossamer status --help"]),
        (["page"], ["URL"]),
        (["page", "not a url at all", "--store", "."], ["gossamer:"]),
        (["status", "--store", "nowhere"], ["nowhere"]),
        (["hosts", "--limit", "many"], ["many"]),
        (["errors", "--outcome", "not fund"], ["not fund", "not found"]),
        (["pause", "Naiad", "--all"], ["--all"]),
        (["config", "show", "--config", "nowhere.toml"], ["nowhere.toml"]),
        (["config", "init", "--out", "no/such/place.toml"], ["no/such/place.toml", "No such file"]),
        (["import", "nowhere"], ["nowhere"]),
        (["export", "files"], ["--out"]),
    ],
)
def test_an_error_is_one_sentence_on_stderr_with_exit_code_2(
    arguments: list[str], words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code(*arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("gossamer: ")
    assert len(captured.err.splitlines()) == 1
    for word in words:
        assert word in captured.err


def test_error_messages_escape_terminal_control_sequences(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code("\x1b[2Jcrawl") == 2
    assert "\x1b" not in capsys.readouterr().err


def test_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code("--version") == 0
    assert capsys.readouterr().out.startswith("gossamer 0.")


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"]])
def test_help_lists_every_command(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(*arguments) == 0
    output = capsys.readouterr().out
    assert [name for commands in COMMANDS.values() for name, _, _ in commands if f"\n  {name} " not in output] == []


def test_the_help_flags_do_not_depend_on_the_first_context() -> None:
    assert {"-h", "--help"} <= {flag for parameter in app.params for flag in parameter.opts}


@pytest.mark.parametrize("name", [name for commands in COMMANDS.values() for name, _, _ in commands])
def test_every_listed_command_exists_and_has_help(name: str) -> None:
    command = app.get_command(click.Context(app), name)
    assert command is not None
    assert command.name == name
    assert command.help


def commands(group: click.Group) -> Iterator[click.Command]:
    """Yield the commands of a group and of its subgroups."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield from commands(command) if isinstance(command, click.Group) else [command]


def test_every_command_accepts_json() -> None:
    assert [each.name for each in commands(app) if "--json" not in {o for p in each.params for o in p.opts}] == []


def test_a_closed_pipe_prints_no_error() -> None:
    writer = subprocess.Popen(
        gossamer_command("config", "init", "--out", "-"), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert writer.stdout is not None
    assert writer.stderr is not None
    writer.stdout.close()
    assert writer.stderr.read() == b""
    assert writer.wait() == 141
    writer.stderr.close()


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["status"], ["errors", "--json"]])
def test_no_heavy_module_is_imported_before_the_first_output(arguments: list[str]) -> None:
    heavy = ("rich.console", "pycurl", "selectolax", "pypdfium2", "chardet", "pydantic", "typer", "asyncio")
    program = (
        "import json, sys\nfrom gossamer.cli.main import run\n"
        f"try:\n    run({arguments!r})\nexcept SystemExit:\n    pass\n"
        f"print(json.dumps([name for name in {heavy!r} if name in sys.modules]))"
    )
    completed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert json.loads(completed.stdout.splitlines()[-1]) == []


@pytest.mark.parametrize(
    ("page", "text"),
    [("commands.md", commands_text), ("settings.md", reference_text), ("reports.md", reports_text)],
)
def test_the_reference_pages_are_up_to_date(page: str, text: Callable[[], str]) -> None:
    assert (REFERENCE / page).read_text() == text(), "run: python -m gossamer.cli.reference docs/reference"
