"""Help texts on a terminal of 80 columns: groups, one row an option, examples that parse, suggestions."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

from gossamer.cli.examples import EXAMPLES
from gossamer.cli.main import COMMANDS, app, run
from gossamer.config.describe import all_settings
from helpers.cli.commands import environment

README = Path(__file__).resolve().parents[2] / "README.md"
WIDTH = 80
COMMAND_NAMES = [name for commands in COMMANDS.values() for name, _, _ in commands]


def help_lines(name: str) -> list[str]:
    context = click.Context(app, info_name="gossamer", max_content_width=WIDTH, terminal_width=WIDTH)
    command = app.get_command(context, name)
    assert command is not None
    return command.get_help(click.Context(command, info_name=name, parent=context)).splitlines()


@pytest.mark.parametrize("name", ["crawl", "go", "watch", "status"])
def test_every_option_has_a_row_of_its_own(name: str) -> None:
    lines = help_lines(name)
    assert all(len(line) <= WIDTH for line in lines)
    start = next(number for number, line in enumerate(lines) if line.endswith(":") and not line.startswith(" "))
    rows = [line for line in lines[start:] if line.startswith("  ")]
    assert all(row.lstrip().startswith(("-", "gossamer ")) for row in rows), "no row goes on in the next line"


@pytest.mark.parametrize("name", COMMAND_NAMES)
def test_no_line_of_help_is_longer_than_a_terminal(name: str) -> None:
    assert [line for line in help_lines(name) if len(line) > WIDTH] == []


def test_help_groups_the_settings_of_a_crawl() -> None:
    titles = [line for line in help_lines("crawl") if line.endswith(":") and not line.startswith(" ")]
    assert titles == [
        "Options:", "What to visit:", "Politeness and requests:", "Rendering:", "Index and revisits:",
        "Web and output:", "Examples:",
    ]  # fmt: skip


def test_every_flag_of_a_setting_has_a_brief_text() -> None:
    assert [setting.key for setting in all_settings() if setting.flag and not setting.brief] == []


def test_a_page_limit_says_what_it_counts() -> None:
    assert any("-n, --max-pages N" in line and "pages visited in this round" in line for line in help_lines("crawl"))


@pytest.mark.parametrize("example", [each for rows in EXAMPLES.values() for each, _ in rows])
def test_an_example_parses(example: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    program, name, *arguments = shlex.split(example)
    command = app.get_command(click.Context(app), name)
    assert program == "gossamer"
    assert command is not None
    if name == "import":
        (tmp_path / arguments[0]).mkdir()
    context = command.make_context(name, arguments)
    if isinstance(command, click.Group):
        inner = command.get_command(context, arguments[0])
        assert inner is not None
        inner.make_context(arguments[0], arguments[1:])


@pytest.mark.parametrize("name", ["export", "config"])
def test_the_help_of_a_group_has_whole_sentences_and_examples(name: str) -> None:
    lines = help_lines(name)
    assert not [line for line in lines if "..." in line and "Usage" not in line]
    assert "Examples:" in lines
    assert any(line.lstrip().startswith(f"gossamer {name} ") for line in lines)


def test_a_command_of_a_group_has_no_examples_of_its_namesake() -> None:
    context = click.Context(app, info_name="gossamer")
    group = app.get_command(context, "export")
    assert isinstance(group, click.Group)
    inside = click.Context(group, info_name="export", parent=context)
    command = group.get_command(inside, "hosts")
    assert command is not None
    assert "gossamer hosts" not in command.get_help(click.Context(command, info_name="hosts", parent=inside))


@pytest.mark.parametrize(("typed", "suggestion"), [("serch", "search"), ("crwal", "crawl"), ("Status", "status")])
def test_a_mistyped_command_gets_a_suggestion(typed: str, suggestion: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        run([typed])
    assert end.value.code == 2
    assert f"Did you mean: gossamer {suggestion}?" in capsys.readouterr().err


def test_an_unlike_command_gets_none(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run(["xyzzy"])
    assert "There is no command xyzzy. See gossamer --help." in capsys.readouterr().err


@pytest.mark.parametrize("text", [".", "/etc", "./site", "site"])
def test_a_folder_as_seed_names_the_command_import(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "site").mkdir()
    with pytest.raises(SystemExit) as end:
        run(["crawl", text, "--store", "other"])
    assert end.value.code == 2
    said = capsys.readouterr().err
    assert f"gossamer import {text} --base https://example.org/ --store other" in said
    assert not (tmp_path / "other").exists()


def test_commands_in_errors_name_the_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit):
        run(["report", "nothing", "--store", "some web"])
    assert "--store 'some web'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "completions"), [("gossamer cra", {"crawl", "crawlers"}), ("gossamer rank --we", {"--weighted"})]
)
def test_a_shell_completes_commands_and_options(words: str, completions: set[str]) -> None:
    *_, last = words.split(" ")
    done = subprocess.run(
        [sys.executable, "-m", "gossamer"], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
        env=environment(
            {
                "_GOSSAMER_COMPLETE": "bash_complete",
                "COMP_WORDS": words,
                "COMP_CWORD": str(len(words.split(" ")) - 1),
            }
        ),
    )  # fmt: skip
    assert {line.partition(",")[2] for line in done.stdout.splitlines()} == completions
    assert all(each.startswith(last) for each in completions)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_lines_of_the_readme_start_completion(shell: str) -> None:
    assert f"_GOSSAMER_COMPLETE={shell}_source gossamer" in README.read_text()
    if shutil.which(shell) is None:
        return
    script = subprocess.run(
        [sys.executable, "-m", "gossamer"], capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL,
        env=environment({"_GOSSAMER_COMPLETE": f"{shell}_source"}),
    ).stdout  # fmt: skip
    checked = subprocess.run([shell, "-n"], input=script, capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stderr) == (0, "")


def test_help_shows_no_ranges_of_numbers() -> None:
    assert "  -n, --limit N    Show at most N rows; 0: all" in help_lines("hosts")
    assert any(line.endswith("Documents per page.  [default: 20]") for line in help_lines("word"))
