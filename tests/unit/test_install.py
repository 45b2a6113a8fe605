"""requirements/install.py shows how far the installation of packages is, on a terminal and elsewhere."""

from __future__ import annotations

import importlib.util
import io
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from helpers.cli.commands import environment

if TYPE_CHECKING:
    from types import ModuleType

SCRIPT = Path(__file__).resolve().parents[2] / "requirements" / "install.py"
UNKNOWN_HASH = f"--hash=sha256:{'0' * 64}"
OUTPUT = ("Collecting click==8", "  Downloading click.whl", "Collecting click==8", "Collecting rich==14")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def install() -> ModuleType:
    spec = importlib.util.spec_from_file_location("install", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def installed(lock: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, SCRIPT, lock], capture_output=True, text=True, check=False,
        env=environment({"PIP_NO_INDEX": "1"}),
    )  # fmt: skip


def test_a_terminal_has_one_line_that_counts_packages(install: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    progress = install.Progress(2)
    for line in OUTPUT:
        progress.read(line)
    progress.read("Installing collected packages: click, rich")
    progress.close()
    assert "\n" not in terminal.getvalue()
    assert [line.removesuffix("\x1b[K") for line in terminal.getvalue().split("\r")] == [
        "", "Installing 2 packages ...", "Downloading package 1 of at most 2: click",
        "Downloading package 2 of at most 2: rich", "Unpacking the packages ...", "",
    ]  # fmt: skip


def test_a_log_has_a_line_now_and_then(install: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(install.time, "monotonic", lambda: now)
    monkeypatch.setattr(sys, "stderr", log := io.StringIO())
    progress = install.Progress(2)
    progress.read(OUTPUT[0])
    now = install.PLAIN_SECONDS
    progress.read(OUTPUT[-1])
    progress.close()
    assert log.getvalue().splitlines() == ["Installing 2 packages ...", "Downloading package 2 of at most 2: rich"]


def test_packages_of_a_lock_file_are_counted_and_installed(tmp_path: Path) -> None:
    lock = tmp_path / "some.lock"
    lock.write_text(f"click=={version('click')} {UNKNOWN_HASH}\n")  # already there, so nothing is downloaded
    done = installed(lock)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "Installing 1 package ...\n")


def test_the_end_of_pips_output_explains_a_failure(tmp_path: Path) -> None:
    lock = tmp_path / "some.lock"
    lock.write_text(f"no-such-package==1.0 {UNKNOWN_HASH}\n")
    done = installed(lock)
    assert done.returncode != 0
    assert "No matching distribution found for no-such-package==1.0" in done.stderr
