"""Where the outside test data is: `../shared/suites`, beside the project, never copied into it.

A test that needs it carries `@pytest.mark.shared` and asks for a suite by name. Without the data it is skipped, unless
GOSSAMER_REQUIRE_SHARED=1 says that it must be there (as in `.ci/run`): then it fails.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

SUITES = Path(__file__).resolve().parents[3] / "shared" / "suites"


def suite(name: str) -> Path:
    """The directory of one suite."""
    path = SUITES / name
    if path.is_dir():
        return path
    absent = f"needs the outside test data shared/suites/{name}, which is not beside the project"
    if os.environ.get("GOSSAMER_REQUIRE_SHARED") == "1":
        pytest.fail(absent)
    pytest.skip(absent)


def table(name: str, file: str) -> Any:
    """One JSON file of a suite."""
    return json.loads((suite(name) / file).read_text(encoding="utf-8"))
