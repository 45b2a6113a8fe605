"""The check of names fails when a rule is broken."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def names() -> ModuleType:
    spec = importlib.util.spec_from_file_location("names_check", ROOT / "checks" / "names.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / "gossamer" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return root


def test_the_sources_pass(names: Any) -> None:
    assert names.violations(ROOT / "src") == []


def test_a_public_class_name_in_two_modules_fails(names: Any, tmp_path: Path) -> None:
    root = write(tmp_path, {"store/a.py": "class Row: ...\n", "web/b.py": "\nclass Row: ...\n"})
    assert names.violations(root) == [
        "The class name Row is defined 2 times: gossamer/store/a.py:1 Row, gossamer/web/b.py:2 Row"
    ]


def test_mirrored_back_ends_may_share_a_class_name(names: Any, tmp_path: Path) -> None:
    text = "class Database: ...\n"
    root = write(tmp_path, {"store/sqlite/database.py": text, "store/postgres/database.py": text})
    assert names.violations(root) == []


def test_private_classes_may_share_a_name(names: Any, tmp_path: Path) -> None:
    root = write(tmp_path, {"store/a.py": "class _Row: ...\n", "web/b.py": "class _Row: ...\n"})
    assert names.violations(root) == []


def test_more_than_ten_participle_functions_fail(names: Any, tmp_path: Path) -> None:
    words = ("joined", "_told", "made", "parsed", "kept", "shown", "chosen", "counted", "packed", "found")
    few = "".join(f"def {word}(): ...\n" for word in words)
    root = write(tmp_path, {"a.py": few})
    assert names.violations(root) == []
    write(tmp_path, {"b.py": "class A:\n    def merged(self): ...\n"})
    (sentence,) = names.violations(root)
    assert sentence.startswith("11 functions are bare participles")


@pytest.mark.parametrize("name", ["seed", "feed", "exceed", "set", "read", "is_closed", "parsed_pages", "red_line"])
def test_verbs_nouns_and_phrases_are_no_participles(names: Any, name: str) -> None:
    assert not names.is_participle(name)


def test_a_package_with_seventeen_modules_fails(names: Any, tmp_path: Path) -> None:
    files = {f"store/m{number}.py": "" for number in range(16)}
    root = write(tmp_path, {**files, "store/__init__.py": ""})
    assert names.violations(root) == []
    write(tmp_path, {"store/m16.py": ""})
    assert names.violations(root) == ["The package gossamer/store has 17 modules, at most 16 are allowed."]


def test_packages_with_one_module_per_item_may_be_larger(names: Any, tmp_path: Path) -> None:
    root = write(tmp_path, {f"cli/m{number}.py": "" for number in range(20)})
    assert names.violations(root) == []
