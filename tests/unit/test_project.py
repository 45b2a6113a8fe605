"""Dependencies are documented and locked; scripts import only files that exist."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LOCKS = sorted((ROOT / "requirements").glob("*.lock"))


def package_names(requirements: list[str]) -> set[str]:
    return {re.split(r"[^\w-]", requirement, maxsplit=1)[0].lower() for requirement in requirements}


def required_packages() -> dict[str, set[str]]:
    """Return the names of the required packages, by the lock file that must hold them."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    groups = {group: package_names(required) for group, required in settings["dependency-groups"].items()}
    return {**groups, "run": package_names(settings["project"]["dependencies"])}


def locked_packages(name: str) -> set[str]:
    return set(re.findall(r"^([\w.-]+)==", (ROOT / "requirements" / f"{name}.lock").read_text(), re.MULTILINE))


def test_every_dependency_is_explained_in_the_documentation() -> None:
    page = (ROOT / "docs/reference/dependencies.md").read_text()
    documented = set(
        re.findall(r"[\w-]+", " ".join(line.split("|")[1] for line in page.splitlines() if line.startswith("|")))
    )
    assert set.union(*required_packages().values()) <= documented


@pytest.mark.parametrize("name", ["run", "dev", "bench", "fuzz", "build"])
def test_every_dependency_is_locked(name: str) -> None:
    assert required_packages()[name] <= locked_packages(name)


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_lock_files_name_no_registry_and_no_local_path(lock: Path) -> None:
    assert not re.findall(r"https?://\S+|@ file|(?<![\w.-])/\w+/\S+|--index\S*|--find-links.*", lock.read_text())


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_every_locked_package_has_hashes(lock: Path) -> None:
    entries = re.split(r"^(?=[\w.-]+==)", lock.read_text(), flags=re.MULTILINE)[1:]
    assert entries
    assert [entry.split()[0] for entry in entries if "--hash=sha256:" not in entry] == []


@pytest.mark.parametrize("folder", ["frontend", "tests/webs/spa"])
def test_locks_of_npm_name_no_registry_and_have_checksums(folder: str) -> None:
    packages = json.loads((ROOT / folder / "package-lock.json").read_text())["packages"]
    installed = {name: package for name, package in packages.items() if name}
    assert installed
    assert [name for name, package in installed.items() if "resolved" in package] == []
    assert [name for name, package in installed.items() if "integrity" not in package] == []


def test_unbundled_scripts_import_only_static_files() -> None:
    scripts = (ROOT / "src/gossamer/web/static").glob("*.js")
    imported = [name for script in scripts for name in re.findall(r'from "(.*)"', script.read_text())]
    assert imported
    assert [name for name in imported if not (ROOT / "src/gossamer/web/static" / name).is_file()] == []


def test_every_picture_is_linked_in_the_documentation() -> None:
    texts = "".join(page.read_text() for page in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")))
    pictures = {path.name for path in (ROOT / "docs/pictures").iterdir()} - {"make.py"}
    assert {name for name in pictures if f"pictures/{name})" not in texts} == set()
