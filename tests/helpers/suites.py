"""Where the external test data lies: `../shared/suites`, beside the project, never copied into it.

A test that needs it has the mark `@pytest.mark.shared` and names a suite. Without the data the test is skipped. With
GOSSAMER_REQUIRE_SHARED=1 (as in `.ci/run`) it fails.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

SUITES = Path(__file__).resolve().parents[3] / "shared" / "suites"


def suite(name: str) -> Path:
    """Return the directory of one suite."""
    path = SUITES / name
    if path.is_dir():
        return path
    absent = f"needs the outside test data shared/suites/{name}, which is not beside the project"
    if os.environ.get("GOSSAMER_REQUIRE_SHARED") == "1":
        pytest.fail(absent)
    pytest.skip(absent)


def table(name: str, file: str) -> Any:
    """Return one JSON file of a suite."""
    return json.loads((suite(name) / file).read_text(encoding="utf-8"))
