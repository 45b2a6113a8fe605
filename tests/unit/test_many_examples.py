"""The properties of the pure core once more, with many more examples than `make test` has time for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
EXAMPLES = 3_000
# pytest with a profile of its own; files that ask for a number of examples keep to that.
RUN = f"""
import sys, pytest

class Many:
    def pytest_configure(self):
        from hypothesis import settings  # not above: pytest wants to see it imported
        settings.register_profile("many", max_examples={EXAMPLES}, deadline=None, database=None)
        settings.load_profile("many")

sys.exit(pytest.main(sys.argv[1:], plugins=[Many()]))
"""


@pytest.mark.full
@pytest.mark.parametrize("name", ["urls", "robots", "sitemap", "parse_hostile", "search_query", "search_snippet"])
def test_the_properties_hold_for_many_more_examples(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", RUN, HERE / f"test_{name}.py", "-m", "not full"],
        check=False, capture_output=True, text=True, timeout=290,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
