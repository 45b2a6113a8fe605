"""A built wheel works outside of the checkout, and carries the scripts that a checkout builds."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from conftest import skip_or_fail
from helpers.cli.commands import environment
from helpers.patience import PATIENCE
from helpers.web.browser import MANIFEST, ROOT


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel, as `make wheel` does."""
    if not MANIFEST.exists():
        skip_or_fail("The explorer and the live charts are not built: `make frontend` builds them")
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (path,) = folder.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel alone into a directory; its dependencies come from this environment."""
    target = tmp_path_factory.mktemp("installed")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "install"]
    subprocess.run([*pip, "--no-deps", "--no-index", "--target", str(target), str(wheel)], check=True)
    return target


def run_installed(target: Path, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run the program of an installed wheel, away from the checkout."""
    return subprocess.run(
        [sys.executable, str(target / "bin" / "gossamer"), *arguments], cwd=cwd, capture_output=True, text=True,
        check=False, timeout=PATIENCE, env=environment({"PYTHONPATH": str(target)}),
    )  # fmt: skip


def test_a_wheel_carries_the_built_scripts(wheel: Path) -> None:
    with ZipFile(wheel) as archive:
        names = set(archive.namelist())
        manifest = json.loads(archive.read("gossamer/web/static/dist/.vite/manifest.json"))
    files = {file for entry in manifest.values() for file in (entry["file"], *entry.get("css", ()))}
    assert {f"gossamer/web/static/dist/{file}" for file in files} <= names
    assert {"gossamer/web/static/combobox.js", "gossamer/web/templates/graph.html"} <= names


def test_an_installed_wheel_crawls_and_ranks(installed: Path, tmp_path: Path) -> None:
    assert run_installed(installed, "--version", cwd=tmp_path).stdout.startswith("gossamer ")
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "index.html").write_text('<title>Home</title><a href="/a.html">a</a>')
    (tmp_path / "pages" / "a.html").write_text("<title>A</title>spider")
    done = run_installed(installed, "import", "pages", "--base", "https://example.org/", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = run_installed(installed, "search", "spider", "--json", cwd=tmp_path)
    assert json.loads(found.stdout)["total"] == 1
    where = "import gossamer; print(gossamer.__file__)"
    own = subprocess.run(
        [sys.executable, "-c", where], cwd=tmp_path, capture_output=True, text=True, check=True,
        env=environment({"PYTHONPATH": str(installed)}),
    )  # fmt: skip
    assert Path(own.stdout.strip()).is_relative_to(installed)


@pytest.mark.full
def test_uvx_runs_a_wheel_in_an_environment_of_its_own(wheel: Path, tmp_path: Path) -> None:
    """It downloads the dependencies, as for a user; `make lock` installs uv."""
    uv = shutil.which("uv", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    if uv is None:
        skip_or_fail("uv is missing: `make lock` installs it")
    done = subprocess.run(
        [uv, "tool", "run", "--python", sys.executable, "--from", str(wheel), "gossamer", "--version"], cwd=tmp_path,
        capture_output=True, text=True, check=False, timeout=PATIENCE,
    )  # fmt: skip
    assert done.stdout.startswith("gossamer "), done.stderr


def test_a_machine_without_node_builds_with_node_from_pypi(tmp_path: Path) -> None:
    """Ask make what it would do, with a PATH that has no Node."""
    for name in ("make", "sh", "python3", "sed", "find", "sort", "cut", "test", "printf", "echo", "cat", "touch"):
        if (program := shutil.which(name)) is not None:
            (tmp_path / name).symlink_to(program)
    plan = subprocess.run(
        [str(tmp_path / "make"), "--dry-run", "--always-make", "frontend"], cwd=ROOT, capture_output=True, text=True,
        check=False, env={"PATH": str(tmp_path)},
    )  # fmt: skip
    assert "requirements/node.lock" in plan.stdout, plan.stderr
    assert ".venv/node/bin" in plan.stdout
    assert plan.stdout.index("requirements/node.lock") < plan.stdout.index("run --silent build")
