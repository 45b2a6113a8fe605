"""The list of modules in ARCHITECTURE.md follows the code."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def check() -> ModuleType:
    spec = importlib.util.spec_from_file_location("module_list", ROOT / "checks" / "module_list.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_module_is_listed_with_its_docstring_and_public_names(check: Any, tmp_path: Path) -> None:
    (tmp_path / "__init__.py").write_text('"""All of it."""\n')
    (tmp_path / "queue.py").write_text(
        '"""Jobs in order.\n\nMore.\n"""\nMAX_JOBS = 1 << 4\nNAME = "x"\n_OWN = 1\n\n\n'
        "class Queue: ...\n\n\ndef push() -> None: ...\n\n\ndef _pop() -> None: ...\n"
    )
    assert check.module_list(tmp_path) == (
        "| top level | All of it. | defines |\n|---|---|---|\n| `queue.py` | Jobs in order. | Queue, push, MAX_JOBS |\n"
    )


def test_an_outdated_list_is_replaced_and_the_rest_of_the_page_stays(check: Any) -> None:
    page = "# Title\n<!-- modules -->\nold\n<!-- end of modules -->\nrest\n"
    changed = check.with_list(page, "new\n")
    assert changed == "# Title\n<!-- modules -->\n\nnew\n\n<!-- end of modules -->\nrest\n"
    assert check.with_list(changed, "new\n") == changed


def test_the_list_in_the_repository_is_up_to_date(check: Any) -> None:
    page = check.PAGE.read_text()
    assert page == check.with_list(page, check.module_list(check.SOURCES))
