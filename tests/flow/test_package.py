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
from helpers.cli.commands import FAST, environment
from helpers.patience import PATIENCE
from helpers.web.browser import MANIFEST, ROOT
from webs.served import SiteServer


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
    by_hand = {"static/combobox.js", "static/dist/widget.js", "templates/graph.html"}
    assert {f"gossamer/web/{file}" for file in by_hand} <= names


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


def find_tool(name: str) -> str:
    """Return a program of this environment or of the machine."""
    tool = shutil.which(name, path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    return tool or skip_or_fail(f"{name} is missing: `make lock` installs uv")


def run_outside(*arguments: str | Path, cwd: Path, path: str = os.defpath) -> str:
    """Run a command without this environment, and return what it prints."""
    clean = {name: value for name, value in environment().items() if name not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    done = subprocess.run(
        [str(each) for each in arguments], cwd=cwd, capture_output=True, text=True, check=False, timeout=PATIENCE,
        env={**clean, "PATH": path},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def check_program(*program: str | Path, cwd: Path) -> None:
    """Import a folder, search and report with an installed program; then crawl a site."""
    (cwd / "pages").mkdir()
    (cwd / "pages" / "index.html").write_text('<title>Home</title><a href="/a.html">a</a>')
    (cwd / "pages" / "a.html").write_text("<title>A</title>spider")
    run_outside(*program, "import", "pages", "--base", "https://example.org/", cwd=cwd)
    assert json.loads(run_outside(*program, "search", "spider", "--json", cwd=cwd))["total"] == 1
    with SiteServer({"/": '<title>Silk</title><p>silk</p><a href="/lost">lost</a>'}) as site:
        run_outside(*program, "crawl", site.url, "--store", "crawled", "--quiet", *FAST, cwd=cwd)
    assert json.loads(run_outside(*program, "search", "silk", "--json", "--store", "crawled", cwd=cwd))["total"] == 1
    reports = json.loads(run_outside(*program, "report", "--json", "--store", "crawled", cwd=cwd))["reports"]
    assert {each["report"]: each["findings"] for each in reports}["broken"] == 1


@pytest.mark.full
def test_uvx_runs_a_wheel_in_an_environment_of_its_own(wheel: Path, tmp_path: Path) -> None:
    """It downloads the dependencies, as for a user; `make lock` installs uv."""
    uvx = (find_tool("uv"), "tool", "run", "--python", sys.executable, "--from", wheel, "gossamer")
    check_program(*uvx, cwd=tmp_path)


@pytest.mark.full
def test_pipx_installs_a_wheel_into_an_environment_of_its_own(
    wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools, home = tmp_path / "tools", tmp_path / "home"
    subprocess.run([sys.executable, "-m", "venv", str(tools)], check=True)
    run_outside(tools / "bin/python", "-m", "pip", "--quiet", "install", "pipx", cwd=tmp_path)
    for name, folder in (("PIPX_HOME", home), ("PIPX_BIN_DIR", home / "bin"), ("PIPX_MAN_DIR", home / "man")):
        monkeypatch.setenv(name, str(folder))
    run_outside(tools / "bin/pipx", "install", "--python", sys.executable, wheel, cwd=tmp_path)
    check_program(home / "bin/gossamer", cwd=tmp_path)


@pytest.mark.full
@pytest.mark.parametrize("version", ["3.12", "3.13"])
def test_a_wheel_works_in_newer_versions_of_python(wheel: Path, tmp_path: Path, version: str) -> None:
    """It downloads the dependencies for this version."""
    python = find_python(version)
    run_outside(python, "-m", "venv", "environment", cwd=tmp_path)
    own = tmp_path / "environment/bin"
    run_outside(own / "python", "-m", "pip", "--quiet", "install", f"{wheel}[web]", cwd=tmp_path)
    assert run_outside(own / "python", "--version", cwd=tmp_path).startswith(f"Python {version}.")
    check_program(own / "gossamer", cwd=tmp_path)
    run_outside(own / "python", "-c", "import gossamer.web.app", cwd=tmp_path)


def find_python(version: str) -> str:
    """Return an interpreter of a version: of the PATH, or one that pyenv installed."""
    installed = sorted(Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")).glob(f"versions/{version}.*/bin"))
    name = f"python{version}"
    path = ":".join([*map(str, installed), os.environ["PATH"]])
    return shutil.which(name, path=path) or skip_or_fail(f"Python {version} is missing")


@pytest.mark.full
def test_a_clone_without_node_builds_the_scripts_with_node_from_pypi(tmp_path: Path) -> None:
    """It downloads Node and the packages of `frontend/`, as for a user."""
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
    programs = tmp_path / "programs"
    programs.mkdir()
    for folder in map(Path, ("/usr/bin", "/bin")):
        for program in folder.iterdir():
            if program.name not in {"node", "nodejs", "npm", "npx"} and not (programs / program.name).exists():
                (programs / program.name).symlink_to(program)
    (programs / "python3").unlink(missing_ok=True)
    (programs / "python3").symlink_to(sys.executable)
    assert shutil.which("node", path=str(programs)) is None
    run_outside(programs / "make", "frontend", cwd=clone, path=str(programs))
    built = clone / "src/gossamer/web/static/dist"
    assert (built / "widget.js").stat().st_size > 0
    assert (built / ".vite/manifest.json").exists()


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
