"""Run the property tests again with many more examples than `make test` has time for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
# Factor for the number of examples, whether a property sets its own (`scaled_examples`) or uses the default.
EXAMPLE_FACTORS = {
    "unit/test_urls.py": 30,
    "unit/test_robots.py": 30,
    "unit/test_sitemap.py": 30,
    "unit/test_parse_hostile.py": 30,
    "unit/test_search_query.py": 30,
    "unit/test_search_snippet.py": 30,
    "contract/test_store_properties.py": 10,  # lower: each example recounts a store that keeps growing
}
RUN = """
import sys, pytest

class ManyExamples:
    def pytest_configure(self):
        from hypothesis import settings  # late, so that pytest sees the import
        examples = int(sys.argv[1]) * settings().max_examples
        settings.register_profile("many", max_examples=examples, deadline=None, database=None)
        settings.load_profile("many")

sys.exit(pytest.main(sys.argv[2:], plugins=[ManyExamples()]))
"""


@pytest.mark.full
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", EXAMPLE_FACTORS)
def test_properties_hold_for_many_more_examples(name: str) -> None:
    result = subprocess.run(
        [sys.executable, "-c", RUN, str(EXAMPLE_FACTORS[name]), TESTS / name, "-m", "not full"],
        check=False, capture_output=True, text=True, timeout=890,
    )  # fmt: skip
    assert result.returncode == 0, result.stdout
